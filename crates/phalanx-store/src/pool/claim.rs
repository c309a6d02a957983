//! Claims entities whose indices and generations come from elsewhere. The invariants are those of the pool.

use super::{EntityPool, Slot};
use crate::generation::{self, RETIRED, is_dead};
use crate::{AllocError, Entity};

impl<P: Copy> EntityPool<P> {
    /// Makes exactly this entity alive, with the default payload. Returns `false` if its slot is not free, or has had this or a
    /// later generation.
    ///
    /// Slots below its own that were never used become free, and the lowest is used first. It takes time in proportion to the
    /// length of the free list.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::OutOfMemory`] if memory for slots up to its own cannot be allocated, or for reservations, which
    /// are flushed first. The entity is not made then.
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
            let Some(at) = self.free_list().iter().rposition(|free| *free == index) else { return Ok(false) };
            // SAFETY: the entries above the one found are initialised, and move down by one.
            unsafe {
                let hole = self.free.at(at as u32);
                core::ptr::copy(hole.add(1), hole, self.free_len as usize - at - 1);
            }
            self.free_len -= 1;
        } else {
            self.try_grow(index - self.slots + 1)?;
            for fresh in (self.slots..index).rev() {
                // SAFETY: there is capacity for the slots up to `index`, in the free list too.
                unsafe {
                    self.words.at(fresh).write(Slot { word: generation::DEAD, payload: self.default });
                    self.free.at(self.free_len).write(fresh);
                }
                self.free_len += 1;
            }
            self.slots = index + 1;
        }
        // SAFETY: the slot exists, or there is capacity for it and it was counted just now.
        unsafe { self.words.at(index).write(Slot { word: generation, payload: self.default }) };
        self.live += 1;
        Ok(true)
    }
}
