//! [`LinearStorage`]: a component at the slots of its entities.
//!
//! # Representation
//!
//! The value of slot `s` is in row `s`, and bit `s` says whether there is one. The lanes have one row more than there
//! are covered slots: the *spare row*, where a new value is written before it is exchanged with the one that it
//! replaces.
#![allow(unsafe_code)]

use super::Values;
use crate::component::ComponentInfo;
use phalanx_store::raw::{DropGuard, Lane, LaneOf, Rows};
use phalanx_store::{AllocError, Entity};

/// The values of a component, each at its slot.
#[derive(Debug)]
pub(crate) struct LinearStorage {
    values: Values,
    /// A presence bit for each covered slot. The words are initialised.
    bits: LaneOf<u64>,
    /// The number of covered slots: a multiple of 64.
    slots: u32,
    len: u32,
    /// The values of slots with a bit were released: they have no owner, and the bits only say which are initialised.
    released: bool,
    /// The number of its slots that are extra rows.
    pub(crate) extra_rows: u32,
}

impl LinearStorage {
    pub(crate) fn try_new(info: &ComponentInfo) -> Result<LinearStorage, AllocError> {
        Ok(LinearStorage::from_parts(Values::try_new(info)?, LaneOf::new(), 0, (0, 0)))
    }

    /// Creates a storage of `len` values, `extra_rows` of them of extra rows, with presence bits for `slots`.
    pub(super) fn from_parts(
        values: Values,
        bits: LaneOf<u64>,
        slots: u32,
        (len, extra_rows): (u32, u32),
    ) -> LinearStorage {
        LinearStorage { values, bits, slots, len, released: false, extra_rows }
    }

    /// Returns the values. The value of a slot is in the row of its number.
    #[inline(always)]
    pub(crate) fn values(&self) -> &Values {
        &self.values
    }

    /// Returns the values, for writing.
    #[cfg(feature = "snapshot")]
    pub(crate) fn values_mut(&mut self) -> &mut Values {
        &mut self.values
    }

    /// Returns the presence bits of all covered slots.
    #[inline(always)]
    pub(crate) fn words(&self) -> &[u64] {
        // SAFETY: a word for each 64 covered slots is initialised; writing needs `&mut self`.
        unsafe { self.bits.slice(self.slots / 64) }
    }

    /// Returns the presence bits of all covered slots, for writing.
    fn words_mut(&mut self) -> &mut [u64] {
        // SAFETY: a word for each 64 covered slots is initialised.
        unsafe { self.bits.slice_mut(self.slots / 64) }
    }

    /// Returns the number of words up to the last that has a bit.
    pub(crate) fn used_words(&self) -> u32 {
        self.words().iter().rposition(|word| *word != 0).map_or(0, |at| at as u32 + 1)
    }

    /// Returns `true` if a slot has a value.
    #[inline(always)]
    pub(crate) fn has(&self, slot: u32) -> bool {
        // SAFETY: the slot is covered, so its word is initialised.
        slot < self.slots && unsafe { *self.bits.at(slot / 64) } & 1 << (slot % 64) != 0
    }

    /// Returns the number of covered slots: those that have a row and a presence bit.
    #[inline(always)]
    pub(super) fn slots(&self) -> u32 {
        self.slots
    }

    /// Returns the row in which the next value of a slot is to be written.
    #[inline(always)]
    pub(super) fn insert_row(&self, slot: u32) -> u32 {
        if self.has(slot) { self.slots } else { slot }
    }

    /// Covers a slot.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; no value changes.
    #[inline(always)]
    pub(crate) fn try_cover(&mut self, slot: u32) -> Result<(), AllocError> {
        if slot < self.slots { Ok(()) } else { self.try_cover_slow(slot) }
    }

    #[cold]
    #[inline(never)]
    fn try_cover_slow(&mut self, slot: u32) -> Result<(), AllocError> {
        let needed = slot.checked_add(2).ok_or(AllocError::CapacityOverflow)?;
        self.values.countable(needed)?;
        let capacity = match self.values.capacity() == u32::MAX {
            // Without lanes only the bits grow, by half at least.
            true => needed.max(self.slots.saturating_add(self.slots / 2)),
            false => {
                self.values.try_grow(needed)?;
                self.values.capacity()
            }
        };
        // At least the word of this slot. The spare row comes after all words.
        let words = ((capacity - 1) / 64).max(slot / 64 + 1);
        let slots = words.checked_mul(64).filter(|slots| *slots < u32::MAX).ok_or(AllocError::CapacityOverflow)?;
        if self.values.capacity() <= slots {
            self.values.try_grow(slots + 1)?;
        }
        self.bits.try_grow(words)?;
        for at in self.slots / 64..words {
            // SAFETY: the word is below the capacity.
            unsafe { self.bits.at(at).write(0) };
        }
        self.slots = slots;
        Ok(())
    }

