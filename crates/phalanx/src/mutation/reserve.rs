//! Reservations: they allocate what a commit needs, and return a [`Reserved`].
//!
//! A reservation changes nothing that can be observed, whether it succeeds or not, except that reserved entities become alive.
//! Lanes may move, so it advances the epoch.
#![allow(unsafe_code)]

use crate::bundle_info::{BundleInfo, Edge};
use crate::mutation::stash::Stash;
use crate::sparse::{SparseInserts, SpawnedValues};
use crate::storage::{Location, Storage};
use phalanx_store::AllocError;
use phalanx_store::raw::prefetch;

/// Proof that the capacity for a commit is reserved: for rows, slots, sparse values, names of extra rows and journal entries.
///
/// Every commit that adds, moves or removes rows takes one, so that none can be written without a reservation. A token of an operation with several commits is for
/// all of them together.
#[derive(Clone, Copy)]
#[must_use]
pub(crate) struct Reserved(());

impl Reserved {
    /// The token of a commit that needs no capacity but that for journal entries.
    pub(super) const NOTHING: Reserved = Reserved(());

    /// Creates the token of an operation that reserves its parts one by one.
    ///
    /// # Safety
    ///
    /// The capacity for all commits that take the token is reserved.
    #[inline(always)]
    pub(crate) unsafe fn new() -> Reserved {
        Reserved(())
    }
}

impl Storage {
    /// Returns `true` if the next entity with a row in this table needs no more capacity for its slot and its row, and nothing is
    /// recorded. No entity is reserved then.
    #[inline(always)]
    pub(crate) fn is_ready(&mut self, table: u32) -> bool {
        let table = &self.tables[table as usize];
        !self.journal.is_active() && table.len < table.cap && self.entities.is_ready()
    }

    /// Reserves the capacity for an entity with the components of a bundle. `SPARSE` says whether any of them is sparse.
    #[inline(always)]
    pub(crate) fn reserve_spawn<const SPARSE: bool>(&mut self, info: &BundleInfo) -> Result<Reserved, AllocError> {
        let table = &self.tables[info.table as usize];
        if table.len == table.cap || !self.entities.is_ready() {
            self.reserve_spawns(info.table, 1)?;
        }
        if SPARSE {
            self.reserve_spawn_sparse(&info.sparse)?;
        }
        self.reserve_row_entries(info.table, 1)?;
        Ok(Reserved(()))
    }

    /// Reserves the capacity for the sparse components of the next entity.
    #[inline]
    fn reserve_spawn_sparse(&mut self, sparse: &[u32]) -> Result<(), AllocError> {
        // Values may move even if this fails.
        self.restructured();
        // Slots that are reused are scattered: one that is used soon is prefetched. The next one would come too late.
        if self.sparse.should_prefetch()
            && let [.., slot, _, _, _, _] = self.entities.free_list()
        {
            prefetch(self.entities.payloads().slot_address(*slot));
            self.sparse.prefetch_spawn(*slot, sparse);
        }
        self.sparse.try_reserve::<true>(self.entities.next_index(), sparse, &[])
    }

    /// Reserves the capacity for `count` entities, and for their rows in a table, but not for their sparse values and journal
    /// entries. Reserved entities become alive.
    #[cold]
    #[inline(never)]
    pub(crate) fn reserve_spawns(&mut self, table: u32, count: u32) -> Result<(), AllocError> {
        self.flush()?;
        self.reserve_entities(count)?;
        self.reserve_table(table, count)
    }

    /// Reserves the capacity for sparse values of the next `count` entities, one in each of these storages. Finds where they are
    /// written. Pages are held until [`release_pages`](SparseStorages::release_pages).
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails. No value changes, and no page is held.
    pub(crate) fn reserve_spawned_values(
        &mut self,
        sparse: &[u32],
        count: u32,
        values: &mut SpawnedValues,
    ) -> Result<(), AllocError> {
        // Values may move, even if one of several storages cannot grow.
        self.restructured();
        let slots = (0..count).map(|nth| self.entities.nth_index(nth).expect("a slot is reserved for each"));
        let reserved = self.sparse.try_reserve_spawns(sparse, slots, values);
        if reserved.is_err() {
            self.sparse.release_pages();
        }
        reserved
    }

    /// Reserves the capacity for removing a row of a table. Its sparse values always have capacity to be displaced.
    #[inline(always)]
    pub(crate) fn reserve_removal(&mut self, table: u32) -> Result<Reserved, AllocError> {
        self.reserve_row_entries(table, 1)?;
        Ok(Reserved(()))
    }

