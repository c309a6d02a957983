//! Iteration on several threads.
//!
//! The rows of a query are numbered, and divided into batches of equal size. A thread that works on the loop takes the next batch
//! until none is left. Which thread visits a batch depends on time; what a batch is depends on the number of rows only.
#![allow(unsafe_code)]

use super::row_ranges::RowRanges;
use super::{Query, QueryData, QueryFilter};
use crate::commands::{BatchCommands, CommandBuffer};
#[cfg(feature = "parallel")]
use crate::executor::Rayon;
use crate::executor::{Executor, Pace, map_batches, run_batches};
use core::ops::Range;

/// Returns the number of rows of a batch, of a query with this number of rows.
fn default_batch(rows: usize) -> usize {
    (rows / 64).clamp(32, 8192)
}

/// The batches of a query.
struct Batches<'w, 's, D: QueryData, F: QueryFilter> {
    rows: RowRanges<'w, 's, D, F>,
    /// The rows of a batch.
    size: usize,
    count: usize,
    pace: Pace,
}

impl<'w, 's, D: QueryData, F: QueryFilter> Batches<'w, 's, D, F> {
    /// Uses up a query. Without a size, it is the default, and the caller measures how long batches take.
    fn new(query: Query<'w, 's, D, F>, size: Option<usize>) -> Self {
        query.count_visits();
        let rows = query.peek().ranges();
        let pace = if size.is_none() { Pace::Measured } else { Pace::Parallel };
        let size = size.unwrap_or_else(|| default_batch(rows.len())).max(1);
        // Alignments are powers of two.
        let size = size.checked_next_multiple_of(rows.alignment()).unwrap_or(usize::MAX - (rows.alignment() - 1));
        let count = rows.len().div_ceil(size);
        Batches { rows, size, count, pace }
    }

    /// Returns the rows of some batches.
    fn rows_of(&self, numbers: Range<usize>) -> Range<usize> {
        let row = |number: usize| number.saturating_mul(self.size).min(self.rows.len());
        row(numbers.start)..row(numbers.end)
    }

