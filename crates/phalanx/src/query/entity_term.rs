//! [`EntityRef`] as a term of queries.
#![allow(unsafe_code)]

use super::row_terms::owner_at;
use super::visited_row::ColumnPtr;
use super::{
    Access, AlignedStores, ItemRef, ItemRow, ItemRows, QueryData, ReadOnlyQueryData, TableRef, VisitedRow, WorldView,
};
use crate::component::{ComponentId, Components};
use crate::signature::Signature;
use crate::world::{EntityRef, World};
use phalanx_store::Entity;

// SAFETY: it declares that it reads everything.
unsafe impl QueryData for EntityRef<'_> {
    type Static = EntityRef<'static>;
    type Item<'w> = EntityRef<'w>;
    type Chunk<'w> = ();
    type State = ();
    type Fetch = (WorldView, ColumnPtr<Entity>);
    type View = WorldView;
    const IS_DENSE: bool = true;
    const NEEDS_LOCATION: bool = false;

    fn state(_: &Components) {}

    fn access(access: &mut Access) {
        access.read_world();
    }

    fn matches((): &(), _: &Signature) -> bool {
        true
    }

    unsafe fn fetch((): &(), world: &World, table: u32) -> Self::Fetch {
        (WorldView::new(world), ColumnPtr::<Entity>::of_table(TableRef { world, table }.table()))
    }

    unsafe fn fetch_aligned((): &(), stores: &AlignedStores<'_>) -> Option<Self::Fetch> {
        ColumnPtr::<Entity>::of_stores(stores).map(|entities| (WorldView::new(stores.world), entities))
    }

    #[inline(always)]
    unsafe fn view((): &(), world: &World, _: Option<ComponentId>) -> WorldView {
        WorldView::new(world)
    }

    #[inline(always)]
    fn matches_row((): &(), _: WorldView, _: VisitedRow) -> bool {
        true
    }

    #[inline(always)]
    fn at<'w>((): &(), view: WorldView, row: ItemRef<'w>) -> Option<EntityRef<'w>> {
        let world = view.of_item(row);
        Some(EntityRef { world, entity: owner_at(world, row.row()) })
    }

    #[inline(always)]
    fn row<'w>((world, entities): Self::Fetch, row: ItemRow<'w>) -> EntityRef<'w> {
        EntityRef { world: world.of_row(row), entity: entities.get(row) }
    }

    #[inline(always)]
    fn chunk<'w>(_: Self::Fetch, _: ItemRows<'w>) {}
}

// SAFETY: it only reads.
unsafe impl ReadOnlyQueryData for EntityRef<'_> {}
