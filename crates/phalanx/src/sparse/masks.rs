//! [`Masks`]: the presence bits of slots in sparse sets.
#![allow(unsafe_code)]

use phalanx_store::AllocError;
use phalanx_store::raw::LaneOf;

/// The presence bits of slots: for each covered slot a mask, with a bit for each sparse set.
///
/// A slot that is not covered is in no sparse set. All words of covered slots are initialised.
#[derive(Debug)]
pub(super) struct Masks {
    words: LaneOf<u64>,
    /// The number of covered slots.
    slots: u32,
    /// The number of words in a mask: at least one.
    stride: u32,
}

impl Masks {
    pub(super) const fn new() -> Masks {
        Masks { words: LaneOf::new(), slots: 0, stride: 1 }
    }

    /// Returns the number of covered slots.
    #[inline(always)]
    pub(super) fn slots(&self) -> u32 {
        self.slots
    }

    /// Returns the words of all covered slots.
    fn as_slice(&self) -> &[u64] {
        // SAFETY: the words of covered slots are within the capacity and initialised; writing needs `&mut self`.
        unsafe { self.words.slice(self.slots * self.stride) }
    }

    /// Returns the words of all covered slots, for writing.
    fn as_mut_slice(&mut self) -> &mut [u64] {
        // SAFETY: the words of covered slots are within the capacity and initialised.
        unsafe { self.words.slice_mut(self.slots * self.stride) }
    }

    /// Returns the mask of a slot: no words if it is not covered.
    #[inline(always)]
    pub(super) fn get(&self, slot: u32) -> &[u64] {
        if slot >= self.slots {
            return &[];
        }
        // SAFETY: the slot is covered, so `stride` initialised words begin there; writing needs `&mut self`.
        unsafe { core::slice::from_raw_parts(self.words.at(slot * self.stride), self.stride as usize) }
    }

    /// Returns the first word of a slot's mask.
    #[inline(always)]
    pub(super) fn first_word(&self, slot: u32) -> u64 {
        // SAFETY: the slot is covered, and a mask has at least one word, which is initialised.
        if slot < self.slots { unsafe { *self.words.at(slot * self.stride) } } else { 0 }
    }

    /// Returns a word of a slot's mask, for writing.
    ///
    /// # Safety
    ///
    /// The slot is covered, and `word` is less than the stride.
    #[inline(always)]
    pub(super) unsafe fn word_unchecked_mut(&mut self, slot: u32, word: u32) -> &mut u64 {
        debug_assert!(slot < self.slots && word < self.stride);
        // SAFETY: the slot is covered and its mask has this word, by the caller's contract; it is initialised.
        unsafe { &mut *self.words.at(slot * self.stride + word) }
    }

    /// Sets or clears a bit of a slot.
    ///
    /// # Panics
    ///
    /// Panics if the slot is not covered, or the bit is not [added](Masks::try_add_bit).
    pub(super) fn set(&mut self, slot: u32, bit: u32, present: bool) {
        assert!(slot < self.slots && bit / 64 < self.stride, "a presence bit beyond the masks");
        // SAFETY: the slot is covered, and the mask has the word of the bit, as just tested.
        unsafe { self.set_unchecked(slot, bit, present) };
    }

    /// Sets or clears a bit of a slot, unchecked.
    ///
    /// # Safety
    ///
    /// The slot is covered, and the bit was [added](Masks::try_add_bit).
    #[inline(always)]
    pub(super) unsafe fn set_unchecked(&mut self, slot: u32, bit: u32, present: bool) {
        // SAFETY: the slot is covered, by the caller's contract, and a mask has a word for each added bit.
        let word = unsafe { self.word_unchecked_mut(slot, bit / 64) };
        *word = *word & !(1 << (bit % 64)) | u64::from(present) << (bit % 64);
    }

    /// Covers a slot.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; nothing changes.
    #[inline(always)]
    pub(super) fn try_cover(&mut self, slot: u32) -> Result<(), AllocError> {
        if slot < self.slots { Ok(()) } else { self.try_cover_slow(slot) }
    }

