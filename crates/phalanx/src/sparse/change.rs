//! Changes of the sparse values of one slot: reserve, commit, and removal of all values.
//!
//! `FRESH` is `true` for a slot that has no sparse values: one that is spawned. `KEEP` is `false` for a despawn without
//! listeners, where values that need no drop are not kept.
#![allow(unsafe_code)]

use super::sparse_storage::Discards;
use super::{DisplacedValue, SparseStorages, Store};
use crate::alloc::try_reserve;
use crate::bundle::SparsePtr;
use phalanx_store::raw::prefetch;
use phalanx_store::{AllocError, Entity};

/// From this number of slots on, masks and indices are not expected to be in a near cache.
const PREFETCH_SLOTS: u32 = 1 << 16;

impl SparseStorages {
    /// Reserves capacity for a change of one slot, and finds [where](SparseStorages::insert_ptrs) new values are
    /// written.
    ///
    /// The change inserts values into some storages and removes values from others. `FRESH` says that the slot has no
    /// values.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; no value changes.
    #[inline]
    pub(crate) fn try_reserve<const FRESH: bool>(
        &mut self,
        slot: u32,
        sparse_inserts: &[u32],
        sparse_removes: &[u32],
    ) -> Result<(), AllocError> {
        self.insert_ptrs.clear();
        if !FRESH {
            try_reserve(&mut self.displaced_values, sparse_inserts.len() + sparse_removes.len())?;
            try_reserve(&mut self.insert_ptrs, sparse_inserts.len())?;
        }
        if FRESH || !sparse_inserts.is_empty() {
            self.masks.try_cover(slot)?;
        }
        let mut count = 0;
        // There is capacity for one value of each storage.
        debug_assert!(sparse_inserts.len() <= self.insert_ptrs.capacity());
        for (&storage_id, ptr) in sparse_inserts.iter().zip(self.insert_ptrs.spare_capacity_mut()) {
            ptr.write(self.storages[storage_id as usize].try_reserve::<FRESH>(slot)?);
            count += 1;
        }
        // SAFETY: the loop has written `count` pointers, within the capacity.
        unsafe { self.insert_ptrs.set_len(count) };
        if self.groups.is_empty() { Ok(()) } else { self.try_reserve_groups(slot, sparse_inserts, sparse_removes) }
    }

    /// Finds where new values of a slot are written, for which capacity [is reserved](SparseStorages::try_reserve_all).
    #[inline]
    pub(crate) fn find_insert_ptrs(&mut self, slot: u32, sparse_inserts: &[u32]) {
        self.insert_ptrs.clear();
        let storages = &self.storages;
        // There is capacity for one value of each storage.
        self.insert_ptrs.extend(sparse_inserts.iter().map(|at| storages[*at as usize].insert_ptr(slot)));
    }

    /// Returns where the new values of the reserved change are to be written, in the order of its storages.
    #[inline(always)]
    pub(crate) fn insert_ptrs(&self) -> *const SparsePtr {
        self.insert_ptrs.as_ptr()
    }

    /// Commits a change of one slot: removes its values from `sparse_removes`, where it has some, and makes the values
    /// that were written for `sparse_inserts` its own.
    ///
    /// The values that are displaced or removed are listed in `displaced_values`.
    ///
    /// # Safety
    ///
    /// - The change was [reserved](SparseStorages::try_reserve), and the values are written.
    /// - No storage is named twice.
    /// - Displaced values are dropped or moved out before the next change.
    /// - With `FRESH`, the slot has no sparse values.
    #[inline]
    pub(crate) unsafe fn commit<const FRESH: bool>(
        &mut self,
        slot: Entity,
        sparse_inserts: &[u32],
        sparse_removes: &[u32],
    ) {
        for &storage_id in sparse_removes {
            self.remove(slot, storage_id, false);
        }
        let mut bits = 0;
        for &storage_id in sparse_inserts {
            if !FRESH && !self.storages[storage_id as usize].excluded_by.is_empty() {
                self.leave_excluding(slot, storage_id);
            }
            let storage = &mut *self.storages[storage_id as usize];
            bits |= storage.first_word_bit;
            // SAFETY: capacity is reserved and the value is written, by the caller's contract, as is `FRESH`.
            if let Some(row) = unsafe { storage.insert::<FRESH>(slot) } {
                self.displaced_values.push(DisplacedValue { storage_id, row });
            }
        }
        if bits != 0 {
            self.masks.set_in_first_word(slot.index(), bits);
        }
        if self.masks.stride() > 1 {
            self.set_other_bits(slot.index(), sparse_inserts);
        }
        if !self.groups.is_empty() {
            self.enter_groups(slot, sparse_inserts, sparse_removes);
        }
    }

    /// Sets the presence bits of a slot that are not in the first word of its mask.
    #[inline(never)]
    fn set_other_bits(&mut self, slot: u32, sparse_inserts: &[u32]) {
        for &storage_id in sparse_inserts {
            if let Some(bit @ 64..) = self.get(storage_id).bit {
                self.masks.set(slot, bit, true);
            }
        }
    }