    /// Reserves capacity for `count` more rows in a table. Lanes may move even if this fails.
    #[inline]
    pub(crate) fn reserve_table(&mut self, table: u32, count: u32) -> Result<(), AllocError> {
        self.tables[table as usize].try_reserve(count, &mut self.epoch)
    }

    /// Reserves capacity for `count` more entities, and for their locations.
    pub(crate) fn reserve_entities(&mut self, count: u32) -> Result<(), AllocError> {
        self.entities.try_reserve(count as usize)
    }

    /// Reserves capacity for sparse values of the slot that is allocated after `nth` others.
    pub(crate) fn reserve_sparse(&mut self, nth: u32, sparse: &[u32]) -> Result<(), AllocError> {
        let slot = self.entities.nth_index(nth).ok_or(AllocError::CapacityOverflow)?;
        // Values may move even if this fails.
        self.restructured();
        self.sparse.try_reserve::<false>(slot, sparse, &[])
    }

    /// Reserves capacity for one more extra row in a table, for its name, and for its journal entries. Its slot is reserved
    /// before.
    pub(crate) fn reserve_extra_row(&mut self, table: u32) -> Result<Reserved, AllocError> {
        // Lanes may move even if this fails.
        self.restructured();
        self.reserve_table(table, 1)?;
        self.reserve_entries(self.entries_of(0) + self.entries_of(table))?;
        self.rows.try_reserve(1, 1, self.entities.capacity())?;
        Ok(Reserved(()))
    }

    /// Reserves what [`move_row`](Storage::move_row) needs to move one slot along an edge.
    #[inline(always)]
    pub(crate) fn reserve_move(&mut self, slot: u32, from: Location, edge: &Edge) -> Result<Reserved, AllocError> {
        // The row beyond the last is the destination of the move, or holds the new values until they are exchanged.
        if edge.target != from.table || !edge.displaced.is_empty() {
            self.reserve_table(edge.target, 1)?;
        }
        if !(edge.sparse_inserts.is_empty() && edge.sparse_removes.is_empty()) {
            // Values may move even if this fails.
            self.restructured();
            self.sparse.try_reserve::<false>(slot, &edge.sparse_inserts, &edge.sparse_removes)?;
        }
        self.reserve_edge_entries(edge)?;
        Ok(Reserved(()))
    }

    /// Counts what moving a slot along an edge needs in sparse storages, and the values that it displaces to a stash.
    pub(crate) fn expect_move(
        &self,
        slot: u32,
        edge: &Edge,
        sparse_inserts: &mut SparseInserts,
        stash: &mut Stash,
    ) -> Result<(), AllocError> {
        if !edge.displaced.is_empty() {
            stash.expect_row(self, &edge.displaced)?;
        }
        if edge.sparse_inserts.is_empty() && edge.sparse_removes.is_empty() {
            return Ok(());
        }
        stash.expect_present(self, slot, &edge.sparse_removes)?;
        stash.expect_present(self, slot, &edge.sparse_inserts)?;
        stash.expect_inserts(self, &edge.sparse_inserts)?;
        sparse_inserts.try_add(&edge.sparse_inserts, slot)?;
        sparse_inserts.try_add_removed(&self.sparse, &edge.sparse_removes, slot)
    }

    /// Makes reserved entities alive: each gets a row in the table of entities without components.
    #[inline(always)]
    pub(crate) fn flush(&mut self) -> Result<(), AllocError> {
        if self.entities.reserved_count() == 0 { Ok(()) } else { self.flush_reserved() }
    }

    #[cold]
    #[inline(never)]
    fn flush_reserved(&mut self) -> Result<(), AllocError> {
        let count = u32::try_from(self.entities.reserved_count()).map_err(|_| AllocError::CapacityOverflow)?;
        self.reserve_entities(0)?;
        self.reserve_table(0, count)?;
        self.reserve_entries(count as usize)?;
        let table = &mut self.tables[0];
        let first = table.len;
        for entity in self.entities.try_flush()? {
            // SAFETY: capacity for `count` rows is reserved.
            unsafe { table.push(entity, &mut self.table_order) };
        }
        self.set_locations(0, first);
        self.restructured();
        // Dispatched with the events of the operation that flushes.
        for row in first..self.tables[0].len {
            self.record_spawn(self.tables[0].slots()[row as usize]);
        }
        Ok(())
    }
}
