//! The terms of query data.
#![allow(unsafe_code)]

use super::{
    Access, AlignedStores, Candidate, ComponentFetch, ItemRef, ItemRow, ItemRows, Mismatch, QueryData,
    ReadOnlyQueryData, RowConditions, TableRef, VisitedRow, Watched,
};
use crate::change_detection::{RunTicks, Track, set_column_tick as set_lane_tick};
use crate::component::{Component, ComponentId, Components};
use crate::journal::PastRow;
use crate::layout::{Kind, Layout};
use crate::signature::Signature;
use crate::world::World;
use core::marker::PhantomData;

/// A component of a term, and the change ticks of the run, if the term writes or reads ticks.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct ComponentState {
    id: ComponentId,
    pub(super) ticks: RunTicks,
}

/// Sets the change tick of a component's column in a table or, without one, in its sparse store, if its changes are tracked
/// by column.
pub(super) fn set_column_tick(world: &World, id: ComponentId, table: Option<u32>, now: crate::change_detection::Tick) {
    let storage = &world.storage;
    let lanes = match table {
        Some(table) => storage.lanes_in(id, table),
        None => storage.sparse.of(id).map(|sparse| sparse.values().lanes()),
    };
    // The lane after those of values has the tick. Without lanes the component may be unknown.
    if let Some(lane) = lanes.and_then(|lanes| lanes.last())
        && storage.components.info(id).track == Track::Column
    {
        set_lane_tick(lane, now);
    }
}

macro_rules! component_terms {
    ($(
        $term:ty, $static:ty, writes $writes:literal, $item:ident $get:ident, $chunk:ident $slice:ident
        $(, past $past:ident)?;
    )*) => {$(
        // SAFETY: it touches the component's columns, and names the component.
        unsafe impl<C: Component> QueryData for $term {
            type Static = $static;
            type Item<'w> = <C::Layout as Layout<C>>::$item<'w>;
            type Chunk<'w> = <C::Layout as Layout<C>>::$chunk<'w>;
            type State = ComponentState;
            type Fetch = <C::Layout as Layout<C>>::Ptr;
            type View = ComponentFetch<C>;
            const IS_DENSE: bool = ComponentFetch::<C>::IS_DENSE;
            const NEEDS_LOCATION: bool = ComponentFetch::<C>::IS_DENSE;
            const TRACKS_CHANGES: bool = $writes && !matches!(C::Layout::TRACK, Track::None);

            fn state(components: &Components) -> ComponentState {
                ComponentState { id: components.id::<C>(), ticks: RunTicks::READ }
            }

            fn access(access: &mut Access) {
                access.touch::<C>($writes);
            }

            unsafe fn conditions(rows: &mut RowConditions) {
                if Self::IS_DENSE {
                    rows.require::<C>();
                }
            }

            fn matches(state: &ComponentState, signature: &Signature) -> bool {
                !Self::IS_DENSE || signature.has(state.id)
            }

            fn required(state: &ComponentState, each: &mut dyn FnMut(ComponentId, Kind)) {
                each(state.id, C::Layout::KIND);
            }

            fn set_ticks(state: &mut ComponentState, ticks: RunTicks) {
                if $writes {
                    state.ticks = ticks;
                }
            }

            fn set_column_ticks(state: &ComponentState, world: &World, table: Option<u32>) {
                if $writes && C::Layout::TRACK == Track::Column {
                    set_column_tick(world, state.id, table, state.ticks.now);
                }
            }

            fn mismatch(state: &ComponentState, row: &Candidate<'_>) -> Option<Mismatch> {
                (!row.has_type::<C>(state.id)).then(Mismatch::missing::<C>)
            }

            $(
                fn watch(watched: &mut Watched) {
                    watched.component::<C>();
                }

                unsafe fn past<'w>(state: &ComponentState, row: PastRow<'w>) -> Option<Self::Item<'w>> {
                    // SAFETY: the state is that of the row's world, and displaced values are not dropped, by the caller's
                    // contract.
                    unsafe { row.$past::<C>(state.id) }
                }
            )?

            #[inline]
            unsafe fn fetch(state: &ComponentState, world: &World, table: u32) -> Self::Fetch {
                // SAFETY: the table matches and the state is the world's, by the caller's contract; so the table has the
                // component, and the directory points at its lanes.
                unsafe { C::Layout::ptr(world.storage.lane(state.id, table), state.ticks) }
            }

            fn side(state: &ComponentState) -> Option<ComponentId> {
                (!Self::IS_DENSE).then_some(state.id)
            }

            unsafe fn fetch_side(
                state: &ComponentState,
                world: &World,
                row: VisitedRow,
            ) -> Option<(Self::Fetch, usize)> {
                // SAFETY: the state is the world's, and the row is one of it, by the caller's contract.
                unsafe { ComponentFetch::<C>::new(state.id, world, None, state.ticks) }.find(row)
            }

            unsafe fn fetch_aligned(state: &ComponentState, stores: &AlignedStores<'_>) -> Option<Self::Fetch> {
                // SAFETY: the state is that of the stores' world, by the caller's contract, so the id is that of `C`.
                stores.lane(state.id).map(|lane| unsafe { C::Layout::ptr(lane, state.ticks) })
            }

            #[inline(always)]
            unsafe fn view(state: &ComponentState, world: &World, driver: Option<ComponentId>) -> ComponentFetch<C> {
                // SAFETY: the state is the world's, by the caller's contract, so the id is that of `C`.
                unsafe { ComponentFetch::new(state.id, world, driver, state.ticks) }
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
            fn at<'w>(_: &ComponentState, view: ComponentFetch<C>, row: ItemRef<'w>) -> Option<Self::Item<'w>> {
                // SAFETY: what is found is in use, and no other item conflicts, by the contract of `ItemRef`.
                view.find(row.row()).map(|(values, row)| unsafe { C::Layout::$get(values, row) })
            }

            #[inline(always)]
            fn prefetch(view: ComponentFetch<C>, row: VisitedRow) {
                view.prefetch(row);
            }

            #[inline(always)]
            fn row<'w>(fetch: Self::Fetch, row: ItemRow<'w>) -> Self::Item<'w> {
                // SAFETY: the row is in use, and no other item conflicts, by the contract of `ItemRow`.
                unsafe { C::Layout::$get(fetch, row.index()) }
            }

            #[inline(always)]
            fn chunk<'w>(fetch: Self::Fetch, rows: ItemRows<'w>) -> Self::Chunk<'w> {
                // SAFETY: the rows are in use, and no other item conflicts, by the contract of `ItemRows`.
                unsafe { C::Layout::$slice(fetch, rows.len()) }
            }
        }
    )*};
}
component_terms! {
    &C, &'static C, writes false, Ref get, Slice slice, past get;
    &mut C, &'static mut C, writes true, Mut get_mut, SliceMut slice_mut;
}

