//! Iteration over the rows of a query.
#![allow(unsafe_code)]

use super::sparse_iter::SparseIter;
use super::table_ref::{States, next_run, tables_after};
use super::{QueryData, QueryFilter};
use crate::world::World;
use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;

/// A table that matches a query, or aligned stores that hold all it asks for, resolved. It has rows.
#[derive(Clone, Copy)]
pub(crate) struct Run<F> {
    pub(crate) fetch: F,
    pub(crate) len: u32,
}

/// The states of a query and its filter: kept by a [`QueryState`](super::QueryState) or the world, or made for one use.
pub(super) enum StatesRef<'s, D: QueryData, F: QueryFilter> {
    Kept(&'s States<D, F>),
    Own(States<D, F>),
}

impl<D: QueryData, F: QueryFilter> StatesRef<'_, D, F> {
    #[inline(always)]
    pub(super) fn get(&self) -> &States<D, F> {
        match self {
            StatesRef::Kept(states) => states,
            StatesRef::Own(states) => states,
        }
    }
}

/// How far the tables of a world have been matched on the way.
#[derive(Clone, Copy)]
enum Scan {
    /// The tables after this one, or all, are still to be matched.
    After(Option<u32>),
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
/// The number of items is known exactly if all components are stored in tables. Otherwise
/// [`size_hint`](Iterator::size_hint) is an upper bound.
pub struct Iter<'w, 's, D: QueryData, F: QueryFilter = ()> {
    fetch: Option<D::Fetch>,
    row: usize,
    len: usize,
    runs: core::slice::Iter<'s, Run<D::Fetch>>,
    scan: Scan,
    world: &'w World,
    states: StatesRef<'s, D, F>,
    /// What comes after the runs, in a query that is not dense.
    sparse: Option<SparseIter<'w, 's, D>>,
    items: PhantomData<&'w mut ()>,
}

// SAFETY: the states are `Send` and `Sync`. The rest are pointers into the world, of which items are made; by the contract of
// `QueryData` that can be done on any thread.
unsafe impl<D: QueryData, F: QueryFilter> Send for Iter<'_, '_, D, F> {}
// SAFETY: as above; through a shared iterator no item is made.
unsafe impl<D: QueryData, F: QueryFilter> Sync for Iter<'_, '_, D, F> {}

/// Finds the next table. It is kept out of line and takes the states by value, so that no part of the iterator has its
/// address taken and a loop over rows keeps all of it in registers.
///
/// # Safety
///
/// The query is dense, and the states are the world's.
#[cold]
#[inline(never)]
unsafe fn scan<D: QueryData, F: QueryFilter>(
    world: &World,
    states: States<D, F>,
    after: Option<u32>,
) -> Option<(u32, Run<D::Fetch>)> {
    // SAFETY: the caller's promise.
    unsafe { next_run::<D, F>(world, &states, after) }
}

impl<'w, 's, D: QueryData, F: QueryFilter> Iter<'w, 's, D, F> {
    const IS_DENSE: bool = D::IS_DENSE && F::IS_ARCHETYPAL;

    /// Iterates over runs and sparse rows that are known.
    ///
    /// # Safety
    ///
    /// The runs and the sparse rows are those of the world as it is, and the states are the world's. The world is borrowed
    /// for `'w` as the query needs it. No other live item of the query conflicts with these.
    #[inline(always)]
    pub(super) unsafe fn known(
        world: &'w World,
        runs: &'s [Run<D::Fetch>],
        states: &'s States<D, F>,
        sparse: Option<SparseIter<'w, 's, D>>,
    ) -> Self {
        Iter {
            fetch: None,
            row: 0,
            len: 0,
            runs: runs.iter(),
            scan: Scan::Done,
            world,
            states: StatesRef::Kept(states),
            sparse,
            items: PhantomData,
        }
    }

    /// Iterates over the tables of a world, which are matched on the way.
    ///
    /// # Safety
    ///
    /// Like [`known`](Iter::known); the query is dense.
    #[inline(always)]
    pub(super) unsafe fn scanning(world: &'w World, states: States<D, F>) -> Self {
        Iter {
            fetch: None,
            row: 0,
            len: 0,
            runs: [].iter(),
            scan: Scan::After(None),
            world,
            states: StatesRef::Own(states),
            sparse: None,
            items: PhantomData,
        }
    }

    /// Iterates over one run or over sparse rows.
    ///
    /// # Safety
    ///
    /// Like [`known`](Iter::known).
    #[inline(always)]
    pub(super) unsafe fn sparse(
        world: &'w World,
        states: States<D, F>,
        run: Option<Run<D::Fetch>>,
        sparse: Option<SparseIter<'w, 's, D>>,
    ) -> Self {
        Iter {
            fetch: run.map(|run| run.fetch),
            row: 0,
            len: run.map_or(0, |run| run.len as usize),
            runs: [].iter(),
            scan: Scan::Done,
            world,
            states: StatesRef::Own(states),
            sparse,
            items: PhantomData,
        }
    }

    /// Returns the sparse rows of an iterator that has not been advanced, if it has any.
    pub(super) fn into_sparse(self) -> Option<SparseIter<'w, 's, D>> {
        self.sparse
    }

