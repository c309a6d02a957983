//! Changes of many slots in one operation: all that they need is had before the first of them.
#![allow(unsafe_code)]

use super::{DisplacedValue, SparseStorage, SparseStorages, Store};
use crate::alloc::{try_reserve, try_vec};
use phalanx_store::AllocError;
#[cfg(feature = "snapshot")]
use phalanx_store::Entity;

/// The values that an operation is going to put: the side and the slot of each, in order. Those that it takes are noted where
/// slots may enter groups by it.
#[derive(Debug, Default)]
pub(crate) struct SparseInserts {
    list: Vec<(u32, u32)>,
    sparse_removes: Vec<(u32, u32)>,
}

impl SparseInserts {
    pub(crate) const fn new() -> SparseInserts {
        SparseInserts { list: Vec::new(), sparse_removes: Vec::new() }
    }

    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.sparse_removes.clear();
    }

    /// Bytes held from the allocator.
    pub(crate) fn bytes(&self) -> usize {
        (self.list.capacity() + self.sparse_removes.capacity()) * size_of::<(u32, u32)>()
    }

    pub(super) fn list(&self) -> &[(u32, u32)] {
        &self.list
    }

    /// Notes a value of each of these sides.
    pub(crate) fn try_add(&mut self, sparse: &[u32], slot: u32) -> Result<(), AllocError> {
        try_reserve(&mut self.list, sparse.len())?;
        self.list.extend(sparse.iter().map(|side| (*side, slot)));
        Ok(())
    }

    /// Notes that values of these sides are taken, as far as groups exclude them.
    pub(crate) fn try_add_taken(&mut self, all: &SparseStorages, sparse: &[u32], slot: u32) -> Result<(), AllocError> {
        for &side in sparse.iter().filter(|side| !all.get(**side).excluded_by.is_empty()) {
            try_reserve(&mut self.sparse_removes, 1)?;
            self.sparse_removes.push((side, slot));
        }
        Ok(())
    }
}

impl SparseStorages {
    /// Makes room for all of these values, however many others are taken or displaced in between. Pages stay until
    /// [`release_pages`](SparseStorages::release_pages).
    ///
    /// No value has changed if it fails.
    pub(crate) fn try_reserve_all(&mut self, sparse_inserts: &SparseInserts) -> Result<(), AllocError> {
        if !self.groups.is_empty() {
            self.try_ready_lists(&sparse_inserts.list, &sparse_inserts.sparse_removes)?;
        }
        if sparse_inserts.list.is_empty() {
            return Ok(());
        }
        let mut counts: Vec<u32> = try_vec(self.list.len())?;
        counts.resize(self.list.len(), 0);
        for &(side, slot) in &sparse_inserts.list {
            let count = &mut counts[side as usize];
            *count = count.checked_add(1).ok_or(AllocError::CapacityOverflow)?;
            if self.list[side as usize].bit.is_some() {
                self.try_cover(slot)?;
            }
        }
        for (side, count) in self.list.iter_mut().zip(&mut counts) {
            if let (Store::Pool(pool), 1..) = (&mut side.store, *count) {
                pool.dense.try_reserve(*count)?;
                pool.dense.hold_pages(true);
            }
            *count = 0;
        }
        for &(side, slot) in &sparse_inserts.list {
            match &mut self.list[side as usize].store {
                Store::Pool(pool) => pool.dense.try_prepare(slot, counts[side as usize])?,
                Store::Linear(linear) => linear.try_ready(slot)?,
            }
            counts[side as usize] += 1;
        }
        Ok(())
    }

    /// Gives up the pages of pools and groups in which nothing is left.
    pub(crate) fn release_pages(&mut self) {
        self.groups.release_pages();
        for side in &mut self.list {
            if let Store::Pool(pool) = &mut side.store {
                pool.dense.hold_pages(false);
            }
        }
    }

    /// Finds where the values of one slot are to be written, for which [room was made](SparseStorages::try_reserve_all).
    #[inline]
    pub(crate) fn find_places(&mut self, slot: u32, sparse_inserts: &[u32]) {
        self.places.clear();
        for &side in sparse_inserts {
            // There is room: no more are put than there are sides.
            self.places.push(self.list[side as usize].spare(slot));
        }
    }

    /// The values that were retired, each with the row in which it lies; none is retired any more then.
    pub(crate) fn hand_over_retired(&mut self, mut each: impl FnMut(&SparseStorage, u32)) {
        for &DisplacedValue { side, row } in &self.displaced_values {
            each(&self.list[side as usize], row);
        }
        self.displaced_values.clear();
    }

    /// Counts the values that were written to the first positions of a pool without values as those of these slots, in their
    /// order; `None` is a hole. All slots are below `slots`. Nothing is counted if it fails.
    ///
    /// # Safety
    ///
    /// The values of all slots are written, and the slots are alive. The pool belongs to no group.
    #[cfg(feature = "snapshot")]
    pub(crate) unsafe fn try_fill_pool<E: From<AllocError>>(
        &mut self,
        number: u32,
        slots: u32,
        keys: impl ExactSizeIterator<Item = Result<Option<Entity>, E>>,
        twice: impl FnOnce(Entity) -> E,
    ) -> Result<(), E> {
        if let Some(last) = slots.checked_sub(1) {
            self.try_cover(last)?;
        }
        let (stride, masks) = (self.stride as usize, self.masks.ptr());
        let side = &mut *self.list[number as usize];
        debug_assert!(side.is_alone());
        let (Store::Pool(pool), Some(bit)) = (&mut side.store, side.bit) else {
            unreachable!("keys for a store that has none");
        };
        // SAFETY: the caller's promise.
        unsafe { pool.dense.try_admit_all(keys, twice)? };
        let mut rows = 0;
        let mut mark = |slot: Entity| {
            debug_assert!(slot.index() < slots);
            rows += u32::from(slot.is_row());
            // SAFETY: the slots were covered, and covered slots have their words.
            unsafe { *masks.add(slot.index() as usize * stride + bit as usize / 64) |= 1 << (bit % 64) };
        };
        match pool.dense.keys() {
            Some(keys) => keys.iter().for_each(|slot| mark(*slot)),
            None => (0..pool.dense.positions()).filter_map(|at| pool.dense.key_at(at)).for_each(mark),
        }
        pool.rows = rows;
        Ok(())
    }

    /// Gives up all values, which were moved out.
    pub(crate) fn forget_all(&mut self) {
        self.groups.release_all();
        for at in 0..self.covered * self.stride {
            // SAFETY: covered slots have their words.
            unsafe { self.masks.at(at).write(0) };
        }
        for side in &mut self.list {
            side.values().set_column_tick(&self.clock);
            side.gone[1] += u64::from(side.len());
            match &mut side.store {
                Store::Pool(pool) => drop(pool.release_all()),
                Store::Linear(linear) => linear.forget_all(),
            }
        }
    }
}

impl SparseStorage {
    /// The slots that have a value and the rows in which it lies, in the order of the store.
    pub(crate) fn slots_and_rows(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let (pool, linear) = match &self.store {
            Store::Pool(pool) => (Some(pool), None),
            Store::Linear(linear) => (None, Some(linear)),
        };
        let in_pool = pool
            .into_iter()
            .flat_map(|pool| (0..pool.dense.positions()).filter_map(|at| Some((pool.dense.key_at(at)?.index(), at))));
        in_pool.chain(linear.into_iter().flat_map(|linear| linear.iter().map(|slot| (slot, slot))))
    }
}
