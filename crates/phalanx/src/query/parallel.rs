//! Iteration on several threads.
#![allow(unsafe_code)]

use super::{ItemRow, Query, QueryData, QueryFilter};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rayon::slice::ParallelSlice;

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
        let batch = batch.max(1);
        // The matching rows are found here; the threads only make the items.
        if let Some(sparse) = self.peek().sparse_rows() {
            return sparse.rows.par_chunks(batch).for_each(|rows| {
                // SAFETY: each row is visited once, and the query is used up; the rest by the contract of `Query::new`.
                rows.iter().filter_map(|row| unsafe { sparse.item(*row) }).for_each(&f);
            });
        }
        let runs = &*self.runs();
        // The number of the first batch of each run.
        let mut batches = 0;
        let starts: Vec<usize> = runs
            .iter()
            .map(|run| {
                let start = batches;
                batches += (run.len as usize).div_ceil(batch);
                start
            })
            .collect();
        (0..batches).into_par_iter().for_each(|number| {
            let at = starts.partition_point(|start| *start <= number) - 1;
            let run = runs[at];
            let first = (number - starts[at]) * batch;
            for row in first..(run.len as usize).min(first.saturating_add(batch)) {
                // SAFETY: the row is in use. Batches do not overlap and each is visited once, so each row is, and the query
                // is used up; the rest by the contract of `Query::new`.
                f(D::row(run.fetch, unsafe { ItemRow::new(row) }));
            }
        });
    }
}
