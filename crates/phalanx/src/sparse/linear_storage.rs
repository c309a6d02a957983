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
use core::ops::Range;
use phalanx_store::raw::{DropGuard, Lane, Rows, Words, cold_path};
use phalanx_store::{AllocError, Entity};

/// The values of a component, each at its slot.
#[derive(Debug)]
pub(crate) struct LinearStorage {
    values: Values,
    /// A presence bit for each covered slot.
    bits: Words,
    len: u32,
    /// The values of slots with a bit were released: they have no owner, and the bits only say which are initialised.
    released: bool,
    /// The number of its slots that are extra rows.
    pub(crate) extra_rows: u32,
}

impl LinearStorage {
    pub(crate) fn try_new(info: &ComponentInfo) -> Result<LinearStorage, AllocError> {
        let values = Values::try_new(info)?;
        Ok(LinearStorage { values, bits: Words::new(), len: 0, released: false, extra_rows: 0 })
    }

    /// Creates a storage of the values at slots with a bit, `extra_rows` of them of extra rows.
    ///
    /// # Safety
    ///
    /// The values at slots with a bit are initialised, and the storage becomes their owner. There is capacity for the spare
    /// row.
    pub(super) unsafe fn from_parts(values: Values, bits: Words, extra_rows: u32) -> LinearStorage {
        let len = bits.words().iter().map(|word| word.count_ones()).sum();
        LinearStorage { values, bits, len, released: false, extra_rows }
    }

    /// Returns the values. The value of a slot is in the row of its number.
    #[inline(always)]
    pub(crate) fn values(&self) -> &Values {
        &self.values
    }

    /// Returns a pointer to the first lane, for writing values that it does not have yet.
    #[cfg(feature = "snapshot")]
    pub(super) fn lane_mut(&mut self) -> *mut Lane {
        self.values.lane_mut()
    }

    /// Returns the presence bits of all covered slots.
    #[inline(always)]
    pub(crate) fn words(&self) -> &[u64] {
        self.bits.words()
    }

    /// Returns the number of words up to the last that has a bit.
    pub(crate) fn used_words(&self) -> u32 {
        self.words().iter().rposition(|word| *word != 0).map_or(0, |at| at as u32 + 1)
    }

    /// Returns `true` if a slot has a value.
    #[inline(always)]
    pub(crate) fn has(&self, slot: u32) -> bool {
        self.bits.has(slot)
    }

    /// Returns which of 64 slots have a value, from one on: a bit for each.
    #[inline(always)]
    pub(crate) fn bits_from(&self, slot: u32) -> u64 {
        let (at, shift) = (slot as usize / 64, slot % 64);
        let word = |at: usize| self.words().get(at).copied().unwrap_or(0);
        // The second word has the highest bits, if there are any of it.
        word(at) >> shift | word(at + 1) << 1 << (63 - shift)
    }

    /// Returns the number of covered slots: those that have a row and a presence bit.
    #[inline(always)]
    pub(crate) fn slots(&self) -> u32 {
        self.bits.bits()
    }

    /// Returns `true` if a slot is covered.
    #[inline(always)]
    pub(super) fn covers(&self, slot: u32) -> bool {
        slot < self.bits.bits()
    }

    /// Returns the row in which the next value of a slot is to be written.
    #[inline(always)]
    pub(super) fn insert_row(&self, slot: u32) -> u32 {
        if self.has(slot) { self.slots() } else { slot }
    }

    /// Covers a slot.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; no value changes.
    #[inline(always)]
    pub(crate) fn try_cover(&mut self, slot: u32) -> Result<(), AllocError> {
        if self.covers(slot) { Ok(()) } else { self.try_cover_slow(slot) }
    }

    #[cold]
    #[inline(never)]
    fn try_cover_slow(&mut self, slot: u32) -> Result<(), AllocError> {
        let needed = slot.checked_add(2).ok_or(AllocError::CapacityOverflow)?;
        self.values.countable(needed)?;
        let capacity = match self.values.capacity() == u32::MAX {
            // Without lanes only the bits grow, by half at least.
            true => needed.max(self.slots().saturating_add(self.slots() / 2)),
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
        self.bits.try_grow(words)
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
            let spare = self.slots();
            // SAFETY: both rows are initialised and differ: the spare row comes after those of covered slots.
            unsafe {
                self.values.swap(index, spare);
                self.values.keep_added(index, spare);
            }
            return Some(spare);
        }
        // SAFETY: the slot is covered and has no value, which is written, by the caller's contract.
        unsafe { self.insert_vacant(slot) };
        None
    }

