//! [`Entry`]: a component of an entity, which may or may not be there.

use super::get::{Mut, Ref};
use super::{EntityMut, World};
use crate::component::Component;
use crate::error::{StructuralError, infallible};
use core::fmt;
use core::marker::PhantomData;
use phalanx_store::Entity;

/// A component of an entity, which may or may not be there: [`EntityMut::entry`].
#[doc(alias = "ComponentEntry")]
pub enum Entry<'a, C> {
    /// The entity has the component.
    Occupied(OccupiedEntry<'a, C>),
    /// The entity does not have the component.
    Vacant(VacantEntry<'a, C>),
}

/// A component that an entity has: a part of [`Entry`].
pub struct OccupiedEntry<'a, C> {
    world: &'a mut World,
    entity: Entity,
    component: PhantomData<fn(C) -> C>,
}

/// A component that an entity does not have: a part of [`Entry`].
pub struct VacantEntry<'a, C> {
    world: &'a mut World,
    entity: Entity,
    component: PhantomData<fn(C) -> C>,
}

impl EntityMut<'_> {
    /// Returns the entry of a component, to insert a value only if there is none, or to remove one only if there is.
    ///
    /// ```
    /// use phalanx::{Component, Entry, World};
    ///
    /// #[derive(Component, Default, Debug, PartialEq)]
    /// struct Wounds(u32);
    ///
    /// let mut world = World::new();
    /// let e = world.spawn(());
    /// for _ in 0..3 {
    ///     world.entity_mut(e)?.entry::<Wounds>().or_default().0 += 1;
    /// }
    /// let mut entity = world.entity_mut(e)?;
    /// let healed = match entity.entry::<Wounds>() {
    ///     Entry::Occupied(entry) if entry.get().0 > 2 => entry.remove(),
    ///     _ => Wounds(0),
    /// };
    /// assert_eq!(healed, Wounds(3));
    /// assert!(!world.has::<Wounds>(e));
    /// # Ok::<(), phalanx::NoSuchEntity>(())
    /// ```
    ///
    /// An entry borrows the world. Two entries at a time do not compile:
    ///
    /// ```compile_fail,E0499
    /// # use phalanx::{Component, World};
    /// # #[derive(Component)]
    /// # struct Health(u32);
    /// # #[derive(Component)]
    /// # struct Armour(u32);
    /// let mut world = World::new();
    /// let e = world.spawn(());
    /// let mut entity = world.entity_mut(e).unwrap();
    /// let (health, armour) = (entity.entry::<Health>(), entity.entry::<Armour>());
    /// health.or_insert(Health(armour.or_insert(Armour(1)).0));
    /// ```
    #[doc(alias = "get_or_emplace")]
    #[doc(alias = "try_emplace")]
    pub fn entry<C: Component>(&mut self) -> Entry<'_, C> {
        let (entity, component) = (self.entity, PhantomData);
        match self.has::<C>() {
            true => Entry::Occupied(OccupiedEntry { world: self.world, entity, component }),
            false => Entry::Vacant(VacantEntry { world: self.world, entity, component }),
        }
    }
}

impl<'a, C: Component> Entry<'a, C> {
    /// Returns the entity.
    pub fn id(&self) -> Entity {
        match self {
            Entry::Occupied(entry) => entry.entity,
            Entry::Vacant(entry) => entry.entity,
        }
    }

    /// Calls `f` with the value, if there is one. Like a write through [`EntityMut::get_mut`], this is not dispatched to
    /// [listeners](crate::signal).
    #[must_use]
    pub fn and_modify(mut self, f: impl FnOnce(Mut<'_, C>)) -> Self {
        if let Entry::Occupied(entry) = &mut self {
            f(entry.get_mut());
        }
        self
    }

    /// Inserts a value if there is none, and returns the value for writing.
    ///
    /// # Panics
    ///
    /// If a [listener](crate::signal) removes the inserted component at once.
    #[doc(alias = "get_or_emplace")]
    #[track_caller]
    pub fn or_insert(self, value: C) -> Mut<'a, C> {
        self.or_insert_with(|| value)
    }

