//! The terms of query data.
#![allow(unsafe_code)]

use super::{
    Access, AlignedStores, Candidate, ComponentFetch, Mismatch, QueryData, ReadOnlyQueryData, RowRef, TableRef,
};
use crate::change_detection::{RunTicks, Track};
use crate::component::{Component, ComponentId, Components};
use crate::layout::{Kind, Layout};
use crate::signature::Signature;
use crate::world::World;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;
use phalanx_store::Entity;

// SAFETY: it reads the component's columns.
unsafe impl<C: Component> QueryData for &C {
    type Static = &'static C;
    type Item<'w> = <C::Layout as Layout<C>>::Ref<'w>;
    type Chunk<'w> = <C::Layout as Layout<C>>::Slice<'w>;
    type State = ComponentId;
    type Fetch = <C::Layout as Layout<C>>::Ptr;
    type View = ComponentFetch<C>;
    const IS_DENSE: bool = ComponentFetch::<C>::IS_DENSE;
    const NEEDS_LOCATION: bool = ComponentFetch::<C>::IS_DENSE;

    fn state(components: &Components) -> ComponentId {
        components.id::<C>()
    }

    fn access(access: &mut Access) {
        access.touch::<C>(false);
    }

    fn matches(state: &ComponentId, signature: &Signature) -> bool {
        !Self::IS_DENSE || signature.has(*state)
    }

    fn required(state: &ComponentId, each: &mut dyn FnMut(ComponentId, Kind)) {
        each(*state, C::Layout::KIND);
    }

    fn mismatch(state: &ComponentId, row: &Candidate<'_>) -> Option<Mismatch> {
        (!row.has_type::<C>(*state)).then(Mismatch::missing::<C>)
    }

    #[inline]
    unsafe fn fetch(state: &ComponentId, world: &World, table: u32) -> Self::Fetch {
        // SAFETY: the table has the component, so the directory points at its lanes.
        unsafe { C::Layout::ptr(world.storage.lane(*state, table), RunTicks::READ) }
    }

    #[inline(always)]
    unsafe fn row<'w>(fetch: Self::Fetch, row: usize) -> Self::Item<'w> {
        // SAFETY: the caller's promise.
        unsafe { C::Layout::get(fetch, row) }
    }

    #[inline(always)]
    unsafe fn chunk<'w>(fetch: Self::Fetch, len: usize) -> Self::Chunk<'w> {
        // SAFETY: the caller's promise.
        unsafe { C::Layout::slice(fetch, len) }
    }

    unsafe fn fetch_aligned(state: &ComponentId, stores: &AlignedStores<'_>) -> Option<Self::Fetch> {
        // SAFETY: the id is that of `C`, by the caller's promise.
        unsafe { stores.values::<C>(*state, RunTicks::READ) }
    }

    #[inline(always)]
    unsafe fn view(state: &ComponentId, world: &World, driver: Option<ComponentId>) -> ComponentFetch<C> {
        // SAFETY: the id is that of `C`, by the caller's promise.
        unsafe { ComponentFetch::new(*state, world, driver, RunTicks::READ) }
    }

    #[inline(always)]
    unsafe fn matches_row(_: &ComponentId, view: ComponentFetch<C>, row: RowRef) -> bool {
        // SAFETY: the caller's promise.
        unsafe { view.has(row) }
    }

    #[inline(always)]
    unsafe fn at<'w>(_: &ComponentId, view: ComponentFetch<C>, row: RowRef) -> Option<Self::Item<'w>> {
        // SAFETY: the caller's promise; what is found is in use.
        unsafe { view.find(row).map(|(values, row)| C::Layout::get(values, row)) }
    }

    #[inline(always)]
    unsafe fn prefetch(view: ComponentFetch<C>, row: RowRef) {
        // SAFETY: the caller's promise.
        unsafe { view.prefetch(row) };
    }
}

// SAFETY: it only reads.
unsafe impl<C: Component> ReadOnlyQueryData for &C {}

/// A component that is written, and the change ticks of the run.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct WriteState {
    id: ComponentId,
    look: RunTicks,
}

