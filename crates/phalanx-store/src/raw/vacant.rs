//! Where the vacant slots are, in a container whose values never move: two summaries over its presence bits.
//!
//! # Representation
//!
//! The container has a presence bit a slot, in words of 64. `mid` has a bit for each of these words, `top` a bit for each
//! word of `mid`. A word with a vacant slot that is not retired has its bit set in `mid`; the converse need not hold, and
//! is established when the word is looked at. `top` says exactly which words of `mid` are not zero. `low` is a word below
//! which there is no vacant slot that is not retired.
//!
//! The lowest vacant slot is used first: values stay close together, successive insertions touch neighbouring memory,
//! the order does not depend on the order of removals nor on these caches, and vacating cannot fail. It takes 0.002 bytes
//! a slot.
#![allow(unsafe_code)]

use super::LaneOf;
use crate::AllocError;
use crate::generation::RETIRED;

/// Which words of a presence mask have vacant slots.
#[derive(Debug)]
pub(crate) struct Vacant {
    mid: LaneOf<u64>,
    top: LaneOf<u64>,
    /// Words of the presence mask that are covered.
    words: u32,
    low: u32,
    retired: u32,
}

impl Vacant {
    pub(crate) const fn new() -> Vacant {
        Vacant { mid: LaneOf::new(), top: LaneOf::new(), words: 0, low: 0, retired: 0 }
    }

    /// How many slots are vacant for ever.
    #[inline(always)]
    pub(crate) fn retired(&self) -> u32 {
        self.retired
    }

    pub(crate) fn bytes(&self) -> usize {
        self.mid.bytes() + self.top.bytes()
    }

    /// Makes room for the summaries of so many words.
    pub(crate) fn try_reserve(&mut self, words: u32) -> Result<(), AllocError> {
        for (lane, needed) in [(&mut self.mid, words.div_ceil(64)), (&mut self.top, words.div_ceil(64 * 64))] {
            if needed > lane.capacity() {
                // SAFETY: the capacity grows.
                unsafe { lane.try_resize(needed)? };
            }
        }
        Ok(())
    }

    /// Covers `words` words, or fewer than before, and looks for vacant slots in all of them.
    ///
    /// # Safety
    ///
    /// There is room for their summaries.
    pub(crate) unsafe fn cover(&mut self, words: u32) {
        let fill = |lane: &mut LaneOf<u64>, bits: u32| {
            for at in 0..bits.div_ceil(64) {
                let rest = bits - at * 64;
                let word = if rest < 64 { (1 << rest) - 1 } else { u64::MAX };
                // SAFETY: there is room for so many words.
                unsafe { lane.at(at).write(word) };
            }
        };
        fill(&mut self.mid, words);
        fill(&mut self.top, words.div_ceil(64));
        (self.words, self.low) = (words, 0);
    }

    /// Gives back room that the summaries do not need.
    pub(crate) fn try_shrink(&mut self) -> Result<(), AllocError> {
        // SAFETY: the summaries of the words that are covered stay.
        unsafe {
            self.mid.try_resize(self.words.div_ceil(64))?;
            self.top.try_resize(self.words.div_ceil(64 * 64))
        }
    }

    /// Counts a slot that will not be used again.
    pub(crate) fn retire(&mut self) {
        self.retired += 1;
    }

    /// Notes that a slot has become vacant and is not retired. Needed for the first of a word only, unless slots are
    /// retired.
    ///
    /// # Safety
    ///
    /// Its word is covered.
    #[inline(never)]
    pub(crate) unsafe fn note(&mut self, slot: u32) {
        let word = slot / 64;
        debug_assert!(word < self.words);
        // SAFETY: the summaries of a word that is covered are initialised.
        unsafe {
            let mid = self.mid.at(word / 64);
            if *mid & 1 << (word % 64) == 0 {
                *mid |= 1 << (word % 64);
                *self.top.at(word >> 12) |= 1 << (word / 64 % 64);
            }
        }
        self.low = self.low.min(word);
    }

    /// The lowest vacant slot that is not retired, and its bit.
    ///
    /// # Safety
    ///
    /// There is one; `bits` and `generations` are the container's, whose words are all covered.
    #[inline(always)]
    pub(crate) unsafe fn lowest(&mut self, bits: &LaneOf<u64>, generations: &LaneOf<u32>) -> (u32, u64) {
        // SAFETY: a vacant slot exists, at or above `low`; bits past the last slot are higher than it, so that they are
        // not reached. So every word looked at is initialised, and every slot.
        unsafe {
            loop {
                let word = self.low;
                let mut vacant = !*bits.at(word);
                while vacant != 0 {
                    let slot = word * 64 + vacant.trailing_zeros();
                    if *generations.at(slot) != RETIRED {
                        // The lowest bit alone, without counting: the next insertion waits for the word.
                        return (slot, vacant & vacant.wrapping_neg());
                    }
                    vacant &= vacant - 1;
                }
                self.pass(word);
            }
        }
    }

    /// Goes on from a word that has nothing to offer.
    ///
    /// # Safety
    ///
    /// The word is covered, and a later one has a vacant slot.
    #[inline(never)]
    unsafe fn pass(&mut self, word: u32) {
        // SAFETY: the summaries of a word that is covered are initialised; a later word has its bit set, so that the
        // search ends within them.
        unsafe {
            let mid = self.mid.at(word / 64);
            *mid &= !(1 << (word % 64));
            if *mid == 0 {
                *self.top.at(word >> 12) &= !(1 << (word / 64 % 64));
            }
            let mut top = word >> 12;
            while *self.top.at(top) == 0 {
                top += 1;
            }
            let mid = top * 64 + (*self.top.at(top)).trailing_zeros();
            self.low = mid * 64 + (*self.mid.at(mid)).trailing_zeros();
        }
    }

    /// Checks the summaries against the bits and the generation words.
    pub(crate) fn validate(&self, bits: &[u64], generations: &[u32]) -> Result<(), &'static str> {
        if bits.len() != self.words as usize {
            return Err("a summary of other words than there are");
        }
        // SAFETY: so many words are initialised.
        let (mid, top) =
            unsafe { (self.mid.slice(self.words.div_ceil(64)), self.top.slice(self.words.div_ceil(64 * 64))) };
        for (slot, word) in generations.iter().enumerate() {
            let w = slot / 64;
            if bits[w] & 1 << (slot % 64) == 0 && *word != RETIRED {
                if mid[w / 64] & 1 << (w % 64) == 0 {
                    return Err("a vacant slot that the summary does not show");
                }
                if (w as u32) < self.low {
                    return Err("a vacant slot below the lowest");
                }
            }
        }
        if (0..top.len() * 64).any(|i| (top[i / 64] & 1 << (i % 64) != 0) != mid.get(i).is_some_and(|w| *w != 0)) {
            return Err("a summary of the summary is wrong");
        }
        match generations.iter().filter(|w| **w == RETIRED).count() == self.retired as usize {
            true => Ok(()),
            false => Err("retired slots miscounted"),
        }
    }
}
