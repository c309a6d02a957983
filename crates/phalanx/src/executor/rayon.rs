//! Rayon's threads as an executor.

use super::Executor;

/// Runs jobs on the threads of rayon's current pool.
///
/// That is the pool that the calling thread belongs to, or the global pool. The calling thread takes part.
///
/// ```
/// use phalanx::executor::Rayon;
/// use phalanx::{Component, World};
///
/// #[derive(Component)]
/// struct Number(u64);
///
/// let mut world = World::new();
/// world.spawn_batch((0..1000).map(Number));
/// world.query_mut::<&mut Number>().par_for_each_on(&Rayon, |number| number.0 *= 2);
/// assert_eq!(world.query::<&Number>().iter().map(|number| number.0).sum::<u64>(), 999_000);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rayon;

impl Executor for Rayon {
    fn run(&self, width: usize, work: &(dyn Fn() + Sync)) {
        ::rayon::in_place_scope(|scope| {
            (1..width.min(self.width())).for_each(|_| scope.spawn(|_| work()));
            work();
        });
    }

    fn width(&self) -> usize {
        ::rayon::current_num_threads()
    }
}
