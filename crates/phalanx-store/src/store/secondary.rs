//! The methods of stores that are keyed from elsewhere, written once for [`SparseSet`](crate::SparseSet) and
//! [`LinearStore`](crate::LinearStore).

use super::StaleKey;
use crate::Key;

/// Checks that `key` may replace a key of its index with the generation `present`.
#[inline]
pub(super) fn admits<K: Key>(key: K, present: u32) -> Result<(), StaleKey> {
    match key.generation() >= present {
        true => Ok(()),
        false => Err(StaleKey { index: key.index(), generation: key.generation(), present }),
    }
}

/// Implements the insertion methods, [`SecondaryStore`](crate::SecondaryStore), `Extend` and `FromIterator`.
///
/// The store has these methods:
///
/// - `present(index)` returns the generation that has a value;
/// - `reserve_for(hint)` reserves for a size hint;
/// - `try_place(key)` makes a place for a value, or says why not;
/// - `fill(place, key, value)` stores it there. The value is not part of the place, so that a large one is not moved
///   through results.
macro_rules! secondary_store {
    ($store:ident) => {
        impl<K: Key, T> $store<K, T> {
            /// Inserts a value under a key and returns the value that it replaces.
            ///
            /// That is the key's own, or the value of an older generation of its index, whose key ends with this.
            ///
            /// # Panics
            ///
            /// Panics if a later generation of the key's index has a value: the key is stale. Use
            /// [`try_insert`](Self::try_insert) to get an error instead. Aborts if allocation fails.
            #[doc(alias("emplace"))]
            #[inline]
            #[track_caller]
            pub fn insert(&mut self, key: K, value: T) -> Option<T> {
                match self.try_place(key) {
                    // SAFETY: this is the key's place, and nothing has happened since.
                    Ok(place) => unsafe { self.fill(place, key, value) },
                    Err(reason) => reason.raise(),
                }
            }

            /// Inserts a value under a key and returns the value that it replaces, like [`insert`](Self::insert).
            ///
            /// # Errors
            ///
            /// Returns the value with [`Rejection::Stale`] if a later generation of the key's index has a value, or with
            /// [`Rejection::Alloc`] if allocation fails. The store is unchanged then.
            #[inline]
            pub fn try_insert(&mut self, key: K, value: T) -> Result<Option<T>, TryInsertError<T>> {
                match self.try_place(key) {
                    // SAFETY: this is the key's place, and nothing has happened since.
                    Ok(place) => Ok(unsafe { self.fill(place, key, value) }),
                    Err(reason) => Err(TryInsertError { value, reason }),
                }
            }

            /// Returns the entry of a key, occupied or vacant.
            ///
            /// # Errors
            ///
            /// Returns [`StaleKey`](crate::StaleKey) if a later generation of the key's index has a value.
            pub fn entry(&mut self, key: K) -> Result<super::Entry<'_, Self>, crate::StaleKey> {
                super::Entry::find(self, key)
            }
        }

        impl<K: Key, T> crate::SecondaryStore for $store<K, T> {
            fn insert(&mut self, key: K, value: T) -> Option<T> {
                self.insert(key, value)
            }
            fn try_insert(&mut self, key: K, value: T) -> Result<Option<T>, TryInsertError<T>> {
                self.try_insert(key, value)
            }
            fn admits(&self, key: K) -> Result<(), crate::StaleKey> {
                self.present(key.index()).map_or(Ok(()), |present| admits(key, present))
            }
        }

        impl<K: Key, T> Extend<(K, T)> for $store<K, T> {
            /// Inserts all pairs, in order.
            ///
            /// # Panics
            ///
            /// Panics if a key is stale, like [`insert`](Self::insert).
            #[track_caller]
            fn extend<I: IntoIterator<Item = (K, T)>>(&mut self, pairs: I) {
                let mut pairs = pairs.into_iter();
                self.reserve_for(pairs.size_hint());
                // Not `insert`: in a closure its panic would name this line instead of the caller's.
                if let Err(error) = pairs.try_for_each(|(key, value)| self.try_insert(key, value).map(drop)) {
                    error.reason.raise();
                }
            }
        }

        impl<'a, K: Key, T: Copy> Extend<(K, &'a T)> for $store<K, T> {
            /// Inserts copies of the values of all pairs, in order.
            ///
            /// # Panics
            ///
            /// Panics if a key is stale, like [`insert`](Self::insert).
            #[track_caller]
            fn extend<I: IntoIterator<Item = (K, &'a T)>>(&mut self, pairs: I) {
                self.extend(pairs.into_iter().map(|(key, value)| (key, *value)));
            }
        }

        impl<K: Key, T> From<alloc::vec::Vec<(K, T)>> for $store<K, T> {
            /// Inserts all pairs, in order.
            ///
            /// ```
            #[doc = concat!("use phalanx_store::{EntityPool, ", stringify!($store), "};")]
            ///
            /// let mut entities = EntityPool::new();
            /// let [a, b] = [(); 2].map(|()| entities.alloc());
            #[doc = concat!("let store = ", stringify!($store), "::from(vec![(a, 1), (b, 2)]);")]
            /// assert_eq!(store[b], 2);
            /// ```
            ///
            /// # Panics
            ///
            /// Panics if a key is stale, like [`insert`](Self::insert).
            #[track_caller]
            fn from(pairs: alloc::vec::Vec<(K, T)>) -> Self {
                Self::from_iter(pairs)
            }
        }

        impl<K: Key, T, const N: usize> From<[(K, T); N]> for $store<K, T> {
            /// Inserts all pairs, in order.
            ///
            /// # Panics
            ///
            /// Panics if a key is stale, like [`insert`](Self::insert).
            #[track_caller]
            fn from(pairs: [(K, T); N]) -> Self {
                Self::from_iter(pairs)
            }
        }

        impl<K: Key, T> FromIterator<(K, T)> for $store<K, T> {
            #[track_caller]
            fn from_iter<I: IntoIterator<Item = (K, T)>>(pairs: I) -> Self {
                let mut store = Self::new();
                store.extend(pairs);
                store
            }
        }
    };
}
pub(super) use secondary_store;
