//! Commits.
#![allow(unsafe_code)]

use crate::bundle::Place;
use crate::commands::stash::Stash;
use crate::plan::Edge;
use crate::rows::{Label, Link, NONE, Row};
use crate::side::{Arrivals, Puts, Sides};
use crate::signal::RowName;
use crate::storage::{Location, Storage};
use crate::table::{Table, copy_row, row_ptr};
use phalanx_store::{AllocError, Entity};

impl Storage {
    /// Carries out an edge for the entity at `from`: its row goes to the target, and what stays behind lies at the
    /// source's tail. The row is the first beyond the target's last, whose other lanes the caller has written.
    ///
    /// # Safety
    ///
    /// The entity is at `from`, the edge is one of that table to another, there is room in the target, and the lanes of its
    /// first row beyond the last that do not come from the source are written.
    #[inline(always)]
    pub(crate) unsafe fn cross(&mut self, entity: Entity, from: Location, edge: *const Edge) {
        // SAFETY: edges are boxed and made only while resolving; tables are not added or dropped here.
        let edge = unsafe { &*edge };
        let target = &mut self.tables[edge.target as usize];
        // SAFETY: there is room, by the caller's promise.
        let (row, to) = unsafe { (target.push(entity, &mut self.table_order), target.lanes()) };
        if edge.tracked {
            // SAFETY: the source's row is in use, and the target's is written.
            unsafe { self.mark_cross(from.table, from.row..from.row + 1, edge, row) };
        }
        let source = &mut self.tables[from.table as usize];
        // SAFETY: the source's row is in use, the target's was made just now; the lanes of a pair belong to the same
        // component. The values that went along count as moved out of the source.
        unsafe {
            for &(a, b) in &edge.moved {
                let (a, b) = (&*source.lanes().add(a as usize), &*to.add(b as usize));
                copy_row(row_ptr(a, from.row), row_ptr(b, row), a.row_size());
            }
            if let Some(moved) = source.close(from.row, &edge.keep) {
                self.entities.places().at(moved.index()).write(from);
            }
            self.entities.places().at(entity.index()).write(Location { table: edge.target, row });
        }
        if self.counting {
            self.note_crossing(edge, 1);
        }
        self.restructured();
    }

    /// Notes that rows are about to go from one table to another, where the first comes to lie in `row`.
    ///
    /// # Safety
    ///
    /// The edge is one of that table to another. The rows are in use, and those of the target have the values in them that do
    /// not come along.
    #[cold]
    pub(crate) unsafe fn mark_cross(&self, source: u32, rows: core::ops::Range<u32>, edge: &Edge, row: u32) {
        let (from, to) = (&self.tables[source as usize], &self.tables[edge.target as usize]);
        from.mark_columns(self.tick());
        to.mark_columns(self.tick());
        for (old, row) in rows.zip(row..) {
            // SAFETY: the caller's promise.
            unsafe { to.keep_added(row, &edge.left, (from, old)) };
        }
    }

    /// Notes that rows of a table have gone.
    #[inline(always)]
    pub(crate) fn mark_gone(&self, table: u32) {
        let table = &self.tables[table as usize];
        if table.tracked {
            table.mark_columns(self.tick());
        }
    }
}

impl Storage {
    /// Releases a slot and closes its row. Returns where the values lie that need an end: at the tail of the table, nobody's,
    /// until the next row is pushed there. A second row that is retired from the same table comes to lie below the first.
    /// Its values beside tables are retired, too, for which there is room if the slot is the first.
    ///
    /// # Safety
    ///
    /// The slot is alive.
    pub(crate) unsafe fn retire(&mut self, slot: Entity) -> Location {
        self.entities.release(slot);
        if !self.sides.is_empty() {
            self.sides.take_all(slot);
        }
        self.restructured();
        // SAFETY: a slot that was alive has a location, where its row is in use.
        unsafe {
            let at = *self.entities.places().at(slot.index());
            self.close_row(at);
            Location { row: self.tables[at.table as usize].len, ..at }
        }
    }

