//! What listeners are told.
#![allow(unsafe_code)]

use super::JournalEntry;
use crate::component::Component;
use crate::rows::Key;
use crate::world::{Ref, World};
use core::fmt;
use phalanx_store::Entity;

/// A component came to a row: [`World::on_add`].
pub struct Added<'a, C: Component> {
    /// Whose row it is.
    pub entity: Entity,
    pub(super) key: Key,
    /// The value.
    pub value: Ref<'a, C>,
}

/// A component was replaced, or changed by [`World::patch`]: [`World::on_set`].
pub struct Set<'a, C: Component> {
    /// Whose row it is.
    pub entity: Entity,
    pub(super) key: Key,
    /// What it was; none if it was changed in its place, by [`World::patch`].
    pub old: Option<Ref<'a, C>>,
    /// What it is.
    pub new: Ref<'a, C>,
}

/// A row lost a component: [`World::on_remove`].
pub struct Removed<'a, C: Component> {
    /// Whose row it is.
    pub entity: Entity,
    pub(super) key: Key,
    /// What it was.
    pub value: Ref<'a, C>,
}

/// An entity was made: [`World::on_spawn`].
#[derive(Clone, Copy, Debug)]
pub struct Spawned {
    /// The entity.
    pub entity: Entity,
}

/// An entity has ended: [`World::on_despawn`].
#[derive(Clone, Copy, Debug)]
pub struct Despawned<'a> {
    /// The entity, which is not alive any more.
    pub entity: Entity,
    /// What its main row had.
    pub row: RetiredRow<'a>,
}

macro_rules! keyed {
    ($($name:ident)*) => {$(
        impl<C: Component> $name<'_, C> {
            /// The key of the row: that of the main row, or of an extra one.
            pub fn key(&self) -> Key {
                self.key
            }
        }

        impl<C: Component> fmt::Debug for $name<'_, C> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({}, {})", stringify!($name), self.key, core::any::type_name::<C>())
            }
        }
    )*};
}
keyed!(Added Set Removed);

/// The components that an entity had when it ended.
#[derive(Clone, Copy)]
pub struct RetiredRow<'a> {
    /// A note for each component of the row.
    pub(super) notes: &'a [JournalEntry],
    pub(super) world: &'a World,
}

impl<'a> RetiredRow<'a> {
    /// A component that the entity had.
    pub fn get<C: Component>(&self) -> Option<Ref<'a, C>> {
        let id = self.world.storage.components.id::<C>();
        let note = self.notes.iter().find(|note| note.id == id)?;
        // SAFETY: the note is one of this component, and what it names does not end while signals are told.
        unsafe { note.old.get::<C>() }
    }

    /// Whether the entity had a component.
    pub fn has<C: Component>(&self) -> bool {
        let id = self.world.storage.components.id::<C>();
        self.notes.iter().any(|note| note.id == id)
    }

    /// The names of the components, by id.
    pub fn components(&self) -> impl Iterator<Item = &'static str> + 'a {
        let components = &self.world.storage.components;
        self.notes.iter().map(|note| components.info(note.id).name())
    }
}

impl fmt::Debug for RetiredRow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.components()).finish()
    }
}
