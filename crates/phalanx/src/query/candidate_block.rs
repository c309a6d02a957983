//! [`CandidateBlock`]: up to 64 rows that a filter tests at once.
#![allow(unsafe_code)]

use super::driver_rows::NO_TABLE;
use super::{Candidate, VisitedRow};
use crate::component::ComponentId;
use crate::signature::Signature;
use crate::sparse::Store;
use crate::world::{Location, World};
use core::fmt;
use phalanx_store::Entity;
use phalanx_store::raw::Lane;

/// Consecutive rows of a table, or of the store that drives a query. Filters return a bit for each. As for a
/// [`Candidate`], no other thread sets change ticks that a filter may read.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct CandidateBlock<'w> {
    world: &'w World,
    /// The slots of the rows, 64 at most.
    keys: &'w [Entity],
    /// The row of the first in the table, or its position in the store that drives the query.
    first: usize,
    /// The table, or [`NO_TABLE`].
    table: u32,
    /// The component whose store drives the query, if one does.
    known: Option<ComponentId>,
}

impl<'w> CandidateBlock<'w> {
    /// The most rows of a block.
    pub(super) const LEN: usize = 64;

    /// # Safety
    ///
    /// - The slots are in use in the world. They are 64 at most.
    /// - They are at consecutive rows of the table; or without one, at consecutive positions of the store of the known component.
    #[inline(always)]
    pub(super) unsafe fn new(
        world: &'w World,
        keys: &'w [Entity],
        first: usize,
        table: u32,
        known: Option<ComponentId>,
    ) -> Self {
        CandidateBlock { world, keys, first, table, known: known.filter(|_| table == NO_TABLE) }
    }

    /// Returns the world of the rows.
    #[inline(always)]
    pub(super) fn world(&self) -> &'w World {
        self.world
    }

    /// Returns the number of rows.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns `true` if the rows are those of a table that matches.
    #[inline(always)]
    pub(super) fn is_of_table(&self) -> bool {
        self.table != NO_TABLE
    }

    /// Returns the table components of the rows, if they are those of a table.
    #[inline(always)]
    pub(super) fn signature(&self) -> Option<&'w Signature> {
        self.is_of_table().then(|| &self.world.storage.tables[self.table as usize].signature)
    }

    /// Tests each row by its number in the block.
    #[inline(always)]
    pub(super) fn test_each(&self, mut test: impl FnMut(usize) -> bool) -> u64 {
        let (mut bits, mut at) = (0, 0);
        // Eight answers do not wait for each other.
        while at + 8 <= self.keys.len() {
            let eight = (0..8).fold(0, |eight, n| eight | u64::from(test(at + n)) << n);
            bits |= eight << at;
            at += 8;
        }
        (at..self.keys.len()).fold(bits, |bits, at| bits | u64::from(test(at)) << at)
    }

    /// Tests each row by itself.
    #[inline(always)]
    pub(super) fn test(&self, mut test: impl FnMut(&Candidate<'_>) -> bool) -> u64 {
        self.test_each(|at| {
            let key = self.keys[at];
            // SAFETY: the slot is in use, by the contract of `new`. A candidate uses its index only.
            let row = unsafe { VisitedRow::new(key.index(), Some(key), 0, Location { table: NO_TABLE, row: 0 }) };
            test(&Candidate::of_row(self.world, row, self.known))
        })
    }

    /// Returns which rows have a sparse component.
    #[inline(always)]
    pub(super) fn have(&self, id: ComponentId) -> u64 {
        if self.known == Some(id) {
            return u64::MAX;
        }
        match self.world.storage.sparse.of(id).map(|sparse| &sparse.store) {
            None => 0,
            Some(Store::Pool(pool)) => self.test_each(|at| pool.position(self.keys[at].index()).is_some()),
            Some(Store::Linear(linear)) => match self.consecutive() {
                Some(first) => linear.bits_from(first),
                None => self.test_each(|at| linear.has(self.keys[at].index())),
            },
        }
    }

    /// Returns the index of the first slot, if those of the others follow it.
    #[inline(always)]
    fn consecutive(&self) -> Option<u32> {
        let first = self.keys.first()?.index();
        let follows = |all: bool, (key, index): (&Entity, u32)| all & (key.index() == index);
        self.keys.iter().zip(first..).fold(true, follows).then_some(first)
    }

    /// Returns the first lane of a component and the position of the first row there, if the rows are consecutive there.
    #[inline(always)]
    pub(super) fn lanes_of(&self, id: ComponentId) -> Option<(*const Lane, usize)> {
        let storage = &self.world.storage;
        match storage.sparse.of(id) {
            Some(sparse) => (self.known == Some(id)).then(|| (sparse.values().lane().cast_const(), self.first)),
            None if self.is_of_table() => {
                let lane = storage.lane(id, self.table);
                (!lane.is_null()).then_some((lane.cast_const(), self.first))
            }
            None => None,
        }
    }
}

impl fmt::Debug for CandidateBlock<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CandidateBlock({} rows)", self.keys.len())
    }
}
