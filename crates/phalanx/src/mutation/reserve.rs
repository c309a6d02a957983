//! Making room, before anything changes.
#![allow(unsafe_code)]

use crate::storage::{Location, Storage};
use phalanx_store::AllocError;

impl Storage {
    /// Makes room for so many more rows in a table. Its lanes may move, even if one of them cannot grow.
    #[inline]
    pub(crate) fn reserve_table(&mut self, table: u32, count: u32) -> Result<(), AllocError> {
        self.tables[table as usize].try_reserve(count, &mut self.epoch)
    }

    /// Makes room for so many more entities, and for their locations.
    pub(crate) fn reserve_entities(&mut self, count: u32) -> Result<(), AllocError> {
        self.entities.try_reserve(count as usize)
    }

    /// Gives reserved entities a row in the table of those without components.
    #[inline(always)]
    pub(crate) fn flush(&mut self) -> Result<(), AllocError> {
        if self.entities.reserved_count() == 0 { Ok(()) } else { self.flush_reserved() }
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn flush_reserved(&mut self) -> Result<(), AllocError> {
        let count = u32::try_from(self.entities.reserved_count()).map_err(|_| AllocError::CapacityOverflow)?;
        self.reserve_entities(0)?;
        self.reserve_table(0, count)?;
        if self.signals.is_active() {
            self.reserve_notes(count as usize)?;
        }
        let first = self.tables[0].len;
        let (table, places) = (&mut self.tables[0], self.entities.places());
        for entity in self.entities.try_flush()? {
            // SAFETY: there is room for so many rows and locations.
            unsafe {
                let row = table.push(entity, &mut self.table_order);
                places.at(entity.index()).write(Location { table: 0, row });
            }
        }
        self.restructured();
        if self.signals.is_active() {
            // Told by the operation that they come before.
            for row in first..self.tables[0].len {
                self.note_arrival(self.tables[0].slots()[row as usize]);
            }
        }
        Ok(())
    }
}
