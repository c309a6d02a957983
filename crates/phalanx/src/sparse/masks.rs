//! [`Masks`]: the presence bits of slots in sparse sets.
#![allow(unsafe_code)]

use crate::alloc::{try_clone_slice, try_reserve};
use phalanx_store::AllocError;

/// The presence bits of slots: for each covered slot a mask, with a bit for each sparse set.
///
/// A slot that is not covered is in no sparse set.
#[derive(Debug)]
pub(super) struct Masks {
    /// `stride` words for each covered slot.
    words: Vec<u64>,
    /// The number of covered slots.
    slots: u32,
    /// The number of words in a mask: at least one.
    stride: u32,
}

impl Masks {
    pub(super) const fn new() -> Masks {
        Masks { words: Vec::new(), slots: 0, stride: 1 }
    }

    /// Returns the number of covered slots.
    #[inline(always)]
    pub(super) fn slots(&self) -> u32 {
        self.slots
    }

    /// Returns the number of words in a mask.
    #[inline(always)]
    pub(super) fn stride(&self) -> u32 {
        self.stride
    }

    /// Returns the position of a slot's first word, or `usize::MAX` if it would overflow.
    #[inline(always)]
    fn first(&self, slot: u32) -> usize {
        (slot as usize).saturating_mul(self.stride as usize)
    }

    /// Returns the mask of a slot: no words if it is not covered.
    #[inline(always)]
    pub(super) fn get(&self, slot: u32) -> &[u64] {
        let first = self.first(slot);
        self.words.get(first..first.saturating_add(self.stride as usize)).unwrap_or_default()
    }

    /// Returns the mask of a slot, for writing.
    #[inline(always)]
    pub(super) fn get_mut(&mut self, slot: u32) -> &mut [u64] {
        let first = self.first(slot);
        self.words.get_mut(first..first.saturating_add(self.stride as usize)).unwrap_or_default()
    }

    /// Returns the first word of a slot's mask.
    #[inline(always)]
    pub(super) fn first_word(&self, slot: u32) -> u64 {
        self.words.get(self.first(slot)).copied().unwrap_or(0)
    }

    /// Sets bits in the first word of a slot's mask.
    ///
    /// # Panics
    ///
    /// Panics if the slot is not covered.
    #[inline(always)]
    pub(super) fn set_in_first_word(&mut self, slot: u32, bits: u64) {
        let first = self.first(slot);
        self.words[first] |= bits;
    }

    /// Sets or clears a bit of a slot.
    ///
    /// # Panics
    ///
    /// Panics if the slot is not covered, or the bit is not [added](Masks::try_add_bit).
    #[inline]
    pub(super) fn set(&mut self, slot: u32, bit: u32, present: bool) {
        assert!(bit / 64 < self.stride);
        let first = self.first(slot);
        set_bit(&mut self.words[first + bit as usize / 64], bit, present);
    }

    /// Sets a bit of some slots.
    ///
    /// # Panics
    ///
    /// Panics if a slot is not covered, or the bit is not [added](Masks::try_add_bit).
    pub(super) fn set_all(&mut self, bit: u32, slots: impl Iterator<Item = u32>) {
        assert!(bit / 64 < self.stride);
        let (word, bits) = (bit as usize / 64, 1 << (bit % 64));
        match self.stride {
            // Nothing is multiplied for each slot.
            1 => slots.for_each(|slot| self.words[slot as usize] |= bits),
            stride => slots.for_each(|slot| self.words[slot as usize * stride as usize + word] |= bits),
        }
    }

    /// Sets or clears a bit of a slot, unchecked.
    ///
    /// # Safety
    ///
    /// The slot is covered, and the bit was [added](Masks::try_add_bit).
    #[inline(always)]
    pub(super) unsafe fn set_unchecked(&mut self, slot: u32, bit: u32, present: bool) {
        // SAFETY: the slot is covered, by the caller's contract, and a mask has a word for each added bit.
        set_bit(unsafe { self.word_unchecked_mut(slot, bit / 64) }, bit, present);
    }

    /// Returns a word of a slot's mask, for writing, unchecked.
    ///
    /// # Safety
    ///
    /// The slot is covered, and `word` is less than the stride.
    #[inline(always)]
    pub(super) unsafe fn word_unchecked_mut(&mut self, slot: u32, word: u32) -> &mut u64 {
        debug_assert!(slot < self.slots && word < self.stride);
        // SAFETY: the slot is covered and its mask has this word, by the caller's contract.
        unsafe { self.words.get_unchecked_mut((slot * self.stride + word) as usize) }
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
        let words = (slot + 1).checked_mul(self.stride).ok_or(AllocError::CapacityOverflow)? as usize;
        // Not a few at a time at first.
        let additional = words.max(16) - self.words.len();
        try_reserve(&mut self.words, additional)?;
        // As many as there is capacity for. Positions of words are less than `u32::MAX`.
        self.slots = u32::try_from(self.words.capacity()).unwrap_or(u32::MAX) / self.stride;
        self.words.resize(self.first(self.slots), 0);
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
        for slot in 0..self.slots {
            wider.get_mut(slot)[..self.stride as usize].copy_from_slice(self.get(slot));
        }
        *self = wider;
        Ok(())
    }

    /// Clears all bits.
    pub(super) fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Returns the number of bits that are set.
    pub(super) fn count(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// Returns the number of words up to the last slot that has a bit.
    fn used_words(&self) -> usize {
        let last = self.words.iter().rposition(|word| *word != 0);
        last.map_or(0, |last| (last / self.stride as usize + 1) * self.stride as usize)
    }

    /// Clones the masks up to the last slot that has a bit.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails.
    pub(super) fn try_clone(&self) -> Result<Masks, AllocError> {
        let words = try_clone_slice(&self.words[..self.used_words()])?;
        Ok(Masks { slots: words.len() as u32 / self.stride, words, stride: self.stride })
    }

    /// Frees the words after the last slot that has a bit, and returns whether memory was freed. If allocation fails,
    /// the larger block is kept.
    pub(super) fn shrink(&mut self) -> bool {
        let before = self.bytes();
        if self.used_words() < self.words.capacity()
            && let Ok(copy) = self.try_clone()
        {
            *self = copy;
        }
        self.bytes() < before
    }

    /// Returns the address of a slot's mask, for a prefetch. It may not be covered.
    #[inline(always)]
    pub(super) fn address(&self, slot: u32) -> *const u64 {
        self.words.as_ptr().wrapping_add(self.first(slot))
    }

    /// Returns the number of bytes allocated.
    pub(super) fn bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }
}

/// Sets or clears a bit in its word.
#[inline(always)]
fn set_bit(word: &mut u64, bit: u32, present: bool) {
    *word = *word & !(1 << (bit % 64)) | u64::from(present) << (bit % 64);
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
    #[should_panic(expected = "out of bounds")]
    fn a_slot_that_is_not_covered_has_no_bits() {
        Masks::new().set(0, 0, true);
    }
}