    #[cold]
    #[inline(never)]
    fn try_cover_slow(&mut self, slot: u32) -> Result<(), AllocError> {
        let words = (slot + 1).checked_mul(self.stride).ok_or(AllocError::CapacityOverflow)?;
        self.words.try_grow(words)?;
        let slots = self.words.capacity() / self.stride;
        for at in self.slots * self.stride..slots * self.stride {
            // SAFETY: the word is within the capacity.
            unsafe { self.words.at(at).write(0) };
        }
        self.slots = slots;
        Ok(())
    }

    /// Adds a bit to all masks. Their words double if it does not fit.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; nothing changes.
    pub(super) fn try_add_bit(&mut self, bit: u32) -> Result<(), AllocError> {
        if bit / 64 < self.stride {
            return Ok(());
        }
        let mut wider = Masks { stride: self.stride * 2, ..Masks::new() };
        if let Some(last) = self.slots.checked_sub(1) {
            wider.try_cover_slow(last)?;
        }
        let (old, new) = (self.stride as usize, wider.stride as usize);
        for (new, old) in wider.as_mut_slice().chunks_exact_mut(new).zip(self.as_slice().chunks_exact(old)) {
            new[..old.len()].copy_from_slice(old);
        }
        *self = wider;
        Ok(())
    }

    /// Clears all bits.
    pub(super) fn clear(&mut self) {
        self.as_mut_slice().fill(0);
    }

    /// Returns the number of bits that are set.
    pub(super) fn count(&self) -> u32 {
        self.as_slice().iter().map(|word| word.count_ones()).sum()
    }

    /// Returns the number of slots up to the last that has a bit.
    fn used_slots(&self) -> u32 {
        let last = self.as_slice().iter().rposition(|word| *word != 0);
        last.map_or(0, |last| last as u32 / self.stride + 1)
    }

    /// Clones the masks up to the last slot that has a bit.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails.
    pub(super) fn try_clone(&self) -> Result<Masks, AllocError> {
        let slots = self.used_slots();
        let mut copy = Masks { slots, stride: self.stride, words: LaneOf::new() };
        let used = &self.as_slice()[..(slots * self.stride) as usize];
        // SAFETY: no word of the new lane is in use, and no pointer into it exists.
        unsafe { copy.words.try_resize(used.len() as u32)? };
        // SAFETY: the new lane has capacity for these words, and the two do not overlap.
        unsafe { core::ptr::copy_nonoverlapping(used.as_ptr(), copy.words.ptr(), used.len()) };
        Ok(copy)
    }

    /// Frees the words after the last slot that has a bit, and returns whether memory was freed.
    pub(super) fn shrink(&mut self) -> bool {
        let (before, slots) = (self.bytes(), self.used_slots());
        // SAFETY: no covered slot above these has a bit, and they are not covered from here on. If allocation fails, the
        // larger block is kept.
        if unsafe { self.words.try_resize(slots * self.stride) }.is_ok() {
            self.slots = slots;
        }
        self.bytes() < before
    }

    /// Returns the address of a slot's mask, for a prefetch. It may not be covered.
    #[inline(always)]
    pub(super) fn address(&self, slot: u32) -> *const u64 {
        self.words.ptr().wrapping_add((slot as usize).wrapping_mul(self.stride as usize))
    }

    /// Returns the number of bytes allocated.
    pub(super) fn bytes(&self) -> usize {
        self.words.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::Masks;

    #[test]
    fn bits_survive_wider_masks_clones_and_shrinking() {
        let mut masks = Masks::new();
        masks.try_add_bit(3).unwrap();
        masks.try_cover(9).unwrap();
        masks.set(2, 3, true);
        masks.set(9, 3, true);
        masks.try_add_bit(70).unwrap();
        masks.set(2, 70, true);
        masks.set(9, 3, false);
        assert_eq!((masks.count(), masks.get(2)), (2, &[1 << 3, 1 << 6][..]));
        assert_eq!((masks.first_word(2), masks.first_word(9), masks.first_word(1 << 20)), (1 << 3, 0, 0));
        let copy = masks.try_clone().unwrap();
        assert_eq!((copy.slots(), copy.get(2), copy.get(3)), (3, masks.get(2), &[][..]));
        assert!(masks.shrink());
        assert_eq!((masks.slots(), masks.count()), (3, 2));
        masks.clear();
        assert_eq!(masks.count(), 0);
    }

    #[test]
    #[should_panic(expected = "a presence bit beyond the masks")]
    fn a_slot_that_is_not_covered_has_no_bits() {
        Masks::new().set(0, 0, true);
    }
}
