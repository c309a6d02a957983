//! Iteration over the rows of a query in batches.

use super::{Iter, Query, QueryData, QueryFilter};
use core::fmt;
use core::iter::FusedIterator;

/// An iterator over the items of a query in batches, each of which is an iterator.
///
/// It is made by [`Query::batches`].
pub struct Batches<'w, 's, D: QueryData, F: QueryFilter = ()> {
    rows: Iter<'w, 's, D, F>,
    size: usize,
}

impl<'w, 's, D: QueryData, F: QueryFilter> Query<'w, 's, D, F> {
    /// Returns an iterator over batches of rows, for distributing them over threads of your own.
    ///
    /// A batch has at most `size` rows, and at least one. It does not reach over several tables. Together, the batches have the
    /// items in the [order](super#order) of the query. In a query that iterates over a pool or a linear store, its positions
    /// count as rows, whether they match or not. Then a batch may have no items, and in a linear store `size` is rounded up to
    /// a multiple of 64.
    ///
    /// A batch is an [`Iter`], which can be sent to another thread. The loops of
    /// [`par_for_each_on`](Query::par_for_each_on) do this on an executor.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Number(u64);
    ///
    /// let mut world = World::new();
    /// world.spawn_batch((0..100).map(Number));
    /// std::thread::scope(|scope| {
    ///     for batch in world.query_mut::<&mut Number>().batches(32) {
    ///         scope.spawn(|| batch.for_each(|number| number.0 *= 2));
    ///     }
    /// });
    /// assert_eq!(world.query::<&Number>().iter().map(|number| number.0).sum::<u64>(), 9900);
    /// let lengths: Vec<usize> = world.query::<&Number>().batches(32).map(Iterator::count).collect();
    /// assert_eq!(lengths, [32, 32, 32, 4]);
    /// ```
    #[doc(alias = "iter_batched")]
    #[doc(alias = "BatchedIter")]
    pub fn batches(self, size: usize) -> Batches<'w, 's, D, F> {
        let mut rows = self.into_iter();
        rows.prepare_batches();
        Batches { rows, size: size.max(1) }
    }
}

impl<'w, 's, D: QueryData, F: QueryFilter> Iterator for Batches<'w, 's, D, F> {
    type Item = Iter<'w, 's, D, F>;

    fn next(&mut self) -> Option<Iter<'w, 's, D, F>> {
        self.rows.split_batch(self.size)
    }
}

impl<D: QueryData, F: QueryFilter> FusedIterator for Batches<'_, '_, D, F> {}

impl<D: QueryData, F: QueryFilter> fmt::Debug for Batches<'_, '_, D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Batches of {} rows ({:?})", self.size, self.rows)
    }
}
