//! [`SlotStore`]: values that stay at their slots, behind handles of its own.
#![allow(unsafe_code)]

use super::slotted::{Vacancy, sealed};
use super::traits::{Rejected, believed};
use super::{MintingStore, OccupiedEntry, SlottedStore};
use crate::error::infallible;
use crate::generation::{self, RETIRED};
use crate::raw::FreeSlots;
use crate::{AllocError, Handle};
use core::fmt;
use core::marker::PhantomData;

/// Values that stay where they were put, behind handles that stay valid while others come and go.
///
/// The container for things that are mostly found by handle, or come and go all the time: reading is one step, and a
/// slot that becomes free is used again. Walking over it costs a test for 64 slots. Beyond the value, an element takes 4.3
/// bytes. Vacant slots are reused from the lowest up; the order is that of the slots.
///
/// `K` is the kind of the handles, the type of the values unless said otherwise; see [`Handle`].
///
/// ```
/// use phalanx_store::SlotStore;
///
/// let mut sessions = SlotStore::new();
/// let ann = sessions.insert("Ann");
/// let bob = sessions.insert("Bob");
/// assert_eq!(sessions.remove(ann), Some("Ann"));
/// let eve = sessions.insert("Eve");
/// assert_eq!((eve.index(), eve.generation()), (0, 1));
/// assert_eq!(sessions.get(ann), None);
/// assert_eq!(sessions.values().copied().collect::<Vec<_>>(), ["Eve", "Bob"]);
/// # assert!(sessions.contains(bob));
/// ```
pub type SlotStore<T, K = T> = SlottedStore<Minted<K>, T>;

/// The vacancy of a [`SlotStore`]: vacant slots are reused under handles of the next generation.
pub struct Minted<K: ?Sized> {
    free: FreeSlots,
    kind: PhantomData<fn() -> *const K>,
}

impl<K: ?Sized> Vacancy for Minted<K> {
    type Key = Handle<K>;
}

impl<K: ?Sized> sealed::Sealed for Minted<K> {
    #[inline(always)]
    fn vacated(generation: u32) -> u32 {
        generation::released(generation)
    }

    #[inline(always)]
    unsafe fn remember(&mut self, slot: u32, word: u32) {
        if word != RETIRED {
            // SAFETY: the slot exists, and was occupied, so it is not free.
            unsafe { self.free.free(slot) };
        }
    }

    fn try_reserve(&mut self, slots: u32) -> Result<(), AllocError> {
        self.free.try_reserve(slots)
    }

    fn bytes(&self) -> usize {
        self.free.bytes()
    }

    fn validate(&self, words: &[u32]) -> Result<(), &'static str> {
        self.free.validate()?;
        let wrong =
            |(slot, word): (u32, &u32)| self.free.is_free(slot) != (generation::is_dead(*word) && *word != RETIRED);
        match (0..).zip(words).any(wrong) {
            true => Err("a free slot that is occupied or retired, or a vacant one that is not free"),
            false => Ok(()),
        }
    }
}

impl<K: ?Sized> fmt::Debug for Minted<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Minted({} free)", self.free.count())
    }
}

impl<T> SlotStore<T> {
    /// An empty store, which allocates nothing. For a kind of handles of your own, use [`Default`].
    pub const fn new() -> Self {
        SlottedStore::over(Minted { free: FreeSlots::new(), kind: PhantomData })
    }

    /// An empty store with room for `capacity` values.
    pub fn with_capacity(capacity: usize) -> Self {
        let mut store = Self::new();
        store.reserve(capacity);
        store
    }
}

impl<T, K: ?Sized> SlotStore<T, K> {
    /// Adds a value in the lowest vacant slot and returns its handle.
    #[inline]
    pub fn insert(&mut self, value: T) -> Handle<K> {
        if self.is_full() {
            infallible(self.try_grow_by(1));
        }
        // SAFETY: there is a vacant slot, or room for a new one.
        unsafe { self.commit(value) }
    }

    /// Adds a value in the lowest vacant slot and returns its handle, or gives the value back.
    ///
    /// # Errors
    ///
    /// If memory cannot be had; nothing changed.
    #[inline]
    pub fn try_insert(&mut self, value: T) -> Result<Handle<K>, Rejected<T>> {
        if self.is_full()
            && let Err(error) = self.try_grow_by(1)
        {
            return Err(Rejected { value, reason: error.into() });
        }
        // SAFETY: there is a vacant slot, or room for a new one.
        Ok(unsafe { self.commit(value) })
    }

