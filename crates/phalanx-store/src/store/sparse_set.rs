//! [`SparseSet`]: dense values for keys that were made elsewhere.
#![allow(unsafe_code)]

use super::traits::{KeyedStore, Rejected, Rejection, StaleKey, believed};
use super::{DenseStore, Entry};
use crate::error::infallible;
use crate::index::Sparse;
use crate::{AllocError, Key};
use core::mem;

/// Values side by side, for some of the entities (or of another store's handles).
///
/// The container for what is walked over, comes and goes, or is rare. Iterating is iterating a slice; finding the value
/// of a key costs a step through the index: a flat window over low indices, pages beyond it, so that a key far away
/// costs pages and not the range. Beyond the value, an element takes 16 bytes when the keys are dense.
///
/// A value belongs to a key of one generation. A key of an older one finds nothing; a later one takes the place over.
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
/// ```
pub type SparseSet<K, T> = DenseStore<Sparse<K>, T>;

impl<K: Key, T> SparseSet<K, T> {
    /// An empty set, which allocates nothing.
    pub const fn new() -> Self {
        DenseStore::over(Sparse::new())
    }

    /// An empty set with room for `capacity` values. Room in the index depends on the keys and is made as they come.
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> Self {
        let mut store = Self::new();
        store.reserve(capacity);
        store
    }

    /// Gives a value to a key, and returns the one that was there, if any: the key's own, or that of an older
    /// generation of its index, which ends with this.
    ///
    /// # Panics
    ///
    /// If a later generation of the key's index has a value: the key is stale. [`try_insert`](SparseSet::try_insert)
    /// returns an error instead.
    #[inline]
    #[track_caller]
    pub fn insert(&mut self, key: K, value: T) -> Option<T> {
        match self.try_place(key) {
            // SAFETY: this is the key's place, and nothing has happened since.
            Ok(place) => unsafe { self.fill(place, key, value) },
            Err(reason) => reason.raise(),
        }
    }

    /// Gives a value to a key, and returns the one that was there, or gives the value back.
    ///
    /// # Errors
    ///
    /// If the key is stale, or memory cannot be had; nothing changed.
    #[inline]
    pub fn try_insert(&mut self, key: K, value: T) -> Result<Option<T>, Rejected<T>> {
        match self.try_place(key) {
            // SAFETY: this is the key's place, and nothing has happened since.
            Ok(place) => Ok(unsafe { self.fill(place, key, value) }),
            Err(reason) => Err(Rejected { value, reason }),
        }
    }

    /// The position for a key's value, and whether the value of one that it displaces is there; if not, its row must be
    /// written next. The value itself is left out, so that a large one is not carried through results.
    #[inline(always)]
    fn try_place(&mut self, key: K) -> Result<(u32, bool), Rejection> {
        let entry = self.core.index.entry(key.index());
        if entry.is_vacant() {
            // SAFETY: the entry is vacant; whoever calls this writes the row next.
            return Ok((unsafe { self.core.try_admit(key)? }, false));
        }
        admits(key, entry.word)?;
        Ok((entry.position, true))
    }

    /// Gives the key its value, and returns the one that it displaces.
    ///
    /// # Safety
    ///
    /// The place was returned by [`try_place`](SparseSet::try_place) for this key, and nothing has happened since.
    #[inline(always)]
    unsafe fn fill(&mut self, (position, occupied): (u32, bool), key: K, value: T) -> Option<T> {
        let core = &mut self.core;
        // SAFETY: the position is in use. If it is occupied, it is no hole and its key has this index; otherwise nothing
        // lives there yet.
        unsafe {
            if !occupied {
                core.rows.at(position).write(value);
                return None;
            }
            if core.index.entry(key.index()).word != key.generation() {
                core.take_over(position, key);
            }
            Some(mem::replace(&mut *core.rows.at(position), value))
        }
    }

