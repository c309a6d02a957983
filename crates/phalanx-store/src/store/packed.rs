//! [`PackedStore`]: dense values under handles of its own.
#![allow(unsafe_code)]

use super::primary::primary_store;
use super::{DenseStore, OccupiedEntry, TryInsertError};
use crate::error::infallible;
#[cfg(feature = "serde")]
use crate::generation::is_dead;
use crate::index::Slots;
#[cfg(feature = "serde")]
use crate::restore::{Refused, counted};
use crate::{AllocError, Handle};
#[cfg(feature = "serde")]
use alloc::vec::Vec;

/// A container that keeps values contiguous and issues their handles, which stay valid while others come and go.
///
/// It is for values that are mostly iterated over: iterating is iterating a slice. A look-up by handle costs one more step
/// than an index; inserting and removing are O(1). An element takes 12 bytes beside the value.
///
/// `K` is the kind of the handles, by default the type of the values; see [`Handle`].
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
///
/// A value may know its own handle, and a store may have handles of a kind of its own:
///
/// ```
/// use phalanx_store::{Handle, PackedStore};
///
/// struct Node { me: Handle<Node> }
/// let mut nodes = PackedStore::new();
/// let node = nodes.insert_with_key(|me| Node { me });
/// assert_eq!(nodes[node].me, node);
///
/// enum Scenery {}
/// let mut scenery: PackedStore<String, Scenery> = PackedStore::default();
/// let tree: Handle<Scenery> = scenery.insert("tree".into());
/// # assert!(scenery.contains(tree));
/// ```
#[doc(alias("DenseSlotMap", "SlotMap", "Arena", "slotmap"))]
pub type PackedStore<T, K = T> = DenseStore<Slots<K>, T>;

primary_store!(PackedStore, DenseStore::over(Slots::new()), "at the end");

impl<T, K: ?Sized> PackedStore<T, K> {
    /// Shrinks the capacity to what is in use. Slots that were used stay, as they keep old handles dead.
    pub fn shrink_to_fit(&mut self) {
        self.compact();
        let core = &mut self.core;
        // SAFETY: the dense keys and the length are those of the index's own container.
        unsafe { core.index.shrink(&mut core.keys, core.len) };
        // SAFETY: the index uses dense keys below its total. If shrinking fails, the larger block stays.
        let _ = unsafe { core.try_shrink(core.index.total()) };
    }

    /// Clones the store.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if memory for the container cannot be allocated. Allocations of the values themselves are not
    /// covered.
    pub fn try_clone(&self) -> Result<Self, AllocError>
    where
        T: Clone,
    {
        let from = &self.core.index;
        let mut index = Slots::new();
        index.try_hold(from)?;
        self.try_clone_over(index, from.total(), |index, keys| index.copy_from(from, keys))
    }

    /// Makes this store a clone of another, in the memory that it has. All values are dropped first.
    ///
    /// If a clone or a destructor panics, the store is empty. Otherwise its handles are those of the other store from now on. One
    /// that named a value of this store before may name another one later.
    ///
    /// ```
    /// use phalanx_store::PackedStore;
    ///
    /// let mut present = PackedStore::from(["a", "b"]);
    /// let mut past = PackedStore::new();
    /// past.try_clone_from(&present)?;
    /// present.insert("c");
    /// assert_eq!(past.as_slice(), ["a", "b"]);
    /// # Ok::<(), phalanx_store::AllocError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if memory for the container cannot be allocated. The values are unchanged then. Allocations
    /// of the values themselves are not covered.
    pub fn try_clone_from(&mut self, source: &Self) -> Result<(), AllocError>
    where
        T: Clone,
    {
        let (from, to) = (&source.core, &mut self.core);
        to.index.try_hold(&from.index)?;
        to.keys.try_grow(from.index.total())?;
        to.rows.try_grow(from.positions())?;
        self.clear();
        self.fill_from(source, from.index.total(), |index, keys| index.copy_from(&from.index, keys));
        Ok(())
    }

    /// Returns the handle of the value in a slot, by the index of the slot.
    ///
    /// This is for indices that come back without a generation, for example from a graphics card.
    ///
    /// ```
    /// use phalanx_store::PackedStore;
    ///
    /// let mut store = PackedStore::new();
    /// let a = store.insert("a");
    /// assert_eq!(store.key_of_index(a.index()), Some(a));
    /// store.remove(a);
    /// assert_eq!(store.key_of_index(a.index()), None);
    /// ```
    #[doc(alias("contains_slot", "get_by_slot", "remove_by_slot"))]
    pub fn key_of_index(&self, index: u32) -> Option<Handle<K>> {
        self.core.index.occupant(index)
    }