// SAFETY: it only reads.
unsafe impl<C: Component> ReadOnlyQueryData for &C {}

// SAFETY: it touches what `T` touches, in rows that `T` matches.
unsafe impl<T: QueryData> QueryData for Option<T> {
    type Static = Option<T::Static>;
    type Item<'w> = Option<T::Item<'w>>;
    type Chunk<'w> = Option<T::Chunk<'w>>;
    type State = T::State;
    /// With what is added to a row's number to get its position, which is zero in tables and aligned stores.
    type Fetch = Option<(T::Fetch, usize)>;
    type View = T::View;
    const IS_DENSE: bool = T::IS_DENSE;
    const NEEDS_LOCATION: bool = T::NEEDS_LOCATION;
    const TRACKS_CHANGES: bool = T::TRACKS_CHANGES;

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

    fn set_ticks(state: &mut T::State, ticks: RunTicks) {
        T::set_ticks(state, ticks);
    }

    fn set_column_ticks(state: &T::State, world: &World, table: Option<u32>) {
        if T::TRACKS_CHANGES && table.is_none_or(|table| TableRef { world, table }.matches::<T>(state)) {
            T::set_column_ticks(state, world, table);
        }
    }

    fn watch(watched: &mut Watched) {
        T::watch(watched);
    }

