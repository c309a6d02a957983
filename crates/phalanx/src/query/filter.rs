//! Conditions on the rows that a query visits.
#![allow(unsafe_code)]

use super::access::RowConditions;
use super::{
    Access, Added, AlignedStores, Candidate, CandidateBlock, Changed, ComponentFetch, Has, Mismatch, TableRef, Watched,
};
use crate::bundle::all_tuples;
use crate::change_detection::RunTicks;
use crate::component::{Component, ComponentId, Components};
use crate::journal::PastRow;
use crate::layout::{Kind, Layout};
use crate::signature::Signature;
use core::fmt;
use core::marker::PhantomData;

/// A condition on the rows that a query visits.
///
/// Filters are [`With`], [`Without`], [`Added`](super::Added), [`Changed`](super::Changed), the
/// [filters of rows](super#extra-rows), [`IsEmpty`](super::IsEmpty), tuples of filters, of which all must pass, and [`Or`], of
/// which one must.
///
/// A filter of table components is applied to tables and costs nothing for a row. Other filters test each row.
///
/// A filter of your own needs a state and a test of signatures:
///
/// ```
/// use phalanx::query::QueryFilter;
/// use phalanx::{Component, Components, Signature, World};
///
/// #[derive(Component)]
/// struct Age(u32);
///
/// /// Tables with a single component.
/// struct Single;
///
/// impl QueryFilter for Single {
///     type State = ();
///     fn state(_: &Components) {}
///     fn passes((): &(), signature: &Signature) -> bool {
///         signature.iter().count() == 1
///     }
/// }
///
/// let mut world = World::new();
/// world.spawn(Age(1));
/// assert_eq!(world.query_filtered::<&Age, Single>().len(), 1);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a filter",
    label = "not a filter",
    note = "entities that have a component `C` pass `With<C>`, the others `Without<C>`; for more see `phalanx::query`"
)]
#[doc(alias = "Filter")]
pub trait QueryFilter: 'static {
    /// The ids of the components, or what else the filter needs.
    type State: Clone + Send + Sync + 'static;

    /// Returns the state for a world with these components.
    fn state(components: &Components) -> Self::State;

    /// Whether the filter passes all rows of a table or none. Otherwise it tests each row.
    const IS_ARCHETYPAL: bool = true;

    /// Returns `true` if rows of tables with this signature pass; without [`IS_ARCHETYPAL`](QueryFilter::IS_ARCHETYPAL), if
    /// some of them may.
    fn passes(state: &Self::State, signature: &Signature) -> bool;

    /// Returns `true` if the filter visits [extra rows](crate::Key). They are visited only if a filter or the data ask for
    /// them. A filter that wraps others visits them if one of those does.
    fn visits_extra_rows(_: &Self::State) -> bool {
        false
    }

    /// Returns `true` if a row passes. Called if the filter is not [archetypal](QueryFilter::IS_ARCHETYPAL).
    fn passes_row(state: &Self::State, row: &Candidate<'_>) -> bool {
        Self::passes(state, row.signature())
    }

    /// Whether [`passes_block`](QueryFilter::passes_block) is used, for a filter that is not archetypal.
    #[doc(hidden)]
    const TESTS_BLOCKS: bool = Self::IS_ARCHETYPAL;

    /// Returns which of some rows pass: a bit for each. The rows pass the filter's test of their table.
    #[doc(hidden)]
    fn passes_block(state: &Self::State, rows: &CandidateBlock<'_>) -> u64 {
        if Self::IS_ARCHETYPAL && rows.is_of_table() { u64::MAX } else { rows.test(|row| Self::passes_row(state, row)) }
    }

    /// Whether it uses [change ticks](crate::change_detection), so that it may answer differently in each run.
    const TRACKS_CHANGES: bool = false;

    /// Stores the change ticks of a run. Called before each run if [`TRACKS_CHANGES`](QueryFilter::TRACKS_CHANGES).
    #[doc(hidden)]
    fn set_ticks(_: &mut Self::State, _: RunTicks) {}

    /// Returns `true` if a table that passes does so now, as far as columns are tracked as wholes.
    #[doc(hidden)]
    fn column_matches(_: &Self::State, _: TableRef<'_>) -> bool {
        true
    }

    /// Adds the components whose change ticks the filter reads.
    #[doc(hidden)]
    fn access(_: &mut Access) {}

    /// Adds what is certain of every row that passes.
    ///
    /// # Safety
    ///
    /// `rows` is about a filter that passes no row that this one does not pass. If that filter reads change ticks, its
    /// [`access`](QueryFilter::access) names the components.
    #[doc(hidden)]
    unsafe fn conditions(_rows: &mut RowConditions) {}

    /// Adds the components that the filter names, or refuses to be [observed](crate::World::observe).
    #[doc(hidden)]
    fn watch(watched: &mut Watched) {
        watched.refuse::<Self>();
    }

    /// Returns `true` if a row passed before an operation. Called if the filter does not refuse to be observed.
    #[doc(hidden)]
    fn passed(_: &Self::State, _: PastRow<'_>) -> bool {
        false
    }

    /// Returns `true` if every row of these stores passes, as far as is known of all of them.
    #[doc(hidden)]
    fn passes_all(_: &Self::State, _: &AlignedStores<'_>) -> bool {
        false
    }

    /// Calls `each` with components that every row has that passes. A query may iterate over their stores.
    #[doc(hidden)]
    fn required(_: &Self::State, _: &mut dyn FnMut(ComponentId, Kind)) {}

    /// Calls `each` with components that no row has that passes.
    #[doc(hidden)]
    fn excluded(_: &Self::State, _: &mut dyn FnMut(ComponentId)) {}

    /// Calls `each` with the *sides*: sparse components of which a row that lacks them all passes, if its table does.
    ///
    /// Returns `false` if rows must be tested one by one for another reason.
    #[doc(hidden)]
    fn sides(_: &Self::State, _: &mut dyn FnMut(ComponentId)) -> bool {
        Self::IS_ARCHETYPAL
    }

    /// Returns why a row does not pass, if it does not.
    #[doc(hidden)]
    fn mismatch(state: &Self::State, row: &Candidate<'_>) -> Option<Mismatch> {
        (!Self::passes_row(state, row)).then(|| Mismatch::Missing(core::any::type_name::<Self>()))
    }
}

