//! [`Vacant`]: finds vacant slots in a container whose values never move, by two summaries over its presence bits.
//!
//! # Representation
//!
//! The container has a presence bit a slot, in words of 64. `mid` has a bit for each of these words, `top` a bit for each
//! word of `mid`. A word with a vacant slot that is not retired has its bit set in `mid`. The converse need not hold: the
//! search clears such bits. `top` says exactly which words of `mid` are not zero. `low` is a word below which there is no
//! vacant slot that is not retired. `usable` counts the slots that are not retired.
//!
//! A word whose presence bits are below `known` has its bit set in `mid`. `known` is `u64::MAX` at first, as every word
//! but a full one has a vacant slot. It is 0 after a slot was retired.
//!
//! Slots that were never used count as vacant. The container finds them without a search: while no other slot is vacant,
//! the first of them is next. So a search always ends at a slot that was used.
//!
//! The lowest vacant slot is used first. So values stay close together, and successive insertions touch neighbouring
//! memory. The order depends neither on the order of removals nor on these caches, and vacating cannot fail. The
//! summaries take 0.002 bytes a slot.
#![allow(unsafe_code)]

use super::{Cells, LaneOf};
use crate::AllocError;
use crate::generation::RETIRED;

/// The words of a presence mask that have vacant slots.
#[derive(Debug)]
pub(crate) struct Vacant {
    mid: LaneOf<u64>,
    top: LaneOf<u64>,
    known: u64,
    /// Words of the presence mask that are covered.
    words: u32,
    low: u32,
    usable: u32,
    retired: u32,
}

impl Vacant {
    pub(crate) const fn new() -> Vacant {
        Vacant { mid: LaneOf::new(), top: LaneOf::new(), known: u64::MAX, words: 0, low: 0, usable: 0, retired: 0 }
    }

    /// Returns the number of slots that are not retired.
    #[inline(always)]
    pub(crate) fn usable(&self) -> u32 {
        self.usable
    }

    /// Returns `true` if a word that had these presence bits must be [noted](Vacant::note) when one of them is cleared.
    #[inline(always)]
    pub(crate) fn unknown(&self, before: u64) -> bool {
        before >= self.known
    }

    pub(crate) fn bytes(&self) -> usize {
        self.mid.bytes() + self.top.bytes()
    }

    /// Reserves capacity for the summaries of `slots` slots.
    pub(crate) fn try_reserve(&mut self, slots: u32) -> Result<(), AllocError> {
        let words = slots.div_ceil(64);
        for (lane, needed) in [(&mut self.mid, words.div_ceil(64)), (&mut self.top, words.div_ceil(64 * 64))] {
            if needed > lane.capacity() {
                // SAFETY: the capacity grows.
                unsafe { lane.try_resize(needed)? };
            }
        }
        Ok(())
    }

    /// Covers the words of `slots` slots, more or fewer than before. All of them may have vacant slots.
    ///
    /// # Safety
    ///
    /// Capacity for their summaries is reserved, and all slots that are retired are among them.
    pub(crate) unsafe fn cover(&mut self, slots: u32) {
        let words = slots.div_ceil(64);
        let fill = |lane: &mut LaneOf<u64>, bits: u32| {
            for at in 0..bits.div_ceil(64) {
                let rest = bits - at * 64;
                let word = if rest < 64 { (1 << rest) - 1 } else { u64::MAX };
                // SAFETY: the caller has reserved capacity for the summaries.
                unsafe { lane.at(at).write(word) };
            }
        };
        fill(&mut self.mid, words);
        fill(&mut self.top, words.div_ceil(64));
        (self.words, self.low, self.usable) = (words, 0, slots - self.retired);
    }

    /// Counts as many slots as retired as `source` does. The slots must be [covered](Vacant::cover) again then.
    pub(crate) fn adopt_retired(&mut self, source: &Vacant) {
        (self.retired, self.known) = (source.retired, source.known);
    }

