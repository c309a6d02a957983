//! The traits of the containers: [`Store`] for all, [`PrimaryStore`] and [`SecondaryStore`] for one pair each.

use super::{StaleKey, TryInsertError};
use crate::Key;
use crate::memory::Usage;

/// A container of values that are found by key. Implemented by all containers of this crate.
///
/// The containers also have all of this as methods of their own. The trait is for generic code.
///
/// ```
/// use phalanx_store::{LinearStore, PackedStore, Store, EntityPool};
///
/// fn total<S: Store<Value = u32>>(store: &S) -> u32 {
///     let mut sum = 0;
///     store.for_each(|_, value| sum += value);
///     sum
/// }
///
/// let packed: PackedStore<u32> = [1, 2, 3].into_iter().collect();
/// let mut entities = EntityPool::new();
/// let linear: LinearStore<_, u32> = [4, 5].map(|n| (entities.alloc(), n)).into_iter().collect();
/// assert_eq!((total(&packed), total(&linear)), (6, 9));
/// ```
pub trait Store {
    /// The key that names a value.
    type Key: Key;
    /// The type of the values.
    type Value;

    /// Returns the number of values.
    fn len(&self) -> usize;
    /// Returns `true` if there are no values.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Returns `true` if `key` names a value.
    fn contains(&self, key: Self::Key) -> bool {
        self.get(key).is_some()
    }
    /// Returns a reference to the value of a key.
    fn get(&self, key: Self::Key) -> Option<&Self::Value>;
    /// Returns a mutable reference to the value of a key.
    fn get_mut(&mut self, key: Self::Key) -> Option<&mut Self::Value>;
    /// Removes and returns the value of a key, in the container's cheapest way.
    fn remove(&mut self, key: Self::Key) -> Option<Self::Value>;
    /// Drops all values.
    fn clear(&mut self);
    /// Calls `f` with every key and value, in the container's order.
    fn for_each<'a>(&'a self, f: impl FnMut(Self::Key, &'a Self::Value));
    /// Calls `f` with every key and mutable value, in the container's order.
    fn for_each_mut<'a>(&'a mut self, f: impl FnMut(Self::Key, &'a mut Self::Value));
    /// Returns the bytes allocated by the container.
    fn memory(&self) -> Usage;
}

/// A container that issues the handles of its values: [`PackedStore`](crate::PackedStore) and
/// [`SlotStore`](crate::SlotStore).
pub trait PrimaryStore: Store {
    /// Inserts a value and returns its handle.
    ///
    /// # Panics
    ///
    /// Panics if all indices are used up; aborts if allocation fails.
    #[track_caller]
    fn insert(&mut self, value: Self::Value) -> Self::Key;
    /// Inserts a value and returns its handle.
    ///
    /// # Errors
    ///
    /// Returns the value with [`Rejection::Alloc`](crate::Rejection::Alloc) if all indices are used up or allocation fails.
    /// The store is unchanged then.
    fn try_insert(&mut self, value: Self::Value) -> Result<Self::Key, TryInsertError<Self::Value>>;
}

/// A container whose keys come from elsewhere, such as an [`EntityPool`](crate::EntityPool):
/// [`SparseSet`](crate::SparseSet) and [`LinearStore`](crate::LinearStore).
pub trait SecondaryStore: Store {
    /// Inserts a value under a key and returns the value that it replaces.
    ///
    /// # Panics
    ///
    /// Panics if a later generation of the key's index has a value; aborts if allocation fails.
    #[track_caller]
    fn insert(&mut self, key: Self::Key, value: Self::Value) -> Option<Self::Value>;
    /// Inserts a value under a key and returns the value that it replaces.
    ///
    /// # Errors
    ///
    /// Returns the value with [`Rejection::Stale`](crate::Rejection::Stale) if a later generation of the key's index has a
    /// value, or with [`Rejection::Alloc`](crate::Rejection::Alloc) if allocation fails. The store is unchanged then.
    fn try_insert(
        &mut self,
        key: Self::Key,
        value: Self::Value,
    ) -> Result<Option<Self::Value>, TryInsertError<Self::Value>>;
    /// Checks that a value can be inserted under this key.
    ///
    /// # Errors
    ///
    /// Returns [`StaleKey`] if a later generation of the key's index has a value.
    fn admits(&self, key: Self::Key) -> Result<(), StaleKey>;
}

/// Implements [`Store`] by the container's own methods.
macro_rules! forward_store {
    ([$($generics:tt)*] $store:ty, $key:ty, $value:ty) => {
        impl<$($generics)*> crate::Store for $store {
            type Key = $key;
            type Value = $value;
            fn len(&self) -> usize {
                self.len()
            }
            fn contains(&self, key: $key) -> bool {
                self.contains(key)
            }
            fn get(&self, key: $key) -> Option<&$value> {
                self.get(key)
            }
            fn get_mut(&mut self, key: $key) -> Option<&mut $value> {
                self.get_mut(key)
            }
            fn remove(&mut self, key: $key) -> Option<$value> {
                self.remove(key)
            }
            fn clear(&mut self) {
                self.clear();
            }
            fn for_each<'a>(&'a self, mut f: impl FnMut($key, &'a $value)) {
                self.iter().for_each(|(key, value)| f(key, value));
            }
            fn for_each_mut<'a>(&'a mut self, mut f: impl FnMut($key, &'a mut $value)) {
                self.iter_mut().for_each(|(key, value)| f(key, value));
            }
            fn memory(&self) -> crate::memory::Usage {
                self.memory()
            }
        }
    };
}
pub(crate) use forward_store;

/// Implements `Index`, `IndexMut`, `IntoIterator` and `Debug` over `get`, `get_mut`, `iter` and `iter_mut`, for
/// [`DenseStore`](crate::DenseStore) and [`SlottedStore`](crate::SlottedStore).
macro_rules! std_traits {
    ([$($generics:tt)*] $store:ty, $key:ty, $value:ty, $cursor:ident<$cursor_of:ty>) => {
        impl<$($generics)*> core::ops::Index<$key> for $store {
            type Output = $value;
            /// # Panics
            ///
            /// Panics if the key names no value.
            #[track_caller]
            fn index(&self, key: $key) -> &$value {
                match self.get(key) {
                    Some(value) => value,
                    None => panic!("no value under the key {key:?}"),
                }
            }
        }

        impl<$($generics)*> core::ops::IndexMut<$key> for $store {
            /// # Panics
            ///
            /// Panics if the key names no value.
            #[track_caller]
            fn index_mut(&mut self, key: $key) -> &mut $value {
                match self.get_mut(key) {
                    Some(value) => value,
                    None => panic!("no value under the key {key:?}"),
                }
            }
        }

        impl<'a, $($generics)*> IntoIterator for &'a $store {
            type Item = ($key, &'a $value);
            type IntoIter = crate::iter::Iter<'a, $cursor<'a, $cursor_of>, $value>;
            fn into_iter(self) -> Self::IntoIter {
                self.iter()
            }
        }

        impl<'a, $($generics)*> IntoIterator for &'a mut $store {
            type Item = ($key, &'a mut $value);
            type IntoIter = crate::iter::IterMut<'a, $cursor<'a, $cursor_of>, $value>;
            fn into_iter(self) -> Self::IntoIter {
                self.iter_mut()
            }
        }

        impl<$($generics)*> IntoIterator for $store {
            type Item = ($key, $value);
            type IntoIter = crate::iter::IntoIter<Self>;
            fn into_iter(self) -> Self::IntoIter {
                crate::iter::IntoIter::new(self)
            }
        }

        impl<$($generics)*> PartialEq for $store
        where
            $value: PartialEq,
        {
            /// Returns `true` if both have equal values under the same keys.
            fn eq(&self, other: &Self) -> bool {
                self.len() == other.len()
                    && self.iter().all(|(key, value)| other.get(key).is_some_and(|other| value == other))
            }
        }

        impl<$($generics)*> Eq for $store where $value: Eq {}

        impl<$($generics)*> core::fmt::Debug for $store
        where
            $value: core::fmt::Debug,
        {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_map().entries(self.iter()).finish()
            }
        }
    };
}
pub(crate) use std_traits;

/// Returns the part of a size hint that is reserved for, when values are `T`. A hint can be wrong, and this much costs
/// little. A failure to reserve it is ignored.
pub(crate) fn believed<T>(hint: (usize, Option<usize>)) -> usize {
    const BYTES: usize = 1 << 18;
    let few = BYTES / size_of::<T>().clamp(1, BYTES);
    hint.0.min(few).min(4096)
}
