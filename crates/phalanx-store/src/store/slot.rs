//! [`SlotStore`]: values that stay at their slots, under handles of its own.
#![allow(unsafe_code)]

use super::primary::primary_store;
use super::slotted::{Vacancy, sealed};
use super::{OccupiedEntry, SlottedStore, TryInsertError};
use crate::generation::{self, DEAD, MAX_GENERATION, RETIRED};
use crate::raw::{Vacant, cold_path};
#[cfg(feature = "serde")]
use crate::restore::{Census, Refused, counted};
use crate::{AllocError, Handle};
#[cfg(feature = "serde")]
use alloc::vec::Vec;
use core::hint::assert_unchecked;
use core::marker::PhantomData;

/// A container that keeps values at fixed slots and issues their handles, which stay valid while others come and go.
///
/// It is for values that are mostly found by handle, or inserted and removed all the time. A look-up is one step, and
/// vacant slots are reused, the lowest first. Iterating costs a test for 64 slots, and goes in the order of the slots. An
/// element takes 4.1 bytes beside the value.
///
/// `K` is the kind of the handles, by default the type of the values; see [`Handle`].
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
#[doc(alias("SlotMap", "Arena", "slotmap", "generational_arena"))]
pub type SlotStore<T, K = T> = SlottedStore<Primary<K>, T>;

/// The [`SlottedStore`] parameter of a [`SlotStore`], which issues its handles.
///
/// Vacant slots are reused, the lowest first, under handles of the next generation.
#[derive(Debug)]
pub struct Primary<K: ?Sized> {
    vacant: Vacant,
    kind: PhantomData<fn() -> *const K>,
}

impl<K: ?Sized> Vacancy for Primary<K> {
    type Key = Handle<K>;
}

impl<K: ?Sized> sealed::Sealed for Primary<K> {
    const NEW: Self = Primary { vacant: Vacant::new(), kind: PhantomData };
    const UNUSED: u32 = DEAD;

    #[inline(always)]
    unsafe fn end(&mut self, word: *mut u32, generation: u32) {
        // SAFETY: `word` is the slot's own word and may be written.
        unsafe {
            // A generation has no dead bit, so this is one addition.
            word.write(generation + (DEAD + 1));
            if generation == MAX_GENERATION {
                cold_path();
                word.write(RETIRED);
                self.vacant.retire(1);
            }
        }
    }

    #[inline(always)]
    unsafe fn vacated(&mut self, word: u32, before: u64) {
        if self.vacant.unknown(before) {
            cold_path();
            // SAFETY: the slots of the word exist, so it is covered.
            unsafe { self.vacant.note(word) };
        }
    }

    fn end_all(&mut self, bits: &[u64], words: &mut [u32]) -> u32 {
        let mut retired = 0;
        for (_, words) in bits.iter().zip(words.chunks_mut(64)).filter(|(bits, _)| **bits != 0) {
            // A loop without branches over numbers: it is vectorised.
            for word in words {
                let ended = if *word == MAX_GENERATION { RETIRED } else { word.wrapping_add(DEAD + 1) };
                retired += u32::from(*word == MAX_GENERATION);
                *word = if generation::is_dead(*word) { *word } else { ended };
            }
        }
        self.vacant.retire(retired);
        words.len() as u32
    }

    fn adopt(&mut self, source: &Self) {
        self.vacant.adopt_retired(&source.vacant);
    }

    fn try_reserve(&mut self, slots: u32) -> Result<(), AllocError> {
        self.vacant.try_reserve(slots)
    }

    unsafe fn cover(&mut self, slots: u32) {
        // SAFETY: capacity is reserved for `slots`, and all used slots are among them, as this method asks for too.
        unsafe { self.vacant.cover(slots) };
    }

    fn shrink(&mut self) {
        // If shrinking fails, the larger block stays.
        let _ = self.vacant.try_shrink();
    }

    fn bytes(&self) -> usize {
        self.vacant.bytes()
    }

