//! All sets of N items of a query.
#![allow(unsafe_code)]

use super::iter::Run;
use super::sparse_iter::SparseRows;
use super::{ItemRow, QueryData, ReadOnlyQueryData};
use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use std::borrow::Cow;

/// The positions of N rows, in ascending order. None of the runs is empty.
#[derive(Clone, Copy, Debug)]
struct Cursor<const N: usize> {
    /// The run and the row of each.
    positions: [(usize, usize); N],
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Fresh,
    Walking,
    Done,
}

/// Returns the position after this one.
fn after<F>(runs: &[Run<F>], (run, row): (usize, usize)) -> Option<(usize, usize)> {
    match runs.get(run)?.len as usize > row + 1 {
        true => Some((run, row + 1)),
        false => (run + 1 < runs.len()).then_some((run + 1, 0)),
    }
}

impl<const N: usize> Cursor<N> {
    /// Returns a cursor before the first set.
    fn first<F>(runs: &[Run<F>]) -> Self {
        let (mut positions, mut state) = ([(0, 0); N], State::Fresh);
        if runs.is_empty() && N > 0 {
            state = State::Done;
        }
        for at in 1..N {
            match after(runs, positions[at - 1]) {
                Some(position) => positions[at] = position,
                None => state = State::Done,
            }
        }
        Cursor { positions, state }
    }

    /// Returns the next set, in order.
    #[inline]
    fn next<F>(&mut self, runs: &[Run<F>]) -> Option<[(usize, usize); N]> {
        match self.state {
            State::Done => return None,
            State::Fresh => self.state = State::Walking,
            State::Walking => {
                // Advance the last position after which the others still fit.
                let mut at = N;
                loop {
                    if at == 0 {
                        self.state = State::Done;
                        return None;
                    }
                    at -= 1;
                    let mut positions = self.positions;
                    let mut position = positions[at];
                    let fits = positions[at..].iter_mut().all(|slot| match after(runs, position) {
                        Some(next) => {
                            (*slot, position) = (next, next);
                            true
                        }
                        None => false,
                    });
                    if fits {
                        self.positions = positions;
                        break;
                    }
                }
            }
        }
        Some(self.positions)
    }
}

/// An iterator over all sets of `N` different items of a query.
///
/// It is made by [`Query::combinations`](super::Query::combinations).
pub struct Combinations<'w, 's, D: QueryData, const N: usize> {
    runs: Cow<'s, [Run<D::Fetch>]>,
    /// The rows, if they were tested one by one, and a run of as many rows, for the cursor. Then there are no runs.
    sparse: Option<(SparseRows<D>, Option<Run<()>>)>,
    cursor: Cursor<N>,
    items: PhantomData<&'w ()>,
}

impl<'w, 's, D: QueryData, const N: usize> Combinations<'w, 's, D, N> {
    /// # Safety
    ///
    /// The runs or rows are those of a world that is borrowed for `'w` as the query needs it.
    pub(super) unsafe fn new(runs: Cow<'s, [Run<D::Fetch>]>, sparse: Option<SparseRows<D>>) -> Self {
        let sparse = sparse.map(|sparse| {
            let len = sparse.rows.len() as u32;
            (sparse, (len > 0).then_some(Run { fetch: (), first: 0, len }))
        });
        let cursor = match &sparse {
            Some((_, run)) => Cursor::first(run.as_slice()),
            None => Cursor::first(&runs),
        };
        Combinations { cursor, runs, sparse, items: PhantomData }
    }

    /// Returns the next set.
    ///
    /// # Safety
    ///
    /// No other item of the query that lives in `'a` conflicts.
    #[inline]
    pub(super) unsafe fn next_set<'a>(&mut self) -> Option<[D::Item<'a>; N]>
    where
        'w: 'a,
    {
        while let Some((sparse, run)) = &self.sparse {
            let positions = self.cursor.next(run.as_slice())?;
            // SAFETY: the world is borrowed, by the contract of `new`. The rows differ, so their items do not overlap, and no
            // other item conflicts, by the caller's contract.
            let items = positions.map(|(_, row)| unsafe { sparse.item(sparse.rows[row]) });
            if items.iter().all(Option::is_some) {
                return Some(items.map(|item| item.unwrap_or_else(|| unreachable!("each is there"))));
            }
        }
        let positions = self.cursor.next(&self.runs)?;
        Some(positions.map(|(run, row)| {
            let run = &self.runs[run];
            // SAFETY: the rows are in use, by the contract of `new`. They differ, so their items do not overlap, and no other
            // item conflicts, by the caller's contract.
            D::row(run.fetch, unsafe { ItemRow::new(run.first as usize + row) })
        }))
    }
}

impl<'w, D: ReadOnlyQueryData, const N: usize> Iterator for Combinations<'w, '_, D, N> {
    type Item = [D::Item<'w>; N];

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        // SAFETY: read-only items do not conflict.
        unsafe { self.next_set() }
    }
}

impl<D: ReadOnlyQueryData, const N: usize> FusedIterator for Combinations<'_, '_, D, N> {}

impl<D: QueryData, const N: usize> fmt::Debug for Combinations<'_, '_, D, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Combinations({:?})", self.cursor)
    }
}
