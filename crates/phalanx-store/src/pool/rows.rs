//! Slots that are no entities: further rows of one, for a layer above.
#![allow(unsafe_code)]

use super::EntityPool;
use crate::error::infallible;
use crate::generation::{ROW, is_dead};
use crate::{AllocError, Entity};

impl<P: Copy> EntityPool<P> {
    /// Takes a slot for something that is no entity of its own: a further row of one.
    ///
    /// What names it is [marked](Entity::is_row), and is contained and released like an entity. It is not counted or
    /// listed among entities, and no bits lead to it: [`Entity::from_bits`] refuses the mark.
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
    /// The caller keeps what it gets to itself, as an entity: a layer that marks slots may trust that whoever hands it
    /// an entity hands it none that is marked, of its own pool or of another.
    #[inline]
    #[track_caller]
    pub unsafe fn alloc_row(&mut self) -> Entity {
        // SAFETY: the caller's promise.
        infallible(unsafe { self.try_alloc_row() })
    }

    /// As [`alloc_row`](EntityPool::alloc_row).
    ///
    /// # Errors
    ///
    /// If memory cannot be had, or all indices are used up; nothing changed.
    ///
    /// # Safety
    ///
    /// As there.
    #[inline]
    pub unsafe fn try_alloc_row(&mut self) -> Result<Entity, AllocError> {
        let entity = self.try_alloc()?;
        let row = Entity::new(entity.index(), entity.generation() | ROW);
        // SAFETY: the slot exists.
        unsafe {
            self.word(row.index()).write(row.generation());
            self.words.mark(row.index());
        }
        (self.live, self.rows) = (self.live - 1, self.rows + 1);
        Ok(row)
    }

    /// How many rows there are.
    #[inline]
    pub fn row_count(&self) -> usize {
        self.rows as usize
    }

    /// The entity or row that is alive in this slot.
    ///
    /// # Safety
    ///
    /// As for [`alloc_row`](EntityPool::alloc_row): the caller keeps a row to itself.
    #[inline]
    pub unsafe fn occupant(&self, index: u32) -> Option<Entity> {
        let word = self.words().get(index as usize)?.word;
        (!is_dead(word)).then(|| Entity::new(index, word))
    }

    /// Ends a row, which is there.
    #[cold]
    pub(super) fn release_row(&mut self, row: Entity) -> bool {
        self.rows -= 1;
        self.vacate(row.index(), row.generation() & !ROW);
        true
    }
}
