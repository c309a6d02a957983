//! Iteration in the order of a comparison.

use super::{Iter, QueryData, QueryFilter};
use crate::alloc::{try_reserve, unwrap_alloc};
use core::cmp::Ordering;
use core::fmt;
use core::iter::FusedIterator;
use phalanx_store::AllocError;

/// An iterator over the items of a query in the order of a comparison.
///
/// It is made by [`Iter::sort_by`], [`Iter::sort_by_key`] and [`Iter::sort`]. `K` is what the items are sorted by.
#[derive(Clone)]
pub struct Sorted<T, K = usize> {
    items: std::vec::IntoIter<(K, T)>,
}

/// The items are collected into a list and sorted there. The world stays as it is; to sort the values of a pool there is
/// [`PoolMut`](crate::PoolMut).
///
/// Items that compare equal stay in the [order of the query](super#order), so the result depends on nothing but the items.
impl<'w, D: QueryData, F: QueryFilter> Iter<'w, '_, D, F> {
    /// Returns an iterator over the items that are left, in the order of a comparison.
    ///
    /// ```
    /// use phalanx::{Component, Entity, World};
    ///
    /// #[derive(Component)]
    /// struct Depth(f32);
    ///
    /// let mut world = World::new();
    /// let [far, near] = [world.spawn(Depth(9.0)), world.spawn(Depth(1.0))];
    /// let query = world.query::<(Entity, &Depth)>();
    /// let front_to_back = query.iter().sort_by(|(_, a), (_, b)| a.0.total_cmp(&b.0));
    /// assert!(front_to_back.map(|(entity, _)| entity).eq([near, far]));
    /// ```
    ///
    /// # Panics
    ///
    /// May panic if `compare` is not a total order, like [`slice::sort_by`].
    #[doc(alias = "iter_sorted")]
    #[doc(alias = "sort_unstable_by")]
    #[track_caller]
    pub fn sort_by<C>(self, compare: C) -> Sorted<D::Item<'w>>
    where
        C: FnMut(&D::Item<'w>, &D::Item<'w>) -> Ordering,
    {
        unwrap_alloc(self.try_sort_by(compare))
    }

    /// Sorts the items, like [`sort_by`](Iter::sort_by), but returns an error if allocation fails.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError`] if allocation fails.
    ///
    /// # Panics
    ///
    /// May panic if `compare` is not a total order, like [`slice::sort_by`].
    pub fn try_sort_by<C>(self, mut compare: C) -> Result<Sorted<D::Item<'w>>, AllocError>
    where
        C: FnMut(&D::Item<'w>, &D::Item<'w>) -> Ordering,
    {
        let mut items = self.try_collect_with(|at, _| at)?;
        // A stable sort would allocate, and could not return an error.
        items.sort_unstable_by(|(at, a), (other, b)| compare(a, b).then(at.cmp(other)));
        Ok(Sorted { items: items.into_iter() })
    }

    /// Returns an iterator over the items that are left, in the order of their keys. `key` is called once for each item.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Name(&'static str);
    /// #[derive(Component)]
    /// struct Rank(u32);
    ///
    /// let mut world = World::new();
    /// world.spawn_batch([(Name("Bob"), Rank(0)), (Name("Ann"), Rank(0)), (Name("Cid"), Rank(0))]);
    /// let mut query = world.query_mut::<(&Name, &mut Rank)>();
    /// let by_name = query.iter_mut().sort_by_key(|(name, _)| name.0);
    /// (1..).zip(by_name).for_each(|(rank, (_, value))| value.0 = rank);
    /// assert!(world.query::<&Rank>().iter().map(|rank| rank.0).eq([2, 1, 3]));
    /// ```
    #[doc(alias = "sort_by_cached_key")]
    #[doc(alias = "iter_sorted")]
    #[track_caller]
    pub fn sort_by_key<K: Ord, G>(self, key: G) -> Sorted<D::Item<'w>, (K, usize)>
    where
        G: FnMut(&D::Item<'w>) -> K,
    {
        unwrap_alloc(self.try_sort_by_key(key))
    }

    /// Sorts the items by their keys, like [`sort_by_key`](Iter::sort_by_key), but returns an error if allocation fails.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError`] if allocation fails.
    pub fn try_sort_by_key<K: Ord, G>(self, mut key: G) -> Result<Sorted<D::Item<'w>, (K, usize)>, AllocError>
    where
        G: FnMut(&D::Item<'w>) -> K,
    {
        let mut items = self.try_collect_with(|at, item| (key(item), at))?;
        items.sort_unstable_by(|(key, _), (other, _)| key.cmp(other));
        Ok(Sorted { items: items.into_iter() })
    }

    /// Returns an iterator over the items that are left, in ascending order.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component, PartialEq, Eq, PartialOrd, Ord, Debug)]
    /// struct Score(u32);
    ///
    /// let mut world = World::new();
    /// world.spawn_batch([Score(3), Score(1), Score(2)]);
    /// assert!(world.query::<&Score>().iter().sort().rev().eq([&Score(3), &Score(2), &Score(1)]));
    /// ```
    #[doc(alias = "iter_sorted")]
    #[doc(alias = "sorted")]
    #[track_caller]
    pub fn sort(self) -> Sorted<D::Item<'w>>
    where
        D::Item<'w>: Ord,
    {
        self.sort_by(Ord::cmp)
    }

    /// Collects the items into a list, each with a key. The keys are made of the position and the item.
    fn try_collect_with<K>(
        self,
        mut key: impl FnMut(usize, &D::Item<'w>) -> K,
    ) -> Result<Vec<(K, D::Item<'w>)>, AllocError> {
        let mut items = Vec::new();
        try_reserve(&mut items, self.size_hint().0)?;
        for (at, item) in self.enumerate() {
            try_reserve(&mut items, 1)?;
            items.push((key(at, &item), item));
        }
        Ok(items)
    }
}

impl<T, K> Iterator for Sorted<T, K> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.items.next().map(|(_, item)| item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}

impl<T, K> DoubleEndedIterator for Sorted<T, K> {
    #[inline]
    fn next_back(&mut self) -> Option<T> {
        self.items.next_back().map(|(_, item)| item)
    }
}

impl<T, K> ExactSizeIterator for Sorted<T, K> {}
impl<T, K> FusedIterator for Sorted<T, K> {}

impl<T, K> fmt::Debug for Sorted<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sorted({} left)", self.len())
    }
}
