//! Filters: what an entity must have or lack beside what is asked for.

use crate::bundle::all_tuples;
use crate::component::{Component, ComponentId, Components};
use crate::signature::Signature;
use core::fmt;
use core::marker::PhantomData;

/// A condition on what entities have. Settled table by table, so that it costs nothing a row.
pub trait Filter: 'static {
    /// The ids of the components. The world keeps it, and goes where it wants with it.
    type State: Clone + Send + Sync + 'static;
    /// The ids of the components, as far as the world knows them.
    fn state(components: &Components) -> Self::State;
    /// Whether entities with this signature pass.
    fn passes(state: &Self::State, signature: &Signature) -> bool;
}

/// Entities that have `C`.
pub struct With<C>(PhantomData<fn() -> C>);
/// Entities that do not have `C`.
pub struct Without<C>(PhantomData<fn() -> C>);
/// Entities that pass one of the filters of a tuple.
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
    fn passes(state: &ComponentId, signature: &Signature) -> bool {
        signature.has(*state)
    }
}

impl<C: Component> Filter for Without<C> {
    type State = ComponentId;
    fn state(components: &Components) -> ComponentId {
        components.id::<C>()
    }
    fn passes(state: &ComponentId, signature: &Signature) -> bool {
        !signature.has(*state)
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
            fn passes(($($name,)*): &Self::State, signature: &Signature) -> bool {
                true $(&& <$name as Filter>::passes($name, signature))*
            }
        }

        #[allow(unused_variables, non_snake_case, clippy::unused_unit)]
        impl<$($name: Filter),*> Filter for Or<($($name,)*)> {
            type State = ($($name::State,)*);
            fn state(components: &Components) -> Self::State {
                ($($name::state(components),)*)
            }
            fn passes(($($name,)*): &Self::State, signature: &Signature) -> bool {
                false $(|| <$name as Filter>::passes($name, signature))*
            }
        }
    };
}
all_tuples!(tuple_filter);
