//! [`SlottedStore`]: what [`SlotStore`](crate::SlotStore) and [`LinearStore`](crate::LinearStore) share, all but the making
//! of keys.
//!
//! # Representation
//!
//! Slots `0..slots` exist: as many as all blocks have capacity for. Each has a generation word and a presence bit. The
//! bit is set if and only if the word is not dead, and only then is its value initialised. `ceil(slots / 64)` words of
//! bits are initialised, and bits past the last slot are zero. The [`Vacancy`] decides the word of a vacant slot, and how
//! vacant slots are found again.
#![allow(unsafe_code)]

use super::DisjointError;
use super::disjoint::disjoint;
use super::traits::{forward_store, std_traits};
use crate::cursor::BitCursor;
use crate::error::infallible;
use crate::generation::{self, is_dead};
use crate::iter::{Drain, Emptying, Iter, IterMut, Keys, Values, ValuesMut};
use crate::memory::Usage;
use crate::raw::{Cells, LaneOf};
use crate::{AllocError, Key};
use core::hash::{Hash, Hasher};
use core::{mem, ptr};

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
        /// The word of a slot that was never used.
        const UNUSED: u32;
        /// Sets the word of a slot whose occupant of `generation` is removed, and notes that it is vacant. `before` is its
        /// presence word before the removal.
        ///
        /// # Safety
        ///
        /// The slot exists, and `word` is its word, which is the generation and may be written.
        unsafe fn vacate(&mut self, slot: u32, word: *mut u32, generation: u32, before: u64);
        /// Notes a slot that is vacant under this word, which is not that of an unused slot.
        ///
        /// # Safety
        ///
        /// The slot exists.
        unsafe fn note(&mut self, slot: u32, word: u32);
        /// Reserves capacity for `slots` slots.
        fn try_reserve(&mut self, slots: u32) -> Result<(), AllocError>;
        /// Covers `slots` slots, more or fewer than before, all of which may be vacant.
        ///
        /// # Safety
        ///
        /// Capacity is reserved for them, and all slots ever used are among them.
        unsafe fn cover(&mut self, slots: u32);
        /// Forgets which slots were retired, before the words of all slots are set again and covered.
        fn forget(&mut self);
        /// Frees capacity that the covered slots do not need.
        fn shrink(&mut self);
        /// Returns the number of bytes allocated.
        fn bytes(&self) -> usize;
        /// Checks the notes against the container.
        fn validate(&self, bits: &[u64], words: &[u32]) -> Result<(), &'static str>;
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
    pub(crate) live: u32,
    pub(crate) vacancy: V,
}

