//! The calling thread as an executor.

use super::Executor;

/// Runs everything on the calling thread.
///
/// It is for tests, for targets without threads, and for jobs that are too small for several threads.
///
/// ```
/// use phalanx::executor::Inline;
/// use phalanx::{Component, World};
///
/// #[derive(Component)]
/// struct Mass(f32);
///
/// let mut world = World::new();
/// world.spawn_batch([Mass(1.0), Mass(2.0)]);
/// let sum = world.query::<&Mass>().par_fold_on(&Inline, || 0.0, |sum, mass| sum + mass.0, |a, b| a + b);
/// assert_eq!(sum, 3.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(alias = "SingleThreaded")]
pub struct Inline;

impl Executor for Inline {
    fn run(&self, _: usize, work: &(dyn Fn() + Sync)) {
        work();
    }

    fn width(&self) -> usize {
        1
    }

    fn may_nest(&self) -> bool {
        false
    }
}
