//! Walking over a shared world: the tables are matched on the way.
#![allow(unsafe_code)]

use super::iter::Run;
use super::walk::{Lead, Walk, course};
use super::{Filter, FlatChunk, Query, ReadOnlyQuery, is_live, matches_table};
use crate::table::Table;
use crate::world::World;
use core::fmt;
use core::iter::FusedIterator;
use std::borrow::Cow;

/// The tables that match and have rows, resolved on the way.
pub(super) struct Runs<'w, Q: Query, F: Filter> {
    pub(super) world: &'w World,
    /// The ids of this world.
    pub(super) ids: (Q::State, F::State),
    /// The table that was found last.
    pub(super) last: Option<u32>,
    /// Whether there are no more.
    pub(super) is_done: bool,
}

impl<'w, Q: ReadOnlyQuery, F: Filter> Runs<'w, Q, F> {
    /// The tables that match and have rows.
    fn tables_of<'i>(
        world: &'w World,
        ids: &'i (Q::State, F::State),
    ) -> impl Iterator<Item = u32> + Clone + use<'w, 'i, Q, F> {
        let matching = move |(number, table): &(u32, &Table)| {
            matches_table::<Q, F>(ids, &table.signature) && is_live::<Q, F>(ids, world, *number)
        };
        world.storage.tables_in_order().filter(matching).map(|(number, _)| number)
    }

    /// Returns the next table after another, or the first, that matches and has rows.
    fn match_after(&self, after: Option<u32>) -> Option<u32> {
        let mut next = self.world.storage.table_order.next(after);
        while let Some(number) = next {
            let table = &self.world.storage.tables[number as usize];
            let matches = || matches_table::<Q, F>(&self.ids, &table.signature);
            if table.len > 0 && matches() && is_live::<Q, F>(&self.ids, self.world, number) {
                return Some(number);
            }
            next = self.world.storage.table_order.next(Some(number));
        }
        None
    }

    pub(super) fn tables_left(&self) -> impl Iterator<Item = u32> + '_ {
        let first = if self.is_done { None } else { self.match_after(self.last) };
        core::iter::successors(first, |&last| self.match_after(Some(last)))
    }

    /// How many rows are to come.
    pub(super) fn rows_left(&self) -> usize {
        self.tables_left().map(|number| self.world.storage.tables[number as usize].len as usize).sum()
    }
}

impl<Q: ReadOnlyQuery, F: Filter> Iterator for Runs<'_, Q, F> {
    type Item = Run<Q::Fetch>;

    fn next(&mut self) -> Option<Run<Q::Fetch>> {
        let next = if self.is_done { None } else { self.match_after(self.last) };
        let Some(number) = next else {
            self.is_done = true;
            return None;
        };
        self.last = Some(number);
        // SAFETY: the ids are this world's, and the table matches.
        let fetch = unsafe { Q::fetch(&self.ids.0, self.world, number) };
        Some(Run { fetch, len: self.world.storage.tables[number as usize].len })
    }
}

/// The items of a query of a shared world, row by row: [`QueryRef::iter`](super::QueryRef::iter).
pub struct RefIter<'w, Q: Query, F: Filter> {
    pub(super) runs: Runs<'w, Q, F>,
    fetch: Option<Q::Fetch>,
    row: usize,
    len: usize,
    /// What comes after the runs, in a query over components that are not kept in tables.
    walk: Option<Walk<'w, 'w, Q>>,
}

impl<'w, Q: ReadOnlyQuery, F: Filter> RefIter<'w, Q, F> {
    const SIDES: bool = Q::SIDES || F::SIDES;

    #[inline]
    pub(super) fn new(runs: Runs<'w, Q, F>) -> Self {
        let mut iter = RefIter { runs, fetch: None, row: 0, len: 0, walk: None };
        if Self::SIDES {
            iter.find();
        }
        iter
    }

    /// Finds what leads, instead of the tables.
    fn find(&mut self) {
        let Runs { world, ids, is_done, .. } = &mut self.runs;
        let world: &'w World = world;
        let matching = Runs::<Q, F>::tables_of(world, ids);
        // SAFETY: the ids are the world's.
        let course = unsafe { course::<Q, F>(world, ids, matching.clone()) };
        *is_done = true;
        if course.walks() {
            let tables = if course.lead == Lead::Tables { matching.collect() } else { Vec::new() };
            // SAFETY: the ids are the world's, whose course this is, and a query that writes nothing needs no more than a
            // shared world.
            self.walk = Some(unsafe { Walk::new::<F>(world, ids, (course.lead, course.len), Cow::Owned(tables)) });
        } else if let Some(run) = course.run {
            (self.fetch, self.len) = (Some(run.fetch), run.len as usize);
        }
    }