impl<V: Vacancy, T> SlottedStore<V, T> {
    pub(crate) const fn empty() -> Self {
        SlottedStore { cells: Cells::new(), bits: LaneOf::new(), slots: 0, live: 0, vacancy: V::NEW }
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
    pub(crate) fn find(&self, key: V::Key) -> Option<u32> {
        let slot = key.index();
        // SAFETY: the words below `slots` are initialised. A key's generation never has the dead bit, so it equals the
        // word of an occupied slot only.
        (slot < self.slots && unsafe { *self.cells.word(slot) } == key.generation()).then_some(slot)
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
        unsafe { disjoint(self.cells.values(), |at| self.find(keys[at])) }
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
    unsafe fn vacate(&mut self, slot: u32, generation: u32) {
        // SAFETY: an occupied slot has a word, its generation, and a bit.
        unsafe {
            let bits = self.bits.at(slot / 64);
            let before = *bits;
            *bits = before & !(1 << (slot % 64));
            self.live -= 1;
            self.vacancy.vacate(slot, self.cells.word(slot), generation, before);
        }
    }

    /// Removes and returns the value of a slot, with its key.
    ///
    /// # Safety
    ///
    /// The slot is occupied.
    #[inline(always)]
    unsafe fn take_at(&mut self, slot: u32) -> (V::Key, T) {
        // SAFETY: the slot is occupied, so its word is the generation of its key. Its value is read once, and the slot is vacant
        // then.
        unsafe {
            let key = <V::Key as crate::entity::sealed::Sealed>::from_parts(slot, *self.cells.word(slot));
            let value = self.cells.value(slot).read();
            self.vacate(slot, key.generation());
            (key, value)
        }
    }

    /// Makes a vacant slot, whose value was just written, occupied.
    ///
    /// # Safety
    ///
    /// The slot exists and is vacant, `bit` is its presence bit, and its value is initialised.
    #[inline(always)]
    pub(crate) unsafe fn occupy(&mut self, slot: u32, bit: u64, generation: u32) {
        // SAFETY: a slot that exists has a word and a bit.
        unsafe {
            self.cells.word(slot).write(generation);
            *self.bits.at(slot / 64) |= bit;
        }
        self.live += 1;
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
        // SAFETY: the first `slots` are in use, and no pointer to a cell outlives the borrow of the store.
        unsafe { self.cells.try_grow(self.slots, slots)? };
        let slots = self.cells.capacity();
        let bits = slots.div_ceil(64);
        if bits > self.bits.capacity() {
            // SAFETY: the capacity grows.
            unsafe { self.bits.try_resize(bits)? };
        }
        self.vacancy.try_reserve(slots)?;
        // SAFETY: all blocks and the vacancy have capacity for `slots` slots.
        unsafe {
            for slot in self.slots..slots {
                self.cells.word(slot).write(V::UNUSED);
            }
            for at in self.slots.div_ceil(64)..bits {
                self.bits.at(at).write(0);
            }
            self.vacancy.cover(slots);
        }
        self.slots = slots;
        Ok(())
    }

    /// Keeps the values for which `keep` returns `true` and drops the others.
    ///
    /// If `keep` or a destructor panics, all later values are kept.
    pub fn retain(&mut self, mut keep: impl FnMut(V::Key, &mut T) -> bool) {
        let mut from = 0;
        while let Some(slot) = self.occupied_from(from) {
            // SAFETY: the slot is occupied. It is vacated before its value is dropped; then the value belongs to this function
            // alone.
            unsafe {
                let key = <V::Key as crate::entity::sealed::Sealed>::from_parts(slot, *self.cells.word(slot));
                let value = self.cells.value(slot);
                if !keep(key, &mut *value) {
                    self.vacate(slot, key.generation());
                    ptr::drop_in_place(value);
                }
            }
            from = slot + 1;
        }
    }

    /// Returns the first occupied slot at or after `from`.
    fn occupied_from(&self, from: u32) -> Option<u32> {
        let bits = self.presence();
        let first = bits.get(from as usize / 64)? & u64::MAX << (from % 64);
        if first != 0 {
            return Some(from / 64 * 64 + first.trailing_zeros());
        }
        let after = from as usize / 64 + 1;
        let word = bits[after..].iter().position(|w| *w != 0)?;
        Some((after + word) as u32 * 64 + bits[after + word].trailing_zeros())
    }

    /// Returns the last occupied slot before `to`.
    fn occupied_before(&self, to: u32) -> Option<u32> {
        let bits = self.presence();
        let to = to.min(self.slots);
        let last = bits.get(to as usize / 64).map_or(0, |word| word & !(u64::MAX << (to % 64)));
        if last != 0 {
            return Some(to / 64 * 64 + 63 - last.leading_zeros());
        }
        let word = bits[..to as usize / 64].iter().rposition(|w| *w != 0)?;
        Some(word as u32 * 64 + 63 - bits[word].leading_zeros())
    }

    /// Drops all values. All keys are dead then, and the capacity is kept.
    pub fn clear(&mut self) {
        drop(self.drain());
    }

    /// Removes all values and iterates over them, in order. Values that are not taken are dropped with the iterator.
    ///
    /// If the iterator is leaked, the values that are left stay in the store.
    pub fn drain(&mut self) -> Drain<'_, Self> {
        Drain::new(self)
    }

    #[inline]
    pub(crate) fn presence(&self) -> &[u64] {
        // SAFETY: `ceil(slots / 64)` words of bits are initialised.
        unsafe { self.bits.slice(self.slots.div_ceil(64)) }
    }

    #[inline]
    pub(crate) fn words(&self) -> &[u32] {
        // SAFETY: the words below `slots` are initialised.
        unsafe { self.cells.words(self.slots) }
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
        self.slots = self.used_words().len() as u32;
        // SAFETY: nothing at or above `slots` is in use, nor bits above theirs. If shrinking fails, the larger block stays.
        // The vacancy has capacity for fewer slots than before.
        unsafe {
            let _ = self.cells.try_resize(self.slots, self.slots);
            let _ = self.bits.try_resize(self.slots.div_ceil(64));
            self.vacancy.cover(self.slots);
        }
        self.vacancy.shrink();
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
        let mut copy = Self::empty();
        copy.try_grow(self.slots)?;
        copy.fill_from(self);
        Ok(copy)
    }

    /// Makes this store a clone of another, in the memory that it has. All values are dropped first.
    ///
    /// If a destructor panics, the store is empty. If a clone panics, it has the values that were cloned before.
    ///
    /// ```
    /// use phalanx_store::SlotStore;
    ///
    /// let mut present = SlotStore::from(["a", "b"]);
    /// let mut past = SlotStore::new();
    /// past.try_clone_from(&present)?;
    /// present.insert("c");
    /// assert!(past.values().eq(&["a", "b"]));
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
        self.try_grow(source.slots)?;
        self.clear();
        self.fill_from(source);
        Ok(())
    }

