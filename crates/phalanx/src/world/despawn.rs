//! Removing rows: one extra row, or all rows of entities.
#![allow(unsafe_code)]

use super::World;
use crate::error::RowError;
use crate::mutation::{InPlace, RemovedRows};
use crate::rows::Row;
use crate::world::RowId;
use phalanx_store::{AllocError, Entity};

impl World {
    /// Removes one extra row, named by its key or its handle, and drops its components. Its entity and the other rows stay.
    ///
    /// # Errors
    ///
    /// - [`RowError::NoSuchEntity`], [`RowError::NoSuchRow`] or [`RowError::Stale`] if the row does not exist.
    /// - [`RowError::MainRow`] if it is the main row of its entity, which [`despawn`](World::despawn) removes.
    /// - [`RowError::Alloc`] if allocation fails.
    ///
    /// On error nothing has changed.
    pub fn delete_row(&mut self, row: impl RowId) -> Result<(), RowError> {
        self.storage.flush()?;
        let Row(slot) = row.find(self)?;
        if !slot.is_row() {
            return Err(RowError::MainRow { entity: slot });
        }
        let at = self.storage.try_location(slot)?;
        self.storage.reserve_row_entries(at.table, 1)?;
        // SAFETY: the row is there. There is always room for the sparse values of one slot.
        unsafe { self.storage.remove_row(slot, at, &mut InPlace) };
        let notified = self.notify();
        // SAFETY: the values were left in place, and nothing was committed since.
        unsafe { self.storage.drop_in_place(at.table, None) };
        self.complete(notified);
        Ok(())
    }

    /// Despawns entities: of each its extra rows in the order of their creation, then the main row. All rows are removed before
    /// the first value is dropped; the values are dropped in that order too. Returns the number of entities that were alive.
    ///
    /// With `all`, they are all entities of the world, and slots are used again as in a new world.
    #[cold]
    #[inline(never)]
    pub(super) fn despawn_all(&mut self, entities: &[Entity], all: bool) -> Result<usize, AllocError> {
        let (mut count, mut notes) = (0, 0);
        for (_, row) in entities.iter().flat_map(|entity| self.rows(*entity)).flatten() {
            count += 1;
            // SAFETY: the row is alive.
            notes += self.storage.entries_of(unsafe { self.storage.location_unchecked(row.0) }.table);
        }
        let mut removed = RemovedRows::try_with_capacity(count)?;
        self.storage.sparse.try_reserve_displaced(count)?;
        self.storage.reserve_entries(notes)?;
        let mut despawned = 0;
        for &entity in entities {
            if self.contains(entity) {
                // SAFETY: the entity is alive, and there is room for all of its rows and their sparse values.
                unsafe { self.storage.remove_entity(entity, &mut removed) };
                despawned += 1;
            }
        }
        if all {
            self.storage.entities.clear();
        }
        let notified = self.notify();
        // SAFETY: the rows were removed above, and nothing was committed since.
        unsafe { removed.drop_values(&mut self.storage) };
        self.complete(notified);
        Ok(despawned)
    }
}
