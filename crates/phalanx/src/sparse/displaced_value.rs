//! [`DisplacedValue`]: a value that a change has displaced or removed, until it is dropped or moved out.
#![allow(unsafe_code)]

use super::{SparseStorage, SparseStorages, Store};
use crate::alloc::try_reserve;
use crate::bundle::SparsePtr;
use crate::sort::sort_short_by_key;
use phalanx_store::AllocError;
use phalanx_store::raw::{DropGuard, drop_all};

/// A value without an owner: it is initialised, and no slot has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DisplacedValue {
    pub(crate) storage_id: u32,
    pub(crate) row: u32,
}

impl SparseStorages {
    /// Reserves capacity for the values that despawning `slots` slots displaces.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails.
    pub(crate) fn try_reserve_displaced(&mut self, slots: usize) -> Result<(), AllocError> {
        let count = slots.checked_mul(self.storages.len()).ok_or(AllocError::CapacityOverflow)?;
        try_reserve(&mut self.displaced_values, count)
    }

    /// Returns where the displaced values are, in their order.
    pub(crate) fn displaced_ptrs(&mut self) -> *const SparsePtr {
        let storages = &self.storages;
        self.insert_ptrs.clear();
        // There is capacity: one change displaces one value of each storage at most.
        self.insert_ptrs.extend(self.displaced_values.iter().map(|value| SparsePtr {
            lane: storages[value.storage_id as usize].values().lane(),
            row: value.row as usize,
        }));
        self.insert_ptrs.as_ptr()
    }

    /// Sorts the displaced values of one slot, from `first` on, into canonical order. They are dropped in this order.
    #[inline(always)]
    pub(super) fn sort_displaced(&mut self, first: usize) {
        if self.displaced_values.len() - first > 1 {
            let storages = &self.storages;
            sort_short_by_key(&mut self.displaced_values[first..], |value| storages[value.storage_id as usize].rank);
        }
    }

    /// Calls `each` with the storage and the row of each displaced value, and clears the list.
    pub(crate) fn drain_displaced(&mut self, mut each: impl FnMut(&SparseStorage, u32)) {
        let storages = &self.storages;
        self.displaced_values.drain(..).for_each(|value| each(&storages[value.storage_id as usize], value.row));
    }

    /// Drops the displaced value at a position in the list.
    ///
    /// # Safety
    ///
    /// The value is not used or dropped again.
    pub(crate) unsafe fn drop_displaced_at(&self, at: usize) {
        let DisplacedValue { storage_id, row } = self.displaced_values[at];
        // SAFETY: displaced values are initialised. This one is not used again, by the caller's contract.
        unsafe { self.get(storage_id).values().drop_value(row) };
    }

    /// Drops the displaced values, all of them, even if one panics.
    #[inline(always)]
    pub(crate) fn drop_displaced(&mut self) {
        if !self.displaced_values.is_empty() {
            self.drop_displaced_slow();
        }
    }

    #[inline(never)]
    fn drop_displaced_slow(&mut self) {
        let storages = &self.storages;
        // Most often there is a single value. A guard is only needed if there are others to drop after a panic.
        if let [DisplacedValue { storage_id, row }] = self.displaced_values[..] {
            self.displaced_values.clear();
            // SAFETY: displaced values are initialised and have no owner. This one was just taken from the list.
            unsafe { return storages[storage_id as usize].values().drop_value(row) };
        }
        drop_all(self.displaced_values.drain(..), |DisplacedValue { storage_id, row }| {
            // SAFETY: displaced values are initialised and have no owner. Each is taken from the list, so it is dropped
            // once.
            unsafe { storages[storage_id as usize].values().drop_value(row) };
        });
    }

    /// Returns a guard that drops the displaced values when it goes out of scope, also while a panic unwinds.
    #[inline(always)]
    pub(crate) fn displaced_guard<'a>(
        &'a mut self,
    ) -> DropGuard<&'a mut SparseStorages, impl FnMut(&mut &'a mut SparseStorages)> {
        DropGuard::new(self, |sparse| sparse.drop_displaced())
    }

    /// Removes all values from all slots. The guard that is returned drops them.
    pub(crate) fn clear<'a>(
        &'a mut self,
    ) -> DropGuard<&'a mut SparseStorages, impl FnMut(&mut &'a mut SparseStorages)> {
        assert!(self.displaced_values.is_empty(), "values were displaced and not dropped");
        self.masks.clear();
        self.groups.clear();
        for (storage_id, storage) in (0..).zip(&mut self.storages) {
            storage.removed_counts[1] += u64::from(storage.len());
            storage.values().set_column_tick(&self.clock);
            self.displaced_values.push(DisplacedValue { storage_id, row: storage.release_all() });
        }
        self.sort_displaced(0);
        DropGuard::new(self, |sparse| sparse.drop_released())
    }

    /// Removes all values from one storage, if no group names its component, and drops them. Returns `false` if one
    /// does.
    pub(crate) fn clear_storage(&mut self, storage_id: u32) -> bool {
        let storage = &mut *self.storages[storage_id as usize];
        if !storage.is_ungrouped() {
            return false;
        }
        assert!(self.displaced_values.is_empty(), "values were displaced and not dropped");
        storage.removed_counts[0] += u64::from(storage.len());
        storage.values().set_column_tick(&self.clock);
        if let (Store::Pool(set), Some(bit)) = (&storage.store, storage.bit) {
            set.keys().for_each(|key| self.masks.set(key.index(), bit, false));
        }
        self.displaced_values.push(DisplacedValue { storage_id, row: storage.release_all() });
        self.drop_released();
        true
    }

    /// Drops the values that storages in the list have released, all of them, even if one panics. A row in the list is
    /// the number of values that a sparse set has released.
    fn drop_released(&mut self) {
        let storages = &mut self.storages;
        drop_all(self.displaced_values.drain(..), |released| match &mut storages[released.storage_id as usize].store {
            // SAFETY: the set has released this number of values, and nothing was inserted since; each is dropped once.
            Store::Pool(set) => unsafe { set.drop_released(released.row) },
            Store::Linear(linear) => linear.drop_released(),
        });
    }

    /// Removes all values, which were moved out.
    pub(crate) fn clear_moved_out(&mut self) {
        self.groups.clear();
        self.masks.clear();
        for storage in &mut self.storages {
            storage.values().set_column_tick(&self.clock);
            storage.removed_counts[1] += u64::from(storage.len());
            match &mut storage.store {
                Store::Pool(set) => drop(set.release_all()),
                Store::Linear(linear) => linear.clear_moved_out(),
            }
        }
    }
}