    /// Clones the values and the words of another store. Slots that the other does not have become unused.
    ///
    /// # Panics
    ///
    /// Panics if this store has values, or fewer slots.
    fn fill_from(&mut self, source: &Self)
    where
        T: Clone,
    {
        assert!(self.live == 0 && self.slots >= source.slots, "an empty store with slots");
        // All slots are vacant at first. A slot is occupied after its value was cloned. So a panic in a clone leaves a store
        // that has the values before it.
        self.vacancy.forget();
        for slot in 0..self.slots {
            let word = source.words().get(slot as usize).map_or(V::UNUSED, |word| word | generation::DEAD);
            // SAFETY: the slot exists.
            unsafe { self.cells.word(slot).write(word) };
        }
        // SAFETY: the slots exist, so capacity is reserved for them, and no other slot was used.
        unsafe { self.vacancy.cover(self.slots) };
        for (&word, slot) in source.words().iter().zip(0..) {
            if word == generation::RETIRED && V::UNUSED != generation::RETIRED {
                // SAFETY: the slot exists.
                unsafe { self.vacancy.note(slot, word) };
            }
        }
        let mut from = 0;
        while let Some(slot) = source.occupied_from(from) {
            // SAFETY: the slot is occupied in the source; it exists and is vacant in the copy.
            unsafe {
                self.cells.value(slot).write((*source.cells.value(slot)).clone());
                self.occupy(slot, 1 << (slot % 64), *source.cells.word(slot));
            }
            from = slot + 1;
        }
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
        let words = self.words();
        let bit = |slot: usize| self.presence()[slot / 64] & 1 << (slot % 64) != 0;
        if words.iter().enumerate().any(|(slot, word)| is_dead(*word) == bit(slot)) {
            return Err("a presence bit that contradicts its generation word");
        }
        if self.presence().iter().map(|w| w.count_ones()).sum::<u32>() != self.live {
            return Err("values miscounted");
        }
        self.vacancy.validate(self.presence(), words)
    }
}

impl<V: Vacancy, T: Clone> Clone for SlottedStore<V, T> {
    /// Clones the store: the same values under the same keys.
    ///
    /// Dead handles are dead in the copy, and the next handles are the same.
    #[track_caller]
    fn clone(&self) -> Self {
        infallible(self.try_clone())
    }

    /// Clones another store in the memory that this one has, like [`try_clone_from`](SlottedStore::try_clone_from).
    #[track_caller]
    fn clone_from(&mut self, source: &Self) {
        infallible(self.try_clone_from(source));
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

impl<V: Vacancy, T> Drop for SlottedStore<V, T> {
    fn drop(&mut self) {
        if mem::needs_drop::<T>() {
            self.clear();
        }
    }
}

impl<V: Vacancy, T> crate::iter::sealed::Sealed for SlottedStore<V, T> {}

impl<V: Vacancy, T> Emptying for SlottedStore<V, T> {
    type Key = V::Key;
    type Value = T;

    fn take_from(&mut self, from: &mut u32) -> Option<(V::Key, T)> {
        let slot = self.occupied_from(*from)?;
        *from = slot + 1;
        // SAFETY: the slot is occupied.
        Some(unsafe { self.take_at(slot) })
    }

    fn take_before(&mut self, to: &mut u32) -> Option<(V::Key, T)> {
        let slot = self.occupied_before(*to)?;
        *to = slot;
        // SAFETY: the slot is occupied.
        Some(unsafe { self.take_at(slot) })
    }

    fn left(&self) -> usize {
        self.len()
    }
}

forward_store!([V: Vacancy, T] SlottedStore<V, T>, V::Key, T);
std_traits!([V: Vacancy, T] SlottedStore<V, T>, V::Key, T, BitCursor<V::Key>);
