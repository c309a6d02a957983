//! The methods of stores that issue their own handles, written once for [`PackedStore`](crate::PackedStore) and
//! [`SlotStore`](crate::SlotStore).

/// Implements the insertion methods, [`PrimaryStore`](crate::PrimaryStore), `Extend` and `FromIterator`.
///
/// The store has `is_full`, and `try_grow_by(additional)`, which makes it not full. It has two unsafe methods that ask for
/// a store that is not full: `next_key` returns the next handle, and `commit` stores a value under it. `$place` says where
/// a value is inserted.
macro_rules! primary_store {
    ($store:ident, $empty:expr, $place:literal) => {
        impl<T> $store<T> {
            /// Creates an empty store without allocating.
            ///
            /// For handles of another kind than `T`, use [`Default`].
            pub const fn new() -> Self {
                $empty
            }

            /// Creates an empty store with capacity for `capacity` values.
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
        }

        impl<T, K: ?Sized> $store<T, K> {
            #[doc = concat!("Inserts a value ", $place, " and returns its handle.")]
            ///
            /// # Panics
            ///
            /// Panics if all indices are used up; aborts if allocation fails.
            // Always: as a call it gets the value through memory, which takes longer than the insertion.
            #[doc(alias("push", "emplace"))]
            #[inline(always)]
            #[track_caller]
            pub fn insert(&mut self, value: T) -> Handle<K> {
                if self.is_full() {
                    crate::error::infallible(self.try_grow_by(1));
                }
                // SAFETY: the store is not full.
                unsafe { self.commit(value) }
            }

            #[doc = concat!("Inserts a value ", $place, " and returns its handle.")]
            ///
            /// # Errors
            ///
            /// Returns the value with [`Rejection::Alloc`](crate::Rejection::Alloc) if all indices are used up or
            /// allocation fails. The store is unchanged then.
            #[inline]
            pub fn try_insert(&mut self, value: T) -> Result<Handle<K>, TryInsertError<T>> {
                if self.is_full()
                    && let Err(error) = self.try_grow_by(1)
                {
                    return Err(TryInsertError { value, reason: error.into() });
                }
                // SAFETY: the store is not full.
                Ok(unsafe { self.commit(value) })
            }

            /// Inserts the value that `make` returns for its own handle. If `make` panics, the store is unchanged.
            ///
            /// # Panics
            ///
            /// Panics if all indices are used up; aborts if allocation fails.
            #[track_caller]
            pub fn insert_with_key(&mut self, make: impl FnOnce(Handle<K>) -> T) -> Handle<K> {
                crate::error::infallible(self.try_insert_with_key(make))
            }

            /// Inserts the value that `make` returns for its own handle. If `make` panics, the store is unchanged.
            ///
            /// # Errors
            ///
            /// Returns [`AllocError::CapacityOverflow`] if all indices are used up, or [`AllocError::OutOfMemory`] if
            /// allocation fails. Then `make` is not called.
            pub fn try_insert_with_key(&mut self, make: impl FnOnce(Handle<K>) -> T) -> Result<Handle<K>, AllocError> {
                if self.is_full() {
                    self.try_grow_by(1)?;
                }
                // SAFETY: the store is not full.
                let value = make(unsafe { self.next_key() });
                // SAFETY: the store is not full, and was borrowed exclusively meanwhile.
                Ok(unsafe { self.commit(value) })
            }

            /// Inserts the value that `make` returns for its own handle, if it returns one.
            ///
            /// If `make` returns an error or panics, the store is unchanged.
            ///
            /// ```
            #[doc = concat!("use phalanx_store::", stringify!($store), ";")]
            ///
            #[doc = concat!("let mut store: ", stringify!($store), "<u32> = ", stringify!($store), "::new();")]
            /// let made = store.insert_with_key_fallible(|_| "12".parse());
            /// assert_eq!(store[made?], 12);
            /// assert!(store.insert_with_key_fallible(|_| "twelve".parse()).is_err());
            /// assert_eq!(store.len(), 1);
            /// # Ok::<(), std::num::ParseIntError>(())
            /// ```
            ///
            /// # Errors
            ///
            /// Returns the error of `make`.
            ///
            /// # Panics
            ///
            /// Panics if all indices are used up; aborts if allocation fails.
            #[doc(alias = "try_insert_with_key")]
            #[track_caller]
            pub fn insert_with_key_fallible<E>(
                &mut self,
                make: impl FnOnce(Handle<K>) -> Result<T, E>,
            ) -> Result<Handle<K>, E> {
                if self.is_full() {
                    crate::error::infallible(self.try_grow_by(1));
                }
                // SAFETY: the store is not full.
                let value = make(unsafe { self.next_key() })?;
                // SAFETY: the store is not full, and was borrowed exclusively meanwhile.
                Ok(unsafe { self.commit(value) })
            }

            /// Returns the entry of a handle, or `None` if it names no value.
            pub fn entry(&mut self, handle: Handle<K>) -> Option<OccupiedEntry<'_, Self>> {
                OccupiedEntry::find(self, handle)
            }

            /// Reserves capacity for `additional` more values.
            ///
            /// # Panics
            ///
            /// Panics if the capacity overflows; aborts if allocation fails.
            #[track_caller]
            pub fn reserve(&mut self, additional: usize) {
                crate::error::infallible(self.try_reserve(additional));
            }

            /// Reserves capacity for `additional` more values.
            ///
            /// # Errors
            ///
            /// Returns [`AllocError::CapacityOverflow`] if there are not as many indices, or
            /// [`AllocError::OutOfMemory`] if allocation fails. No value changes.
            pub fn try_reserve(&mut self, additional: usize) -> Result<(), AllocError> {
                self.try_grow_by(u32::try_from(additional).map_err(|_| AllocError::CapacityOverflow)?)
            }
        }

        impl<T, K: ?Sized> crate::PrimaryStore for $store<T, K> {
            fn insert(&mut self, value: T) -> Handle<K> {
                self.insert(value)
            }
            fn try_insert(&mut self, value: T) -> Result<Handle<K>, TryInsertError<T>> {
                self.try_insert(value)
            }
        }

        impl<T, K: ?Sized> Extend<T> for $store<T, K> {
            fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
                let values = values.into_iter();
                let _ = self.try_reserve(super::traits::believed::<T>(values.size_hint()));
                values.for_each(|value| {
                    self.insert(value);
                });
            }
        }

        impl<'a, T: Copy, K: ?Sized> Extend<&'a T> for $store<T, K> {
            fn extend<I: IntoIterator<Item = &'a T>>(&mut self, values: I) {
                self.extend(values.into_iter().copied());
            }
        }

        impl<T> From<alloc::vec::Vec<T>> for $store<T> {
            /// Inserts the values, in order.
            ///
            /// ```
            #[doc = concat!("use phalanx_store::", stringify!($store), ";")]
            ///
            #[doc = concat!("let store = ", stringify!($store), "::from(vec![\"a\", \"b\"]);")]
            /// assert!(store.values().eq(&["a", "b"]));
            /// ```
            ///
            /// For handles of another kind than `T`, use [`FromIterator`].
            fn from(values: alloc::vec::Vec<T>) -> Self {
                Self::from_iter(values)
            }
        }

        impl<T, const N: usize> From<[T; N]> for $store<T> {
            /// Inserts the values, in order.
            fn from(values: [T; N]) -> Self {
                Self::from_iter(values)
            }
        }

        impl<T, K: ?Sized> FromIterator<T> for $store<T, K> {
            fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
                let mut store = Self::default();
                store.extend(values);
                store
            }
        }
    };
}
pub(super) use primary_store;
