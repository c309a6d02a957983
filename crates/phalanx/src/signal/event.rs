//! The events that listeners are called with.
#![allow(unsafe_code)]

use crate::component::Component;
use crate::journal::JournalEntry;
use crate::query::ReadOnlyQueryData;
use crate::rows::Key;
use crate::world::{Ref, World};
use core::fmt;
use phalanx_store::Entity;

/// A component was added to a row: the event of [`World::on_add`].
pub struct Added<'a, C: Component> {
    /// The entity that the row belongs to.
    pub entity: Entity,
    pub(super) key: Key,
    /// The added value.
    pub value: Ref<'a, C>,
}

/// A component was replaced, or changed by [`World::patch`]: the event of [`World::on_set`].
pub struct Set<'a, C: Component> {
    /// The entity that the row belongs to.
    pub entity: Entity,
    pub(super) key: Key,
    /// The old value. `None` if it was changed in place by [`World::patch`].
    pub old: Option<Ref<'a, C>>,
    /// The new value.
    pub new: Ref<'a, C>,
}

/// A value was replaced by another one: the event of [`ListenerBuilder::on_replace`](super::ListenerBuilder::on_replace).
pub struct Replaced<'a, C: Component> {
    /// The entity that the row belongs to.
    pub entity: Entity,
    pub(super) key: Key,
    /// The old value, which is dropped or returned to the caller when the listeners have run.
    pub old: Ref<'a, C>,
    /// The new value.
    pub new: Ref<'a, C>,
}

/// A component was removed from a row: the event of [`World::on_remove`].
pub struct Removed<'a, C: Component> {
    /// The entity that the row belongs to.
    pub entity: Entity,
    pub(super) key: Key,
    /// The removed value.
    pub value: Ref<'a, C>,
}

/// An entity was spawned: the event of [`World::on_spawn`].
#[derive(Clone, Copy, Debug)]
pub struct Spawned {
    /// The entity.
    pub entity: Entity,
}

/// An entity was despawned: the event of [`World::on_despawn`].
#[derive(Clone, Copy, Debug)]
pub struct Despawned<'a> {
    /// The entity, which is not alive.
    pub entity: Entity,
    /// The components of its main row.
    pub row: DespawnedRow<'a>,
}

/// A row matches a query that it did not match: the event of [`ObserverBuilder::on_enter`](super::ObserverBuilder::on_enter).
pub struct Entered<'a, D: ReadOnlyQueryData> {
    /// The entity that the row belongs to.
    pub entity: Entity,
    pub(super) key: Key,
    /// The data of the row.
    pub item: D::Item<'a>,
}

/// A row matches a query no more: the event of [`ObserverBuilder::on_leave`](super::ObserverBuilder::on_leave).
pub struct Left<'a, D: ReadOnlyQueryData> {
    /// The entity that the row belongs to. It may have been despawned.
    pub entity: Entity,
    pub(super) key: Key,
    /// The data of the row, as they were before the operation.
    pub item: D::Item<'a>,
}

macro_rules! keyed {
    ($($name:ident of $bound:ident,)*) => {$(
        impl<C: $bound> $name<'_, C> {
            /// Returns the key of the row, which is the main row or an extra row.
            pub fn key(&self) -> Key {
                self.key
            }
        }

        impl<C: $bound> fmt::Debug for $name<'_, C> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({}, {})", stringify!($name), self.key, core::any::type_name::<C>())
            }
        }
    )*};
}
keyed! {
    Added of Component,
    Set of Component,
    Replaced of Component,
    Removed of Component,
    Entered of ReadOnlyQueryData,
    Left of ReadOnlyQueryData,
}

/// The components that an entity had when it was despawned.
#[derive(Clone, Copy)]
pub struct DespawnedRow<'a> {
    /// An entry for each component of the row.
    pub(super) entries: &'a [JournalEntry],
    pub(super) world: &'a World,
}

impl<'a> DespawnedRow<'a> {
    /// Returns a component that the entity had.
    pub fn get<C: Component>(&self) -> Option<Ref<'a, C>> {
        let id = self.world.storage.components.id::<C>();
        let entry = self.entries.iter().find(|entry| entry.id == id)?;
        // SAFETY: the entry is of this component. Its value is dropped after the listeners have run.
        unsafe { entry.old.get::<C>() }
    }

    /// Returns `true` if the entity had a component.
    pub fn has<C: Component>(&self) -> bool {
        let id = self.world.storage.components.id::<C>();
        self.entries.iter().any(|entry| entry.id == id)
    }

    /// Iterates over the names of the components, by id.
    pub fn components(&self) -> impl Iterator<Item = &'static str> + 'a {
        let components = &self.world.storage.components;
        self.entries.iter().map(|entry| components.info(entry.id).name())
    }
}

impl fmt::Debug for DespawnedRow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.components()).finish()
    }
}