// SAFETY: it writes the component's columns.
unsafe impl<C: Component> QueryData for &mut C {
    type Static = &'static mut C;
    type Item<'w> = <C::Layout as Layout<C>>::Mut<'w>;
    type Chunk<'w> = <C::Layout as Layout<C>>::SliceMut<'w>;
    type State = WriteState;
    type Fetch = <C::Layout as Layout<C>>::Ptr;
    type View = ComponentFetch<C>;
    const IS_DENSE: bool = ComponentFetch::<C>::IS_DENSE;
    const NEEDS_LOCATION: bool = ComponentFetch::<C>::IS_DENSE;
    const TRACKS_CHANGES: bool = !matches!(C::Layout::TRACK, Track::None);

    fn set_ticks(state: &mut WriteState, look: RunTicks) {
        state.look = look;
    }

    unsafe fn mark(state: &WriteState, world: &World, table: Option<u32>) {
        if C::Layout::TRACK != Track::Column {
            return;
        }
        let lanes = match table {
            Some(table) => world.storage.lane(state.id, table),
            None => world.storage.sparse.of(state.id).map_or(core::ptr::null_mut(), |side| side.values().lane()),
        };
        if !lanes.is_null() {
            // SAFETY: the lanes are this component's.
            unsafe { C::Layout::touch(lanes, state.look.now) };
        }
    }

    fn state(components: &Components) -> WriteState {
        WriteState { id: components.id::<C>(), look: RunTicks::default() }
    }

    fn access(access: &mut Access) {
        access.touch::<C>(true);
    }

    fn matches(state: &WriteState, signature: &Signature) -> bool {
        !Self::IS_DENSE || signature.has(state.id)
    }

    fn required(state: &WriteState, each: &mut dyn FnMut(ComponentId, Kind)) {
        each(state.id, C::Layout::KIND);
    }

    fn mismatch(state: &WriteState, row: &Candidate<'_>) -> Option<Mismatch> {
        (!row.has_type::<C>(state.id)).then(Mismatch::missing::<C>)
    }

    #[inline]
    unsafe fn fetch(state: &WriteState, world: &World, table: u32) -> Self::Fetch {
        // SAFETY: the table has the component, so the directory points at its lanes.
        unsafe { C::Layout::ptr(world.storage.lane(state.id, table), state.look) }
    }

    #[inline(always)]
    unsafe fn row<'w>(fetch: Self::Fetch, row: usize) -> Self::Item<'w> {
        // SAFETY: the caller's promise.
        unsafe { C::Layout::get_mut(fetch, row) }
    }

    #[inline(always)]
    unsafe fn chunk<'w>(fetch: Self::Fetch, len: usize) -> Self::Chunk<'w> {
        // SAFETY: the caller's promise.
        unsafe { C::Layout::slice_mut(fetch, len) }
    }

    unsafe fn fetch_aligned(state: &WriteState, stores: &AlignedStores<'_>) -> Option<Self::Fetch> {
        // SAFETY: the id is that of `C`, by the caller's promise.
        unsafe { stores.values::<C>(state.id, state.look) }
    }

    #[inline(always)]
    unsafe fn view(state: &WriteState, world: &World, driver: Option<ComponentId>) -> ComponentFetch<C> {
        // SAFETY: the id is that of `C`, by the caller's promise.
        unsafe { ComponentFetch::new(state.id, world, driver, state.look) }
    }

    #[inline(always)]
    unsafe fn matches_row(_: &WriteState, view: ComponentFetch<C>, row: RowRef) -> bool {
        // SAFETY: the caller's promise.
        unsafe { view.has(row) }
    }

    #[inline(always)]
    unsafe fn at<'w>(_: &WriteState, view: ComponentFetch<C>, row: RowRef) -> Option<Self::Item<'w>> {
        // SAFETY: the caller's promise; what is found is in use.
        unsafe { view.find(row).map(|(values, row)| C::Layout::get_mut(values, row)) }
    }

    #[inline(always)]
    unsafe fn prefetch(view: ComponentFetch<C>, row: RowRef) {
        // SAFETY: the caller's promise.
        unsafe { view.prefetch(row) };
    }
}