    /// Makes the value that was written at [`insert_row`](LinearStorage::insert_row) the value of `slot`.
    ///
    /// If the slot had a value, the two are exchanged, and the row of the displaced value is returned. `FRESH` says
    /// that it had none.
    ///
    /// # Safety
    ///
    /// - The slot is covered, and the value is written.
    /// - With `FRESH`, the slot has no value here.
    #[inline(always)]
    pub(super) unsafe fn insert<const FRESH: bool>(&mut self, slot: Entity) -> Option<u32> {
        let index = slot.index();
        debug_assert!(!(FRESH && self.has(index)));
        if !FRESH && self.has(index) {
            // SAFETY: both rows are initialised and differ: the spare row comes after those of covered slots.
            unsafe {
                self.values.swap(index, self.slots);
                self.values.keep_added(index, self.slots);
            }
            return Some(self.slots);
        }
        // SAFETY: the slot is covered and has no value, which is written, by the caller's contract.
        unsafe { self.insert_vacant(slot) };
        None
    }

    /// Like [`insert`](LinearStorage::insert), for a slot without a value. Not inlined: sparse sets are more frequent.
    ///
    /// # Safety
    ///
    /// The slot is covered and has no value, and the value is written.
    #[inline(never)]
    unsafe fn insert_vacant(&mut self, slot: Entity) {
        // SAFETY: the slot is covered, by the caller's contract, so its row is below the capacity.
        unsafe {
            self.add_bit(slot);
            self.values.mark_dirty(slot.index());
        }
    }

    /// Sets the presence bit of a slot, and counts it. The caller sets the [dirty bit](Values::mark_dirty) of the row.
    ///
    /// # Safety
    ///
    /// The slot is covered and has no value, and the value is written.
    #[inline(always)]
    pub(super) unsafe fn add_bit(&mut self, slot: Entity) {
        // SAFETY: the slot is covered, by the caller's contract.
        unsafe { self.flip_bit(slot.index()) };
        self.len += 1;
        if slot.is_row() {
            self.extra_rows += 1;
        }
    }

    /// Clears the presence bit of a slot, and counts it no more. The caller sets the [dirty bit](Values::mark_dirty) of
    /// the row.
    ///
    /// # Safety
    ///
    /// The slot has a value, which has no owner from then on.
    #[inline(always)]
    pub(super) unsafe fn remove_bit(&mut self, slot: Entity) {
        // SAFETY: the slot has a value, by the caller's contract, so it is covered.
        unsafe { self.flip_bit(slot.index()) };
        self.len -= 1;
        if slot.is_row() {
            self.extra_rows -= 1;
        }
    }

    /// Flips the presence bit of a slot, and sets the dirty bit of its word.
    ///
    /// # Safety
    ///
    /// The slot is covered.
    #[inline(always)]
    unsafe fn flip_bit(&mut self, slot: u32) {
        // SAFETY: the slot is covered, by the caller's contract, so its word is initialised. The storage is borrowed
        // exclusively.
        unsafe {
            *self.bits.at(slot / 64) ^= 1 << (slot % 64);
            self.bits.set_dirty(slot / 64);
        }
    }

    /// Makes the values that were written at the slots with these bits theirs, `extra_rows` of them of extra rows.
    ///
    /// # Safety
    ///
    /// The storage has no values. The values are written, and the slots of all words are covered.
    #[cfg(feature = "snapshot")]
    pub(crate) unsafe fn fill(&mut self, words: &[u64], extra_rows: u32) {
        debug_assert!(self.len == 0);
        self.words_mut()[..words.len()].copy_from_slice(words);
        let count = words.len() as u32;
        // SAFETY: the words were just written, so they are below the capacity, and so are the rows of their slots. The
        // storage is borrowed exclusively.
        unsafe {
            self.bits.set_dirty_rows(0..count);
            if let Some(lane) = self.values.lanes().first() {
                lane.set_dirty_rows(0..count * 64);
            }
        }
        (self.len, self.extra_rows) = (words.iter().map(|word| word.count_ones()).sum(), extra_rows);
    }

