//! [`LinearStore`]: values at the index of their keys.
#![allow(unsafe_code)]

use super::slotted::{Vacancy, sealed};
use super::sparse_set::admits;
use super::traits::{KeyedStore, Rejected, Rejection, StaleKey};
use super::{Entry, SlottedStore};
use crate::error::infallible;
use crate::generation::{RETIRED, is_dead};
use crate::{AllocError, Key};
use core::marker::PhantomData;
use core::mem;

/// Values at the index of their keys, for what nearly every entity (or handle of another store) has.
///
/// The container that finds, adds and removes fastest: there is no index to go through. The price is memory for every
/// index up to the highest, used or not: the value's size, 4 bytes and a bit each. For rare values see
/// [`SparseSet`](crate::SparseSet).
///
/// A value belongs to a key of one generation. A key of an older one finds nothing; a later one takes the place over.
///
/// ```
/// use phalanx_store::{EntityPool, LinearStore};
///
/// let mut entities = EntityPool::new();
/// let (a, b) = (entities.alloc(), entities.alloc());
/// let mut health = LinearStore::new();
/// health.insert(b, 100);
/// assert_eq!(health.get(a), None);
/// assert_eq!(health.remove(b), Some(100));
/// assert_eq!(health.remove(b), None);
/// assert_eq!(health.len(), 0);
/// ```
pub type LinearStore<K, T> = SlottedStore<Keyed<K>, T>;

/// The vacancy of a [`LinearStore`]: a vacant slot waits for its key.
#[derive(Debug)]
pub struct Keyed<K>(PhantomData<fn() -> K>);

impl<K: Key> Vacancy for Keyed<K> {
    type Key = K;
}

impl<K: Key> sealed::Sealed for Keyed<K> {
    const NEW: Self = Keyed(PhantomData);
    const UNUSED: u32 = RETIRED;

    #[inline(always)]
    unsafe fn vacate(&mut self, _: u32, word: *mut u32, _: u32, _: u64) {
        // SAFETY: the slot's own word, by the caller's promise.
        unsafe { word.write(RETIRED) };
    }

    unsafe fn note(&mut self, _: u32, _: u32) {}

    fn try_reserve(&mut self, _: u32) -> Result<(), AllocError> {
        Ok(())
    }

    unsafe fn cover(&mut self, _: u32) {}

    fn shrink(&mut self) {}

    fn bytes(&self) -> usize {
        0
    }

    fn validate(&self, _: &[u64], _: &[u32]) -> Result<(), &'static str> {
        Ok(())
    }
}

impl<K: Key, T> LinearStore<K, T> {
    /// An empty store, which allocates nothing.
    pub const fn new() -> Self {
        SlottedStore::empty()
    }

    /// An empty store with room for the values of the indices below `indices`.
    #[track_caller]
    pub fn with_capacity(indices: usize) -> Self {
        let mut store = Self::new();
        store.reserve(indices);
        store
    }

    /// Gives a value to a key, and returns the one that was there, if any: the key's own, or that of an older
    /// generation of its index, which ends with this.
    ///
    /// # Panics
    ///
    /// If a later generation of the key's index has a value: the key is stale. [`try_insert`](LinearStore::try_insert)
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

    /// Whether the key's slot, which is made to exist, is occupied by a value that the key may displace. The value itself
    /// is left out, so that a large one is not carried through results.
    #[inline(always)]
    fn try_place(&mut self, key: K) -> Result<bool, Rejection> {
        let slot = key.index();
        if slot >= self.slots {
            self.try_grow(slot + 1)?;
        }
        // SAFETY: the slot exists, so its word is initialised.
        let word = unsafe { *self.cells.word(slot) };
        if is_dead(word) {
            return Ok(false);
        }
        admits(key, word)?;
        Ok(true)
    }

    /// Gives the key its value, and returns the one that it displaces.
    ///
    /// # Safety
    ///
    /// [`try_place`](LinearStore::try_place) has said for this key whether its slot is occupied, and nothing has happened
    /// since.
    #[inline(always)]
    unsafe fn fill(&mut self, occupied: bool, key: K, value: T) -> Option<T> {
        let slot = key.index();
        // SAFETY: the slot exists. If it is occupied, its word may be changed to another generation, and its value is
        // initialised; otherwise it is vacant.
        unsafe {
            if occupied {
                self.cells.word(slot).write(key.generation());
                return Some(mem::replace(&mut *self.cells.value(slot), value));
            }
            self.cells.value(slot).write(value);
            self.occupy(slot, 1 << (slot % 64), key.generation());
        }
        None
    }

    /// The entry of a key, occupied or vacant.
    ///
    /// # Errors
    ///
    /// If the key is stale.
    pub fn entry(&mut self, key: K) -> Result<Entry<'_, Self>, StaleKey> {
        Entry::find(self, key)
    }

    /// Makes room for the values of the indices below `indices`.
    #[track_caller]
    pub fn reserve(&mut self, indices: usize) {
        infallible(self.try_reserve(indices));
    }

    /// Makes room for the values of the indices below `indices`.
    ///
    /// # Errors
    ///
    /// If memory cannot be had; nothing changed.
    pub fn try_reserve(&mut self, indices: usize) -> Result<(), AllocError> {
        self.try_grow(u32::try_from(indices).map_err(|_| AllocError::CapacityOverflow)?)
    }
}

impl<K: Key, T> KeyedStore for LinearStore<K, T> {
    fn insert(&mut self, key: K, value: T) -> Option<T> {
        self.insert(key, value)
    }
    fn try_insert(&mut self, key: K, value: T) -> Result<Option<T>, Rejected<T>> {
        self.try_insert(key, value)
    }
    fn admits(&self, key: K) -> Result<(), StaleKey> {
        if key.index() >= self.slots {
            return Ok(());
        }
        // SAFETY: the slot exists, so its word is initialised.
        let word = unsafe { *self.cells.word(key.index()) };
        if is_dead(word) { Ok(()) } else { admits(key, word) }
    }
}

impl<K: Key, T> Extend<(K, T)> for LinearStore<K, T> {
    /// # Panics
    ///
    /// If a key is stale, as [`insert`](LinearStore::insert).
    #[track_caller]
    fn extend<I: IntoIterator<Item = (K, T)>>(&mut self, pairs: I) {
        // Not `insert`: in a closure its panic would name this line instead of the caller's.
        if let Err(rejected) = pairs.into_iter().try_for_each(|(key, value)| self.try_insert(key, value).map(drop)) {
            rejected.reason.raise();
        }
    }
}

impl<K: Key, T> FromIterator<(K, T)> for LinearStore<K, T> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = (K, T)>>(pairs: I) -> Self {
        let mut store = Self::new();
        store.extend(pairs);
        store
    }
}
