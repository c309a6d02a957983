//! What a pool is made of, for those who keep copies of it: the words of its slots, its stack, what is reserved.
#![allow(unsafe_code)]

use super::EntityPool;
use crate::AllocError;
use crate::generation::{ROW, is_dead, is_entity};
use crate::raw::Lane;
use core::ops::Range;

impl<P: Copy> EntityPool<P> {
    /// The words of some slots.
    ///
    /// # Panics
    ///
    /// If there are not so many slots.
    #[track_caller]
    pub fn words_in(&self, slots: Range<u32>) -> impl ExactSizeIterator<Item = u32> + Clone + '_ {
        self.words()[slots.start as usize..slots.end as usize].iter().map(|slot| slot.word)
    }

    /// The free slots; the last is used next.
    pub fn free_slots(&self) -> &[u32] {
        self.stack()
    }

    /// How many entities are reserved, and how many of new indices wait for memory beside them.
    pub fn reservations(&self) -> [u32; 2] {
        [self.reserved.now(), self.pending]
    }

    /// The versions of the lane of the words and that of the stack.
    pub fn versions(&self) -> [u64; 2] {
        [self.words.lane().version(), self.free.lane().version()]
    }

    /// The lane of the words and that of the stack, to be looked at.
    pub fn lanes(&self) -> [&Lane; 2] {
        [self.words.lane(), self.free.lane()]
    }

    /// The lane of the words and that of the stack, to be tracked: words and free slots that are written are marked, or
    /// the lane's version is raised.
    ///
    /// # Safety
    ///
    /// They are not exchanged for others or resized.
    pub unsafe fn lanes_mut(&mut self) -> [&mut Lane; 2] {
        // SAFETY: the caller's promise.
        unsafe { [self.words.erased(), self.free.erased()] }
    }

    /// A pool with these words, free slots and reservations. What is kept beside the words is not written.
    ///
    /// # Errors
    ///
    /// If memory cannot be had.
    ///
    /// # Safety
    ///
    /// They are those of a pool as it was at one time.
    pub unsafe fn try_rebuild(
        words: impl ExactSizeIterator<Item = u32>,
        free: impl ExactSizeIterator<Item = u32>,
        [reserved, pending]: [u32; 2],
    ) -> Result<EntityPool<P>, AllocError> {
        let mut pool = EntityPool::carrying();
        pool.try_grow(words.len() as u32)?;
        for word in words {
            // SAFETY: there is room for so many slots.
            unsafe { pool.word(pool.slots).write(word) };
            pool.slots += 1;
            pool.live += u32::from(is_entity(word));
            pool.rows += u32::from(!is_dead(word) && word & ROW != 0);
        }
        for slot in free {
            // SAFETY: there are no more free slots than slots, and the stack has room for all.
            unsafe { pool.free.at(pool.free_len).write(slot) };
            pool.free_len += 1;
        }
        pool.pending = pending;
        pool.reserved.raise(reserved, u32::MAX);
        Ok(pool)
    }
}
