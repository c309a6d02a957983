//! [`EntityMut`]: an entity of a world that is borrowed exclusively.
#![allow(unsafe_code)]

use super::by_ids::Values;
use super::clone::clone_entity;
use super::get::{Mut, Ref};
use super::transfer::Transfer;
use super::{EntityRef, World};
use crate::alloc::{try_vec, unwrap_alloc};
use crate::bundle::Bundle;
use crate::bundle_info::EdgeKey;
use crate::component::{Component, ComponentId};
use crate::error::{ComponentError, NoSuchEntity, StructuralError, infallible};
use crate::query::Candidate;
use crate::signature::Signature;
use core::fmt;
use core::ptr::NonNull;
use phalanx_store::Entity;

/// An entity of a world that is borrowed exclusively: [`World::entity_mut`].
pub struct EntityMut<'w> {
    pub(crate) world: &'w mut World,
    pub(crate) entity: Entity,
}

impl World {
    /// Returns a handle that changes one entity.
    ///
    /// # Errors
    ///
    /// [`NoSuchEntity`] if the entity is not alive.
    #[track_caller]
    pub fn entity_mut(&mut self, entity: Entity) -> Result<EntityMut<'_>, NoSuchEntity> {
        if !self.contains(entity) {
            // It may be reserved.
            unwrap_alloc(self.storage.flush());
            self.storage.try_location(entity)?;
        }
        Ok(EntityMut { world: self, entity })
    }
}

