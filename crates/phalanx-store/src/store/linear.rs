//! [`LinearStore`]: values at the index of their keys.
#![allow(unsafe_code)]

use super::secondary::{admits, secondary_store};
use super::slotted::{Vacancy, sealed};
use super::{Rejection, SlottedStore, TryInsertError};
use crate::error::infallible;
use crate::generation::{RETIRED, is_dead};
use crate::{AllocError, Key};
use core::marker::PhantomData;
use core::mem;

/// A container that keeps values at the index of their keys, for values that nearly every entity (or handle) has.
///
/// It finds, inserts and removes fastest, without an index to go through. In exchange it takes memory for every index
/// up to the highest, used or not: the value's size, 4 bytes and a bit each. For rare values see
/// [`SparseSet`](crate::SparseSet).
///
/// A value belongs to a key of one generation. A key of an older one finds nothing; a later one may replace it.
///
/// ```
/// use phalanx_store::{EntityPool, LinearStore};
///
/// let mut entities = EntityPool::new();
/// let (a, b) = (entities.alloc(), entities.alloc());
/// let mut health = LinearStore::new();
/// health.insert(b, 100);
/// assert_eq!(health.get(a), None);
/// assert_eq!(health.remove(b), Some(100));
/// assert_eq!(health.remove(b), None);
/// assert_eq!(health.len(), 0);
/// ```
#[doc(alias("SecondaryMap", "VecStorage", "slotmap"))]
pub type LinearStore<K, T> = SlottedStore<Secondary<K>, T>;

/// The [`SlottedStore`] parameter of a [`LinearStore`], whose keys come from elsewhere.
#[derive(Debug)]
pub struct Secondary<K>(PhantomData<fn() -> K>);

impl<K: Key> Vacancy for Secondary<K> {
    type Key = K;
}

impl<K: Key> sealed::Sealed for Secondary<K> {
    const NEW: Self = Secondary(PhantomData);
    const UNUSED: u32 = RETIRED;

    #[inline(always)]
    unsafe fn end(&mut self, word: *mut u32, _: u32) {
        // SAFETY: `word` is the slot's own word and may be written.
        unsafe { word.write(RETIRED) };
    }

    #[inline(always)]
    unsafe fn vacated(&mut self, _: u32, _: u64) {}

    /// A vacant slot is like one that was never used.
    fn end_all(&mut self, _: &[u64], _: &mut [u32]) -> u32 {
        0
    }

    fn adopt(&mut self, _: &Self) {}

    fn try_reserve(&mut self, _: u32) -> Result<(), AllocError> {
        Ok(())
    }

    unsafe fn cover(&mut self, _: u32) {}

    fn shrink(&mut self) {}

    fn bytes(&self) -> usize {
        0
    }

    fn validate(&self, _: &[u64], _: &[u32], _: u32) -> Result<(), &'static str> {
        Ok(())
    }
}

/// What is at the slot of a key that a value is inserted under.
enum Place {
    /// The slot was not used, and all slots below it are occupied.
    Next,
    /// The slot is used and vacant.
    Vacant,
    /// The slot has a value that the key replaces.
    Occupied,
}

impl<K: Key, T> LinearStore<K, T> {
    /// Creates an empty store without allocating.
    pub const fn new() -> Self {
        SlottedStore::empty()
    }

    /// Creates an empty store with capacity for the values of the indices below `indices`.
    ///
    /// # Panics
    ///
    /// Panics if the capacity overflows; aborts if allocation fails.
    #[track_caller]
    pub fn with_capacity(indices: usize) -> Self {
        let mut store = Self::new();
        store.reserve(indices);
        store
    }

    /// Returns the generation whose value is present for an index.
    #[inline(always)]
    fn present(&self, index: u32) -> Option<u32> {
        // SAFETY: the slot is used, so its word is initialised.
        let word = (index < self.used).then(|| unsafe { *self.cells.word(index as usize) })?;
        (!is_dead(word)).then_some(word)
    }

    /// Reserves nothing: a size hint does not tell the highest index.
    fn reserve_for(&mut self, _: (usize, Option<usize>)) {}

    /// Makes sure that the key's slot exists. Returns what is there.
    #[inline(always)]
    fn try_place(&mut self, key: K) -> Result<Place, Rejection> {
        let slot = key.index();
        if slot >= self.used {
            // Keys that come in the order of their indices, without gaps, are appended.
            if slot == self.live && slot < self.slots {
                return Ok(Place::Next);
            }
            self.try_use(slot)?;
            return Ok(Place::Vacant);
        }
        // SAFETY: the slot is used, so its word is initialised.
        let word = unsafe { *self.cells.word(slot as usize) };
        if is_dead(word) {
            return Ok(Place::Vacant);
        }
        admits(key, word)?;
        Ok(Place::Occupied)
    }

    /// Makes all slots up to this one used, and vacant.
    #[inline(never)]
    fn try_use(&mut self, slot: u32) -> Result<(), AllocError> {
        if slot >= self.slots {
            self.try_grow(slot + 1)?;
        }
        for skipped in self.used..=slot {
            // SAFETY: the slot exists.
            unsafe { self.cells.word(skipped as usize).write(RETIRED) };
        }
        self.used = slot + 1;
        Ok(())
    }

    /// Stores the value of a key, and returns the value that it replaces.
    ///
    /// # Safety
    ///
    /// `place` was returned by [`try_place`](LinearStore::try_place) for this key, and nothing has happened since.
    #[inline(always)]
    unsafe fn fill(&mut self, place: Place, key: K, value: T) -> Option<T> {
        let slot = key.index() as usize;
        // SAFETY: if the slot is the next one, all below it are occupied, and it exists. Otherwise it is used. If it is occupied,
        // its word may be changed to another generation, and its value is initialised.
        unsafe {
            if matches!(place, Place::Next) {
                self.cells.value(slot).write(value);
                self.append(key.generation());
                return None;
            }
            if matches!(place, Place::Occupied) {
                self.cells.word(slot).write(key.generation());
                return Some(mem::replace(&mut *self.cells.value(slot), value));
            }
            self.cells.value(slot).write(value);
            self.occupy(slot, key.generation());
        }
        None
    }

    /// Reserves capacity for the values of the indices below `indices`.
    ///
    /// # Panics
    ///
    /// Panics if the capacity overflows; aborts if allocation fails.
    #[track_caller]
    pub fn reserve(&mut self, indices: usize) {
        infallible(self.try_reserve(indices));
    }

    /// Reserves capacity for the values of the indices below `indices`.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::CapacityOverflow`] if there are not as many indices, or [`AllocError::OutOfMemory`] if
    /// allocation fails. No value changes.
    pub fn try_reserve(&mut self, indices: usize) -> Result<(), AllocError> {
        self.try_grow(u32::try_from(indices).map_err(|_| AllocError::CapacityOverflow)?)
    }
}

secondary_store!(LinearStore);
