//! [`Storage::move_row`]: the commit that moves a row to another archetype, or replaces its values.
#![allow(unsafe_code)]

use super::displaced::Displaced;
use super::made_required::Made;
use super::reserve::Reserved;
use crate::bundle::BundlePtr;
use crate::bundle_info::Edge;
use crate::storage::table::Keep;
use crate::storage::{Location, Storage};
use core::ops::Range;
use phalanx_store::Entity;
use phalanx_store::raw::{copy_row, row_ptr, swap_row};

impl Storage {
    /// Moves the row of a slot along an edge. If the edge leads to the same table, the new values replace those of the row.
    ///
    /// # Safety
    ///
    /// - The slot is alive and at `from`, and the edge is one of that table.
    /// - The values that the edge inserts are written: in the row beyond the last of its target, and in the positions that were
    ///   reserved in sparse storages.
    /// - The sink has capacity for the displaced values.
    /// - The token is of a reservation for this commit, and no other commit has used the capacity since.
    #[inline(always)]
    pub(crate) unsafe fn move_row<D: Displaced>(
        &mut self,
        _: Reserved,
        slot: Entity,
        from: Location,
        edge: &Edge,
        out: &mut D,
    ) {
        // SAFETY: the slot is at `from`, the edge is one of its table, the values are written, and the sink has capacity, by the
        // caller's contract. What the edge needs is reserved.
        unsafe {
            if edge.target == from.table {
                self.replace_in_row(from, edge);
            } else {
                self.move_to_target(slot, from, edge);
            }
            if !(edge.sparse_inserts.is_empty() && edge.sparse_removes.is_empty()) {
                self.sparse.commit::<false>(slot, &edge.sparse_inserts, &edge.sparse_removes);
                self.restructured();
            }
            let displaced = Location { row: self.tables[from.table as usize].len, ..from };
            out.accept(self, displaced, Some(&edge.displaced));
        }
        self.record_move(slot, from.table, edge, out.moved());
    }

    /// Writes the values that an edge inserts, with those of required components, then moves the row of a slot along it.
    ///
    /// # Safety
    ///
    /// - The slot is alive and at `from`, and the edge is one of that table.
    /// - The sink has capacity for the displaced values.
    /// - The token is of a reservation for this commit, and no other commit has used the capacity since.
    /// - `write` moves the values in that the edge inserts, except required ones. If it panics, nothing has changed.
    /// - The required values were expected after those of the commits before.
    pub(crate) unsafe fn move_row_with<D: Displaced>(
        &mut self,
        reserved: Reserved,
        (slot, from): (Entity, Location),
        edge: &Edge,
        write: impl FnOnce(BundlePtr),
        made: &mut Made<'_>,
        out: &mut D,
    ) {
        self.sparse.find_insert_ptrs(slot.index(), &edge.sparse_inserts);
        let tail = self.tables[edge.target as usize].len;
        let ptr = self.bundle_ptr(edge.target, edge.columns.as_ptr(), tail);
        // SAFETY: the pointer is valid for the components of the edge: first for those of the bundle, then for required ones.
        unsafe { made.write_with(&edge.required, edge.columns.len(), ptr, write) };
        // SAFETY: the slot is at `from`, and the sink has capacity, by the caller's contract. The values are written.
        unsafe { self.move_row(reserved, slot, from, edge, out) };
    }

    /// Exchanges values of a row with those that were written beyond the last row of the same table.
    ///
    /// # Safety
    ///
    /// The row is in use, the edge leads from its table to the same, and the values are written.
    #[inline(always)]
    pub(crate) unsafe fn replace_in_row(&mut self, at: Location, edge: &Edge) {
        if edge.displaced.is_empty() {
            return;
        }
        let table = &self.tables[at.table as usize];
        let tail = table.len;
        for lane in edge.displaced.iter().flat_map(|column| column.first..column.first + column.lanes) {
            // SAFETY: both rows are within the capacity, and differ.
            unsafe {
                let lane = &*table.lanes().add(lane as usize);
                swap_row(row_ptr(lane, at.row), row_ptr(lane, tail), lane.row_size());
            }
        }
        // SAFETY: the row is in use, and the old values are beyond the last row.
        unsafe {
            table.set_dirty(at.row, &edge.displaced);
            if table.tracked {
                table.keep_added(at.row, &edge.displaced, (table, tail));
            }
        }
    }