    /// Closes a row. What needs an end lies at the tail of its table then; all that the row had, if listeners are to see it.
    ///
    /// # Safety
    ///
    /// The row is in use, and its slot was released.
    #[inline(always)]
    pub(crate) unsafe fn close_row(&mut self, at: Location) {
        if self.counting {
            self.note_ended(at.table, 1);
        }
        let table = &mut self.tables[at.table as usize];
        // SAFETY: the caller's promise; the flags are those of the table's lanes.
        unsafe {
            let moved = match self.signals.is_active() {
                false => table.close(at.row, &self.ends[at.table as usize]),
                true => table.close_whole(at.row),
            };
            if let Some(moved) = moved {
                self.entities.places().at(moved.index()).write(at);
            }
            self.mark_gone(at.table);
        }
    }

    /// Takes an extra row out of what finds it, and retires it.
    ///
    /// # Safety
    ///
    /// It is one, and there. Whoever calls ends the values before a row is pushed to their table.
    pub(crate) unsafe fn retire_row(&mut self, slot: Entity) -> Location {
        // SAFETY: the caller's promise.
        unsafe {
            self.unlink(slot.index());
            self.retire(slot)
        }
    }

    /// Takes the first extra row of the entity at an index out of what finds it, and retires it: what ends an entity calls
    /// this until there is none, and retires the main row last.
    ///
    /// # Safety
    ///
    /// Whoever calls ends the values before a row is pushed to their table.
    pub(crate) unsafe fn retire_first_row(&mut self, owner: u32) -> Option<(RowName, Location)> {
        if !self.rows.owns(owner) {
            return None;
        }
        // SAFETY: the first row of an entity is an extra row, which is alive.
        unsafe {
            let (row, ..) = self.extra_row(self.rows.first[&owner]);
            let name = self.row_name(row.0);
            Some((name, self.retire_row(row.0)))
        }
    }

    /// Ends the values of retired rows, all of them, even if one panics: each row's tail, and how many values beside tables were
    /// retired by then.
    pub(crate) fn end_rows(&mut self, retired: &[(Location, usize)]) {
        /// Ends the values of retired rows, all of them, even if one panics: of each row those of its table, then those beside
        /// it, which are retired up to the number that is noted with it.
        struct Ends<'a> {
            tables: &'a [Table],
            rows: core::slice::Iter<'a, (Location, usize)>,
            sides: &'a mut Sides,
            next: usize,
            until: usize,
        }
        impl Ends<'_> {
            fn run(&mut self) {
                loop {
                    while self.next < self.until {
                        self.next += 1;
                        // SAFETY: the value is retired, and ends once.
                        unsafe { self.sides.end_one(self.next - 1) };
                    }
                    let Some(&(tail, until)) = self.rows.next() else { break };
                    self.until = until;
                    let table = &self.tables[tail.table as usize];
                    // SAFETY: the row was retired, and nothing was pushed since; it ends once.
                    unsafe { table.drop_row(tail.row, &table.columns) };
                }
                self.sides.retired.clear();
            }
        }
        impl Drop for Ends<'_> {
            fn drop(&mut self) {
                self.run();
            }
        }
        Ends { tables: &self.tables, rows: retired.iter(), sides: &mut self.sides, next: 0, until: 0 }.run();
    }
}

impl Storage {
    /// Makes an extra row of the one beyond the last of a table, whose components are written.
    ///
    /// # Safety
    ///
    /// There is room for one more slot and its location, and by [`reserve_row`](Storage::reserve_row); the table is one of
    /// extra rows, with the components that were written; the sides are reserved for the slot that is next, and written;
    /// the entity is alive and has no row with this label.
    pub(crate) unsafe fn commit_row(&mut self, owner: Entity, label: Label, number: u32, sides: &[u32]) -> Row {
        // SAFETY: what names a slot stays in tables and in `Row`, which shows it to nobody.
        let slot = unsafe { self.entities.alloc_row() };
        let (index, owner_index) = (slot.index(), owner.index());
        let table = &mut self.tables[number as usize];
        // SAFETY: there is room for the row and for the location. The reserved component is written here, whatever was there.
        unsafe {
            let lanes = table.row_lanes().unwrap_unchecked();
            let row = table.push(slot, &mut self.table_order);
            lanes.owners.add(row as usize).write(owner);
            lanes.labels.add(row as usize).write(label);
            lanes.links.add(row as usize).write(Link { prev: index, next: NONE });
            self.entities.places().at(index).write(Location { table: number, row });
            self.sides.commit(slot, sides, &[]);
        }
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
        self.restructured();
        Row(slot)
    }
}

