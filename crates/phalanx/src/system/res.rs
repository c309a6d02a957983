//! [`Res`] and [`ResMut`]: resources as parameters of systems.
#![allow(unsafe_code)]

use super::{ParamSetup, RunContext, SystemParam};
use crate::world::World;
use core::any::type_name;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

/// A resource that a system reads.
///
/// A system whose resource is missing panics, with the name of the resource. `Option<Res<R>>` is `None` then.
pub struct Res<'w, R> {
    value: &'w R,
}

/// A resource that a system writes.
///
/// A system whose resource is missing panics, with the name of the resource. `Option<ResMut<R>>` is `None` then.
pub struct ResMut<'w, R> {
    value: &'w mut R,
}

/// The number of a resource's slot in a world.
#[doc(hidden)]
pub struct ResourceNumber<R> {
    number: usize,
    resource: PhantomData<fn() -> R>,
}

impl<R: Send + Sync + 'static> ResourceNumber<R> {
    pub(crate) fn new(world: &mut World) -> Self {
        ResourceNumber { number: world.resources.number_of::<R>(), resource: PhantomData }
    }
}

impl<'w, R> Res<'w, R> {
    /// Returns the resource, for as long as the world is borrowed.
    pub fn into_inner(self) -> &'w R {
        self.value
    }
}

impl<'w, R> ResMut<'w, R> {
    /// Returns the resource, for as long as the world is borrowed.
    pub fn into_inner(self) -> &'w mut R {
        self.value
    }
}

impl<R> Clone for Res<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R> Copy for Res<'_, R> {}

impl<R> Deref for Res<'_, R> {
    type Target = R;

    #[inline(always)]
    fn deref(&self) -> &R {
        self.value
    }
}

impl<R> Deref for ResMut<'_, R> {
    type Target = R;

    #[inline(always)]
    fn deref(&self) -> &R {
        self.value
    }
}

impl<R> DerefMut for ResMut<'_, R> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut R {
        self.value
    }
}

impl<R: fmt::Debug> fmt::Debug for Res<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<R: fmt::Debug> fmt::Debug for ResMut<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
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
                *state = ResourceNumber::new(world);
            }

            #[inline(always)]
            unsafe fn get<'w, 's>(
                state: &'s mut Self::State,
                world: &'w World,
                _: &RunContext<'w>,
            ) -> Self::Item<'w, 's> {
                let cell = world.resources.slot(state.number).cell::<R>().ok()?;
                // SAFETY: the resource is declared, so that nothing else writes it for `'w`, or touches it if this parameter
                // writes it, by the caller's contract.
                let value = unsafe { $find(cell.as_ptr()) };
                Some($param { value })
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
                *state = ResourceNumber::new(world);
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
resource_param!(Res, false, |value: *mut R| &*value);
resource_param!(ResMut, true, |value: *mut R| &mut *value);
