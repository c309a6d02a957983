//! Iteration over the rows of a query.
#![allow(unsafe_code)]

use super::driver::{Driver, plan_driver};
use super::query_matches::MatchesOf;
use super::row_ranges::RowRanges;
use super::side_runs::has_no_sides;
use super::sparse_iter::{SparseIter, SparseRows};
use super::table_ref::{next_table, previous_table, run_of, state_of, tables_between};
use super::{Filtered, ItemRow, QueryData, QueryFilter};
use crate::world::World;
use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::ops::Range;
use std::borrow::Cow;

/// Rows of a table that matches a query, or of aligned stores that hold all it asks for, resolved. There is at least one.
#[derive(Clone, Copy)]
pub(crate) struct Run<F> {
    pub(crate) fetch: F,
    /// The first row. It is zero in a query that is dense.
    pub(crate) first: u32,
    pub(crate) len: u32,
}

impl<F> Run<F> {
    /// Returns the first row and the end of the rows. `DENSE` says that the query is.
    #[inline(always)]
    pub(super) fn rows<const DENSE: bool>(&self) -> Range<usize> {
        let first = if DENSE { 0 } else { self.first as usize };
        first..first + self.len as usize
    }
}

// SAFETY: `F` is the fetch of a query: pointers into a world, of which items are made while the world is borrowed. By the
// contract of `QueryData` that can be done on any thread.
unsafe impl<F> Send for Run<F> {}
// SAFETY: as above; through a shared run nothing changes.
unsafe impl<F> Sync for Run<F> {}

/// The state of a query: kept by a [`QueryState`](super::QueryState) or the world, or made for one use.
pub(super) enum StateRef<'s, S> {
    Kept(&'s S),
    Own(S),
}

impl<S: Clone> Clone for StateRef<'_, S> {
    fn clone(&self) -> Self {
        match self {
            StateRef::Kept(state) => StateRef::Kept(state),
            StateRef::Own(state) => StateRef::Own(state.clone()),
        }
    }
}

impl<S> StateRef<'_, S> {
    #[inline(always)]
    pub(super) fn get(&self) -> &S {
        match self {
            StateRef::Kept(state) => state,
            StateRef::Own(state) => state,
        }
    }
}

/// How far the tables of a world have been matched on the way.
#[derive(Clone, Copy)]
enum Scan {
    /// The tables after one and before another, or all, are still to be matched. No row of them needs a test.
    Between([Option<u32>; 2]),
    /// No table is left to be matched: the runs were known from the start, or all tables have been seen.
    Done,
}

/// An iterator over the items of a query, row by row.
///
/// It is made by [`Query::iter`](super::Query::iter) and [`Query::iter_mut`](super::Query::iter_mut).
///
/// `for_each`, `fold` and the like run a plain loop over each table. A `for` loop makes one more test a row. Where that
/// matters, loop over [chunks](super::Query::chunks) and their slices instead.
///
/// With `rev`, the items come in the reverse order:
///
/// ```
/// use phalanx::{Component, World};
///
/// #[derive(Component)]
/// struct Age(u32);
///
/// let mut world = World::new();
/// world.spawn_batch([Age(1), Age(2), Age(3)]);
/// assert!(world.query::<&Age>().iter().rev().map(|age| age.0).eq([3, 2, 1]));
/// ```
///
/// The number of items is known exactly if all components are stored in tables. Otherwise
/// [`size_hint`](Iterator::size_hint) is an upper bound.
pub struct Iter<'w, 's, D: QueryData, F: QueryFilter = ()> {
    /// The run that is visited, and its rows to come.
    fetch: Option<D::Fetch>,
    row: usize,
    len: usize,
    /// The run that is visited from the back: its rows to come are those before its length.
    back: Option<Run<D::Fetch>>,
    runs: core::slice::Iter<'s, Run<D::Fetch>>,
    scan: Scan,
    world: &'w World,
    state: StateRef<'s, (D::State, F::State)>,
    /// The rows of a driver, which are tested, in a query that is not dense. Then there are no runs.
    sparse: Option<SparseIter<'w, 's, Filtered<D, F>>>,
    items: PhantomData<&'w mut ()>,
}

// SAFETY: the state is `Send` and `Sync`. The rest are pointers into the world, of which items are made; by the contract of
// `QueryData` that can be done on any thread.
unsafe impl<D: QueryData, F: QueryFilter> Send for Iter<'_, '_, D, F> {}
// SAFETY: as above; through a shared iterator no item is made.
unsafe impl<D: QueryData, F: QueryFilter> Sync for Iter<'_, '_, D, F> {}

