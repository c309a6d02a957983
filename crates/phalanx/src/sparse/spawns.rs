//! Sparse values of slots that are spawned in one operation and have the same components.
//!
//! The result is that of a [change](super::change) of one slot after another. Storages are visited one after another instead, so
//! that each loop is over one index, one list of keys, or the masks.
#![allow(unsafe_code)]

use super::{SparseStorages, Store};
use crate::alloc::try_reserve;
use crate::bundle::SparsePtr;
use phalanx_store::{AllocError, Entity};

/// Where the sparse values of slots that are spawned are written: first those of the first slot.
#[derive(Debug, Default)]
pub(crate) struct SpawnedValues {
    slots: Vec<u32>,
    /// The number of slots before the current one.
    before: usize,
    /// The destinations of the values of the current slot, in the order of the storages.
    ptrs: Vec<SparsePtr>,
    /// Whether each of the storages is linear.
    are_linear: Vec<bool>,
}

impl SpawnedValues {
    /// Returns the slots, in the order in which they are spawned.
    pub(crate) fn slots(&self) -> &[u32] {
        &self.slots
    }

    /// Returns where the values of the current slot are written, in the order of the storages.
    #[inline(always)]
    pub(crate) fn ptrs(&self) -> *const SparsePtr {
        self.ptrs.as_ptr()
    }

    /// Makes the next slot the current one, if there is one.
    #[inline]
    pub(crate) fn advance(&mut self) {
        self.before += 1;
        let Some(&slot) = self.slots.get(self.before) else { return };
        for (ptr, is_linear) in self.ptrs.iter_mut().zip(&self.are_linear) {
            ptr.row = if *is_linear { slot as usize } else { ptr.row + 1 };
        }
    }
}

impl SparseStorages {
    /// Reserves capacity for values of these slots, one in each of these storages. Finds where they are written. The slots have no
    /// values. Pages are held until [`release_pages`](SparseStorages::release_pages).
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; no value changes.
    pub(crate) fn try_reserve_spawns(
        &mut self,
        storage_ids: &[u32],
        slots: impl ExactSizeIterator<Item = u32>,
        values: &mut SpawnedValues,
    ) -> Result<(), AllocError> {
        let SpawnedValues { slots: list, before, ptrs, are_linear } = values;
        *before = 0;
        list.clear();
        ptrs.clear();
        are_linear.clear();
        try_reserve(list, slots.len())?;
        try_reserve(ptrs, storage_ids.len())?;
        try_reserve(are_linear, storage_ids.len())?;
        list.extend(slots);
        let (first, highest) = (list.first().copied().unwrap_or(0), list.iter().copied().max());
        highest.map_or(Ok(()), |slot| self.masks.try_cover(slot))?;
        for &storage_id in storage_ids {
            let storage = self.get_mut(storage_id);
            match &mut storage.store {
                Store::Pool(set) => set.dense.try_ready_all(list)?,
                Store::Linear(linear) => highest.map_or(Ok(()), |slot| linear.try_cover(slot))?,
            }
            // Also without a slot: the destinations are found, and not used.
            ptrs.push(storage.insert_ptr(first));
            are_linear.push(matches!(storage.store, Store::Linear(_)));
        }
        if self.groups.is_empty() { Ok(()) } else { self.try_reserve_groups_for_spawns(storage_ids, list) }
    }

    /// Makes the values that were written for these slots theirs, in each of these storages. In a sparse set they were written
    /// beyond the last value, in the order of the slots.
    ///
    /// # Safety
    ///
    /// - Capacity [is reserved](SparseStorages::try_reserve_spawns) for these slots, and the values are written.
    /// - The slots are alive and differ, and have no sparse values.
    /// - No storage is named twice. Since capacity was reserved no value was inserted, and pages are held.
    pub(crate) unsafe fn commit_spawns(&mut self, storage_ids: &[u32], slots: &[Entity]) {
        let indices = || slots.iter().map(|slot| slot.index());
        let mut bits = 0;
        for &storage_id in storage_ids {
            let storage = self.get_mut(storage_id);
            // SAFETY: capacity is reserved, the slots have no value here and the values are written, all by the caller's contract.
            unsafe {
                match &mut storage.store {
                    Store::Pool(set) => set.insert_all(slots),
                    Store::Linear(linear) => linear.insert_all(slots),
                }
            }
            match (storage.first_word_bit, storage.bit) {
                (0, Some(bit)) => self.masks.set_all(bit, indices()),
                (first_word_bit, _) => bits |= first_word_bit,
            }
        }
        if bits != 0 {
            indices().for_each(|slot| self.masks.set_in_first_word(slot, bits));
        }
        if !self.groups.is_empty() {
            slots.iter().for_each(|slot| self.enter_groups(*slot, storage_ids, &[]));
        }
    }
}