    /// Removes the value of a slot. It stays initialised in the row that is returned, until the slot gets another.
    #[inline(always)]
    pub(super) fn remove(&mut self, slot: Entity) -> Option<u32> {
        let index = slot.index();
        if !self.has(index) {
            return None;
        }
        // SAFETY: the slot has a value, so its row is below the capacity.
        unsafe {
            self.remove_bit(slot);
            self.values.mark_dirty(index);
        }
        Some(index)
    }

    /// Removes all values. They stay initialised until [`drop_released`](LinearStorage::drop_released).
    pub(super) fn release_all(&mut self) {
        self.released = true;
        (self.len, self.extra_rows) = (0, 0);
    }

    /// Removes all values, which were moved out.
    pub(super) fn clear_moved_out(&mut self) {
        self.release_all();
        self.clear_bits();
    }

    fn clear_bits(&mut self) {
        self.bits.touch();
        self.words_mut().fill(0);
        self.released = false;
    }

    /// Drops the values that were released, all of them, even if one panics.
    pub(super) fn drop_released(&mut self) {
        debug_assert!(self.released);
        let storage = DropGuard::new(self, |storage| storage.clear_bits());
        // SAFETY: the values of slots with a bit are initialised and have no owner. The bits are cleared next, also if
        // a destructor panics.
        unsafe { storage.state.values.drop_values(storage.state.iter()) };
    }

    /// Returns the number of values.
    #[inline(always)]
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// Returns the slots that have a value, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + Clone + '_ {
        self.words().iter().enumerate().filter(|(_, word)| **word != 0).flat_map(|(at, word)| {
            let mut word = *word;
            core::iter::from_fn(move || {
                let bit = word.trailing_zeros();
                (word != 0).then(|| {
                    word &= word - 1;
                    at as u32 * 64 + bit
                })
            })
        })
    }

    /// Frees the rows and bits after the last word that has a bit.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; a larger block is kept.
    pub(super) fn try_shrink(&mut self) -> Result<(), AllocError> {
        let words = self.used_words();
        self.slots = words * 64;
        // SAFETY: no slot at or above these has a value, and none is covered from here on.
        unsafe {
            self.bits.try_resize(words)?;
            self.values.try_resize(rows_for(words))
        }
    }

    /// Returns the lane of the presence bits, and the lanes of the values.
    ///
    /// # Safety
    ///
    /// The lanes are not replaced or resized.
    pub(super) unsafe fn lanes_mut(&mut self) -> (&mut Lane, &mut [Lane]) {
        // SAFETY: the lane is not replaced, by the caller's contract.
        unsafe { (self.bits.erased(), self.values.lanes_mut()) }
    }

    /// Returns the lane of the presence bits.
    pub(crate) fn bits_lane(&self) -> &Lane {
        self.bits.lane()
    }

    /// Returns the number of bytes of the presence bits.
    pub(super) fn bit_bytes(&self) -> usize {
        self.bits.bytes()
    }

    /// Checks the storage by itself.
    pub(super) fn validate(&self) -> Result<(), &'static str> {
        if !self.slots.is_multiple_of(64) || self.slots / 64 > self.bits.capacity() {
            return Err("a linear storage with fewer bits than slots");
        }
        if self.slots > 0 && self.values.capacity() <= self.slots {
            return Err("a linear storage without a spare row");
        }
        if self.released {
            return Err("a linear storage with values that were released and not dropped");
        }
        if self.words().iter().map(|word| word.count_ones()).sum::<u32>() != self.len {
            return Err("values of a linear storage miscounted");
        }
        Ok(())
    }
}

/// Returns the number of rows of a linear storage by its number of words: one for each slot, and the spare row.
pub(super) fn rows_for(words: u32) -> u32 {
    if words == 0 { 0 } else { words * 64 + 1 }
}

impl Drop for LinearStorage {
    fn drop(&mut self) {
        // SAFETY: the values of slots with a bit are initialised, and nothing else owns them. They are dropped once.
        unsafe { self.values.drop_values(self.iter()) };
    }
}
