//! [`PackedStore`]: dense values behind handles of its own.
#![allow(unsafe_code)]

use super::traits::{Rejected, believed};
use super::{DenseStore, MintingStore, OccupiedEntry};
use crate::error::infallible;
#[cfg(feature = "serde")]
use crate::generation::is_dead;
use crate::index::Slots;
#[cfg(feature = "serde")]
use crate::serial::{self, Refused};
use crate::{AllocError, Handle};
#[cfg(feature = "serde")]
use alloc::vec::Vec;

/// Values side by side, behind handles that stay valid while others come and go.
///
/// The container for things that are mostly walked over: iterating is iterating a slice. A handle costs one more step
/// than an index; inserting and removing are O(1). Beyond the value, an element takes 12 bytes.
///
/// `K` is the kind of the handles, the type of the values unless said otherwise; see [`Handle`].
///
/// ```
/// use phalanx_store::PackedStore;
///
/// let mut particles = PackedStore::new();
/// let spark = particles.insert((0.0, 1.0));
/// let smoke = particles.insert((5.0, 0.1));
/// for (position, speed) in particles.as_mut_slice() {
///     *position += *speed;
/// }
/// assert_eq!(particles[spark], (1.0, 1.0));
/// assert_eq!(particles.remove(spark), Some((1.0, 1.0)));
/// assert_eq!(particles.get(spark), None);
/// assert_eq!(particles.values().count(), 1);
/// assert!(particles.contains(smoke));
/// ```
pub type PackedStore<T, K = T> = DenseStore<Slots<K>, T>;

impl<T> PackedStore<T> {
    /// An empty store, which allocates nothing. For a kind of handles of your own, use [`Default`]:
    ///
    /// ```
    /// use phalanx_store::{Handle, PackedStore};
    ///
    /// enum Scenery {}
    /// let mut scenery: PackedStore<String, Scenery> = PackedStore::default();
    /// let tree: Handle<Scenery> = scenery.insert("tree".into());
    /// # assert!(scenery.contains(tree));
    /// ```
    pub const fn new() -> Self {
        DenseStore::over(Slots::new())
    }

    /// An empty store with room for `capacity` values.
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> Self {
        let mut store = Self::new();
        store.reserve(capacity);
        store
    }
}

impl<T, K: ?Sized> PackedStore<T, K> {
    /// Adds a value at the end and returns its handle.
    #[inline]
    #[track_caller]
    pub fn insert(&mut self, value: T) -> Handle<K> {
        if self.is_full() {
            infallible(self.try_grow(1));
        }
        // SAFETY: there is room for one more, in rows, marks and slots.
        unsafe { self.commit(value) }
    }

    /// Adds a value at the end and returns its handle, or gives the value back.
    ///
    /// # Errors
    ///
    /// If memory cannot be had; nothing changed.
    #[inline]
    pub fn try_insert(&mut self, value: T) -> Result<Handle<K>, Rejected<T>> {
        if self.is_full()
            && let Err(error) = self.try_grow(1)
        {
            return Err(Rejected { value, reason: error.into() });
        }
        // SAFETY: there is room for one more, in rows, marks and slots.
        Ok(unsafe { self.commit(value) })
    }

    /// Adds a value that knows its own handle. If `make` panics, nothing happened.
    ///
    /// ```
    /// use phalanx_store::{Handle, PackedStore};
    ///
    /// struct Node { me: Handle<Node> }
    /// let mut nodes = PackedStore::new();
    /// let node = nodes.insert_with_key(|me| Node { me });
    /// assert_eq!(nodes[node].me, node);
    /// ```
    #[track_caller]
    pub fn insert_with_key(&mut self, make: impl FnOnce(Handle<K>) -> T) -> Handle<K> {
        infallible(self.try_insert_with_key(make))
    }

    /// As [`insert_with_key`](PackedStore::insert_with_key).
    ///
    /// # Errors
    ///
    /// If memory cannot be had; then `make` is not called.
    pub fn try_insert_with_key(&mut self, make: impl FnOnce(Handle<K>) -> T) -> Result<Handle<K>, AllocError> {
        if self.is_full() {
            self.try_grow(1)?;
        }
        let core = &self.core;
        // SAFETY: the marks are this store's own, and the index is not full.
        let value = make(unsafe { core.index.next(&core.marks, core.len) });
        // SAFETY: there is room for one more, in rows, marks and slots.
        Ok(unsafe { self.commit(value) })
    }

