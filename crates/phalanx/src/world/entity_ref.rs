//! Handles of one entity of a world.

use super::World;
use super::access::{Mut, Ref};
use crate::bundle::Bundle;
use crate::component::Component;
use crate::error::{ComponentError, NoSuchEntity, StructuralError};
use core::fmt;
use phalanx_store::Entity;

/// An entity of a shared world: [`World::entity`].
#[derive(Clone, Copy)]
pub struct EntityRef<'w> {
    world: &'w World,
    entity: Entity,
}

/// An entity of a world that is borrowed exclusively: [`World::entity_mut`].
pub struct EntityMut<'w> {
    world: &'w mut World,
    entity: Entity,
}

impl World {
    /// An entity, to be looked at.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Age(u32);
    ///
    /// let mut world = World::new();
    /// let e = world.spawn(Age(7));
    /// let ann = world.entity(e)?;
    /// assert!(ann.has::<Age>() && ann.get::<Age>().unwrap().0 == 7);
    ///
    /// let mut ann = world.entity_mut(e)?;
    /// ann.get_mut::<Age>().unwrap().0 += 1;
    /// assert_eq!(ann.take::<Age>().unwrap().0, 8);
    /// ann.despawn();
    /// assert!(world.entity(e).is_err());
    /// # Ok::<(), phalanx::NoSuchEntity>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If it is not alive.
    pub fn entity(&self, entity: Entity) -> Result<EntityRef<'_>, NoSuchEntity> {
        self.storage.try_location(entity)?;
        Ok(EntityRef { world: self, entity })
    }

    /// An entity, to be changed.
    ///
    /// # Errors
    ///
    /// If it is not alive.
    #[track_caller]
    pub fn entity_mut(&mut self, entity: Entity) -> Result<EntityMut<'_>, NoSuchEntity> {
        if let Err(error) = self.storage.flush() {
            crate::error::panic_change(error.into());
        }
        self.storage.try_location(entity)?;
        Ok(EntityMut { world: self, entity })
    }
}

impl<'w> EntityRef<'w> {
    /// The entity.
    pub fn id(&self) -> Entity {
        self.entity
    }

    /// One of its components.
    ///
    /// # Errors
    ///
    /// If it does not have it.
    pub fn get<C: Component>(&self) -> Result<Ref<'w, C>, ComponentError> {
        self.world.get::<C>(self.entity)
    }

    /// Whether it has a component.
    pub fn has<C: Component>(&self) -> bool {
        self.world.has::<C>(self.entity)
    }

    /// The names of its components, by id.
    pub fn components(&self) -> impl Iterator<Item = &'static str> + 'w {
        self.world.components_of(self.entity).into_iter().flatten()
    }

    /// The world.
    pub fn world(&self) -> &'w World {
        self.world
    }
}

impl EntityMut<'_> {
    /// The entity.
    pub fn id(&self) -> Entity {
        self.entity
    }

    /// The entity, to be looked at.
    pub fn as_ref(&self) -> EntityRef<'_> {
        EntityRef { world: self.world, entity: self.entity }
    }

    /// One of its components.
    ///
    /// # Errors
    ///
    /// If it does not have it.
    pub fn get<C: Component>(&self) -> Result<Ref<'_, C>, ComponentError> {
        self.world.get::<C>(self.entity)
    }

    /// One of its components, for writing.
    ///
    /// # Errors
    ///
    /// If it does not have it.
    pub fn get_mut<C: Component>(&mut self) -> Result<Mut<'_, C>, ComponentError> {
        self.world.get_mut::<C>(self.entity)
    }

    /// Whether it has a component.
    pub fn has<C: Component>(&self) -> bool {
        self.world.has::<C>(self.entity)
    }

    /// The names of its components, by id.
    pub fn components(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.world.components_of(self.entity).into_iter().flatten()
    }

    /// Gives it components: [`World::insert`].
    ///
    /// # Panics
    ///
    /// If the bundle names a component twice.
    #[track_caller]
    pub fn insert<B: Bundle>(&mut self, bundle: B) -> &mut Self {
        if let Err(error) = self.try_insert(bundle) {
            crate::error::panic_change(error);
        }
        self
    }

    /// Gives it components: [`World::try_insert`].
    ///
    /// # Errors
    ///
    /// If the bundle names a component twice, or memory cannot be had; the bundle is dropped, and nothing else happens.
    pub fn try_insert<B: Bundle>(&mut self, bundle: B) -> Result<(), StructuralError> {
        self.world.try_insert(self.entity, bundle)
    }

    /// Takes components from it and drops them. Whether it had any.
    ///
    /// # Panics
    ///
    /// If the bundle names a component twice.
    #[track_caller]
    pub fn remove<B: Bundle>(&mut self) -> bool {
        crate::error::infallible(self.try_remove::<B>())
    }

    /// Takes components from it and drops them. Whether it had any.
    ///
    /// # Errors
    ///
    /// If the bundle names a component twice, or memory cannot be had; nothing happens then.
    pub fn try_remove<B: Bundle>(&mut self) -> Result<bool, StructuralError> {
        self.world.try_remove::<B>(self.entity)
    }

    /// Takes components from it and returns them: [`World::take`].
    ///
    /// # Errors
    ///
    /// If it does not have all of them, the bundle names one twice, or memory cannot be had; nothing happens then.
    pub fn take<B: Bundle>(&mut self) -> Result<B, StructuralError> {
        self.world.take(self.entity)
    }

    /// Ends it and drops its components.
    pub fn despawn(self) {
        // It was alive when the handle was made, and nothing but the handle could end it.
        let _ = self.world.despawn(self.entity);
    }
}

impl fmt::Debug for EntityRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.entity)?;
        f.debug_set().entries(self.components()).finish()
    }
}

impl fmt::Debug for EntityMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}
