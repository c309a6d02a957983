//! A component at the slots of its entities.
//!
//! # Representation
//!
//! The value of slot `s` is in row `s`; bit `s` says whether there is one. The lanes have room for one row more than there
//! are slots: the *spare* one, where a value lies for a moment that takes the place of another.
#![allow(unsafe_code)]

use super::Values;
use crate::component::ComponentInfo;
use phalanx_store::raw::{Lane, LaneOf, Rows};
use phalanx_store::{AllocError, Entity};

/// The values of a component, each at its slot.
#[derive(Debug)]
pub(crate) struct Linear {
    values: Values,
    bits: LaneOf<u64>,
    /// Slots for which there are a row and a bit: a multiple of 64.
    slots: u32,
    len: u32,
    /// The values of the slots that have a bit are nobody's: they were released, and the bits are all that is left to tell
    /// which they are.
    released: bool,
    /// How many of its slots are extra rows.
    pub(crate) rows: u32,
}

impl Linear {
    pub(crate) fn try_new(info: &ComponentInfo) -> Result<Linear, AllocError> {
        Ok(Linear { values: Values::try_new(info)?, bits: LaneOf::new(), slots: 0, len: 0, released: false, rows: 0 })
    }

    /// A store of so many values at their slots, and so many of them of extra rows.
    pub(super) fn of(values: Values, bits: LaneOf<u64>, slots: u32, (len, rows): (u32, u32)) -> Linear {
        Linear { values, bits, slots, len, released: false, rows }
    }

    #[inline(always)]
    pub(crate) fn values(&self) -> &Values {
        &self.values
    }

    #[cfg(feature = "snapshot")]
    pub(crate) fn values_mut(&mut self) -> &mut Values {
        &mut self.values
    }

    /// The words that say which slots have a value.
    #[inline(always)]
    pub(crate) fn words(&self) -> &[u64] {
        // SAFETY: a word for each 64 slots is initialised.
        unsafe { self.bits.slice(self.slots / 64) }
    }

    /// The words up to the last that has a bit.
    pub(crate) fn used_words(&self) -> u32 {
        self.words().iter().rposition(|word| *word != 0).map_or(0, |at| at as u32 + 1)
    }

    #[inline(always)]
    pub(crate) fn has(&self, slot: u32) -> bool {
        // SAFETY: the word is one of those that are initialised.
        slot < self.slots && unsafe { *self.bits.at(slot / 64) } & 1 << (slot % 64) != 0
    }

    /// The slots for which there is room.
    #[inline(always)]
    pub(crate) fn covered(&self) -> u32 {
        self.slots
    }

    /// Where the next value of a slot is to be written.
    #[inline(always)]
    pub(crate) fn spare(&self, slot: u32) -> u32 {
        if self.has(slot) { self.slots } else { slot }
    }

    /// Makes room for the value of a slot, and for one more.
    #[inline(always)]
    pub(crate) fn try_ready(&mut self, slot: u32) -> Result<(), AllocError> {
        if slot < self.slots { Ok(()) } else { self.try_cover(slot) }
    }

    #[cold]
    #[inline(never)]
    fn try_cover(&mut self, slot: u32) -> Result<(), AllocError> {
        let needed = slot.checked_add(2).ok_or(AllocError::CapacityOverflow)?;
        self.values.countable(needed)?;
        let room = match self.values.capacity() == u32::MAX {
            // Without data only the bits grow: by themselves, and by half at least.
            true => needed.max(self.slots.saturating_add(self.slots / 2)),
            false => {
                self.values.try_grow(needed)?;
                self.values.capacity()
            }
        };
        // At least this slot's word, which the spare row comes after.
        let words = ((room - 1) / 64).max(slot / 64 + 1);
        let slots = words.checked_mul(64).filter(|slots| *slots < u32::MAX).ok_or(AllocError::CapacityOverflow)?;
        if self.values.capacity() <= slots {
            self.values.try_grow(slots + 1)?;
        }
        self.bits.try_grow(words)?;
        for at in self.slots / 64..words {
            // SAFETY: there is room for so many words.
            unsafe { self.bits.at(at).write(0) };
        }
        self.slots = slots;
        Ok(())
    }

