//! [`Ancestors`], [`Descendants`] and [`LeavesFirst`]: walks up and down a tree.

use crate::links::{LinkView, NONE};
use crate::sparse::LinkRecords;
use crate::storage::Storage;
use core::fmt;
use core::iter::FusedIterator;
use phalanx_store::Entity;

/// The targets above an entity, the nearest first: [`Relations::ancestors`](super::Relations::ancestors).
#[derive(Clone)]
pub struct Ancestors<'w> {
    pub(super) storage: &'w Storage,
    pub(super) links: LinkRecords<'w>,
    pub(super) slot: u32,
}

impl Iterator for Ancestors<'_> {
    type Item = Entity;

    fn next(&mut self) -> Option<Entity> {
        if self.slot != NONE {
            self.slot = self.links.get(self.slot).target;
        }
        self.storage.slot(self.slot).filter(|_| self.slot != NONE)
    }
}

impl FusedIterator for Ancestors<'_> {}

/// The entities below another one, depth first: [`Relations::descendants`](super::Relations::descendants).
///
/// Each entity comes before its own sources. The other orders are [`leaves_first`](Descendants::leaves_first) and
/// [`breadth_first`](Descendants::breadth_first).
#[derive(Clone)]
pub struct Descendants<'w> {
    pub(super) storage: &'w Storage,
    pub(super) links: LinkRecords<'w>,
    pub(super) root: u32,
    /// The next one.
    pub(super) next: u32,
}

impl<'w> Descendants<'w> {
    /// Returns the entities in another order: each comes after its own sources.
    #[doc(alias = "post_order")]
    pub fn leaves_first(self) -> LeavesFirst<'w> {
        let Descendants { storage, links, root, next } = self;
        LeavesFirst { storage, links, root, next: if next == NONE { NONE } else { links.first_leaf(root).0 } }
    }

    /// Returns the entities in another order: by their depth.
    ///
    /// This allocates memory for the entities of two depths.
    #[doc(alias = "level_order")]
    pub fn breadth_first(self) -> impl Iterator<Item = Entity> + use<'w> {
        let Descendants { storage, links, root, next } = self;
        let mut row = if next == NONE { Vec::new() } else { vec![root] };
        let mut below = Vec::new();
        let (mut at, mut slot) = (0, NONE);
        core::iter::from_fn(move || {
            while slot == NONE {
                if at == row.len() {
                    core::mem::swap(&mut row, &mut below);
                    below.clear();
                    at = 0;
                }
                slot = links.get(*row.get(at)?).first;
                at += 1;
            }
            let found = slot;
            let link = links.get(found);
            slot = link.next;
            if link.first != NONE {
                below.push(found);
            }
            storage.slot(found)
        })
    }
}

impl Iterator for Descendants<'_> {
    type Item = Entity;

    fn next(&mut self) -> Option<Entity> {
        let slot = self.next;
        if slot == NONE {
            return None;
        }
        self.next = self.links.next_below(self.root, slot).unwrap_or(NONE);
        self.storage.slot(slot)
    }
}

impl FusedIterator for Descendants<'_> {}

/// The entities below another one, each after its own sources: [`Descendants::leaves_first`].
#[derive(Clone)]
pub struct LeavesFirst<'w> {
    storage: &'w Storage,
    links: LinkRecords<'w>,
    root: u32,
    next: u32,
}

impl Iterator for LeavesFirst<'_> {
    type Item = Entity;

    fn next(&mut self) -> Option<Entity> {
        let slot = self.next;
        if slot == NONE || slot == self.root {
            return None;
        }
        let link = self.links.get(slot);
        self.next = if link.next == NONE { link.target } else { self.links.first_leaf(link.next).0 };
        self.storage.slot(slot)
    }
}

impl FusedIterator for LeavesFirst<'_> {}

impl fmt::Debug for Ancestors<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl fmt::Debug for Descendants<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl fmt::Debug for LeavesFirst<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}