    unsafe fn past<'w>(state: &T::State, row: PastRow<'w>) -> Option<Self::Item<'w>> {
        // SAFETY: the caller's contract is that of the term.
        Some(unsafe { T::past(state, row) })
    }

    unsafe fn fetch(state: &T::State, world: &World, table: u32) -> Self::Fetch {
        // SAFETY: the table matches; the rest by the caller's contract.
        TableRef { world, table }.matches::<T>(state).then(|| (unsafe { T::fetch(state, world, table) }, 0))
    }

    fn sides(state: &T::State, each: &mut dyn FnMut(ComponentId)) -> bool {
        T::IS_DENSE || T::side(state).inspect(|side| each(*side)).is_some()
    }

    unsafe fn fetch_rows(state: &T::State, at: TableRef<'_>, row: Option<VisitedRow>) -> Option<Self::Fetch> {
        if T::IS_DENSE {
            // SAFETY: the query is dense; the rest by the caller's contract.
            return Some(unsafe { Self::fetch(state, at.world, at.table) });
        }
        // SAFETY: the state is the world's, and the row is one of it, by the caller's contract.
        let find = |row: VisitedRow| unsafe { T::fetch_side(state, at.world, row) };
        let found =
            row.and_then(|row| find(row).map(|(fetch, at)| (fetch, at.wrapping_sub(row.location().row as usize))));
        Some(found)
    }

    unsafe fn fetch_aligned(state: &T::State, stores: &AlignedStores<'_>) -> Option<Self::Fetch> {
        // SAFETY: the state is that of the stores' world, by the caller's contract.
        unsafe { T::fetch_aligned(state, stores) }.map(|fetch| Some((fetch, 0)))
    }

    #[inline(always)]
    unsafe fn view(state: &T::State, world: &World, driver: Option<ComponentId>) -> T::View {
        // SAFETY: the state is the world's, and the view is used in time, by the caller's contract.
        unsafe { T::view(state, world, driver) }
    }

    #[inline(always)]
    fn settle(view: T::View, table: u32) -> T::View {
        T::settle(view, table)
    }

    #[inline(always)]
    fn matches_row(_: &T::State, _: T::View, _: VisitedRow) -> bool {
        true
    }

    #[inline(always)]
    fn at<'w>(state: &T::State, view: T::View, row: ItemRef<'w>) -> Option<Self::Item<'w>> {
        Some(T::at(state, view, row))
    }

    #[inline(always)]
    fn row<'w>(fetch: Self::Fetch, row: ItemRow<'w>) -> Self::Item<'w> {
        // SAFETY: of a table or of aligned stores nothing is added. Otherwise the fetch is of one row, and this is its position.
        let row = |add| if T::IS_DENSE { row } else { unsafe { ItemRow::new(row.index().wrapping_add(add)) } };
        fetch.map(|(fetch, add)| T::row(fetch, row(add)))
    }

    #[inline(always)]
    fn chunk<'w>(fetch: Self::Fetch, rows: ItemRows<'w>) -> Self::Chunk<'w> {
        fetch.map(|(fetch, _)| T::chunk(fetch, rows))
    }
}

// SAFETY: it reads what `T` reads.
unsafe impl<T: ReadOnlyQueryData> ReadOnlyQueryData for Option<T> {}

/// A term that yields whether the entity has `C`.
pub struct Has<C>(PhantomData<fn() -> C>);

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

    fn watch(watched: &mut Watched) {
        watched.component::<C>();
    }

    unsafe fn past<'w>(state: &ComponentId, row: PastRow<'w>) -> Option<bool> {
        Some(row.has(*state))
    }

    unsafe fn fetch(state: &ComponentId, world: &World, table: u32) -> bool {
        TableRef { world, table }.signature().has(*state)
    }

    fn sides(state: &ComponentId, each: &mut dyn FnMut(ComponentId)) -> bool {
        if !Self::IS_DENSE {
            each(*state);
        }
        true
    }

    unsafe fn fetch_rows(state: &ComponentId, at: TableRef<'_>, row: Option<VisitedRow>) -> Option<bool> {
        Some(match Self::IS_DENSE {
            true => at.signature().has(*state),
            false => row.is_some_and(|row| Candidate::of_row(at.world, row, None).has(*state)),
        })
    }

    unsafe fn fetch_aligned(state: &ComponentId, stores: &AlignedStores<'_>) -> Option<bool> {
        let has = stores.has(*state);
        (has || stores.lacks(*state)).then_some(has)
    }

    #[inline(always)]
    unsafe fn view(state: &ComponentId, world: &World, driver: Option<ComponentId>) -> ComponentFetch<C> {
        // SAFETY: the state is the world's, by the caller's contract, so the id is that of `C`.
        unsafe { ComponentFetch::new(*state, world, driver, RunTicks::READ) }
    }

    #[inline(always)]
    fn settle(view: ComponentFetch<C>, table: u32) -> ComponentFetch<C> {
        view.settle(table)
    }

    #[inline(always)]
    fn matches_row(_: &ComponentId, _: ComponentFetch<C>, _: VisitedRow) -> bool {
        true
    }

    #[inline(always)]
    fn at<'w>(_: &ComponentId, view: ComponentFetch<C>, row: ItemRef<'w>) -> Option<bool> {
        Some(view.find(row.row()).is_some())
    }

    #[inline(always)]
    fn row<'w>(fetch: bool, _: ItemRow<'w>) -> bool {
        fetch
    }

    #[inline(always)]
    fn chunk<'w>(fetch: bool, _: ItemRows<'w>) -> bool {
        fetch
    }
}

// SAFETY: it touches nothing.
unsafe impl<C: Component> ReadOnlyQueryData for Has<C> {}
