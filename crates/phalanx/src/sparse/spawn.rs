//! Values of a slot that is made in the same operation: it has none, so none is displaced and nothing is asked for.
#![allow(unsafe_code)]

use super::despawn::FAR;
use super::{SparseStorage, SparseStorages, Store};
use crate::bundle::SparsePtr;
use crate::prefetch::prefetch;
use phalanx_store::{AllocError, Entity};

impl SparseStorages {
    /// Announces to the processor that a slot is going to get values of these sides soon.
    pub(crate) fn announce_fresh(&self, slot: u32, sparse_inserts: &[u32]) {
        prefetch(self.masks.ptr().wrapping_add((slot as usize).wrapping_mul(self.stride as usize)));
        for &number in sparse_inserts {
            if let Store::Pool(pool) = &self.list[number as usize].store {
                prefetch(pool.dense.index().address(slot));
            }
        }
    }

    /// Whether there are so many slots that it is worth while to announce what is going to be touched.
    #[inline(always)]
    pub(crate) fn is_far(&self) -> bool {
        self.covered >= FAR
    }

    /// As [`try_reserve`](SparseStorages::try_reserve), for a slot that has nothing.
    ///
    /// Nothing has changed if it fails.
    ///
    /// # Safety
    ///
    /// No side is named twice.
    #[inline]
    pub(crate) unsafe fn try_reserve_spawn(&mut self, slot: u32, sparse_inserts: &[u32]) -> Result<(), AllocError> {
        self.try_cover(slot)?;
        self.places.clear();
        // No more are put than there are sides.
        debug_assert!(sparse_inserts.len() <= self.places.capacity());
        for (&number, at) in sparse_inserts.iter().zip(0..) {
            let side = &mut *self.list[number as usize];
            let (values, row) = match &mut side.store {
                Store::Pool(pool) => {
                    pool.try_ready(slot)?;
                    (pool.values(), pool.dense.positions())
                }
                Store::Linear(linear) => {
                    linear.try_ready(slot)?;
                    (linear.values(), slot)
                }
            };
            // SAFETY: there is room for as many places as there are sides, and no side comes twice, by the caller's promise.
            unsafe { self.places.as_mut_ptr().add(at).write(SparsePtr { lane: values.lane(), row: row as usize }) };
        }
        // SAFETY: so many were written just now.
        unsafe { self.places.set_len(sparse_inserts.len()) };
        if self.groups.is_empty() { Ok(()) } else { self.try_ready_groups(slot, sparse_inserts, &[]) }
    }

    /// As [`commit`](SparseStorages::commit), for a slot that has nothing: nothing is displaced.
    ///
    /// # Safety
    ///
    /// As there; and the slot has no value of any side.
    #[inline]
    pub(crate) unsafe fn commit_spawn_values(&mut self, slot: Entity, sparse_inserts: &[u32]) {
        let (mut bits, mut far) = (0, false);
        for &number in sparse_inserts {
            let side = &mut *self.list[number as usize];
            bits |= side.flag;
            far |= side.flag == 0;
            // SAFETY: the caller's promise.
            unsafe { side.admit(slot) };
        }
        if bits != 0 {
            // SAFETY: the slot was covered when values of pools were reserved, and covered slots have their words; it had no
            // value before.
            unsafe { self.masks.at(slot.index() * self.stride).write(bits) };
        }
        if far && self.stride > 1 {
            for &number in sparse_inserts {
                if let Some(bit) = self.get(number).bit.filter(|bit| *bit >= 64) {
                    // SAFETY: the slot was covered when the values were reserved, and the bit is that of a pool.
                    unsafe { self.mark(slot.index(), bit, true) };
                }
            }
        }
        if !self.groups.is_empty() {
            // SAFETY: reserved with the rest of the change.
            unsafe { self.enter_groups(slot, sparse_inserts, &[]) };
        }
    }
}

impl SparseStorage {
    /// Counts the value that was written for a slot that has none.
    ///
    /// # Safety
    ///
    /// It was, and the slot was made ready for it.
    #[inline(always)]
    unsafe fn admit(&mut self, slot: Entity) {
        match &mut self.store {
            // SAFETY: the caller's promise.
            Store::Pool(pool) => unsafe { pool.admit(slot) },
            // SAFETY: the caller's promise.
            Store::Linear(linear) => unsafe { linear.admit(slot) },
        }
    }
}
