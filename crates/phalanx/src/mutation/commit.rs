//! The commits: the only functions that change the structure of a [`Storage`].
//!
//! [`spawn_row`](Storage::spawn_row), [`move_row`](Storage::move_row), [`remove_row`](Storage::remove_row) and
//! [`set_value`](Storage::set_value) keep everything that depends on structure: locations, sparse storages and their groups, change
//! ticks, dirty bits, statistics, the epoch, and the journal of events.
//!
//! They allocate nothing, run no user code and do not panic. What they need is [reserved](super::reserve) before.
#![allow(unsafe_code)]

use super::displaced::{Displaced, InPlace};
use crate::bundle::BundlePtr;
use crate::bundle_info::Edge;
use crate::change_detection::RunTicks;
use crate::component::Component;
use crate::journal::RowName;
use crate::layout::Layout;
use crate::rows::{Label, Link, NONE, Row};
use crate::sparse::Arrivals;
use crate::storage::table::{Keep, copy_row, row_ptr, swap_row};
use crate::storage::{Location, Storage};
use core::ops::Range;
use phalanx_store::Entity;
use phalanx_store::raw::Lane;

impl Storage {
    /// Makes the row that was written beyond the last of a table the row of a new slot. The sparse storages `sparse` count the
    /// values that were written for it.
    ///
    /// With `RECORD`, the journal records that the slot was spawned. Otherwise the caller does, when all of its values are there.
    ///
    /// # Safety
    ///
    /// - The slot was allocated just now, and has no row and no sparse value.
    /// - Room for the row is reserved, and its lanes are written. So are the values of `sparse`, where they were reserved.
    #[inline(always)]
    pub(crate) unsafe fn spawn_row<const RECORD: bool>(&mut self, slot: Entity, table: u32, sparse: &[u32]) {
        let row = self.tables[table as usize].len;
        // SAFETY: the slot is alive. The rest is the contract of this function.
        unsafe {
            self.set_location(slot, Location { table, row });
            self.add_row::<RECORD>(slot, table, sparse);
        }
    }

    /// Allocates a slot, and makes the row that was written beyond the last of a table its row.
    ///
    /// # Safety
    ///
    /// As for [`spawn_row`](Storage::spawn_row), and the pool of entities is ready for one more.
    #[inline(always)]
    pub(crate) unsafe fn spawn_new_row<const RECORD: bool>(&mut self, table: u32, sparse: &[u32]) -> Entity {
        let row = self.tables[table as usize].len;
        // SAFETY: the pool is ready, by the caller's contract. So is the rest.
        unsafe {
            let slot = self.entities.alloc_ready_with(Location { table, row });
            self.add_row::<RECORD>(slot, table, sparse);
            slot
        }
    }

    /// Adds the row that was written beyond the last of a table, for a slot whose location is set.
    ///
    /// # Safety
    ///
    /// As for [`spawn_row`](Storage::spawn_row).
    #[inline(always)]
    unsafe fn add_row<const RECORD: bool>(&mut self, slot: Entity, table: u32, sparse: &[u32]) {
        // SAFETY: capacity for the row is reserved, and the values are written.
        unsafe {
            self.tables[table as usize].push(slot, &mut self.table_order);
            if !sparse.is_empty() {
                self.sparse.commit::<true>(slot, sparse, &[]);
            }
        }
        self.restructured();
        if RECORD {
            self.record_spawn(slot);
        }
    }

    /// Allocates slots for the rows that were written beyond the last of a table, up to `end`. Records nothing.
    ///
    /// # Safety
    ///
    /// Room for so many rows and slots is reserved, and the lanes of the rows are written.
    pub(crate) unsafe fn spawn_rows(&mut self, number: u32, end: u32) {
        let table = &mut self.tables[number as usize];
        let first = table.len;
        let mut row = first;
        let entities = table.entities.ptr();
        let allocated = self.entities.try_alloc_many_with((end - first) as usize, |entity| {
            // SAFETY: the row is below `end`, and within the capacity by the caller's contract.
            unsafe { entities.add(row as usize).write(entity) };
            row += 1;
            Location { table: number, row: row - 1 }
        });
        debug_assert!(allocated.is_ok(), "slots are reserved");
        // SAFETY: the rows are within the capacity and written, by the caller's contract.
        unsafe {
            table.entities.mark_rows(first..row);
            table.set_len(row, &mut self.table_order);
        }
        self.restructured();
    }