/// Finds the next table, from the front or the back. It is kept out of line and takes the state by value, so that no part of
/// the iterator has its address taken and a loop over rows keeps all of it in registers.
///
/// # Safety
///
/// The query is dense, or no row has one of its sides. The state is the world's.
#[cold]
#[inline(never)]
unsafe fn scan<Q: QueryData, const BACK: bool>(
    world: &World,
    state: Q::State,
    between: [Option<u32>; 2],
) -> Option<(u32, Run<Q::Fetch>)> {
    let table = if BACK { previous_table::<Q> } else { next_table::<Q> }(world, &state, between)?;
    // SAFETY: the table matches. No row needs a test, and the state is the world's, by the caller's contract.
    Some((table, unsafe { run_of::<Q>(world, &state, table) }))
}

impl<'w, 's, D: QueryData, F: QueryFilter> Iter<'w, 's, D, F> {
    const IS_DENSE: bool = Filtered::<D, F>::IS_DENSE;

    /// Iterates over what was found. Without it, tables are matched on the way.
    ///
    /// # Safety
    ///
    /// - The matches are those of the world as it is.
    /// - The world is borrowed for `'w` as the query needs it, the query does not alias, and no other item of the query that
    ///   lives in `'w` conflicts.
    #[inline(always)]
    pub(super) unsafe fn new(world: &'w World, matches: Option<&'s MatchesOf<D, F>>) -> Self {
        if let Some(matches) = matches {
            let state = matches.state();
            // SAFETY: driver and tables are what was found; the rest by the caller's contract.
            let sparse = matches
                .driver
                .filter(|_| !Self::IS_DENSE)
                .map(|driver| unsafe { SparseIter::new(world, state, driver, Some(&matches.tables)) });
            return Self::start(world, &matches.runs, StateRef::Kept(state), Scan::Done, sparse);
        }
        let state = state_of::<Filtered<D, F>>(world);
        if Self::IS_DENSE {
            return Self::start(world, &[], StateRef::Own(state), Scan::Between([None; 2]), None);
        }
        // SAFETY: the state is the world's, whose driver this is; the rest by the caller's contract.
        let (plan, sparse) = unsafe {
            let tables = tables_between::<Filtered<D, F>>(world, &state, [None; 2]);
            let plan = plan_driver::<Filtered<D, F>>(world, &state, tables);
            if plan.driver == Driver::Tables && has_no_sides::<Filtered<D, F>>(world, &state) {
                return Self::start(world, &[], StateRef::Own(state), Scan::Between([None; 2]), None);
            }
            let driver = (plan.driver, plan.len);
            let sparse = plan.is_sparse().then(|| SparseIter::new(world, &state, driver, None));
            (plan, sparse)
        };
        let (fetch, len) = (plan.run.map(|run| run.fetch), plan.run.map_or(0, |run| run.len as usize));
        Iter { fetch, len, ..Self::start(world, &[], StateRef::Own(state), Scan::Done, sparse) }
    }

    #[inline(always)]
    fn start(
        world: &'w World,
        runs: &'s [Run<D::Fetch>],
        state: StateRef<'s, (D::State, F::State)>,
        scan: Scan,
        sparse: Option<SparseIter<'w, 's, Filtered<D, F>>>,
    ) -> Self {
        let (fetch, back) = (None, None);
        Iter { fetch, row: 0, len: 0, back, runs: runs.iter(), scan, world, state, sparse, items: PhantomData }
    }

    /// Returns the next run.
    #[inline(always)]
    pub(super) fn next_run(&mut self) -> Option<Run<D::Fetch>> {
        match self.runs.next() {
            Some(run) => Some(*run),
            None => self.scan_run::<false>().or_else(|| self.back.take()),
        }
    }

    /// Finds a run in the tables that are still to be matched, from the front or the back.
    #[inline(always)]
    fn scan_run<const BACK: bool>(&mut self) -> Option<Run<D::Fetch>> {
        let (Scan::Between(mut between), StateRef::Own(state)) = (self.scan, &self.state) else {
            return None;
        };
        // SAFETY: no row needs a test, because there are tables to match, and the state is the world's.
        let found = unsafe { scan::<Filtered<D, F>, BACK>(self.world, state.clone(), between) };
        let Some((table, run)) = found else {
            self.scan = Scan::Done;
            return None;
        };
        between[usize::from(BACK)] = Some(table);
        self.scan = Scan::Between(between);
        Some(run)
    }

