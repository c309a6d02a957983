//! [`SparseSet`]: a component in a sparse set of its own.
#![allow(unsafe_code)]

use super::Values;
use crate::component::ComponentInfo;
use phalanx_store::index::{KeySlot, Sparse};
use phalanx_store::raw::{Dense, Rows, cold_path};
use phalanx_store::{AllocError, Entity};

/// What happens to the position of a value that is removed from a sparse set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(alias = "deletion_policy")]
pub enum Removal {
    /// The last value takes the position. This is constant time, and changes the order of the others.
    ///
    /// The removed value is dropped. To move values behind the others and keep them, exclude a component from an owning
    /// [group](crate::group): see [`Group::slices`](crate::Group::slices).
    #[default]
    #[doc(alias = "swap_and_pop")]
    #[doc(alias = "swap_only")]
    Swap,
    /// All later values move down by one. The order stays, and the time is linear in their number.
    Ordered,
    /// The position stays empty until the set is compacted. The order stays, and iteration skips the hole.
    #[doc(alias = "in_place")]
    Deferred,
}

/// The values of a component, contiguous, with an index from slots to positions.
#[derive(Debug)]
pub(crate) struct SparseSet {
    pub(crate) dense: Dense<Sparse<Entity>, Values>,
    pub(crate) removal: Removal,
    /// The number of its slots that are extra rows.
    pub(crate) extra_rows: u32,
}

impl SparseSet {
    pub(crate) fn try_new(info: &ComponentInfo) -> Result<SparseSet, AllocError> {
        let dense = Dense::new(Sparse::new(), Values::try_new(info)?);
        Ok(SparseSet { dense, removal: Removal::Swap, extra_rows: 0 })
    }

    /// Returns the values. The value of a slot is in the row of its position.
    #[inline(always)]
    pub(crate) fn values(&self) -> &Values {
        self.dense.rows()
    }

    /// Returns the position of a slot's value.
    #[inline(always)]
    pub(crate) fn position(&self, slot: u32) -> Option<u32> {
        self.dense.index().position_at(slot)
    }

    /// Returns the keys in the order of their positions, without holes.
    pub(crate) fn keys(&self) -> impl Iterator<Item = Entity> {
        let (keys, positions) = match self.dense.keys() {
            Some(keys) => (keys, 0..0),
            None => (&[][..], 0..self.dense.positions()),
        };
        keys.iter().copied().chain(positions.filter_map(|at| self.dense.key_at(at)))
    }

    /// Makes the value that was written beyond the last one the value of `slot`.
    ///
    /// If the slot had a value, the two are exchanged, and the position of the displaced value is returned. `FRESH`
    /// says that it had none.
    ///
    /// # Safety
    ///
    /// - The slot was [made ready](Dense::try_ready), and the value is written.
    /// - With `FRESH`, the slot has no value here.
    #[inline(always)]
    pub(super) unsafe fn insert<const FRESH: bool>(&mut self, slot: Entity) -> Option<u32> {
        debug_assert!(!FRESH || self.position(slot.index()).is_none());
        let old = if FRESH { None } else { self.position(slot.index()) };
        let Some(position) = old else {
            // SAFETY: the slot has no value, was made ready, and the row is written, by the caller's contract.
            unsafe { self.dense.admit(slot) };
            if slot.is_row() {
                self.extra_rows += 1;
            }
            return None;
        };
        let tail = self.dense.positions();
        // SAFETY: both rows are initialised, and differ: one is in use, the other beyond the last.
        unsafe {
            self.dense.rows_mut().swap(position, tail);
            self.dense.rows().keep_added(position, tail);
        }
        Some(tail)
    }

    /// Makes the values that were written beyond the last one, in this order, the values of slots that have none.
    ///
    /// # Safety
    ///
    /// - The slots were [made ready](Dense::try_ready_all). Since then nothing was inserted, and pages are held.
    /// - They differ and have no values here, and the new ones are written.
    pub(super) unsafe fn insert_all(&mut self, slots: &[Entity]) {
        // SAFETY: the slots differ, have no values, and were made ready, by the caller's contract. So are the rows written.
        unsafe { self.dense.admit_all(slots) };
        self.extra_rows += slots.iter().filter(|slot| slot.is_row()).count() as u32;
    }

    /// Like [`insert`](SparseSet::insert), for a slot that was found vacant.
    ///
    /// # Safety
    ///
    /// The [key slot](Dense::key_slot) of `slot` is [`KeySlot::Vacant`], and the value is written.
    #[inline(always)]
    pub(super) unsafe fn insert_vacant(&mut self, slot: Entity) {
        // SAFETY: the key slot is vacant and the row is written, by the caller's contract.
        unsafe { self.dense.insert_vacant(slot) };
        if slot.is_row() {
            cold_path();
            self.extra_rows += 1;
        }
    }

