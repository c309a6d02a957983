//! What the containers have in common, as traits: one for reading, one for each pair.

use crate::memory::Usage;
use crate::{AllocError, Key};
use core::fmt;

/// What every container can do: find, change and remove values by key.
///
/// The containers have all of this as methods of their own too; the trait is for code that is to work with any of them.
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
    /// What names a value.
    type Key: Key;
    /// What is stored.
    type Value;

    /// How many values there are.
    fn len(&self) -> usize;
    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Whether the key names a value that is there.
    fn contains(&self, key: Self::Key) -> bool {
        self.get(key).is_some()
    }
    /// The value of a key.
    fn get(&self, key: Self::Key) -> Option<&Self::Value>;
    /// The value of a key, for writing.
    fn get_mut(&mut self, key: Self::Key) -> Option<&mut Self::Value>;
    /// Takes the value of a key out, in the container's cheapest way.
    fn remove(&mut self, key: Self::Key) -> Option<Self::Value>;
    /// Removes everything.
    fn clear(&mut self);
    /// Calls `f` with every key and value, in the container's order.
    fn for_each<'a>(&'a self, f: impl FnMut(Self::Key, &'a Self::Value));
    /// Calls `f` with every key and value, for writing, in the container's order.
    fn for_each_mut<'a>(&'a mut self, f: impl FnMut(Self::Key, &'a mut Self::Value));
    /// The bytes that the container holds from the allocator.
    fn memory(&self) -> Usage;
}

/// A container that makes the names of its values: [`PackedStore`](crate::PackedStore) and
/// [`SlotStore`](crate::SlotStore).
pub trait MintingStore: Store {
    /// Adds a value and returns its name.
    #[track_caller]
    fn insert(&mut self, value: Self::Value) -> Self::Key;
    /// Adds a value, or gives it back if there is no memory for it.
    ///
    /// # Errors
    ///
    /// If memory cannot be had; nothing changed.
    fn try_insert(&mut self, value: Self::Value) -> Result<Self::Key, Rejected<Self::Value>>;
}

/// A container of values for things that have their names from elsewhere: [`SparseSet`](crate::SparseSet) and
/// [`LinearStore`](crate::LinearStore).
pub trait KeyedStore: Store {
    /// Gives a value to a key, and returns the one it displaces.
    ///
    /// # Panics
    ///
    /// If the key is older than the one whose value is there.
    #[track_caller]
    fn insert(&mut self, key: Self::Key, value: Self::Value) -> Option<Self::Value>;
    /// Gives a value to a key, or gives it back.
    ///
    /// # Errors
    ///
    /// If the key is older than the one whose value is there, or memory cannot be had; nothing changed.
    fn try_insert(&mut self, key: Self::Key, value: Self::Value) -> Result<Option<Self::Value>, Rejected<Self::Value>>;
    /// Whether a value can be stored under this key: not if a later generation of its index has one.
    ///
    /// # Errors
    ///
    /// If the key is stale, as far as this container can tell.
    fn admits(&self, key: Self::Key) -> Result<(), StaleKey>;
}

/// A value that was not stored, and why. The error of `try_` forms that take a value.
///
/// Where the value is not needed, `?` makes the reason of it:
///
/// ```
/// use phalanx_store::{PackedStore, Rejection};
///
/// fn add(names: &mut PackedStore<String>, name: &str) -> Result<(), Rejection> {
///     names.try_insert(name.to_owned())?;
///     Ok(())
/// }
///
/// let mut names = PackedStore::new();
/// add(&mut names, "Ann")?;
/// if let Err(rejected) = names.try_insert("Bob".to_owned()) {
///     println!("{rejected}");
///     println!("{} is still there", rejected.into_inner());
/// }
/// # Ok::<(), Rejection>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Rejected<T, R = Rejection> {
    /// The value, as it was given.
    pub value: T,
    /// Why it was not stored.
    pub reason: R,
}

impl<T, R> Rejected<T, R> {
    /// Returns the value that was not stored.
    pub fn into_inner(self) -> T {
        self.value
    }
}

/// Why a value was not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rejection {
    /// There is no memory for it.
    Alloc(AllocError),
    /// Its key is stale.
    Stale(StaleKey),
}

/// A key whose index has a value under a later generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaleKey {
    /// The index of the key.
    pub index: u32,
    /// The generation of the key.
    pub generation: u32,
    /// The generation that has a value.
    pub present: u32,
}

impl fmt::Display for StaleKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StaleKey { index, generation, present } = self;
        write!(f, "the key {index}v{generation} is stale: {index}v{present} has a value here")
    }
}

impl core::error::Error for StaleKey {}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rejection::Alloc(error) => error.fmt(f),
            Rejection::Stale(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for Rejection {}

impl From<AllocError> for Rejection {
    fn from(error: AllocError) -> Self {
        Rejection::Alloc(error)
    }
}

impl From<StaleKey> for Rejection {
    fn from(error: StaleKey) -> Self {
        Rejection::Stale(error)
    }
}

impl Rejection {
    /// What the plain forms do.
    #[cold]
    #[track_caller]
    pub(crate) fn raise(self) -> ! {
        match self {
            Rejection::Alloc(error) => error.raise(),
            Rejection::Stale(error) => panic!("{error}"),
        }
    }
}

impl<T> From<Rejected<T>> for Rejection {
    fn from(rejected: Rejected<T>) -> Self {
        rejected.reason
    }
}

impl<T> From<Rejected<T, AllocError>> for AllocError {
    fn from(rejected: Rejected<T, AllocError>) -> Self {
        rejected.reason
    }
}

impl<T, R: fmt::Debug> fmt::Debug for Rejected<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rejected").field("reason", &self.reason).finish_non_exhaustive()
    }
}

impl<T, R: fmt::Display> fmt::Display for Rejected<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl<T, R: fmt::Debug + fmt::Display> core::error::Error for Rejected<T, R> {}

/// Implements [`Store`] by the methods that the container has itself.
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

/// What [`DenseStore`](crate::DenseStore) and [`SlottedStore`](crate::SlottedStore) implement alike, once they have
/// `iter`, `iter_mut`, `get`, `get_mut`: indexing by key, loops over references and over the container itself, `Debug`.
macro_rules! std_traits {
    ([$($generics:tt)*] $store:ty, $key:ty, $value:ty, $cursor:ident<$cursor_of:ty>) => {
        impl<$($generics)*> core::ops::Index<$key> for $store {
            type Output = $value;
            /// # Panics
            ///
            /// If the key names no value.
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
            /// If the key names no value.
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

/// How much of an iterator's size hint is believed when values are `T`: a hint can be wrong, and so much room costs
/// little. Reserving it is a wish, which may fail.
pub(crate) fn believed<T>(hint: (usize, Option<usize>)) -> usize {
    const BYTES: usize = 1 << 18;
    let few = BYTES / size_of::<T>().clamp(1, BYTES);
    hint.0.min(few).min(4096)
}