    /// Inserts the value that a function returns if there is none, and returns the value for writing.
    ///
    /// # Panics
    ///
    /// If a [listener](crate::signal) removes the inserted component at once.
    #[track_caller]
    pub fn or_insert_with(self, value: impl FnOnce() -> C) -> Mut<'a, C> {
        match self {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(value()),
        }
    }

    /// Inserts the default value if there is none, and returns the value for writing.
    ///
    /// # Panics
    ///
    /// If a [listener](crate::signal) removes the inserted component at once.
    #[track_caller]
    pub fn or_default(self) -> Mut<'a, C>
    where
        C: Default,
    {
        self.or_insert_with(C::default)
    }
}

impl<'a, C: Component> OccupiedEntry<'a, C> {
    /// Returns the value.
    pub fn get(&self) -> Ref<'_, C> {
        match self.world.get::<C>(self.entity) {
            Ok(value) => value,
            Err(error) => unreachable!("an entity has the component of an occupied entry: {error}"),
        }
    }

    /// Returns the value, for writing.
    pub fn get_mut(&mut self) -> Mut<'_, C> {
        present::<C>(self.world, self.entity)
    }

    /// Returns the value for writing, for as long as the world is borrowed.
    pub fn into_mut(self) -> Mut<'a, C> {
        present::<C>(self.world, self.entity)
    }

    /// Replaces the value, and returns the old one, like [`World::replace`].
    ///
    /// The entry is used up, because a [listener](crate::signal) may remove the component.
    #[doc(alias = "replace")]
    #[track_caller]
    pub fn insert(self, value: C) -> C {
        match self.world.replace(self.entity, value) {
            Ok(old) => old,
            Err(error) => unreachable!("an entity has the component of an occupied entry: {error}"),
        }
    }

    /// Removes the component, and returns its value.
    #[doc(alias = "take")]
    #[track_caller]
    pub fn remove(self) -> C {
        infallible(self.try_remove())
    }

    /// Removes the component, like [`remove`](OccupiedEntry::remove), but returns an error if allocation fails.
    ///
    /// # Errors
    ///
    /// [`StructuralError::Alloc`] if allocation fails. Nothing has changed.
    pub fn try_remove(self) -> Result<C, StructuralError> {
        self.world.take::<C>(self.entity)
    }
}

impl<'a, C: Component> VacantEntry<'a, C> {
    /// Inserts a value, and returns it for writing.
    ///
    /// # Panics
    ///
    /// If a [listener](crate::signal) removes the component at once.
    #[track_caller]
    pub fn insert(self, value: C) -> Mut<'a, C> {
        infallible(self.try_insert(value))
    }

    /// Inserts a value, like [`insert`](VacantEntry::insert), but returns every error.
    ///
    /// # Errors
    ///
    /// - [`StructuralError::Alloc`] if allocation fails. The value is dropped, and nothing else changes.
    /// - [`StructuralError::Missing`] if a listener removes the component at once.
    pub fn try_insert(self, value: C) -> Result<Mut<'a, C>, StructuralError> {
        let VacantEntry { world, entity, .. } = self;
        world.try_insert(entity, value)?;
        let component = core::any::type_name::<C>();
        world.get_mut::<C>(entity).map_err(|_| StructuralError::Missing { entity, component })
    }
}

/// Returns the component of an entity that has it, for writing.
fn present<C: Component>(world: &mut World, entity: Entity) -> Mut<'_, C> {
    match world.get_mut::<C>(entity) {
        Ok(value) => value,
        Err(error) => unreachable!("an entity has the component of an occupied entry: {error}"),
    }
}

impl<C> fmt::Debug for Entry<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Entry::Occupied(entry) => entry.fmt(f),
            Entry::Vacant(entry) => entry.fmt(f),
        }
    }
}

impl<C> fmt::Debug for OccupiedEntry<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OccupiedEntry({} of {})", core::any::type_name::<C>(), self.entity)
    }
}

impl<C> fmt::Debug for VacantEntry<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VacantEntry({} of {})", core::any::type_name::<C>(), self.entity)
    }
}
