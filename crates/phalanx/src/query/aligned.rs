//! Stores whose rows lie at the same places, so that a query goes through them as through a table.
#![allow(unsafe_code)]

use crate::component::{Component, ComponentId};
use crate::layout::Layout;
use crate::track::Look;
use crate::world::World;
use core::fmt;
use core::ptr::NonNull;
use phalanx_store::Entity;

/// Stores whose rows are aligned: a pool by itself, the pools that a group owns, or linear stores together.
///
/// And what is known of all these rows.
pub struct Aligned<'a> {
    pub(super) world: &'a World,
    /// The sides whose stores they are.
    pub(super) owned: &'a [u32],
    /// The sides that every row is in, those among them.
    pub(super) has: &'a [u32],
    /// The sides that no row is in.
    pub(super) lacks: &'a [u32],
    /// The slots, by row, where they lie side by side too.
    pub(super) keys: Option<NonNull<Entity>>,
    /// Whether there are extra rows among them.
    pub(super) extra: bool,
}

impl Aligned<'_> {
    /// Whether each row is known to have a component.
    pub fn has(&self, id: ComponentId) -> bool {
        self.is_one(id, self.has)
    }

    /// Whether each row is known not to have a component.
    pub fn lacks(&self, id: ComponentId) -> bool {
        self.is_one(id, self.lacks)
    }

    fn is_one(&self, id: ComponentId, sides: &[u32]) -> bool {
        self.world.storage.sides.number(id).is_some_and(|side| sides.contains(&side))
    }

    /// Returns the values of a component, if its store is one of them.
    ///
    /// # Safety
    ///
    /// The id is that of `C` in this world, or one that no component of it has.
    pub(super) unsafe fn values<C: Component>(
        &self,
        id: ComponentId,
        look: Look,
    ) -> Option<<C::Layout as Layout<C>>::Ptr> {
        let side = self.world.storage.sides.of(id).filter(|_| self.is_one(id, self.owned))?;
        // SAFETY: the lanes are those of `C`, by the caller's promise.
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
