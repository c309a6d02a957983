//! [`SlotStore`]: values that stay at their slots, behind handles of its own.
#![allow(unsafe_code)]

use super::slotted::{Vacancy, sealed};
use super::traits::{Rejected, believed};
use super::{MintingStore, OccupiedEntry, SlottedStore};
use crate::error::infallible;
use crate::generation::{self, DEAD, MAX_GENERATION, RETIRED};
use crate::raw::Vacant;
#[cfg(feature = "serde")]
use crate::serial::{self, Census, Refused};
use crate::{AllocError, Handle};
#[cfg(feature = "serde")]
use alloc::vec::Vec;
use core::hint::assert_unchecked;
use core::marker::PhantomData;

/// Values that stay where they were put, behind handles that stay valid while others come and go.
///
/// The container for things that are mostly found by handle, or come and go all the time: reading is one step, and a
/// slot that becomes free is used again. Walking over it costs a test for 64 slots. Beyond the value, an element takes 4.1
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

/// The vacancy of a [`SlotStore`]: vacant slots are reused, the lowest first, under handles of the next generation.
#[derive(Debug)]
pub struct Minted<K: ?Sized> {
    vacant: Vacant,
    kind: PhantomData<fn() -> *const K>,
}

impl<K: ?Sized> Vacancy for Minted<K> {
    type Key = Handle<K>;
}

impl<K: ?Sized> sealed::Sealed for Minted<K> {
    const NEW: Self = Minted { vacant: Vacant::new(), kind: PhantomData };
    const UNUSED: u32 = DEAD;

    #[inline(always)]
    unsafe fn vacate(&mut self, slot: u32, word: *mut u32, generation: u32, before: u64) {
        // SAFETY: the slot's own word, by the caller's promise; it exists, so it is covered.
        unsafe {
            word.write(DEAD | (generation + 1));
            if generation == MAX_GENERATION {
                word.write(RETIRED);
                self.vacant.retire();
            } else if self.vacant.unknown(before) {
                self.vacant.note(slot);
            }
        }
    }

    unsafe fn note(&mut self, slot: u32, word: u32) {
        if word == RETIRED {
            self.vacant.retire();
        } else {
            // SAFETY: the slot exists, so it is covered.
            unsafe { self.vacant.note(slot) };
        }
    }

    fn try_reserve(&mut self, slots: u32) -> Result<(), AllocError> {
        self.vacant.try_reserve(slots)
    }

    unsafe fn cover(&mut self, slots: u32) {
        // SAFETY: there is room, by the caller's promise.
        unsafe { self.vacant.cover(slots) };
    }

    fn shrink(&mut self) {
        // What cannot be had smaller stays as it was.
        let _ = self.vacant.try_shrink();
    }

    fn bytes(&self) -> usize {
        self.vacant.bytes()
    }

    fn validate(&self, bits: &[u64], words: &[u32]) -> Result<(), &'static str> {
        self.vacant.validate(bits, words)
    }
}

impl<T> SlotStore<T> {
    /// An empty store, which allocates nothing. For a kind of handles of your own, use [`Default`].
    pub const fn new() -> Self {
        SlottedStore::empty()
    }

    /// An empty store with room for `capacity` values.
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> Self {
        let mut store = Self::new();
        store.reserve(capacity);
        store
    }
}

impl<T, K: ?Sized> SlotStore<T, K> {
    /// Adds a value in the lowest vacant slot and returns its handle.
    #[inline]
    #[track_caller]
    pub fn insert(&mut self, value: T) -> Handle<K> {
        if self.is_full() {
            infallible(self.try_grow_by(1));
        }
        // SAFETY: not full.
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
        // SAFETY: not full.
        Ok(unsafe { self.commit(value) })
    }

    /// Adds a value that knows its own handle. If `make` panics, nothing happened.
    #[track_caller]
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
        // SAFETY: the store is not full, so a slot is vacant; the words below `slots` are initialised.
        let next = unsafe {
            let (slot, _, _) = self.vacancy.vacant.lowest(&self.bits, &self.cells);
            Handle::new(slot, generation::generation(*self.cells.word(slot)))
        };
        let value = make(next);
        // SAFETY: not full.
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
        self.try_grow_by(u32::try_from(additional).map_err(|_| AllocError::CapacityOverflow)?)
    }

    /// A store of slots with these words, and these values in the live ones.
    #[cfg(feature = "serde")]
    pub(crate) fn try_restore(words: &[u32], values: Vec<T>) -> Result<Self, Refused> {
        let Census { live, .. } = Census::of(words, generation::MAX_SLOTS)?;
        serial::counted("values of live slots", values.len(), live as usize)?;
        let mut store = Self::default();
        store.try_grow(words.len() as u32)?;
        let mut values = values.into_iter();
        for (&word, slot) in words.iter().zip(0_u32..) {
            let value = if generation::is_dead(word) { None } else { values.next() };
            // SAFETY: so many slots exist, and are vacant. One gets a dead word, and is noted if it is retired, or
            // occupied.
            unsafe {
                store.cells.word(slot).write(word | DEAD);
                match value {
                    Some(value) => {
                        store.cells.value(slot).write(value);
                        store.occupy(slot, 1 << (slot % 64), word);
                    }
                    None => sealed::Sealed::note(&mut store.vacancy, slot, word),
                }
            }
        }
        Ok(store)
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        self.live == self.vacancy.vacant.usable()
    }

    #[cold]
    #[inline(never)]
    fn try_grow_by(&mut self, additional: u32) -> Result<(), AllocError> {
        // Those that are retired are used too.
        let used = self.live + (self.slots - self.vacancy.vacant.usable());
        self.try_grow(used.checked_add(additional).ok_or(AllocError::CapacityOverflow)?)
    }

    /// # Safety
    ///
    /// The store is not full.
    #[inline(always)]
    unsafe fn commit(&mut self, value: T) -> Handle<K> {
        // SAFETY: not full, so a slot is vacant; it exists, and its word is initialised.
        unsafe {
            let (slot, bits, presence) = self.vacancy.vacant.lowest(&self.bits, &self.cells);
            let word = self.cells.word(slot);
            let generation = generation::generation(*word);
            self.cells.value(slot).write(value);
            word.write(generation);
            bits.write(presence);
            self.live += 1;
            // Slots are fewer than `u32::MAX`.
            assert_unchecked(slot < u32::MAX);
            Handle::new(slot, generation)
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