    /// Counts the value that was written at [`spare`](Linear::spare) as the slot's. A value that it had lies in the spare
    /// row then, nobody's: that row is returned.
    ///
    /// # Safety
    ///
    /// The slot was [made ready](Linear::try_ready), and the value is written.
    #[inline(always)]
    pub(crate) unsafe fn put(&mut self, slot: Entity) -> Option<u32> {
        let index = slot.index();
        // SAFETY: the word is one of those that are initialised; the spare row differs from the slot's.
        unsafe {
            if self.has(index) {
                self.values.swap(index, self.slots);
                self.values.keep_added(index, self.slots);
                return Some(self.slots);
            }
            self.count(slot);
            self.values.mark(index);
        }
        None
    }

    /// Counts the value that was written at a slot that has none.
    ///
    /// # Safety
    ///
    /// The slot is [covered](Linear::covered), and the value is written.
    #[inline(never)]
    pub(super) unsafe fn admit(&mut self, slot: Entity) {
        // SAFETY: the caller's promise.
        unsafe {
            self.count(slot);
            self.values.mark(slot.index());
        }
    }

    /// Counts the value that was written at a slot that has none. Whoever wrote it has [marked](Values::mark) it.
    ///
    /// # Safety
    ///
    /// The slot is [covered](Linear::covered), and the value is written.
    #[inline(always)]
    pub(super) unsafe fn count(&mut self, slot: Entity) {
        let index = slot.index();
        // SAFETY: the word is one of those that are initialised.
        unsafe {
            *self.bits.at(index / 64) |= 1 << (index % 64);
            self.bits.mark(index / 64);
        }
        self.len += 1;
        if slot.is_row() {
            self.rows += 1;
        }
    }

    /// Counts the values that were written at the slots with these bits, in a store without values; `rows` of them are of
    /// extra rows.
    ///
    /// # Safety
    ///
    /// They are written, and the slot of the last bit was [made ready](Linear::try_ready).
    #[cfg(feature = "snapshot")]
    pub(crate) unsafe fn fill(&mut self, words: &[u64], rows: u32) {
        debug_assert!(self.len == 0 && words.len() as u32 * 64 <= self.slots);
        // SAFETY: so many words are initialised; there are rows for as many slots.
        unsafe {
            core::ptr::copy_nonoverlapping(words.as_ptr(), self.bits.ptr(), words.len());
            self.bits.mark_rows(0..words.len() as u32);
            if let Some(lane) = self.values.lanes().first() {
                lane.mark_rows(0..words.len() as u32 * 64);
            }
        }
        (self.len, self.rows) = (words.iter().map(|word| word.count_ones()).sum(), rows);
    }

    /// Takes the value of a slot. It lies in the row that is returned, nobody's, until the slot gets another.
    #[inline(always)]
    pub(crate) fn take(&mut self, slot: Entity) -> Option<u32> {
        let index = slot.index();
        if !self.has(index) {
            return None;
        }
        // SAFETY: the slot has a bit, and its row is within the capacity.
        unsafe {
            self.discount(slot);
            self.values.mark(index);
        }
        Some(index)
    }

    /// Counts the value of a slot no more, which is moved out. Whoever moved it has [marked](Values::mark) it.
    ///
    /// # Safety
    ///
    /// The slot has a value.
    #[inline(always)]
    pub(super) unsafe fn discount(&mut self, slot: Entity) {
        let index = slot.index();
        // SAFETY: the word is one of those that are initialised.
        unsafe {
            *self.bits.at(index / 64) &= !(1 << (index % 64));
            self.bits.mark(index / 64);
        }
        self.len -= 1;
        if slot.is_row() {
            self.rows -= 1;
        }
    }

