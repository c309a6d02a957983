//! Filters: what an entity must have or lack beside what is asked for.

use super::{Access, Aligned, Candidate, Columns, Mismatch, Reach};
use crate::bundle::all_tuples;
use crate::component::{Component, ComponentId, Components};
use crate::layout::{Kind, Layout};
use crate::signature::Signature;
use crate::track::Look;
use core::fmt;
use core::marker::PhantomData;

/// A condition on what entities have.
///
/// Over components of tables it is settled table by table, and costs nothing a row. One over components that are kept
/// elsewhere says so in [`SIDES`](Filter::SIDES), and is asked about each row.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a filter",
    label = "not a filter",
    note = "entities that have a component `C` pass `With<C>`, the others `Without<C>`; for more see `phalanx::query`"
)]
pub trait Filter: 'static {
    /// The ids of the components. The world keeps it, and goes where it wants with it.
    type State: Clone + Send + Sync + 'static;
    /// The ids of the components, as far as the world knows them.
    fn state(components: &Components) -> Self::State;
    /// Whether rows must be asked one by one: it looks at components that are not kept in tables, or at marks of values.
    const SIDES: bool = false;
    /// Whether entities with this signature pass; for a filter over [sides](Filter::SIDES), whether some of them may.
    fn passes(state: &Self::State, signature: &Signature) -> bool;
    /// Returns `true` if the filter asks for [extra rows](crate::Key). They are looked at only if it does, or a term of the
    /// query. A filter that wraps others asks for them if one of those does.
    fn rows(_: &Self::State) -> bool {
        false
    }
    /// Whether a row passes.
    fn passes_row(state: &Self::State, row: &Candidate<'_>) -> bool {
        Self::passes(state, row.signature())
    }
    /// Whether it looks at what is [tracked](crate::track), and hence may answer otherwise in each run.
    const LIVE: bool = false;
    /// Remembers who looks, before each run of a filter that is [live](Filter::LIVE).
    fn look(_: &mut Self::State, _: Look) {}
    /// Whether rows of a table that passes pass now, as far as columns are tracked as wholes.
    fn live(_: &Self::State, _: Columns<'_>) -> bool {
        true
    }
    /// Names the components whose marks it looks at, and that are not among those that a query touches.
    fn access(_: &mut Access) {}
    /// Whether every row of these stores passes, as far as is known of all of them.
    fn settled(_: &Self::State, _: &Aligned<'_>) -> bool {
        false
    }
    /// Names components that every row has that passes. Their stores may be what a query walks.
    fn required(_: &Self::State, _: &mut dyn FnMut(ComponentId, Kind)) {}
    /// Names components that no row has that passes.
    fn excluded(_: &Self::State, _: &mut dyn FnMut(ComponentId)) {}
    /// Why a row does not pass, if it does not.
    fn mismatch(state: &Self::State, row: &Candidate<'_>) -> Option<Mismatch> {
        (!Self::passes_row(state, row)).then(|| Mismatch::Missing(core::any::type_name::<Self>()))
    }
}

/// Entities that have `C`.
pub struct With<C>(PhantomData<fn() -> C>);
/// Entities that do not have `C`.
pub struct Without<C>(PhantomData<fn() -> C>);
/// One of a tuple. As a filter: entities that pass one of the filters. As a term: entities that one of the terms matches;
/// it yields what each of them yields, if it matches.
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

macro_rules! filter_debug {
    ($($name:ident)*) => {$(
        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    )*};
}
filter_debug!(With Without Or);

impl<C: Component> Filter for With<C> {
    type State = ComponentId;
    fn state(components: &Components) -> ComponentId {
        components.id::<C>()
    }
    const SIDES: bool = Reach::<C>::SIDE;
    fn passes(state: &ComponentId, signature: &Signature) -> bool {
        Self::SIDES || signature.has(*state)
    }
    #[inline(always)]
    fn passes_row(state: &ComponentId, row: &Candidate<'_>) -> bool {
        row.has_type::<C>(*state)
    }
    fn settled(state: &ComponentId, stores: &Aligned<'_>) -> bool {
        stores.has(*state)
    }
    fn required(state: &ComponentId, each: &mut dyn FnMut(ComponentId, Kind)) {
        each(*state, C::Layout::KIND);
    }
    fn mismatch(state: &ComponentId, row: &Candidate<'_>) -> Option<Mismatch> {
        (!row.has_type::<C>(*state)).then(Mismatch::missing::<C>)
    }
}