    /// Iterates over the slots ever used: live ones in the order of their values, then free ones, then retired ones. There are
    /// no holes.
    #[cfg(feature = "serde")]
    pub(crate) fn order(&self) -> impl Iterator<Item = u32> + Clone + '_ {
        debug_assert_eq!(self.holes(), 0);
        let used = self.core.index.used();
        // SAFETY: the dense keys below the index's total are initialised.
        let slots = unsafe { self.core.keys.slice(self.core.index.total()) };
        slots.iter().copied().filter(move |slot| *slot < used)
    }

    /// Returns the slots as [`compact`](PackedStore::compact) would leave them, without values.
    #[cfg(feature = "serde")]
    pub(crate) fn try_compacted_slots(&self) -> Result<PackedStore<(), K>, AllocError> {
        let from = &self.core;
        let mut copy: PackedStore<(), K> = PackedStore::default();
        let (to, total) = (&mut copy.core, from.index.total());
        to.index.try_hold(&from.index)?;
        to.keys.try_grow(total)?;
        to.index.copy_from(&from.index, to.keys.capacity());
        // SAFETY: `total` dense keys are initialised in the source, and there is capacity for them in the copy. The index was
        // copied just now, and the rows have no bytes.
        unsafe {
            core::ptr::copy_nonoverlapping(from.keys.ptr(), to.keys.ptr(), total as usize);
            to.set_positions(from);
        }
        copy.compact();
        Ok(copy)
    }

    /// Creates a store of these values, whose slots have these words and this order.
    #[cfg(feature = "serde")]
    pub(crate) fn try_restore(words: &[u32], order: &[u32], values: Vec<T>) -> Result<Self, Refused> {
        let (index, keys) = Slots::try_restore(words, order)?;
        let live = words.iter().filter(|word| !is_dead(**word)).count();
        counted("values of live slots", values.len(), live)?;
        // The values get handles that are never returned, until each is at its position.
        let mut store = Self::default();
        store.try_reserve(live)?;
        for value in values {
            store.try_insert(value).map_err(|error| error.reason)?;
        }
        (store.core.index, store.core.keys) = (index, keys);
        Ok(store)
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        let core = &self.core;
        core.len == core.rows.capacity() || core.index.is_full(core.len)
    }

    #[cold]
    #[inline(never)]
    fn try_grow_by(&mut self, additional: u32) -> Result<(), AllocError> {
        let core = &mut self.core;
        let needed = core.len.checked_add(additional).ok_or(AllocError::CapacityOverflow)?;
        core.rows.countable(needed)?;
        // SAFETY: the dense keys and the length are those of the index's own container.
        unsafe { core.index.try_reserve(&mut core.keys, core.len, additional)? };
        core.rows.try_grow(needed)
    }

    /// Returns the handle that the next value gets.
    ///
    /// # Safety
    ///
    /// The store is not full.
    unsafe fn next_key(&mut self) -> Handle<K> {
        // SAFETY: the dense keys are the index's own, and it is not full.
        unsafe { self.core.index.next(&self.core.keys, self.core.len) }
    }

    /// Appends a value.
    ///
    /// # Safety
    ///
    /// The store is not full.
    #[inline(always)]
    unsafe fn commit(&mut self, value: T) -> Handle<K> {
        let core = &mut self.core;
        // SAFETY: the dense keys are the index's own and it is not full; the row after the last is within the capacity.
        unsafe {
            let handle = core.index.issue(&core.keys, core.len);
            core.rows.at(core.len).write(value);
            core.len += 1;
            handle
        }
    }
}

impl<T, K: ?Sized> Default for PackedStore<T, K> {
    fn default() -> Self {
        DenseStore::over(Slots::new())
    }
}

impl<T: Clone, K: ?Sized> Clone for PackedStore<T, K> {
    /// Clones the store: the same values under the same handles, in the same order.
    ///
    /// Dead handles are dead in the copy, and the next handles are the same.
    #[track_caller]
    fn clone(&self) -> Self {
        infallible(self.try_clone())
    }

    /// Clones another store in the memory that this one has, like [`try_clone_from`](PackedStore::try_clone_from).
    #[track_caller]
    fn clone_from(&mut self, source: &Self) {
        infallible(self.try_clone_from(source));
    }
}