    /// The entry of a key, occupied or vacant.
    ///
    /// ```
    /// use phalanx_store::{EntityPool, SparseSet};
    ///
    /// let mut entities = EntityPool::new();
    /// let e = entities.alloc();
    /// let mut hits = SparseSet::new();
    /// *hits.entry(e)?.or_insert(0) += 1;
    /// *hits.entry(e)?.or_insert(0) += 1;
    /// assert_eq!(hits[e], 2);
    /// # Ok::<(), phalanx_store::StaleKey>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the key is stale.
    pub fn entry(&mut self, key: K) -> Result<Entry<'_, Self>, StaleKey> {
        Entry::find(self, key)
    }

    /// Makes room for `additional` more values.
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        infallible(self.try_reserve(additional));
    }

    /// Makes room for `additional` more values. Room in the index depends on the keys and is made as they come.
    ///
    /// # Errors
    ///
    /// If memory cannot be had; nothing changed.
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), AllocError> {
        self.core.try_reserve(Self::checked_additional(additional)?)
    }

    /// Gives back all room that is not needed, also in the index.
    pub fn shrink_to_fit(&mut self) {
        self.compact();
        // What cannot be had smaller stays as it was, which is allowed.
        if let Ok(index) = self.core.index.try_compacted() {
            self.core.index = index;
        }
        // SAFETY: this index uses no marks of its own.
        let _ = unsafe { self.core.try_shrink(self.core.len) };
    }

    /// A copy, as [`Clone`] makes it.
    ///
    /// # Errors
    ///
    /// If memory for the container cannot be had; what the values themselves allocate is their business.
    pub fn try_clone(&self) -> Result<Self, AllocError>
    where
        T: Clone,
    {
        self.try_clone_over(self.core.index.try_compacted()?, self.core.positions())
    }

    /// The keys as a slice, in the order of the values.
    ///
    /// # Panics
    ///
    /// If there are holes, as [`as_slice`](DenseStore::as_slice).
    #[inline]
    #[track_caller]
    pub fn key_slice(&self) -> &[K] {
        assert!(self.core.holes() == 0, "no slice of all keys while there are holes: compact first");
        let marks = self.core.marks();
        // SAFETY: a mark is a key in another type, with the same layout; without holes it is one that may be looked up.
        unsafe { core::slice::from_raw_parts(marks.as_ptr().cast::<K>(), marks.len()) }
    }
}

/// Whether `key` may take the place of a value of generation `present`.
#[inline]
pub(crate) fn admits<K: Key>(key: K, present: u32) -> Result<(), StaleKey> {
    match key.generation() >= present {
        true => Ok(()),
        false => Err(StaleKey { index: key.index(), generation: key.generation(), present }),
    }
}

impl<K: Key, T> KeyedStore for SparseSet<K, T> {
    fn insert(&mut self, key: K, value: T) -> Option<T> {
        self.insert(key, value)
    }
    fn try_insert(&mut self, key: K, value: T) -> Result<Option<T>, Rejected<T>> {
        self.try_insert(key, value)
    }
    fn admits(&self, key: K) -> Result<(), StaleKey> {
        let entry = self.core.index.entry(key.index());
        if entry.is_vacant() { Ok(()) } else { admits(key, entry.word) }
    }
}

impl<K: Key, T> Default for SparseSet<K, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Key, T: Clone> Clone for SparseSet<K, T> {
    /// The same values under the same keys, in the same order.
    #[track_caller]
    fn clone(&self) -> Self {
        infallible(self.try_clone())
    }
}

impl<K: Key, T> Extend<(K, T)> for SparseSet<K, T> {
    /// # Panics
    ///
    /// If a key is stale, as [`insert`](SparseSet::insert).
    #[track_caller]
    fn extend<I: IntoIterator<Item = (K, T)>>(&mut self, pairs: I) {
        let mut pairs = pairs.into_iter();
        let _ = self.try_reserve(believed::<T>(pairs.size_hint()));
        // Not `insert`: in a closure its panic would name this line instead of the caller's.
        if let Err(rejected) = pairs.try_for_each(|(key, value)| self.try_insert(key, value).map(drop)) {
            rejected.reason.raise();
        }
    }
}

impl<K: Key, T> FromIterator<(K, T)> for SparseSet<K, T> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = (K, T)>>(pairs: I) -> Self {
        let mut store = Self::new();
        store.extend(pairs);
        store
    }
}
