//! Rayon's threads as an executor.

use super::Executor;

/// Runs jobs on the threads of rayon's current pool.
///
/// That is the pool that the calling thread belongs to, or the global pool. The calling thread takes part.
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
