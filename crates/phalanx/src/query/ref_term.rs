//! [`Ref`] as a term: a value and its change ticks.
#![allow(unsafe_code)]

use super::terms::ComponentState;
use super::{
    Access, AlignedStores, Candidate, ComponentFetch, ItemRef, ItemRow, ItemRows, Mismatch, QueryData,
    ReadOnlyQueryData, VisitedRow,
};
use crate::change_detection::{Ref, RunTicks};
use crate::component::{Component, ComponentId, Components};
use crate::layout::{Kind, Layout, TracksChanges};
use crate::signature::Signature;
use crate::world::World;

// SAFETY: it touches what `&C` touches, and the change ticks of the same rows. Where rows share a tick, the access says so.
unsafe impl<C: Component> QueryData for Ref<'_, C>
where
    C::Layout: TracksChanges<C>,
{
    type Static = Ref<'static, C>;
    type Item<'w> = Ref<'w, C>;
    type Chunk<'w> = ();
    type State = ComponentState;
    type Fetch = <C::Layout as Layout<C>>::Ptr;
    type View = ComponentFetch<C>;
    const IS_DENSE: bool = ComponentFetch::<C>::IS_DENSE;
    const NEEDS_LOCATION: bool = ComponentFetch::<C>::IS_DENSE;
    const TRACKS_CHANGES: bool = true;

    fn state(components: &Components) -> ComponentState {
        <&C>::state(components)
    }

    fn access(access: &mut Access) {
        access.touch_ticks::<C>();
    }

    fn matches(state: &ComponentState, signature: &Signature) -> bool {
        <&C>::matches(state, signature)
    }

    fn required(state: &ComponentState, each: &mut dyn FnMut(ComponentId, Kind)) {
        <&C>::required(state, each);
    }

    fn set_ticks(state: &mut ComponentState, ticks: RunTicks) {
        state.ticks = ticks;
    }

    fn mismatch(state: &ComponentState, row: &Candidate<'_>) -> Option<Mismatch> {
        <&C>::mismatch(state, row)
    }

    #[inline]
    unsafe fn fetch(state: &ComponentState, world: &World, table: u32) -> Self::Fetch {
        // SAFETY: the caller's contract is the same, and `&C` matches the same tables.
        unsafe { <&C>::fetch(state, world, table) }
    }

    fn side(state: &ComponentState) -> Option<ComponentId> {
        <&C>::side(state)
    }

    unsafe fn fetch_side(state: &ComponentState, world: &World, row: VisitedRow) -> Option<(Self::Fetch, usize)> {
        // SAFETY: the caller's contract is the same.
        unsafe { <&C>::fetch_side(state, world, row) }
    }

    unsafe fn fetch_aligned(state: &ComponentState, stores: &AlignedStores<'_>) -> Option<Self::Fetch> {
        // SAFETY: the caller's contract is the same.
        unsafe { <&C>::fetch_aligned(state, stores) }
    }

    #[inline(always)]
    unsafe fn view(state: &ComponentState, world: &World, driver: Option<ComponentId>) -> ComponentFetch<C> {
        // SAFETY: the caller's contract is the same.
        unsafe { <&C>::view(state, world, driver) }
    }

    #[inline(always)]
    fn settle(view: ComponentFetch<C>, table: u32) -> ComponentFetch<C> {
        view.settle(table)
    }

    #[inline(always)]
    fn matches_row(_: &ComponentState, view: ComponentFetch<C>, row: VisitedRow) -> bool {
        view.find(row).is_some()
    }

    #[inline(always)]
    fn at<'w>(_: &ComponentState, view: ComponentFetch<C>, row: ItemRef<'w>) -> Option<Ref<'w, C>> {
        // SAFETY: what is found is in use, and no other item conflicts, by the contract of `ItemRef`.
        view.find(row.row()).map(|(values, row)| unsafe { Ref::new(values, row) })
    }

    #[inline(always)]
    fn prefetch(view: ComponentFetch<C>, row: VisitedRow) {
        view.prefetch(row);
    }

    #[inline(always)]
    fn row<'w>(fetch: Self::Fetch, row: ItemRow<'w>) -> Ref<'w, C> {
        // SAFETY: the row is in use, and no other item conflicts, by the contract of `ItemRow`.
        unsafe { Ref::new(fetch, row.index()) }
    }

    fn chunk<'w>(_: Self::Fetch, _: ItemRows<'w>) {}
}

// SAFETY: it only reads.
unsafe impl<C: Component> ReadOnlyQueryData for Ref<'_, C> where C::Layout: TracksChanges<C> {}
