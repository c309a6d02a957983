//! The calling thread as an executor.

use super::Executor;

/// Runs everything on the calling thread.
///
/// It is for tests, for targets without threads, and for jobs that are too small for several threads.
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
