//! The filters by change ticks.
#![allow(unsafe_code)]

use super::access::RowConditions;
use super::{Access, AlignedStores, Candidate, ComponentFetch, Mismatch, QueryFilter, TableRef};
use crate::change_detection::{RunTicks, Tick, Track};
use crate::component::{Component, ComponentId, Components};
use crate::layout::{Kind, Layout, TracksAdditions, TracksChanges};
use crate::signature::Signature;
use crate::world::World;
use core::marker::PhantomData;
use phalanx_store::raw::Lane;

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
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct TrackedState {
    id: ComponentId,
    /// The component space of the id. A state of another world finds nothing.
    space: u64,
    ticks: RunTicks,
}

impl TrackedState {
    /// Returns `true` if the id is one of this world.
    #[inline(always)]
    fn is_of(&self, world: &World) -> bool {
        self.space == world.storage.components.space.number()
    }

    /// Returns `true` if the tick of a column in a table is new. Ticks of single values are not read.
    ///
    /// # Safety
    ///
    /// The function reads the tick of a row of the component; of any row, if the column has one tick.
    unsafe fn column_matches<C: Component>(
        &self,
        world: &World,
        table: u32,
        mark: unsafe fn(*const Lane, usize, RunTicks) -> Tick,
    ) -> bool {
        if C::Layout::TRACK != Track::Column || C::Layout::KIND != Kind::Table {
            return true;
        }
        if !self.is_of(world) {
            return false;
        }
        let lanes = world.storage.lane(self.id, table);
        // SAFETY: the lanes are the component's; and the caller's promise.
        !lanes.is_null() && self.ticks.is_new(unsafe { mark(lanes, 0, self.ticks) })
    }
}

macro_rules! tracking_filter {
    ($($name:ident $bound:ident $mark:ident)*) => {$(
        impl<C: Component> QueryFilter for $name<C>
        where
            C::Layout: $bound<C>,
        {
            type State = TrackedState;
            const IS_ARCHETYPAL: bool = ComponentFetch::<C>::IS_DENSE && !matches!(C::Layout::TRACK, Track::Row);
            const TRACKS_CHANGES: bool = true;

            fn state(components: &Components) -> TrackedState {
                TrackedState { id: components.id::<C>(), space: components.space.number(), ticks: RunTicks::default() }
            }

            fn set_ticks(state: &mut TrackedState, ticks: RunTicks) {
                state.ticks = ticks;
            }

            fn passes(state: &TrackedState, signature: &Signature) -> bool {
                !ComponentFetch::<C>::IS_DENSE || signature.has(state.id)
            }

            fn column_matches(state: &TrackedState, table: TableRef<'_>) -> bool {
                // SAFETY: it reads the component's marks.
                unsafe { state.column_matches::<C>(table.world, table.table, <C::Layout as $bound<C>>::$mark) }
            }

            #[inline(always)]
            fn passes_row(state: &TrackedState, row: &Candidate<'_>) -> bool {
                state.is_of(row.world()) && row.lanes_of(state.id).is_some_and(|(lanes, row)| {
                    // SAFETY: the lanes are the component's, and the row is in use.
                    let mark = unsafe { <C::Layout as $bound<C>>::$mark(lanes, row, state.ticks) };
                    state.ticks.is_new(mark)
                })
            }

            fn passes_all(state: &TrackedState, stores: &AlignedStores<'_>) -> bool {
                C::Layout::TRACK == Track::Column
                    && state.is_of(stores.world)
                    && stores.has(state.id)
                    && stores.world.storage.sparse.of(state.id).is_some_and(|side| {
                        // SAFETY: the lanes are the component's, and the mark is that of all rows.
                        state.ticks.is_new(unsafe { <C::Layout as $bound<C>>::$mark(side.values().lane(), 0, state.ticks) })
                    })
            }

            fn required(state: &TrackedState, each: &mut dyn FnMut(ComponentId, Kind)) {
                each(state.id, C::Layout::KIND);
            }

            fn access(access: &mut Access) {
                access.touch::<C>(false);
            }

            unsafe fn conditions(rows: &mut RowConditions) {
                rows.require::<C>();
            }

            fn mismatch(state: &TrackedState, row: &Candidate<'_>) -> Option<Mismatch> {
                match row.has_type::<C>(state.id) {
                    false => Some(Mismatch::missing::<C>()),
                    true => (!Self::passes_row(state, row)).then(|| Mismatch::Unchanged(core::any::type_name::<C>())),
                }
            }
        }
    )*};
}
tracking_filter!(Added TracksAdditions added  Changed TracksChanges changed);
