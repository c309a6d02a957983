//! A world made of an image.
//!
//! Everything is made beside the world that is to become it: clones first, then what may lack memory; the rows are moved
//! in when nothing can fail any more.
#![allow(unsafe_code)]

use super::column::Column;
use super::image::{ColumnImage, Image, SideState};
use crate::alloc::{try_reserve_at, try_reserve_map, try_vec};
use crate::change_detection::{Clock, Track};
use crate::component::{ComponentId, ComponentInfo};
use crate::rows::Rows;
use crate::sparse::Values;
use crate::storage::table::row_ptr;
use crate::world::{Location, World};
use phalanx_store::raw::{Lane, LaneOf};
use phalanx_store::{AllocError, EntityPool};

/// Gives a column the tick that it had.
fn set_tick(info: &ComponentInfo, lanes: &[Lane], tick: u64) {
    if let (Track::Column, Some(lane)) = (info.track, lanes.last()) {
        lane.set_version(tick);
    }
}

impl Image {
    /// A world with this state, and the components of another, whose state it is.
    ///
    /// # Safety
    ///
    /// The image is of a world with these components as it was at one time.
    pub(super) unsafe fn try_restore(&self, world: &World) -> Result<World, AllocError> {
        let components = &world.storage.components;
        let mut fresh = World::try_with(components.try_clone()?)?;
        let mut revived = Vec::new();
        let mut numbers = try_vec(self.tables.len())?;
        for table in &self.tables {
            let number = fresh.storage.table_of(&table.signature)? as usize;
            numbers.push(number);
            let rows = table.slots.rows();
            fresh.storage.tables[number].try_reserve_exact(rows, &mut fresh.storage.epoch)?;
            let mut columns = try_vec(table.columns.len())?;
            for (image, place) in table.columns.iter().zip(&fresh.storage.tables[number].columns) {
                let column = &image.column;
                columns.push(match column {
                    Column::Plain(_) => None,
                    Column::Cloned(_) => Some(column.try_revive(components.info(place.id), rows)?),
                });
            }
            crate::alloc::try_reserve(&mut revived, 1)?;
            revived.push(columns);
        }
        let mut order = try_vec(numbers.len())?;
        order.extend(numbers.into_iter().zip(self.tables.iter().zip(revived)));
        order.sort_unstable_by_key(|(_, (table, _))| table.stamp);
        // SAFETY: the caller's promise.
        fresh.storage.entities = unsafe {
            EntityPool::try_rebuild(self.words.words(), self.stack.words(), self.reserved, Location::NOWHERE)?
        };
        let extra = self.tables.iter().filter(|table| table.signature.has(ComponentId::ROW));
        let extra = extra.map(|table| table.slots.rows() as usize).sum();
        let mut rows = Rows::default();
        if extra > 0 {
            try_reserve_map(&mut rows.by_name, extra)?;
            try_reserve_map(&mut rows.first, extra)?;
            try_reserve_at(&mut rows.owners, fresh.storage.entities.slot_count() / 64)?;
        }
        for side in &self.sparse {
            let info = components.info(side.id);
            let number = fresh.storage.sparse.try_register(side.id, components)?;
            match &side.state {
                SideState::Pool(state) => {
                    let values = side.column.try_revive(info, side.keys.rows())?;
                    let empty = Values::try_new(info)?;
                    // SAFETY: the keys and values of a pool in this state.
                    unsafe {
                        let values = || values.into_values();
                        fresh.storage.sparse.try_restore_sparse_set(number, side.keys.bytes(), state, empty, values)?;
                    }
                }
                SideState::Linear { rows } => {
                    let (words, mut bits) = (side.keys.rows(), LaneOf::<u64>::new());
                    let room = if words == 0 { 0 } else { words * 64 + 1 };
                    let values = side.column.try_revive(info, room)?;
                    // SAFETY: nothing is in use; so many words are there, and there is room for them here. The values are
                    // those of the slots that have a bit.
                    unsafe {
                        bits.try_resize(words)?;
                        let bytes = side.keys.bytes();
                        core::ptr::copy_nonoverlapping(bytes.as_ptr(), bits.ptr().cast(), bytes.len());
                        fresh.storage.sparse.restore_linear(number, bits, words, *rows, values.into_values());
                    }
                }
            }
        }
        for (side, image) in fresh.storage.sparse.iter().zip(&self.sparse) {
            set_tick(components.info(side.id), side.values().lanes(), image.tick);
        }
        fresh.storage.sparse.try_restore_masks(fresh.storage.entities.slot_count() as u32)?;
        fresh.storage.sparse.restore_groups(self.groups.try_clone()?);
        fresh.storage.sparse.clock = Clock::resumed(self.time, fresh.id());
        // Nothing fails from here on.
        for (number, (table, revived)) in order {
            let target = &mut fresh.storage.tables[number];
            for (at, (ColumnImage { column, tick, .. }, clones)) in table.columns.iter().zip(revived).enumerate() {
                let place = target.columns[at];
                let lanes = &target.lane_list()[place.first as usize..][..place.lanes as usize];
                match (column, clones) {
                    (Column::Plain(arrays), _) => {
                        for (array, lane) in arrays.iter().zip(lanes) {
                            let bytes = array.bytes();
                            // SAFETY: there is room for so many rows.
                            unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), lane.ptr().as_ptr(), bytes.len()) };
                        }
                    }
                    (_, Some(clones)) => {
                        let values = clones.into_values();
                        for (from, to) in values.lanes().iter().zip(lanes) {
                            let bytes = table.slots.rows() as usize * from.row_size();
                            // SAFETY: there is room for so many rows; the clones count as moved out.
                            unsafe { core::ptr::copy_nonoverlapping(row_ptr(from, 0), row_ptr(to, 0), bytes) };
                        }
                    }
                    (Column::Cloned(_), None) => unreachable!("clones were made of clones"),
                }
                set_tick(components.info(place.id), lanes, *tick);
            }
            // SAFETY: there is room for so many rows, whose lanes are written; and for the locations of all slots.
            unsafe {
                let slots = table.slots.bytes();
                core::ptr::copy_nonoverlapping(slots.as_ptr(), target.entities.ptr().cast(), slots.len());
                target.set_len(table.slots.rows(), &mut fresh.storage.table_order);
                for (row, slot) in (0..).zip(target.slots()) {
                    fresh.storage.entities.places().at(slot.index()).write(Location { table: number as u32, row });
                }
            }
        }
        fresh.storage.rows = rows;
        fresh.storage.find_rows();
        fresh.storage.restructured();
        Ok(fresh)
    }
}