// SAFETY: it touches what `T` touches, in rows that `T` matches.
unsafe impl<T: QueryData> QueryData for Option<T> {
    type Static = Option<T::Static>;
    type Item<'w> = Option<T::Item<'w>>;
    type Chunk<'w> = Option<T::Chunk<'w>>;
    type State = T::State;
    type Fetch = Option<T::Fetch>;
    type View = T::View;
    const IS_DENSE: bool = T::IS_DENSE;
    const NEEDS_LOCATION: bool = T::NEEDS_LOCATION;

    fn state(components: &Components) -> T::State {
        T::state(components)
    }

    fn access(access: &mut Access) {
        T::access(access);
    }

    fn matches(_: &T::State, _: &Signature) -> bool {
        true
    }

    fn visits_extra_rows(state: &T::State) -> bool {
        T::visits_extra_rows(state)
    }

    fn required(_: &T::State, _: &mut dyn FnMut(ComponentId, Kind)) {}

    const TRACKS_CHANGES: bool = T::TRACKS_CHANGES;

    fn set_ticks(state: &mut T::State, look: RunTicks) {
        T::set_ticks(state, look);
    }

    unsafe fn mark(state: &T::State, world: &World, table: Option<u32>) {
        let has = |table: u32| {
            T::matches(state, &world.storage.tables[table as usize].signature)
                && T::column_matches(state, TableRef { world, table })
        };
        if table.is_none_or(has) {
            // SAFETY: the caller's promise.
            unsafe { T::mark(state, world, table) };
        }
    }

    unsafe fn fetch(state: &T::State, world: &World, table: u32) -> Self::Fetch {
        let matches = T::matches(state, &world.storage.tables[table as usize].signature)
            && (!T::TRACKS_CHANGES || T::column_matches(state, TableRef { world, table }));
        // SAFETY: the table matches.
        matches.then(|| unsafe { T::fetch(state, world, table) })
    }

    #[inline(always)]
    unsafe fn row<'w>(fetch: Self::Fetch, row: usize) -> Self::Item<'w> {
        // SAFETY: the caller's promise.
        fetch.map(|fetch| unsafe { T::row(fetch, row) })
    }

    #[inline(always)]
    unsafe fn chunk<'w>(fetch: Self::Fetch, len: usize) -> Self::Chunk<'w> {
        // SAFETY: the caller's promise.
        fetch.map(|fetch| unsafe { T::chunk(fetch, len) })
    }

    unsafe fn fetch_aligned(state: &T::State, stores: &AlignedStores<'_>) -> Option<Self::Fetch> {
        // SAFETY: the caller's promise.
        unsafe { T::fetch_aligned(state, stores) }.map(Some)
    }

    #[inline(always)]
    unsafe fn view(state: &T::State, world: &World, driver: Option<ComponentId>) -> T::View {
        // SAFETY: the caller's promise.
        unsafe { T::view(state, world, driver) }
    }

    #[inline(always)]
    unsafe fn matches_row(_: &T::State, _: T::View, _: RowRef) -> bool {
        true
    }

    #[inline(always)]
    unsafe fn at<'w>(state: &T::State, view: T::View, row: RowRef) -> Option<Self::Item<'w>> {
        // SAFETY: the caller's promise.
        Some(unsafe { T::at(state, view, row) })
    }
}

// SAFETY: it reads what `T` reads.
unsafe impl<T: ReadOnlyQueryData> ReadOnlyQueryData for Option<T> {}

/// A term that yields whether the entity has `C`.
pub struct Has<C>(PhantomData<fn() -> C>);

impl<C> fmt::Debug for Has<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Has")
    }
}

// SAFETY: it touches nothing.
unsafe impl<C: Component> QueryData for Has<C> {
    type Static = Has<C>;
    type Item<'w> = bool;
    type Chunk<'w> = bool;
    type State = ComponentId;
    type Fetch = bool;
    type View = ComponentFetch<C>;
    const IS_DENSE: bool = ComponentFetch::<C>::IS_DENSE;
    const NEEDS_LOCATION: bool = ComponentFetch::<C>::IS_DENSE;

