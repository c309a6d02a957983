//! Which slots the entities and rows of a segment will have: found out before any is made.

use crate::alloc::try_reserve;
use phalanx_store::{AllocError, Entity, EntityPool};

/// Follows a pool through a segment: a slot that is freed is used next, then those that the pool has on its stack, then new
/// ones.
#[derive(Debug, Default)]
pub(super) struct Slots {
    /// What will live in the slots that were freed in the segment and not taken since, the next one last.
    freed: Vec<Entity>,
    /// How many the segment takes from the pool as it is.
    taken: u32,
}

impl Slots {
    pub(super) fn bytes(&self) -> usize {
        self.freed.capacity() * size_of::<Entity>()
    }

    /// Begins a segment.
    pub(super) fn begin(&mut self) {
        self.freed.clear();
        self.taken = 0;
    }

    /// Notes the end of an entity or row.
    pub(super) fn try_free(&mut self, slot: Entity) -> Result<(), AllocError> {
        try_reserve(&mut self.freed, 1)?;
        self.freed.extend(EntityPool::<()>::next_generation(slot));
        Ok(())
    }

    /// Returns the entity that is made next, or in whose slot a row is, in a pool in which nothing is reserved.
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