/// A filter that passes entities that have `C`.
#[doc(alias = "include")]
pub struct With<C>(PhantomData<fn() -> C>);
/// A filter that passes entities that do not have `C`.
#[doc(alias = "exclude")]
#[doc(alias = "Not")]
pub struct Without<C>(PhantomData<fn() -> C>);
/// One of a tuple.
///
/// As a filter it passes entities that pass one of the filters. As a term it matches entities that match one of the terms,
/// and yields what each term yields, if it matches.
///
/// ```
/// use phalanx::query::Or;
/// use phalanx::{Component, World};
///
/// #[derive(Component)]
/// struct Walks(u32);
/// #[derive(Component)]
/// struct Swims(u32);
///
/// let mut world = World::new();
/// world.spawn(Walks(1));
/// world.spawn((Walks(2), Swims(3)));
/// world.spawn(());
/// let speed = |(walks, swims): (Option<&Walks>, Option<&Swims>)| walks.map_or(0, |w| w.0) + swims.map_or(0, |s| s.0);
/// let speeds: Vec<u32> = world.query::<Or<(&Walks, &Swims)>>().iter().map(speed).collect();
/// assert_eq!(speeds, [1, 5]);
/// ```
pub struct Or<F>(PhantomData<fn() -> F>);

/// Prints the names of types that exist for their parameters only.
macro_rules! marker_debug {
    ($($name:ident)*) => {$(
        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    )*};
}
marker_debug!(With Without Or Has Added Changed);

