//! Values of a slot that is made in the same operation: it has none, so none is displaced and nothing is asked for.
#![allow(unsafe_code)]

use super::ends::FAR;
use super::{Side, Sides, Store};
use crate::bundle::SidePlace;
use crate::query::prefetch;
use phalanx_store::{AllocError, Entity};

impl Sides {
    /// Announces to the processor that a slot is going to get values of these sides soon.
    pub(crate) fn announce_fresh(&self, slot: u32, puts: &[u32]) {
        prefetch(self.masks.ptr().wrapping_add((slot as usize).wrapping_mul(self.stride as usize)));
        for &number in puts {
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

    /// As [`try_reserve`](Sides::try_reserve), for a slot that has nothing.
    ///
    /// Nothing has changed if it fails.
    #[inline]
    pub(crate) fn try_reserve_fresh(&mut self, slot: u32, puts: &[u32]) -> Result<(), AllocError> {
        self.places.clear();
        self.try_cover(slot)?;
        let mut enters = false;
        for &number in puts {
            let side = &mut *self.list[number as usize];
            enters |= !side.required_by.is_empty();
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
            // There is room: no more are put than there are sides.
            self.places.push(SidePlace { lane: values.lane(), row: row as usize });
        }
        if enters { self.try_ready_groups(slot, puts, &[]) } else { Ok(()) }
    }

    /// As [`commit`](Sides::commit), for a slot that has nothing: nothing is displaced.
    ///
    /// # Safety
    ///
    /// As there; and the slot has no value of any side.
    #[inline]
    pub(crate) unsafe fn commit_fresh(&mut self, slot: Entity, puts: &[u32]) {
        let (mut enters, mut bits) = (false, 0);
        for &number in puts {
            let side = &mut *self.list[number as usize];
            // SAFETY: the caller's promise.
            unsafe { side.admit(slot) };
            enters |= !side.required_by.is_empty();
            match side.bit {
                Some(bit) if bit < 64 => bits |= 1 << bit,
                Some(bit) => self.mark(slot.index(), bit, true),
                None => {}
            }
        }
        if bits != 0 {
            // SAFETY: the slot was covered when this was reserved, and covered slots have their words.
            unsafe { self.masks.at(slot.index() * self.stride).write(bits) };
        }
        if enters {
            // SAFETY: reserved with the rest of the change.
            unsafe { self.enter_groups(slot, puts, &[]) };
        }
    }
}

impl Side {
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
