//! Entities reserved through a shared reference. The representation is described in the parent module.
#![allow(unsafe_code)]

use super::{Entities, EntityPool};
use crate::error::infallible;
use crate::generation::{self, MAX_SLOTS};
use crate::{AllocError, Entity};

impl<P: Copy> EntityPool<P> {
    /// Reserves an entity through a shared reference, from any thread, without a lock.
    ///
    /// It becomes alive with the next [`flush`](EntityPool::flush). Until then it is not contained and cannot be released.
    ///
    /// ```
    /// use phalanx_store::EntityPool;
    ///
    /// let mut pool = EntityPool::new();
    /// let reserved = std::thread::scope(|s| s.spawn(|| pool.reserve_entity()).join().unwrap());
    /// assert!(!pool.contains(reserved));
    /// assert!(pool.flush().eq([reserved]));
    /// assert!(pool.contains(reserved));
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if all indices are used up.
    #[track_caller]
    pub fn reserve_entity(&self) -> Entity {
        infallible(self.try_reserve_entity())
    }

    /// Reserves an entity through a shared reference, like [`reserve_entity`](EntityPool::reserve_entity).
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::CapacityOverflow`] if all indices are used up.
    pub fn try_reserve_entity(&self) -> Result<Entity, AllocError> {
        let limit = self.free_len.saturating_add(MAX_SLOTS - self.slots - self.pending);
        let k = self.reserved.raise(1, limit).ok_or(AllocError::CapacityOverflow)?;
        if k < self.free_len {
            // SAFETY: the free list holds slots that exist, and does not change while the pool is shared.
            return Ok(unsafe {
                let index = *self.free.at(self.free_len - 1 - k);
                Entity::new(index, generation::generation(*self.word(index)))
            });
        }
        Ok(Entity::new(self.slots + self.pending + (k - self.free_len), 0))
    }

    /// Makes reserved entities alive, with the default payload, and returns them.
    ///
    /// Those in recycled slots come first, then those in new ones, each in the order of their reservation.
    ///
    /// [`alloc`](EntityPool::alloc) and [`clear`](EntityPool::clear) flush first, too. [`release`](EntityPool::release)
    /// makes those alive that need no allocation.
    ///
    /// # Panics
    ///
    /// Aborts if allocation fails.
    #[track_caller]
    pub fn flush(&mut self) -> Entities<'_, P> {
        infallible(self.try_flush())
    }

    /// Makes reserved entities alive, like [`flush`](EntityPool::flush).
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::OutOfMemory`] if allocation fails; the entities stay reserved.
    pub fn try_flush(&mut self) -> Result<Entities<'_, P>, AllocError> {
        let fresh = self.fresh_for(0)?;
        self.try_grow(fresh)?;
        let recycled = self.reserved.get().min(self.free_len);
        self.reserved.reset();
        self.pending = 0;
        // SAFETY: at most `free_len` slots are revived, and the pool has grown by `fresh` slots.
        Ok(unsafe {
            self.revive(recycled);
            self.append(fresh, recycled)
        })
    }

    /// Makes reserved entities alive if there is memory for them and for `count` more. Otherwise nothing changes.
    pub(super) fn try_flush_beside(&mut self, count: u32) -> Result<(), AllocError> {
        let fresh = self.fresh_for(count)?;
        self.try_grow(fresh)?;
        self.try_flush().map(drop)
    }

    /// Returns the number of new slots needed to make all reserved entities alive, and `count` more.
    pub(super) fn fresh_for(&mut self, count: u32) -> Result<u32, AllocError> {
        let reserved = self.reserved.get();
        let recycled = reserved.min(self.free_len);
        let more = count.saturating_sub(self.free_len - recycled);
        // Reservations stay below the number of indices; `more` on top may not.
        (self.pending + (reserved - recycled)).checked_add(more).ok_or(AllocError::CapacityOverflow)
    }

    /// Flushes reservations as far as no allocation is needed, so that the free list may change.
    #[cold]
    pub(super) fn flush_recycled(&mut self) {
        let reserved = self.reserved.get();
        let recycled = reserved.min(self.free_len);
        // SAFETY: at most `free_len` slots are revived.
        unsafe { self.revive(recycled) };
        self.pending += reserved - recycled;
        self.reserved.reset();
    }

    /// Returns the number of reserved entities that are not alive yet.
    pub fn reserved_count(&self) -> usize {
        self.reserved.now() as usize + self.pending as usize
    }
}
