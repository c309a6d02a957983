//! Rewriting the keys of sparse storages in place, where they differ from those of an earlier state.
#![allow(unsafe_code)]

use super::{Removal, SparseStorages, Store, Values};
use core::ops::Range;
use phalanx_store::AllocError;
use phalanx_store::raw::Rows as _;

/// The keys of a storage in an earlier state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyImage<'a> {
    /// The dense keys of a sparse set, or the words of the presence bits of a linear storage.
    pub(crate) bytes: &'a [u8],
    /// The ranges in which the keys differ from those of the storage. All new keys are in them.
    pub(crate) changed: &'a [Range<u32>],
    /// The removal policy of a sparse set.
    pub(crate) removal: Removal,
    /// The number of keys that are extra rows.
    pub(crate) extra_rows: u32,
}

impl KeyImage<'_> {
    /// Returns the words of presence bits.
    fn words(&self) -> &[[u8; 8]] {
        self.bytes.as_chunks().0
    }
}

impl SparseStorages {
    /// Reserves everything that [`rewrite_keys`](SparseStorages::rewrite_keys) needs. All slots are below `slots`.
    ///
    /// Empty pages of the index are not freed until [`release_pages`](SparseStorages::release_store_pages).
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails. No value changes.
    ///
    /// # Safety
    ///
    /// The keys are those of the storage in some state.
    pub(crate) unsafe fn try_reserve_keys(
        &mut self,
        storage_id: u32,
        keys: KeyImage<'_>,
        slots: u32,
    ) -> Result<(), AllocError> {
        if let (Store::Pool(_), Some(last)) = (&self.get(storage_id).store, slots.checked_sub(1)) {
            self.masks.try_cover(last)?;
        }
        match &mut self.get_mut(storage_id).store {
            // SAFETY: the keys are those of the set in some state, by the caller's contract. No row changes.
            Store::Pool(set) => unsafe {
                set.dense.try_reserve_keys(keys.bytes, keys.changed.iter().cloned())?;
                set.dense.rows_mut().try_grow((keys.bytes.len() / 8) as u32)
            },
            Store::Linear(linear) => match keys.words().len() as u32 {
                0 => Ok(()),
                words => linear.try_cover(words * 64 - 1),
            },
        }
    }

    /// Frees the pages of indices that were reserved and are not used.
    pub(crate) fn release_store_pages(&mut self) {
        for storage in &mut self.storages {
            if let Store::Pool(set) = &mut storage.store {
                // SAFETY: no key is linked or unlinked.
                unsafe { set.dense.index_mut() }.hold_pages(false);
            }
        }
    }

    /// Replaces the keys of a storage, and exchanges its values for others if there are any. The masks of slots follow.
    ///
    /// # Safety
    ///
    /// - [`try_reserve_keys`](SparseStorages::try_reserve_keys) succeeded for the same keys, and nothing changed since.
    /// - The keys differ from the present ones in `changed` only.
    /// - `values` are of the component, with capacity for all rows and the spare row, and initialised at all keys. Without
    ///   them the values need no drop, and the caller writes those of new keys before anything else happens. The old values
    ///   are left in `values`, and belong to the caller.
    pub(crate) unsafe fn rewrite_keys(&mut self, storage_id: u32, keys: KeyImage<'_>, values: Option<&mut Values>) {
        let SparseStorages { storages, masks, .. } = self;
        let storage = &mut *storages[storage_id as usize];
        let bit = storage.bit;
        match &mut storage.store {
            // SAFETY: everything was reserved, and the values fit the keys, by the caller's contract.
            Store::Pool(set) => unsafe {
                set.dense.rewrite_keys(keys.bytes, keys.changed.iter().cloned(), |key, present| {
                    if let Some(bit) = bit {
                        masks.set(key.index(), bit, present);
                    }
                });
                if let Some(values) = values {
                    core::mem::swap(set.dense.rows_mut(), values);
                }
                (set.removal, set.extra_rows) = (keys.removal, keys.extra_rows);
            },
            // SAFETY: as for a sparse set.
            Store::Linear(linear) => unsafe {
                linear.rewrite_bits(keys.words(), keys.changed, keys.extra_rows);
                if let Some(values) = values {
                    core::mem::swap(linear.values_mut(), values);
                }
            },
        }
        storage.update_cached();
    }

    /// Records that links and the orders of groups may have changed, for caches that depend on them.
    pub(crate) fn count_rewrite(&mut self) {
        self.link_changes += 1;
        self.groups.list.iter_mut().flatten().for_each(|group| group.changes += 1);
    }
}