    /// Returns the rows of a run.
    #[inline(always)]
    fn rows_of(run: &Run<D::Fetch>) -> Range<usize> {
        if Self::IS_DENSE { run.rows::<true>() } else { run.rows::<false>() }
    }

    /// Makes a run the one that is visited from the front.
    #[inline(always)]
    fn open(&mut self, run: Run<D::Fetch>) {
        let rows = Self::rows_of(&run);
        (self.fetch, self.row, self.len) = (Some(run.fetch), rows.start, rows.end);
    }

    /// Prepares [`split_batch`](Iter::split_batch), before the iterator is advanced.
    pub(super) fn prepare_batches(&mut self) {
        self.sparse.iter_mut().for_each(SparseIter::prepare_parts);
    }

    /// Splits off the next rows, which are visited by the iterator that is returned. Those are at most `size`, of one table or
    /// driver. In a linear store `size` is rounded up to a multiple of 64.
    pub(super) fn split_batch(&mut self, size: usize) -> Option<Self> {
        loop {
            if let Some(fetch) = self.fetch
                && self.row < self.len
            {
                let row = self.row;
                self.row = self.len.min(row.saturating_add(size));
                return Some(Iter { fetch: Some(fetch), row, len: self.row, ..self.batch(None) });
            }
            match self.next_run() {
                Some(run) => self.open(run),
                None if Self::IS_DENSE => return None,
                None => break,
            }
        }
        let sparse = self.sparse.as_mut()?.split(self.state.get(), size)?;
        Some(self.batch(Some(sparse)))
    }

    /// Returns an iterator over these rows only.
    fn batch(&self, sparse: Option<SparseIter<'w, 's, Filtered<D, F>>>) -> Self {
        Self::start(self.world, &[], self.state.clone(), Scan::Done, sparse)
    }

    /// Returns the lengths of the runs to come.
    pub(super) fn run_lengths(&self) -> impl Iterator<Item = usize> + '_ {
        let known = self.runs.as_slice().iter().map(|run| run.len as usize);
        let scanned = match self.scan {
            Scan::Between(between) => Some(tables_between::<Filtered<D, F>>(self.world, self.state.get(), between)),
            Scan::Done => None,
        };
        let known = known.chain(self.back.map(|run| run.len as usize).filter(|len| *len > 0));
        known.chain(scanned.into_iter().flatten().map(|table| self.world.storage.tables[table as usize].len as usize))
    }
}

/// The rows of a query, of which no items are made.
pub(super) struct Peek<'w, 's, D: QueryData, F: QueryFilter>(Iter<'w, 's, D, F>);

impl<'w, 's, D: QueryData, F: QueryFilter> Peek<'w, 's, D, F> {
    /// Takes an iterator that has not been advanced.
    #[inline(always)]
    pub(super) fn new(rows: Iter<'w, 's, D, F>) -> Self {
        Peek(rows)
    }

    /// Returns the number of items.
    pub(super) fn count(self) -> usize {
        let rows = self.0.len + self.0.run_lengths().sum::<usize>();
        let sparse = self.0.sparse.filter(|_| !Iter::<D, F>::IS_DENSE);
        rows + sparse.map_or(0, |mut sparse| sparse.matching_rows(self.0.state.get()).count())
    }

    /// Returns `true` if there are items.
    pub(super) fn any(self) -> bool {
        if self.0.len > 0 || self.0.run_lengths().next().is_some() {
            return true;
        }
        let sparse = self.0.sparse.filter(|_| !Iter::<D, F>::IS_DENSE);
        sparse.is_some_and(|mut sparse| sparse.matching_rows(self.0.state.get()).next().is_some())
    }

    /// Returns an upper bound of the number of items.
    pub(super) fn max_len(self) -> usize {
        self.0.size_hint().1.unwrap_or(0)
    }

    /// Returns the rows that had to be tested one by one, if there were any.
    pub(super) fn sparse_rows(self) -> Option<SparseRows<D>> {
        let sparse = self.0.sparse.filter(|_| !Iter::<D, F>::IS_DENSE);
        sparse.map(|sparse| sparse.collect(self.0.state.get()))
    }

