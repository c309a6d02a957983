//! [`Res`] and [`ResMut`] as parameters of systems.
#![allow(unsafe_code)]

use super::{ParamSetup, RunContext, SystemParam};
use crate::change_detection::TicksMut;
use crate::change_detection::{RunHistory, RunTicks, Tick};
use crate::resources::{Res, ResMut};
use crate::world::World;
use core::any::type_name;
use core::fmt;
use core::marker::PhantomData;

/// The number of a resource's slot in a world, and the runs in which the resource was used.
#[doc(hidden)]
pub struct ResourceNumber<R> {
    number: usize,
    /// The last runs.
    runs: RunHistory,
    /// The tick of the run before the last one, if there was one and it was not undone.
    since: Option<Tick>,
    resource: PhantomData<fn() -> R>,
}

impl<R: Send + Sync + 'static> ResourceNumber<R> {
    pub(crate) fn new(world: &mut World) -> Self {
        let number = world.resources.number_of::<R>();
        ResourceNumber { number, runs: RunHistory::new(), since: None, resource: PhantomData }
    }

    /// Updates the number to a world. Runs that a rollback has not undone are remembered.
    fn update(&mut self, world: &mut World) {
        self.number = world.resources.number_of::<R>();
    }

    /// Returns the ticks of a run. A [set](super::ParamSet) may ask for them several times in one run.
    #[inline(always)]
    fn run_ticks(&mut self, world: &World, now: Tick) -> RunTicks {
        let clock = &world.storage.sparse.clock;
        if !self.runs.is_last(clock, now) {
            self.since = self.runs.since(clock);
            self.runs.record(clock, now);
        }
        RunTicks { now, since: self.since, own: true }
    }
}

impl<R> fmt::Debug for ResourceNumber<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ResourceNumber({})", self.number)
    }
}

#[cold]
#[inline(never)]
fn panic_missing<R>() -> ! {
    panic!("the resource {} is missing; insert it before the system runs, or use `Option<Res<…>>`", type_name::<R>());
}

macro_rules! resource_param {
    ($param:ident, $writes:literal, $find:expr) => {
        // SAFETY: it touches the resource that it declares.
        unsafe impl<R: Send + Sync + 'static> SystemParam for Option<$param<'_, R>> {
            type State = ResourceNumber<R>;
            type Item<'w, 's> = Option<$param<'w, R>>;

            fn init(world: &mut World, setup: &mut ParamSetup<'_>) -> Self::State {
                setup.access.add_resource::<R>($writes, type_name::<Self>());
                ResourceNumber::new(world)
            }

            fn update(state: &mut Self::State, world: &mut World) {
                state.update(world);
            }

            #[inline(always)]
            unsafe fn get<'w, 's>(
                state: &'s mut Self::State,
                world: &'w World,
                context: &RunContext<'w>,
            ) -> Self::Item<'w, 's> {
                let slot = world.resources.slot(state.number);
                let cell = slot.cell::<R>().ok()?;
                // SAFETY: the resource is declared, so that nothing else writes it for `'w`, or touches it if this parameter
                // writes it, by the caller's contract.
                let (value, ticks) = unsafe { $find(cell.as_ptr(), slot.ticks.by_ref()) };
                Some($param::new(value, ticks, state.run_ticks(world, context.tick)))
            }
        }

        // SAFETY: as for the option.
        unsafe impl<R: Send + Sync + 'static> SystemParam for $param<'_, R> {
            type State = ResourceNumber<R>;
            type Item<'w, 's> = $param<'w, R>;

            fn init(world: &mut World, setup: &mut ParamSetup<'_>) -> Self::State {
                setup.access.add_resource::<R>($writes, type_name::<Self>());
                ResourceNumber::new(world)
            }

            fn update(state: &mut Self::State, world: &mut World) {
                state.update(world);
            }

            #[inline(always)]
            unsafe fn get<'w, 's>(
                state: &'s mut Self::State,
                world: &'w World,
                context: &RunContext<'w>,
            ) -> Self::Item<'w, 's> {
                // SAFETY: the contract is the same.
                match unsafe { <Option<$param<'w, R>> as SystemParam>::get(state, world, context) } {
                    Some(resource) => resource,
                    None => panic_missing::<R>(),
                }
            }
        }
    };
}
resource_param!(Res, false, |value: *mut R, ticks| (&*value, ticks));
resource_param!(ResMut, true, |value: *mut R, ticks| (&mut *value, TicksMut::new(ticks)));
