//! Sorting dense stores.
//!
//! The comparisons are made first, over an array of positions; then the values are moved, which runs no user code. So a
//! comparison that panics changes nothing, and one that is not an order still gives a permutation.
#![allow(unsafe_code)]

use super::DenseStore;
use crate::error::infallible;
use crate::raw::DenseIndex;
use crate::{AllocError, Key};
use alloc::vec::Vec;
use core::alloc::Layout;
use core::cmp::Ordering;

impl<X: DenseIndex, T> DenseStore<X, T> {
    /// Sorts the values; equal ones keep their order. Keys stay valid. Closes holes first.
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

    /// Sorts the values, like [`sort_by`](DenseStore::sort_by).
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::OutOfMemory`] if an array of positions cannot be allocated. The order is unchanged then.
    pub fn try_sort_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) -> Result<(), AllocError> {
        self.compact();
        let mut order = try_collect(0..self.core.positions())?;
        let values = self.as_slice();
        order.sort_unstable_by(|&a, &b| compare(&values[a as usize], &values[b as usize]).then(a.cmp(&b)));
        self.arrange(&mut order);
        Ok(())
    }

    /// Sorts the values by a sort key, computed once for each; equal ones keep their order. Closes holes first.
    #[track_caller]
    pub fn sort_by_key<O: Ord>(&mut self, key: impl FnMut(&T) -> O) {
        infallible(self.try_sort_by_key(key));
    }

    /// Sorts the values by a sort key, like [`sort_by_key`](DenseStore::sort_by_key).
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::OutOfMemory`] if an array of sort keys and positions cannot be allocated. The order is unchanged
    /// then.
    pub fn try_sort_by_key<O: Ord>(&mut self, mut key: impl FnMut(&T) -> O) -> Result<(), AllocError> {
        self.compact();
        let keys = try_collect(self.as_slice().iter().map(&mut key).zip(0..))?;
        self.sort_by_pairs(keys)
    }

    /// Sorts the values by the index of their keys. Closes holes first.
    ///
    /// Several containers of the same keys are then iterated over in the same direction.
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

    /// Sorts the values by the index of their keys, like [`sort_by_index`](DenseStore::sort_by_index).
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::OutOfMemory`] if an array of indices and positions cannot be allocated. The order is unchanged
    /// then.
    pub fn try_sort_by_index(&mut self) -> Result<(), AllocError> {
        self.compact();
        let keys = try_collect(self.keys().map(Key::index).zip(0..))?;
        self.sort_by_pairs(keys)
    }

    /// Sorts the values into the order that another store has for the same keys. Closes holes first.
    ///
    /// Values whose keys are not in the other store are sorted to the end and keep their order.
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
    #[doc(alias = "sort_as")]
    #[track_caller]
    pub fn sort_like<Y: DenseIndex<Key = X::Key>, U>(&mut self, other: &DenseStore<Y, U>) {
        infallible(self.try_sort_like(other));
    }

    /// Sorts the values into the order of another store, like [`sort_like`](DenseStore::sort_like).
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::OutOfMemory`] if an array of positions cannot be allocated. The order is unchanged then.
    pub fn try_sort_like<Y: DenseIndex<Key = X::Key>, U>(
        &mut self,
        other: &DenseStore<Y, U>,
    ) -> Result<(), AllocError> {
        self.compact();
        let keys = try_collect(self.keys().map(|key| other.position(key).unwrap_or(usize::MAX)).zip(0..))?;
        self.sort_by_pairs(keys)
    }

    /// Sorts values that are nearly sorted, by exchanging neighbours. Needs no memory. Closes holes first.
    ///
    /// It is linear if few values are out of place, and quadratic if many are.
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

    /// Exchanges the positions of two values. Returns `false` if one of the keys names no value. Closes holes first.
    pub fn swap_keys(&mut self, a: X::Key, b: X::Key) -> bool {
        self.compact();
        let (Some(a), Some(b)) = (self.core.index.position(a), self.core.index.position(b)) else { return false };
        // SAFETY: both positions are in use, and there are no holes.
        unsafe { self.core.swap(a, b) };
        true
    }

    /// Sorts by sort keys that are paired with all present positions.
    fn sort_by_pairs<O: Ord>(&mut self, mut keys: Vec<(O, u32)>) -> Result<(), AllocError> {
        keys.sort_unstable();
        let mut order = try_collect(keys.iter().map(|(_, at)| *at))?;
        // The sort keys are user's values. They are dropped, which may panic, after the order is final.
        self.arrange(&mut order);
        Ok(())
    }

    fn arrange(&mut self, order: &mut [u32]) {
        self.core.permute(order);
    }
}

/// Collects an iterator of this crate, or returns an error if allocation fails.
fn try_collect<O>(items: impl Iterator<Item = O>) -> Result<Vec<O>, AllocError> {
    let mut all = Vec::new();
    let (count, _) = items.size_hint();
    let refused = |_| Layout::array::<O>(count).map_or(AllocError::CapacityOverflow, AllocError::of);
    all.try_reserve_exact(count).map_err(refused)?;
    // The capacity suffices: the iterators here know their length.
    all.extend(items.take(count));
    Ok(all)
}