    /// Removes the value of a slot, which is moved out already. `shift` moves the last row to its position.
    ///
    /// # Safety
    ///
    /// - The [key slot](Dense::key_slot) of `slot` is [`KeySlot::Occupied`] at `position`.
    /// - The value counts as moved out, or needs no drop.
    /// - Removal is by swapping.
    #[inline(always)]
    pub(super) unsafe fn swap_remove_with(
        &mut self,
        slot: Entity,
        position: u32,
        shift: impl FnOnce(&mut Values, u32, u32),
    ) {
        debug_assert!(self.removal == Removal::Swap);
        // SAFETY: the key slot is occupied at this position and its row moved out, by the caller's contract. Where
        // removal is by swapping there are no holes.
        unsafe { self.dense.swap_remove_with(slot, position, shift) };
        if slot.is_row() {
            cold_path();
            self.extra_rows -= 1;
        }
    }

    /// Removes the value of a slot without keeping it. Returns `false` if the slot is not found without a search.
    ///
    /// # Safety
    ///
    /// Removal is by swapping, and values need no drop. The slot is not an extra row.
    #[inline(always)]
    pub(super) unsafe fn discard(&mut self, slot: Entity) -> bool {
        debug_assert!(self.removal == Removal::Swap && !slot.is_row());
        let KeySlot::Occupied(position) = self.dense.key_slot(slot) else { return false };
        // SAFETY: the key slot is occupied; removal is by swapping and the value needs no drop, by the caller's
        // contract, so that there are no holes. The two rows that are shifted are in use and differ.
        unsafe { self.dense.swap_remove_with(slot, position, |rows, last, position| rows.shift(last, position)) };
        true
    }

    /// Removes the value of a slot. It stays initialised at the position that is returned, until the next insertion.
    #[inline(always)]
    pub(super) fn remove(&mut self, slot: Entity) -> Option<u32> {
        let position = self.position(slot.index())?;
        if slot.is_row() {
            self.extra_rows -= 1;
        }
        // SAFETY: the position is in use and not a hole. Only deferred removal leaves holes.
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

    /// Exchanges the positions of two slots, and returns `true` if both have values.
    pub(crate) fn swap(&mut self, a: Entity, b: Entity) -> bool {
        let (Some(a), Some(b)) = (self.position(a.index()), self.position(b.index())) else { return false };
        // SAFETY: the index has positions in use, which are not holes.
        unsafe { self.dense.swap(a, b) };
        true
    }

    /// Exchanges the value of a slot with that at a position.
    ///
    /// # Panics
    ///
    /// Panics if the slot has no value, if the position is not in use, or if there are holes.
    #[inline(always)]
    pub(super) fn move_to(&mut self, slot: u32, to: u32) {
        let Some(position) = self.position(slot) else { unreachable!("a slot without a value has no position") };
        if position != to {
            assert!(to < self.dense.positions() && self.dense.holes() == 0, "a position that is not in use");
            // SAFETY: the index has positions in use, which are not holes. Nor is the other, as just tested.
            unsafe { self.dense.swap(position, to) };
        }
    }

    /// Removes all keys, and returns their number. The values stay initialised in the first rows, and have no owner.
    pub(super) fn release_all(&mut self) -> u32 {
        self.extra_rows = 0;
        self.dense.release_all()
    }

    /// Drops the values that [`release_all`](SparseSet::release_all) left, all of them, even if one panics.
    ///
    /// # Safety
    ///
    /// It returned `count`, and nothing was inserted or dropped since.
    pub(super) unsafe fn drop_released(&mut self, count: u32) {
        // SAFETY: the rows are initialised and have no owner, by the caller's contract; each is dropped once.
        unsafe { self.dense.rows_mut().drop_rows(0..count) };
    }

    /// Returns the number of values.
    #[inline(always)]
    pub(crate) fn len(&self) -> u32 {
        self.dense.live()
    }

    /// Checks the set by itself.
    pub(super) fn validate(&self) -> Result<(), &'static str> {
        self.dense.validate()?;
        if self.keys().filter(|key| key.is_row()).count() != self.extra_rows as usize {
            return Err("extra rows of a sparse set miscounted");
        }
        if self.removal != Removal::Deferred && self.dense.holes() > 0 {
            return Err("holes in a sparse set whose removals leave none");
        }
        Ok(())
    }
}

impl Drop for SparseSet {
    fn drop(&mut self) {
        // Without destructors there is no order to keep, and the index is freed as a whole.
        if self.dense.rows().needs_drop() {
            let count = self.release_all();
            // SAFETY: the set has given up these values just now.
            unsafe { self.drop_released(count) };
        }
    }
}