    /// Returns the runs of an iterator that has not been advanced.
    pub(super) fn into_runs(mut self) -> Vec<Run<D::Fetch>> {
        let first = self.fetch.map(|fetch| Run { fetch, len: self.len as u32 });
        first.into_iter().chain(core::iter::from_fn(|| self.next_run())).collect()
    }

    /// Returns the next run.
    #[inline(always)]
    pub(super) fn next_run(&mut self) -> Option<Run<D::Fetch>> {
        if let Some(run) = self.runs.next() {
            return Some(*run);
        }
        match (self.scan, &self.states) {
            (Scan::After(after), StatesRef::Own(states)) if Self::IS_DENSE => {
                // SAFETY: the query is dense, and the states are the world's.
                let found = unsafe { scan::<D, F>(self.world, states.clone(), after) };
                self.scan = found.map_or(Scan::Done, |(table, _)| Scan::After(Some(table)));
                found.map(|(_, run)| run)
            }
            _ => None,
        }
    }

    /// Returns the lengths of the runs to come.
    pub(super) fn run_lengths(&self) -> impl Iterator<Item = usize> + '_ {
        let known = self.runs.as_slice().iter().map(|run| run.len as usize);
        let scanned = match self.scan {
            Scan::After(after) if Self::IS_DENSE => Some(tables_after::<D, F>(self.world, self.states.get(), after)),
            _ => None,
        };
        known.chain(scanned.into_iter().flatten().map(|table| self.world.storage.tables[table as usize].len as usize))
    }

    /// Returns the number of items to come, without making any.
    pub(super) fn count_left(mut self) -> usize {
        let rows = self.len - self.row + self.run_lengths().sum::<usize>();
        match &mut self.sparse {
            // SAFETY: the rows were found with these states.
            Some(sparse) if !Self::IS_DENSE => rows + unsafe { sparse.matching_rows::<F>(self.states.get()) }.count(),
            _ => rows,
        }
    }

    /// Returns `true` if there is an item to come, without making it.
    pub(super) fn any_left(mut self) -> bool {
        if self.row < self.len || self.run_lengths().next().is_some() {
            return true;
        }
        match &mut self.sparse {
            // SAFETY: the rows were found with these states.
            Some(sparse) if !Self::IS_DENSE => unsafe { sparse.matching_rows::<F>(self.states.get()) }.next().is_some(),
            _ => false,
        }
    }
}

impl<'w, D: QueryData, F: QueryFilter> Iterator for Iter<'w, '_, D, F> {
    type Item = D::Item<'w>;

    #[inline(always)]
    fn next(&mut self) -> Option<D::Item<'w>> {
        loop {
            if let Some(fetch) = self.fetch
                && self.row < self.len
            {
                let row = self.row;
                self.row += 1;
                // SAFETY: the row is in use, and is visited once.
                return Some(unsafe { D::row(fetch, row) });
            }
            match self.next_run() {
                Some(run) => (self.fetch, self.row, self.len) = (Some(run.fetch), 0, run.len as usize),
                None if Self::IS_DENSE => return None,
                None => {
                    // SAFETY: the rows were found with these states.
                    return self.sparse.as_mut().and_then(|sparse| unsafe { sparse.next::<F>(self.states.get()) });
                }
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let rows = self.len - self.row + self.run_lengths().sum::<usize>();
        let most = self.sparse.as_ref().filter(|_| !Self::IS_DENSE).map_or(0, SparseIter::max_len);
        (rows, Some(rows + most))
    }

    #[inline(always)]
    fn fold<B, G: FnMut(B, D::Item<'w>) -> B>(self, init: B, mut f: G) -> B {
        let mut acc = init;
        if let Some(fetch) = self.fetch {
            for row in self.row..self.len {
                // SAFETY: the row is in use, and is visited once.
                acc = f(acc, unsafe { D::row(fetch, row) });
            }
        }
        for &Run { fetch, len } in self.runs {
            // The pointers are copied out of the run before the loop, so that no write in the loop can change them.
            for row in 0..len as usize {
                // SAFETY: the row is in use, and is visited once.
                acc = f(acc, unsafe { D::row(fetch, row) });
            }
        }
        if Self::IS_DENSE {
            if let Scan::After(mut after) = self.scan {
                // SAFETY: the query is dense, and the states are the world's.
                while let Some((table, run)) = unsafe { next_run::<D, F>(self.world, self.states.get(), after) } {
                    for row in 0..run.len as usize {
                        // SAFETY: the row is in use, and is visited once.
                        acc = f(acc, unsafe { D::row(run.fetch, row) });
                    }
                    after = Some(table);
                }
            }
            return acc;
        }
        match self.sparse {
            // SAFETY: the rows were found with these states.
            Some(sparse) => unsafe { sparse.fold::<F, B>(self.states.get(), acc, f) },
            None => acc,
        }
    }
}

impl<D: QueryData, F: QueryFilter> FusedIterator for Iter<'_, '_, D, F> {}

impl<D: QueryData, F: QueryFilter> fmt::Debug for Iter<'_, '_, D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Iter({:?} left)", self.size_hint())
    }
}
