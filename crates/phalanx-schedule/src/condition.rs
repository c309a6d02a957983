//! Conditions over resources.

use phalanx::system::Res;

/// Returns a condition that is met while the world has a resource.
///
/// ```
/// use phalanx::World;
/// use phalanx::system::ResMut;
/// use phalanx_schedule::{IntoSystemConfig, Schedule, resource_exists};
///
/// struct Clock(u32);
///
/// let mut world = World::new();
/// let mut frame = Schedule::builder("frame")
///     .add((|mut clock: ResMut<Clock>| clock.0 += 1).run_if(resource_exists::<Clock>()))
///     .build(&mut world)?;
/// frame.run(&mut world);
/// world.insert_resource(Clock(0));
/// frame.run(&mut world);
/// assert_eq!(world.resource::<Clock>()?.0, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn resource_exists<R: Send + Sync + 'static>() -> impl FnMut(Option<Res<'_, R>>) -> bool + Send + 'static {
    |resource: Option<Res<R>>| resource.is_some()
}

/// Returns a condition that is met if a resource was inserted since the condition was last tested. In the first test it is
/// met if the world has the resource.
///
/// A resource that replaces another one is [changed](resource_changed), and not added.
pub fn resource_added<R: Send + Sync + 'static>() -> impl FnMut(Option<Res<'_, R>>) -> bool + Send + 'static {
    |resource: Option<Res<R>>| resource.is_some_and(|resource| resource.is_added())
}

/// Returns a condition that is met if a resource was inserted, replaced or written since the condition was last tested. In
/// the first test it is met if the world has the resource.
///
/// Each condition has a memory of its own. So two systems with this condition both run after a change, each once. Conditions of
/// a system are tested in order until one is not met. One that was not tested remembers the change.
///
/// ```
/// use phalanx::World;
/// use phalanx::system::{Res, ResMut};
/// use phalanx_schedule::{IntoSystemConfig, Schedule, resource_changed};
///
/// struct Score(u32);
/// struct Banner(String);
///
/// let mut world = World::new();
/// world.insert_resource(Score(0));
/// world.insert_resource(Banner(String::new()));
/// let draw = |score: Res<Score>, mut banner: ResMut<Banner>| banner.0 += &format!("{} ", score.0);
/// let mut frame =
///     Schedule::builder("frame").add(draw.run_if(resource_changed::<Score>())).build(&mut world)?;
/// frame.run(&mut world);
/// frame.run(&mut world);
/// world.resource_mut::<Score>()?.0 = 7;
/// frame.run(&mut world);
/// frame.run(&mut world);
/// assert_eq!(world.resource::<Banner>()?.0, "0 7 ");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "resource_exists_and_changed")]
#[doc(alias = "state_changed")]
pub fn resource_changed<R: Send + Sync + 'static>() -> impl FnMut(Option<Res<'_, R>>) -> bool + Send + 'static {
    |resource: Option<Res<R>>| resource.is_some_and(|resource| resource.is_changed())
}