    /// Makes the values that were written at slots that have none theirs.
    ///
    /// # Safety
    ///
    /// The slots are covered and differ. They have no values here, and the new ones are written.
    pub(super) unsafe fn insert_all(&mut self, slots: &[Entity]) {
        for &slot in slots {
            // SAFETY: the slot is covered and has no value, which is written, by the caller's contract.
            unsafe { self.insert_vacant(slot) };
        }
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
            self.set_bit::<true, true>(slot);
            self.values.mark_dirty(slot.index());
        }
    }

    /// Returns `true` if the presence bits or the values have dirty bits.
    pub(super) fn is_tracked(&self) -> bool {
        self.bits.lane().is_tracked() || self.values.lanes().first().is_some_and(Lane::is_tracked)
    }

    /// Sets or clears the presence bit of a slot, and counts it. The caller sets the [dirty bit](Values::mark_dirty) of the
    /// row.
    ///
    /// # Safety
    ///
    /// - Without `TRACKED`, the storage is not [tracked](LinearStorage::is_tracked).
    /// - If the bit is set, the slot is covered and has no value, and the value is written.
    /// - If it is cleared, the slot has a value, which has no owner from then on.
    #[inline(always)]
    pub(super) unsafe fn set_bit<const PRESENT: bool, const TRACKED: bool>(&mut self, slot: Entity) {
        // SAFETY: the slot is covered: it has a value if the bit is cleared. Without `TRACKED`, the bits have no dirty bits. Both are
        // the caller's contract.
        unsafe { self.bits.flip::<TRACKED>(slot.index()) };
        let (len, extra_rows) = (&mut self.len, &mut self.extra_rows);
        let count = |number: &mut u32| if PRESENT { *number += 1 } else { *number -= 1 };
        count(len);
        if slot.is_row() {
            cold_path();
            count(extra_rows);
        }
    }

    /// Returns the values, the presence bits with their lane, and the number of values, for the storage of a relation. Its records
    /// need no drop and belong to no extra row, so that nothing else changes with them.
    #[inline(always)]
    pub(super) fn parts_mut(&mut self) -> (&Values, (&mut [u64], &Lane), &mut u32) {
        (&self.values, self.bits.parts_mut(), &mut self.len)
    }

    /// Makes the values that were written at the slots with these bits theirs, `extra_rows` of them of extra rows.
    ///
    /// # Safety
    ///
    /// The storage has no values. The values are written, and the slots of all words are covered.
    #[cfg(feature = "snapshot")]
    pub(crate) unsafe fn fill(&mut self, words: &[u64], extra_rows: u32) {
        debug_assert!(self.len == 0);
        self.bits.words_mut()[..words.len()].copy_from_slice(words);
        self.bits.set_dirty();
        if let Some(lane) = self.values.lanes().first() {
            // SAFETY: the rows of covered slots are below the capacity. The storage is borrowed exclusively.
            unsafe { lane.set_dirty_rows(0..words.len() as u32 * 64) };
        }
        (self.len, self.extra_rows) = (words.iter().map(|word| word.count_ones()).sum(), extra_rows);
    }

    /// Returns the values, to exchange them together with the presence bits.
    pub(super) fn values_mut(&mut self) -> &mut Values {
        &mut self.values
    }

    /// Sets the presence bits of the words in `changed` to those of `words`, and clears those beyond `words`.
    ///
    /// # Safety
    ///
    /// - The words differ from the present ones in the ranges of `changed` only, and their slots are covered.
    /// - Before anything else happens, the values at slots with a bit are initialised. No value is dropped by this method.
    pub(super) unsafe fn rewrite_bits(&mut self, words: &[[u8; 8]], changed: &[Range<u32>], extra_rows: u32) {
        let end = words.len().min(self.bits.len() as usize);
        let own = self.bits.words_mut();
        for at in changed.iter().cloned().flatten() {
            let (own, new) = (&mut own[at as usize], u64::from_ne_bytes(words[at as usize]));
            self.len = self.len - own.count_ones() + new.count_ones();
            *own = new;
        }
        for word in &mut own[end..] {
            self.len -= word.count_ones();
            *word = 0;
        }
        self.extra_rows = extra_rows;
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
            self.set_bit::<false, true>(slot);
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
        self.bits.words_mut().fill(0);
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
        self.bits.try_truncate(words)?;
        // SAFETY: no slot at or above these has a value, and none is covered from here on.
        unsafe { self.values.try_resize(rows_for(words)) }
    }

    /// Returns the lane of the presence bits, and the lanes of the values.
    ///
    /// # Safety
    ///
    /// The lanes are not replaced or resized.
    pub(super) unsafe fn lanes_mut(&mut self) -> (&mut Lane, &mut [Lane]) {
        // SAFETY: the lanes are not replaced or resized, by the caller's contract.
        unsafe { (self.bits.lane_mut(), self.values.lanes_mut()) }
    }

    /// Returns the lane of the presence bits.
    pub(crate) fn bits_lane(&self) -> &Lane {
        self.bits.lane()
    }

    /// Returns the number of bytes of the presence bits.
    pub(super) fn bit_bytes(&self) -> usize {
        self.bits.lane().bytes()
    }

    /// Checks the storage by itself.
    pub(super) fn validate(&self) -> Result<(), &'static str> {
        if self.slots() > 0 && self.values.capacity() <= self.slots() {
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
        self.release_all();
        self.drop_released();
    }
}