macro_rules! component_filters {
    ($($name:ident has $has:literal, $all:ident, $condition:ident, $mismatch:ident;)*) => {$(
        impl<C: Component> QueryFilter for $name<C> {
            type State = ComponentId;
            fn state(components: &Components) -> ComponentId {
                components.id::<C>()
            }
            const IS_ARCHETYPAL: bool = ComponentFetch::<C>::IS_DENSE;
            fn passes(state: &ComponentId, signature: &Signature) -> bool {
                !Self::IS_ARCHETYPAL || signature.has(*state) == $has
            }
            #[inline(always)]
            fn passes_row(state: &ComponentId, row: &Candidate<'_>) -> bool {
                row.has_type::<C>(*state) == $has
            }
            const TESTS_BLOCKS: bool = true;
            #[inline(always)]
            fn passes_block(state: &ComponentId, rows: &CandidateBlock<'_>) -> u64 {
                if Self::IS_ARCHETYPAL {
                    return if rows.is_of_table() { u64::MAX } else { rows.test(|row| Self::passes_row(state, row)) };
                }
                let has = rows.have(*state);
                if $has { has } else { !has }
            }
            fn passes_all(state: &ComponentId, stores: &AlignedStores<'_>) -> bool {
                stores.$all(*state)
            }
            fn required(state: &ComponentId, each: &mut dyn FnMut(ComponentId, Kind)) {
                if $has {
                    each(*state, C::Layout::KIND);
                }
            }
            fn excluded(state: &ComponentId, each: &mut dyn FnMut(ComponentId)) {
                if !$has {
                    each(*state);
                }
            }
            fn sides(state: &ComponentId, each: &mut dyn FnMut(ComponentId)) -> bool {
                if !Self::IS_ARCHETYPAL && !$has {
                    each(*state);
                }
                Self::IS_ARCHETYPAL || !$has
            }
            unsafe fn conditions(rows: &mut RowConditions) {
                rows.$condition::<C>();
            }
            fn watch(watched: &mut Watched) {
                watched.component::<C>();
            }
            fn passed(state: &ComponentId, row: PastRow<'_>) -> bool {
                row.has(*state) == $has
            }
            fn mismatch(state: &ComponentId, row: &Candidate<'_>) -> Option<Mismatch> {
                (!Self::passes_row(state, row)).then(Mismatch::$mismatch::<C>)
            }
        }
    )*};
}
component_filters! {
    With has true, has, require, missing;
    Without has false, lacks, exclude, excluded;
}

/// What data and filters of several members have in common, whether all of them or one must match.
macro_rules! members {
    ($kind:ident $($name:ident)*) => {
        type State = ($($name::State,)*);
        const TRACKS_CHANGES: bool = false $(|| $name::TRACKS_CHANGES)*;

        fn state(components: &Components) -> Self::State {
            ($($name::state(components),)*)
        }

        fn access(access: &mut Access) {
            $($name::access(access);)*
        }

        #[inline(always)]
        fn visits_extra_rows(($($name,)*): &Self::State) -> bool {
            false $(|| <$name as $kind>::visits_extra_rows($name))*
        }

        fn set_ticks(($($name,)*): &mut Self::State, ticks: RunTicks) {
            $(<$name as $kind>::set_ticks($name, ticks);)*
        }
    };
}
pub(super) use members;