    /// The entry of a handle, if it names a value.
    pub fn entry(&mut self, handle: Handle<K>) -> Option<OccupiedEntry<'_, Self>> {
        OccupiedEntry::find(self, handle)
    }

    /// Makes room for `additional` more values.
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        infallible(self.try_reserve(additional));
    }

    /// Makes room for `additional` more values.
    ///
    /// # Errors
    ///
    /// If memory cannot be had; nothing changed.
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), AllocError> {
        self.try_grow(Self::checked_additional(additional)?)
    }

    /// Gives back all room that is not needed. Slots that were used stay: they are what keeps old handles dead.
    pub fn shrink_to_fit(&mut self) {
        self.compact();
        let core = &mut self.core;
        // SAFETY: the marks and the length are those of the container.
        unsafe { core.index.shrink(&mut core.marks, core.len) };
        // SAFETY: the index uses marks below its total. What cannot be had smaller stays as it was, which is allowed.
        let _ = unsafe { core.try_shrink(core.index.total()) };
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
        self.try_clone_over(self.core.index.try_clone()?, self.core.index.total())
    }

    /// The slots that were ever used: those of the values in order, then the free ones, then the retired ones. There are
    /// no holes.
    #[cfg(feature = "serde")]
    pub(crate) fn order(&self) -> impl Iterator<Item = u32> + Clone + '_ {
        debug_assert_eq!(self.holes(), 0);
        let used = self.core.index.used();
        // SAFETY: the marks below the index's total are initialised.
        let marks = unsafe { self.core.marks.slice(self.core.index.total()) };
        marks.iter().copied().filter(move |mark| *mark < used)
    }

    /// The slots as [`compact`](PackedStore::compact) would leave them, with no values.
    #[cfg(feature = "serde")]
    pub(crate) fn try_compacted_slots(&self) -> Result<PackedStore<(), K>, AllocError> {
        let from = &self.core;
        let mut copy: PackedStore<(), K> = DenseStore::over(from.index.try_clone()?);
        let (to, total) = (&mut copy.core, from.index.total());
        to.marks.try_grow(total)?;
        // SAFETY: `total` marks are initialised there, and there is room for them here.
        unsafe { core::ptr::copy_nonoverlapping(from.marks.ptr(), to.marks.ptr(), total as usize) };
        (to.len, to.holes, to.gap, to.low) = (from.len, from.holes, from.gap.clone(), from.low);
        copy.compact();
        Ok(copy)
    }

    /// A store of these values, whose slots have these words and come in this order.
    #[cfg(feature = "serde")]
    pub(crate) fn try_restore(words: &[u32], order: &[u32], values: Vec<T>) -> Result<Self, Refused> {
        let (index, marks) = Slots::try_restore(words, order)?;
        let live = words.iter().filter(|word| !is_dead(**word)).count();
        serial::counted("values of live slots", values.len(), live)?;
        // Under handles that nobody sees, until each value is at its position.
        let mut store = Self::default();
        store.try_reserve(live)?;
        for value in values {
            store.try_insert(value).map_err(|rejected| rejected.reason)?;
        }
        (store.core.index, store.core.marks) = (index, marks);
        Ok(store)
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        let core = &self.core;
        core.len == core.rows.capacity() || core.index.is_full(core.len)
    }

    #[cold]
    #[inline(never)]
    fn try_grow(&mut self, additional: u32) -> Result<(), AllocError> {
        let core = &mut self.core;
        let needed = core.len.checked_add(additional).ok_or(AllocError::CapacityOverflow)?;
        core.rows.countable(needed)?;
        // SAFETY: the marks and the length are those of the container.
        unsafe { core.index.try_reserve(&mut core.marks, core.len, additional)? };
        core.rows.try_grow(needed)
    }

    /// # Safety
    ///
    /// The store is not full.
    #[inline(always)]
    unsafe fn commit(&mut self, value: T) -> Handle<K> {
        let core = &mut self.core;
        // SAFETY: the marks are the index's own and it is not full; the row after the last is within the capacity.
        unsafe {
            let handle = core.index.mint(&core.marks, core.len);
            core.rows.at(core.len).write(value);
            core.len += 1;
            handle
        }
    }
}

impl<T, K: ?Sized> MintingStore for PackedStore<T, K> {
    fn insert(&mut self, value: T) -> Handle<K> {
        self.insert(value)
    }
    fn try_insert(&mut self, value: T) -> Result<Handle<K>, Rejected<T>> {
        self.try_insert(value)
    }
}

impl<T, K: ?Sized> Default for PackedStore<T, K> {
    fn default() -> Self {
        DenseStore::over(Slots::new())
    }
}

impl<T: Clone, K: ?Sized> Clone for PackedStore<T, K> {
    /// The same values under the same handles, in the same order, with the same future: dead handles are dead in the
    /// copy, and the next handles will be the same.
    #[track_caller]
    fn clone(&self) -> Self {
        infallible(self.try_clone())
    }
}

impl<T, K: ?Sized> Extend<T> for PackedStore<T, K> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        let values = values.into_iter();
        let _ = self.try_reserve(believed::<T>(values.size_hint()));
        values.for_each(|value| {
            self.insert(value);
        });
    }
}

impl<T, K: ?Sized> FromIterator<T> for PackedStore<T, K> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut store = Self::default();
        store.extend(values);
        store
    }
}