impl Storage {
    /// Counts what a step along an edge puts and displaces beside tables, and in its source.
    pub(crate) fn expect_step(
        &self,
        slot: u32,
        edge: &Edge,
        puts: &mut Puts,
        stash: &mut Stash,
    ) -> Result<(), AllocError> {
        stash.expect_row(self, &edge.left)?;
        stash.expect_present(self, slot, &edge.takes)?;
        stash.expect_present(self, slot, &edge.puts)?;
        stash.expect_puts(self, &edge.puts)?;
        puts.try_add(&edge.puts, slot)?;
        puts.try_add_taken(&self.sides, &edge.takes, slot)
    }

    /// Counts values that were written for slots which are there since.
    ///
    /// # Safety
    ///
    /// As for [`Arrivals::commit`].
    pub(crate) unsafe fn receive(&mut self, values: &Arrivals) {
        let Storage { sides, entities, tables, .. } = self;
        // SAFETY: the caller's promise; entities and tables are this world's.
        unsafe { values.commit(sides, |index| Storage::slot_at(entities, tables, index)) };
    }

    /// Carries out an edge that brings components.
    ///
    /// # Safety
    ///
    /// The slot is at `from`, and the edge is one of that table. There is room for a row in its target and for the values of
    /// its sides, and what it displaces is expected. `write` moves values in, as for [`follow`](Storage::follow).
    pub(crate) unsafe fn bring(
        &mut self,
        slot: Entity,
        from: Location,
        edge: *const Edge,
        write: impl FnOnce(Place),
        stash: &mut Stash,
    ) {
        // SAFETY: edges are boxed, and made only while resolving. There is room for a row beyond the last of the target, where
        // the new values are written before anything is committed. The values that stay behind are at the tail of the source
        // then, or in the row itself, from where the stash takes them over before the new ones take their place.
        unsafe {
            let Edge { target, left, places, puts, takes, .. } = &*edge;
            self.sides.find_places(slot.index(), puts);
            let table = &self.tables[*target as usize];
            let tail = table.len;
            write(self.place(*target, places.as_ptr(), tail));
            if *target == from.table {
                stash.take(self, table, from.row, left);
                if table.tracked {
                    table.keep_added(tail, left, (table, from.row));
                }
                for lane in left.iter().flat_map(|column| column.first..column.first + column.lanes) {
                    let lane = &*table.lanes().add(lane as usize);
                    copy_row(row_ptr(lane, tail), row_ptr(lane, from.row), lane.row_size());
                }
                table.mark(from.row, left);
            } else {
                self.cross(slot, from, edge);
                let source = &self.tables[from.table as usize];
                stash.take(self, source, source.len, left);
            }
            self.change_sides(slot, puts, takes, stash);
            self.note_carried(slot, from, edge, stash);
        }
    }

    /// Carries out an edge that only takes components.
    ///
    /// # Safety
    ///
    /// As for [`bring`](Storage::bring).
    pub(crate) unsafe fn take_away(&mut self, slot: Entity, from: Location, edge: *const Edge, stash: &mut Stash) {
        // SAFETY: as above; the target has no lanes but those that went along.
        unsafe {
            if (*edge).target != from.table {
                self.cross(slot, from, edge);
                let source = &self.tables[from.table as usize];
                stash.take(self, source, source.len, &(*edge).left);
            }
            self.change_sides(slot, &[], &(*edge).takes, stash);
            self.note_carried(slot, from, edge, stash);
        }
    }

