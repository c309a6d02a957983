//! The same change for all entities that pass a filter: whole tables are moved.
//!
//! # Invariants
//!
//! A table whose rows go away in a batch is never one that rows of the same batch come to: an insertion leads to tables
//! that have all of the bundle, from tables that lack some of it; a removal leads to tables that have none of it. So what
//! stays behind lies untouched in rows that the table has given up, until it ends.
//!
//! A bundle with components that are not kept in tables is given or taken slot by slot, as a segment of commands would be;
//! and so is any bundle if the filter looks at such components.
#![allow(unsafe_code)]

use super::spawn::infallible;
use super::{Location, World};
use crate::bundle::Bundle;
use crate::commands::stash::{Ending, Stash};
use crate::component::ComponentId;
use crate::error::ChangeError;
use crate::plan::Edge;
use crate::query::{Candidate, QueryFilter, TableRef};
use crate::room::{try_list, try_room};
use crate::side::Puts;
use crate::table::{Column, Table, row_ptr, swap_row};
use phalanx_store::{AllocError, Entity};

impl World {
    /// Gives clones of a bundle to all entities that pass a filter; components that they have already are replaced, and
    /// the old values dropped at the end. How many entities there were.
    ///
    /// All clones are made before anything changes. Rows of a table keep their order. [Extra
    /// rows](crate::query#extra-rows) are changed only if the filter asks for them.
    ///
    /// ```
    /// use phalanx::{Component, With, World};
    ///
    /// #[derive(Component)]
    /// struct Enemy;
    /// #[derive(Component, Clone)]
    /// struct Alerted(u32);
    ///
    /// let mut world = World::new();
    /// world.spawn_batch((0..10).map(|_| Enemy));
    /// assert_eq!(world.insert_batch::<With<Enemy>, _>(Alerted(3)), 10);
    /// assert_eq!(world.remove_batch::<With<Enemy>, Alerted>(), 10);
    /// ```
    ///
    /// # Panics
    ///
    /// If the bundle names a component twice.
    #[track_caller]
    pub fn insert_batch<F: QueryFilter, B: Bundle + Clone>(&mut self, bundle: B) -> usize {
        infallible(self.try_insert_batch::<F, B>(bundle))
    }

    /// As [`insert_batch`](World::insert_batch).
    ///
    /// # Errors
    ///
    /// If the bundle names a component twice, or memory cannot be had; the bundle is dropped, and nothing else happens.
    pub fn try_insert_batch<F: QueryFilter, B: Bundle + Clone>(&mut self, bundle: B) -> Result<usize, ChangeError> {
        let plan = self.plan::<B>()?;
        self.flush()?;
        if B::SIDES > 0 || !F::IS_ARCHETYPAL || self.signals.is_active() {
            // SAFETY: the plan is that of the bundle.
            return unsafe { self.insert_each(plan, self.slots_that_pass::<F>()?, bundle) };
        }
        let (sources, count) = self.rows_that_pass::<F>()?;
        if count == 0 {
            return Ok(0);
        }
        let (mut replaced, mut lens) = (0, try_list(sources.len())?);
        for &source in &sources {
            // As they are before rows come from other tables of the batch.
            lens.push(self.tables[source as usize].len);
            self.edge(plan, source, true)?;
            // SAFETY: made just now.
            let target = unsafe { (*self.edge_of(plan, source, true)).target };
            replaced += if target == source { self.tables[source as usize].len as usize } else { 0 };
        }
        let (mut fresh, mut old) = (try_list::<B>(count)?, try_list::<B>(replaced)?);
        let mut left = try_list(sources.len())?;
        self.reserve_targets(&sources, plan, true)?;
        fresh.extend((1..count).map(|_| bundle.clone()));
        fresh.push(bundle);
        let mut fresh = fresh.into_iter();
        for (&source, rows) in sources.iter().zip(lens) {
            let edge = self.edge_of(plan, source, true);
            // SAFETY: edges are boxed, and made only while resolving. There is room in the targets, and for a row beyond
            // the last where values are replaced; the places are the bundle's in the target. Taking a value apart may be
            // user code, so each is written beyond the last row first: of a table that is moved all of them, and then
            // the rows follow; otherwise one after another, which trades places with the one it replaces.
            unsafe {
                let (target, places) = ((*edge).target, (*edge).places.as_ptr());
                let table = &self.tables[target as usize];
                let (lanes, tail) = (table.lanes(), table.len);
                if target != source {
                    for (row, value) in (tail..tail + rows).zip(fresh.by_ref()) {
                        value.write(self.place(target, places, row));
                    }
                    left.push((source, rows, &raw const *(*edge).left));
                    self.cross_all(source, &*edge);
                    continue;
                }
                for (row, value) in (0..rows).zip(fresh.by_ref()) {
                    value.write(self.place(target, places, tail));
                    for lane in (*edge).left.iter().flat_map(|column| column.first..column.first + column.lanes) {
                        let lane = &*lanes.add(lane as usize);
                        swap_row(row_ptr(lane, row), row_ptr(lane, tail), lane.row_size());
                    }
                    let table = &self.tables[target as usize];
                    table.mark(row, &(*edge).left);
                    table.keep_added(row, &(*edge).left, (table, tail));
                    old.push(B::read(self.place(target, places, tail)));
                }
            }
        }
        self.restructured();
        // SAFETY: the tables have given up those rows, of which the columns that are left hold values.
        let ends = unsafe { Leftovers::new(&self.tables, &left) };
        drop(old);
        drop(ends);
        Ok(count)
    }

