//! The block of a container whose values never move: a value and a generation word for each slot.
//!
//! # Invariants
//!
//! - With a capacity above 0, `base` is a block that these cells alone own, allocated with exactly [`Cells::layout`] of
//!   the capacity; the values begin at its start, the words at `words`, which is [`Cells::offset`] of the capacity
//!   further on. With a capacity of 0 nothing is allocated and both dangle, aligned.
//! - Cells have no length and never drop values: whoever keeps the length does.
//!
//! One block and not two: it can be made larger where it stands when it is the last in the heap, where two blocks of one
//! container would by turns be in each other's way; then only the words move, which are small beside the values.
#![allow(unsafe_code)]

use super::lane::amortised;
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

    /// How many slots there is room for.
    #[inline(always)]
    pub(crate) const fn capacity(&self) -> u32 {
        self.capacity
    }

    /// The first value.
    #[inline(always)]
    pub(crate) const fn values(&self) -> *mut T {
        self.base.as_ptr().cast()
    }

    /// The value of a slot.
    ///
    /// # Safety
    ///
    /// The slot is not above the capacity.
    #[inline(always)]
    pub(crate) const unsafe fn value(&self, slot: u32) -> *mut T {
        // SAFETY: within the values of the block or at their end, by the caller's promise.
        unsafe { self.values().add(slot as usize) }
    }

    /// The word of a slot.
    ///
    /// # Safety
    ///
    /// The slot is not above the capacity.
    #[inline(always)]
    pub(crate) const unsafe fn word(&self, slot: u32) -> *mut u32 {
        // SAFETY: within the words of the block or at their end, by the caller's promise.
        unsafe { self.words.as_ptr().add(slot as usize) }
    }

    /// The words of the first `slots` slots.
    ///
    /// # Safety
    ///
    /// They are within the capacity and initialised, and not written while the slice lives.
    #[inline(always)]
    pub(crate) const unsafe fn words(&self, slots: u32) -> &[u32] {
        // SAFETY: the caller's promise; the pointer is aligned and not null.
        unsafe { core::slice::from_raw_parts(self.words.as_ptr(), slots as usize) }
    }

    /// Bytes of the block that are there for values.
    pub(crate) const fn value_bytes(&self) -> usize {
        size_of::<T>() * self.capacity as usize
    }

    /// The other bytes of the block: words, and at most three before them.
    pub(crate) fn word_bytes(&self) -> usize {
        Self::layout(self.capacity).map_or(0, |layout| layout.size() - self.value_bytes())
    }

    /// How far the words are from the start of a block of this capacity; none if the bytes cannot be counted.
    fn offset(capacity: u32) -> Option<usize> {
        size_of::<T>().checked_mul(capacity as usize)?.checked_next_multiple_of(align_of::<u32>())
    }

    /// What a block of this capacity is allocated with.
    fn layout(capacity: u32) -> Result<Layout, AllocError> {
        let words = (capacity as usize).checked_mul(size_of::<u32>());
        let bytes = Self::offset(capacity).zip(words).and_then(|(values, words)| values.checked_add(words));
        let align = align_of::<T>().max(align_of::<u32>());
        bytes.and_then(|bytes| Layout::from_size_align(bytes, align).ok()).ok_or(AllocError::CapacityOverflow)
    }

    /// Makes room for at least `needed` slots, which can be counted, and by doubling for some beyond.
    ///
    /// # Safety
    ///
    /// The slots in use are the first `used`, which is not above the capacity: their words are initialised, and no others are
    /// looked at again. No pointer into the block is used afterwards.
    pub(crate) unsafe fn try_grow(&mut self, used: u32, needed: u32) -> Result<(), AllocError> {
        if needed <= self.capacity {
            return Ok(());
        }
        // An overflow is reported without asking the allocator for anything.
        Self::layout(needed)?;
        let doubled = generation::at_most_countable(amortised(self.capacity, needed, size_of::<u32>()));
        let capacity = if Self::layout(doubled).is_ok() { doubled } else { needed };
        // SAFETY: the capacity grows, so that no slot in use is cut off; the rest is the caller's promise.
        unsafe { self.try_resize(used, capacity) }
    }

    /// Gives room for exactly `capacity` slots.
    ///
    /// # Errors
    ///
    /// If memory cannot be had; the cells are as they were.
    ///
    /// # Safety
    ///
    /// The slots in use are the first `used`, which is not above the old nor the new capacity: their words are
    /// initialised, and no others are looked at again. No pointer into the block is used afterwards.
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
        // SAFETY: the block was allocated with `old`, and the new size is not zero and, with the same alignment, that of a
        // layout. The words in use move to their new place while the block is the larger of the two, so that either
        // place is within it; what they are written over is words and values that are not in use, as `used` values end
        // before either place. If the block cannot be changed, they move back.
        unsafe {
            let shift = |base: NonNull<u8>, from: usize, to: usize| {
                if from != to {
                    base.add(to).cast::<u32>().copy_from(base.add(from).cast(), used as usize);
                }
            };
            let shrinks = new.size() < old.size();
            if shrinks {
                shift(self.base, before, offset);
            }
            let Some(base) = NonNull::new(realloc(self.base.as_ptr(), old, new.size())) else {
                if shrinks {
                    shift(self.base, offset, before);
                }
                return Err(AllocError::of(new));
            };
            if !shrinks {
                shift(base, before, offset);
            }
            (self.base, self.words) = (base, base.add(offset).cast());
        }
        self.capacity = capacity;
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
