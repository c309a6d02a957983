//! The block of a container whose values never move: a value and a generation word for each slot.
//!
//! # Invariants
//!
//! - With a capacity above 0, `base` is a block that these cells alone own, allocated with exactly [`Cells::layout`] of
//!   the capacity; the values begin at its start, the words at `words`, which is [`Cells::offset`] of the capacity
//!   further on. With a capacity of 0 nothing is allocated and both dangle, aligned.
//! - Cells have no length and never drop values. The container that keeps the length does.
//!
//! One block can grow in place when it is the last in the heap; two blocks of one container would be in each other's way.
//! When it grows, only the words move, which are small beside the values.
#![allow(unsafe_code)]

use super::lane::amortised;
use super::prefetch;
use crate::AllocError;
use crate::generation;
use alloc::alloc::{alloc, dealloc, realloc};
use core::alloc::Layout;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// Memory for values and the words of their slots.
pub(crate) struct Cells<T> {
    base: NonNull<u8>,
    words: NonNull<u32>,
    capacity: u32,
    values: PhantomData<T>,
}

// SAFETY: cells own their block and hand out nothing but raw pointers; the values in it are sent along with them at most.
unsafe impl<T: Send> Send for Cells<T> {}
// SAFETY: behind a shared reference nothing changes; the values may be reached from several threads, as `T` allows.
unsafe impl<T: Sync> Sync for Cells<T> {}

impl<T> Cells<T> {
    pub(crate) const fn new() -> Cells<T> {
        let (base, words) = (NonNull::<T>::dangling().cast(), NonNull::dangling());
        Cells { base, words, capacity: 0, values: PhantomData }
    }

    /// Returns the capacity in slots.
    #[inline(always)]
    pub(crate) const fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Returns a pointer to the first value.
    #[inline(always)]
    pub(crate) const fn values(&self) -> *mut T {
        self.base.as_ptr().cast()
    }

    /// Returns a pointer to the value of a slot.
    ///
    /// # Safety
    ///
    /// The slot is not above the capacity.
    #[inline(always)]
    pub(crate) const unsafe fn value(&self, slot: usize) -> *mut T {
        // SAFETY: the slot is not above the capacity, so the pointer is within the values of the block or at their end.
        unsafe { self.values().add(slot) }
    }

    /// Prefetches the value of a slot, which may not exist. Shorter values than a cache line are left to the processor.
    #[inline(always)]
    pub(crate) fn prefetch(&self, slot: usize) {
        if size_of::<T>() > 64 {
            prefetch(self.values().wrapping_add(slot));
        }
    }

    /// Returns a pointer to the word of a slot.
    ///
    /// # Safety
    ///
    /// The slot is not above the capacity.
    #[inline(always)]
    pub(crate) const unsafe fn word(&self, slot: usize) -> *mut u32 {
        // SAFETY: the slot is not above the capacity, so the pointer is within the words of the block or at their end.
        unsafe { self.words.as_ptr().add(slot) }
    }

    /// Returns the words of the first `slots` slots.
    ///
    /// # Safety
    ///
    /// They are within the capacity and initialised, and not written while the slice lives.
    #[inline(always)]
    pub(crate) const unsafe fn words(&self, slots: u32) -> &[u32] {
        // SAFETY: the words are within the capacity, initialised and not written; the pointer is aligned and not null.
        unsafe { core::slice::from_raw_parts(self.words.as_ptr(), slots as usize) }
    }

    /// Returns the number of bytes of the block that are for values.
    pub(crate) const fn value_bytes(&self) -> usize {
        size_of::<T>() * self.capacity as usize
    }

    /// Returns the number of other bytes of the block: words, and at most three of padding.
    pub(crate) fn word_bytes(&self) -> usize {
        Self::layout(self.capacity).map_or(0, |layout| layout.size() - self.value_bytes())
    }

    /// Returns the offset of the words in a block of this capacity, or `None` on overflow.
    fn offset(capacity: u32) -> Option<usize> {
        size_of::<T>().checked_mul(capacity as usize)?.checked_next_multiple_of(align_of::<u32>())
    }

