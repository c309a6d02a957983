//! Walking over a shared world: the tables are matched on the way.
#![allow(unsafe_code)]

use super::iter::Run;
use super::{Filter, FlatChunk, Query, ReadOnlyQuery};
use crate::world::World;
use core::fmt;
use core::iter::FusedIterator;

/// The tables that match and have rows, resolved on the way.
pub(super) struct Runs<'w, Q: Query, F: Filter> {
    pub(super) world: &'w World,
    /// The ids of this world.
    pub(super) ids: (Q::State, F::State),
    /// The table that is looked at next.
    pub(super) next: usize,
}

impl<Q: ReadOnlyQuery, F: Filter> Runs<'_, Q, F> {
    /// The next table at or after this one that matches and has rows.
    fn match_from(&self, from: usize) -> Option<usize> {
        let (terms, filter) = &self.ids;
        (from..self.world.tables.len()).find(|&number| {
            let table = &self.world.tables[number];
            table.len > 0 && Q::matches(terms, &table.signature) && F::passes(filter, &table.signature)
        })
    }

    fn tables_left(&self) -> impl Iterator<Item = usize> + '_ {
        core::iter::successors(self.match_from(self.next), |&last| self.match_from(last + 1))
    }

    /// How many rows are to come.
    pub(super) fn rows_left(&self) -> usize {
        self.tables_left().map(|number| self.world.tables[number].len as usize).sum()
    }
}

impl<Q: ReadOnlyQuery, F: Filter> Iterator for Runs<'_, Q, F> {
    type Item = Run<Q::Fetch>;

    fn next(&mut self) -> Option<Run<Q::Fetch>> {
        let number = self.match_from(self.next)?;
        self.next = number + 1;
        // SAFETY: the ids are this world's, and the table matches.
        let fetch = unsafe { Q::fetch(&self.ids.0, self.world, number as u32) };
        Some(Run { fetch, len: self.world.tables[number].len })
    }
}

/// The items of a query of a shared world, row by row: [`QueryRef::iter`](super::QueryRef::iter).
pub struct RefIter<'w, Q: Query, F: Filter> {
    pub(super) runs: Runs<'w, Q, F>,
    pub(super) fetch: Option<Q::Fetch>,
    pub(super) row: usize,
    pub(super) len: usize,
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
            let run = self.runs.next()?;
            (self.fetch, self.row, self.len) = (Some(run.fetch), 0, run.len as usize);
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
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
        (0, Some(self.runs.world.tables.len() - self.runs.next))
    }
}

impl<Q: ReadOnlyQuery, F: Filter> FusedIterator for RefChunks<'_, Q, F> {}

impl<Q: Query, F: Filter> fmt::Debug for RefChunks<'_, Q, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RefChunks({})", core::any::type_name::<Q>())
    }
}
