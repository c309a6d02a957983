//! [`SlotPredictor`]: the slots that the entities and rows of a segment will have.

use crate::alloc::try_reserve;
use phalanx_store::{AllocError, Entity, EntityPool};

/// Predicts the slots that an entity pool allocates in a segment, before any is allocated.
///
/// The pool uses the slot that was freed last first, then those of its free list, then new ones.
#[derive(Debug, Default)]
pub(super) struct SlotPredictor {
    /// The next entity of each slot that the segment frees and does not use again. The last is used first.
    freed: Vec<Entity>,
    /// The number of slots that the segment takes from the pool as it is.
    taken: u32,
}

impl SlotPredictor {
    /// Returns the bytes held from the allocator.
    pub(super) fn bytes(&self) -> usize {
        self.freed.capacity() * size_of::<Entity>()
    }

    /// Begins a segment.
    pub(super) fn begin(&mut self) {
        self.freed.clear();
        self.taken = 0;
    }

    /// Predicts that a slot is freed.
    pub(super) fn try_free(&mut self, slot: Entity) -> Result<(), AllocError> {
        try_reserve(&mut self.freed, 1)?;
        self.freed.extend(EntityPool::<()>::next_generation(slot));
        Ok(())
    }

    /// Returns the entity that is allocated next in a pool without reserved entities.
    ///
    /// # Errors
    ///
    /// Returns `AllocError::CapacityOverflow` if no slot is left.
    pub(super) fn try_take<P: Copy>(&mut self, pool: &EntityPool<P>) -> Result<Entity, AllocError> {
        if let Some(freed) = self.freed.pop() {
            return Ok(freed);
        }
        let next = pool.nth_entity(self.taken).ok_or(AllocError::CapacityOverflow)?;
        self.taken += 1;
        Ok(next)
    }
}
