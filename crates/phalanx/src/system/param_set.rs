//! [`ParamSet`]: parameters that conflict with each other, used one at a time.
#![allow(unsafe_code)]

use super::{Outcome, ParamSetup, RunContext, SystemParam};
use crate::world::World;
use core::fmt;
use core::marker::PhantomData;

/// Several parameters that may conflict with each other. A system uses one of them at a time.
///
/// ```
/// use phalanx::system::{IntoSystem, ParamSet};
/// use phalanx::{Component, Query, World};
///
/// #[derive(Component)]
/// struct Heat(f32);
///
/// fn spread(mut heats: ParamSet<(Query<&Heat>, Query<&mut Heat>)>) {
///     let mean = heats.p0().iter().map(|heat| heat.0).sum::<f32>() / heats.p0().len() as f32;
///     heats.p1().for_each(|heat| heat.0 = mean);
/// }
///
/// let mut world = World::new();
/// world.spawn_batch([Heat(1.0), Heat(3.0)]);
/// world.run_system(&mut spread.into_system());
/// assert!(world.query::<&Heat>().iter().all(|heat| heat.0 == 2.0));
/// ```
pub struct ParamSet<'w, 's, P: SystemParam> {
    state: &'s mut P::State,
    world: &'w World,
    context: RunContext<'w>,
    params: PhantomData<fn() -> P>,
}

impl<P: SystemParam> fmt::Debug for ParamSet<'_, '_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ParamSet<{}>", core::any::type_name::<P>())
    }
}

macro_rules! param_set {
    ($($name:ident $number:tt $method:ident)*) => {
        // SAFETY: each member declares what it touches. Members that conflict are not used at the same time, because each
        // borrows the set. Parameters within a member are checked against each other like all others.
        unsafe impl<$($name: SystemParam),*> SystemParam for ParamSet<'_, '_, ($($name,)*)> {
            type State = ($($name::State,)*);
            type Item<'w, 's> = ParamSet<'w, 's, ($($name,)*)>;

            fn init(world: &mut World, setup: &mut ParamSetup<'_>) -> Self::State {
                let set = setup.access.begin_set();
                let state = ($(setup.init_set_member::<$name>(set, world),)*);
                setup.access.end_set();
                state
            }

            fn update(state: &mut Self::State, world: &mut World) {
                <($($name,)*)>::update(state, world);
            }

            #[inline(always)]
            unsafe fn get<'w, 's>(
                state: &'s mut Self::State,
                world: &'w World,
                context: &RunContext<'w>,
            ) -> Self::Item<'w, 's> {
                ParamSet { state, world, context: *context, params: PhantomData }
            }

            fn apply(state: &mut Self::State, world: &mut World, outcome: &mut Outcome) {
                <($($name,)*)>::apply(state, world, outcome);
            }

            fn discard(state: &mut Self::State, world: &mut World) {
                <($($name,)*)>::discard(state, world);
            }
        }

        impl<$($name: SystemParam),*> ParamSet<'_, '_, ($($name,)*)> {
            $(
                #[doc = concat!("Returns the parameter with the number ", stringify!($number), ".")]
                pub fn $method(&mut self) -> $name::Item<'_, '_> {
                    // SAFETY: the contract of `get`, by which the set was created, for this member. The item borrows the set,
                    // so that no other member is in use.
                    unsafe { $name::get(&mut self.state.$number, self.world, &self.context) }
                }
            )*
        }
    };
}
param_set!(A 0 p0 B 1 p1);
param_set!(A 0 p0 B 1 p1 C 2 p2);
param_set!(A 0 p0 B 1 p1 C 2 p2 D 3 p3);