impl<C: Component> Filter for Without<C> {
    type State = ComponentId;
    fn state(components: &Components) -> ComponentId {
        components.id::<C>()
    }
    const SIDES: bool = Reach::<C>::SIDE;
    fn passes(state: &ComponentId, signature: &Signature) -> bool {
        Self::SIDES || !signature.has(*state)
    }
    #[inline(always)]
    fn passes_row(state: &ComponentId, row: &Candidate<'_>) -> bool {
        !row.has_type::<C>(*state)
    }
    fn settled(state: &ComponentId, stores: &Aligned<'_>) -> bool {
        stores.lacks(*state)
    }
    fn excluded(state: &ComponentId, each: &mut dyn FnMut(ComponentId)) {
        each(*state);
    }
    fn mismatch(state: &ComponentId, row: &Candidate<'_>) -> Option<Mismatch> {
        row.has_type::<C>(*state).then(Mismatch::excluded::<C>)
    }
}

macro_rules! tuple_filter {
    ($($name:ident)*) => {
        #[allow(unused_variables, non_snake_case, clippy::unused_unit)]
        impl<$($name: Filter),*> Filter for ($($name,)*) {
            type State = ($($name::State,)*);
            fn state(components: &Components) -> Self::State {
                ($($name::state(components),)*)
            }
            const SIDES: bool = false $(|| $name::SIDES)*;
            fn passes(($($name,)*): &Self::State, signature: &Signature) -> bool {
                true $(&& <$name as Filter>::passes($name, signature))*
            }
            #[inline(always)]
            fn rows(($($name,)*): &Self::State) -> bool {
                false $(|| <$name as Filter>::rows($name))*
            }
            #[inline(always)]
            fn passes_row(($($name,)*): &Self::State, row: &Candidate<'_>) -> bool {
                true $(&& <$name as Filter>::passes_row($name, row))*
            }
            const LIVE: bool = false $(|| $name::LIVE)*;
            fn look(($($name,)*): &mut Self::State, look: Look) {
                $(<$name as Filter>::look($name, look);)*
            }
            fn live(($($name,)*): &Self::State, columns: Columns<'_>) -> bool {
                true $(&& <$name as Filter>::live($name, columns))*
            }
            fn access(access: &mut Access) {
                $($name::access(access);)*
            }
            fn settled(($($name,)*): &Self::State, stores: &Aligned<'_>) -> bool {
                true $(&& <$name as Filter>::settled($name, stores))*
            }
            fn required(($($name,)*): &Self::State, each: &mut dyn FnMut(ComponentId, Kind)) {
                $(<$name as Filter>::required($name, each);)*
            }
            fn excluded(($($name,)*): &Self::State, each: &mut dyn FnMut(ComponentId)) {
                $(<$name as Filter>::excluded($name, each);)*
            }
            fn mismatch(($($name,)*): &Self::State, row: &Candidate<'_>) -> Option<Mismatch> {
                None$(.or_else(|| <$name as Filter>::mismatch($name, row)))*
            }
        }

        #[allow(unused_variables, non_snake_case, clippy::unused_unit)]
        impl<$($name: Filter),*> Filter for Or<($($name,)*)> {
            type State = ($($name::State,)*);
            fn state(components: &Components) -> Self::State {
                ($($name::state(components),)*)
            }
            const SIDES: bool = false $(|| $name::SIDES)*;
            fn passes(($($name,)*): &Self::State, signature: &Signature) -> bool {
                false $(|| <$name as Filter>::passes($name, signature))*
            }
            #[inline(always)]
            fn rows(($($name,)*): &Self::State) -> bool {
                false $(|| <$name as Filter>::rows($name))*
            }
            #[inline(always)]
            fn passes_row(($($name,)*): &Self::State, row: &Candidate<'_>) -> bool {
                false $(|| <$name as Filter>::passes_row($name, row))*
            }
            const LIVE: bool = false $(|| $name::LIVE)*;
            fn look(($($name,)*): &mut Self::State, look: Look) {
                $(<$name as Filter>::look($name, look);)*
            }
            fn live(($($name,)*): &Self::State, columns: Columns<'_>) -> bool {
                let signature = columns.signature();
                false $(|| <$name as Filter>::passes($name, signature) && <$name as Filter>::live($name, columns))*
            }
            fn access(access: &mut Access) {
                $($name::access(access);)*
            }
            fn settled(($($name,)*): &Self::State, stores: &Aligned<'_>) -> bool {
                false $(|| <$name as Filter>::settled($name, stores))*
            }
        }
    };
}
all_tuples!(tuple_filter);
