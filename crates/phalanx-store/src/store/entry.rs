//! Entries: a key that was looked up, with what can be done about it. Written once, over the traits.

use super::traits::{KeyedStore, Rejected, StaleKey, Store};
use core::fmt;

/// What a container has under a key: something or nothing.
pub enum Entry<'a, S: KeyedStore> {
    /// The key has a value.
    Occupied(OccupiedEntry<'a, S>),
    /// It has none.
    Vacant(VacantEntry<'a, S>),
}

/// A key that has a value.
pub struct OccupiedEntry<'a, S: Store> {
    store: &'a mut S,
    key: S::Key,
}

/// A key that has no value.
pub struct VacantEntry<'a, S: KeyedStore> {
    store: &'a mut S,
    key: S::Key,
}

impl<'a, S: KeyedStore> Entry<'a, S> {
    pub(crate) fn find(store: &'a mut S, key: S::Key) -> Result<Self, StaleKey> {
        if store.contains(key) {
            return Ok(Entry::Occupied(OccupiedEntry { store, key }));
        }
        store.admits(key)?;
        Ok(Entry::Vacant(VacantEntry { store, key }))
    }

    /// The key that was looked up.
    pub fn key(&self) -> S::Key {
        match self {
            Entry::Occupied(entry) => entry.key,
            Entry::Vacant(entry) => entry.key,
        }
    }

    /// The value, after inserting `default` if there was none.
    #[track_caller]
    pub fn or_insert(self, default: S::Value) -> &'a mut S::Value {
        match self {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(default),
        }
    }

    /// The value, after inserting what `make` returns if there was none. If `make` panics, nothing happened.
    #[track_caller]
    pub fn or_insert_with(self, make: impl FnOnce() -> S::Value) -> &'a mut S::Value {
        match self {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(make()),
        }
    }

    /// The value, after inserting the default if there was none.
    #[track_caller]
    pub fn or_default(self) -> &'a mut S::Value
    where
        S::Value: Default,
    {
        self.or_insert_with(Default::default)
    }

    /// Changes the value, if there is one.
    #[must_use]
    pub fn and_modify(mut self, change: impl FnOnce(&mut S::Value)) -> Self {
        if let Entry::Occupied(entry) = &mut self {
            change(entry.get_mut());
        }
        self
    }
}

/// What an occupied entry can count on: it was found, and its store has been borrowed since.
const FOUND: &str = "an occupied entry has a value";

impl<'a, S: Store> OccupiedEntry<'a, S> {
    pub(crate) fn find(store: &'a mut S, key: S::Key) -> Option<Self> {
        store.contains(key).then_some(OccupiedEntry { store, key })
    }

    /// The key.
    pub fn key(&self) -> S::Key {
        self.key
    }

    /// The value.
    #[allow(clippy::missing_panics_doc)]
    pub fn get(&self) -> &S::Value {
        self.store.get(self.key).expect(FOUND)
    }

    /// The value, for writing.
    #[allow(clippy::missing_panics_doc)]
    pub fn get_mut(&mut self) -> &mut S::Value {
        self.store.get_mut(self.key).expect(FOUND)
    }

    /// The value, for writing, as long as the container is borrowed.
    #[allow(clippy::missing_panics_doc)]
    pub fn into_mut(self) -> &'a mut S::Value {
        self.store.get_mut(self.key).expect(FOUND)
    }

    /// Puts another value in the place of this one, and returns this one.
    pub fn insert(&mut self, value: S::Value) -> S::Value {
        core::mem::replace(self.get_mut(), value)
    }

    /// Takes the value out.
    #[allow(clippy::missing_panics_doc)]
    pub fn remove(self) -> S::Value {
        self.store.remove(self.key).expect(FOUND)
    }
}

impl<'a, S: KeyedStore> VacantEntry<'a, S> {
    /// The key.
    pub fn key(&self) -> S::Key {
        self.key
    }

    /// Gives the key a value. A value of an older generation of its index ends with this.
    #[allow(clippy::missing_panics_doc)]
    #[track_caller]
    pub fn insert(self, value: S::Value) -> &'a mut S::Value {
        self.store.insert(self.key, value);
        self.store.get_mut(self.key).expect(FOUND)
    }

    /// Gives the key a value, or gives the value back.
    ///
    /// # Errors
    ///
    /// If memory cannot be had; nothing changed.
    #[allow(clippy::missing_panics_doc)]
    pub fn try_insert(self, value: S::Value) -> Result<&'a mut S::Value, Rejected<S::Value>> {
        self.store.try_insert(self.key, value)?;
        Ok(self.store.get_mut(self.key).expect(FOUND))
    }
}

impl<S: KeyedStore> fmt::Debug for Entry<'_, S> {
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

impl<S: KeyedStore> fmt::Debug for VacantEntry<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VacantEntry({:?})", self.key)
    }
}
