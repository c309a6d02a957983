//! [`LinkOverlay`]: links as they would be after changes that are not made yet.

use super::change_links::DoomedList;
use super::despawn_set::LinkGraph;
use crate::alloc::try_reserve_map;
use crate::links::{Link, LinkStore, LinkView, OnDespawn};
use crate::seeded::NumberMap;
use crate::storage::Storage;
use phalanx_store::{AllocError, Entity};

/// The records that the changes of a segment of commands, or of another operation, would have changed: by storage id of the
/// relation and slot.
#[derive(Debug, Default)]
pub(crate) struct LinkOverlay {
    /// With the segment that set them. They count in that segment only.
    records: NumberMap<(u32, u32), (u32, Link)>,
    segment: u32,
    /// Why a record could not be added.
    error: Option<AllocError>,
}

impl LinkOverlay {
    /// Returns the bytes held from the allocator.
    pub(crate) fn bytes(&self) -> usize {
        self.records.capacity() * size_of::<((u32, u32), (u32, Link))>()
    }

    /// Forgets what the segments before have changed.
    pub(crate) fn start(&mut self) {
        self.records.clear();
    }

    /// Begins a segment.
    pub(crate) fn begin(&mut self, segment: u32) {
        (self.segment, self.error) = (segment, None);
    }

    /// Changes the links of a relation.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if allocation fails. The links are undefined then.
    pub(crate) fn change<T>(
        &mut self,
        storage: &Storage,
        relation: u32,
        change: impl FnOnce(&mut PendingLinks<'_>) -> T,
    ) -> Result<T, AllocError> {
        let result = change(&mut PendingLinks { overlay: self, storage, relation });
        self.error.map_or(Ok(result), Err)
    }

    /// Declares that entities are about to be despawned, like [`Storage::doom`]. The list has capacity for them then.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if allocation fails. The links are undefined then.
    pub(crate) fn try_doom(
        &mut self,
        storage: &Storage,
        entities: &[Entity],
        list: &mut DoomedList,
    ) -> Result<(), AllocError> {
        if entities.len() < 2 || !storage.sparse.needs_doom() {
            return Ok(());
        }
        list.try_reserve(storage, entities)?;
        storage.sparse.relations().filter(|(_, info)| info.is_tree()).try_for_each(|(relation, info)| {
            let slots = entities.iter().map(|entity| entity.index());
            self.change(storage, relation, |links| match info.on_despawn {
                OnDespawn::Reparent => links.doom_all(slots, &mut list.0),
                _ => slots.for_each(|slot| links.doom(slot)),
            })
        })
    }

    /// Cuts the links of a slot that is despawned. Returns the greatest number of journal entries of that.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if allocation fails. The links are undefined then.
    pub(crate) fn try_cut(&mut self, storage: &Storage, slot: u32) -> Result<usize, AllocError> {
        let mut entries = 0;
        for (relation, info) in storage.sparse.relations() {
            while self.change(storage, relation, |links| links.cut_next(slot, info).is_some())? {
                entries += 2;
            }
        }
        Ok(entries)
    }

    /// Returns the links of one relation, with those of a storage that the segment has not changed.
    pub(crate) fn of<'a>(&'a self, storage: &'a Storage, relation: u32) -> PendingView<'a> {
        PendingView { overlay: self, storage, relation }
    }

    /// Returns the links of all relations, with those of a storage that the segment has not changed.
    pub(crate) fn over<'a>(&'a self, storage: &'a Storage) -> PendingGraph<'a> {
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
pub(crate) struct PendingGraph<'a> {
    overlay: &'a LinkOverlay,
    storage: &'a Storage,
}

impl LinkGraph for PendingGraph<'_> {
    fn of(&self, relation: u32) -> impl LinkView {
        self.overlay.of(self.storage, relation)
    }
}

/// The links of one relation as they would be.
pub(crate) struct PendingView<'a> {
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
pub(crate) struct PendingLinks<'a> {
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
