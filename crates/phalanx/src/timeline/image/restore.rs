//! Restores a world from an image.
//!
//! The restored world is separate from the one that the image was made of. Values are cloned and memory is allocated first.
//! Rows are moved in when nothing can fail any more.
#![allow(unsafe_code)]

use super::column::{Column, copy_arrays};
use super::{ColumnImage, Image, SparseState};
use crate::alloc::{try_reserve, try_reserve_at, try_reserve_map, try_vec};
use crate::change_detection::{Clock, Track};
use crate::component::{ComponentId, ComponentInfo};
use crate::rows::Rows;
use crate::sort::sort_short_by_key;
use crate::sparse::Values;
use crate::world::{Location, World};
use phalanx_store::raw::{Lane, Words, row_ptr};
use phalanx_store::{AllocError, EntityPool};

/// Sets the change tick of a column that is tracked as a whole.
pub(super) fn set_tick(info: &ComponentInfo, lanes: &[Lane], tick: u64) {
    if let (Track::Column, Some(lane)) = (info.track, lanes.last()) {
        lane.set_version(tick);
    }
}

impl Image {
    /// Creates a world with this state and the components of `world`.
    ///
    /// # Safety
    ///
    /// The image was made of `world`, or [validated](Image::validate) against its components.
    pub(in crate::timeline) unsafe fn try_restore(&self, world: &World) -> Result<World, AllocError> {
        let components = &world.storage.components;
        let mut fresh = World::try_with(components.try_clone()?)?;
        let mut clones = Vec::new();
        let mut numbers = try_vec(self.tables.len())?;
        for table in &self.tables {
            let number = fresh.storage.table_of(&table.signature)? as usize;
            numbers.push(number);
            let rows = table.slots.rows();
            fresh.storage.tables[number].try_reserve_exact(rows, &mut fresh.storage.epoch)?;
            let mut columns = try_vec(table.columns.len())?;
            for (image, target) in table.columns.iter().zip(&fresh.storage.tables[number].columns) {
                let column = &image.column;
                columns.push(match column {
                    Column::Plain(_) => None,
                    Column::Cloned(_) => Some(column.try_clone_values(components.info(target.id), rows)?),
                });
            }
            try_reserve(&mut clones, 1)?;
            clones.push(columns);
        }
        let mut order = try_vec(numbers.len())?;
        order.extend(numbers.into_iter().zip(self.tables.iter().zip(clones)));
        sort_short_by_key(&mut order, |(_, (table, _))| table.stamp);
        // SAFETY: the words and the free list are those of an entity allocator, by the caller's contract.
        fresh.storage.entities = unsafe {
            EntityPool::try_rebuild(self.words.words(), self.free_list.words(), self.reserved, Location::NOWHERE)?
        };
        let slots = fresh.storage.entities.slot_count() as u32;
        let extra = self.tables.iter().filter(|table| table.signature.has(ComponentId::ROW));
        let extra = extra.map(|table| table.slots.rows() as usize).sum();
        let mut rows = Rows::default();
        if extra > 0 {
            try_reserve_map(&mut rows.by_name, extra)?;
            try_reserve_map(&mut rows.first, extra)?;
            try_reserve_at(&mut rows.owners, slots as usize / 64)?;
        }
        for image in &self.sparse {
            let info = components.info(image.id);
            let number = fresh.storage.sparse.try_register(image.id, components)?;
            match &image.state {
                SparseState::Pool(state) => {
                    let values = image.column.try_clone_values(info, image.keys.rows())?;
                    let empty = Values::try_new(info)?;
                    // SAFETY: the keys and values are those of a sparse set in this state, by the caller's contract.
                    unsafe {
                        let values = || values.into_values();
                        fresh.storage.sparse.try_restore_sparse_set(
                            number,
                            image.keys.bytes(),
                            slots,
                            state,
                            empty,
                            values,
                        )?;
                    }
                }
                SparseState::Linear { rows } => {
                    let words = image.keys.bytes().as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word));
                    let bits = Words::try_from_words(words)?;
                    let capacity = if bits.is_empty() { 0 } else { bits.len() * 64 + 1 };
                    let values = image.column.try_clone_values(info, capacity)?.into_values();
                    // SAFETY: each slot with a bit has a value, by the caller's contract, and there is capacity for the spare
                    // row.
                    unsafe { fresh.storage.sparse.restore_linear(number, bits, *rows, values) };
                }
            }
        }
        for (storage, image) in fresh.storage.sparse.iter().zip(&self.sparse) {
            set_tick(components.info(storage.id), storage.values().lanes(), image.tick);
        }
        fresh.storage.sparse.try_restore_masks(slots)?;
        fresh.storage.try_reserve_names(0)?;
        // SAFETY: the sparse storages were restored from the same image above.
        unsafe { fresh.storage.sparse.restore_groups(self.groups.try_clone()?) };
        fresh.storage.sparse.clock = Clock::try_resumed(&self.time, fresh.id())?;
        let mut listed = try_vec(self.tables.len())?;
        // Nothing can fail from here on.
        for (number, (table, clones)) in order {
            let target = &mut fresh.storage.tables[number];
            for (at, (ColumnImage { column, tick, .. }, clones)) in table.columns.iter().zip(clones).enumerate() {
                let target_column = target.columns[at];
                let lanes = target.lanes_of(&target_column);
                match (column, clones) {
                    // SAFETY: the lanes are those of the component. The table has no rows yet.
                    (Column::Plain(arrays), _) => unsafe { copy_arrays(arrays, lanes) },
                    (_, Some(clones)) => {
                        let values = clones.into_values();
                        for (from, to) in values.lanes().iter().zip(lanes) {
                            let bytes = table.slots.rows() as usize * from.row_size();
                            // SAFETY: both lanes have the capacity. The clones are moved out: `into_values` drops none.
                            unsafe { core::ptr::copy_nonoverlapping(row_ptr(from, 0), row_ptr(to, 0), bytes) };
                        }
                    }
                    (Column::Cloned(_), None) => unreachable!("every cloned column was cloned"),
                }
                set_tick(components.info(target_column.id), lanes, *tick);
            }
            // SAFETY: the table has the capacity, and all lanes of the rows are written. The slots are live, by the caller's
            // contract, so that each has a location.
            unsafe {
                let slots = table.slots.bytes();
                core::ptr::copy_nonoverlapping(slots.as_ptr(), target.entities.ptr().cast(), slots.len());
                target.set_len(table.slots.rows(), &mut fresh.storage.table_order);
            }
            // The stamps of the image, so that an earlier frame can be restored in place.
            fresh.storage.table_order.raise_stamp(table.stamp);
            target.stamp = table.stamp;
            if table.stamp != 0 {
                listed.push(number as u32);
            }
            fresh.storage.set_locations(number as u32, 0);
        }
        fresh.storage.table_order.relink(listed.into_iter());
        fresh.storage.rows = rows;
        fresh.storage.find_rows();
        fresh.storage.restructured();
        Ok(fresh)
    }
}
