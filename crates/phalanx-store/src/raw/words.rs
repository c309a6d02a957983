//! [`Words`]: a lane of bits.
//!
//! # Invariants
//!
//! `bits` is a multiple of 64, and as many bits of the lane are initialised.
#![allow(unsafe_code)]

use super::{Lane, LaneOf};
use crate::AllocError;

/// Bits in a lane of 64-bit words, all of them initialised. The lane's dirty bits serve incremental copies.
#[derive(Debug, Default)]
pub struct Words {
    lane: LaneOf<u64>,
    bits: u32,
}

/// Returns the number of bits of `len` words.
fn bits_of(len: u32) -> Result<u32, AllocError> {
    len.checked_mul(64).ok_or(AllocError::CapacityOverflow)
}

impl Words {
    /// Creates a list without words.
    pub const fn new() -> Words {
        Words { lane: LaneOf::new(), bits: 0 }
    }

    /// Creates a list with these words.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails.
    pub fn try_from_words(words: impl ExactSizeIterator<Item = u64>) -> Result<Words, AllocError> {
        let mut new = Words::new();
        let len = u32::try_from(words.len()).map_err(|_| AllocError::CapacityOverflow)?;
        bits_of(len)?;
        // SAFETY: no row is in use.
        unsafe { new.lane.try_resize(len)? };
        for (at, word) in (0..len).zip(words) {
            // SAFETY: the word is below the capacity.
            unsafe { new.lane.at(at).write(word) };
            new.bits += 64;
        }
        Ok(new)
    }

    /// Returns the number of words.
    #[inline(always)]
    pub const fn len(&self) -> u32 {
        self.bits / 64
    }

    /// Returns the number of bits: 64 for each word.
    #[inline(always)]
    pub const fn bits(&self) -> u32 {
        self.bits
    }

    /// Returns `true` if there are no words.
    pub const fn is_empty(&self) -> bool {
        self.bits == 0
    }

    /// Returns the words.
    #[inline(always)]
    pub const fn words(&self) -> &[u64] {
        // SAFETY: as many words are initialised; writing needs `&mut self`.
        unsafe { self.lane.slice(self.len()) }
    }

    /// Returns the words, for writing. The caller sets the dirty bits.
    #[inline(always)]
    pub const fn words_mut(&mut self) -> &mut [u64] {
        // SAFETY: as many words are initialised.
        unsafe { self.lane.slice_mut(self.len()) }
    }

    /// Returns the words for writing, and their lane, in which the caller sets the dirty bits.
    #[inline(always)]
    pub const fn parts_mut(&mut self) -> (&mut [u64], &Lane) {
        let (words, len) = (self.lane.ptr(), self.len());
        // SAFETY: as many words are initialised. They are not part of the lane's header, and the list is borrowed exclusively.
        (unsafe { core::slice::from_raw_parts_mut(words, len as usize) }, self.lane.lane())
    }

    /// Returns a bit, or `false` if there is no word for it.
    #[inline(always)]
    pub const fn has(&self, bit: u32) -> bool {
        // SAFETY: as many bits are initialised.
        bit < self.bits && unsafe { *self.lane.at(bit / 64) } & 1 << (bit % 64) != 0
    }

    /// Flips a bit. With `TRACKED`, the dirty bit of its word is set if the words have dirty bits.
    ///
    /// # Safety
    ///
    /// There is a word for the bit. Without `TRACKED`, the lane is not [tracked](Lane::is_tracked).
    #[inline(always)]
    pub unsafe fn flip<const TRACKED: bool>(&mut self, bit: u32) {
        debug_assert!(TRACKED || !self.lane().is_tracked());
        // SAFETY: the word is initialised, by the caller's contract. The lane is borrowed exclusively.
        unsafe {
            *self.lane.at(bit / 64) ^= 1 << (bit % 64);
            if TRACKED {
                self.lane.set_dirty(bit / 64);
            }
        }
    }

    /// Sets the dirty bits of all words.
    pub fn set_dirty(&mut self) {
        // SAFETY: the words are below the capacity, and the lane is borrowed exclusively.
        unsafe { self.lane.set_dirty_rows(0..self.len()) };
    }

    /// Adds words without a bit, so that there are `len`.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; the list is unchanged then.
    pub fn try_grow(&mut self, len: u32) -> Result<(), AllocError> {
        let bits = bits_of(len)?;
        self.lane.try_grow(len)?;
        for at in self.len()..len {
            // SAFETY: the word is below the capacity.
            unsafe { self.lane.at(at).write(0) };
        }
        self.bits = self.bits.max(bits);
        Ok(())
    }

    /// Removes the words from `len` on, and frees their memory.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails. The words are removed all the same.
    pub fn try_truncate(&mut self, len: u32) -> Result<(), AllocError> {
        let len = self.len().min(len);
        self.bits = len * 64;
        // SAFETY: no word from there on is in use.
        unsafe { self.lane.try_resize(len) }
    }

    /// Raises the version of the lane: [`Lane::touch`].
    pub fn touch(&self) {
        self.lane.touch();
    }

    /// Returns the lane.
    pub const fn lane(&self) -> &Lane {
        self.lane.lane()
    }

    /// Returns the lane, to track it.
    ///
    /// # Safety
    ///
    /// The lane is not replaced or resized.
    pub const unsafe fn lane_mut(&mut self) -> &mut Lane {
        // SAFETY: the lane is not replaced, by the caller's contract.
        unsafe { self.lane.erased() }
    }
}

#[cfg(test)]
mod tests {
    use super::Words;

    #[test]
    fn bits_stay_where_they_are_while_words_come_and_go() {
        let mut words = Words::new();
        assert!(words.is_empty() && !words.has(0));
        words.try_grow(3).unwrap();
        // SAFETY: there are words for these bits.
        unsafe {
            words.flip::<true>(1);
            words.flip::<false>(64 * 2 + 5);
        }
        words.try_grow(1).unwrap();
        assert_eq!((words.len(), words.bits(), words.words()), (3, 192, &[2, 0, 32][..]));
        assert!(words.has(1) && words.has(133) && !words.has(132) && !words.has(192));
        words.try_truncate(1).unwrap();
        assert!(words.has(1) && !words.has(133));
        words.try_grow(3).unwrap();
        assert_eq!(words.words(), [2, 0, 0]);
        let copy = Words::try_from_words(words.words().iter().copied()).unwrap();
        assert_eq!(copy.words(), words.words());
    }
}
