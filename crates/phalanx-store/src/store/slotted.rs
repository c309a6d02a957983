//! [`SlottedStore`]: what [`SlotStore`](crate::SlotStore) and [`LinearStore`](crate::LinearStore) share, all but the making
//! of keys.
//!
//! # Representation
//!
//! Slots `0..slots` exist: as many as all blocks have capacity for. Slots `0..used` have a generation word; those above
//! were never used, so growing writes no words. Each slot has a presence bit. The bit is set if and only if there is a word
//! that is not dead, and only then is the value initialised. `ceil(slots / 64)` words of bits are initialised, and bits past
//! the last slot are zero. The [`Vacancy`] decides the word of a vacant slot, and how vacant slots are found again.
//!
//! What is done to all values at once is in `slotted_bulk`.
#![allow(unsafe_code)]

use super::DisjointError;
use super::disjoint::disjoint;
use super::traits::{forward_store, std_traits};
use crate::cursor::BitCursor;
use crate::entity::sealed::Sealed as _;
use crate::generation::{self, is_dead};
use crate::iter::{Iter, IterMut, Keys, Values, ValuesMut};
use crate::memory::Usage;
use crate::raw::{Cells, LaneOf};
use crate::{AllocError, Key};
use core::hash::{Hash, Hasher};
use core::hint::assert_unchecked;
use core::mem;

/// The treatment of vacant slots. Sealed: [`Primary`](crate::Primary) reuses them under new handles,
/// [`Secondary`](crate::Secondary) leaves them to their keys.
pub trait Vacancy: sealed::Sealed {
    /// The key that names a slot.
    type Key: Key;
}

pub(crate) mod sealed {
    use crate::AllocError;

    #[allow(unsafe_code)]
    pub trait Sealed: Sized {
        /// The vacancy of a container without slots.
        const NEW: Self;
        /// The word of a slot that was never used, where it has one.
        const UNUSED: u32;
        /// Sets the word of a slot whose occupant of `generation` is removed.
        ///
        /// # Safety
        ///
        /// `word` is the slot's word, which is the generation and may be written.
        unsafe fn end(&mut self, word: *mut u32, generation: u32);
        /// Notes that slots of a presence word have become vacant. `before` are its bits before that.
        ///
        /// # Safety
        ///
        /// The word's slots exist.
        unsafe fn vacated(&mut self, word: u32, before: u64);
        /// Sets the words of all used slots, as if each occupant were removed. `bits` are their presence bits. Returns how
        /// many of them are used then.
        fn end_all(&mut self, bits: &[u64], words: &mut [u32]) -> u32;
        /// Takes over from a container whose words are copied how many of them are retired. All slots are covered next.
        fn adopt(&mut self, source: &Self);
        /// Reserves capacity for `slots` slots.
        fn try_reserve(&mut self, slots: u32) -> Result<(), AllocError>;
        /// Covers `slots` slots, more or fewer than before, all of which may be vacant.
        ///
        /// # Safety
        ///
        /// Capacity is reserved for them, and all slots ever used are among them.
        unsafe fn cover(&mut self, slots: u32);
        /// Frees capacity that the covered slots do not need.
        fn shrink(&mut self);
        /// Returns the number of bytes allocated.
        fn bytes(&self) -> usize;
        /// Checks the notes against the container: its bits, the words of used slots, and the number of slots.
        fn validate(&self, bits: &[u64], words: &[u32], slots: u32) -> Result<(), &'static str>;
    }
}

/// A container of values at their slots, with presence bits that are scanned 64 at a time.
///
/// This is [`SlotStore`](crate::SlotStore) and [`LinearStore`](crate::LinearStore), which differ in where the keys come
/// from. Values move only when the container grows or shrinks. The order is that of the slots.
///
/// Two stores are equal if they have equal values under the same keys. So a store can be hashed. It has no order: indices
/// come from the history of a program, so comparing them tells nothing about the values. To order stores by their values,
/// use [`Iterator::cmp`] of [`values`](SlottedStore::values).
pub struct SlottedStore<V: Vacancy, T> {
    pub(crate) cells: Cells<T>,
    pub(crate) bits: LaneOf<u64>,
    pub(crate) slots: u32,
    pub(crate) used: u32,
    pub(crate) live: u32,
    pub(crate) vacancy: V,
}

