//! [`LinkRecords`] and [`LinkRecordsMut`]: the records of a relation in its linear storage.
#![allow(unsafe_code)]

use super::{LinearStorage, SparseStorage, SparseStorages, Store};
use crate::change_detection::Tick;
use crate::links::{Link, LinkStore, LinkView, OnDespawn, RelationInfo};
use phalanx_store::AllocError;

/// The records of a relation.
///
/// The storage is that of a relation: its component says so, and only hidden components of relations do.
#[derive(Clone, Copy)]
pub(crate) struct LinkRecords<'a> {
    /// `None` if the world does not know the relation.
    linear: Option<&'a LinearStorage>,
}

/// The records of a relation, for writing.
pub(crate) struct LinkRecordsMut<'a> {
    linear: &'a mut LinearStorage,
    is_tree: bool,
}

impl SparseStorages {
    /// Returns the relations that the world knows, with their storage ids, in the canonical order.
    pub(crate) fn relations(&self) -> impl DoubleEndedIterator<Item = (u32, &RelationInfo)> + Clone {
        self.relations.iter().filter_map(|storage_id| Some((*storage_id, self.get(*storage_id).relation.as_ref()?)))
    }

    /// Returns `true` if the world knows a relation.
    #[inline(always)]
    pub(crate) fn has_relations(&self) -> bool {
        !self.relations.is_empty()
    }

    /// Returns the number of relations that the world knows.
    #[inline(always)]
    pub(crate) fn relation_count(&self) -> usize {
        self.relations.len()
    }

    /// Returns the storage id of the relation with this position in the canonical order, and its properties.
    pub(crate) fn relation(&self, at: usize) -> (u32, RelationInfo) {
        let storage_id = self.relations[at];
        let Some(info) = self.get(storage_id).relation else { unreachable!("the storage of a relation") };
        (storage_id, info)
    }

    /// Returns the number of times that links were written.
    pub(crate) fn link_changes(&self) -> u64 {
        self.link_changes
    }

    /// Returns `true` if entities that are despawned together may lose their links in an order in which depths change often.
    ///
    /// In a single tree whose entities are despawned with their targets, all come before their targets.
    pub(crate) fn needs_doom(&self) -> bool {
        let mut trees = self.relations().filter(|(_, info)| info.is_tree());
        let first = trees.next();
        trees.next().is_some() || first.is_some_and(|(_, info)| info.on_despawn != OnDespawn::Despawn)
    }

    /// Returns `true` if a slot has links.
    pub(crate) fn has_links(&self, slot: u32) -> bool {
        self.relations.iter().any(|storage_id| self.get(*storage_id).row(slot).is_some())
    }

    /// Returns the records of the relation with a storage id. Without one there are none.
    #[inline]
    pub(crate) fn links(&self, storage_id: Option<u32>) -> LinkRecords<'_> {
        let linear = storage_id.map(|storage_id| self.get(storage_id)).and_then(|storage| match &storage.store {
            Store::Linear(linear) if storage.relation.is_some() => Some(linear),
            _ => None,
        });
        LinkRecords { linear }
    }

    /// Returns the records of the relation with a storage id, for writing.
    ///
    /// # Panics
    ///
    /// Panics if it is not the storage of a relation.
    #[inline]
    pub(crate) fn links_mut(&mut self, storage_id: u32) -> LinkRecordsMut<'_> {
        let SparseStorages { storages, clock, link_changes, .. } = self;
        *link_changes += 1;
        let links = LinkRecordsMut::new(&mut storages[storage_id as usize]);
        links.linear.values().set_column_tick(clock);
        links
    }

    /// Returns a copy of the storage of a relation without links of slots that are not kept, and the number of those that lead
    /// from a slot that is kept to one that is not, or back.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails.
    #[cfg(feature = "snapshot")]
    pub(crate) fn try_prune_links(
        &self,
        storage_id: u32,
        is_kept: impl Fn(u32) -> bool,
    ) -> Result<(Box<SparseStorage>, usize), AllocError> {
        let mut copy = self.get(storage_id).try_clone()?;
        let mut cut = crate::alloc::try_vec(copy.len() as usize)?;
        let links = self.links(Some(storage_id));
        let mut leading_out = 0;
        for slot in links.slots() {
            let target = links.get(slot).target;
            let kept = (is_kept(slot), target != crate::links::NONE && is_kept(target));
            if target != crate::links::NONE && kept != (true, true) {
                leading_out += usize::from(kept.0 != kept.1);
                cut.push(slot);
            }
        }
        // The deepest first, so that each depth is set once.
        cut.sort_unstable_by_key(|slot| (core::cmp::Reverse(links.get(*slot).depth), *slot));
        let mut pruned = LinkRecordsMut::new(&mut copy);
        cut.iter().for_each(|slot| pruned.unlink(*slot));
        Ok((copy, leading_out))
    }

    /// Reserves capacity for the record of a slot. Records may move even if this fails.
    pub(crate) fn try_reserve_link(&mut self, storage_id: u32, slot: u32) -> Result<(), AllocError> {
        LinkRecordsMut::new(&mut self.storages[storage_id as usize]).linear.try_cover(slot)
    }
}

