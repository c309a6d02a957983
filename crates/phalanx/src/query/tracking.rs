//! The filters over what is tracked.
#![allow(unsafe_code)]

use super::{Access, Aligned, Candidate, Columns, Filter, Mismatch, Reach};
use crate::component::{Component, ComponentId, Components};
use crate::layout::{Kind, Layout, TracksAdditions, TracksChanges};
use crate::signature::Signature;
use crate::track::{Look, Tick, Track};
use crate::world::World;
use core::fmt;
use core::marker::PhantomData;
use phalanx_store::raw::Lane;

/// Entities that got `C` since the last look: see [the module](crate::track).
///
/// For components with `track = "row"`. Of others it is not known, and the filter does not compile:
///
/// ```compile_fail,E0277
/// use phalanx::{Added, Component, World};
///
/// #[derive(Component)]
/// #[component(track = "column")]
/// struct Position(f32);
///
/// World::new().query::<&Position>().filter::<Added<Position>>().len();
/// ```
pub struct Added<C>(PhantomData<fn() -> C>);

/// Entities whose `C` was added, replaced or written since the last look: see [the module](crate::track).
///
/// For components with `track = "row"`, each by itself; with `track = "column"`, all of a table or store of which one may have
/// changed. Of a component that is not tracked, the filter does not compile:
///
/// ```compile_fail,E0277
/// use phalanx::{Changed, Component, World};
///
/// #[derive(Component)]
/// struct Position(f32);
///
/// World::new().query::<&Position>().filter::<Changed<Position>>().len();
/// ```
pub struct Changed<C>(PhantomData<fn() -> C>);

impl<C> fmt::Debug for Added<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Added")
    }
}

impl<C> fmt::Debug for Changed<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Changed")
    }
}

/// A component whose marks are looked at, and by whom.
#[derive(Clone, Copy, Debug)]
pub struct Watching {
    id: ComponentId,
    /// Whose number it is: a state of another world finds nothing.
    space: u64,
    look: Look,
}

impl Watching {
    /// Whether the component's number is one of this world.
    #[inline(always)]
    fn is_of(&self, world: &World) -> bool {
        self.space == world.storage.components.space.number()
    }

    /// Whether the mark of a column in a table is new; marks of values are not looked at.
    ///
    /// # Safety
    ///
    /// The function reads the mark of a row of the component, any if it is the column's.
    unsafe fn live<C: Component>(
        &self,
        world: &World,
        table: u32,
        mark: unsafe fn(*const Lane, usize, Look) -> Tick,
    ) -> bool {
        if C::Layout::TRACK != Track::Column || C::Layout::KIND != Kind::Table {
            return true;
        }
        if !self.is_of(world) {
            return false;
        }
        let lanes = world.storage.lane(self.id, table);
        // SAFETY: the lanes are the component's; and the caller's promise.
        !lanes.is_null() && self.look.is_new(unsafe { mark(lanes, 0, self.look) })
    }
}

macro_rules! tracking_filter {
    ($($name:ident $bound:ident $mark:ident)*) => {$(
        impl<C: Component> Filter for $name<C>
        where
            C::Layout: $bound<C>,
        {
            type State = Watching;
            const SIDES: bool = Reach::<C>::SIDE || matches!(C::Layout::TRACK, Track::Row);
            const LIVE: bool = true;

            fn state(components: &Components) -> Watching {
                Watching { id: components.id::<C>(), space: components.space.number(), look: Look::default() }
            }

            fn look(state: &mut Watching, look: Look) {
                state.look = look;
            }

            fn passes(state: &Watching, signature: &Signature) -> bool {
                Reach::<C>::SIDE || signature.has(state.id)
            }

            fn live(state: &Watching, columns: Columns<'_>) -> bool {
                // SAFETY: it reads the component's marks.
                unsafe { state.live::<C>(columns.world, columns.table, <C::Layout as $bound<C>>::$mark) }
            }

            #[inline(always)]
            fn passes_row(state: &Watching, row: &Candidate<'_>) -> bool {
                state.is_of(row.world()) && row.lanes_of(state.id).is_some_and(|(lanes, row)| {
                    // SAFETY: the lanes are the component's, and the row is in use.
                    let mark = unsafe { <C::Layout as $bound<C>>::$mark(lanes, row, state.look) };
                    state.look.is_new(mark)
                })
            }

            fn settled(state: &Watching, stores: &Aligned<'_>) -> bool {
                C::Layout::TRACK == Track::Column
                    && state.is_of(stores.world)
                    && stores.has(state.id)
                    && stores.world.storage.sides.of(state.id).is_some_and(|side| {
                        // SAFETY: the lanes are the component's, and the mark is that of all rows.
                        state.look.is_new(unsafe { <C::Layout as $bound<C>>::$mark(side.values().lane(), 0, state.look) })
                    })
            }

            fn required(state: &Watching, each: &mut dyn FnMut(ComponentId, Kind)) {
                each(state.id, C::Layout::KIND);
            }

            fn access(access: &mut Access) {
                access.touch::<C>(false);
            }

            fn mismatch(state: &Watching, row: &Candidate<'_>) -> Option<Mismatch> {
                match row.has_type::<C>(state.id) {
                    false => Some(Mismatch::missing::<C>()),
                    true => (!Self::passes_row(state, row)).then(|| Mismatch::Unchanged(core::any::type_name::<C>())),
                }
            }
        }
    )*};
}
tracking_filter!(Added TracksAdditions added  Changed TracksChanges changed);