impl<V: Vacancy, T> SlottedStore<V, T> {
    pub(crate) const fn empty() -> Self {
        SlottedStore { cells: Cells::new(), bits: LaneOf::new(), slots: 0, used: 0, live: 0, vacancy: V::NEW }
    }

    /// Returns the number of values.
    #[inline]
    pub fn len(&self) -> usize {
        self.live as usize
    }

    /// Returns `true` if there are no values.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Returns the number of slots that exist. Values move in memory when more are needed.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.slots as usize
    }

    #[inline(always)]
    pub(crate) fn find(&self, key: V::Key) -> Option<usize> {
        // The index plus one is compared. Then the subtraction becomes part of each address.
        let position = key.position();
        if position > self.used {
            return None;
        }
        let slot = position as usize - 1;
        // SAFETY: the words below `used` are initialised. A key's generation never has the dead bit, so it equals the
        // word of an occupied slot only.
        (unsafe { *self.cells.word(slot) } == key.generation()).then_some(slot)
    }

    /// Returns `true` if `key` names a value.
    #[doc(alias = "contains_key")]
    #[inline]
    pub fn contains(&self, key: V::Key) -> bool {
        self.find(key).is_some()
    }

    /// Returns a reference to the value of a key.
    #[inline]
    pub fn get(&self, key: V::Key) -> Option<&T> {
        let slot = self.find(key)?;
        // SAFETY: the slot is occupied, so its value is initialised.
        Some(unsafe { &*self.cells.value(slot) })
    }

    /// Returns a mutable reference to the value of a key.
    #[inline]
    pub fn get_mut(&mut self, key: V::Key) -> Option<&mut T> {
        let slot = self.find(key)?;
        // SAFETY: the slot is occupied, so its value is initialised; the store is borrowed exclusively.
        Some(unsafe { &mut *self.cells.value(slot) })
    }

    /// Returns mutable references to the values of several keys.
    ///
    /// # Errors
    ///
    /// Returns [`DisjointError::Absent`] if a key names no value, or [`DisjointError::Repeated`] if two keys name the same.
    pub fn get_disjoint_mut<const N: usize>(&mut self, keys: [V::Key; N]) -> Result<[&mut T; N], DisjointError> {
        // SAFETY: the values are borrowed exclusively, and slots that are found are occupied.
        unsafe { disjoint(self.cells.values(), |at| self.find(keys[at]).map(|slot| slot as u32)) }
    }

    /// Replaces the value of a key and returns the old one.
    ///
    /// Returns `None` if the key names no value; then `value` is dropped.
    pub fn replace(&mut self, key: V::Key, value: T) -> Option<T> {
        self.get_mut(key).map(|place| mem::replace(place, value))
    }

    /// Removes and returns the value of a key.
    #[inline]
    pub fn remove(&mut self, key: V::Key) -> Option<T> {
        let slot = self.find(key)?;
        // SAFETY: the slot is occupied. It is made vacant; then its value belongs to this function alone. (Read last, the value
        // is moved once.)
        unsafe {
            self.vacate(slot, key.generation());
            Some(self.cells.value(slot).read())
        }
    }

    /// Makes a slot vacant; its value counts as moved out.
    ///
    /// # Safety
    ///
    /// The slot is occupied, under this generation.
    #[inline(always)]
    pub(super) unsafe fn vacate(&mut self, slot: usize, generation: u32) {
        let word = slot as u32 / 64;
        // SAFETY: an occupied slot has a word, its generation, and a bit.
        unsafe {
            let bits = self.bits.at(word);
            let before = *bits;
            *bits = before & !(1 << (slot % 64));
            self.live -= 1;
            self.vacancy.end(self.cells.word(slot), generation);
            self.vacancy.vacated(word, before);
        }
    }

    /// Makes a vacant slot, whose value was just written, occupied.
    ///
    /// # Safety
    ///
    /// The slot is vacant and below `used`, and its value is initialised.
    #[inline(always)]
    pub(crate) unsafe fn occupy(&mut self, slot: usize, generation: u32) {
        // SAFETY: a used slot has a word and a bit.
        unsafe {
            self.cells.word(slot).write(generation);
            *self.bits.at(slot as u32 / 64) |= 1 << (slot % 64);
        }
        self.live += 1;
    }

    /// Makes the first slot that was not used, whose value was just written, occupied. Returns its key.
    ///
    /// # Safety
    ///
    /// All used slots are occupied, and there are others. The value of the first of them is initialised.
    #[inline(always)]
    pub(crate) unsafe fn append(&mut self, generation: u32) -> V::Key {
        let slot = self.used;
        // SAFETY: the slot exists, so it has a word and a bit. The bits of all slots below it are set. So the presence word is
        // written without being read, and the next insertion does not wait for it. Slots are fewer than `u32::MAX`.
        unsafe {
            self.cells.word(slot as usize).write(generation);
            self.bits.at(slot / 64).write(u64::MAX >> (63 - slot % 64));
            assert_unchecked(slot < u32::MAX);
            (self.used, self.live) = (slot + 1, slot + 1);
            V::Key::from_parts(slot, generation)
        }
    }

    /// Makes sure that `slots` slots exist, at least doubling their number.
    #[cold]
    #[inline(never)]
    pub(crate) fn try_grow(&mut self, slots: u32) -> Result<(), AllocError> {
        if slots <= self.slots {
            return Ok(());
        }
        if !generation::countable(slots) {
            return Err(AllocError::CapacityOverflow);
        }
        // SAFETY: the first `used` are in use, and no pointer to a cell outlives the borrow of the store.
        unsafe { self.cells.try_grow(self.used, slots)? };
        let slots = self.cells.capacity();
        let bits = slots.div_ceil(64);
        if bits > self.bits.capacity() {
            // SAFETY: the capacity grows.
            unsafe { self.bits.try_resize(bits)? };
        }
        self.vacancy.try_reserve(slots)?;
        // SAFETY: all blocks and the vacancy have capacity for `slots` slots.
        unsafe {
            for at in self.slots.div_ceil(64)..bits {
                self.bits.at(at).write(0);
            }
            self.vacancy.cover(slots);
        }
        self.slots = slots;
        Ok(())
    }

    /// Returns the presence bits of used slots.
    #[inline]
    pub(crate) fn presence(&self) -> &[u64] {
        // SAFETY: `ceil(slots / 64)` words of bits are initialised, and `used` is at most `slots`.
        unsafe { self.bits.slice(self.used.div_ceil(64)) }
    }

    /// Returns the words of used slots.
    #[inline]
    pub(crate) fn words(&self) -> &[u32] {
        // SAFETY: the words below `used` are initialised.
        unsafe { self.cells.words(self.used) }
    }

    /// Returns the words up to the last slot ever used.
    pub(crate) fn used_words(&self) -> &[u32] {
        let words = self.words();
        &words[..words.iter().rposition(|word| *word != V::UNUSED).map_or(0, |last| last + 1)]
    }

    #[inline]
    fn cursor(&self) -> BitCursor<'_, V::Key> {
        BitCursor::new(self.presence(), self.words(), self.live)
    }

    /// Iterates over keys and values, in order.
    #[inline]
    pub fn iter(&self) -> Iter<'_, BitCursor<'_, V::Key>, T> {
        // SAFETY: the values of the cursor's own store, borrowed with it.
        unsafe { Iter::new(self.cursor(), self.cells.values()) }
    }

    /// Iterates over keys and mutable values, in order.
    #[inline]
    pub fn iter_mut(&mut self) -> IterMut<'_, BitCursor<'_, V::Key>, T> {
        let values = self.cells.values();
        // SAFETY: the values of the cursor's own store, which is borrowed exclusively; the cursor reads bits and words.
        unsafe { IterMut::new(self.cursor(), values) }
    }

    /// Iterates over the values, in order.
    #[inline]
    pub fn values(&self) -> Values<'_, BitCursor<'_, V::Key>, T> {
        // SAFETY: the values of the cursor's own store, borrowed with it.
        unsafe { Values::new(self.cursor(), self.cells.values()) }
    }

    /// Iterates over mutable values, in order.
    #[inline]
    pub fn values_mut(&mut self) -> ValuesMut<'_, BitCursor<'_, V::Key>, T> {
        let values = self.cells.values();
        // SAFETY: the values of the cursor's own store, which is borrowed exclusively; the cursor reads bits and words.
        unsafe { ValuesMut::new(self.cursor(), values) }
    }

    /// Iterates over the keys, in the order of the values.
    #[inline]
    pub fn keys(&self) -> Keys<'_, BitCursor<'_, V::Key>> {
        Keys::new(self.cursor())
    }

    /// Shrinks the capacity to the highest slot ever used. Used slots stay, as they keep old handles dead.
    pub fn shrink_to_fit(&mut self) {
        (self.used, self.slots) = (self.used_words().len() as u32, self.used_words().len() as u32);
        // SAFETY: nothing at or above `slots` is in use, nor bits above theirs. If shrinking fails, the larger block stays.
        // The vacancy has capacity for fewer slots than before.
        unsafe {
            let _ = self.cells.try_resize(self.slots, self.slots);
            let _ = self.bits.try_resize(self.slots.div_ceil(64));
            self.vacancy.cover(self.slots);
        }
        self.vacancy.shrink();
    }

    /// Returns the key of the value in a slot, by the index of the slot.
    ///
    /// This is for indices that come back without a generation, for example from a graphics card.
    ///
    /// ```
    /// use phalanx_store::SlotStore;
    ///
    /// let mut store = SlotStore::new();
    /// let a = store.insert("a");
    /// assert_eq!(store.key_of_index(a.index()), Some(a));
    /// store.remove(a);
    /// assert_eq!(store.key_of_index(a.index()), None);
    /// ```
    #[doc(alias("contains_slot", "get_by_slot", "remove_by_slot"))]
    pub fn key_of_index(&self, index: u32) -> Option<V::Key> {
        let word = *self.words().get(index as usize)?;
        // SAFETY: a word that is not dead is the generation of the slot's key.
        (!is_dead(word)).then(|| unsafe { <V::Key as crate::entity::sealed::Sealed>::from_parts(index, word) })
    }

    /// Returns the bytes allocated by the store.
    pub fn memory(&self) -> Usage {
        Usage {
            values: self.cells.value_bytes(),
            keys: self.cells.word_bytes(),
            index: self.bits.bytes() + self.vacancy.bytes(),
        }
    }

    /// Checks every invariant of the store.
    ///
    /// # Errors
    ///
    /// Returns a sentence that names the invariant that does not hold. Safe code cannot cause one.
    pub fn validate(&self) -> Result<(), &'static str> {
        if self.slots > self.cells.capacity() || self.slots.div_ceil(64) > self.bits.capacity() {
            return Err("more slots than room");
        }
        if self.used > self.slots {
            return Err("more used slots than there are");
        }
        // SAFETY: `ceil(slots / 64)` words of bits are initialised.
        let bits = unsafe { self.bits.slice(self.slots.div_ceil(64)) };
        let words = self.words();
        let bit = |slot: usize| bits[slot / 64] & 1 << (slot % 64) != 0;
        if words.iter().enumerate().any(|(slot, word)| is_dead(*word) == bit(slot)) {
            return Err("a presence bit that contradicts its generation word");
        }
        // Those of used slots are right, so one too many is a bit of another.
        if bits.iter().map(|w| w.count_ones()).sum::<u32>() != self.live {
            return Err("values miscounted");
        }
        self.vacancy.validate(bits, words, self.slots)
    }
}

impl<V: Vacancy, T: Hash> Hash for SlottedStore<V, T> {
    /// Hashes the number of values, and the keys and values in the order of the slots.
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.len());
        self.iter().for_each(|(key, value)| {
            state.write_u32(key.index());
            state.write_u32(key.generation());
            value.hash(state);
        });
    }
}

impl<V: Vacancy, T> Default for SlottedStore<V, T> {
    fn default() -> Self {
        Self::empty()
    }
}

forward_store!([V: Vacancy, T] SlottedStore<V, T>, V::Key, T);
std_traits!([V: Vacancy, T] SlottedStore<V, T>, V::Key, T, BitCursor<V::Key>);