    /// Makes the row that was written beyond the last of a table an extra row of an entity, under a label.
    ///
    /// # Safety
    ///
    /// - As for [`spawn_row`](Storage::spawn_row), and room for one more slot and its name is reserved.
    /// - The table is one of extra rows. The entity is alive and has no row with this label.
    pub(crate) unsafe fn spawn_extra_row<const RECORD: bool>(
        &mut self,
        owner: Entity,
        label: Label,
        table: u32,
        sparse: &[u32],
    ) -> Row {
        // SAFETY: handles of extra rows stay in tables and in `Row`, which does not show them.
        let slot = unsafe { self.entities.alloc_row() };
        let (index, owner_index) = (slot.index(), owner.index());
        // SAFETY: there is room for the row. The reserved component is written here.
        unsafe {
            let table = &self.tables[table as usize];
            let (lanes, row) = (table.row_lanes().unwrap_unchecked(), table.len as usize);
            lanes.owners.add(row).write(owner);
            lanes.labels.add(row).write(label);
            lanes.links.add(row).write(Link { prev: index, next: NONE });
        }
        // SAFETY: the slot is new, and the rest are the caller's promises.
        unsafe { self.spawn_row::<false>(slot, table, sparse) };
        self.rows.by_name.insert((owner_index, label), index);
        match self.rows.first.get(&owner_index) {
            None => self.rows.begin(owner_index, index),
            // SAFETY: the slots that the maps and the links name are extra rows, and so is the new one.
            Some(&first) => unsafe {
                let last = (*self.link(first)).prev;
                (*self.link(last)).next = index;
                (*self.link(first)).prev = index;
                (*self.link(index)).prev = last;
            },
        }
        if RECORD {
            self.record_spawn(slot);
        }
        Row(slot)
    }

