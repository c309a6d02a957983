//! [`Depth`]: the depth in a tree, as a term of queries.
#![allow(unsafe_code)]

use super::visited_links::relation_id;
use super::{TreeRelation, VisitedLinks};
use crate::component::{ComponentId, Components};
use crate::links::LinkView;
use crate::query::{Access, AlignedStores, ItemRef, ItemRow, ItemRows, QueryData, ReadOnlyQueryData, VisitedRow};
use crate::signature::Signature;
use crate::world::World;
use core::convert::Infallible;
use core::fmt;
use core::marker::PhantomData;

/// A term that yields the depth of the entity in a [tree](TreeRelation): the number of entities above it, as a `u32`.
///
/// It matches every entity. The depth of a root is 0.
///
/// ```
/// use phalanx::World;
/// use phalanx::relation::{ChildOf, Depth};
///
/// let mut world = World::new();
/// let root = world.spawn_empty();
/// let child = world.entity_mut(root)?.spawn_child(());
/// world.entity_mut(child)?.spawn_child(());
/// assert!(world.query::<Depth<ChildOf>>().iter().eq([0, 1, 2]));
/// # Ok::<(), phalanx::NoSuchEntity>(())
/// ```
///
/// A query with this term has no [chunks](crate::Query::chunks), and cannot be [observed](World::observe).
#[doc(alias = "level")]
#[doc(alias = "ParentDepth")]
pub struct Depth<R>(PhantomData<fn() -> R>);

impl<R> fmt::Debug for Depth<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Depth")
    }
}

// SAFETY: it reads links, which no query writes. It is not dense, so that no fetch is made.
unsafe impl<R: TreeRelation> QueryData for Depth<R> {
    type Static = Depth<R>;
    type Item<'w> = u32;
    type Chunk<'w> = Infallible;
    type State = ComponentId;
    type Fetch = Infallible;
    type View = VisitedLinks;
    const IS_DENSE: bool = false;
    const NEEDS_LOCATION: bool = false;

    fn state(components: &Components) -> ComponentId {
        relation_id::<R>(components)
    }

    fn access(access: &mut Access) {
        access.read_links::<R>();
    }

    fn matches(_: &ComponentId, _: &Signature) -> bool {
        true
    }

    unsafe fn fetch(_: &ComponentId, _: &World, _: u32) -> Infallible {
        unreachable!("the term is not dense")
    }

    unsafe fn fetch_aligned(_: &ComponentId, _: &AlignedStores<'_>) -> Option<Infallible> {
        None
    }

    #[inline(always)]
    unsafe fn view(id: &ComponentId, world: &World, _: Option<ComponentId>) -> VisitedLinks {
        VisitedLinks::new(*id, world)
    }

    #[inline(always)]
    fn matches_row(_: &ComponentId, _: VisitedLinks, _: VisitedRow) -> bool {
        true
    }

    #[inline(always)]
    fn at<'w>(_: &ComponentId, links: VisitedLinks, row: ItemRef<'w>) -> Option<u32> {
        let row = row.row();
        Some(links.of(&row).get(row.index()).depth)
    }

    #[inline(always)]
    fn row<'w>(fetch: Infallible, _: ItemRow<'w>) -> u32 {
        match fetch {}
    }

    #[inline(always)]
    fn chunk<'w>(fetch: Infallible, _: ItemRows<'w>) -> Infallible {
        fetch
    }
}

// SAFETY: it only reads.
unsafe impl<R: TreeRelation> ReadOnlyQueryData for Depth<R> {}