    /// Returns the runs.
    pub(super) fn runs(mut self) -> Vec<Run<D::Fetch>> {
        self.collect_runs()
    }

    fn collect_runs(&mut self) -> Vec<Run<D::Fetch>> {
        let first = self.0.fetch.map(|fetch| Run { fetch, first: 0, len: self.0.len as u32 });
        first.into_iter().chain(core::iter::from_fn(|| self.0.next_run())).collect()
    }

    /// Returns the rows as numbers, of which any range can be visited by itself.
    pub(super) fn ranges(mut self) -> RowRanges<'w, 's, D, F> {
        let runs = match (self.0.fetch, self.0.scan) {
            (None, Scan::Done) => Cow::Borrowed(self.0.runs.as_slice()),
            _ => Cow::Owned(self.collect_runs()),
        };
        RowRanges::new(runs, self.0.sparse.filter(|_| !Iter::<D, F>::IS_DENSE), self.0.state)
    }
}

impl<'w, D: QueryData, F: QueryFilter> Iterator for Iter<'w, '_, D, F> {
    type Item = D::Item<'w>;

    #[inline(always)]
    fn next(&mut self) -> Option<D::Item<'w>> {
        if !Self::IS_DENSE
            && let Some(sparse) = &mut self.sparse
        {
            return sparse.next(self.state.get());
        }
        while self.row == self.len {
            let run = self.next_run()?;
            self.open(run);
        }
        let row = self.row;
        self.row += 1;
        // SAFETY: there are rows to come only of a run that is visited. The row is in use, and is visited once.
        Some(unsafe { D::row(self.fetch.unwrap_unchecked(), ItemRow::new(row)) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let rows = self.len - self.row + self.run_lengths().sum::<usize>();
        let most = self.sparse.as_ref().filter(|_| !Self::IS_DENSE).map_or(0, SparseIter::max_len);
        (rows, Some(rows + most))
    }

    #[inline(always)]
    fn fold<B, G: FnMut(B, D::Item<'w>) -> B>(mut self, init: B, mut f: G) -> B {
        let mut acc = init;
        if let Some(fetch) = self.fetch {
            for row in self.row..self.len {
                // SAFETY: the row is in use, and is visited once.
                acc = f(acc, D::row(fetch, unsafe { ItemRow::new(row) }));
            }
        }
        // The pointers are copied out of the run before the loop, so that no write in the loop can change them.
        while let Some(run) = self.next_run() {
            let (fetch, Range { start, .. }) = (run.fetch, Self::rows_of(&run));
            // Counted from zero, so that loops over whole tables and stores stay what they are.
            for row in 0..run.len as usize {
                // SAFETY: the row is in use. No item conflicts, by the contract of `new`, and each run is visited once.
                acc = f(acc, D::row(fetch, unsafe { ItemRow::new(start + row) }));
            }
        }
        if Self::IS_DENSE {
            return acc;
        }
        match self.sparse {
            Some(sparse) => sparse.fold(self.state.get(), acc, f),
            None => acc,
        }
    }
}

impl<'w, D: QueryData, F: QueryFilter> DoubleEndedIterator for Iter<'w, '_, D, F> {
    fn next_back(&mut self) -> Option<D::Item<'w>> {
        if !Self::IS_DENSE
            && let Some(sparse) = &mut self.sparse
        {
            return sparse.next_back(self.state.get());
        }
        loop {
            if let Some(run) = &mut self.back
                && run.len > 0
            {
                run.len -= 1;
                // SAFETY: the row is in use, and is visited once.
                return Some(D::row(run.fetch, unsafe { ItemRow::new(Self::rows_of(run).end) }));
            }
            match self.runs.next_back().copied().or_else(|| self.scan_run::<true>()) {
                Some(run) => self.back = Some(run),
                None => break,
            }
        }
        // The rows that are left of the run that is visited from the front.
        self.len = (self.len > self.row).then(|| self.len - 1)?;
        // SAFETY: the row is in use, and is visited once.
        self.fetch.map(|fetch| D::row(fetch, unsafe { ItemRow::new(self.len) }))
    }
}

impl<D: QueryData, F: QueryFilter> FusedIterator for Iter<'_, '_, D, F> {}

impl<D: QueryData, F: QueryFilter> fmt::Debug for Iter<'_, '_, D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Iter({:?} left)", self.size_hint())
    }
}
