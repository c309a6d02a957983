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
        words: impl ExactSizeIterator<Item = u32>,
        free: impl ExactSizeIterator<Item = u32>,
        [reserved, pending]: [u32; 2],
        payload: P,
    ) -> Result<EntityPool<P>, AllocError> {
        let mut pool = EntityPool::with_payload(payload);
        pool.try_grow(words.len() as u32)?;
        for word in words {
            // SAFETY: there is capacity for as many slots as the iterator promises: it is that of a pool.
            unsafe { pool.words.at(pool.slots).write(Slot { word, payload }) };
            pool.slots += 1;
            pool.live += u32::from(is_entity(word));
            pool.rows += u32::from(!is_dead(word) && word & ROW != 0);
        }
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
