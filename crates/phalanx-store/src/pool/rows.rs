//! Slots that are not entities: further rows of one, for a layer above.
#![allow(unsafe_code)]

use super::EntityPool;
use crate::error::infallible;
use crate::generation::{ROW, is_dead};
use crate::{AllocError, Entity};

impl<P: Copy> EntityPool<P> {
    /// Allocates a slot for a further row of an entity, with the default payload.
    ///
    /// Its name has the [row bit](Entity::is_row), and is contained and released like an entity. It is not counted or listed
    /// among entities, and [`Entity::from_bits`] refuses its bits.
    ///
    /// ```
    /// use phalanx_store::{Entity, EntityPool};
    ///
    /// let mut pool = EntityPool::new();
    /// let owner = pool.alloc();
    /// // SAFETY: the name does not leave this example.
    /// let row = unsafe { pool.alloc_row() };
    /// assert!(row.is_row() && pool.contains(row) && Entity::from_bits(row.to_bits()).is_none());
    /// assert_eq!((pool.len(), pool.row_count()), (1, 1));
    /// assert!(pool.iter().eq([owner]));
    /// pool.release(row);
    /// let next = pool.alloc();
    /// assert_eq!((next.index(), next.generation(), next.is_row()), (row.index(), 1, false));
    /// ```
    ///
    /// # Safety
    ///
    /// The caller hands the name to no code outside. A layer with rows relies on this: entities from outside never have the row
    /// bit, of its own pool or of another.
    ///
    /// # Panics
    ///
    /// Panics if all indices are used up; aborts if allocation fails.
    #[inline]
    #[track_caller]
    pub unsafe fn alloc_row(&mut self) -> Entity {
        // SAFETY: the caller hands the name to no code outside.
        infallible(unsafe { self.try_alloc_row() })
    }

    /// Allocates a slot for a further row of an entity, like [`alloc_row`](EntityPool::alloc_row).
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::CapacityOverflow`] if all indices are used up, or [`AllocError::OutOfMemory`] if allocation
    /// fails. The pool is unchanged then.
    ///
    /// # Safety
    ///
    /// The caller hands the name to no code outside, as for [`alloc_row`](EntityPool::alloc_row).
    #[inline]
    pub unsafe fn try_alloc_row(&mut self) -> Result<Entity, AllocError> {
        // SAFETY: the caller hands the name to no code outside.
        unsafe { self.try_alloc_row_with(self.default) }
    }

    /// Allocates a slot for a further row of an entity, with this payload.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::CapacityOverflow`] if all indices are used up, or [`AllocError::OutOfMemory`] if allocation
    /// fails. The pool is unchanged then.
    ///
    /// # Safety
    ///
    /// The caller hands the name to no code outside, as for [`alloc_row`](EntityPool::alloc_row).
    #[inline]
    pub unsafe fn try_alloc_row_with(&mut self, payload: P) -> Result<Entity, AllocError> {
        let entity = self.try_alloc_with(payload)?;
        let row = Entity::new(entity.index(), entity.generation() | ROW);
        // SAFETY: the slot of an entity that was just made exists, and the pool is borrowed exclusively.
        unsafe {
            self.word(row.index()).write(row.generation());
            self.words.set_dirty(row.index());
        }
        (self.live, self.rows) = (self.live - 1, self.rows + 1);
        Ok(row)
    }

    /// Returns the number of live rows.
    #[inline]
    pub fn row_count(&self) -> usize {
        self.rows as usize
    }

    /// Returns the live entity or row with this index.
    ///
    /// # Safety
    ///
    /// The caller hands the name of a row to no code outside, as for [`alloc_row`](EntityPool::alloc_row).
    #[inline]
    pub unsafe fn occupant(&self, index: u32) -> Option<Entity> {
        let word = self.words().get(index as usize)?.word;
        (!is_dead(word)).then(|| Entity::new(index, word))
    }

    /// Releases a live row.
    ///
    /// # Safety
    ///
    /// The row is alive, and is a row.
    #[cold]
    pub(super) unsafe fn release_row(&mut self, row: Entity) -> bool {
        debug_assert!(row.is_row() && self.contains(row));
        self.rows -= 1;
        // SAFETY: the row is alive, so its slot exists and has its generation.
        unsafe { self.vacate(row.index(), row.generation() & !ROW) };
        true
    }
}