macro_rules! tuple_filter {
    ($($name:ident)*) => {
        #[allow(unused_variables, non_snake_case, clippy::unused_unit)]
        impl<$($name: QueryFilter),*> QueryFilter for ($($name,)*) {
            members!(QueryFilter $($name)*);
            const IS_ARCHETYPAL: bool = true $(&& $name::IS_ARCHETYPAL)*;
            fn passes(($($name,)*): &Self::State, signature: &Signature) -> bool {
                true $(&& <$name as QueryFilter>::passes($name, signature))*
            }
            const TESTS_BLOCKS: bool = true $(&& $name::TESTS_BLOCKS)*;
            #[inline(always)]
            fn passes_block(($($name,)*): &Self::State, rows: &CandidateBlock<'_>) -> u64 {
                u64::MAX $(& <$name as QueryFilter>::passes_block($name, rows))*
            }
            #[inline(always)]
            fn passes_row(($($name,)*): &Self::State, row: &Candidate<'_>) -> bool {
                true $(&& <$name as QueryFilter>::passes_row($name, row))*
            }
            fn column_matches(($($name,)*): &Self::State, table: TableRef<'_>) -> bool {
                true $(&& <$name as QueryFilter>::column_matches($name, table))*
            }
            unsafe fn conditions(rows: &mut RowConditions) {
                *rows = RowConditions::all([$(RowConditions::of::<$name>()),*]);
            }
            fn watch(watched: &mut Watched) {
                $($name::watch(watched);)*
            }
            fn passed(($($name,)*): &Self::State, row: PastRow<'_>) -> bool {
                true $(&& <$name as QueryFilter>::passed($name, row))*
            }
            fn passes_all(($($name,)*): &Self::State, stores: &AlignedStores<'_>) -> bool {
                true $(&& <$name as QueryFilter>::passes_all($name, stores))*
            }
            fn required(($($name,)*): &Self::State, each: &mut dyn FnMut(ComponentId, Kind)) {
                $(<$name as QueryFilter>::required($name, each);)*
            }
            fn excluded(($($name,)*): &Self::State, each: &mut dyn FnMut(ComponentId)) {
                $(<$name as QueryFilter>::excluded($name, each);)*
            }
            fn sides(($($name,)*): &Self::State, each: &mut dyn FnMut(ComponentId)) -> bool {
                true $(&& <$name as QueryFilter>::sides($name, each))*
            }
            fn mismatch(($($name,)*): &Self::State, row: &Candidate<'_>) -> Option<Mismatch> {
                None$(.or_else(|| <$name as QueryFilter>::mismatch($name, row)))*
            }
        }

        #[allow(unused_variables, non_snake_case, clippy::unused_unit)]
        impl<$($name: QueryFilter),*> QueryFilter for Or<($($name,)*)> {
            members!(QueryFilter $($name)*);
            const IS_ARCHETYPAL: bool = true $(&& $name::IS_ARCHETYPAL)*;
            fn passes(($($name,)*): &Self::State, signature: &Signature) -> bool {
                false $(|| <$name as QueryFilter>::passes($name, signature))*
            }
            const TESTS_BLOCKS: bool = true $(&& $name::TESTS_BLOCKS)*;
            #[inline(always)]
            fn passes_block(($($name,)*): &Self::State, rows: &CandidateBlock<'_>) -> u64 {
                let signature = rows.signature();
                let passes = |passes: Option<bool>| if passes == Some(false) { 0 } else { u64::MAX };
                0 $(| passes(signature.map(|signature| <$name as QueryFilter>::passes($name, signature)))
                    & <$name as QueryFilter>::passes_block($name, rows))*
            }
            #[inline(always)]
            fn passes_row(($($name,)*): &Self::State, row: &Candidate<'_>) -> bool {
                false $(|| <$name as QueryFilter>::passes_row($name, row))*
            }
            fn column_matches(($($name,)*): &Self::State, table: TableRef<'_>) -> bool {
                let signature = table.signature();
                false $(|| <$name as QueryFilter>::passes($name, signature) && <$name as QueryFilter>::column_matches($name, table))*
            }
            unsafe fn conditions(rows: &mut RowConditions) {
                *rows = RowConditions::any([$(RowConditions::of::<$name>()),*]);
            }
            fn watch(watched: &mut Watched) {
                $($name::watch(watched);)*
            }
            fn passed(($($name,)*): &Self::State, row: PastRow<'_>) -> bool {
                false $(|| <$name as QueryFilter>::passed($name, row))*
            }
            fn passes_all(($($name,)*): &Self::State, stores: &AlignedStores<'_>) -> bool {
                false $(|| <$name as QueryFilter>::passes_all($name, stores))*
            }
        }
    };
}
all_tuples!(tuple_filter);