    fn state(components: &Components) -> ComponentId {
        components.id::<C>()
    }

    fn access(_: &mut Access) {}

    fn matches(_: &ComponentId, _: &Signature) -> bool {
        true
    }

    fn required(_: &ComponentId, _: &mut dyn FnMut(ComponentId, Kind)) {}

    unsafe fn fetch(state: &ComponentId, world: &World, table: u32) -> bool {
        world.storage.tables[table as usize].signature.has(*state)
    }

    #[inline(always)]
    unsafe fn row<'w>(fetch: bool, _: usize) -> Self::Item<'w> {
        fetch
    }

    #[inline(always)]
    unsafe fn chunk<'w>(fetch: bool, _: usize) -> Self::Chunk<'w> {
        fetch
    }

    unsafe fn fetch_aligned(state: &ComponentId, stores: &AlignedStores<'_>) -> Option<bool> {
        let known = [stores.has(*state), stores.lacks(*state)];
        (known != [false, false]).then_some(known[0])
    }

    #[inline(always)]
    unsafe fn view(state: &ComponentId, world: &World, driver: Option<ComponentId>) -> ComponentFetch<C> {
        // SAFETY: the id is that of `C`, by the caller's promise.
        unsafe { ComponentFetch::new(*state, world, driver, RunTicks::READ) }
    }

    #[inline(always)]
    unsafe fn matches_row(_: &ComponentId, _: ComponentFetch<C>, _: RowRef) -> bool {
        true
    }

    #[inline(always)]
    unsafe fn at<'w>(_: &ComponentId, view: ComponentFetch<C>, row: RowRef) -> Option<Self::Item<'w>> {
        // SAFETY: the caller's promise.
        Some(unsafe { view.has(row) })
    }
}

// SAFETY: it touches nothing.
unsafe impl<C: Component> ReadOnlyQueryData for Has<C> {}

// SAFETY: it reads the entities of a table, which no query writes.
unsafe impl QueryData for Entity {
    type Static = Entity;
    type Item<'w> = Entity;
    type Chunk<'w> = &'w [Entity];
    type State = ();
    type Fetch = NonNull<Entity>;
    type View = NonNull<World>;
    const IS_DENSE: bool = true;
    const NEEDS_LOCATION: bool = false;

    fn state(_: &Components) {}

    fn access(_: &mut Access) {}

    fn matches((): &(), _: &Signature) -> bool {
        true
    }

    fn required((): &(), _: &mut dyn FnMut(ComponentId, Kind)) {}

    unsafe fn fetch((): &(), world: &World, table: u32) -> NonNull<Entity> {
        NonNull::from(world.storage.tables[table as usize].entities()).cast()
    }

    #[inline(always)]
    unsafe fn row<'w>(fetch: NonNull<Entity>, row: usize) -> Self::Item<'w> {
        // SAFETY: the row is in use.
        unsafe { *fetch.add(row).as_ptr() }
    }

    #[inline(always)]
    unsafe fn chunk<'w>(fetch: NonNull<Entity>, len: usize) -> Self::Chunk<'w> {
        // SAFETY: the rows are in use.
        unsafe { core::slice::from_raw_parts(fetch.as_ptr(), len) }
    }

    unsafe fn fetch_aligned((): &(), stores: &AlignedStores<'_>) -> Option<NonNull<Entity>> {
        stores.entities()
    }

    #[inline(always)]
    unsafe fn view((): &(), world: &World, _: Option<ComponentId>) -> NonNull<World> {
        NonNull::from(world)
    }

    #[inline(always)]
    unsafe fn matches_row((): &(), _: NonNull<World>, _: RowRef) -> bool {
        true
    }

    #[inline(always)]
    unsafe fn at<'w>((): &(), view: NonNull<World>, row: RowRef) -> Option<Self::Item<'w>> {
        // SAFETY: the world is borrowed; where the slot is that of an extra row, it has an owner.
        unsafe { Some(view.as_ref().storage.owner_of(row.key(view.as_ref()))) }
    }
}

// SAFETY: it only reads.
unsafe impl ReadOnlyQueryData for Entity {}