    /// Adds a value that knows its own handle. If `make` panics, nothing happened.
    pub fn insert_with_key(&mut self, make: impl FnOnce(Handle<K>) -> T) -> Handle<K> {
        infallible(self.try_insert_with_key(make))
    }

    /// As [`insert_with_key`](SlotStore::insert_with_key).
    ///
    /// # Errors
    ///
    /// If memory cannot be had; then `make` is not called.
    pub fn try_insert_with_key(&mut self, make: impl FnOnce(Handle<K>) -> T) -> Result<Handle<K>, AllocError> {
        if self.is_full() {
            self.try_grow_by(1)?;
        }
        let next = match self.vacancy.free.count() {
            0 => Handle::new(self.slots, 0),
            _ => {
                // SAFETY: a slot is free; the words below `slots` are initialised.
                let (slot, word) = unsafe {
                    let slot = self.vacancy.free.peek();
                    (slot, *self.words.at(slot))
                };
                Handle::new(slot, generation::generation(word))
            }
        };
        let value = make(next);
        // SAFETY: there is a vacant slot, or room for a new one.
        Ok(unsafe { self.commit(value) })
    }

    /// The entry of a handle, if it names a value.
    pub fn entry(&mut self, handle: Handle<K>) -> Option<OccupiedEntry<'_, Self>> {
        OccupiedEntry::find(self, handle)
    }

    /// Makes room for `additional` more values.
    pub fn reserve(&mut self, additional: usize) {
        infallible(self.try_reserve(additional));
    }

    /// Makes room for `additional` more values.
    ///
    /// # Errors
    ///
    /// If memory cannot be had; nothing changed.
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), AllocError> {
        self.try_grow_by(u32::try_from(additional).map_err(|_| AllocError::CapacityOverflow)?)
    }

    /// Gives back all room above the highest slot. Vacant slots stay: they are what keeps old handles dead.
    pub fn shrink_to_fit(&mut self) {
        self.shrink_lanes();
        // What cannot be had smaller stays as it was, which is allowed.
        let _ = self.vacancy.free.try_shrink();
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
        self.try_clone_over(Minted { free: self.vacancy.free.try_clone()?, kind: PhantomData })
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        self.vacancy.free.count() == 0 && self.slots == self.room
    }

    #[cold]
    #[inline(never)]
    fn try_grow_by(&mut self, additional: u32) -> Result<(), AllocError> {
        let fresh = additional.saturating_sub(self.vacancy.free.count());
        let needed = self.slots.checked_add(fresh).filter(|n| generation::countable(*n));
        self.try_grow(needed.ok_or(AllocError::CapacityOverflow)?)
    }

    /// # Safety
    ///
    /// The store is not full.
    #[inline(always)]
    unsafe fn commit(&mut self, value: T) -> Handle<K> {
        // SAFETY: a free slot exists and is vacant, and is taken from the free ones; otherwise there is room for a new
        // slot, whose bit and word are initialised here.
        unsafe {
            if self.vacancy.free.count() > 0 {
                let slot = self.vacancy.free.take();
                let generation = generation::generation(*self.words.at(slot));
                self.values.at(slot).write(value);
                self.occupy(slot, generation);
                return Handle::new(slot, generation);
            }
            let slot = self.slots;
            self.vacancy.free.add_used();
            if slot.is_multiple_of(64) {
                self.bits.at(slot / 64).write(0);
            }
            self.slots = slot + 1;
            self.values.at(slot).write(value);
            self.occupy(slot, 0);
            Handle::new(slot, 0)
        }
    }
}

impl<T, K: ?Sized> MintingStore for SlotStore<T, K> {
    fn insert(&mut self, value: T) -> Handle<K> {
        self.insert(value)
    }
    fn try_insert(&mut self, value: T) -> Result<Handle<K>, Rejected<T>> {
        self.try_insert(value)
    }
}

impl<T, K: ?Sized> Default for SlotStore<T, K> {
    fn default() -> Self {
        SlottedStore::over(Minted { free: FreeSlots::new(), kind: PhantomData })
    }
}

impl<T: Clone, K: ?Sized> Clone for SlotStore<T, K> {
    /// The same values under the same handles, with the same future: dead handles are dead in the copy, and the next
    /// handles will be the same.
    fn clone(&self) -> Self {
        infallible(self.try_clone())
    }
}

impl<T, K: ?Sized> Extend<T> for SlotStore<T, K> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        let values = values.into_iter();
        let _ = self.try_reserve(believed::<T>(values.size_hint()));
        values.for_each(|value| {
            self.insert(value);
        });
    }
}

impl<T, K: ?Sized> FromIterator<T> for SlotStore<T, K> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut store = Self::default();
        store.extend(values);
        store
    }
}
