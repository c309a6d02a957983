//! Values for slots that are made in the same operation: clones, or values that come from another world.
//!
//! # What must stay true
//!
//! The slots have nothing, and get each side once. So the places of all values are known as soon as there is room: in a pool
//! one after another beyond the last, in a linear store at the slots. They are written there first, all of them, and then
//! counted in the same order.
#![allow(unsafe_code)]

use super::{SparseInserts, SparseStorages, Store, clone_value};
use crate::alloc::{try_reserve, try_vec};
use crate::component::{Cloning, Components};
use crate::error::StructuralError;
use phalanx_store::{AllocError, Entity};

/// The values that are going to arrive.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    sparse_inserts: SparseInserts,
    /// For each of them: the side and the row that it comes from.
    from: Vec<(u32, u32)>,
    /// For each of them: the row that it comes to lie in.
    rows: Vec<u32>,
}

impl Arrivals {
    pub(crate) fn is_empty(&self) -> bool {
        self.from.is_empty()
    }

    /// Notes a value for a slot.
    pub(crate) fn try_add(&mut self, side: u32, slot: u32, from: (u32, u32)) -> Result<(), AllocError> {
        try_reserve(&mut self.from, 1)?;
        self.sparse_inserts.try_add(&[side], slot)?;
        self.from.push(from);
        Ok(())
    }

    /// Notes clones of all values that a slot has, for another slot of the same sides.
    pub(crate) fn try_add_clones(
        &mut self,
        sparse: &SparseStorages,
        components: &Components,
        old: u32,
        new: u32,
    ) -> Result<(), StructuralError> {
        for (number, side) in sparse.numbered_in_order() {
            let Some(row) = side.row(old) else { continue };
            let info = components.info(side.id);
            if !info.is_clone() {
                return Err(StructuralError::NotClone { component: info.name() });
            }
            self.try_add(number, new, (number, row))?;
        }
        Ok(())
    }

    /// Makes room for all of them, and finds their rows.
    pub(crate) fn try_reserve(&mut self, sparse: &mut SparseStorages) -> Result<(), AllocError> {
        if self.is_empty() {
            return Ok(());
        }
        let reserved = try_vec(self.from.len()).and_then(|rows| {
            self.rows = rows;
            let mut next = try_vec(sparse.list.len())?;
            sparse.try_reserve_all(&self.sparse_inserts)?;
            next.extend(sparse.iter().map(|side| match &side.store {
                Store::Pool(pool) => pool.dense.positions(),
                Store::Linear(_) => 0,
            }));
            for &(side, slot) in self.sparse_inserts.list() {
                self.rows.push(match &sparse.get(side).store {
                    Store::Pool(_) => next[side as usize],
                    Store::Linear(_) => slot,
                });
                next[side as usize] += 1;
            }
            Ok(())
        });
        if reserved.is_err() {
            sparse.release_pages();
        }
        reserved
    }

    /// Writes clones of the values. If one panics, those that were made end.
    ///
    /// # Safety
    ///
    /// Room was made, the values are still where they were, and they can be cloned.
    pub(crate) unsafe fn clone_in(&self, sparse: &mut SparseStorages, components: &Components) {
        struct Made<'a>(&'a Arrivals, &'a mut SparseStorages, usize);
        impl Drop for Made<'_> {
            fn drop(&mut self) {
                for (&(side, _), &row) in self.0.sparse_inserts.list().iter().zip(&self.0.rows).take(self.2) {
                    // SAFETY: the clone was written, and nobody counts it.
                    unsafe { self.1.get(side).values().end(row) };
                }
                self.1.release_pages();
            }
        }
        let mut made = Made(self, sparse, 0);
        for (&(number, _), (&to, &(_, from))) in self.sparse_inserts.list().iter().zip(self.rows.iter().zip(&self.from))
        {
            let side = made.1.get(number);
            let cloning = components.info(side.id).clone.unwrap_or(Cloning::Bytes);
            // SAFETY: the caller's promise.
            unsafe { clone_value(side.values(), from, side.values(), to, cloning) };
            made.2 += 1;
        }
        core::mem::forget(made);
    }

    /// Moves the values in from the sides of another world, where they count as moved out.
    ///
    /// # Safety
    ///
    /// Room was made, and the values are still where they were.
    pub(crate) unsafe fn move_in(&self, from: &SparseStorages, to: &SparseStorages) {
        for (&(side, _), (&row, &(old_side, old_row))) in
            self.sparse_inserts.list().iter().zip(self.rows.iter().zip(&self.from))
        {
            // SAFETY: the caller's promise; the component is the same, so one value's bytes are copied.
            unsafe { clone_value(from.get(old_side).values(), old_row, to.get(side).values(), row, Cloning::Bytes) };
        }
    }

    /// Counts the values, which are written. `slot` tells who is at an index.
    ///
    /// # Safety
    ///
    /// They are written, and nothing has changed in the sides since room was made.
    pub(crate) unsafe fn commit(&self, sparse: &mut SparseStorages, slot: impl Fn(u32) -> Option<Entity>) {
        if self.is_empty() {
            return;
        }
        for &(side, index) in self.sparse_inserts.list() {
            let slot = slot(index).expect("a slot for which values arrive was made before");
            // SAFETY: the caller's promise: the value lies in the next row of its side. The slot had none.
            unsafe { sparse.commit(slot, &[side], &[]) };
            let values = sparse.get(side);
            if let Some(row) = values.row(index) {
                // SAFETY: the value is there.
                unsafe { values.values().mark_new(row, &sparse.clock) };
            }
        }
        sparse.release_pages();
    }

    /// The side and the slot of each.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.sparse_inserts.list().iter().copied()
    }
}
