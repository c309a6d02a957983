//! [`SparseInserts`]: the sparse values of an operation on many slots, reserved before the first change.

use super::{SparseStorages, Store};
use crate::alloc::{try_reserve, try_vec};
use phalanx_store::AllocError;

/// The values that an operation inserts, in order: a storage id and a slot for each. Removals are listed where slots
/// may enter groups by them.
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

    /// Returns the number of bytes allocated.
    pub(crate) fn bytes(&self) -> usize {
        (self.list.capacity() + self.sparse_removes.capacity()) * size_of::<(u32, u32)>()
    }

    /// Returns the storage id and the slot of each inserted value.
    pub(super) fn list(&self) -> &[(u32, u32)] {
        &self.list
    }

    /// Adds a value of a slot in each of these storages.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails.
    pub(crate) fn try_add(&mut self, storage_ids: &[u32], slot: u32) -> Result<(), AllocError> {
        try_reserve(&mut self.list, storage_ids.len())?;
        self.list.extend(storage_ids.iter().map(|storage_id| (*storage_id, slot)));
        Ok(())
    }

    /// Adds the removal of a slot's values from these storages, as far as groups exclude them.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails.
    pub(crate) fn try_add_removed(
        &mut self,
        sparse: &SparseStorages,
        storage_ids: &[u32],
        slot: u32,
    ) -> Result<(), AllocError> {
        for &storage_id in storage_ids.iter().filter(|at| !sparse.get(**at).excluded_by.is_empty()) {
            try_reserve(&mut self.sparse_removes, 1)?;
            self.sparse_removes.push((storage_id, slot));
        }
        Ok(())
    }
}

impl SparseStorages {
    /// Reserves capacity for all of these values, whatever other values are removed or displaced in between. Pages are
    /// held until [`release_pages`](SparseStorages::release_pages).
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; no value changes.
    pub(crate) fn try_reserve_all(&mut self, sparse_inserts: &SparseInserts) -> Result<(), AllocError> {
        if !self.groups.is_empty() {
            self.try_reserve_groups_for_all(&sparse_inserts.list, &sparse_inserts.sparse_removes)?;
        }
        if sparse_inserts.list.is_empty() {
            return Ok(());
        }
        let mut counts: Vec<u32> = try_vec(self.storages.len())?;
        counts.resize(self.storages.len(), 0);
        for &(storage_id, slot) in &sparse_inserts.list {
            let count = &mut counts[storage_id as usize];
            *count = count.checked_add(1).ok_or(AllocError::CapacityOverflow)?;
            if self.get(storage_id).bit.is_some() {
                self.masks.try_cover(slot)?;
            }
        }
        for (storage, count) in self.storages.iter_mut().zip(&mut counts) {
            if let (Store::Pool(set), 1..) = (&mut storage.store, *count) {
                set.dense.try_reserve(*count)?;
                set.dense.hold_pages(true);
            }
            *count = 0;
        }
        for &(storage_id, slot) in &sparse_inserts.list {
            let count = &mut counts[storage_id as usize];
            match &mut self.get_mut(storage_id).store {
                Store::Pool(set) => set.dense.try_prepare(slot, *count)?,
                Store::Linear(linear) => linear.try_cover(slot)?,
            }
            *count += 1;
        }
        Ok(())
    }

    /// Frees the empty pages of sparse sets and groups.
    pub(crate) fn release_pages(&mut self) {
        self.groups.release_pages();
        for storage in &mut self.storages {
            if let Store::Pool(set) = &mut storage.store {
                set.dense.hold_pages(false);
            }
        }
    }
}