    fn validate(&self, bits: &[u64], words: &[u32], slots: u32) -> Result<(), &'static str> {
        self.vacant.validate(bits, words, slots)
    }
}

primary_store!(SlotStore, SlottedStore::empty(), "in the lowest vacant slot");

impl<T, K: ?Sized> SlotStore<T, K> {
    /// Creates a store of slots with these words, and these values in the live ones.
    #[cfg(feature = "serde")]
    pub(crate) fn try_restore(words: &[u32], values: Vec<T>) -> Result<Self, Refused> {
        let Census { live, .. } = Census::of(words, generation::MAX_SLOTS)?;
        counted("values of live slots", values.len(), live as usize)?;
        let mut store = Self::default();
        store.try_grow(words.len() as u32)?;
        let mut values = values.into_iter();
        for (&word, slot) in words.iter().zip(0..) {
            let value = if generation::is_dead(word) { None } else { values.next() };
            // SAFETY: all slots exist. This one is the first without a word; it gets a dead one, and then may be occupied.
            unsafe {
                store.cells.word(slot).write(word | DEAD);
                store.used += 1;
                if let Some(value) = value {
                    store.cells.value(slot).write(value);
                    store.occupy(slot, word);
                }
            }
        }
        let retired = words.iter().filter(|word| **word == RETIRED).count();
        store.vacancy.vacant.retire(retired as u32);
        Ok(store)
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        self.live == self.vacancy.vacant.usable()
    }

    #[cold]
    #[inline(never)]
    fn try_grow_by(&mut self, additional: u32) -> Result<(), AllocError> {
        // Retired slots count as used.
        let used = self.live + (self.slots - self.vacancy.vacant.usable());
        self.try_grow(used.checked_add(additional).ok_or(AllocError::CapacityOverflow)?)
    }

    /// Returns `true` if a slot below `used` is vacant and not retired.
    #[inline(always)]
    fn has_vacant(&self) -> bool {
        self.live < self.used - self.vacancy.vacant.retired()
    }

    /// Returns the handle that the next value gets.
    ///
    /// # Safety
    ///
    /// The store is not full.
    unsafe fn next_key(&mut self) -> Handle<K> {
        if !self.has_vacant() {
            return Handle::new(self.used, 0);
        }
        // SAFETY: a used slot is vacant. It exists, and its word is initialised.
        unsafe {
            let (slot, _, _) = self.vacancy.vacant.lowest(&self.bits, &self.cells);
            Handle::new(slot, generation::generation(*self.cells.word(slot as usize)))
        }
    }

    /// Stores a value in the lowest vacant slot.
    ///
    /// # Safety
    ///
    /// The store is not full.
    #[inline(always)]
    unsafe fn commit(&mut self, value: T) -> Handle<K> {
        // SAFETY: the store is not full, so a slot is vacant.
        // - If all used slots are occupied, none of them is retired. So another slot exists, and it is appended.
        // - If none is vacant and some are retired, the first slot that was not used exists too.
        // - Otherwise a used slot is found, and its word is initialised.
        unsafe {
            if self.live == self.used {
                self.cells.value(self.used as usize).write(value);
                return self.append(0);
            }
            let (slot, generation, bits, presence);
            if self.has_vacant() {
                (slot, bits, presence) = self.vacancy.vacant.lowest(&self.bits, &self.cells);
                generation = generation::generation(*self.cells.word(slot as usize));
            } else {
                (slot, generation) = (self.used, 0);
                bits = self.bits.at(slot / 64);
                presence = *bits | 1 << (slot % 64);
                self.used = slot + 1;
            }
            self.cells.value(slot as usize).write(value);
            self.cells.word(slot as usize).write(generation);
            bits.write(presence);
            self.live += 1;
            // Slots are fewer than `u32::MAX`.
            assert_unchecked(slot < u32::MAX);
            Handle::new(slot, generation)
        }
    }
}
