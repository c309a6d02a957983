//! Combinations: every set of N items, once.
#![allow(unsafe_code)]

use super::iter::Run;
use super::walk::Walk;
use super::{Filter, Query, ReadOnlyQuery, Spot};
use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use std::borrow::Cow;

/// The places of N rows, each after the one before it; none of the runs is empty.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<const N: usize> {
    /// Run and row of each.
    places: [(usize, usize); N],
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Fresh,
    Walking,
    Done,
}

/// The row after this one.
fn after<F>(runs: &[Run<F>], (run, row): (usize, usize)) -> Option<(usize, usize)> {
    match runs.get(run)?.len as usize > row + 1 {
        true => Some((run, row + 1)),
        false => (run + 1 < runs.len()).then_some((run + 1, 0)),
    }
}

impl<const N: usize> Cursor<N> {
    /// Before the first set.
    pub(super) fn first<F>(runs: &[Run<F>]) -> Self {
        let (mut places, mut state) = ([(0, 0); N], State::Fresh);
        if runs.is_empty() && N > 0 {
            state = State::Done;
        }
        for at in 1..N {
            match after(runs, places[at - 1]) {
                Some(place) => places[at] = place,
                None => state = State::Done,
            }
        }
        Cursor { places, state }
    }

    /// The next set, in order.
    #[inline]
    pub(super) fn next<F>(&mut self, runs: &[Run<F>]) -> Option<[(usize, usize); N]> {
        match self.state {
            State::Done => return None,
            State::Fresh => self.state = State::Walking,
            State::Walking => {
                // The last place that can go on, so that those after it still fit behind.
                let mut at = N;
                loop {
                    if at == 0 {
                        self.state = State::Done;
                        return None;
                    }
                    at -= 1;
                    let mut places = self.places;
                    let mut place = places[at];
                    let fits = places[at..].iter_mut().all(|slot| match after(runs, place) {
                        Some(next) => {
                            (*slot, place) = (next, next);
                            true
                        }
                        None => false,
                    });
                    if fits {
                        self.places = places;
                        break;
                    }
                }
            }
        }
        Some(self.places)
    }
}

/// Every set of `N` different items of a query, once: [`Matched::combinations`](super::Matched::combinations).
pub struct Combinations<'w, 's, Q: Query, const N: usize> {
    runs: Cow<'s, [Run<Q::Fetch>]>,
    /// The rows instead of the runs, in a query over components that are not kept in tables.
    walked: Option<Walked<Q>>,
    cursor: Cursor<N>,
    items: PhantomData<&'w ()>,
}

/// All of them, if none is missing.
pub(super) fn whole<T, const N: usize>(items: [Option<T>; N]) -> Option<[T; N]> {
    let is_whole = items.iter().all(Option::is_some);
    is_whole.then(|| items.map(|item| item.unwrap_or_else(|| unreachable!("each is there"))))
}

/// The rows of a query that is walked.
struct Walked<Q: Query> {
    terms: Q::State,
    view: Q::View,
    spots: Vec<Spot>,
    /// As many rows, as if they were those of a table.
    rows: Option<Run<()>>,
}

impl Run<()> {
    /// So many rows of nothing in particular.
    pub(super) fn of_rows(count: usize) -> Option<Run<()>> {
        (count > 0).then_some(Run { fetch: (), len: count as u32 })
    }
}

impl<'s, Q: ReadOnlyQuery, const N: usize> Combinations<'_, 's, Q, N> {
    /// # Safety
    ///
    /// The runs, or the walk, and the ids are of a world that is borrowed for `'w`, and nobody writes what the query reads.
    pub(super) unsafe fn new<F: Filter>(
        runs: Cow<'s, [Run<Q::Fetch>]>,
        walk: Option<Walk<'_, '_, Q>>,
        ids: &(Q::State, F::State),
    ) -> Self {
        let walked = walk.map(|mut walk| {
            // SAFETY: the ids are the world's, by the caller's promise.
            let (view, spots) = (walk.view(), unsafe { walk.spots::<F>(ids) }.collect::<Vec<_>>());
            Walked { view, terms: ids.0.clone(), rows: Run::of_rows(spots.len()), spots }
        });
        let cursor = match &walked {
            Some(walked) => Cursor::first(walked.rows.as_slice()),
            None => Cursor::first(&runs),
        };
        Combinations { cursor, runs, walked, items: PhantomData }
    }
}

impl<'w, Q: ReadOnlyQuery, const N: usize> Iterator for Combinations<'w, '_, Q, N> {
    type Item = [Q::Item<'w>; N];

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while let Some(Walked { terms, view, spots, rows }) = &self.walked {
            let places = self.cursor.next(rows.as_slice())?;
            // SAFETY: the rows are the world's, and a query that writes nothing may read a row any number of times.
            let items = places.map(|(_, row)| unsafe { Q::at(terms, *view, spots[row]) });
            // A filter of somebody's may have changed its mind about a row.
            if let Some(items) = whole(items) {
                return Some(items);
            }
        }
        let places = self.cursor.next(&self.runs)?;
        // SAFETY: the rows are in use, and a query that writes nothing may read a row any number of times.
        Some(places.map(|(run, row)| unsafe { Q::row(self.runs[run].fetch, row) }))
    }
}

impl<Q: ReadOnlyQuery, const N: usize> FusedIterator for Combinations<'_, '_, Q, N> {}

impl<Q: Query, const N: usize> fmt::Debug for Combinations<'_, '_, Q, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Combinations({:?})", self.cursor)
    }
}
