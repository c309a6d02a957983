//! Stores whose rows lie at the same places, so that a query goes through them as through a table.
#![allow(unsafe_code)]

use crate::component::{Component, ComponentId};
use crate::layout::Layout;
use crate::track::Look;
use crate::world::World;
use core::fmt;
use core::ptr::NonNull;
use phalanx_store::Entity;

/// Stores whose rows are aligned: a pool by itself, or linear stores together.
///
/// What is known of each row: it has the components of these stores.
pub struct Aligned<'a> {
    pub(super) world: &'a World,
    /// The components of the stores.
    pub(super) owned: &'a [ComponentId],
    /// What no row has.
    pub(super) lacks: &'a [ComponentId],
    /// The slots, by row, where they lie side by side too.
    pub(super) keys: Option<NonNull<Entity>>,
    /// Whether there are extra rows among them.
    pub(super) extra: bool,
}

impl Aligned<'_> {
    /// Whether each row is known to have a component.
    pub fn has(&self, id: ComponentId) -> bool {
        self.owned.contains(&id)
    }

    /// Whether each row is known not to have a component.
    pub fn lacks(&self, id: ComponentId) -> bool {
        self.lacks.contains(&id)
    }

    /// The values of a component, if its store is one of them.
    pub(super) fn values<C: Component>(&self, id: ComponentId, look: Look) -> Option<<C::Layout as Layout<C>>::Ptr> {
        let side = self.world.sides.of(id).filter(|_| self.owned.contains(&id))?;
        // SAFETY: the lanes are this component's.
        Some(unsafe { C::Layout::ptr(side.values().lane(), look) })
    }

    /// The entities, by row, if they are those whose rows these are.
    pub(super) fn entities(&self) -> Option<NonNull<Entity>> {
        self.keys.filter(|_| !self.extra)
    }
}

impl fmt::Debug for Aligned<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Aligned({:?})", self.owned)
    }
}