impl EntityMut<'_> {
    /// Returns the entity.
    pub fn id(&self) -> Entity {
        self.entity
    }

    /// Returns a handle that reads the entity.
    pub fn as_ref(&self) -> EntityRef<'_> {
        EntityRef { world: self.world, entity: self.entity }
    }

    /// Returns a component.
    ///
    /// # Errors
    ///
    /// [`ComponentError::MissingComponent`] if the entity does not have it.
    pub fn get<C: Component>(&self) -> Result<Ref<'_, C>, ComponentError> {
        self.world.get::<C>(self.entity)
    }

    /// Returns a component, for writing.
    ///
    /// # Errors
    ///
    /// [`ComponentError::MissingComponent`] if the entity does not have it.
    pub fn get_mut<C: Component>(&mut self) -> Result<Mut<'_, C>, ComponentError> {
        self.world.get_mut::<C>(self.entity)
    }

    /// Returns `true` if the entity has the component.
    #[doc(alias = "contains")]
    pub fn has<C: Component>(&self) -> bool {
        self.world.has::<C>(self.entity)
    }

    /// Returns the names of the entity's components, in alphabetical order.
    pub fn component_names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.as_ref().component_names()
    }

    /// Inserts the components of `bundle`, like [`World::insert`].
    ///
    /// # Panics
    ///
    /// If the bundle contains a component twice.
    #[track_caller]
    pub fn insert<B: Bundle>(&mut self, bundle: B) -> &mut Self {
        infallible(self.try_insert(bundle));
        self
    }

    /// Inserts the components of `bundle`, like [`World::try_insert`].
    ///
    /// # Errors
    ///
    /// - [`StructuralError::Duplicate`] if the bundle contains a component twice.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// On error the bundle is dropped, and nothing else changes.
    pub fn try_insert<B: Bundle>(&mut self, bundle: B) -> Result<(), StructuralError> {
        self.world.try_insert(self.entity, bundle)
    }

    /// Removes the components of `B` and drops them, like [`World::remove`]. Returns `true` if at least one was removed.
    ///
    /// # Panics
    ///
    /// If the bundle contains a component twice.
    #[track_caller]
    pub fn remove<B: Bundle>(&mut self) -> bool {
        infallible(self.try_remove::<B>())
    }

    /// Removes the components of `B` and drops them, like [`World::try_remove`]. Returns `true` if at least one was removed.
    ///
    /// # Errors
    ///
    /// - [`StructuralError::Duplicate`] if the bundle contains a component twice.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// On error nothing has changed.
    pub fn try_remove<B: Bundle>(&mut self) -> Result<bool, StructuralError> {
        self.world.try_remove::<B>(self.entity)
    }

    /// Removes the components of `B` and returns them, like [`World::take`].
    ///
    /// # Errors
    ///
    /// - [`StructuralError::Missing`] if the entity does not have all of the components.
    /// - [`StructuralError::Duplicate`] if the bundle contains a component twice.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// On error nothing has changed.
    pub fn take<B: Bundle>(&mut self) -> Result<B, StructuralError> {
        self.world.take(self.entity)
    }

    /// Spawns an entity with clones of this entity's components, and returns it.
    ///
    /// [Extra rows](crate::Key) are cloned, too, under the same components and roles.
    ///
    /// ```
    /// use phalanx::{StructuralError, Component, World};
    ///
    /// #[derive(Component, Clone)]
    /// #[component(clone)]
    /// struct Name(String);
    /// #[derive(Component)]
    /// struct Soul;
    ///
    /// let mut world = World::new();
    /// let ann = world.spawn(Name("Ann".into()));
    /// let twin = world.entity_mut(ann)?.clone_entity()?;
    /// assert_eq!(world.get::<Name>(twin).unwrap().0, "Ann");
    /// let mut ann = world.entity_mut(ann)?;
    /// assert!(matches!(ann.insert(Soul).clone_entity(), Err(StructuralError::NotClone { .. })));
    /// # Ok::<(), StructuralError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`StructuralError::NotClone`] if the entity has a component that cannot be cloned.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// Nothing has changed on error, and if a clone panics.
    #[doc(alias = "clone_and_spawn")]
    pub fn clone_entity(&mut self) -> Result<Entity, StructuralError> {
        clone_entity(self.world, self.entity)
    }

    /// Moves the entity with its components to another world, and returns the entity that it is there. No value is cloned or
    /// dropped.
    ///
    /// - [Extra rows](crate::Key) go along. They keep their order and their keys, except for the entity and the component's id.
    /// - Entities in its components ([`Component::ENTITIES`]) that name the entity itself are changed. Others mean nothing in the
    ///   other world.
    /// - For [listeners](crate::signal), the entity is removed and despawned here, then spawned and added there.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Name(String);
    ///
    /// let (mut here, mut there) = (World::new(), World::new());
    /// let ann = here.spawn(Name("Ann".into()));
    /// let ann_there = here.entity_mut(ann)?.transfer(&mut there)?;
    /// assert_eq!(there.get::<Name>(ann_there).unwrap().0, "Ann");
    /// assert!(!here.contains(ann));
    /// # Ok::<(), phalanx::StructuralError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`StructuralError::Alloc`] if allocation fails. Nothing has changed.
    pub fn transfer(self, other: &mut World) -> Result<Entity, StructuralError> {
        let new = Transfer::new(self.world, other).entity(self.entity)?;
        self.world.dispatch_moves(other);
        Ok(new)
    }

    /// Despawns the entity, and drops its components.
    pub fn despawn(self) {
        // It was alive when the handle was made, and only the handle could despawn it.
        let _ = self.world.despawn(self.entity);
    }
}

