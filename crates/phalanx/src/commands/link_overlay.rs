//! [`LinkOverlay`]: the links that a segment changes, as they would be.

use crate::alloc::try_reserve_map;
use crate::links::{Link, LinkStore, LinkView};
use crate::mutation::despawn_set::LinkGraph;
use crate::seeded::NumberMap;
use crate::storage::Storage;
use phalanx_store::AllocError;

/// The records that a segment changes, by storage id of the relation and slot.
#[derive(Debug, Default)]
pub(super) struct LinkOverlay {
    /// With the segment that set them. They count in that segment only.
    records: NumberMap<(u32, u32), (u32, Link)>,
    segment: u32,
    /// Why a record could not be added.
    error: Option<AllocError>,
}

impl LinkOverlay {
    /// Returns the bytes held from the allocator.
    pub(super) fn bytes(&self) -> usize {
        self.records.capacity() * size_of::<((u32, u32), (u32, Link))>()
    }

    /// Forgets what the segments before have changed.
    pub(super) fn start(&mut self) {
        self.records.clear();
    }

    /// Begins a segment.
    pub(super) fn begin(&mut self, segment: u32) {
        (self.segment, self.error) = (segment, None);
    }

    /// Changes the links of a relation.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if allocation fails. The links are undefined then.
    pub(super) fn change<T>(
        &mut self,
        storage: &Storage,
        relation: u32,
        change: impl FnOnce(&mut PendingLinks<'_>) -> T,
    ) -> Result<T, AllocError> {
        let result = change(&mut PendingLinks { overlay: self, storage, relation });
        self.error.map_or(Ok(result), Err)
    }

    /// Returns the links of one relation, with those of a storage that the segment has not changed.
    pub(super) fn of<'a>(&'a self, storage: &'a Storage, relation: u32) -> PendingView<'a> {
        PendingView { overlay: self, storage, relation }
    }

    /// Returns the links of all relations, with those of a storage that the segment has not changed.
    pub(super) fn over<'a>(&'a self, storage: &'a Storage) -> PendingGraph<'a> {
        PendingGraph { overlay: self, storage }
    }

    fn get(&self, storage: &Storage, relation: u32, slot: u32) -> Link {
        match self.records.get(&(relation, slot)) {
            Some((segment, link)) if *segment == self.segment => *link,
            _ => storage.sparse.links(Some(relation)).get(slot),
        }
    }
}

/// The links of all relations as they would be.
pub(super) struct PendingGraph<'a> {
    overlay: &'a LinkOverlay,
    storage: &'a Storage,
}

impl LinkGraph for PendingGraph<'_> {
    fn link(&self, relation: u32, slot: u32) -> Link {
        self.overlay.get(self.storage, relation, slot)
    }
}

/// The links of one relation as they would be.
pub(super) struct PendingView<'a> {
    overlay: &'a LinkOverlay,
    storage: &'a Storage,
    relation: u32,
}

impl LinkView for PendingView<'_> {
    fn get(&self, slot: u32) -> Link {
        self.overlay.get(self.storage, self.relation, slot)
    }
}

/// The links of one relation as they would be, for writing.
pub(super) struct PendingLinks<'a> {
    overlay: &'a mut LinkOverlay,
    storage: &'a Storage,
    relation: u32,
}

impl LinkView for PendingLinks<'_> {
    fn get(&self, slot: u32) -> Link {
        self.overlay.get(self.storage, self.relation, slot)
    }
}

impl LinkStore for PendingLinks<'_> {
    fn update<T>(&mut self, slot: u32, change: impl FnOnce(&mut Link) -> T) -> T {
        let mut link = self.get(slot);
        let result = change(&mut link);
        let LinkOverlay { records, segment, error } = &mut *self.overlay;
        match try_reserve_map(records, 1) {
            Ok(()) => drop(records.insert((self.relation, slot), (*segment, link))),
            Err(failed) => *error = Some(failed),
        }
        result
    }
}
