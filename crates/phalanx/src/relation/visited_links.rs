//! [`VisitedLinks`]: the links of a relation, for the terms of queries.

use super::{LinkOf, Relation};
use crate::component::{ComponentId, Components};
use crate::layout::Kind;
use crate::links::{LinkView, NONE};
use crate::query::{Candidate, VisitedRow, WorldView};
use crate::sparse::LinkRecords;
use crate::world::World;

/// The links of a relation in a world whose rows a query visits.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct VisitedLinks {
    world: WorldView,
    /// `None` if the world does not know the relation.
    storage_id: Option<u32>,
}

impl VisitedLinks {
    /// Finds the links of a relation, given the [id](relation_id) of its hidden component.
    #[inline(always)]
    pub(super) fn new(id: ComponentId, world: &World) -> VisitedLinks {
        VisitedLinks { world: WorldView::new(world), storage_id: world.storage.sparse.storage_id(id) }
    }

    /// Returns the records of the relation in the world of a row.
    #[inline(always)]
    pub(super) fn of<'a>(&'a self, row: &'a VisitedRow) -> LinkRecords<'a> {
        self.world.of(row).storage.sparse.links(self.storage_id)
    }
}

/// Returns the id of the hidden component of a relation, as far as the world knows it.
pub(super) fn relation_id<R: Relation>(components: &Components) -> ComponentId {
    components.id::<LinkOf<R>>()
}

/// Calls `each` with the hidden component of a relation: an entity with a target has a record in its storage.
pub(super) fn require_links(id: ComponentId, each: &mut dyn FnMut(ComponentId, Kind)) {
    each(id, Kind::Linear);
}

/// Returns the records of a relation in the world of a row that a filter tests.
#[inline(always)]
pub(super) fn links_of<'w>(id: ComponentId, row: &Candidate<'w>) -> LinkRecords<'w> {
    let sparse = &row.world().storage.sparse;
    sparse.links(sparse.storage_id(id))
}

/// Returns the slot of the target that a slot is linked to.
#[inline(always)]
pub(super) fn target_of(links: LinkRecords<'_>, slot: u32) -> Option<u32> {
    Some(links.get(slot).target).filter(|target| *target != NONE)
}

/// Returns the slots above another one in a tree, the nearest first.
///
/// There are at most as many as the depth of the slot, so that it ends whatever the records are.
#[inline(always)]
pub(super) fn slots_above(links: LinkRecords<'_>, slot: u32) -> impl Iterator<Item = u32> {
    let mut at = slot;
    (0..links.get(slot).depth).map_while(move |_| {
        at = target_of(links, at)?;
        Some(at)
    })
}
