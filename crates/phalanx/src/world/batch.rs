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

use super::{Location, World};
use crate::alloc::{try_reserve, try_vec};
use crate::bundle::{Bundle, BundlePtr, Placed};
use crate::component::ComponentId;
use crate::error::ChangeError;
use crate::error::infallible;
use crate::mutation::stash::{Ending, Stash};
use crate::query::{Candidate, QueryFilter, TableRef};
use crate::sparse::SparseInserts;
use crate::storage::Storage;
use crate::storage::table::{Column, Table};
use core::marker::PhantomData;
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
    /// assert_eq!(world.insert_where::<With<Enemy>, _>(Alerted(3)), 10);
    /// assert_eq!(world.remove_where::<With<Enemy>, Alerted>(), 10);
    /// ```
    ///
    /// # Panics
    ///
    /// If the bundle names a component twice.
    #[track_caller]
    pub fn insert_where<F: QueryFilter, B: Bundle + Clone>(&mut self, bundle: B) -> usize {
        infallible(self.try_insert_where::<F, B>(bundle))
    }

    /// As [`insert_where`](World::insert_where).
    ///
    /// # Errors
    ///
    /// If the bundle names a component twice, or memory cannot be had; the bundle is dropped, and nothing else happens.
    pub fn try_insert_where<F: QueryFilter, B: Bundle + Clone>(&mut self, bundle: B) -> Result<usize, ChangeError> {
        let bundle_id = self.bundle_id::<B>()?;
        self.storage.flush()?;
        if B::SPARSE > 0 || !F::IS_ARCHETYPAL || self.storage.journal.is_active() {
            // SAFETY: the plan is that of the bundle.
            return unsafe { self.insert_each(bundle_id, self.slots_that_pass::<F>()?, bundle) };
        }
        let (sources, count) = self.rows_that_pass::<F>()?;
        if count == 0 {
            return Ok(0);
        }
        let (mut replaced, mut lens) = (0, try_vec(sources.len())?);
        for &source in &sources {
            // As they are before rows come from other tables of the batch.
            lens.push(self.storage.tables[source as usize].len);
            self.edge(bundle_id, source, true)?;
            let target = self.bundles.edge(bundle_id, source, true).target;
            replaced += if target == source { self.storage.tables[source as usize].len as usize } else { 0 };
        }
        let (mut fresh, mut old) = (try_vec::<B>(count)?, try_vec::<B>(replaced)?);
        let left = try_vec(sources.len())?;
        self.reserve_targets(&sources, bundle_id, true)?;
        fresh.extend((1..count).map(|_| bundle.clone()));
        fresh.push(bundle);
        let mut fresh = fresh.into_iter();
        let World { bundles, storage, .. } = self;
        let mut ending = LeftBehind { storage, left };
        let LeftBehind { storage, left } = &mut ending;
        for (&source, rows) in sources.iter().zip(lens) {
            let edge = bundles.edge(bundle_id, source, true);
            let (target, places) = (edge.target, edge.places.as_ptr());
            let tail = storage.tables[target as usize].len;
            // Splitting a value may be user code, so each is written beyond the last row first: all values of a table that is
            // moved, before its rows; otherwise one after another.
            if target != source {
                let place = storage.place(target, places, tail);
                let mut written = Written::<B> { place, rows: tail..tail, bundle: PhantomData };
                for (row, value) in (tail..tail + rows).zip(fresh.by_ref()) {
                    // SAFETY: there is room for so many rows in the target, and the places are the bundle's there.
                    unsafe { value.write(storage.place(target, places, row)) };
                    written.rows.end = row + 1;
                }
                core::mem::forget(written);
                left.push((source, rows, &edge.removed));
                // SAFETY: there is room in the target, and the bundle's values are written.
                unsafe { storage.move_rows(source, edge) };
                continue;
            }
            for (row, value) in (0..rows).zip(fresh.by_ref()) {
                // SAFETY: there is room for a row beyond the last. The new values are exchanged with those of the row, which
                // are moved out.
                unsafe {
                    let place = storage.place(target, places, tail);
                    value.write(place);
                    storage.replace_in_row(Location { table: target, row }, edge);
                    old.push(B::read(place));
                }
            }
        }
        storage.restructured();
        drop(old);
        drop(ending);
        Ok(count)
    }

    /// Takes components from all entities that pass a filter and drops them. How many had any. [Extra
    /// rows](crate::query#extra-rows) are changed only if the filter asks for them.
    ///
    /// # Panics
    ///
    /// If the bundle names a component twice.
    #[track_caller]
    pub fn remove_where<F: QueryFilter, B: Bundle>(&mut self) -> usize {
        infallible(self.try_remove_where::<F, B>())
    }

    /// As [`remove_where`](World::remove_where).
    ///
    /// # Errors
    ///
    /// If the bundle names a component twice, or memory cannot be had; nothing happens then.
    pub fn try_remove_where<F: QueryFilter, B: Bundle>(&mut self) -> Result<usize, ChangeError> {
        let bundle_id = self.bundle_id::<B>()?;
        self.storage.flush()?;
        if B::SPARSE > 0 || !F::IS_ARCHETYPAL || self.storage.journal.is_active() {
            return self.remove_each(bundle_id, self.slots_that_pass::<F>()?);
        }
        let (mut sources, _) = self.rows_that_pass::<F>()?;
        sources.retain(|table| {
            self.storage.tables[*table as usize].signature.intersects(&self.bundles.get(bundle_id).signature)
        });
        let mut left = try_vec(sources.len())?;
        for &source in &sources {
            self.edge(bundle_id, source, false)?;
        }
        self.reserve_targets(&sources, bundle_id, false)?;
        let World { bundles, storage, .. } = self;
        let mut count = 0;
        for &source in &sources {
            let edge = bundles.edge(bundle_id, source, false);
            left.push((source, storage.tables[source as usize].len, &*edge.removed));
            // SAFETY: there is room in the target, which has no lanes but those that come along.
            count += unsafe { storage.move_rows(source, edge) } as usize;
        }
        storage.restructured();
        // SAFETY: the tables have given up those rows, of which the columns that are left hold values.
        drop(unsafe { Leftovers::new(&storage.tables, &left) });
        Ok(count)
    }

    /// The tables with rows that pass a filter, or may if it looks at each, and how many rows they have. Those of extra rows are
    /// among them if the filter asks for them.
    fn rows_that_pass<F: QueryFilter>(&self) -> Result<(Vec<u32>, usize), ChangeError> {
        let mut filter = F::state(&self.storage.components);
        F::set_ticks(&mut filter, self.storage.run_ticks());
        let passing = || {
            self.storage.tables_in_order().filter(|(number, table)| {
                let visited = F::visits_extra_rows(&filter) || !table.signature.has(ComponentId::ROW);
                visited
                    && F::passes(&filter, &table.signature)
                    && F::column_matches(&filter, TableRef::new(self, *number))
            })
        };
        let mut sources = try_vec(passing().count())?;
        // A filter may answer otherwise the next time: what is in the list counts.
        for (number, _) in passing() {
            try_reserve(&mut sources, 1)?;
            sources.push(number);
        }
        let count = sources.iter().map(|table| self.storage.tables[*table as usize].len as usize).sum();
        Ok((sources, count))
    }

    /// The slots that pass a filter, in the order of their tables and rows.
    fn slots_that_pass<F: QueryFilter>(&self) -> Result<Vec<Entity>, ChangeError> {
        let (mut filter, (sources, count)) = (F::state(&self.storage.components), self.rows_that_pass::<F>()?);
        F::set_ticks(&mut filter, self.storage.run_ticks());
        let mut slots = try_vec(count)?;
        for slot in sources.iter().flat_map(|table| self.storage.tables[*table as usize].slots()) {
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
        bundle_id: usize,
        slots: Vec<Entity>,
        bundle: B,
    ) -> Result<usize, ChangeError> {
        if slots.is_empty() {
            return Ok(0);
        }
        let mut stash = Stash::default();
        let mut fresh = try_vec::<B>(slots.len())?;
        fresh.extend((1..slots.len()).map(|_| bundle.clone()));
        fresh.push(bundle);
        self.reserve_each(bundle_id, &slots, true, &mut stash)?;
        self.storage.begin_notes();
        // What is displaced ends also if taking a value apart panics.
        let mut ending = Ending::of(&mut stash);
        for (&slot, value) in slots.iter().zip(fresh) {
            let from = self.storage.try_location(slot)?;
            // SAFETY: the slot is there, its edge for this bundle was made, and what it needs is reserved.
            unsafe { self.move_reserved(slot, from, (bundle_id, true), |place| value.write(place), ending.stash()) };
        }
        self.storage.sparse.release_pages();
        self.end_steps(ending);
        Ok(slots.len())
    }

    /// Takes components from slots, which are alive, as [`insert_each`](World::insert_each) gives them. How many had any.
    fn remove_each(&mut self, bundle_id: usize, slots: Vec<Entity>) -> Result<usize, ChangeError> {
        let (mut stash, mut count) = (Stash::default(), 0);
        self.reserve_each(bundle_id, &slots, false, &mut stash)?;
        self.storage.begin_notes();
        for slot in slots {
            let from = self.storage.try_location(slot)?;
            let edge = self.bundles.edge(bundle_id, from.table, false);
            let has = |side: &u32| self.storage.sparse.get(*side).row(slot.index()).is_some();
            count += usize::from(edge.target != from.table || edge.sparse_removes.iter().any(has));
            // SAFETY: the slot is there, its edge for this bundle was made, and what it needs is reserved.
            unsafe { self.move_reserved(slot, from, (bundle_id, false), |_| (), &mut stash) };
        }
        self.storage.sparse.release_pages();
        self.end_steps(Ending::of(&mut stash));
        Ok(count)
    }

    /// Tells what the steps have changed, and ends what they displaced.
    fn end_steps(&mut self, mut ending: Ending<'_>) {
        self.storage.link_notes();
        self.tell();
        ending.run();
        drop(ending);
        self.settle();
    }

    /// Makes room for following a plan's edges with these slots.
    fn reserve_each(
        &mut self,
        bundle_id: usize,
        slots: &[Entity],
        insert: bool,
        stash: &mut Stash,
    ) -> Result<(), ChangeError> {
        for slot in slots {
            self.edge(bundle_id, self.storage.try_location(*slot)?.table, insert)?;
        }
        stash.begin();
        let mut notes = 0;
        let (mut sparse_inserts, mut needs) = (SparseInserts::new(), try_vec::<(u32, u32)>(self.storage.tables.len())?);
        needs.resize(self.storage.tables.len(), (0, 0));
        for slot in slots {
            let source = self.storage.try_location(*slot)?.table;
            let edge = self.bundles.edge(bundle_id, source, insert);
            self.storage.expect_move(slot.index(), edge, &mut sparse_inserts, stash)?;
            notes += self.storage.edge_notes(edge);
            let (rows, spare) = &mut needs[edge.target as usize];
            match edge.target == source {
                // A value that replaces another lies beyond the last row for a moment.
                true => *spare = 1,
                false => *rows = rows.checked_add(1).ok_or(AllocError::CapacityOverflow)?,
            }
        }
        for (table, (rows, spare)) in (0..).zip(needs) {
            self.storage.reserve_table(table, rows.checked_add(spare).ok_or(AllocError::CapacityOverflow)?)?;
        }
        self.storage.reserve_linked_notes(notes)?;
        stash.try_reserve(self.storage.journal.is_active())?;
        // Values may move, even if one of several stores cannot grow.
        self.storage.restructured();
        let reserved = self.storage.sparse.try_reserve_all(&sparse_inserts);
        if reserved.is_err() {
            self.storage.sparse.release_pages();
        }
        Ok(reserved?)
    }

    /// Makes room for the rows of the sources in the tables that a plan's edges lead to.
    fn reserve_targets(&mut self, sources: &[u32], bundle_id: usize, insert: bool) -> Result<(), ChangeError> {
        let mut needs: Vec<(u32, u32)> = try_vec(sources.len())?;
        for &source in sources {
            let target = self.bundles.edge(bundle_id, source, insert).target;
            let rows = self.storage.tables[source as usize].len;
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
            self.storage.reserve_table(target, rows)?;
        }
        Ok(())
    }
}

