//! [`Local`]: a value that belongs to a system.
#![allow(unsafe_code)]

use super::{ParamSetup, RunContext, SystemParam};
use crate::world::World;
use core::fmt;
use core::ops::{Deref, DerefMut};

/// A value that belongs to a system and is kept between its runs. It starts as `T::default()`.
///
/// ```
/// use phalanx::World;
/// use phalanx::system::{IntoSystem, Local};
///
/// fn count(mut runs: Local<u32>) -> u32 {
///     *runs += 1;
///     *runs
/// }
///
/// let mut world = World::new();
/// let mut system = count.into_system();
/// assert_eq!(world.run_system(&mut system), 1);
/// assert_eq!(world.run_system(&mut system), 2);
/// ```
///
/// A local value is not part of the world. It is not saved, and a rollback does not restore it. A value that the state of a
/// game depends on belongs in a resource.
pub struct Local<'s, T> {
    value: &'s mut T,
}

impl<T> Deref for Local<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        self.value
    }
}

impl<T> DerefMut for Local<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Local<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

// SAFETY: it touches nothing but its state.
unsafe impl<T: Default + Send + 'static> SystemParam for Local<'_, T> {
    type State = T;
    type Item<'w, 's> = Local<'s, T>;

    fn init(_: &mut World, setup: &mut ParamSetup<'_>) -> T {
        setup.access.add_local(core::any::type_name::<T>());
        T::default()
    }

    #[inline(always)]
    unsafe fn get<'w, 's>(state: &'s mut T, _: &'w World, _: &RunContext<'w>) -> Local<'s, T> {
        Local { value: state }
    }
}
