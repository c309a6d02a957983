//! Iteration on several threads.
#![allow(unsafe_code)]

use super::iter::Run;
use super::{Filter, Matched, Query, QueryMut, QueryState};
use crate::world::World;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rayon::slice::ParallelSlice;

/// The runs, which worker threads make items of.
struct Shared<'s, F>(&'s [Run<F>]);

// SAFETY: a fetch is a place in a world's lanes, and `Query` promises that items can be made on any thread.
unsafe impl<F> Send for Shared<'_, F> {}
// SAFETY: as above.
unsafe impl<F> Sync for Shared<'_, F> {}

impl<F: Copy> Shared<'_, F> {
    fn run(&self, at: usize) -> (F, usize) {
        (self.0[at].fetch, self.0[at].len as usize)
    }
}

/// What finds the components of rows, for worker threads.
struct SharedView<Q: Query>(Q::View);

// SAFETY: a view is places in a world, and `Query` promises that items can be made on any thread.
unsafe impl<Q: Query> Send for SharedView<Q> {}
// SAFETY: as above.
unsafe impl<Q: Query> Sync for SharedView<Q> {}

impl<Q: Query> SharedView<Q> {
    fn get(&self) -> Q::View {
        self.0
    }
}

impl<'w, Q: Query, F: Filter> Matched<'w, '_, Q, F> {
    /// Calls `f` with every item, on the threads of rayon's pool: each item once, in any order.
    pub fn par_for_each(self, f: impl Fn(Q::Item<'w>) + Send + Sync) {
        let batch = (self.len() / (8 * rayon::current_num_threads())).clamp(32, 8192);
        self.par_for_each_by(batch, f);
    }

    /// Calls `f` with every item, on the threads of rayon's pool, at most `batch` rows of a table to a task (one, if it is
    /// zero). Small batches are for rows that take long.
    pub fn par_for_each_by(self, batch: usize, f: impl Fn(Q::Item<'w>) + Send + Sync) {
        self.note();
        let (runs, ids, batch) = (self.runs(), self.ids(), batch.max(1));
        if let Some(mut walk) = self.walk() {
            // Who is visited is found out here; the threads only make the items.
            // SAFETY: the walk was made with these ids.
            let spots = unsafe { walk.spots::<F>(ids) }.collect::<Vec<_>>();
            let view = SharedView::<Q>(walk.view());
            return spots.par_chunks(batch).for_each(|spots| {
                for &spot in spots {
                    // SAFETY: the rows are the world's, and each comes once; the rest is what the walk was promised. A
                    // filter of somebody's may have changed its mind about a row.
                    if let Some(item) = unsafe { Q::at(&ids.0, view.get(), spot) } {
                        f(item);
                    }
                }
            });
        }
        let runs = Shared(runs);
        // The number of the first batch of each run.
        let mut batches = 0;
        let starts: Vec<usize> = runs
            .0
            .iter()
            .map(|run| {
                let start = batches;
                batches += (run.len as usize).div_ceil(batch);
                start
            })
            .collect();
        (0..batches).into_par_iter().for_each(|number| {
            let at = starts.partition_point(|start| *start <= number) - 1;
            let (fetch, len) = runs.run(at);
            let first = (number - starts[at]) * batch;
            for row in first..len.min(first.saturating_add(batch)) {
                // SAFETY: the row is in use. Batches do not overlap and each comes once, so each row does; the rest is
                // what the runs were promised when they were matched.
                f(unsafe { Q::row(fetch, row) });
            }
        });
    }
}

impl<'w, Q: Query, F: Filter> QueryMut<'w, Q, F> {
    /// Calls `f` with every item, on the threads of rayon's pool: each item once, in any order.
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
    #[track_caller]
    pub fn par_for_each(self, f: impl Fn(Q::Item<'w>) + Send + Sync) {
        self.matched().par_for_each(f);
    }

    /// As [`par_for_each`](QueryMut::par_for_each), at most `batch` rows of a table to a task (one, if it is zero).
    #[track_caller]
    pub fn par_for_each_by(self, batch: usize, f: impl Fn(Q::Item<'w>) + Send + Sync) {
        self.matched().par_for_each_by(batch, f);
    }
}

impl<Q: Query, F: Filter> QueryState<Q, F> {
    /// Calls `f` with every item, on the threads of rayon's pool: each item once, in any order.
    pub fn par_for_each<'w>(&mut self, world: &'w mut World, f: impl Fn(Q::Item<'w>) + Send + Sync) {
        self.of_mut(world).par_for_each(f);
    }

    /// As [`par_for_each`](QueryState::par_for_each), at most `batch` rows of a table to a task (one, if it is zero).
    pub fn par_for_each_by<'w>(&mut self, world: &'w mut World, batch: usize, f: impl Fn(Q::Item<'w>) + Send + Sync) {
        self.of_mut(world).par_for_each_by(batch, f);
    }
}