    /// Removes the value of a slot from a storage and lists it as displaced. `despawns` says that the slot is
    /// despawned.
    ///
    /// The slot leaves the groups that require the component first, while it has all values. So the removed value is
    /// beyond the positions in use, and groups exchange only positions in use.
    #[inline]
    fn remove(&mut self, slot: Entity, storage_id: u32, despawns: bool) {
        if !self.storages[storage_id as usize].required_by.is_empty() {
            self.leave_requiring(slot, storage_id);
        }
        let storage = &mut *self.storages[storage_id as usize];
        let removed = match &mut storage.store {
            Store::Pool(set) => set.remove(slot),
            Store::Linear(linear) => linear.remove(slot),
        };
        let Some(row) = removed else { return };
        if storage.is_column_tracked {
            storage.values().set_column_tick(&self.clock);
        }
        // In a cache line that was just written: cheaper than a test whether values are counted.
        storage.removed_counts[usize::from(despawns)] += 1;
        if let Some(bit) = storage.bit {
            self.masks.set(slot.index(), bit, false);
        }
        self.displaced_values.push(DisplacedValue { storage_id, row });
    }

    /// Removes all values of a slot that is despawned, and lists them as displaced.
    ///
    /// There is capacity in the list for one slot. Without `KEEP`, values that need no drop may be missing in it.
    #[inline]
    pub(crate) fn remove_all<const KEEP: bool>(&mut self, slot: Entity) {
        let first = self.displaced_values.len();
        if !self.linear.is_empty() {
            self.remove_linear::<KEEP>(slot);
        }
        if slot.index() < self.masks.slots() {
            self.remove_from_sets::<KEEP>(slot);
        }
        self.sort_displaced(first);
    }

    /// Removes the values of a covered slot that is despawned from sparse sets.
    #[inline(never)]
    fn remove_from_sets<const KEEP: bool>(&mut self, slot: Entity) {
        for word in 0..self.masks.stride() {
            // SAFETY: the slot is covered, and the word is less than the stride.
            let mut bits = core::mem::take(unsafe { self.masks.word_unchecked_mut(slot.index(), word) });
            if bits == 0 {
                continue;
            }
            if word == 0 {
                if bits != self.last_despawned {
                    self.last_despawned = bits;
                }
                // The mask of the slot comes from memory, and is often that of the last despawn. Read from there, the bits need
                // not wait for it: only the comparison above does, and it is predicted.
                bits = *core::hint::black_box(&self.last_despawned);
            }
            while bits != 0 {
                let storage_id = self.by_bit[(word * 64 + bits.trailing_zeros()) as usize];
                bits &= bits - 1;
                if KEEP || !self.storages[storage_id as usize].discard_in_set(slot) {
                    self.remove_from_set::<KEEP>(slot, storage_id);
                }
            }
        }
    }

    /// Removes a value of a slot that is despawned from a sparse set. Not inlined: sets without groups are more frequent.
    #[inline(never)]
    fn remove_from_set<const KEEP: bool>(&mut self, slot: Entity, storage_id: u32) {
        if !KEEP && self.get(storage_id).discards == Discards::AfterLeaving {
            self.leave_requiring(slot, storage_id);
            // SAFETY: the values can be discarded, and the slot has just left the groups.
            if unsafe { self.get_mut(storage_id).discard_after_leaving(slot) } {
                return;
            }
        }
        self.remove(slot, storage_id, true);
    }

    /// Removes the values of a slot that is despawned from linear storages.
    #[inline(never)]
    fn remove_linear<const KEEP: bool>(&mut self, slot: Entity) {
        for at in 0..self.linear.len() {
            let storage_id = self.linear[at];
            if KEEP || !self.storages[storage_id as usize].discard_in_linear(slot) {
                self.remove(slot, storage_id, true);
            }
        }
    }

    /// Returns `true` if a prefetch is worth its instructions: if there are many slots.
    #[inline(always)]
    pub(crate) fn should_prefetch(&self) -> bool {
        self.masks.slots() >= PREFETCH_SLOTS
    }

    /// Prefetches what a change writes that spawns a slot with values in these storages.
    pub(crate) fn prefetch_spawn(&self, slot: u32, sparse_inserts: &[u32]) {
        prefetch(self.masks.address(slot));
        for &storage_id in sparse_inserts {
            if let Store::Pool(set) = &self.get(storage_id).store {
                prefetch(set.dense.index().address(slot));
            }
        }
    }

    /// Prefetches what [`remove_all`](SparseStorages::remove_all) reads.
    ///
    /// The mask says which sparse sets that are. It is guessed here, to wait for the mask and the indices at once.
    #[inline(always)]
    pub(crate) fn prefetch_despawn(&self, slot: u32) {
        if self.should_prefetch() {
            self.prefetch_despawn_slow(slot);
        }
    }

    #[inline]
    fn prefetch_despawn_slow(&self, slot: u32) {
        prefetch(self.masks.address(slot));
        let mut bits = self.last_despawned;
        while bits != 0 {
            let set = self.sparse_set(self.by_bit[bits.trailing_zeros() as usize]);
            prefetch(set.dense.index().address(slot));
            // The last key takes the position of the removed one.
            if let Some(last) = set.dense.keys().and_then(<[Entity]>::last) {
                prefetch(set.dense.index().address(last.index()));
            }
            bits &= bits - 1;
        }
    }
}