    /// Moves the row of a slot along an edge. Where the edge leads to the same table, the new values replace those of the row.
    ///
    /// # Safety
    ///
    /// - The slot is alive and at `from`, and the edge is one of that table.
    /// - What the edge needs is reserved. The values that it inserts are written: in the row beyond the last of its target, and
    ///   where sparse values were reserved.
    /// - The sink has room for the displaced values.
    #[inline(always)]
    pub(crate) unsafe fn move_row<D: Displaced>(&mut self, slot: Entity, from: Location, edge: &Edge, out: &mut D) {
        // SAFETY: the caller's promises.
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
            out.accept(self, displaced, Some(&edge.removed));
        }
        self.record_move(slot, from.table, edge, out.moved());
    }

    /// Writes the values that an edge inserts, then moves the row of a slot along it.
    ///
    /// # Safety
    ///
    /// - The slot is alive and at `from`, and the edge is one of that table.
    /// - What the edge needs is reserved, for several moves at once. The sink has room for the displaced values.
    /// - `write` moves the values in that the edge inserts. If it panics, nothing has changed.
    pub(crate) unsafe fn move_row_with<D: Displaced>(
        &mut self,
        slot: Entity,
        from: Location,
        edge: &Edge,
        write: impl FnOnce(BundlePtr),
        out: &mut D,
    ) {
        self.sparse.find_insert_ptrs(slot.index(), &edge.sparse_inserts);
        let tail = self.tables[edge.target as usize].len;
        write(self.bundle_ptr(edge.target, edge.columns.as_ptr(), tail));
        // SAFETY: the slot is at `from`, and everything is reserved, by the caller's contract. The values are written.
        unsafe { self.move_row(slot, from, edge, out) };
    }

    /// Exchanges values of a row with those that were written beyond the last row of the same table.
    ///
    /// # Safety
    ///
    /// The row is in use, the edge leads from its table to the same, and the values are written.
    #[inline(always)]
    pub(crate) unsafe fn replace_in_row(&mut self, at: Location, edge: &Edge) {
        if edge.removed.is_empty() {
            return;
        }
        let table = &self.tables[at.table as usize];
        let tail = table.len;
        for lane in edge.removed.iter().flat_map(|column| column.first..column.first + column.lanes) {
            // SAFETY: both rows are within the capacity, and differ.
            unsafe {
                let lane = &*table.lanes().add(lane as usize);
                swap_row(row_ptr(lane, at.row), row_ptr(lane, tail), lane.row_size());
            }
        }
        // SAFETY: the row is in use, and so was the one that its values come from.
        unsafe {
            table.set_dirty(at.row, &edge.removed);
            if table.tracked {
                table.keep_added(at.row, &edge.removed, (table, tail));
            }
        }
    }

    /// Moves a row to another table. What it leaves behind is beyond the last row of its old table.
    ///
    /// # Safety
    ///
    /// The slot is alive and at `from`, and the edge leads from that table to another. Room is reserved there, and the values that
    /// do not come along are written.
    #[inline(always)]
    unsafe fn move_to_target(&mut self, slot: Entity, from: Location, edge: &Edge) {
        let target = &mut self.tables[edge.target as usize];
        // SAFETY: there is room in the target.
        let (row, to) = unsafe { (target.push(slot, &mut self.table_order), target.lanes()) };
        if edge.tracked {
            // SAFETY: the source's row is in use, and the target's is written.
            unsafe { self.mark_move(from.table, from.row..from.row + 1, edge, row) };
        }
        let source = &mut self.tables[from.table as usize];
        // SAFETY: the source's row is in use, and the target's is new; the lanes of a pair belong to the same component. The
        // values that come along count as moved out of the source.
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

    /// Moves all rows of a table along an edge to another table, in order. What they leave behind stays where it was, in rows
    /// that the table has given up. Records nothing. Returns the number of rows.
    ///
    /// # Safety
    ///
    /// The edge leads from that table to another. Room is reserved there, and the values that do not come along are written.
    pub(crate) unsafe fn move_rows(&mut self, source: u32, edge: &Edge) -> u32 {
        let first = self.tables[edge.target as usize].len;
        let to = self.tables[edge.target as usize].lanes();
        if edge.tracked {
            // SAFETY: the rows of the source are in use, and those of the target written.
            unsafe { self.mark_move(source, 0..self.tables[source as usize].len, edge, first) };
        }
        let from = &mut self.tables[source as usize];
        let (len, entities, lanes) = (core::mem::replace(&mut from.len, 0), from.entities.ptr(), from.lanes());
        // SAFETY: the rows of the source were in use, and there is room for as many in the target; the lanes of a pair
        // belong to the same component. The values that come along count as moved out of the source.
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

    /// Removes the row of a slot with all of its sparse values, and releases the slot.
    ///
    /// Without listeners, only values that need a drop are sure to reach the sink.
    ///
    /// # Safety
    ///
    /// - The slot is alive and at `at`. If it is the main row of an entity, that entity has no extra rows.
    /// - The sink has room for the displaced values, and so has the list of retired sparse values.
    #[inline(always)]
    pub(crate) unsafe fn remove_row<D: Displaced>(&mut self, slot: Entity, at: Location, out: &mut D) {
        let shows = !D::MOVED_OUT && self.journal.is_active();
        let name = if shows { self.row_name(slot) } else { RowName::main(slot) };
        if slot.is_row() {
            // SAFETY: it is an extra row, and alive.
            unsafe { self.unlink(slot.index()) };
        }
        let displaced_values = self.sparse.displaced_values.len();
        self.entities.release(slot);
        if self.counting {
            self.count_removed(at.table, 1);
        }
        if !self.sparse.is_empty() {
            if shows { self.sparse.remove_all::<true>(slot) } else { self.sparse.remove_all::<false>(slot) }
        }
        let keep = match () {
            () if D::MOVED_OUT => Keep::None,
            () if shows => Keep::All,
            () => Keep::NeedsDrop,
        };
        let table = &mut self.tables[at.table as usize];
        // SAFETY: the row is in use, by the caller's contract.
        let moved = unsafe { table.swap_remove(at.row, keep) };
        let displaced = Location { row: table.len, ..at };
        // SAFETY: an entity in a table is alive. What needs a drop is beyond the last row now.
        unsafe {
            if let Some(moved) = moved {
                self.set_location(moved, at);
            }
            self.mark_removal(at.table);
            self.restructured();
            out.accept(self, displaced, None);
        }
        if shows {
            self.record_removal(name, displaced, displaced_values, out.moved());
        }
    }

    /// Removes an entity: its extra rows in the order of their creation, then its main row.
    ///
    /// # Safety
    ///
    /// The entity is alive. The rest is as for [`remove_row`](Storage::remove_row), for all of its rows.
    pub(crate) unsafe fn remove_entity<D: Displaced>(&mut self, entity: Entity, out: &mut D) {
        while self.rows.owns(entity.index()) {
            // SAFETY: the first row of an entity is an extra row, and alive.
            unsafe {
                let (Row(slot), ..) = self.extra_row(self.rows.first[&entity.index()]);
                self.remove_row(slot, self.location_unchecked(slot), out);
            }
        }
        // SAFETY: the entity is alive, and has no extra rows any more.
        unsafe { self.remove_row(entity, self.location_unchecked(entity), out) };
    }

    /// Removes an entity that has no components and no extra rows.
    pub(crate) fn remove_empty(&mut self, entity: Entity) {
        let has_sparse = || self.sparse.storages_of(entity.index()).next().is_some();
        if let Ok(at @ Location { table: 0, .. }) = self.try_location(entity)
            && !self.rows.owns(entity.index())
            && !has_sparse()
        {
            // SAFETY: the entity is there, and has no values.
            unsafe { self.remove_row(entity, at, &mut InPlace) };
        }
    }

    /// Replaces a value of a slot, and returns the old one. The caller records it, when the old value is where it stays.
    ///
    /// # Safety
    ///
    /// The lane is the first of the component, and the row is in use there.
    #[inline(always)]
    pub(crate) unsafe fn set_value<C: Component>(&mut self, lane: *const Lane, row: usize, value: C) -> C {
        // SAFETY: the caller's promise: the old value is moved out, the new one moved in.
        unsafe {
            crate::layout::set_row_dirty::<C>(lane, row);
            C::Layout::replace(C::Layout::ptr(lane, RunTicks::of::<C>(&raw const self.sparse.clock)), row, value)
        }
    }

    /// Counts sparse values that were written for slots which have been spawned since.
    ///
    /// # Safety
    ///
    /// As for [`Arrivals::commit`].
    pub(crate) unsafe fn receive(&mut self, values: &Arrivals) {
        let Storage { sparse, entities, tables, .. } = self;
        // SAFETY: the caller's promise; entities and tables are of one storage.
        unsafe { values.commit(sparse, |index| Storage::slot_at(entities, tables, index)) };
    }

    /// Returns the location of a slot.
    ///
    /// # Safety
    ///
    /// The slot is alive.
    #[inline(always)]
    pub(crate) unsafe fn location_unchecked(&self, slot: Entity) -> Location {
        // SAFETY: the slot is alive, by the caller's promise.
        unsafe { self.entities.payload_unchecked(slot.index()) }
    }

    /// Sets the location of a slot.
    ///
    /// # Safety
    ///
    /// The slot is alive.
    #[inline(always)]
    pub(crate) unsafe fn set_location(&mut self, slot: Entity, location: Location) {
        // SAFETY: the slot is alive, by the caller's promise.
        unsafe { self.entities.set_unchecked(slot.index(), location) };
    }

    /// Sets the change ticks of a move between tables: rows of `source` go to `row` of the target and those after it.
    ///
    /// # Safety
    ///
    /// The edge leads from `source` to another table. The rows are in use, and those of the target have the values that do not
    /// come along.
    #[cold]
    unsafe fn mark_move(&self, source: u32, rows: Range<u32>, edge: &Edge, row: u32) {
        let (from, to) = (&self.tables[source as usize], &self.tables[edge.target as usize]);
        from.mark_columns(self.tick());
        to.mark_columns(self.tick());
        for (old, row) in rows.zip(row..) {
            // SAFETY: both rows are initialised, by the caller's promise.
            unsafe { to.keep_added(row, &edge.removed, (from, old)) };
        }
    }

    /// Sets the change ticks of the columns of a table that rows were removed from.
    #[inline(always)]
    pub(crate) fn mark_removal(&self, table: u32) {
        let table = &self.tables[table as usize];
        if table.tracked {
            table.mark_columns(self.tick());
        }
    }

    /// Counts rows that were moved along an edge, for the layout report.
    #[cold]
    #[inline(never)]
    fn count_moved(&mut self, edge: &Edge, rows: u32) {
        for column in &edge.removed {
            // What is replaced is in the target.
            if !self.tables[edge.target as usize].signature.has(column.id) {
                self.components.usage_mut(column.id).removed += u64::from(rows);
            }
        }
    }

    /// Counts rows that are removed from a table, for the layout report.
    #[cold]
    #[inline(never)]
    fn count_removed(&mut self, table: u32, rows: u32) {
        for column in &self.tables[table as usize].columns {
            self.components.usage_mut(column.id).despawned += u64::from(rows);
        }
    }

    /// Counts all rows as removed, for the layout report.
    pub(crate) fn count_all_removed(&mut self) {
        if self.counting {
            for table in 0..self.tables.len() {
                self.count_removed(table as u32, self.tables[table].len);
            }
        }
    }
}
