//! Restoring sparse storages from the bytes of their keys and values.
#![allow(unsafe_code)]

use super::{LinearStorage, Removal, SparseSet, SparseStorages, Store, Values};
use phalanx_store::raw::{Dense, DenseIndex, Words};
use phalanx_store::{AllocError, Entity};

/// The state of a sparse set beside its keys and values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SparseSetState {
    pub(crate) removal: Removal,
    pub(crate) extra_rows: u32,
}

impl SparseSet {
    pub(crate) fn state(&self) -> SparseSetState {
        SparseSetState { removal: self.removal, extra_rows: self.extra_rows }
    }
}

impl SparseStorages {
    /// Makes the values that were written to the first positions of a sparse set those of these slots, in their order.
    /// `None` is a hole. All slots are below `slots`, and none is an extra row unless `has_extra_rows` says so.
    ///
    /// # Errors
    ///
    /// Returns the first error of the iterator, `twice(key)` for a slot that comes twice, or an [`AllocError`] if
    /// allocation fails. The set has no values then.
    ///
    /// # Panics
    ///
    /// Panics if the set has values, or a slot is not below `slots`.
    ///
    /// # Safety
    ///
    /// The values of all slots are written, and the slots are alive.
    #[cfg(feature = "snapshot")]
    pub(crate) unsafe fn try_fill_sparse_set<N, E: From<AllocError> + From<N>>(
        &mut self,
        storage_id: u32,
        slots: u32,
        has_extra_rows: bool,
        keys: impl ExactSizeIterator<Item = Result<Option<Entity>, N>>,
        twice: impl FnOnce(Entity) -> E,
    ) -> Result<(), E> {
        if let Some(last) = slots.checked_sub(1) {
            self.masks.try_cover(last)?;
        }
        debug_assert!(self.get(storage_id).is_ungrouped());
        let set = self.sparse_set_mut(storage_id);
        // SAFETY: the values of all keys are written, by the caller's contract.
        unsafe { set.dense.try_admit_all(keys, twice)? };
        set.extra_rows = match has_extra_rows {
            true => set.keys().map(|key| u32::from(key.is_row())).sum(),
            false => 0,
        };
        self.set_presence_bits(storage_id);
        Ok(())
    }

    /// Replaces an empty sparse set by one with these keys, of slots below `slots`. `values` is called when nothing can fail
    /// any more; `empty` has no rows.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; nothing changes.
    ///
    /// # Safety
    ///
    /// - The storage is a sparse set without values.
    /// - `keys` are the bytes of the dense keys of a sparse set in this state.
    /// - The values are of the component, with capacity for all positions, and initialised at all that are not holes.
    pub(crate) unsafe fn try_restore_sparse_set(
        &mut self,
        storage_id: u32,
        keys: &[u8],
        slots: u32,
        state: &SparseSetState,
        empty: Values,
        values: impl FnOnce() -> Values,
    ) -> Result<(), AllocError> {
        let len = (keys.len() / size_of::<Entity>()) as u32;
        // SAFETY: the bytes are those of `len` dense keys, and the values are initialised at their positions, by the
        // caller's contract. They replace the empty ones before any row is used.
        let dense = unsafe {
            let mut dense: Dense<_, Values> = Dense::try_rebuild(empty, keys.as_ptr(), len, slots)?;
            *dense.rows_mut() = values();
            dense
        };
        let storage = self.get_mut(storage_id);
        *storage.sparse_set_mut() = SparseSet { dense, removal: state.removal, extra_rows: state.extra_rows };
        storage.update_cached();
        Ok(())
    }

    /// Replaces an empty linear storage by one with these presence bits and values, `extra_rows` of them of extra rows.
    ///
    /// # Safety
    ///
    /// - The storage is a linear storage without values.
    /// - The values are of the component, initialised at all slots that have a bit, and have capacity for the spare row.
    pub(crate) unsafe fn restore_linear(&mut self, storage_id: u32, bits: Words, extra_rows: u32, values: Values) {
        let storage = self.get_mut(storage_id);
        let Store::Linear(linear) = &mut storage.store else { unreachable!("a linear storage is restored") };
        // SAFETY: the values at slots with a bit are initialised, by the caller's contract.
        *linear = unsafe { LinearStorage::from_parts(values, bits, extra_rows) };
        storage.update_cached();
    }

    /// Restores the masks of all slots from the keys of sparse sets. All keys are below `slots`.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails.
    ///
    /// # Panics
    ///
    /// Panics if a key is not below `slots`.
    pub(crate) fn try_restore_masks(&mut self, slots: u32) -> Result<(), AllocError> {
        if slots == 0 || self.by_bit.is_empty() {
            return Ok(());
        }
        self.masks.try_cover(slots - 1)?;
        for at in 0..self.by_bit.len() {
            self.set_presence_bits(self.by_bit[at]);
        }
        Ok(())
    }

    /// Sets the presence bits of all slots in a sparse set. They are covered.
    fn set_presence_bits(&mut self, storage_id: u32) {
        let SparseStorages { storages, masks, .. } = self;
        let storage = &storages[storage_id as usize];
        if let (Store::Pool(set), Some(bit)) = (&storage.store, storage.bit) {
            masks.set_all(bit, set.keys().map(|key| key.index()));
        }
    }
}

const _: () = {
    const fn dense_key_size<X: DenseIndex>() -> usize {
        size_of::<X::DenseKey>()
    }
    assert!(dense_key_size::<phalanx_store::index::Sparse<Entity>>() == size_of::<Entity>());
};
