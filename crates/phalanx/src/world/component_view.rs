//! [`ComponentView`]: random access to one component.
#![allow(unsafe_code)]

use super::World;
use super::get::{Ref, Source};
use crate::component::Component;
use crate::error::ComponentError;
use core::fmt;
use phalanx_store::Entity;

impl World {
    /// Returns random access to one component, which is resolved once. It is for loops over entities.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Weight(u32);
    ///
    /// let mut world = World::new();
    /// let crates: Vec<_> = (1..=4).map(|n| world.spawn(Weight(n))).collect();
    /// let weights = world.component::<Weight>();
    /// let total: u32 = crates.iter().map(|e| weights.get(*e).unwrap().0).sum();
    /// assert_eq!(total, 10);
    /// ```
    #[doc(alias = "view")]
    #[doc(alias = "storage")]
    #[inline]
    pub fn component<C: Component>(&self) -> ComponentView<'_, C> {
        ComponentView { world: self, source: self.storage.source::<C>() }
    }
}

/// Random access to one component: [`World::component`].
pub struct ComponentView<'w, C> {
    world: &'w World,
    source: Source<'w, C>,
}

impl<'w, C: Component> ComponentView<'w, C> {
    /// Returns the component of an entity.
    ///
    /// # Errors
    ///
    /// - [`ComponentError::NoSuchEntity`] if the entity is not alive.
    /// - [`ComponentError::MissingComponent`] if it does not have the component.
    #[inline]
    pub fn get(&self, entity: Entity) -> Result<Ref<'w, C>, ComponentError> {
        Ok(self.source.find(&self.world.storage, entity)?.get())
    }

    /// Returns `true` if the entity is alive and has the component.
    #[inline]
    pub fn has(&self, entity: Entity) -> bool {
        self.source.find(&self.world.storage, entity).is_ok()
    }
}

// SAFETY: it reads what the shared world holds, and nothing else.
unsafe impl<C> Send for ComponentView<'_, C> {}
// SAFETY: it reads what the shared world holds, and nothing else.
unsafe impl<C> Sync for ComponentView<'_, C> {}

impl<C> Clone for ComponentView<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C> Copy for ComponentView<'_, C> {}

impl<C> fmt::Debug for ComponentView<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ComponentView({})", core::any::type_name::<C>())
    }
}
