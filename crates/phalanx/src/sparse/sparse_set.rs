//! A component in a sparse set of its own.
#![allow(unsafe_code)]

use super::Values;
use crate::component::ComponentInfo;
use phalanx_store::index::{KeySlot, Sparse};
use phalanx_store::raw::{Dense, Rows};
use phalanx_store::{AllocError, Entity};

/// What becomes of the place of a value that is removed from a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Removal {
    /// The last value takes it: at once, in constant time, and the order of the others changes.
    #[default]
    Swap,
    /// All later values move down by one: the order stays, and the time grows with their number.
    Ordered,
    /// It stays empty until the pool is compacted: the order stays, and iteration skips the hole.
    Deferred,
}

/// The values of a component side by side, found by slot.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) dense: Dense<Sparse<Entity>, Values>,
    pub(crate) removal: Removal,
    /// How many of its slots are extra rows.
    pub(crate) rows: u32,
}

impl Pool {
    pub(crate) fn try_new(info: &ComponentInfo) -> Result<Pool, AllocError> {
        let dense = Dense::new(Sparse::new(), Values::try_new(info)?);
        Ok(Pool { dense, removal: Removal::Swap, rows: 0 })
    }

    #[inline(always)]
    pub(crate) fn values(&self) -> &Values {
        self.dense.rows()
    }

    /// The position of a slot's value.
    #[inline(always)]
    pub(crate) fn position(&self, slot: u32) -> Option<u32> {
        self.dense.index().position_at(slot)
    }

    /// Makes room for the value of a slot, beyond the last, whether it has one or not.
    #[inline(always)]
    pub(crate) fn try_ready(&mut self, slot: u32) -> Result<(), AllocError> {
        self.dense.try_ready(slot)
    }

    /// Counts the value that was written beyond the last as the slot's. A value that it had lies there instead then,
    /// nobody's: its position is returned.
    ///
    /// # Safety
    ///
    /// The slot was [made ready](Pool::try_ready), and the value is written.
    #[inline(always)]
    pub(crate) unsafe fn put(&mut self, slot: Entity) -> Option<u32> {
        // SAFETY: the caller's promise; the two rows differ.
        unsafe {
            match self.position(slot.index()) {
                None => {
                    self.dense.admit(slot);
                    if slot.is_row() {
                        self.rows += 1;
                    }
                    None
                }
                Some(position) => {
                    let tail = self.dense.positions();
                    self.dense.rows_mut().swap(position, tail);
                    self.dense.rows().keep_added(position, tail);
                    Some(tail)
                }
            }
        }
    }

    /// Counts the value that was written beyond the last as that of a slot that has none.
    ///
    /// # Safety
    ///
    /// As for [`put`](Pool::put); and the slot has no value here.
    #[inline(always)]
    pub(crate) unsafe fn admit(&mut self, slot: Entity) {
        debug_assert!(self.position(slot.index()).is_none());
        // SAFETY: the caller's promise.
        unsafe { self.dense.admit(slot) };
        if slot.is_row() {
            self.rows += 1;
        }
    }

    /// As [`admit`](Pool::admit), of a slot whose seat is free.
    ///
    /// # Safety
    ///
    /// The [key slot](Dense::key_slot) of the slot is free, and the value is written.
    #[inline(always)]
    pub(super) unsafe fn sit(&mut self, slot: Entity) {
        // SAFETY: the caller's promise.
        unsafe { self.dense.insert_vacant(slot) };
        if slot.is_row() {
            self.rows += 1;
        }
    }

    /// Takes the value of a slot, over which the last one is copied: the short way, which not every slot has. Whether it did.
    ///
    /// # Safety
    ///
    /// The slot has a value, which counts as moved out or needs no end. Removal is by swapping.
    #[inline(always)]
    pub(crate) unsafe fn forget(&mut self, slot: Entity) -> bool {
        debug_assert!(self.removal == Removal::Swap);
        let KeySlot::Occupied(position) = self.dense.key_slot(slot) else { return false };
        // SAFETY: the seat is taken, and by the caller's promise the row is as good as moved out; where gaps are closed by
        // swapping there are no holes.
        unsafe { self.dense.swap_remove_with(slot, position, |rows, last, position| rows.shift(last, position)) };
        if slot.is_row() {
            self.rows -= 1;
        }
        true
    }

    /// Takes the value of a slot. It lies at the position that is returned, nobody's, until the next one is put.
    #[inline(always)]
    pub(crate) fn take(&mut self, slot: Entity) -> Option<u32> {
        let position = self.position(slot.index())?;
        if slot.is_row() {
            self.rows -= 1;
        }
        // SAFETY: the position is in use and no hole; where removal is not deferred there are no holes.
        Some(unsafe {
            match self.removal {
                Removal::Swap => self.dense.swap_remove_to_tail(position),
                Removal::Ordered => self.dense.shift_remove_to_tail(position),
                Removal::Deferred => {
                    self.dense.leave_hole(position);
                    position
                }
            }
        })
    }

    /// Exchanges two positions.
    ///
    /// # Safety
    ///
    /// They differ, both are in use, and there are no holes.
    #[inline(never)]
    pub(super) unsafe fn exchange(&mut self, a: u32, b: u32) {
        // SAFETY: the caller's promise.
        unsafe { self.dense.swap(a, b) };
    }

    /// Forgets all keys. The values `0..n` are nobody's, for the `n` that is returned.
    pub(crate) fn release_all(&mut self) -> u32 {
        self.rows = 0;
        self.dense.release_all()
    }

    /// How many values there are.
    #[inline(always)]
    pub(crate) fn len(&self) -> u32 {
        self.dense.live()
    }

    /// Checks the pool by itself.
    pub(crate) fn validate(&self) -> Result<(), &'static str> {
        self.dense.validate()?;
        let rows = (0..self.dense.positions()).filter_map(|at| self.dense.key_at(at)).filter(|e| e.is_row());
        if rows.count() != self.rows as usize {
            return Err("extra rows of a pool miscounted");
        }
        if self.removal != Removal::Deferred && self.dense.holes() > 0 {
            return Err("holes in a pool whose removals leave none");
        }
        Ok(())
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let count = self.release_all();
        // SAFETY: the pool has given up these values; each ends once.
        unsafe { self.dense.rows_mut().drop_rows(0..count) };
    }
}