    /// Frees capacity that the summaries do not need.
    pub(crate) fn try_shrink(&mut self) -> Result<(), AllocError> {
        // SAFETY: the summaries of the words that are covered stay.
        unsafe {
            self.mid.try_resize(self.words.div_ceil(64))?;
            self.top.try_resize(self.words.div_ceil(64 * 64))
        }
    }

    /// Counts slots as retired.
    ///
    /// Not a call: a loop that removes keeps the fields of its container in registers then.
    #[inline(always)]
    pub(crate) fn retire(&mut self, count: u32) {
        if count > 0 {
            self.retired += count;
            self.usable -= count;
            self.known = 0;
        }
    }

    /// Notes that slots of a word may have become vacant. Needed if the word is [unknown](Vacant::unknown).
    ///
    /// # Safety
    ///
    /// The word is covered.
    #[inline(always)]
    pub(crate) unsafe fn note(&mut self, word: u32) {
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

    /// Returns the number of slots that are retired.
    #[inline(always)]
    pub(crate) fn retired(&self) -> u32 {
        self.retired
    }

    /// Returns the lowest vacant slot that is not retired, its presence word, and that word's value with the slot's bit set.
    ///
    /// # Safety
    ///
    /// There is one that was used; `bits` and `cells` are the container's, whose words are all covered.
    #[inline(always)]
    pub(crate) unsafe fn lowest<T>(&mut self, bits: &LaneOf<u64>, cells: &Cells<T>) -> (u32, *mut u64, u64) {
        // SAFETY: a vacant slot that was used exists, at or above `low`. Bits of slots that were never used are higher than it,
        // so they are not reached. So every word and every slot that is read is initialised.
        unsafe {
            loop {
                let place = bits.at(self.low);
                let presence = *place;
                if presence != u64::MAX {
                    let slot = self.low * 64 + presence.trailing_ones();
                    // The lowest bit that is not set, without counting: the next insertion waits for the word.
                    if *cells.word(slot as usize) != RETIRED {
                        return (slot, place, presence | (presence + 1));
                    }
                    if let Some((slot, bit)) = self.beyond_retired(!presence, cells) {
                        return (slot, place, presence | bit);
                    }
                }
                self.pass(self.low);
            }
        }
    }

    /// Returns the lowest slot that is not retired of these vacant ones of the word `low`, and its bit.
    ///
    /// # Safety
    ///
    /// `cells` are the container's. In the last word that has used slots there is one.
    #[cold]
    #[inline(never)]
    unsafe fn beyond_retired<T>(&self, mut vacant: u64, cells: &Cells<T>) -> Option<(u32, u64)> {
        while vacant != 0 {
            let slot = self.low * 64 + vacant.trailing_zeros();
            // SAFETY: `cells` are the container's, and in the last word that has used slots one is found before the bits of the
            // others. So the slot was used, and its word is initialised.
            if unsafe { *cells.word(slot as usize) } != RETIRED {
                return Some((slot, vacant & vacant.wrapping_neg()));
            }
            vacant &= vacant - 1;
        }
        None
    }

    /// Moves `low` on from a word without usable vacant slots.
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
    ///
    /// `generations` are those of used slots; there are `slots`.
    pub(crate) fn validate(&self, bits: &[u64], generations: &[u32], slots: u32) -> Result<(), &'static str> {
        if bits.len() != self.words as usize {
            return Err("a summary of other words than there are");
        }
        // SAFETY: the summaries of all covered words are initialised.
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
        let retired = generations.iter().filter(|w| **w == RETIRED).count();
        if retired != self.retired as usize || self.usable != slots - self.retired {
            return Err("retired slots miscounted");
        }
        match (self.known, self.retired) {
            (u64::MAX, 0) | (0, 1..) => Ok(()),
            _ => Err("words are taken for known that are not"),
        }
    }
}
