//! Replaces and changes values of components in place.
#![allow(unsafe_code)]

use super::World;
use super::get::Mut;
use crate::alloc::unwrap_alloc;
use crate::component::Component;
use crate::error::ComponentError;
use crate::journal::ValuePtr;
use phalanx_store::Entity;

impl World {
    /// Replaces the value of a component, and returns the old value.
    ///
    /// # Errors
    ///
    /// - [`ComponentError::NoSuchEntity`] if the entity is not alive.
    /// - [`ComponentError::MissingComponent`] if it does not have the component.
    ///
    /// On error the value is dropped.
    #[track_caller]
    pub fn replace<C: Component>(&mut self, entity: Entity, value: C) -> Result<C, ComponentError> {
        unwrap_alloc(self.storage.flush());
        unwrap_alloc(self.storage.reserve_entries(1));
        let (lane, row) = self.storage.find::<C>(entity)?.location();
        // SAFETY: the lane is the component's and the row is in use.
        let old = unsafe { self.storage.set_value(lane, row, value) };
        self.storage.record_set::<C>(entity, ValuePtr::Value((&raw const old).cast()));
        self.dispatch();
        Ok(old)
    }

    /// Changes a component in place, and returns what the closure returns.
    ///
    /// Unlike a write through [`get_mut`](World::get_mut), the change is dispatched to [listeners](crate::signal).
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Purse(u32);
    ///
    /// let mut world = World::new();
    /// let e = world.spawn(Purse(3));
    /// let before = world.patch::<Purse, _>(e, |purse| std::mem::replace(&mut purse.0, 10)).unwrap();
    /// assert_eq!((before, world.get::<Purse>(e).unwrap().0), (3, 10));
    /// ```
    ///
    /// # Errors
    ///
    /// - [`ComponentError::NoSuchEntity`] if the entity is not alive.
    /// - [`ComponentError::MissingComponent`] if it does not have the component.
    ///
    /// On error the closure is not called.
    #[track_caller]
    pub fn patch<C: Component, R>(
        &mut self,
        entity: Entity,
        change: impl FnOnce(Mut<'_, C>) -> R,
    ) -> Result<R, ComponentError> {
        unwrap_alloc(self.storage.flush());
        unwrap_alloc(self.storage.reserve_entries(1));
        self.storage.stage_past_value::<C>(entity);
        let outcome = change(self.get_mut::<C>(entity)?);
        self.storage.record_set::<C>(entity, ValuePtr::None);
        self.dispatch();
        Ok(outcome)
    }
}
