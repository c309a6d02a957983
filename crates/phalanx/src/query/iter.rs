//! Walking over the runs of a query.
#![allow(unsafe_code)]

use super::walk::Walk;
use super::{Filter, Query};
use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;

/// A table that matches a query, or a store that is all that one asks for, resolved. It has rows.
#[derive(Clone, Copy)]
pub(crate) struct Run<F> {
    pub(crate) fetch: F,
    pub(crate) len: u32,
}

/// A walk, and the ids that it goes by.
type Follow<'w, 's, Q, F> = (Walk<'w, 's, Q>, &'s (<Q as Query>::State, <F as Filter>::State));

/// The items of a query, row by row.
///
/// `for_each`, `fold` and the like run a plain loop over each table. A `for` loop makes one test more a row; where that
/// matters, loop over [chunks](Chunks) and their slices instead.
///
/// How many items are to come is known exactly where all components are kept in tables, and is an upper bound otherwise.
pub struct Iter<'w, 's, Q: Query, F: Filter = ()> {
    runs: core::slice::Iter<'s, Run<Q::Fetch>>,
    fetch: Option<Q::Fetch>,
    row: usize,
    len: usize,
    /// What comes after the runs, in a query over components that are not kept in tables.
    walk: Option<Follow<'w, 's, Q, F>>,
    items: PhantomData<&'w mut ()>,
}

impl<'w, 's, Q: Query, F: Filter> Iter<'w, 's, Q, F> {
    /// # Safety
    ///
    /// The runs and the walk are of a world that is borrowed for `'w` as the query needs it, and are used by nobody else
    /// meanwhile. The ids are the world's.
    #[inline(always)]
    pub(super) unsafe fn new(runs: &'s [Run<Q::Fetch>], walk: Option<Follow<'w, 's, Q, F>>) -> Self {
        Iter { runs: runs.iter(), fetch: None, row: 0, len: 0, walk, items: PhantomData }
    }

    const SIDES: bool = Q::SIDES || F::SIDES;
}

impl<'w, Q: Query, F: Filter> Iterator for Iter<'w, '_, Q, F> {
    type Item = Q::Item<'w>;

    #[inline(always)]
    fn next(&mut self) -> Option<Q::Item<'w>> {
        loop {
            if let Some(fetch) = self.fetch
                && self.row < self.len
            {
                let row = self.row;
                self.row += 1;
                // SAFETY: the row is in use, and comes once.
                return Some(unsafe { Q::row(fetch, row) });
            }
            match self.runs.next() {
                Some(run) => (self.fetch, self.row, self.len) = (Some(run.fetch), 0, run.len as usize),
                None if Self::SIDES => {
                    let (walk, ids) = self.walk.as_mut()?;
                    // SAFETY: the ids are the world's, as `new` was promised.
                    return unsafe { walk.next::<F>(ids) };
                }
                None => return None,
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.len - self.row + self.runs.as_slice().iter().map(|r| r.len as usize).sum::<usize>();
        let most = self.walk.as_ref().filter(|_| Self::SIDES).map_or(0, |(walk, _)| walk.most());
        (len, Some(len + most))
    }

    #[inline(always)]
    fn fold<B, G: FnMut(B, Q::Item<'w>) -> B>(self, init: B, mut f: G) -> B {
        let mut acc = init;
        if let Some(fetch) = self.fetch {
            for row in self.row..self.len {
                // SAFETY: the row is in use, and comes once.
                acc = f(acc, unsafe { Q::row(fetch, row) });
            }
        }
        for &Run { fetch, len } in self.runs {
            // The pointers are out of the run's memory before the loop: what is written there cannot be them.
            for row in 0..len as usize {
                // SAFETY: the row is in use, and comes once.
                acc = f(acc, unsafe { Q::row(fetch, row) });
            }
        }
        match self.walk {
            // SAFETY: as in `next`.
            Some((walk, ids)) if Self::SIDES => unsafe { walk.fold::<F, B>(ids, acc, f) },
            _ => acc,
        }
    }
}

impl<Q: Query, F: Filter> FusedIterator for Iter<'_, '_, Q, F> {}

impl<Q: Query, F: Filter> fmt::Debug for Iter<'_, '_, Q, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Iter({:?} left)", self.size_hint())
    }
}

/// The items of a query, table by table: slices of equal length.
pub struct Chunks<'w, 's, Q: Query> {
    runs: core::slice::Iter<'s, Run<Q::Fetch>>,
    items: PhantomData<&'w mut ()>,
}

impl<'w, 's, Q: Query> Chunks<'w, 's, Q> {
    /// # Safety
    ///
    /// The runs are of a world that is borrowed for `'w` as the query needs it, and are used by nobody else meanwhile.
    pub(crate) unsafe fn new(runs: &'s [Run<Q::Fetch>]) -> Self {
        Chunks { runs: runs.iter(), items: PhantomData }
    }
}

impl<'w, Q: Query> Iterator for Chunks<'w, '_, Q> {
    type Item = Q::Chunk<'w>;

    #[inline(always)]
    fn next(&mut self) -> Option<Q::Chunk<'w>> {
        let run = self.runs.next()?;
        // SAFETY: the rows are in use, and come once.
        Some(unsafe { Q::chunk(run.fetch, run.len as usize) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.runs.size_hint()
    }
}

impl<Q: Query> ExactSizeIterator for Chunks<'_, '_, Q> {}
impl<Q: Query> FusedIterator for Chunks<'_, '_, Q> {}

impl<Q: Query> fmt::Debug for Chunks<'_, '_, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chunks({} left)", self.runs.len())
    }
}
