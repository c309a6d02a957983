//! [`Query`] as a parameter of systems.
#![allow(unsafe_code)]

use super::{ParamSetup, RunContext, SystemParam};
use crate::query::{Query, QueryData, QueryFilter, SystemMatches};
use crate::world::World;

// SAFETY: it declares the access of the query.
unsafe impl<D: QueryData, F: QueryFilter> SystemParam for Query<'_, '_, D, F> {
    type State = SystemMatches<(D::State, F::State), D::Fetch>;
    type Item<'w, 's> = Query<'w, 's, D, F>;

    fn init(_: &mut World, setup: &mut ParamSetup<'_>) -> Self::State {
        setup.access.add_query::<D, F>(core::any::type_name::<Self>());
        SystemMatches::default()
    }

    #[inline(always)]
    unsafe fn get<'w, 's>(
        state: &'s mut Self::State,
        world: &'w World,
        context: &RunContext<'w>,
    ) -> Query<'w, 's, D, F> {
        // SAFETY: nothing else touches what the query writes, or writes what it touches, by the caller's contract. A system
        // whose queries alias is refused when it is initialised.
        unsafe { Query::of_system(world, state, context.tick) }
    }
}