/// What the tables of a batch leave behind, which is dropped at its end, also by a panic.
struct LeftBehind<'s, 'e> {
    storage: &'s mut Storage,
    /// Tables, how many rows they have given up, and the columns of which values are left there.
    left: Vec<(u32, u32, &'e [Column])>,
}

impl Drop for LeftBehind<'_, '_> {
    fn drop(&mut self) {
        // SAFETY: the tables have given up those rows, of which the columns that are listed hold values.
        drop(unsafe { Leftovers::new(&self.storage.tables, &self.left) });
    }
}

/// Rows beyond the last of a table that hold the values of a bundle, which are dropped with this.
struct Written<B: Bundle> {
    /// Of any row.
    place: BundlePtr,
    rows: core::ops::Range<u32>,
    bundle: PhantomData<B>,
}

impl<B: Bundle> Drop for Written<B> {
    fn drop(&mut self) {
        for row in self.rows.clone() {
            // SAFETY: the values were written there, and nothing else uses them.
            drop(unsafe { Placed::<B>::new(BundlePtr { row: row as usize, ..self.place }) });
        }
    }
}

/// Values in rows that tables have given up: the table, how many rows, the columns. Ends them, all of them, even if one
/// panics.
struct Leftovers<'a> {
    tables: &'a [Table],
    rest: core::slice::Iter<'a, (u32, u32, &'a [Column])>,
    now: Option<(&'a Table, core::ops::Range<u32>, &'a [Column])>,
}

impl<'a> Leftovers<'a> {
    /// # Safety
    ///
    /// The tables have given up those rows, which hold values in those columns.
    unsafe fn new(tables: &'a [Table], left: &'a [(u32, u32, &'a [Column])]) -> Self {
        Leftovers { tables, rest: left.iter(), now: None }
    }

    fn run(&mut self) {
        loop {
            if let Some((table, rows, columns)) = &mut self.now
                && let Some(row) = rows.next()
            {
                // SAFETY: the values are initialised and nobody's, by the promise made to `new`.
                unsafe { table.drop_row(row, columns) };
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
