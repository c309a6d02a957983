//! [`System`]: a function whose parameters come from a world.
#![allow(unsafe_code)]

use super::{Outcome, ParamConflict, RunContext, ShortName, SystemAccess};
use crate::world::World;
use phalanx_store::raw::DropGuard;

/// A function whose parameters come from a world. [`IntoSystem`] makes one of a function or a closure.
///
/// [`World::run_system`] runs a system. The crate `phalanx-schedule` runs many, on several threads.
///
/// # Safety
///
/// `run_shared` touches only what `access` names, and writes only what it names as written.
pub unsafe trait System: Send + 'static {
    /// What the system returns.
    type Out;

    /// Returns the name of the function.
    fn name(&self) -> &'static str;

    /// Creates the state of the parameters for a world, or updates it to a world. Must be called before a run if the world is
    /// another one, or has been rolled back.
    ///
    /// `path` names the system among all that use the world, so that its readers of events are found again in a snapshot. Two
    /// systems have different paths, also if `@` and a number is appended to one of them.
    ///
    /// # Errors
    ///
    /// Returns [`ParamConflict`] if a parameter writes what another one touches.
    fn initialize(&mut self, world: &mut World, path: Option<&str>) -> Result<(), ParamConflict>;

    /// Returns what the system touches. It is empty before the system is [initialised](System::initialize).
    fn access(&self) -> &SystemAccess;

    /// Runs the system on a shared world, beside others. [`apply`](System::apply) or [`discard`](System::discard) must follow.
    ///
    /// # Safety
    ///
    /// - The system is initialised for this world, after the world was last rolled back.
    /// - It is not exclusive.
    /// - During the call nothing else touches what its access writes, or writes what it touches.
    unsafe fn run_shared(&mut self, world: &World, context: &RunContext<'_>) -> Self::Out;

    /// Runs an exclusive system. Other systems must be run by [`run_shared`](System::run_shared).
    ///
    /// # Panics
    ///
    /// Panics if the system is not exclusive.
    #[track_caller]
    fn run_exclusive(&mut self, _: &mut World) -> Self::Out {
        panic!("the system {} is not exclusive", self.name());
    }

    /// Applies what the last run has recorded: commands and events.
    fn apply(&mut self, world: &mut World, outcome: &mut Outcome);

    /// Drops what the last run has recorded.
    fn discard(&mut self, world: &mut World);
}

/// A function or a closure that can be made a [`System`].
///
/// Its parameters are [`SystemParam`](super::SystemParam)s, at most twelve, or a single `&mut World`. It returns nothing, a `Result`, or for
/// a condition `bool`.
///
/// ```
/// use phalanx::system::{IntoSystem, Res};
/// use phalanx::{Component, Query, World};
///
/// struct Gravity(f32);
/// #[derive(Component)]
/// struct Velocity(f32);
///
/// fn fall(mut bodies: Query<&mut Velocity>, gravity: Res<Gravity>) {
///     bodies.iter_mut().for_each(|velocity| velocity.0 -= gravity.0);
/// }
///
/// let mut world = World::new();
/// world.insert_resource(Gravity(2.0));
/// let stone = world.spawn(Velocity(10.0));
/// world.run_system(&mut fall.into_system());
/// assert_eq!(world.get::<Velocity>(stone).unwrap().0, 8.0);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a system",
    label = "not a system",
    note = "a system is a function or closure with at most 12 parameters, each of which is a `SystemParam`: `Query`, `Res`, `ResMut`, `Commands`, `Local`, `EventReader`, `EventWriter`, `&World` and so on",
    note = "a system with `&mut World` has no other parameter",
    note = "a closure must name the types of its parameters"
)]
pub trait IntoSystem<Marker>: Sized {
    /// The system.
    type System: System<Out = Self::Out>;
    /// What the system returns.
    type Out;

    /// Makes the function a system.
    fn into_system(self) -> Self::System;
}

/// Returns a number that changes when systems must be [initialised](System::initialize) again for a world: it differs between
/// worlds, and changes when a world is rolled back or compacted.
pub fn state_id(world: &World) -> u64 {
    world.id()
}

impl World {
    /// Runs a system and applies its commands and events. Returns what the system returns.
    ///
    /// Commands that cannot be executed are skipped, as [`CommandBuffer::apply`](crate::CommandBuffer::apply) does.
    ///
    /// # Panics
    ///
    /// Panics if the parameters of the system conflict, or if the system panics. Then its commands and events are dropped, and
    /// the entities that it would have spawned are despawned.
    #[track_caller]
    pub fn run_system<S: System + ?Sized>(&mut self, system: &mut S) -> S::Out {
        if let Err(conflict) = system.initialize(self, None) {
            panic!("the system {} cannot run: {conflict}", ShortName(system.name()));
        }
        if system.access().is_exclusive() {
            return system.run_exclusive(self);
        }
        // Entities that are reserved already are alive when the system runs.
        if let Err(error) = self.storage.flush() {
            crate::error::panic_change(error.into());
        }
        let context = RunContext::new(self);
        let mut run = DropGuard::new((system, self), |(system, world)| system.discard(world));
        let (system, world) = &mut run.state;
        // SAFETY: the system was initialised for this world just now and is not exclusive. The world is borrowed exclusively.
        let out = unsafe { system.run_shared(world, &context) };
        system.apply(world, &mut Outcome::default());
        run.dismiss();
        out
    }
}
