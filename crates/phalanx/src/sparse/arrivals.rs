//! [`Arrivals`]: sparse values for slots that are spawned in the same operation: clones, or values from another world.
//!
//! # Invariants
//!
//! The slots have no sparse values, and get each component once. So the rows of all values are known when capacity is
//! reserved: in a sparse set one after another beyond the last, in a linear storage at the slots. All values are
//! written there first, and then committed in the same order.
#![allow(unsafe_code)]

use super::clone::clone_value;
use super::{SparseInserts, SparseStorages, Store};
use crate::alloc::{try_reserve, try_vec};
use crate::component::{Cloning, Components};
use crate::error::StructuralError;
use phalanx_store::raw::DropGuard;
use phalanx_store::{AllocError, Entity};

/// The values that an operation adds to new slots.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    sparse_inserts: SparseInserts,
    /// For each value: the storage id and the row that it comes from.
    from: Vec<(u32, u32)>,
    /// For each value: the row that it is written to.
    rows: Vec<u32>,
}

impl Arrivals {
    pub(crate) fn is_empty(&self) -> bool {
        self.from.is_empty()
    }

    /// Adds a value for a slot. `from` is the storage id and the row that it comes from.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails.
    pub(crate) fn try_add(&mut self, storage_id: u32, slot: u32, from: (u32, u32)) -> Result<(), AllocError> {
        try_reserve(&mut self.from, 1)?;
        self.sparse_inserts.try_add(&[storage_id], slot)?;
        self.from.push(from);
        Ok(())
    }

    /// Adds clones of all values of a slot, for another slot of the same world. The name is one of them if the clone keeps it.
    ///
    /// # Errors
    ///
    /// Returns [`StructuralError::NotClone`] if a component cannot be cloned, or [`StructuralError::Alloc`] if allocation
    /// fails.
    pub(crate) fn try_add_clones(
        &mut self,
        sparse: &SparseStorages,
        components: &Components,
        (old, new): (u32, u32),
        keeps_name: bool,
    ) -> Result<(), StructuralError> {
        let is_left_out = |storage_id: u32| !keeps_name && sparse.names() == Some(storage_id);
        let values = sparse.ids_in_order().filter(|(_, storage)| storage.relation.is_none());
        for (storage_id, storage) in values.filter(|(storage_id, _)| !is_left_out(*storage_id)) {
            let Some(row) = storage.row(old) else { continue };
            let info = components.info(storage.id);
            if !info.is_clone() {
                return Err(StructuralError::NotClone { component: info.name() });
            }
            self.try_add(storage_id, new, (storage_id, row))?;
        }
        Ok(())
    }

    /// Reserves capacity for all values, and finds their rows.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; no value changes.
    pub(crate) fn try_reserve(&mut self, sparse: &mut SparseStorages) -> Result<(), AllocError> {
        if self.is_empty() {
            return Ok(());
        }
        let reserved = try_vec(self.from.len()).and_then(|rows| {
            self.rows = rows;
            let mut next = try_vec(sparse.storages.len())?;
            sparse.try_reserve_all(&self.sparse_inserts)?;
            next.extend(sparse.iter().map(|storage| match &storage.store {
                Store::Pool(set) => set.dense.positions(),
                Store::Linear(_) => 0,
            }));
            for &(storage_id, slot) in self.sparse_inserts.list() {
                self.rows.push(match &sparse.get(storage_id).store {
                    Store::Pool(_) => next[storage_id as usize],
                    Store::Linear(_) => slot,
                });
                next[storage_id as usize] += 1;
            }
            Ok(())
        });
        if reserved.is_err() {
            sparse.release_pages();
        }
        reserved
    }

    /// Writes clones of the values. If a clone panics, those that were made are dropped.
    ///
    /// # Safety
    ///
    /// Capacity is reserved, and no value has changed since. The components can be cloned.
    pub(crate) unsafe fn clone_in(&self, sparse: &mut SparseStorages, components: &Components) {
        let mut made = DropGuard::new((sparse, 0), |(sparse, made)| {
            for ((storage_id, _), &row) in self.iter().zip(&self.rows).take(*made) {
                // SAFETY: the clone was written, and has no owner yet.
                unsafe { sparse.get(storage_id).values().drop_value(row) };
            }
            sparse.release_pages();
        });
        for ((storage_id, _), (&to, &(_, from))) in self.iter().zip(self.rows.iter().zip(&self.from)) {
            let storage = made.state.0.get(storage_id);
            let cloning = components.info(storage.id).clone.unwrap_or(Cloning::Bytes);
            // SAFETY: the value is in its row, and capacity for the clone is reserved, by the caller's contract.
            unsafe { clone_value(storage.values(), from, storage.values(), to, cloning) };
            made.state.1 += 1;
        }
        made.dismiss();
    }

    /// Moves the values from the storages of another world, where they count as moved out.
    ///
    /// # Safety
    ///
    /// Capacity is reserved, and no value has changed since.
    pub(crate) unsafe fn move_in(&self, from: &SparseStorages, to: &SparseStorages) {
        for ((storage_id, _), (&row, &(old_id, old_row))) in self.iter().zip(self.rows.iter().zip(&self.from)) {
            let (old, new) = (from.get(old_id).values(), to.get(storage_id).values());
            // SAFETY: the value is in its row, and capacity is reserved, by the caller's contract. The component is the
            // same, and the original counts as moved out.
            unsafe { clone_value(old, old_row, new, row, Cloning::Bytes) };
        }
    }

    /// Commits the values. `slot` returns the slot of an index.
    ///
    /// # Safety
    ///
    /// The values are written, and the storages have not changed since capacity was reserved.
    pub(crate) unsafe fn commit(&self, sparse: &mut SparseStorages, slot: impl Fn(u32) -> Option<Entity>) {
        if self.is_empty() {
            return;
        }
        for ((storage_id, index), &row) in self.iter().zip(&self.rows) {
            let slot = slot(index).expect("a slot for which values arrive is spawned before");
            // SAFETY: capacity is reserved, and the value is written in the next row of its storage, by the caller's
            // contract. The slot has no value of this component, so nothing is displaced.
            unsafe {
                sparse.get(storage_id).values().set_added_ticks(row, &sparse.clock);
                sparse.commit::<false>(slot, &[storage_id], &[]);
            }
        }
        sparse.release_pages();
    }

    /// Returns the storage id and the slot of each value.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.sparse_inserts.list().iter().copied()
    }
}
