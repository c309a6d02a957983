//! Stores whose rows have the same positions, so that a query iterates over them like over a table.

use super::visited_row::ColumnPtr;
use crate::component::ComponentId;
use crate::world::World;
use core::fmt;
use phalanx_store::Entity;
use phalanx_store::raw::Lane;

/// Stores whose rows have the same positions, and what is known of all these rows.
///
/// They are one pool, the pools that a group owns, or several linear stores. Fetches rely on what is said here.
#[doc(hidden)]
pub struct AlignedStores<'a> {
    pub(super) world: &'a World,
    /// The sparse components whose stores they are.
    pub(super) owned: &'a [u32],
    /// The sparse components that every row has, those of the stores among them.
    pub(super) has: &'a [u32],
    /// The sparse components that no row has.
    pub(super) lacks: &'a [u32],
    /// The slots by row, if they are contiguous.
    pub(super) keys: Option<ColumnPtr<Entity>>,
    /// Whether there are extra rows among them.
    pub(super) extra: bool,
}

impl AlignedStores<'_> {
    /// Returns `true` if each row is known to have a component.
    pub fn has(&self, id: ComponentId) -> bool {
        self.is_one(id, self.has)
    }

    /// Returns `true` if each row is known not to have a component.
    pub fn lacks(&self, id: ComponentId) -> bool {
        self.is_one(id, self.lacks)
    }

    fn is_one(&self, id: ComponentId, sparse: &[u32]) -> bool {
        self.world.storage.sparse.storage_id(id).is_some_and(|number| sparse.contains(&number))
    }

    /// Returns the first lane of a component, if its store is one of them.
    pub(super) fn lane(&self, id: ComponentId) -> Option<*const Lane> {
        let store = self.world.storage.sparse.of(id).filter(|_| self.is_one(id, self.owned))?;
        Some(store.values().lane().cast_const())
    }
}

impl fmt::Debug for AlignedStores<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AlignedStores({:?})", self.owned)
    }
}