    /// How many items are to come, without making any.
    pub(super) fn count_left(self) -> usize {
        let (left, ids) = (self.len - self.row, &self.runs.ids);
        match self.walk {
            // SAFETY: the walk was made with these ids.
            Some(mut walk) if Self::SIDES => left + unsafe { walk.spots::<F>(ids) }.count(),
            _ => left + self.runs.rows_left(),
        }
    }

    /// Whether there is any item to come, without making it.
    pub(super) fn any_left(self) -> bool {
        match self.walk {
            // SAFETY: the walk was made with these ids.
            Some(mut walk) if Self::SIDES => unsafe { walk.spots::<F>(&self.runs.ids) }.next().is_some(),
            _ => self.len > self.row || self.runs.tables_left().next().is_some(),
        }
    }

    /// The parts that combinations are made of.
    #[allow(clippy::type_complexity)]
    pub(super) fn into_parts(self) -> (Vec<Run<Q::Fetch>>, Option<Walk<'w, 'w, Q>>, (Q::State, F::State)) {
        let ids = self.runs.ids.clone();
        let run = self.fetch.map(|fetch| Run { fetch, len: self.len as u32 });
        (run.into_iter().chain(self.runs).collect(), self.walk, ids)
    }
}

impl<'w, Q: ReadOnlyQuery, F: Filter> Iterator for RefIter<'w, Q, F> {
    type Item = Q::Item<'w>;

    #[inline(always)]
    fn next(&mut self) -> Option<Q::Item<'w>> {
        loop {
            if let Some(fetch) = self.fetch
                && self.row < self.len
            {
                let row = self.row;
                self.row += 1;
                // SAFETY: the row is in use, and a query that writes nothing needs no more than a shared world.
                return Some(unsafe { Q::row(fetch, row) });
            }
            if Self::SIDES
                && let Some(walk) = &mut self.walk
            {
                // SAFETY: the walk was made with these ids.
                return unsafe { walk.next::<F>(&self.runs.ids) };
            }
            let run = self.runs.next()?;
            (self.fetch, self.row, self.len) = (Some(run.fetch), 0, run.len as usize);
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        if Self::SIDES
            && let Some(walk) = &self.walk
        {
            return (0, Some(walk.most()));
        }
        let len = self.len - self.row + self.runs.rows_left();
        (len, Some(len))
    }

    #[inline(always)]
    fn fold<B, G: FnMut(B, Q::Item<'w>) -> B>(self, init: B, mut f: G) -> B {
        let mut acc = init;
        if let Some(fetch) = self.fetch {
            for row in self.row..self.len {
                // SAFETY: as in `next`.
                acc = f(acc, unsafe { Q::row(fetch, row) });
            }
        }
        if Self::SIDES
            && let Some(walk) = self.walk
        {
            // SAFETY: the walk was made with these ids.
            return unsafe { walk.fold::<F, B>(&self.runs.ids, acc, f) };
        }
        for Run { fetch, len } in self.runs {
            for row in 0..len as usize {
                // SAFETY: as in `next`.
                acc = f(acc, unsafe { Q::row(fetch, row) });
            }
        }
        acc
    }
}

impl<Q: ReadOnlyQuery, F: Filter> FusedIterator for RefIter<'_, Q, F> {}

impl<Q: Query, F: Filter> fmt::Debug for RefIter<'_, Q, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RefIter({})", core::any::type_name::<Q>())
    }
}

/// The items of a query of a shared world, table by table: [`QueryRef::chunks`](super::QueryRef::chunks).
pub struct RefChunks<'w, Q: Query, F: Filter> {
    pub(super) runs: Runs<'w, Q, F>,
}

impl<'w, Q: ReadOnlyQuery, F: Filter> RefChunks<'w, Q, F> {
    /// The chunks as slices of scalars: [`Chunks::flat`](super::Chunks::flat).
    #[inline]
    pub fn flat(self) -> impl Iterator<Item = <Q::Chunk<'w> as FlatChunk>::Scalars> + use<'w, Q, F>
    where
        Q::Chunk<'w>: FlatChunk,
    {
        self.map(FlatChunk::flat)
    }
}

impl<'w, Q: ReadOnlyQuery, F: Filter> Iterator for RefChunks<'w, Q, F> {
    type Item = Q::Chunk<'w>;

    #[inline(always)]
    fn next(&mut self) -> Option<Q::Chunk<'w>> {
        let run = self.runs.next()?;
        // SAFETY: the rows are in use, and a query that writes nothing needs no more than a shared world.
        Some(unsafe { Q::chunk(run.fetch, run.len as usize) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.runs.world.storage.tables.len()))
    }
}

impl<Q: ReadOnlyQuery, F: Filter> FusedIterator for RefChunks<'_, Q, F> {}

impl<Q: Query, F: Filter> fmt::Debug for RefChunks<'_, Q, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RefChunks({})", core::any::type_name::<Q>())
    }
}
