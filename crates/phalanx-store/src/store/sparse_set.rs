//! [`SparseSet`]: dense values for keys that were made elsewhere.
#![allow(unsafe_code)]

use super::secondary::{admits, secondary_store};
use super::traits::believed;
use super::{DenseStore, Rejection, TryInsertError};
use crate::error::infallible;
use crate::index::Sparse;
use crate::{AllocError, Key};
use core::mem;

/// A container that keeps values contiguous, for some of the entities (or of another store's handles).
///
/// It is for values that are iterated over, come and go, or are rare. Iterating is iterating a slice. A look-up by key costs
/// a step through the index: a flat window over low indices, with pages beyond it. So a key far away costs pages and not
/// the whole range. An element takes 16 bytes beside the value if the keys are dense.
///
/// A value belongs to a key of one generation. A key of an older one finds nothing; a later one may replace it.
///
/// ```
/// use phalanx_store::{EntityPool, SparseSet};
///
/// let mut entities = EntityPool::new();
/// let (hero, troll) = (entities.alloc(), entities.alloc());
/// let mut burning = SparseSet::new();
/// assert_eq!(burning.insert(troll, 3.5), None);
/// assert_eq!(burning.insert(troll, 4.0), Some(3.5));
/// assert_eq!(burning.get(hero), None);
/// assert_eq!(burning.as_slice(), [4.0]);
/// *burning.entry(hero)?.or_insert(0.0) += 1.0;
/// assert_eq!(burning[hero], 1.0);
/// # Ok::<(), phalanx_store::StaleKey>(())
/// ```
#[doc(alias("SecondaryMap", "SparseSecondaryMap", "storage", "sparse_set"))]
pub type SparseSet<K, T> = DenseStore<Sparse<K>, T>;

impl<K: Key, T> SparseSet<K, T> {
    /// Creates an empty set without allocating.
    pub const fn new() -> Self {
        DenseStore::over(Sparse::new())
    }

    /// Creates an empty set with capacity for `capacity` values. The index grows as keys are inserted.
    ///
    /// # Panics
    ///
    /// Panics if the capacity overflows; aborts if allocation fails.
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> Self {
        let mut store = Self::new();
        store.reserve(capacity);
        store
    }

    /// Returns the generation whose value is present for an index.
    fn present(&self, index: u32) -> Option<u32> {
        let entry = self.core.index.entry(index);
        (!entry.is_vacant()).then_some(entry.word)
    }

    /// Reserves capacity for a size hint, as far as it is believed.
    fn reserve_for(&mut self, hint: (usize, Option<usize>)) {
        let _ = self.try_reserve(believed::<T>(hint));
    }

    /// Returns the position of the value that `key` replaces. If there is none, reserves capacity for a row.
    #[inline(always)]
    fn try_place(&mut self, key: K) -> Result<Option<u32>, Rejection> {
        let entry = self.core.index.entry(key.index());
        if entry.is_vacant() {
            self.core.try_ready(key.index())?;
            return Ok(None);
        }
        admits(key, entry.word)?;
        Ok(Some(entry.position))
    }

    /// Stores the value of a key, and returns the value that it replaces.
    ///
    /// # Safety
    ///
    /// The place was returned by [`try_place`](SparseSet::try_place) for this key, and nothing has happened since.
    #[inline(always)]
    unsafe fn fill(&mut self, place: Option<u32>, key: K, value: T) -> Option<T> {
        let core = &mut self.core;
        // SAFETY: without a place the index has no occupant and was made ready, so the new row is within the capacity and
        // is written at once. Otherwise the position is in use and not a hole, and its key has this index.
        unsafe {
            let Some(position) = place else {
                let position = core.admit(key);
                core.rows.at(position).write(value);
                return None;
            };
            if core.index.entry(key.index()).word != key.generation() {
                core.replace_key(position, key);
            }
            Some(mem::replace(&mut *core.rows.at(position), value))
        }
    }

    /// Reserves capacity for `additional` more values. The index grows as keys are inserted.
    ///
    /// # Panics
    ///
    /// Panics if the capacity overflows; aborts if allocation fails.
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        infallible(self.try_reserve(additional));
    }

    /// Reserves capacity for `additional` more values. The index grows as keys are inserted.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::CapacityOverflow`] if there are not as many indices, or [`AllocError::OutOfMemory`] if
    /// allocation fails. No value changes.
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), AllocError> {
        self.core.try_reserve(u32::try_from(additional).map_err(|_| AllocError::CapacityOverflow)?)
    }

    /// Shrinks the capacity to what is in use, in the index too. Closes holes first.
    pub fn shrink_to_fit(&mut self) {
        self.compact();
        self.core.shrink_to_fit();
    }

    /// Clones the set.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if memory for the container cannot be allocated. Allocations of the values themselves are not
    /// covered.
    pub fn try_clone(&self) -> Result<Self, AllocError>
    where
        T: Clone,
    {
        self.try_clone_over(self.core.index.try_compacted(self.core.live())?, self.core.positions(), |_, _| {})
    }

    /// Makes this set a clone of another, in the memory that it has for keys and values. All values are dropped first.
    ///
    /// The index is rebuilt. If a clone or a destructor panics, the set is empty.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if memory for the container cannot be allocated. The values are unchanged then. Allocations
    /// of the values themselves are not covered.
    pub fn try_clone_from(&mut self, source: &Self) -> Result<(), AllocError>
    where
        T: Clone,
    {
        let positions = source.core.positions();
        let index = source.core.index.try_compacted(source.core.live())?;
        self.core.keys.try_grow(positions)?;
        self.core.rows.try_grow(positions)?;
        self.clear();
        self.fill_from(source, positions, |old, _| *old = index);
        Ok(())
    }

    /// Returns the key that has a value, by its index.
    ///
    /// ```
    /// use phalanx_store::{EntityPool, SparseSet};
    ///
    /// let mut entities = EntityPool::new();
    /// let [a, b] = [(); 2].map(|()| entities.alloc());
    /// let set = SparseSet::from([(a, 1)]);
    /// assert_eq!((set.key_of_index(a.index()), set.key_of_index(b.index())), (Some(a), None));
    /// ```
    #[doc(alias("contains_slot", "get_by_slot", "remove_by_slot"))]
    pub fn key_of_index(&self, index: u32) -> Option<K> {
        self.core.index.occupant(index)
    }

    /// Returns the keys as a slice, in the order of the values.
    ///
    /// # Panics
    ///
    /// Panics if there are holes, like [`as_slice`](DenseStore::as_slice).
    #[inline]
    #[track_caller]
    pub fn key_slice(&self) -> &[K] {
        match self.core.keys() {
            Some(keys) => keys,
            None => panic!("no slice of all keys while there are holes: compact first"),
        }
    }
}

secondary_store!(SparseSet);

impl<K: Key, T> Default for SparseSet<K, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Key, T: Clone> Clone for SparseSet<K, T> {
    /// Clones the set: the same values under the same keys, in the same order.
    #[track_caller]
    fn clone(&self) -> Self {
        infallible(self.try_clone())
    }

    /// Clones another set in the memory that this one has, like [`try_clone_from`](SparseSet::try_clone_from).
    #[track_caller]
    fn clone_from(&mut self, source: &Self) {
        infallible(self.try_clone_from(source));
    }
}