    /// Takes components from all entities that pass a filter and drops them. How many had any. [Extra
    /// rows](crate::query#extra-rows) are changed only if the filter asks for them.
    ///
    /// # Panics
    ///
    /// If the bundle names a component twice.
    #[track_caller]
    pub fn remove_batch<F: QueryFilter, B: Bundle>(&mut self) -> usize {
        infallible(self.try_remove_batch::<F, B>())
    }

    /// As [`remove_batch`](World::remove_batch).
    ///
    /// # Errors
    ///
    /// If the bundle names a component twice, or memory cannot be had; nothing happens then.
    pub fn try_remove_batch<F: QueryFilter, B: Bundle>(&mut self) -> Result<usize, ChangeError> {
        let plan = self.plan::<B>()?;
        self.flush()?;
        if B::SIDES > 0 || !F::IS_ARCHETYPAL || self.signals.is_active() {
            return self.remove_each(plan, self.slots_that_pass::<F>()?);
        }
        let (mut sources, _) = self.rows_that_pass::<F>()?;
        sources.retain(|table| self.tables[*table as usize].signature.intersects(&self.plans.get(plan).signature));
        let mut left = try_list(sources.len())?;
        for &source in &sources {
            self.edge(plan, source, false)?;
        }
        self.reserve_targets(&sources, plan, false)?;
        let mut count = 0;
        for &source in &sources {
            let edge = self.edge_of(plan, source, false);
            // SAFETY: edges are boxed, and made only while resolving. There is room in the targets, which have no lanes
            // but those that go along.
            unsafe {
                left.push((source, self.tables[source as usize].len, &raw const *(*edge).left));
                count += self.cross_all(source, &*edge).len();
            }
        }
        self.restructured();
        // SAFETY: the tables have given up those rows, of which the columns that are left hold values.
        drop(unsafe { Leftovers::new(&self.tables, &left) });
        Ok(count)
    }

    /// The tables with rows that pass a filter, or may if it looks at each, and how many rows they have. Those of extra rows are
    /// among them if the filter asks for them.
    fn rows_that_pass<F: QueryFilter>(&self) -> Result<(Vec<u32>, usize), ChangeError> {
        let mut filter = F::state(&self.components);
        F::set_ticks(&mut filter, self.look());
        let passing = || {
            self.tables_in_order().filter(|(number, table)| {
                let visited = F::visits_extra_rows(&filter) || !table.signature.has(ComponentId::ROW);
                visited
                    && F::passes(&filter, &table.signature)
                    && F::column_matches(&filter, TableRef::new(self, *number))
            })
        };
        let mut sources = try_list(passing().count())?;
        // A filter may answer otherwise the next time: what is in the list counts.
        for (number, _) in passing() {
            try_room(&mut sources, 1)?;
            sources.push(number);
        }
        let count = sources.iter().map(|table| self.tables[*table as usize].len as usize).sum();
        Ok((sources, count))
    }

