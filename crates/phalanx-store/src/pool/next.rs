//! The entities that a pool will make next, and the states of its slots.

use super::{EntityPool, SlotState};
use crate::Entity;
use crate::generation::{self, MAX_SLOTS, RETIRED, ROW, is_dead};

impl<P: Copy> EntityPool<P> {
    /// Returns the free slot that is used next. Reserved slots count as free until they are flushed.
    pub fn next_free(&self) -> Option<u32> {
        self.free_list().last().copied()
    }

    /// Returns the index of the next entity, if none is reserved.
    #[inline(always)]
    pub fn next_index(&self) -> u32 {
        self.next_free().unwrap_or(self.slots)
    }

    /// Returns the index of the entity that is made after `count` others, or `None` if there are not as many slots.
    ///
    /// No entity is reserved, and none is released before.
    ///
    /// ```
    /// use phalanx_store::EntityPool;
    ///
    /// let mut pool = EntityPool::new();
    /// let [a, _, c] = [pool.alloc(), pool.alloc(), pool.alloc()];
    /// pool.release_many([a, c]);
    /// let expected: Vec<u32> = (0..4).filter_map(|n| pool.nth_index(n)).collect();
    /// assert_eq!(expected, [2, 0, 3, 4]);
    /// assert!(pool.alloc_many(4).map(|e| e.index()).eq(expected));
    /// assert_eq!(pool.nth_index(u32::MAX), None);
    /// ```
    #[inline]
    pub fn nth_index(&self, count: u32) -> Option<u32> {
        match self.free_len.checked_sub(count) {
            Some(left @ 1..) => Some(self.free_list()[left as usize - 1]),
            _ => self.slots.checked_add(count - self.free_len).filter(|index| *index < MAX_SLOTS),
        }
    }

    /// Returns the entity that is made after `count` others, or `None` if there are not as many slots.
    ///
    /// No entity is reserved, and none is released before.
    pub fn nth_entity(&self, count: u32) -> Option<Entity> {
        let index = self.nth_index(count)?;
        let word = self.words().get(index as usize).map_or(0, |slot| generation::generation(slot.word));
        Some(Entity::new(index, word))
    }

    /// Returns the entity that uses the slot of `entity` after it, or `None` if the slot is retired then.
    ///
    /// ```
    /// use phalanx_store::EntityPool;
    ///
    /// let mut pool = EntityPool::new();
    /// let first = pool.alloc();
    /// pool.release(first);
    /// assert_eq!(pool.nth_entity(0), EntityPool::<()>::next_generation(first));
    /// assert_eq!(pool.alloc(), EntityPool::<()>::next_generation(first).unwrap());
    /// ```
    pub fn next_generation(entity: Entity) -> Option<Entity> {
        let word = generation::released(entity.generation() & !ROW);
        (word != RETIRED).then(|| Entity::new(entity.index(), generation::generation(word)))
    }

    /// Returns the state of a slot, or `None` if there is no such slot.
    ///
    /// For inspection, not for hot paths: it searches the free list.
    pub fn slot_state(&self, index: u32) -> Option<SlotState> {
        let word = self.words().get(index as usize)?.word;
        Some(match word {
            RETIRED => SlotState::Retired,
            _ if !is_dead(word) => SlotState::Alive { generation: word & !ROW },
            _ => {
                let at = self.free_list().iter().position(|i| *i == index)?;
                let next = at.checked_sub(1).map(|below| self.free_list()[below]);
                SlotState::Free { generation: generation::generation(word), next }
            }
        })
    }
}
