//! The free entities of a world.

use super::World;
use phalanx_store::{Entity, FreeListError};

impl World {
    /// Returns the entities that the next spawns get from free slots, in this order. Spawns get new slots after them.
    ///
    /// [Reserved](World::reserve_entity) entities are not among them. A new [extra row](crate::Key) takes a slot like a spawn.
    ///
    /// ```
    /// use phalanx::World;
    ///
    /// let mut world = World::new();
    /// let [a, b, _] = [world.spawn_empty(), world.spawn_empty(), world.spawn_empty()];
    /// world.despawn_batch([a, b]);
    /// let free: Vec<_> = world.free_entities().collect();
    /// assert_eq!([world.spawn_empty(), world.spawn_empty()], free[..]);
    /// ```
    #[doc(alias = "free_list")]
    #[doc(alias = "released")]
    pub fn free_entities(&self) -> impl ExactSizeIterator<Item = Entity> + DoubleEndedIterator + Clone + '_ {
        self.storage.entities.free_entities()
    }

    /// Sets the entities that the next spawns get from free slots, and their order.
    ///
    /// The list has an entity for each free slot. Its generation is the one of [`free_entities`](World::free_entities), or a
    /// later one. So no handle that was ever valid becomes valid again. Two worlds with the same slots and the same list spawn the
    /// same entities.
    ///
    /// ```
    /// use phalanx::World;
    /// use phalanx::store::FreeListError;
    ///
    /// let mut world = World::new();
    /// let [a, b, c] = [world.spawn_empty(), world.spawn_empty(), world.spawn_empty()];
    /// world.despawn_batch([a, b]);
    /// let mut free: Vec<_> = world.free_entities().collect();
    /// free.sort(); // the lowest slot first
    /// world.set_free_entities(&free)?;
    /// assert_eq!(world.spawn_empty().index(), 0);
    /// assert_eq!(world.set_free_entities(&[c]), Err(FreeListError::Alive { entity: c }));
    /// assert!(matches!(world.set_free_entities(&[]), Err(FreeListError::Missing { .. })));
    /// # Ok::<(), FreeListError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`FreeListError::NoSuchSlot`], [`FreeListError::Alive`] or [`FreeListError::Retired`] if the slot of an entity is not
    ///   free.
    /// - [`FreeListError::Generation`] if an entity has an earlier generation than its slot would have next.
    /// - [`FreeListError::Repeated`] if a slot is listed twice, and [`FreeListError::Missing`] if one is not listed.
    /// - [`FreeListError::Alloc`] if allocation fails.
    ///
    /// On error nothing has changed, except that reserved entities may be alive.
    #[doc(alias = "free_list")]
    pub fn set_free_entities(&mut self, entities: &[Entity]) -> Result<(), FreeListError> {
        self.storage.flush()?;
        self.storage.entities.try_set_free_entities(entities)
    }
}
