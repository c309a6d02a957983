//! Sorting dense stores.
//!
//! The comparisons are made first, over an array of positions; then the values are moved, which runs no user code. So a
//! comparison that panics changes nothing, and one that is no order still gives a permutation.
#![allow(unsafe_code)]

use super::DenseStore;
use crate::error::infallible;
use crate::raw::DenseIndex;
use crate::{AllocError, Key};
use alloc::vec::Vec;
use core::alloc::Layout;
use core::cmp::Ordering;

impl<X: DenseIndex, T> DenseStore<X, T> {
    /// Sorts the values; equal ones keep their order. Keys lead to their values as before. Closes holes first.
    ///
    /// ```
    /// use phalanx_store::PackedStore;
    ///
    /// let mut store = PackedStore::new();
    /// let [c, a, b] = [3, 1, 2].map(|n| store.insert(n));
    /// store.sort_by(|x, y| x.cmp(y));
    /// assert_eq!(store.as_slice(), [1, 2, 3]);
    /// assert_eq!((store[a], store[b], store[c]), (1, 2, 3));
    /// ```
    #[track_caller]
    pub fn sort_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering) {
        infallible(self.try_sort_by(compare));
    }

    /// As [`sort_by`](DenseStore::sort_by).
    ///
    /// # Errors
    ///
    /// If there is no memory for an array of positions; the order is as it was.
    pub fn try_sort_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) -> Result<(), AllocError> {
        self.compact();
        let mut order = try_collect(0..self.core.positions())?;
        let values = self.as_slice();
        order.sort_unstable_by(|&a, &b| compare(&values[a as usize], &values[b as usize]).then(a.cmp(&b)));
        self.arrange(&mut order);
        Ok(())
    }

    /// Sorts by a key of each value, which is computed once; equal ones keep their order. Closes holes first.
    #[track_caller]
    pub fn sort_by_key<O: Ord>(&mut self, key: impl FnMut(&T) -> O) {
        infallible(self.try_sort_by_key(key));
    }

    /// As [`sort_by_key`](DenseStore::sort_by_key).
    ///
    /// # Errors
    ///
    /// If there is no memory for an array of keys and positions; the order is as it was.
    pub fn try_sort_by_key<O: Ord>(&mut self, mut key: impl FnMut(&T) -> O) -> Result<(), AllocError> {
        self.compact();
        let keys = try_collect(self.as_slice().iter().map(&mut key).zip(0..))?;
        self.sort_by_pairs(keys)
    }

    /// Sorts by the index of the keys, so that walks over several containers of the same keys all run from left to
    /// right. Closes holes first.
    ///
    /// ```
    /// use phalanx_store::{EntityPool, SparseSet};
    ///
    /// let mut entities = EntityPool::new();
    /// let [a, b] = [(); 2].map(|()| entities.alloc());
    /// let mut names = SparseSet::from_iter([(b, "b"), (a, "a")]);
    /// names.sort_by_index();
    /// assert_eq!(names.as_slice(), ["a", "b"]);
    /// ```
    #[track_caller]
    pub fn sort_by_index(&mut self) {
        infallible(self.try_sort_by_index());
    }

    /// As [`sort_by_index`](DenseStore::sort_by_index).
    ///
    /// # Errors
    ///
    /// If there is no memory for an array of keys and positions; the order is as it was.
    pub fn try_sort_by_index(&mut self) -> Result<(), AllocError> {
        self.compact();
        let keys = try_collect(self.keys().map(Key::index).zip(0..))?;
        self.sort_by_pairs(keys)
    }

    /// Puts the values into the order that another store has for the same keys; those that it does not have come last
    /// and keep their order. Closes holes first.
    ///
    /// ```
    /// use phalanx_store::{EntityPool, SparseSet};
    ///
    /// let mut entities = EntityPool::new();
    /// let [a, b, c] = [(); 3].map(|()| entities.alloc());
    /// let depth = SparseSet::from_iter([(c, 0.1), (a, 0.2)]);
    /// let mut names = SparseSet::from_iter([(a, "a"), (b, "b"), (c, "c")]);
    /// names.sort_like(&depth);
    /// assert_eq!(names.as_slice(), ["c", "a", "b"]);
    /// ```
    #[track_caller]
    pub fn sort_like<Y: DenseIndex<Key = X::Key>, U>(&mut self, other: &DenseStore<Y, U>) {
        infallible(self.try_sort_like(other));
    }

    /// As [`sort_like`](DenseStore::sort_like).
    ///
    /// # Errors
    ///
    /// If there is no memory for an array of positions; the order is as it was.
    pub fn try_sort_like<Y: DenseIndex<Key = X::Key>, U>(
        &mut self,
        other: &DenseStore<Y, U>,
    ) -> Result<(), AllocError> {
        self.compact();
        let keys = try_collect(self.keys().map(|key| other.position(key).unwrap_or(usize::MAX)).zip(0..))?;
        self.sort_by_pairs(keys)
    }

    /// Sorts values that are nearly sorted already, one exchange of neighbours at a time: linear where few are out of
    /// place, quadratic where many are. Needs no memory. Closes holes first.
    ///
    /// If `compare` panics, the values are in some order.
    pub fn insertion_sort_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        self.compact();
        for end in 1..self.core.positions() {
            let mut at = end;
            while at > 0 {
                let values = self.as_slice();
                if compare(&values[at as usize - 1], &values[at as usize]) != Ordering::Greater {
                    break;
                }
                // SAFETY: both positions are in use, and there are no holes.
                unsafe { self.core.swap(at - 1, at) };
                at -= 1;
            }
        }
    }

    /// Exchanges the places of two values. Whether both are there.
    pub fn swap_places(&mut self, a: X::Key, b: X::Key) -> bool {
        self.compact();
        let (Some(a), Some(b)) = (self.core.index.position(a), self.core.index.position(b)) else { return false };
        // SAFETY: both positions are in use, and there are no holes.
        unsafe { self.core.swap(a, b) };
        true
    }

    /// Sorts by keys that stand beside the present positions, all of them.
    fn sort_by_pairs<O: Ord>(&mut self, mut keys: Vec<(O, u32)>) -> Result<(), AllocError> {
        keys.sort_unstable();
        let mut order = try_collect(keys.iter().map(|(_, at)| *at))?;
        // The keys are user's values: they are dropped, which may panic, when the order stands.
        self.arrange(&mut order);
        Ok(())
    }

    fn arrange(&mut self, order: &mut [u32]) {
        // SAFETY: the order was made of all positions, once each, and only rearranged; there are no holes.
        unsafe { self.core.permute(order) };
    }
}

/// A vector of what an iterator of this crate yields, or an error if there is no memory for it.
fn try_collect<O>(items: impl Iterator<Item = O>) -> Result<Vec<O>, AllocError> {
    let mut all = Vec::new();
    let (count, _) = items.size_hint();
    let refused = |_| Layout::array::<O>(count).map_or(AllocError::CapacityOverflow, AllocError::of);
    all.try_reserve_exact(count).map_err(refused)?;
    // There is room for all of them: the iterators here know their length.
    all.extend(items.take(count));
    Ok(all)
}