    /// The slots that pass a filter, in the order of their tables and rows.
    fn slots_that_pass<F: QueryFilter>(&self) -> Result<Vec<Entity>, ChangeError> {
        let (mut filter, (sources, count)) = (F::state(&self.components), self.rows_that_pass::<F>()?);
        F::set_ticks(&mut filter, self.look());
        let mut slots = try_list(count)?;
        for slot in sources.iter().flat_map(|table| self.tables[*table as usize].slots()) {
            // SAFETY: a slot that a table has is in use.
            let row = || unsafe { Candidate::new(self, slot.index(), None) };
            if F::IS_ARCHETYPAL || F::passes_row(&filter, &row()) {
                slots.push(*slot);
            }
        }
        Ok(slots)
    }

    /// Gives clones of a bundle to slots, which are alive, one by one; but all that is needed is had before the first, and
    /// old values end after the last.
    ///
    /// # Safety
    ///
    /// The plan is that of the bundle.
    unsafe fn insert_each<B: Bundle + Clone>(
        &mut self,
        plan: usize,
        slots: Vec<Entity>,
        bundle: B,
    ) -> Result<usize, ChangeError> {
        if slots.is_empty() {
            return Ok(0);
        }
        let mut stash = Stash::default();
        let mut fresh = try_list::<B>(slots.len())?;
        fresh.extend((1..slots.len()).map(|_| bundle.clone()));
        fresh.push(bundle);
        self.reserve_each(plan, &slots, true, &mut stash)?;
        self.begin_notes();
        // What is displaced ends also if taking a value apart panics.
        let mut ending = Ending::of(&mut stash);
        for (&slot, value) in slots.iter().zip(fresh) {
            let from = self.locate(slot)?;
            let edge = self.edge_of(plan, from.table, true);
            // SAFETY: the slot is there, the edge is one of its table for this bundle, and what it needs is reserved.
            unsafe { self.bring(slot, from, edge, |place| value.write(place), ending.stash()) };
        }
        self.sides.release_pages();
        self.end_steps(ending);
        Ok(slots.len())
    }

    /// Takes components from slots, which are alive, as [`insert_each`](World::insert_each) gives them. How many had any.
    fn remove_each(&mut self, plan: usize, slots: Vec<Entity>) -> Result<usize, ChangeError> {
        let (mut stash, mut count) = (Stash::default(), 0);
        self.reserve_each(plan, &slots, false, &mut stash)?;
        self.begin_notes();
        for slot in slots {
            let from = self.locate(slot)?;
            let edge = self.edge_of(plan, from.table, false);
            // SAFETY: the slot is there, the edge is one of its table for this bundle, and what it needs is reserved.
            unsafe {
                let has = |side: &u32| self.sides.get(*side).row(slot.index()).is_some();
                count += usize::from((*edge).target != from.table || (*edge).takes.iter().any(has));
                self.take_away(slot, from, edge, &mut stash);
            }
        }
        self.sides.release_pages();
        self.end_steps(Ending::of(&mut stash));
        Ok(count)
    }

    /// Tells what the steps have changed, and ends what they displaced.
    fn end_steps(&mut self, mut ending: Ending<'_>) {
        let active = self.signals.is_active();
        if active {
            self.link_notes();
            self.tell();
        }
        ending.run();
        drop(ending);
        if active {
            self.settle();
        }
    }

