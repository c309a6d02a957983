//! The parts of a pool, for layers that copy it: the words of its slots, its free list, its reservations.
#![allow(unsafe_code)]

use super::{EntityPool, Slot};
use crate::AllocError;
use crate::generation::{ROW, is_dead, is_entity};
use crate::raw::Lane;
use core::ops::Range;

impl<P: Copy> EntityPool<P> {
    /// Iterates over the words of these slots.
    ///
    /// # Panics
    ///
    /// Panics if the range ends beyond the slots.
    #[track_caller]
    pub fn words_in(&self, slots: Range<u32>) -> impl ExactSizeIterator<Item = u32> + Clone + '_ {
        self.words()[slots.start as usize..slots.end as usize].iter().map(|slot| slot.word)
    }

    /// Returns the number of reserved entities, and of reserved new indices that wait for memory.
    pub fn reservations(&self) -> [u32; 2] {
        [self.reserved.now(), self.pending]
    }

    /// Returns the versions of the lane of the words and that of the free list.
    pub fn versions(&self) -> [u64; 2] {
        [self.words.lane().version(), self.free.lane().version()]
    }

    /// Returns the lane of the words and that of the free list, for reading.
    pub fn lanes(&self) -> [&Lane; 2] {
        [self.words.lane(), self.free.lane()]
    }

    /// Returns the lane of the words and that of the free list, for tracking.
    ///
    /// The pool marks the words and free slots that it writes, or raises the lane's version.
    ///
    /// # Safety
    ///
    /// The lanes are not replaced or resized.
    pub unsafe fn lanes_mut(&mut self) -> [&mut Lane; 2] {
        // SAFETY: the caller does not replace the lanes.
        unsafe { [self.words.erased(), self.free.erased()] }
    }

    /// Creates a pool with these words, free slots and reservations. `payload` becomes the payload of each slot, and the
    /// default.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::OutOfMemory`] if allocation fails.
    ///
    /// # Safety
    ///
    /// All three were read from one pool, without a change between.
    pub unsafe fn try_rebuild(
        words: impl ExactSizeIterator<Item = u32> + Clone,
        free: impl ExactSizeIterator<Item = u32>,
        [reserved, pending]: [u32; 2],
        payload: P,
    ) -> Result<EntityPool<P>, AllocError> {
        let mut pool = EntityPool::with_payload(payload);
        pool.try_grow(words.len() as u32)?;
        // In loops of their own, so that several words are counted at a time.
        [pool.live, pool.rows] = [0, 1].map(|at| words.clone().map(|word| counts(word)[at]).sum());
        let (mut slots, first) = (0, pool.words.ptr());
        for word in words {
            // SAFETY: there is capacity for as many slots as the iterator promises: it is that of a pool.
            unsafe { first.add(slots).write(Slot { word, payload }) };
            slots += 1;
        }
        pool.slots = slots as u32;
        for slot in free {
            // SAFETY: a pool has no more free slots than slots, and the free list has capacity for all.
            unsafe { pool.free.at(pool.free_len).write(slot) };
            pool.free_len += 1;
        }
        pool.pending = pending;
        pool.reserved.raise(reserved, u32::MAX);
        Ok(pool)
    }
}

/// Counts of live entities and of rows.
fn counts(word: u32) -> [u32; 2] {
    [u32::from(is_entity(word)), u32::from(!is_dead(word) & (word & ROW != 0))]
}

/// # Rewriting
///
/// A pool returns to an earlier state in place: only the words and free slots that differ are written.
impl<P: Copy> EntityPool<P> {
    /// Reserves capacity for `slots` slots, without changing any.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::CapacityOverflow`] if there are not as many indices, or [`AllocError::OutOfMemory`] if
    /// allocation fails. No entity changes.
    pub fn try_reserve_slots(&mut self, slots: u32) -> Result<(), AllocError> {
        self.try_grow(slots.saturating_sub(self.slots))
    }

    /// Sets the words of all slots in `changed` to those of `words`, as native bytes, and removes the slots beyond `words`.
    ///
    /// A slot keeps its payload. A new one gets the default.
    ///
    /// # Panics
    ///
    /// Panics if there is no capacity for all slots, or a range ends beyond `words`.
    ///
    /// # Safety
    ///
    /// `words` are those of a pool in a state, and differ from those of this pool in the ranges of `changed` only. The ranges
    /// are disjoint, and all new slots are in them. [`rewrite_free`](EntityPool::rewrite_free) with the free slots of that
    /// state is called next.
    pub unsafe fn rewrite_words(&mut self, words: &[[u8; 4]], changed: impl Iterator<Item = Range<u32>>) {
        let slots = words.len() as u32;
        assert!(slots <= self.room, "a pool without room for its slots");
        let mut totals = [self.live, self.rows];
        let mut add = |old: [u32; 2], new: [u32; 2]| {
            for ((total, old), new) in totals.iter_mut().zip(old).zip(new) {
                *total = total.wrapping_sub(old).wrapping_add(new);
            }
        };
        for range in changed {
            for (index, word) in range.clone().zip(&words[range.start as usize..range.end as usize]) {
                let word = u32::from_ne_bytes(*word);
                // SAFETY: the slot is below the capacity. Those below `slots` are initialised.
                unsafe {
                    match index < self.slots {
                        true => {
                            add(counts(*self.word(index)), counts(word));
                            *self.word(index) = word;
                        }
                        false => {
                            add([0; 2], counts(word));
                            self.words.at(index).write(Slot { word, payload: self.default });
                        }
                    }
                }
            }
        }
        for index in slots..self.slots {
            // SAFETY: the slots below the present number are initialised.
            add(counts(unsafe { *self.word(index) }), [0; 2]);
        }
        self.slots = slots;
        [self.live, self.rows] = totals;
    }

    /// Sets the free slots in `changed` to those of `free`, as native bytes, removes those beyond, and sets the reservations.
    ///
    /// # Panics
    ///
    /// Panics if a range ends beyond `free`, or `free` is longer than the capacity.
    ///
    /// # Safety
    ///
    /// The words are those of a state, and `free` and the reservations are those of the same state. The free slots differ
    /// from the present ones in the ranges of `changed` only, which include all new positions.
    pub unsafe fn rewrite_free(
        &mut self,
        free: &[[u8; 4]],
        changed: impl Iterator<Item = Range<u32>>,
        [reserved, pending]: [u32; 2],
    ) {
        let len = free.len() as u32;
        assert!(len <= self.room, "a pool without room for its free slots");
        for range in changed {
            for (at, slot) in range.clone().zip(&free[range.start as usize..range.end as usize]) {
                // SAFETY: the position is below the capacity of the free list.
                unsafe { self.free.at(at).write(u32::from_ne_bytes(*slot)) };
            }
        }
        self.free_len = len;
        self.pending = pending;
        self.reserved.set(reserved);
    }
}