    /// Notes what a step has changed.
    ///
    /// # Safety
    ///
    /// The edge was followed just now, and the stash shows what it has displaced.
    #[inline(always)]
    pub(crate) unsafe fn note_carried(&mut self, slot: Entity, from: Location, edge: *const Edge, stash: &mut Stash) {
        if self.signals.is_active() {
            // SAFETY: edges are boxed, and made only while resolving.
            self.note_step(slot, from.table, unsafe { &*edge }, &stash.shown);
            stash.shown.clear();
        }
    }

    /// Notes the end of a row in a step, and forgets what the stash shows of it.
    #[inline(always)]
    pub(crate) fn note_carried_end(&mut self, name: RowName, stash: &mut Stash) {
        if self.signals.is_active() {
            self.note_end_step(name, &stash.shown);
            stash.shown.clear();
        }
    }

    /// # Safety
    ///
    /// The values of `puts` are written where their places were found, and what is displaced is expected.
    pub(crate) unsafe fn change_sides(&mut self, slot: Entity, puts: &[u32], takes: &[u32], stash: &mut Stash) {
        if puts.is_empty() && takes.is_empty() {
            return;
        }
        // SAFETY: the caller's promise.
        unsafe {
            self.sides.commit(slot, puts, takes);
            stash.take_retired(&mut self.sides, &self.signals);
        }
        self.restructured();
    }
}

impl Storage {
    /// Notes that so many rows have gone over an edge.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_crossing(&mut self, edge: &Edge, rows: u32) {
        for column in &edge.left {
            // What is replaced is in the target.
            if !self.tables[edge.target as usize].signature.has(column.id) {
                self.components.tally_mut(column.id).taken += u64::from(rows);
            }
        }
    }

    /// Notes that so many rows of a table end.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_ended(&mut self, table: u32, rows: u32) {
        for column in &self.tables[table as usize].columns {
            self.components.tally_mut(column.id).ended += u64::from(rows);
        }
    }

    /// Notes that all rows of all tables end.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_all_ended(&mut self) {
        for table in 0..self.tables.len() {
            self.note_ended(table as u32, self.tables[table].len);
        }
    }
}

impl Storage {
    /// Carries out an edge for all rows of a table: they go to the end of the target, in order, and what stays behind
    /// lies where it was, in rows that the source has given up. Returns the rows in the target.
    ///
    /// # Safety
    ///
    /// The edge is one of that table to another, there is room in the target, and the lanes of its rows beyond the last
    /// that do not come from the source are written.
    pub(crate) unsafe fn cross_all(&mut self, source: u32, edge: &Edge) -> core::ops::Range<u32> {
        let first = self.tables[edge.target as usize].len;
        let to = self.tables[edge.target as usize].lanes();
        if edge.tracked {
            // SAFETY: the rows of the source are in use, and those of the target written.
            unsafe { self.mark_cross(source, 0..self.tables[source as usize].len, edge, first) };
        }
        let from = &mut self.tables[source as usize];
        let (len, entities, lanes) = (core::mem::replace(&mut from.len, 0), from.entities.ptr(), from.lanes());
        // SAFETY: the rows of the source were in use, and there is room for as many in the target; the lanes of a pair
        // belong to the same component. The values that went along count as moved out of the source.
        unsafe {
            for &(a, b) in &edge.moved {
                let (a, b) = (&*lanes.add(a as usize), &*to.add(b as usize));
                core::ptr::copy_nonoverlapping(row_ptr(a, 0), row_ptr(b, first), len as usize * a.row_size());
            }
            for at in 0..len {
                let entity = *entities.add(at as usize);
                let row = self.tables[edge.target as usize].push(entity, &mut self.table_order);
                self.entities.places().at(entity.index()).write(Location { table: edge.target, row });
            }
        }
        if self.counting {
            self.note_crossing(edge, len);
        }
        self.restructured();
        first..first + len
    }
}
