//! Entities whose numbers come from elsewhere. The invariants are those of the pool.

use super::{EntityPool, Slot};
use crate::generation::{self, RETIRED, is_dead};
use crate::{AllocError, Entity};

impl<P: Copy> EntityPool<P> {
    /// Makes exactly this entity, if its slot is free and has not had it or a later one. Whether it did.
    ///
    /// Slots below its own that were never used become free, the lowest to be used first. Takes time in proportion to
    /// the free slots.
    ///
    /// ```
    /// use phalanx_store::{Entity, EntityPool};
    ///
    /// let mut pool = EntityPool::new();
    /// let far = Entity::from_bits(3 << 32 | 5).unwrap();
    /// assert_eq!(pool.try_claim(far), Ok(true));
    /// assert_eq!(pool.try_claim(far), Ok(false));
    /// assert_eq!(pool.alloc().index(), 0);
    /// ```
    ///
    /// # Errors
    ///
    /// If memory for slots up to its own cannot be had, or for reservations, which are flushed first; the entity is not
    /// made then.
    pub fn try_claim(&mut self, entity: Entity) -> Result<bool, AllocError> {
        let (index, generation) = (entity.index(), entity.generation());
        if generation > generation::MAX_GENERATION || !generation::countable(index.saturating_add(1)) {
            return Ok(false);
        }
        self.try_flush()?;
        self.touch();
        if let Some(&Slot { word, .. }) = self.words().get(index as usize) {
            if !is_dead(word) || word == RETIRED || generation::generation(word) > generation {
                return Ok(false);
            }
            let Some(at) = self.stack().iter().rposition(|free| *free == index) else { return Ok(false) };
            // SAFETY: the entries above the one found move down by one.
            unsafe {
                let hole = self.free.at(at as u32);
                core::ptr::copy(hole.add(1), hole, self.free_len as usize - at - 1);
            }
            self.free_len -= 1;
        } else {
            self.try_grow(index - self.slots + 1)?;
            for fresh in (self.slots..index).rev() {
                // SAFETY: there is room for so many slots, on the stack too.
                unsafe {
                    self.word(fresh).write(generation::DEAD);
                    self.free.at(self.free_len).write(fresh);
                }
                self.free_len += 1;
            }
            self.slots = index + 1;
        }
        // SAFETY: the slot exists, or has room and was counted just now.
        unsafe { self.word(index).write(generation) };
        self.live += 1;
        Ok(true)
    }
}
