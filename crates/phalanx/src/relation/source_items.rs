//! [`SourceItems`]: the items of a query for the sources of a target.
#![allow(unsafe_code)]

use super::{LinkOf, Relation};
use crate::links::{LinkView, NONE};
use crate::query::{Lookup, Query, QueryData, QueryFilter, ReadOnlyQueryData};
use crate::sparse::LinkRecords;
use core::fmt;
use core::iter::FusedIterator;
use phalanx_store::Entity;

/// The items of a query for the sources of a target, in the order of the sources.
///
/// It is made by [`Query::iter_sources`] and [`Query::iter_sources_mut`].
pub struct SourceItems<'w, 's, D: QueryData, F: QueryFilter = ()> {
    lookup: Lookup<'w, 's, D, F>,
    links: LinkRecords<'w>,
    /// The source that was visited last.
    last: u32,
    next: u32,
    /// An upper bound of the items to come.
    max_len: u32,
}

impl<'w, 's, D: QueryData, F: QueryFilter> Query<'w, 's, D, F> {
    /// Returns an iterator over the items of the entities that are linked to a target, in the order of the links.
    ///
    /// Sources that do not match are left out. A target that is not alive has no sources. For data that write there is
    /// [`iter_sources_mut`](Query::iter_sources_mut).
    ///
    /// ```
    /// use phalanx::relation::ChildOf;
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Part(&'static str);
    /// #[derive(Component)]
    /// struct Crew;
    ///
    /// let mut world = World::new();
    /// let ship = world.spawn(Part("ship"));
    /// world.entity_mut(ship)?.spawn_child(Part("mast"));
    /// world.entity_mut(ship)?.spawn_child(Crew);
    /// world.entity_mut(ship)?.spawn_child(Part("sail"));
    ///
    /// let parts = world.query::<&Part>();
    /// assert!(parts.iter_sources::<ChildOf>(ship).map(|part| part.0).eq(["mast", "sail"]));
    /// # Ok::<(), phalanx::NoSuchEntity>(())
    /// ```
    #[doc(alias = "children")]
    #[doc(alias = "iter_children")]
    pub fn iter_sources<R: Relation>(&self, target: Entity) -> SourceItems<'w, 's, D, F>
    where
        D: ReadOnlyQueryData,
    {
        SourceItems::new::<R>((*self).into_lookup(), target)
    }

    /// Returns an iterator over the items of the entities that are linked to a target, in the order of the links.
    ///
    /// Sources that do not match are left out. A target that is not alive has no sources.
    ///
    /// ```
    /// use phalanx::relation::ChildOf;
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Heat(u32);
    ///
    /// let mut world = World::new();
    /// let ship = world.spawn(Heat(1));
    /// let gun = world.entity_mut(ship)?.spawn_child(Heat(1));
    /// for heat in world.query_mut::<&mut Heat>().iter_sources_mut::<ChildOf>(ship) {
    ///     heat.0 += 1;
    /// }
    /// assert_eq!((world.get::<Heat>(ship).unwrap().0, world.get::<Heat>(gun).unwrap().0), (1, 2));
    /// # Ok::<(), phalanx::NoSuchEntity>(())
    /// ```
    #[doc(alias = "children")]
    pub fn iter_sources_mut<R: Relation>(&mut self, target: Entity) -> SourceItems<'_, 's, D, F> {
        SourceItems::new::<R>(self.reborrow().into_lookup(), target)
    }
}

impl<'w, 's, D: QueryData, F: QueryFilter> SourceItems<'w, 's, D, F> {
    /// Starts at the first source of a target.
    fn new<R: Relation>(lookup: Lookup<'w, 's, D, F>, target: Entity) -> Self {
        let storage = &lookup.world().storage;
        let links = storage.sparse.links(storage.sparse.storage_id_of::<LinkOf<R>>(&storage.components));
        let target = if storage.contains(target) { links.get(target.index()) } else { links.get(NONE) };
        SourceItems { lookup, links, last: NONE, next: target.first, max_len: target.count }
    }
}

impl<'w, D: QueryData, F: QueryFilter> Iterator for SourceItems<'w, '_, D, F> {
    type Item = D::Item<'w>;

    fn next(&mut self) -> Option<D::Item<'w>> {
        loop {
            let slot = self.next;
            if slot == NONE {
                return None;
            }
            let link = self.links.get(slot);
            assert!(link.prev == self.last, "the sources of a target are a list");
            (self.last, self.next) = (slot, link.next);
            self.max_len = self.max_len.saturating_sub(1);
            let Some(source) = self.lookup.world().storage.entities.get(slot) else { continue };
            // SAFETY: no slot is visited twice, so that no two items are of the same entity; and the query is used up, or it only
            // reads, so that it makes no other items. A slot is visited only if the record of it names the slot that was
            // visited before it, none for the first one. Links do not change while the world is borrowed. If a slot were
            // visited a second time, the slot before it would have been visited twice too, earlier; so would the one before
            // that, down to the first slot visited. But that one has none before it, and its second visit has.
            if let Some(item) = unsafe { self.lookup.item(source) } {
                return Some(item);
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.max_len as usize))
    }
}

impl<D: QueryData, F: QueryFilter> FusedIterator for SourceItems<'_, '_, D, F> {}

impl<D: QueryData, F: QueryFilter> fmt::Debug for SourceItems<'_, '_, D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SourceItems(at most {} left)", self.max_len)
    }
}
