//! The ends of rows: one alone, or all of an entity. And the check of what finds them.
#![allow(unsafe_code)]

use super::World;
use crate::room::try_list;
use crate::rows::{Row, RowError, RowId};
use crate::signal::{Notified, RowName};
use phalanx_store::{AllocError, Entity};

impl World {
    /// Ends one extra row, named by its key or its handle, and drops its components. Its entity and the other rows stay.
    ///
    /// # Errors
    ///
    /// If the row is not there, or is the main row of its entity, which ends with [`despawn`](World::despawn); or memory
    /// for entities that were reserved cannot be had. Nothing happens then.
    pub fn delete_row(&mut self, row: impl RowId) -> Result<(), RowError> {
        self.storage.flush()?;
        let Row(slot) = row.find(self)?;
        if !slot.is_row() {
            return Err(RowError::MainRow { entity: slot });
        }
        let active = self.storage.signals.is_active();
        if active {
            self.storage.reserve_notes(self.storage.notes_of(self.storage.locate(slot)?.table))?;
        }
        let name = self.storage.row_name(slot);
        // SAFETY: the row is there, and an extra one.
        let tail = unsafe { self.storage.retire_row(slot) };
        let mut notified = Notified::NOBODY;
        if active {
            self.storage.note_end(name, tail, 0);
            notified = self.notify();
        }
        {
            let _ends = self.storage.sides.ends();
            let table = &self.storage.tables[tail.table as usize];
            // SAFETY: what needs an end lies at the tail of the table, nobody's, and ends.
            unsafe { table.drop_row(tail.row, &table.columns) };
        }
        if active {
            self.complete(notified);
        }
        Ok(())
    }

    /// Ends entities that are alive: of each its extra rows in the order of their making, then the main row. All are gone
    /// before the first value is dropped; the values are dropped in that order too. How many there were: one that comes
    /// twice counts once. With `all`, they are all that there are, and slots are used again as in a new world.
    #[cold]
    #[inline(never)]
    pub(super) fn end_entities(&mut self, entities: &[Entity], all: bool) -> Result<usize, AllocError> {
        let active = self.storage.signals.is_active();
        let (mut count, mut notes) = (0, 0);
        for (_, row) in entities.iter().flat_map(|entity| self.rows(*entity)).flatten() {
            count += 1;
            // SAFETY: a row that is alive has a location.
            notes += self.storage.notes_of(unsafe { *self.storage.entities.places().at(row.0.index()) }.table);
        }
        let mut retired = try_list(count)?;
        self.storage.sides.try_reserve_ends(count)?;
        if active {
            self.storage.reserve_notes(notes)?;
        }
        let (mut ended, mut beside) = (0, 0);
        for &entity in entities.iter() {
            if !self.contains(entity) {
                continue;
            }
            ended += 1;
            loop {
                // SAFETY: the entity is alive until its main row is retired, and there is room for all of its rows.
                let (name, tail) = match unsafe { self.storage.retire_first_row(entity.index()) } {
                    Some(row) => row,
                    // SAFETY: as above.
                    None => (RowName::main(entity), unsafe { self.storage.retire(entity) }),
                };
                retired.push((tail, self.storage.sides.retired.len()));
                if active {
                    self.storage.note_end(name, tail, beside);
                }
                beside = self.storage.sides.retired.len();
                if name.slot == entity {
                    break;
                }
            }
        }
        if all {
            self.storage.entities.clear();
        }
        let notified = if active { self.notify() } else { Notified::NOBODY };
        self.storage.end_rows(&retired);
        if active {
            self.complete(notified);
        }
        Ok(ended)
    }
}
