//! [`Sources`]: the sources of a target, in order.

use crate::links::{LinkView, NONE};
use crate::sparse::LinkRecords;
use crate::storage::Storage;
use core::fmt;
use core::iter::FusedIterator;
use phalanx_store::Entity;

/// The sources of a target, in order: [`Relations::sources`](super::Relations::sources).
#[derive(Clone)]
pub struct Sources<'w> {
    storage: &'w Storage,
    links: LinkRecords<'w>,
    first: u32,
    last: u32,
    len: u32,
}

impl<'w> Sources<'w> {
    /// Returns the sources of a slot.
    pub(super) fn new(storage: &'w Storage, links: LinkRecords<'w>, target: u32) -> Sources<'w> {
        let link = links.get(target);
        Sources { storage, links, first: link.first, last: link.last, len: link.count }
    }

    /// Returns no sources.
    pub(super) fn none(storage: &'w Storage, links: LinkRecords<'w>) -> Sources<'w> {
        Sources { storage, links, first: NONE, last: NONE, len: 0 }
    }
}

impl Iterator for Sources<'_> {
    type Item = Entity;

    fn next(&mut self) -> Option<Entity> {
        self.len = self.len.checked_sub(1)?;
        let slot = self.first;
        self.first = self.links.get(slot).next;
        self.storage.slot(slot)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len as usize, Some(self.len as usize))
    }
}

impl DoubleEndedIterator for Sources<'_> {
    fn next_back(&mut self) -> Option<Entity> {
        self.len = self.len.checked_sub(1)?;
        let slot = self.last;
        self.last = self.links.get(slot).prev;
        self.storage.slot(slot)
    }
}

impl ExactSizeIterator for Sources<'_> {}
impl FusedIterator for Sources<'_> {}

impl fmt::Debug for Sources<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}