/// Access by component ids.
impl EntityMut<'_> {
    /// Returns the address of a component's value, like [`EntityRef::get_by_id`].
    ///
    /// # Errors
    ///
    /// - [`ComponentError::MissingComponent`] if the entity does not have the component.
    /// - [`ComponentError::NoAddress`] if the component's values are split over several columns.
    pub fn get_by_id(&self, id: ComponentId) -> Result<NonNull<u8>, ComponentError> {
        self.as_ref().get_by_id(id)
    }

    /// Returns the address of a component's value, for writing. It is valid until the world is used in another way.
    ///
    /// # Errors
    ///
    /// - [`ComponentError::MissingComponent`] if the entity does not have the component.
    /// - [`ComponentError::NoAddress`] if the component's values are split over several columns.
    pub fn get_mut_by_id(&mut self, id: ComponentId) -> Result<NonNull<u8>, ComponentError> {
        let address = self.get_by_id(id)?;
        self.world.storage.touch_component(id, |_| true);
        if let Some(row) = Candidate::find(self.world, self.entity) {
            row.mark_written(id);
        }
        Ok(address)
    }

    /// Returns `true` if the entity has the component with this id.
    pub fn has_by_id(&self, id: ComponentId) -> bool {
        self.as_ref().has_by_id(id)
    }

    /// Inserts a component by its id. The value is moved out of its address, and an old value is dropped.
    ///
    /// # Panics
    ///
    /// If the world has no component with that id.
    ///
    /// # Safety
    ///
    /// `value` points at a value of the component, which the caller gives up.
    #[track_caller]
    pub unsafe fn insert_by_id(&mut self, id: ComponentId, value: NonNull<u8>) -> &mut Self {
        // SAFETY: the address is that of a value of the component, by the caller's contract.
        infallible(unsafe { self.insert_by_ids(&[(id, value)]) });
        self
    }

    /// Inserts components by their ids, in one archetype move. The values are moved out of their addresses, and old values are
    /// dropped.
    ///
    /// # Errors
    ///
    /// - [`StructuralError::Duplicate`] if an id occurs twice.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// On error no value is moved, and nothing has changed.
    ///
    /// # Panics
    ///
    /// If the world has no component with one of the ids.
    ///
    /// # Safety
    ///
    /// Each address is that of a value of its component, which the caller gives up if this succeeds.
    #[track_caller]
    pub unsafe fn insert_by_ids(&mut self, values: &[(ComponentId, NonNull<u8>)]) -> Result<(), StructuralError> {
        let values = Values::try_new(&self.world.storage.components, values)?;
        let bundle_id = self.world.bundle_id_of_ids(&values.ids)?;
        // SAFETY: the values of the ids are moved in; their addresses are valid by the caller's contract.
        unsafe { self.world.insert_erased(self.entity, bundle_id, &mut |ptr| values.write(ptr)) }
    }

    /// Removes components by their ids, and drops them. Components that the entity does not have are ignored. Returns `true` if
    /// at least one was removed.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Fire;
    /// #[derive(Component)]
    /// struct Frost;
    ///
    /// let mut world = World::new();
    /// let e = world.spawn((Fire, Frost));
    /// let curable: Vec<_> = world.component_id::<Fire>().into_iter().collect();
    /// let mut patient = world.entity_mut(e)?;
    /// assert!(patient.remove_by_ids(&curable));
    /// assert!(!patient.remove_by_ids(&curable));
    /// assert!(patient.has::<Frost>());
    /// # Ok::<(), phalanx::NoSuchEntity>(())
    /// ```
    #[track_caller]
    pub fn remove_by_ids(&mut self, ids: &[ComponentId]) -> bool {
        infallible(self.try_remove_by_ids(ids))
    }

    /// Removes components by their ids, like [`remove_by_ids`](EntityMut::remove_by_ids), but returns an error if allocation
    /// fails.
    ///
    /// # Errors
    ///
    /// [`StructuralError::Alloc`] if allocation fails. Nothing has changed.
    pub fn try_remove_by_ids(&mut self, ids: &[ComponentId]) -> Result<bool, StructuralError> {
        let storage = &mut self.world.storage;
        storage.flush()?;
        let from = storage.try_location(self.entity)?;
        let present = &storage.tables[from.table as usize].signature;
        let removed = Signature::try_of(ids.iter().copied().filter(|id| present.has(*id)))?;
        let mut sparse_removes = try_vec(ids.len())?;
        let known = ids.iter().filter(|id| !storage.components.is_hidden(**id));
        for number in known.filter_map(|id| storage.sparse.storage_id(*id)) {
            if !sparse_removes.contains(&number) {
                sparse_removes.push(number);
            }
        }
        let goal = present.try_difference(&removed)?;
        let target = storage.table_of(&goal)?;
        let mut edge = storage.edge_between(from.table, target, &removed, Box::default())?;
        edge.sparse_removes = sparse_removes.into();
        // SAFETY: the entity is at `from`, and the edge inserts nothing.
        unsafe { self.world.remove_along(self.entity, from, EdgeKey::Own(&edge)) }
    }
}

impl fmt::Debug for EntityMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}
