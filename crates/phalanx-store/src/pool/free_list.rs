//! The free entities of a pool: in which order they are used, and under which generations.
#![allow(unsafe_code)]

use super::EntityPool;
use crate::generation::{self, DEAD, MAX_GENERATION, RETIRED, ROW, is_dead};
use crate::{AllocError, Entity};
use core::fmt;

/// The reason why a list cannot be the free entities of a pool. The pool is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FreeListError {
    /// The slot of the entity does not exist.
    NoSuchSlot {
        /// The entity.
        entity: Entity,
    },
    /// The slot of the entity is in use.
    Alive {
        /// The entity.
        entity: Entity,
    },
    /// The slot of the entity has used all its generations.
    Retired {
        /// The entity.
        entity: Entity,
    },
    /// The slot had this generation or a later one, or there is no such generation.
    Generation {
        /// The entity.
        entity: Entity,
        /// The least generation that the slot can have.
        least: u32,
    },
    /// Two entities of the list have the same slot.
    Repeated {
        /// The second one.
        entity: Entity,
    },
    /// A free slot is not in the list.
    Missing {
        /// The entity that the slot would have next.
        entity: Entity,
    },
    /// Allocation failed.
    Alloc(AllocError),
}

impl fmt::Display for FreeListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FreeListError::NoSuchSlot { entity } => write!(f, "the slot of {entity} does not exist"),
            FreeListError::Alive { entity } => write!(f, "the slot of {entity} is in use"),
            FreeListError::Retired { entity } => write!(f, "the slot of {entity} has used all its generations"),
            FreeListError::Generation { entity, least } => {
                write!(f, "the slot of {entity} can have generations from {least} to {MAX_GENERATION}")
            }
            FreeListError::Repeated { entity } => write!(f, "the slot of {entity} is listed twice"),
            FreeListError::Missing { entity } => write!(f, "the free slot of {entity} is not listed"),
            FreeListError::Alloc(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for FreeListError {}

impl From<AllocError> for FreeListError {
    fn from(error: AllocError) -> Self {
        FreeListError::Alloc(error)
    }
}

/// The bit that marks a free slot as seen. The words of free slots do not have it.
const SEEN: u32 = ROW;

impl<P: Copy> EntityPool<P> {
    /// Returns the entities that the free slots have next, in the order in which they are used. New slots follow them.
    ///
    /// Reserved entities are not among them.
    ///
    /// ```
    /// use phalanx_store::EntityPool;
    ///
    /// let mut pool = EntityPool::new();
    /// let [a, b, _] = [pool.alloc(), pool.alloc(), pool.alloc()];
    /// pool.release_many([a, b]);
    /// let free: Vec<_> = pool.free_entities().collect();
    /// assert_eq!([pool.alloc(), pool.alloc()], free[..]);
    /// ```
    #[doc(alias = "free_list")]
    pub fn free_entities(&self) -> impl ExactSizeIterator<Item = Entity> + DoubleEndedIterator + Clone + '_ {
        let free = self.free_list();
        let reserved = (self.reserved.now() as usize).min(free.len());
        free[..free.len() - reserved].iter().rev().map(|slot| self.next_of(*slot))
    }

    /// Returns the entity that a free slot has next.
    fn next_of(&self, slot: u32) -> Entity {
        Entity::new(slot, generation::generation(self.words()[slot as usize].word) & !SEEN)
    }

    /// Sets the order in which free slots are used, and the generations of their next entities.
    ///
    /// The list has an entity for each free slot, the next to be used first. A generation may be later than the slot would have
    /// next, but not earlier: no entity that was alive becomes alive again. Reservations are [flushed](EntityPool::flush) first.
    ///
    /// ```
    /// use phalanx_store::{EntityPool, FreeListError};
    ///
    /// let mut pool = EntityPool::new();
    /// let [a, b, c] = [pool.alloc(), pool.alloc(), pool.alloc()];
    /// pool.release_many([a, b]);
    /// let mut free: Vec<_> = pool.free_entities().collect();
    /// free.reverse();
    /// pool.try_set_free_entities(&free)?;
    /// assert_eq!([pool.alloc(), pool.alloc()], free[..]);
    /// assert_eq!(pool.try_set_free_entities(&[c]), Err(FreeListError::Alive { entity: c }));
    /// # Ok::<(), FreeListError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`FreeListError::NoSuchSlot`], [`FreeListError::Alive`] or [`FreeListError::Retired`] if the slot of an entity is not
    ///   free.
    /// - [`FreeListError::Generation`] if an entity has an earlier generation than its slot would have next.
    /// - [`FreeListError::Repeated`] if a slot is listed twice, and [`FreeListError::Missing`] if one is not listed.
    /// - [`FreeListError::Alloc`] if memory for reservations cannot be allocated.
    ///
    /// On error nothing has changed, except that reserved entities may be alive.
    pub fn try_set_free_entities(&mut self, entities: &[Entity]) -> Result<(), FreeListError> {
        self.try_flush()?;
        self.touch();
        let mut marked = 0;
        let mut outcome = Ok(());
        for &entity in entities {
            outcome = self.mark_free(entity);
            if outcome.is_err() {
                break;
            }
            marked += 1;
        }
        if outcome.is_ok() && entities.len() < self.free_len as usize {
            let is_missing = |slot: &&u32| self.words()[**slot as usize].word & SEEN == 0;
            let missing = self.free_list().iter().rev().find(is_missing);
            outcome = missing.map_or(Ok(()), |slot| Err(FreeListError::Missing { entity: self.next_of(*slot) }));
        }
        for &entity in &entities[..marked] {
            // SAFETY: the slot was found to exist.
            let word = unsafe { &mut *self.word(entity.index()) };
            *word = if outcome.is_ok() { DEAD | entity.generation() } else { *word & !SEEN };
        }
        outcome?;
        for (&entity, at) in entities.iter().rev().zip(0..) {
            // SAFETY: each free slot is listed once, so there are as many as before.
            unsafe { self.free.at(at).write(entity.index()) };
        }
        Ok(())
    }

    /// Marks the slot of an entity as seen, if the entity can be the next of a free slot.
    fn mark_free(&mut self, entity: Entity) -> Result<(), FreeListError> {
        let Some(word) = self.words().get(entity.index() as usize).map(|slot| slot.word) else {
            return Err(FreeListError::NoSuchSlot { entity });
        };
        if !is_dead(word) {
            return Err(FreeListError::Alive { entity });
        }
        if word == RETIRED {
            return Err(FreeListError::Retired { entity });
        }
        if word & SEEN != 0 {
            return Err(FreeListError::Repeated { entity });
        }
        let least = generation::generation(word);
        if !(least..=MAX_GENERATION).contains(&entity.generation()) || entity.is_row() {
            return Err(FreeListError::Generation { entity, least });
        }
        // SAFETY: the slot exists.
        unsafe { self.word(entity.index()).write(word | SEEN) };
        Ok(())
    }
}
