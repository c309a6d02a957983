//! What runs work on several threads.

use std::sync::Arc;

/// Calls a function on several threads.
///
/// The callers of an executor rely on nothing but its types and [`may_nest`](Executor::may_nest). Their `work` takes what is
/// left of a job until nothing is left, and each of them calls it once more by itself. So an executor may call `work` on every
/// thread, once, or not at all; it may also call it often, nested, or one call after another. All of these give the same result.
///
/// ```
/// use phalanx::executor::Executor;
/// use phalanx::{Component, World};
///
/// /// Starts threads for each job.
/// struct Scoped(usize);
///
/// impl Executor for Scoped {
///     fn run(&self, width: usize, work: &(dyn Fn() + Sync)) {
///         std::thread::scope(|scope| (1..width).for_each(|_| _ = scope.spawn(work)));
///     }
///
///     fn width(&self) -> usize {
///         self.0
///     }
/// }
///
/// #[derive(Component)]
/// struct Number(u64);
///
/// let mut world = World::new();
/// world.spawn_batch((0..1000).map(Number));
/// world.query_mut::<&mut Number>().par_for_each_on(&Scoped(2), |number| number.0 *= 2);
/// assert_eq!(world.query::<&Number>().iter().map(|number| number.0).sum::<u64>(), 999_000);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an executor",
    note = "executors are `Inline`, `ThreadPool` and `Rayon` of `phalanx::executor`"
)]
#[doc(alias = "TaskPool")]
pub trait Executor: Sync {
    /// Calls `work` on up to `width` threads and returns when every call has returned.
    ///
    /// The calling thread can be one of them. Fewer calls, or none, are allowed.
    fn run(&self, width: usize, work: &(dyn Fn() + Sync));

    /// Returns the number of threads that can work on one job, the calling thread included.
    fn width(&self) -> usize;

    /// Returns `true` if a thread that waits inside of `work` may call `work` again, above the first call.
    ///
    /// That is so for pools whose threads run other tasks while they wait, such as rayon's. Then calls of `work` must not wait for
    /// each other: a schedule uses fewer threads for systems with commands, and starts more jobs. An executor that returns
    /// `false` and nests all the same may not return.
    fn may_nest(&self) -> bool {
        true
    }
}

/// Defines an executor by the one that it points to.
macro_rules! delegate {
    ($($pointer:ty: $($bound:ident)?),*) => {$(
        impl<E: Executor $(+ $bound)? + ?Sized> Executor for $pointer {
            fn run(&self, width: usize, work: &(dyn Fn() + Sync)) {
                (**self).run(width, work);
            }

            fn width(&self) -> usize {
                (**self).width()
            }

            fn may_nest(&self) -> bool {
                (**self).may_nest()
            }
        }
    )*};
}
delegate!(&E:, Box<E>:, Arc<E>: Send);
