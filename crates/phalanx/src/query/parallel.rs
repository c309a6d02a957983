//! Iteration on several threads.
#![allow(unsafe_code)]

use super::iter::Run;
use super::{Query, QueryData, QueryFilter};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rayon::slice::ParallelSlice;

/// Runs of which worker threads make items.
struct Shared<'s, F>(&'s [Run<F>]);

// SAFETY: a fetch is pointers into a world, and by the contract of `QueryData` items can be made on any thread.
unsafe impl<F> Send for Shared<'_, F> {}
// SAFETY: as above.
unsafe impl<F> Sync for Shared<'_, F> {}

impl<F: Copy> Shared<'_, F> {
    fn run(&self, at: usize) -> (F, usize) {
        (self.0[at].fetch, self.0[at].len as usize)
    }
}

/// A view that worker threads share.
struct SharedView<D: QueryData>(D::View);

// SAFETY: a view is pointers into a world, and by the contract of `QueryData` items can be made on any thread.
unsafe impl<D: QueryData> Send for SharedView<D> {}
// SAFETY: as above.
unsafe impl<D: QueryData> Sync for SharedView<D> {}

impl<D: QueryData> SharedView<D> {
    fn get(&self) -> D::View {
        self.0
    }
}

impl<'w, D: QueryData, F: QueryFilter> Query<'w, '_, D, F> {
    /// Calls `f` with each item, on the threads of rayon's pool, in any order.
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
    #[doc(alias = "par_iter")]
    pub fn par_for_each(self, f: impl Fn(D::Item<'w>) + Send + Sync) {
        let batch = (self.len() / (8 * rayon::current_num_threads())).clamp(32, 8192);
        self.par_for_each_by(batch, f);
    }

    /// Like [`par_for_each`](Query::par_for_each), but a task visits at most `batch` rows of a table, and at least one.
    ///
    /// Small batches suit rows that take long.
    pub fn par_for_each_by(self, batch: usize, f: impl Fn(D::Item<'w>) + Send + Sync) {
        self.count_visits();
        let (states, batch) = (self.states(), batch.max(1));
        if let Some(mut sparse) = self.sparse_rows() {
            // The matching rows are found here; the threads only make the items.
            // SAFETY: the rows were found with equal states.
            let rows = unsafe { sparse.matching_rows::<F>(states.get()) }.collect::<Vec<_>>();
            let (view, state) = (SharedView::<D>(sparse.view()), &states.get().0);
            return rows.par_chunks(batch).for_each(|rows| {
                for &row in rows {
                    // SAFETY: the rows are the world's, and each is visited once; the query was promised the rest. A filter
                    // of a user may answer differently when it is asked again.
                    if let Some(item) = unsafe { D::at(state, view.get(), row) } {
                        f(item);
                    }
                }
            });
        }
        let runs = self.runs();
        let runs = Shared(&runs);
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
                // SAFETY: the row is in use. Batches do not overlap and each is visited once, so each row is; the query was
                // promised the rest.
                f(unsafe { D::row(fetch, row) });
            }
        });
    }
}
