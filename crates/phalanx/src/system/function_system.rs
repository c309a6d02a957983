//! [`FunctionSystem`] and [`ExclusiveSystem`]: systems made of functions.
#![allow(unsafe_code)]

use super::{IntoSystem, Outcome, ParamConflict, ParamSetup, RunContext, System, SystemAccess, SystemParam};
use crate::world::World;
use core::any::type_name;
use core::fmt;
use core::marker::PhantomData;

/// A system made of a function or closure with [parameters](SystemParam).
pub struct FunctionSystem<M, F: SystemFunction<M>> {
    function: F,
    state: Option<<F::Param as SystemParam>::State>,
    access: SystemAccess,
    /// The [number](World::id) of the world that the state is for.
    world: Option<u64>,
    marker: PhantomData<fn() -> M>,
}

/// A system made of a function or closure with the parameter `&mut World`.
pub struct ExclusiveSystem<F, Out> {
    function: F,
    access: SystemAccess,
    out: PhantomData<fn() -> Out>,
}

/// A function or closure whose parameters are all [`SystemParam`]s.
#[diagnostic::on_unimplemented(message = "`{Self}` is not a system", label = "not a system")]
pub trait SystemFunction<Marker>: Send + 'static {
    /// The parameters.
    type Param: SystemParam;
    /// What the function returns.
    type Out;

    /// Calls the function.
    #[doc(hidden)]
    fn call(&mut self, param: <Self::Param as SystemParam>::Item<'_, '_>) -> Self::Out;
}

macro_rules! function {
    ($($name:ident)*) => {
        impl<Func, Out, $($name: SystemParam),*> SystemFunction<fn($($name,)*) -> Out> for Func
        where
            Func: Send + 'static,
            // The first bound finds out the types of the parameters, the second calls the function.
            for<'a> &'a mut Func: FnMut($($name),*) -> Out + FnMut($($name::Item<'_, '_>),*) -> Out,
        {
            type Param = ($($name,)*);
            type Out = Out;

            #[inline(always)]
            #[allow(non_snake_case)]
            fn call(&mut self, ($($name,)*): <Self::Param as SystemParam>::Item<'_, '_>) -> Out {
                // The compiler does not choose between the two bounds above. The signature of this function does.
                #[allow(clippy::too_many_arguments)]
                fn call<Out, $($name),*>(mut function: impl FnMut($($name),*) -> Out, $($name: $name),*) -> Out {
                    function($($name),*)
                }
                call(self, $($name),*)
            }
        }
    };
}
function!();
function!(A);
function!(A B);
function!(A B C);
function!(A B C D);
function!(A B C D E);
function!(A B C D E F);
function!(A B C D E F G);
function!(A B C D E F G H);
function!(A B C D E F G H I);
function!(A B C D E F G H I J);
function!(A B C D E F G H I J K);
function!(A B C D E F G H I J K L);

impl<M: 'static, F: SystemFunction<M>> IntoSystem<(FunctionMarker, M)> for F {
    type System = FunctionSystem<M, F>;
    type Out = F::Out;

    fn into_system(self) -> FunctionSystem<M, F> {
        let access = SystemAccess::default();
        FunctionSystem { function: self, state: None, access, world: None, marker: PhantomData }
    }
}

/// Tells functions with parameters from other [`IntoSystem`] types.
#[doc(hidden)]
#[derive(Debug)]
pub struct FunctionMarker;

/// Tells functions with the parameter `&mut World` from other [`IntoSystem`] types.
#[doc(hidden)]
#[derive(Debug)]
pub struct ExclusiveMarker;

/// Tells systems from functions that become systems.
#[doc(hidden)]
#[derive(Debug)]
pub struct SystemMarker;

impl<S: System> IntoSystem<SystemMarker> for S {
    type System = S;
    type Out = S::Out;

    fn into_system(self) -> S {
        self
    }
}

impl<F, Out: 'static> IntoSystem<(ExclusiveMarker, Out)> for F
where
    F: FnMut(&mut World) -> Out + Send + 'static,
{
    type System = ExclusiveSystem<F, Out>;
    type Out = Out;

    fn into_system(self) -> ExclusiveSystem<F, Out> {
        ExclusiveSystem { function: self, access: SystemAccess::of_everything(), out: PhantomData }
    }
}

// SAFETY: parameters declare what they touch, and the function gets nothing else.
unsafe impl<M: 'static, F: SystemFunction<M>> System for FunctionSystem<M, F> {
    type Out = F::Out;

    fn name(&self) -> &'static str {
        type_name::<F>()
    }

    fn initialize(&mut self, world: &mut World, path: Option<&str>) -> Result<(), ParamConflict> {
        if self.world == Some(world.id()) {
            return Ok(());
        }
        // If it fails, or a parameter panics, the state is that of no world.
        self.world = None;
        if let Some(state) = &mut self.state {
            F::Param::update(state, world);
        } else {
            let mut access = SystemAccess::default();
            let state = F::Param::init(world, &mut ParamSetup { access: &mut access, path, readers: 0 });
            if let Some(conflict) = access.param_conflict() {
                return Err(conflict);
            }
            self.access = access;
            self.state = Some(state);
        }
        self.world = Some(world.id());
        Ok(())
    }

    fn access(&self) -> &SystemAccess {
        &self.access
    }

    #[inline]
    unsafe fn run_shared(&mut self, world: &World, context: &RunContext<'_>) -> F::Out {
        match &mut self.state {
            // SAFETY: the state is for this world, and nothing else touches what the access writes, by the caller's contract.
            Some(state) => self.function.call(unsafe { F::Param::get(state, world, context) }),
            None => unreachable!("a system is initialised before it runs"),
        }
    }

    #[inline]
    fn apply(&mut self, world: &mut World, outcome: &mut Outcome) {
        if let Some(state) = &mut self.state {
            F::Param::apply(state, world, outcome);
        }
    }

    fn discard(&mut self, world: &mut World) {
        if let Some(state) = &mut self.state {
            F::Param::discard(state, world);
        }
    }
}

// SAFETY: it does not run on a shared world.
unsafe impl<F, Out: 'static> System for ExclusiveSystem<F, Out>
where
    F: FnMut(&mut World) -> Out + Send + 'static,
{
    type Out = Out;

    fn name(&self) -> &'static str {
        type_name::<F>()
    }

    fn initialize(&mut self, _: &mut World, _: Option<&str>) -> Result<(), ParamConflict> {
        Ok(())
    }

    fn access(&self) -> &SystemAccess {
        &self.access
    }

    unsafe fn run_shared(&mut self, _: &World, _: &RunContext<'_>) -> Out {
        panic!("the system {} is exclusive", self.name());
    }

    fn run_exclusive(&mut self, world: &mut World) -> Out {
        (self.function)(world)
    }

    fn apply(&mut self, _: &mut World, _: &mut Outcome) {}

    fn discard(&mut self, _: &mut World) {}
}

impl<M, F: SystemFunction<M>> fmt::Debug for FunctionSystem<M, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FunctionSystem({})", type_name::<F>())
    }
}

impl<F, Out> fmt::Debug for ExclusiveSystem<F, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExclusiveSystem({})", type_name::<F>())
    }
}
