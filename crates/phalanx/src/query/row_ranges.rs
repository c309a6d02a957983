//! The rows of a query, divided into ranges.
#![allow(unsafe_code)]

use super::iter::{Run, StateRef};
use super::sparse_iter::SparseIter;
use super::{Filtered, ItemRow, QueryData, QueryFilter};
use core::ops::Range;
use std::borrow::Cow;

/// The rows of a query as numbers from zero on, of which any range can be visited by itself, on any thread.
///
/// The numbers follow the order of the query. Where rows are tested, some numbers have no item: the holes of a pool, the
/// slots that a linear store lacks, and rows that do not match.
pub(super) struct RowRanges<'w, 's, D: QueryData, F: QueryFilter> {
    source: Source<'w, 's, D, F>,
    state: StateRef<'s, (D::State, F::State)>,
    len: usize,
    alignment: usize,
}

enum Source<'w, 's, D: QueryData, F: QueryFilter> {
    /// Rows that need no test, and the numbers of the first row of each run.
    Runs(Cow<'s, [Run<D::Fetch>]>, Vec<usize>),
    /// The rows of tables, which are tested, and the numbers of the first row of each table.
    Tables(SparseIter<'w, 's, Filtered<D, F>>, Vec<u32>, Vec<usize>),
    /// The positions of another driver, which are tested.
    Positions(SparseIter<'w, 's, Filtered<D, F>>),
}

// SAFETY: the state is `Sync`. The rest are pointers into the world, which is borrowed, and of which items are made. By the
// contract of `QueryData` that can be done on any thread. A shared value changes nothing by itself.
unsafe impl<D: QueryData, F: QueryFilter> Sync for RowRanges<'_, '_, D, F> {}

/// Returns the sums of the lengths before each, and the sum of all.
fn starts(lengths: impl Iterator<Item = usize>) -> (Vec<usize>, usize) {
    let mut sum = 0;
    let add = |len: usize| {
        let start = sum;
        sum += len;
        start
    };
    let starts = lengths.map(add).collect();
    (starts, sum)
}

/// Returns the parts of a range: the indices of the parts, and their rows. `len` returns the length of a part.
fn parts_of(
    starts: &[usize],
    range: Range<usize>,
    len: impl Fn(usize) -> usize,
) -> impl Iterator<Item = (usize, Range<usize>)> {
    let first = starts.partition_point(|start| *start <= range.start).saturating_sub(1);
    let parts = starts.iter().enumerate().skip(first).take_while(move |(_, start)| **start < range.end);
    parts.map(move |(at, start)| (at, range.start.saturating_sub(*start)..(range.end - start).min(len(at))))
}

impl<'w, 's, D: QueryData, F: QueryFilter> RowRanges<'w, 's, D, F> {
    /// Takes the runs, the iterator over rows that are tested, which has not been advanced, and the state of both.
    pub(super) fn new(
        runs: Cow<'s, [Run<D::Fetch>]>,
        sparse: Option<SparseIter<'w, 's, Filtered<D, F>>>,
        state: StateRef<'s, (D::State, F::State)>,
    ) -> Self {
        let Some(mut sparse) = sparse else {
            let (starts, len) = starts(runs.iter().map(|run| run.len as usize));
            return RowRanges { source: Source::Runs(runs, starts), state, len, alignment: 1 };
        };
        // A query has runs or tests rows.
        debug_assert!(runs.is_empty());
        sparse.prepare_parts();
        if let Some(tables) = sparse.tables(state.get()) {
            let (starts, len) = starts(tables.iter().map(|table| sparse.table_len(*table)));
            return RowRanges { source: Source::Tables(sparse, tables, starts), state, len, alignment: 1 };
        }
        let (len, alignment) = sparse.positions();
        RowRanges { source: Source::Positions(sparse), state, len, alignment }
    }

    /// Returns the number of rows. Some of them may have no item.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the number of which the bounds of ranges must be multiples, except for the length.
    pub(super) fn alignment(&self) -> usize {
        self.alignment
    }

    /// Calls `f` with the items of a range of rows, in order.
    ///
    /// # Safety
    ///
    /// No other item of these rows that lives in `'w` conflicts. That is so if the query is used up, the range is aligned, and
    /// no other call has a row of it.
    #[inline(always)]
    pub(super) unsafe fn fold<B>(&self, range: Range<usize>, init: B, mut f: impl FnMut(B, D::Item<'w>) -> B) -> B {
        let (mut acc, range) = (init, range.start..range.end.min(self.len));
        match &self.source {
            Source::Runs(runs, starts) => {
                for (at, rows) in parts_of(starts, range, |at| runs[at].len as usize) {
                    // The pointers are copied out of the run before the loop, so that no write in the loop can change them.
                    let Run { fetch, first, .. } = runs[at];
                    let first = if Filtered::<D, F>::IS_DENSE { 0 } else { first as usize };
                    for row in first + rows.start..first + rows.end {
                        // SAFETY: the row is in use, and no other item of it conflicts, by the caller's contract.
                        acc = f(acc, D::row(fetch, unsafe { ItemRow::new(row) }));
                    }
                }
                acc
            }
            Source::Tables(sparse, tables, starts) => {
                for (at, rows) in parts_of(starts, range, |at| sparse.table_len(tables[at])) {
                    // SAFETY: no other item of these rows conflicts, by the caller's contract.
                    let part = unsafe { sparse.part_of_table(tables[at], rows) };
                    acc = part.fold(self.state.get(), acc, &mut f);
                }
                acc
            }
            // SAFETY: no other item of these rows conflicts, by the caller's contract.
            Source::Positions(sparse) => unsafe { sparse.part(range) }.fold(self.state.get(), acc, f),
        }
    }
}