    /// Moves a row to another table. Displaced values are beyond the last row of the old table afterwards.
    ///
    /// # Safety
    ///
    /// - The slot is alive and at `from`, and the edge leads from that table to another.
    /// - The capacity for a row is reserved there, and the values that the edge inserts are written.
    #[inline(always)]
    unsafe fn move_to_target(&mut self, slot: Entity, from: Location, edge: &Edge) {
        let target = &mut self.tables[edge.target as usize];
        // SAFETY: the target has the capacity, by the caller's contract.
        let (row, to) = unsafe { (target.push(slot, &mut self.table_order), target.lanes()) };
        if edge.tracked {
            // SAFETY: the old row is in use, and the inserted values of the new one are written.
            unsafe { self.set_move_ticks(from.table, from.row..from.row + 1, edge, row) };
        }
        let source = &mut self.tables[from.table as usize];
        // SAFETY: the old row is in use, and the new one is within the capacity. The lanes of a pair belong to the same component.
        // The copied values count as moved out of the old row.
        unsafe {
            for &(a, b) in &edge.moved {
                let (a, b) = (&*source.lanes().add(a as usize), &*to.add(b as usize));
                copy_row(row_ptr(a, from.row), row_ptr(b, row), a.row_size());
            }
            if let Some(moved) = source.swap_remove(from.row, Keep::Lanes(&edge.keep)) {
                self.set_location(moved, from);
            }
            self.set_location(slot, Location { table: edge.target, row });
        }
        if self.counting {
            self.count_moved(edge, 1);
        }
        self.restructured();
    }

    /// Moves all rows of a table along an edge to another table, in order. Displaced values stay where they were, in rows that
    /// the table does not count any more. Records nothing. Returns the number of rows.
    ///
    /// # Safety
    ///
    /// - The edge leads from that table to another, and the values that it inserts are written.
    /// - The token is of a reservation for this commit, and no other commit has used the capacity since.
    pub(crate) unsafe fn move_rows(&mut self, _: Reserved, source: u32, edge: &Edge) -> u32 {
        let first = self.tables[edge.target as usize].len;
        let to = self.tables[edge.target as usize].lanes();
        if edge.tracked {
            // SAFETY: the old rows are in use, and the inserted values of the new ones are written.
            unsafe { self.set_move_ticks(source, 0..self.tables[source as usize].len, edge, first) };
        }
        let from = &mut self.tables[source as usize];
        let (len, entities, lanes) = (core::mem::replace(&mut from.len, 0), from.entities.ptr(), from.lanes());
        // SAFETY: the old rows were in use, and the capacity for as many is reserved in the target. The lanes of a pair belong to
        // the same component. The copied values count as moved out of the old rows.
        unsafe {
            for &(a, b) in &edge.moved {
                let (a, b) = (&*lanes.add(a as usize), &*to.add(b as usize));
                core::ptr::copy_nonoverlapping(row_ptr(a, 0), row_ptr(b, first), len as usize * a.row_size());
            }
            for at in 0..len {
                let entity = *entities.add(at as usize);
                let row = self.tables[edge.target as usize].push(entity, &mut self.table_order);
                self.set_location(entity, Location { table: edge.target, row });
            }
        }
        if self.counting {
            self.count_moved(edge, len);
        }
        self.restructured();
        len
    }

    /// Sets the change ticks of a move between tables: rows of `source` go to `row` of the target and those after it.
    ///
    /// # Safety
    ///
    /// The edge leads from `source` to another table. The old rows are in use, and the inserted values of the new ones are
    /// written.
    #[cold]
    unsafe fn set_move_ticks(&self, source: u32, rows: Range<u32>, edge: &Edge, row: u32) {
        let (from, to) = (&self.tables[source as usize], &self.tables[edge.target as usize]);
        from.set_column_ticks(self.tick());
        to.set_column_ticks(self.tick());
        for (old, row) in rows.zip(row..) {
            // SAFETY: the ticks of both rows are initialised, by the caller's contract.
            unsafe { to.keep_added(row, &edge.displaced, (from, old)) };
        }
    }

    /// Counts rows that were moved along an edge, for the layout report.
    #[cold]
    #[inline(never)]
    fn count_moved(&mut self, edge: &Edge, rows: u32) {
        for column in &edge.displaced {
            // A component that is overwritten is in the target.
            if !self.tables[edge.target as usize].signature.has(column.id) {
                self.components.usage_mut(column.id).removed += u64::from(rows);
            }
        }
    }
}
