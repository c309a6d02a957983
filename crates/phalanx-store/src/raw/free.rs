//! The free slots of a container whose values never move: a bitmask with two summaries.
//!
//! # Representation
//!
//! For `slots` slots, `leaf` has a bit a slot, `mid` a bit a word of `leaf` that is not zero, `top` a bit a word of `mid`
//! that is not zero; `ceil(slots / 64)` words of `leaf`, and so on, are initialised. `low` is a word of `leaf` below which
//! all are zero.
//!
//! The lowest free slot is used first: values stay close together, successive insertions touch neighbouring memory, and
//! the order does not depend on the order of removals. It takes 0.13 bytes a slot, and freeing cannot fail.
#![allow(unsafe_code)]

use super::LaneOf;
use crate::AllocError;

/// Which of the slots are free.
#[derive(Debug, Default)]
pub(crate) struct FreeSlots {
    leaf: LaneOf<u64>,
    mid: LaneOf<u64>,
    top: LaneOf<u64>,
    slots: u32,
    count: u32,
    low: u32,
}

/// Words of each level for so many slots.
const fn words(slots: u32) -> [u32; 3] {
    [slots.div_ceil(1 << 6), slots.div_ceil(1 << 12), slots.div_ceil(1 << 18)]
}

impl FreeSlots {
    pub(crate) const fn new() -> FreeSlots {
        FreeSlots { leaf: LaneOf::new(), mid: LaneOf::new(), top: LaneOf::new(), slots: 0, count: 0, low: 0 }
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    pub(crate) fn bytes(&self) -> usize {
        self.leaf.bytes() + self.mid.bytes() + self.top.bytes()
    }

    /// Makes room for exactly `slots` slots, or more.
    pub(crate) fn try_reserve(&mut self, slots: u32) -> Result<(), AllocError> {
        let [leaf, mid, top] = words(slots);
        for (lane, needed) in [(&mut self.leaf, leaf), (&mut self.mid, mid), (&mut self.top, top)] {
            if needed > lane.capacity() {
                // SAFETY: the capacity grows.
                unsafe { lane.try_resize(needed)? };
            }
        }
        Ok(())
    }

    /// Gives back the room above the slots that there are.
    pub(crate) fn try_shrink(&mut self) -> Result<(), AllocError> {
        let [leaf, mid, top] = words(self.slots);
        // SAFETY: words above those of the slots are not in use.
        unsafe {
            self.leaf.try_resize(leaf)?;
            self.mid.try_resize(mid)?;
            self.top.try_resize(top)
        }
    }

    /// Adds a slot that is not free.
    ///
    /// # Safety
    ///
    /// There is room for it.
    #[inline(always)]
    pub(crate) unsafe fn add_used(&mut self) {
        let slot = self.slots;
        self.slots = slot + 1;
        if slot.is_multiple_of(64) {
            // SAFETY: there is room, by the caller's promise; a word begins with its first slot.
            unsafe {
                self.leaf.at(slot / 64).write(0);
                if slot.is_multiple_of(1 << 12) {
                    self.mid.at(slot >> 12).write(0);
                    if slot.is_multiple_of(1 << 18) {
                        self.top.at(slot >> 18).write(0);
                    }
                }
            }
        }
    }

    /// Frees a slot.
    ///
    /// # Safety
    ///
    /// There is such a slot, and it is not free.
    #[inline(always)]
    pub(crate) unsafe fn free(&mut self, slot: u32) {
        debug_assert!(slot < self.slots);
        let (leaf, mid, top) = (slot >> 6, slot >> 12, slot >> 18);
        // SAFETY: the words of a slot that exists are initialised, on each level.
        unsafe {
            let word = self.leaf.at(leaf);
            if *word == 0 {
                *self.mid.at(mid) |= 1 << (leaf % 64);
                *self.top.at(top) |= 1 << (mid % 64);
            }
            debug_assert!(*word & 1 << (slot % 64) == 0);
            *word |= 1 << (slot % 64);
        }
        self.low = self.low.min(leaf);
        self.count += 1;
    }

    /// The word of `leaf` that has the lowest free slot.
    ///
    /// # Safety
    ///
    /// A slot is free.
    #[inline(always)]
    unsafe fn lowest(&self) -> u32 {
        // SAFETY: `low` is at most the word of a free slot, which is initialised, and so are all below it; the words of
        // `top` and `mid` that are looked at are not above that slot's.
        unsafe {
            if self.count > 0 && *self.leaf.at(self.low) != 0 {
                return self.low;
            }
            let mut top = self.low >> 12;
            while *self.top.at(top) == 0 {
                top += 1;
            }
            let mid = top * 64 + (*self.top.at(top)).trailing_zeros();
            mid * 64 + (*self.mid.at(mid)).trailing_zeros()
        }
    }

    /// The slot that [`take`](FreeSlots::take) will return.
    ///
    /// # Safety
    ///
    /// A slot is free.
    pub(crate) unsafe fn peek(&self) -> u32 {
        // SAFETY: the caller's promise.
        unsafe {
            let leaf = self.lowest();
            leaf * 64 + (*self.leaf.at(leaf)).trailing_zeros()
        }
    }

    /// Takes the lowest free slot.
    ///
    /// # Safety
    ///
    /// A slot is free.
    #[inline(always)]
    pub(crate) unsafe fn take(&mut self) -> u32 {
        debug_assert!(self.count > 0);
        // SAFETY: a slot is free, so the lowest word is initialised and not zero, and its summaries are set.
        unsafe {
            let leaf = self.lowest();
            let word = self.leaf.at(leaf);
            let slot = leaf * 64 + (*word).trailing_zeros();
            *word &= *word - 1;
            if *word == 0 {
                let mid = self.mid.at(leaf / 64);
                *mid &= !(1 << (leaf % 64));
                if *mid == 0 {
                    *self.top.at(leaf >> 12) &= !(1 << (leaf / 64 % 64));
                }
            }
            self.low = leaf;
            self.count -= 1;
            slot
        }
    }

    pub(crate) fn try_clone(&self) -> Result<FreeSlots, AllocError> {
        let mut copy = FreeSlots::new();
        copy.try_reserve(self.slots)?;
        let [leaf, mid, top] = words(self.slots);
        let lanes = [(&self.leaf, &copy.leaf, leaf), (&self.mid, &copy.mid, mid), (&self.top, &copy.top, top)];
        for (from, to, words) in lanes {
            // SAFETY: so many words are initialised there, and there is room for them here.
            unsafe { core::ptr::copy_nonoverlapping(from.ptr(), to.ptr(), words as usize) };
        }
        (copy.slots, copy.count, copy.low) = (self.slots, self.count, self.low);
        Ok(copy)
    }

    /// Whether a slot is free.
    pub(crate) fn is_free(&self, slot: u32) -> bool {
        // SAFETY: the word of a slot below `slots` is initialised.
        slot < self.slots && unsafe { *self.leaf.at(slot / 64) } & 1 << (slot % 64) != 0
    }

    /// Checks the summaries, the count and the lower bound.
    pub(crate) fn validate(&self) -> Result<(), &'static str> {
        let [leaf, mid, top] = words(self.slots);
        // SAFETY: so many words are initialised.
        let (leaf, mid, top) = unsafe { (self.leaf.slice(leaf), self.mid.slice(mid), self.top.slice(top)) };
        let sums = |low: &[u64], high: &[u64]| {
            (0..high.len() * 64).all(|i| {
                let set = high[i / 64] & 1 << (i % 64) != 0;
                set == low.get(i).is_some_and(|w| *w != 0)
            })
        };
        if !sums(leaf, mid) || !sums(mid, top) {
            return Err("a summary of the free slots is wrong");
        }
        if leaf.iter().map(|w| w.count_ones()).sum::<u32>() != self.count {
            return Err("free slots miscounted");
        }
        if leaf.iter().take(self.low as usize).any(|w| *w != 0) {
            return Err("a free slot below the lowest");
        }
        Ok(())
    }
}