/// Returns the address of the record of a slot.
///
/// # Safety
///
/// The storage is that of a relation, and the slot is covered.
#[inline(always)]
unsafe fn record_ptr(linear: &LinearStorage, slot: u32) -> *mut Link {
    // SAFETY: the first lane is an array of records, and the slot is below its capacity.
    unsafe { (*linear.values().lane()).ptr().cast::<Link>().as_ptr().add(slot as usize) }
}

/// Returns the record of a slot in the storage of a relation.
#[inline(always)]
fn record(linear: &LinearStorage, slot: u32) -> Link {
    match linear.has(slot) {
        // SAFETY: the storage is that of a relation, whose first lane has a record for each slot with a value.
        true => unsafe { record_ptr(linear, slot).read() },
        false => Link::EMPTY,
    }
}

impl<'a> LinkRecords<'a> {
    /// Returns the slots that have a record, ascending.
    pub(crate) fn slots(self) -> impl Iterator<Item = u32> + Clone + use<'a> {
        self.linear.into_iter().flat_map(LinearStorage::iter)
    }

    /// Returns the first slot from `slot` on that has a record.
    pub(crate) fn next_slot(self, slot: u32) -> Option<u32> {
        let words = self.linear?.words();
        let first = slot as usize / 64;
        let masked =
            |(at, word): (usize, &u64)| (at, if at == first { word & (u64::MAX << (slot % 64)) } else { *word });
        let (at, word) = words.iter().enumerate().skip(first).map(masked).find(|(_, word)| *word != 0)?;
        Some(at as u32 * 64 + word.trailing_zeros())
    }

    /// Returns when a link changed last, or `None` if the world does not know the relation.
    pub(crate) fn changed(self) -> Option<Tick> {
        self.linear.and_then(|linear| linear.values().column_tick())
    }
}

impl LinkView for LinkRecords<'_> {
    #[inline(always)]
    fn get(&self, slot: u32) -> Link {
        self.linear.map_or(Link::EMPTY, |linear| record(linear, slot))
    }
}

impl LinkView for LinkRecordsMut<'_> {
    #[inline(always)]
    fn get(&self, slot: u32) -> Link {
        record(self.linear, slot)
    }
}

impl LinkStore for LinkRecordsMut<'_> {
    #[inline(always)]
    fn update<T>(&mut self, slot: u32, change: impl FnOnce(&mut Link) -> T) -> T {
        if !self.linear.has(slot) {
            self.add(slot);
        }
        // SAFETY: the storage is that of a relation, and the slot has a record. The storage is borrowed exclusively.
        let (result, is_empty) = unsafe {
            let link = &mut *record_ptr(self.linear, slot);
            let result = change(link);
            self.linear.values().mark_dirty(slot);
            (result, link.is_empty())
        };
        if is_empty {
            self.remove(slot);
        }
        result
    }

    #[inline(always)]
    fn update_source(&mut self, slot: u32, change: impl FnOnce(&mut Link)) {
        if self.linear.has(slot) {
            // SAFETY: the storage is that of a relation, and the slot has a record. The storage is borrowed exclusively.
            unsafe {
                change(&mut *record_ptr(self.linear, slot));
                self.linear.values().mark_dirty(slot);
            }
        }
    }
}

impl<'a> LinkRecordsMut<'a> {
    /// Returns the records of a storage.
    ///
    /// # Panics
    ///
    /// Panics if it is not the storage of a relation.
    #[inline]
    fn new(storage: &'a mut SparseStorage) -> LinkRecordsMut<'a> {
        match (&mut storage.store, &storage.relation) {
            (Store::Linear(linear), Some(relation)) => LinkRecordsMut { linear, is_tree: relation.is_tree() },
            _ => unreachable!("the storage of a relation"),
        }
    }

    /// Returns `true` if the relation is a tree.
    pub(crate) fn is_tree(&self) -> bool {
        self.is_tree
    }

    /// Removes the record of a slot. Its links must be those of slots that are removed, too.
    #[inline(always)]
    pub(crate) fn remove(&mut self, slot: u32) {
        self.linear.set_present(slot, false);
    }

    /// Removes all records.
    pub(crate) fn clear(&mut self) {
        let mut next = 0;
        while let Some(slot) = (LinkRecords { linear: Some(&*self.linear) }).next_slot(next) {
            next = slot + 1;
            self.linear.set_present(slot, false);
        }
    }

    /// Adds an empty record.
    ///
    /// # Panics
    ///
    /// Panics if no capacity is reserved for it.
    #[inline]
    fn add(&mut self, slot: u32) {
        assert!(self.linear.covers(slot), "the capacity for a record is reserved");
        // SAFETY: the slot is covered, so that its row is below the capacity of the lane of records.
        unsafe { self.linear.values().at(slot).cast::<Link>().write(Link::EMPTY) };
        self.linear.set_present(slot, true);
    }
}
