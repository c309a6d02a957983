//! [`BoxedSystem`]: a system of a schedule, whatever it returns.
#![allow(unsafe_code)]

use phalanx::World;
use phalanx::system::{IntoSystem, Outcome, ParamConflict, RunContext, System, SystemAccess};

/// Why a system failed: the error that it returned.
pub(crate) type BoxError = Box<dyn core::error::Error + Send + Sync>;

/// A system of a schedule.
pub(crate) type BoxedSystem = Box<dyn System<Out = Result<(), BoxError>>>;

/// A condition: a system that returns `bool` and writes nothing.
pub(crate) type BoxedCondition = Box<dyn System<Out = bool>>;

/// What a system of a schedule may return: nothing, or a `Result`.
#[diagnostic::on_unimplemented(
    message = "a system of a schedule cannot return `{Self}`",
    note = "it returns nothing, or `Result<(), E>` with an error `E`"
)]
pub trait SystemOutput {
    /// Returns the error, if there is one.
    #[doc(hidden)]
    fn into_result(self) -> Result<(), Box<dyn core::error::Error + Send + Sync>>;
}

impl SystemOutput for () {
    #[inline(always)]
    fn into_result(self) -> Result<(), BoxError> {
        Ok(())
    }
}

impl<E: Into<BoxError>> SystemOutput for Result<(), E> {
    #[inline(always)]
    fn into_result(self) -> Result<(), BoxError> {
        self.map_err(Into::into)
    }
}

/// Makes a function a system of a schedule.
pub(crate) fn boxed<M, F: IntoSystem<M, Out: SystemOutput>>(function: F) -> BoxedSystem {
    Box::new(Adapter(function.into_system()))
}

/// A system that returns a result.
struct Adapter<S>(S);

// SAFETY: it does what the inner system does.
unsafe impl<S: System<Out: SystemOutput>> System for Adapter<S> {
    type Out = Result<(), BoxError>;

    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn initialize(&mut self, world: &mut World, path: Option<&str>) -> Result<(), ParamConflict> {
        self.0.initialize(world, path)
    }

    fn access(&self) -> &SystemAccess {
        self.0.access()
    }

    #[inline]
    unsafe fn run_shared(&mut self, world: &World, context: &RunContext<'_>) -> Self::Out {
        // SAFETY: the contract is the same.
        unsafe { self.0.run_shared(world, context) }.into_result()
    }

    fn run_exclusive(&mut self, world: &mut World) -> Self::Out {
        self.0.run_exclusive(world).into_result()
    }

    fn apply(&mut self, world: &mut World, outcome: &mut Outcome) {
        self.0.apply(world, outcome);
    }

    fn discard(&mut self, world: &mut World) {
        self.0.discard(world);
    }
}