    /// Gives up all values, which are nobody's until [`end_released`](Linear::end_released).
    pub(crate) fn release_all(&mut self) -> u32 {
        self.released = true;
        (self.len, self.rows) = (0, 0);
        0
    }

    /// Gives up all values, which were moved out.
    pub(super) fn forget_all(&mut self) {
        self.release_all();
        self.forget_bits();
    }

    fn forget_bits(&mut self) {
        self.bits.touch();
        for at in 0..self.slots / 64 {
            // SAFETY: a word for each 64 slots is there.
            unsafe { self.bits.at(at).write(0) };
        }
        self.released = false;
    }

    /// Ends the values that were released, all of them, even if one panics.
    pub(crate) fn end_released(&mut self) {
        /// Forgets the bits, at last.
        struct Forget<'a>(&'a mut Linear);
        impl Drop for Forget<'_> {
            fn drop(&mut self) {
                self.0.forget_bits();
            }
        }
        let store = Forget(self);
        store.0.end_all();
    }

    /// Ends the values of all slots that have a bit, even if one panics; a second panic aborts.
    fn end_all(&self) {
        if !self.values.needs_drop() {
            return;
        }
        struct Rest<'a, I: Iterator<Item = u32>>(&'a Values, I);
        impl<I: Iterator<Item = u32>> Drop for Rest<'_, I> {
            fn drop(&mut self) {
                for row in self.1.by_ref() {
                    // SAFETY: the value is there and nobody else's, and ends once: the bits are forgotten next.
                    unsafe { self.0.end(row) };
                }
            }
        }
        let mut rest = Rest(&self.values, self.iter());
        for row in rest.1.by_ref() {
            // SAFETY: as above.
            unsafe { self.values.end(row) };
        }
    }

    /// How many values there are.
    #[inline(always)]
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// The slots that have a value, ascending.
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

    /// Gives back the room of slots after the last that has a value.
    pub(crate) fn try_shrink(&mut self) -> Result<(), AllocError> {
        let words = self.words().iter().rposition(|word| *word != 0).map_or(0, |at| at as u32 + 1);
        self.slots = words * 64;
        let rows = if words == 0 { 0 } else { self.slots + 1 };
        // SAFETY: no slot at or above them has a value, and the spare row is empty.
        unsafe {
            self.bits.try_resize(words)?;
            self.values.try_resize(rows)
        }
    }

    /// The lane of the words, and those of the values.
    ///
    /// # Safety
    ///
    /// They are not exchanged for others or resized.
    pub(super) unsafe fn lanes_mut(&mut self) -> (&mut Lane, &mut [Lane]) {
        // SAFETY: the caller's promise.
        unsafe { (self.bits.erased(), self.values.lanes_mut()) }
    }

    /// The lane of the words, to be looked at.
    pub(crate) fn bits_lane(&self) -> &Lane {
        self.bits.lane()
    }

    /// Bytes of the words that say which slots have a value.
    pub(super) fn bit_bytes(&self) -> usize {
        self.bits.bytes()
    }

    /// Slots for which there is room.
    pub(super) fn slots(&self) -> u32 {
        self.slots
    }

    /// Checks the store by itself.
    pub(crate) fn validate(&self) -> Result<(), &'static str> {
        if !self.slots.is_multiple_of(64) || self.slots / 64 > self.bits.capacity() {
            return Err("a linear store with fewer bits than slots");
        }
        if self.slots > 0 && self.values.capacity() <= self.slots {
            return Err("a linear store without a spare row");
        }
        if self.released {
            return Err("a linear store with values that were released and not ended");
        }
        if self.words().iter().map(|word| word.count_ones()).sum::<u32>() != self.len {
            return Err("values of a linear store miscounted");
        }
        Ok(())
    }
}

impl Drop for Linear {
    fn drop(&mut self) {
        self.end_all();
    }
}