    /// Makes room for following a plan's edges with these slots.
    fn reserve_each(
        &mut self,
        plan: usize,
        slots: &[Entity],
        insert: bool,
        stash: &mut Stash,
    ) -> Result<(), ChangeError> {
        for slot in slots {
            self.edge(plan, self.locate(*slot)?.table, insert)?;
        }
        stash.begin();
        let mut notes = 0;
        let (mut puts, mut needs) = (Puts::new(), try_list::<(u32, u32)>(self.tables.len())?);
        needs.resize(self.tables.len(), (0, 0));
        for slot in slots {
            let source = self.locate(*slot)?.table;
            // SAFETY: edges are boxed, and made while resolving.
            let edge = unsafe { &*self.edge_of(plan, source, insert) };
            self.expect_step(slot.index(), edge, &mut puts, stash)?;
            notes += self.edge_notes(edge);
            let (rows, spare) = &mut needs[edge.target as usize];
            match edge.target == source {
                // A value that replaces another lies beyond the last row for a moment.
                true => *spare = 1,
                false => *rows = rows.checked_add(1).ok_or(AllocError::CapacityOverflow)?,
            }
        }
        for (table, (rows, spare)) in (0..).zip(needs) {
            self.reserve_table(table, rows.checked_add(spare).ok_or(AllocError::CapacityOverflow)?)?;
        }
        if self.signals.is_active() {
            self.reserve_linked_notes(notes)?;
        }
        stash.try_reserve(self.signals.is_active())?;
        // Values may move, even if one of several stores cannot grow.
        self.restructured();
        let reserved = self.sides.try_reserve_all(&puts);
        if reserved.is_err() {
            self.sides.release_pages();
        }
        Ok(reserved?)
    }

    /// Makes room for the rows of the sources in the tables that a plan's edges lead to.
    fn reserve_targets(&mut self, sources: &[u32], plan: usize, insert: bool) -> Result<(), ChangeError> {
        let mut needs: Vec<(u32, u32)> = try_list(sources.len())?;
        for &source in sources {
            // SAFETY: edges are boxed, and made while resolving.
            let target = unsafe { (*self.edge_of(plan, source, insert)).target };
            let rows = self.tables[source as usize].len;
            // A value that replaces another lies beyond the last row for a moment.
            let rows = if target == source { 1 } else { rows };
            match needs.iter_mut().find(|(table, _)| *table == target) {
                Some((_, needed)) => {
                    *needed = needed.checked_add(rows).ok_or(AllocError::CapacityOverflow)?;
                }
                None => needs.push((target, rows)),
            }
        }
        for (target, rows) in needs {
            self.reserve_table(target, rows)?;
        }
        Ok(())
    }

    /// Carries out an edge for all rows of a table: they go to the end of the target, in order, and what stays behind
    /// lies where it was, in rows that the source has given up. Returns the rows in the target.
    ///
    /// # Safety
    ///
    /// The edge is one of that table to another, there is room in the target, and the lanes of its rows beyond the last
    /// that do not come from the source are written.
    pub(super) unsafe fn cross_all(&mut self, source: u32, edge: &Edge) -> core::ops::Range<u32> {
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

/// Values in rows that tables have given up: the table, how many rows, the columns. Ends them, all of them, even if one
/// panics.
struct Leftovers<'a> {
    tables: &'a [Table],
    rest: core::slice::Iter<'a, (u32, u32, *const [Column])>,
    now: Option<(&'a Table, core::ops::Range<u32>, *const [Column])>,
}

impl<'a> Leftovers<'a> {
    /// # Safety
    ///
    /// The tables have given up those rows, which hold values in those columns, and the columns outlive this.
    unsafe fn new(tables: &'a [Table], left: &'a [(u32, u32, *const [Column])]) -> Self {
        Leftovers { tables, rest: left.iter(), now: None }
    }

    fn run(&mut self) {
        loop {
            if let Some((table, rows, columns)) = &mut self.now
                && let Some(row) = rows.next()
            {
                // SAFETY: the values are initialised and nobody's, by the promise made to `new`.
                unsafe { table.drop_row(row, &**columns) };
                continue;
            }
            let Some((table, rows, columns)) = self.rest.next() else { return };
            self.now = Some((&self.tables[*table as usize], 0..*rows, *columns));
        }
    }
}

impl Drop for Leftovers<'_> {
    fn drop(&mut self) {
        /// Goes on after a panic; a second aborts.
        struct Again<'a, 'b>(&'b mut Leftovers<'a>);
        impl Drop for Again<'_, '_> {
            fn drop(&mut self) {
                self.0.run();
            }
        }
        let again = Again(self);
        again.0.run();
    }
}
