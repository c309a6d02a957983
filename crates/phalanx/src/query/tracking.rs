//! The filters by change ticks.
#![allow(unsafe_code)]

use super::access::RowConditions;
use super::{Access, AlignedStores, Candidate, CandidateBlock, ComponentFetch, Mismatch, QueryFilter, TableRef};
use crate::change_detection::{RunTicks, Track, column_tick, read_ticks};
use crate::component::{Component, ComponentId, Components};
use crate::layout::{Kind, Layout, TracksAdditions, TracksChanges};
use crate::signature::Signature;
use crate::world::World;
use core::fmt;
use core::marker::PhantomData;

/// A filter that passes entities whose `C` was added since the [last run](crate::change_detection) of the query.
///
/// `C` must have `track = "row"`. Otherwise the filter does not compile:
///
/// ```compile_fail,E0277
/// use phalanx::{Added, Component, World};
///
/// #[derive(Component)]
/// #[component(track = "column")]
/// struct Position(f32);
///
/// World::new().query_filtered::<&Position, Added<Position>>().len();
/// ```
pub struct Added<C>(PhantomData<fn() -> C>);

/// A filter that passes entities whose `C` was added, replaced or written since the [last run](crate::change_detection) of the query.
///
/// With `track = "row"` it tests each value. With `track = "column"` it passes all rows of a table or store in which one may
/// have changed. For a component that is not tracked, the filter does not compile:
///
/// ```compile_fail,E0277
/// use phalanx::{Changed, Component, World};
///
/// #[derive(Component)]
/// struct Position(f32);
///
/// World::new().query_filtered::<&Position, Changed<Position>>().len();
/// ```
pub struct Changed<C>(PhantomData<fn() -> C>);

/// A component whose change ticks are read, and the ticks of the run.
///
/// The states of two components are of different types, because a filter reads ticks by what it knows of its component:
///
/// ```compile_fail,E0308
/// use phalanx::query::QueryFilter;
/// use phalanx::{Changed, Component, Components};
///
/// #[derive(Component)]
/// #[component(track = "row")]
/// struct A(u8);
/// #[derive(Component)]
/// #[component(track = "row")]
/// struct B(u64);
///
/// fn state(components: &Components) -> <Changed<A> as QueryFilter>::State {
///     <Changed<B> as QueryFilter>::state(components)
/// }
/// ```
#[doc(hidden)]
pub struct TrackedState<C> {
    /// The id of `C`.
    id: ComponentId,
    /// The component space of the id. A state of another world finds nothing.
    registry_id: u64,
    ticks: RunTicks,
    component: PhantomData<fn() -> C>,
}

impl<C> Clone for TrackedState<C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C> Copy for TrackedState<C> {}

impl<C> fmt::Debug for TrackedState<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TrackedState({:?})", self.id)
    }
}

impl<C> TrackedState<C> {
    /// Returns `true` if the id is one of this world.
    #[inline(always)]
    fn is_of(&self, world: &World) -> bool {
        self.registry_id == world.storage.components.registry_id.number()
    }
}

macro_rules! tracking_filter {
    ($($name:ident $bound:ident $tick:ident, lane $lane:literal before the end;)*) => {$(
        impl<C: Component> QueryFilter for $name<C>
        where
            C::Layout: $bound<C>,
        {
            type State = TrackedState<C>;
            const IS_ARCHETYPAL: bool = ComponentFetch::<C>::IS_DENSE && !matches!(C::Layout::TRACK, Track::Row);
            const TRACKS_CHANGES: bool = true;

            fn state(components: &Components) -> Self::State {
                let (id, registry_id) = (components.id::<C>(), components.registry_id.number());
                TrackedState { id, registry_id, ticks: RunTicks::default(), component: PhantomData }
            }

            fn set_ticks(state: &mut Self::State, ticks: RunTicks) {
                state.ticks = ticks;
            }

            fn passes(state: &Self::State, signature: &Signature) -> bool {
                !ComponentFetch::<C>::IS_DENSE || signature.has(state.id)
            }

            fn column_matches(state: &Self::State, TableRef { world, table }: TableRef<'_>) -> bool {
                if C::Layout::TRACK != Track::Column || C::Layout::KIND != Kind::Table {
                    return true;
                }
                let lane = world.storage.lanes_in(state.id, table).and_then(|lanes| lanes.last());
                state.is_of(world) && lane.is_some_and(|lane| state.ticks.is_new(column_tick(lane, state.ticks)))
            }

            #[inline(always)]
            fn passes_row(state: &Self::State, row: &Candidate<'_>) -> bool {
                state.is_of(row.world()) && row.lanes_of(state.id).is_some_and(|(lanes, row)| {
                    // SAFETY: the lanes are those of `C` in this world, and the row is in use. No other thread sets its ticks, by
                    // the invariant of `Candidate`.
                    state.ticks.is_new(unsafe { <C::Layout as $bound<C>>::$tick(lanes, row, state.ticks) })
                })
            }

            const TESTS_BLOCKS: bool = true;

            #[inline(always)]
            fn passes_block(state: &Self::State, rows: &CandidateBlock<'_>) -> u64 {
                if !state.is_of(rows.world()) {
                    return 0;
                }
                let Some((lanes, first)) = rows.lanes_of(state.id) else {
                    return rows.test(|row| Self::passes_row(state, row));
                };
                if C::Layout::TRACK == Track::Row {
                    // SAFETY: the lanes are those of `C` in this world, and the rows are in use. No other thread sets their ticks,
                    // by the invariant of `CandidateBlock`, and this one does not while they are tested.
                    let ticks = unsafe { read_ticks(&*lanes.add(C::Layout::LANES - $lane), first, rows.len()) };
                    return state.ticks.which_are_new(ticks);
                }
                rows.test_each(|at| {
                    // SAFETY: as above.
                    state.ticks.is_new(unsafe { <C::Layout as $bound<C>>::$tick(lanes, first + at, state.ticks) })
                })
            }

            fn passes_all(state: &Self::State, stores: &AlignedStores<'_>) -> bool {
                C::Layout::TRACK == Track::Column
                    && state.is_of(stores.world)
                    && stores.has(state.id)
                    && stores.world.storage.sparse.of(state.id).is_some_and(|store| {
                        let lane = store.values().lanes().last();
                        lane.is_some_and(|lane| state.ticks.is_new(column_tick(lane, state.ticks)))
                    })
            }

            fn required(state: &Self::State, each: &mut dyn FnMut(ComponentId, Kind)) {
                each(state.id, C::Layout::KIND);
            }

            fn access(access: &mut Access) {
                access.touch::<C>(false);
            }

            unsafe fn conditions(rows: &mut RowConditions) {
                rows.require::<C>();
            }

            fn mismatch(state: &Self::State, row: &Candidate<'_>) -> Option<Mismatch> {
                match row.has_type::<C>(state.id) {
                    false => Some(Mismatch::missing::<C>()),
                    true => (!Self::passes_row(state, row)).then(|| Mismatch::Unchanged(core::any::type_name::<C>())),
                }
            }
        }
    )*};
}
tracking_filter! {
    Added TracksAdditions added, lane 2 before the end;
    Changed TracksChanges changed, lane 1 before the end;
}