    /// Returns the layout of a block of this capacity.
    fn layout(capacity: u32) -> Result<Layout, AllocError> {
        let words = (capacity as usize).checked_mul(size_of::<u32>());
        let bytes = Self::offset(capacity).zip(words).and_then(|(values, words)| values.checked_add(words));
        let align = align_of::<T>().max(align_of::<u32>());
        bytes.and_then(|bytes| Layout::from_size_align(bytes, align).ok()).ok_or(AllocError::CapacityOverflow)
    }

    /// Grows the capacity to at least `needed` slots, which can be counted, at least doubling it.
    ///
    /// # Safety
    ///
    /// The slots in use are the first `used`, which is not above the capacity. Their words are initialised, and no others are
    /// read again. No pointer into the block is used afterwards.
    pub(crate) unsafe fn try_grow(&mut self, used: u32, needed: u32) -> Result<(), AllocError> {
        if needed <= self.capacity {
            return Ok(());
        }
        // An overflow is reported without asking the allocator for anything.
        Self::layout(needed)?;
        let doubled = generation::at_most_countable(amortised(self.capacity, needed, size_of::<u32>()));
        let capacity = if Self::layout(doubled).is_ok() { doubled } else { needed };
        // SAFETY: the capacity grows, so no slot in use is cut off. The first `used` slots are in use, and no pointer into the
        // block is used afterwards, as this method asks for too.
        unsafe { self.try_resize(used, capacity) }
    }

    /// Sets the capacity to `capacity` slots.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; the cells are unchanged then.
    ///
    /// # Safety
    ///
    /// The slots in use are the first `used`, which is not above the old nor the new capacity. Their words are initialised,
    /// and no others are read again. No pointer into the block is used afterwards.
    pub(crate) unsafe fn try_resize(&mut self, used: u32, capacity: u32) -> Result<(), AllocError> {
        debug_assert!(used <= capacity && used <= self.capacity);
        if capacity == self.capacity {
            return Ok(());
        }
        let (old, new) = (Self::layout(self.capacity)?, Self::layout(capacity)?);
        if capacity == 0 {
            // SAFETY: the capacity was not 0, so there is a block of `old`, by the type's invariant. Nothing is in use.
            unsafe { dealloc(self.base.as_ptr(), old) };
            (self.base, self.words, self.capacity) = (NonNull::<T>::dangling().cast(), NonNull::dangling(), 0);
            return Ok(());
        }
        let offset = Self::offset(capacity).ok_or(AllocError::CapacityOverflow)?;
        if self.capacity == 0 {
            // SAFETY: the size is not zero: a slot has a word.
            let base = NonNull::new(unsafe { alloc(new) }).ok_or(AllocError::of(new))?;
            // SAFETY: the words are within the block; their offset and its alignment are multiples of theirs.
            (self.base, self.words, self.capacity) = (base, unsafe { base.add(offset).cast() }, capacity);
            return Ok(());
        }
        let before = self.words.as_ptr().addr() - self.base.as_ptr().addr();
        let move_words = |base: NonNull<u8>, from: usize, to: usize| {
            if from != to {
                // SAFETY: the words move while the block is the larger of the two, so both places are within it. They are
                // written over words and values that are not in use: `used` values end before either place.
                unsafe { base.add(to).cast::<u32>().copy_from(base.add(from).cast(), used as usize) };
            }
        };
        let shrinks = new.size() < old.size();
        if shrinks {
            move_words(self.base, before, offset);
        }
        // SAFETY: the block was allocated with `old`. The new size is not zero and, with the same alignment, that of a layout.
        let Some(base) = NonNull::new(unsafe { realloc(self.base.as_ptr(), old, new.size()) }) else {
            if shrinks {
                move_words(self.base, offset, before);
            }
            return Err(AllocError::of(new));
        };
        if !shrinks {
            move_words(base, before, offset);
        }
        // SAFETY: the words are within the block; their offset and its alignment are multiples of theirs.
        (self.base, self.words, self.capacity) = (base, unsafe { base.add(offset).cast() }, capacity);
        Ok(())
    }
}

impl<T> Drop for Cells<T> {
    fn drop(&mut self) {
        if let (true, Ok(layout)) = (self.capacity > 0, Self::layout(self.capacity)) {
            // SAFETY: with a capacity there is a block, allocated with this layout, by the type's invariant.
            unsafe { dealloc(self.base.as_ptr(), layout) };
        }
    }
}

impl<T> fmt::Debug for Cells<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cells({} of {} bytes)", self.capacity, size_of::<T>())
    }
}
