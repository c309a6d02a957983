//! Entries: the result of looking up a key, for in-place changes. Written once, over the traits.

use super::{SecondaryStore, StaleKey, Store, TryInsertError};
use core::fmt;

/// The entry of a key in a container, occupied or vacant.
pub enum Entry<'a, S: SecondaryStore> {
    /// The key has a value.
    Occupied(OccupiedEntry<'a, S>),
    /// The key has no value.
    Vacant(VacantEntry<'a, S>),
}

/// The entry of a key that has a value.
pub struct OccupiedEntry<'a, S: Store> {
    store: &'a mut S,
    key: S::Key,
}

/// The entry of a key that has no value.
pub struct VacantEntry<'a, S: SecondaryStore> {
    store: &'a mut S,
    key: S::Key,
}

impl<'a, S: SecondaryStore> Entry<'a, S> {
    pub(crate) fn find(store: &'a mut S, key: S::Key) -> Result<Self, StaleKey> {
        if store.contains(key) {
            return Ok(Entry::Occupied(OccupiedEntry { store, key }));
        }
        store.admits(key)?;
        Ok(Entry::Vacant(VacantEntry { store, key }))
    }

    /// Returns the key that was looked up.
    pub fn key(&self) -> S::Key {
        match self {
            Entry::Occupied(entry) => entry.key,
            Entry::Vacant(entry) => entry.key,
        }
    }

    /// Inserts `default` if the key has no value. Returns the value.
    ///
    /// # Panics
    ///
    /// Aborts if allocation fails.
    #[track_caller]
    pub fn or_insert(self, default: S::Value) -> &'a mut S::Value {
        match self {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(default),
        }
    }

    /// Inserts the result of `make` if the key has no value. Returns the value. If `make` panics, nothing changes.
    ///
    /// # Panics
    ///
    /// Aborts if allocation fails.
    #[track_caller]
    pub fn or_insert_with(self, make: impl FnOnce() -> S::Value) -> &'a mut S::Value {
        match self {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(make()),
        }
    }

    /// Inserts the result of `make` for the key if it has no value. Returns the value. If `make` panics, nothing changes.
    ///
    /// ```
    /// use phalanx_store::{EntityPool, SparseSet};
    ///
    /// let mut entities = EntityPool::new();
    /// let [_, b] = [(); 2].map(|()| entities.alloc());
    /// let mut labels = SparseSet::new();
    /// assert_eq!(labels.entry(b)?.or_insert_with_key(|key| format!("number {}", key.index())), "number 1");
    /// # Ok::<(), phalanx_store::StaleKey>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Aborts if allocation fails.
    #[track_caller]
    pub fn or_insert_with_key(self, make: impl FnOnce(S::Key) -> S::Value) -> &'a mut S::Value {
        let key = self.key();
        self.or_insert_with(|| make(key))
    }

    /// Inserts the default value if the key has no value. Returns the value.
    ///
    /// # Panics
    ///
    /// Aborts if allocation fails.
    #[track_caller]
    pub fn or_default(self) -> &'a mut S::Value
    where
        S::Value: Default,
    {
        self.or_insert_with(Default::default)
    }

    /// Calls `change` with the value, if the key has one.
    #[must_use]
    pub fn and_modify(mut self, change: impl FnOnce(&mut S::Value)) -> Self {
        if let Entry::Occupied(entry) = &mut self {
            change(entry.get_mut());
        }
        self
    }
}

/// An occupied entry was found, and its store has been borrowed since.
const FOUND: &str = "an occupied entry has a value";

impl<'a, S: Store> OccupiedEntry<'a, S> {
    pub(crate) fn find(store: &'a mut S, key: S::Key) -> Option<Self> {
        store.contains(key).then_some(OccupiedEntry { store, key })
    }

    /// Returns the key.
    pub fn key(&self) -> S::Key {
        self.key
    }

    /// Returns a reference to the value.
    #[allow(clippy::missing_panics_doc)]
    pub fn get(&self) -> &S::Value {
        self.store.get(self.key).expect(FOUND)
    }

    /// Returns a mutable reference to the value.
    #[allow(clippy::missing_panics_doc)]
    pub fn get_mut(&mut self) -> &mut S::Value {
        self.store.get_mut(self.key).expect(FOUND)
    }

    /// Returns a mutable reference to the value, for as long as the container is borrowed.
    #[allow(clippy::missing_panics_doc)]
    pub fn into_mut(self) -> &'a mut S::Value {
        self.store.get_mut(self.key).expect(FOUND)
    }

    /// Replaces the value and returns the old one.
    pub fn insert(&mut self, value: S::Value) -> S::Value {
        core::mem::replace(self.get_mut(), value)
    }

    /// Removes and returns the value.
    #[allow(clippy::missing_panics_doc)]
    pub fn remove(self) -> S::Value {
        self.store.remove(self.key).expect(FOUND)
    }

    /// Removes and returns the key and the value.
    ///
    /// ```
    /// use phalanx_store::{Entry, SlotStore};
    ///
    /// let mut store = SlotStore::from(["a"]);
    /// let key = store.keys().next().unwrap();
    /// let Some(entry) = store.entry(key) else { unreachable!() };
    /// assert_eq!(entry.remove_entry(), (key, "a"));
    /// ```
    pub fn remove_entry(self) -> (S::Key, S::Value) {
        (self.key, self.remove())
    }
}

impl<'a, S: SecondaryStore> VacantEntry<'a, S> {
    /// Returns the key.
    pub fn key(&self) -> S::Key {
        self.key
    }

    /// Inserts a value and returns a reference to it. A value of an older generation of the key's index is dropped.
    #[allow(clippy::missing_panics_doc)]
    #[track_caller]
    pub fn insert(self, value: S::Value) -> &'a mut S::Value {
        self.store.insert(self.key, value);
        self.store.get_mut(self.key).expect(FOUND)
    }

    /// Inserts a value and returns a reference to it. A value of an older generation of the key's index is dropped.
    ///
    /// # Errors
    ///
    /// Returns the value with [`Rejection::Alloc`](crate::Rejection::Alloc) if allocation fails; the store is unchanged then.
    #[allow(clippy::missing_panics_doc)]
    pub fn try_insert(self, value: S::Value) -> Result<&'a mut S::Value, TryInsertError<S::Value>> {
        self.store.try_insert(self.key, value)?;
        Ok(self.store.get_mut(self.key).expect(FOUND))
    }
}

impl<S: SecondaryStore> fmt::Debug for Entry<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Entry::Occupied(entry) => entry.fmt(f),
            Entry::Vacant(entry) => entry.fmt(f),
        }
    }
}

impl<S: Store> fmt::Debug for OccupiedEntry<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OccupiedEntry({:?})", self.key)
    }
}

impl<S: SecondaryStore> fmt::Debug for VacantEntry<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VacantEntry({:?})", self.key)
    }
}