    fn for_each<E: Executor + ?Sized>(self, executor: &E, f: impl Fn(D::Item<'w>) + Sync) {
        run_batches(executor, self.count, self.pace, |numbers| {
            // SAFETY: the query is used up. Batches are aligned and do not overlap, and each is visited once.
            unsafe { self.rows.fold(self.rows_of(numbers), (), |(), item| f(item)) };
        });
    }

    /// Returns the result of each batch, in order.
    fn map<E, T>(self, executor: &E, init: impl Fn() -> T + Sync, f: impl Fn(T, D::Item<'w>) -> T + Sync) -> Vec<T>
    where
        E: Executor + ?Sized,
        T: Send,
    {
        map_batches(executor, self.count, self.pace, |number| {
            // SAFETY: the query is used up. Batches are aligned and do not overlap, and each is visited once.
            unsafe { self.rows.fold(self.rows_of(number..number + 1), init(), &f) }
        })
    }
}

impl<'w, D: QueryData, F: QueryFilter> Query<'w, '_, D, F> {
    /// Calls `f` with each item, on the threads of an executor, in any order.
    ///
    /// The caller works alone, until the rest is expected to take more than 25 µs. Only then it asks other threads for help. See
    /// [the module](super#parallel-loops) for batches.
    ///
    /// ```
    /// use phalanx::executor::ThreadPool;
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Number(u64);
    ///
    /// let pool = ThreadPool::new(2);
    /// let mut world = World::new();
    /// world.spawn_batch((0..1000).map(Number));
    /// world.query_mut::<&mut Number>().par_for_each_on(&pool, |number| number.0 *= 2);
    /// assert_eq!(world.query::<&Number>().iter().map(|number| number.0).sum::<u64>(), 999_000);
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if `f` does: with the first panic of the lowest batch in which it does. All threads are out of the loop then. Batches
    /// below it were visited.
    #[doc(alias = "par_iter")]
    pub fn par_for_each_on<E>(self, executor: &E, f: impl Fn(D::Item<'w>) + Sync)
    where
        E: Executor + ?Sized,
    {
        Batches::new(self, None).for_each(executor, f);
    }

    /// Like [`par_for_each_on`](Query::par_for_each_on), but with batches of `batch` rows, at least one, and with other threads
    /// from the start.
    ///
    /// Small batches suit rows that take long. In linear storage, a batch is a multiple of 64 slots.
    ///
    /// # Panics
    ///
    /// Panics like [`par_for_each_on`](Query::par_for_each_on).
    #[doc(alias = "batching_strategy")]
    pub fn par_for_each_by_on<E>(self, executor: &E, batch: usize, f: impl Fn(D::Item<'w>) + Sync)
    where
        E: Executor + ?Sized,
    {
        Batches::new(self, Some(batch)).for_each(executor, f);
    }

    /// Folds the items of each batch, and merges the results in the order of the batches.
    ///
    /// Each batch starts with `init`. Batches depend on the number of rows only, so the result does not depend on threads or time,
    /// even if `merge` is not associative. Sums of floating-point numbers are the same on one thread and on eight.
    ///
    /// ```
    /// use phalanx::executor::{Inline, ThreadPool};
    /// use phalanx::{Component, Query, World};
    ///
    /// #[derive(Component)]
    /// struct Mass(f32);
    ///
    /// let mut world = World::new();
    /// world.spawn_batch((0..10_000).map(|n| Mass(1.0 / n as f32)));
    /// let sum = |masses: Query<&Mass>, threads| {
    ///     masses.par_fold_on(&ThreadPool::new(threads), || 0.0, |sum, mass| sum + mass.0, |a, b| a + b)
    /// };
    /// assert_eq!(sum(world.query(), 1), sum(world.query(), 4));
    /// ```
    ///
    /// # Panics
    ///
    /// Panics like [`par_for_each_on`](Query::par_for_each_on), or if `merge` does.
    #[doc(alias = "par_iter")]
    #[doc(alias = "reduce")]
    pub fn par_fold_on<E, T>(
        self,
        executor: &E,
        init: impl Fn() -> T + Sync,
        fold: impl Fn(T, D::Item<'w>) -> T + Sync,
        merge: impl FnMut(T, T) -> T,
    ) -> T
    where
        E: Executor + ?Sized,
        T: Send,
    {
        Batches::new(self, None).map(executor, &init, fold).into_iter().reduce(merge).unwrap_or_else(init)
    }

    /// Like [`par_fold_on`](Query::par_fold_on), but with batches of `batch` rows, at least one, and with other threads from the
    /// start.
    ///
    /// # Panics
    ///
    /// Panics like [`par_fold_on`](Query::par_fold_on).
    pub fn par_fold_by_on<E, T>(
        self,
        executor: &E,
        batch: usize,
        init: impl Fn() -> T + Sync,
        fold: impl Fn(T, D::Item<'w>) -> T + Sync,
        merge: impl FnMut(T, T) -> T,
    ) -> T
    where
        E: Executor + ?Sized,
        T: Send,
    {
        Batches::new(self, Some(batch)).map(executor, &init, fold).into_iter().reduce(merge).unwrap_or_else(init)
    }

    /// Calls `f` with each item and a recorder of commands, on the threads of an executor, in any order.
    ///
    /// The commands are appended to `commands` in the order of the query. So they are the same for any number of threads, and
    /// the same as those of a loop on one thread.
    ///
    /// ```
    /// use phalanx::executor::ThreadPool;
    /// use phalanx::{CommandBuffer, Component, Entity, World};
    ///
    /// #[derive(Component)]
    /// struct Fuse(u32);
    /// #[derive(Component)]
    /// struct Smoke;
    ///
    /// let (pool, mut world, mut commands) = (ThreadPool::new(2), World::new(), CommandBuffer::new());
    /// world.spawn_batch((0..100).map(|n| Fuse(n % 4)));
    /// world.query::<(Entity, &Fuse)>().par_for_each_with_on(&pool, &mut commands, |commands, (bomb, fuse)| {
    ///     if fuse.0 == 0 {
    ///         commands.despawn(bomb);
    ///         commands.spawn(Smoke);
    ///     }
    /// });
    /// commands.apply(&mut world);
    /// assert_eq!((world.query::<&Fuse>().len(), world.query::<&Smoke>().len()), (75, 25));
    /// ```
    ///
    /// # Panics
    ///
    /// Panics like [`par_for_each_on`](Query::par_for_each_on). Then no command has been appended.
    #[doc(alias = "ParallelCommands")]
    pub fn par_for_each_with_on<E>(
        self,
        executor: &E,
        commands: &mut CommandBuffer,
        f: impl Fn(&mut BatchCommands<'_>, D::Item<'w>) + Sync,
    ) where
        E: Executor + ?Sized,
    {
        let record = |mut buffer: CommandBuffer, item: D::Item<'w>| {
            f(&mut BatchCommands::new(&mut buffer), item);
            buffer
        };
        let buffers = Batches::new(self, None).map(executor, CommandBuffer::new, record);
        buffers.into_iter().for_each(|mut buffer| commands.append(&mut buffer));
    }
}

/// The same on the threads of rayon.
#[cfg(feature = "parallel")]
impl<'w, D: QueryData, F: QueryFilter> Query<'w, '_, D, F> {
    /// Calls `f` with each item, on the threads of rayon's current pool, in any order.
    ///
    /// This is [`par_for_each_on`](Query::par_for_each_on) with [`Rayon`].
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Number(u64);
    ///
    /// let mut world = World::new();
    /// world.spawn_batch((0..1000).map(Number));
    /// world.query_mut::<&mut Number>().par_for_each(|number| number.0 *= 2);
    /// assert_eq!(world.query::<&Number>().iter().map(|number| number.0).sum::<u64>(), 999_000);
    /// ```
    ///
    /// # Panics
    ///
    /// Panics like [`par_for_each_on`](Query::par_for_each_on).
    #[doc(alias = "par_iter")]
    pub fn par_for_each(self, f: impl Fn(D::Item<'w>) + Sync) {
        self.par_for_each_on(&Rayon, f);
    }

    /// Like [`par_for_each`](Query::par_for_each), but with batches of `batch` rows, at least one.
    ///
    /// This is [`par_for_each_by_on`](Query::par_for_each_by_on) with [`Rayon`].
    ///
    /// # Panics
    ///
    /// Panics like [`par_for_each_on`](Query::par_for_each_on).
    pub fn par_for_each_by(self, batch: usize, f: impl Fn(D::Item<'w>) + Sync) {
        self.par_for_each_by_on(&Rayon, batch, f);
    }

    /// Folds the items of each batch, and merges the results in the order of the batches.
    ///
    /// This is [`par_fold_on`](Query::par_fold_on) with [`Rayon`].
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Number(u64);
    ///
    /// let mut world = World::new();
    /// world.spawn_batch((0..1000).map(Number));
    /// let most = world.query::<&Number>().par_fold(|| 0, |most, number| number.0.max(most), u64::max);
    /// assert_eq!(most, 999);
    /// ```
    ///
    /// # Panics
    ///
    /// Panics like [`par_fold_on`](Query::par_fold_on).
    pub fn par_fold<T: Send>(
        self,
        init: impl Fn() -> T + Sync,
        fold: impl Fn(T, D::Item<'w>) -> T + Sync,
        merge: impl FnMut(T, T) -> T,
    ) -> T {
        self.par_fold_on(&Rayon, init, fold, merge)
    }

    /// Calls `f` with each item and a recorder of commands, on the threads of rayon's current pool, in any order.
    ///
    /// This is [`par_for_each_with_on`](Query::par_for_each_with_on) with [`Rayon`].
    ///
    /// # Panics
    ///
    /// Panics like [`par_for_each_with_on`](Query::par_for_each_with_on).
    pub fn par_for_each_with(
        self,
        commands: &mut CommandBuffer,
        f: impl Fn(&mut BatchCommands<'_>, D::Item<'w>) + Sync,
    ) {
        self.par_for_each_with_on(&Rayon, commands, f);
    }
}
