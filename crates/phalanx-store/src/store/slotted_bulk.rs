//! What is done to all values of a [`SlottedStore`] at once, by words of 64 presence bits: `retain`, `clear`, `drain`,
//! `clone`.
#![allow(unsafe_code)]

use super::SlottedStore;
use super::slotted::Vacancy;
use crate::entity::sealed::Sealed as _;
use crate::error::infallible;
use crate::iter::{Drain, Emptying};
use crate::raw::{DropGuard, drop_all};
use crate::{AllocError, Key};
use core::hint::assert_unchecked;
use core::{iter, mem, ptr};

impl<V: Vacancy, T> SlottedStore<V, T> {
    /// Keeps the values for which `keep` returns `true` and drops the others.
    ///
    /// If `keep` or a destructor panics, all later values are kept.
    pub fn retain(&mut self, mut keep: impl FnMut(V::Key, &mut T) -> bool) {
        for word in 0..self.used.div_ceil(64) {
            // SAFETY: a word of used slots is initialised.
            let before = unsafe { *self.bits.at(word) };
            // The word is written once, also if user code panics.
            let mut group = DropGuard::new((&mut *self, 0), |(store, ended)| {
                // SAFETY: the slots of `ended` were occupied, and their words and values count as moved out.
                unsafe { store.vacate_all(word, before, *ended) };
            });
            let mut visit = |slot: usize, bit: u64| {
                let (store, ended) = &mut group.state;
                let slot = word as usize * 64 + slot;
                store.cells.prefetch(slot + 64);
                // SAFETY: the slot is occupied. Its word is dead and its bit noted before its value is dropped; then the value
                // belongs to this function alone.
                unsafe {
                    let key = V::Key::from_parts(slot as u32, *store.cells.word(slot));
                    let value = store.cells.value(slot);
                    if !keep(key, &mut *value) {
                        *ended |= bit;
                        store.vacancy.end(store.cells.word(slot), key.generation());
                        ptr::drop_in_place(value);
                    }
                }
            };
            if before == u64::MAX {
                let mut bit = 1;
                for slot in 0..64 {
                    visit(slot, bit);
                    bit <<= 1;
                }
            } else {
                let mut left = before;
                while left != 0 {
                    visit(left.trailing_zeros() as usize, left & left.wrapping_neg());
                    left &= left - 1;
                }
            }
        }
    }

    /// Clears the presence bits `ended` of a word, which was `before`.
    ///
    /// # Safety
    ///
    /// The word exists and has these bits. The words of their slots are dead, and their values count as moved out.
    #[inline(always)]
    unsafe fn vacate_all(&mut self, word: u32, before: u64, ended: u64) {
        if ended != 0 {
            // SAFETY: the word exists.
            unsafe {
                self.bits.at(word).write(before & !ended);
                self.live -= ended.count_ones();
                self.vacancy.vacated(word, before);
            }
        }
    }

    /// Drops all values. All keys are dead then, and the capacity is kept.
    pub fn clear(&mut self) {
        if self.live == 0 {
            return;
        }
        let bits = self.used.div_ceil(64);
        // SAFETY: the words below `used` and their bits are initialised, and the store is borrowed exclusively. The slots exist,
        // so capacity for their summaries is reserved.
        unsafe {
            let words = core::slice::from_raw_parts_mut(self.cells.word(0), self.used as usize);
            self.used = self.vacancy.end_all(self.bits.slice(bits), words);
            self.vacancy.cover(self.slots);
        }
        self.live = 0;
        // SAFETY: the values are counted no more.
        unsafe { self.drop_values(bits) };
    }

    /// Clears the first `words` words of presence bits and drops their values, even if a destructor panics.
    ///
    /// # Safety
    ///
    /// The words exist, and the values count as moved out.
    unsafe fn drop_values(&mut self, words: u32) {
        let (cells, bits) = (&self.cells, self.bits.ptr());
        if !mem::needs_drop::<T>() {
            // SAFETY: the words exist.
            unsafe { ptr::write_bytes(bits, 0, words as usize) };
            return;
        }
        let (mut next, mut left) = (0, 0_u64);
        let occupied = iter::from_fn(|| {
            while left == 0 {
                if next == words as usize {
                    return None;
                }
                // SAFETY: the word exists and is initialised.
                left = mem::take(unsafe { &mut *bits.add(next) });
                next += 1;
            }
            let slot = (next - 1) * 64 + left.trailing_zeros() as usize;
            left &= left - 1;
            Some(slot)
        });
        // SAFETY: the bit of the slot was set, so its value is initialised. It counts as moved out and is dropped once.
        drop_all(occupied, |slot| unsafe { ptr::drop_in_place(cells.value(slot)) });
    }

    /// Removes all values and iterates over them, in order. Values that are not taken are dropped with the iterator.
    ///
    /// If the iterator is leaked, the values that are left stay in the store.
    pub fn drain(&mut self) -> Drain<'_, Self> {
        Drain::new(self)
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
        copy.try_grow(self.used)?;
        copy.fill_from(self);
        Ok(copy)
    }

    /// Makes this store a clone of another, in the memory that it has. All values are dropped first.
    ///
    /// If a clone or a destructor panics, the store is empty. Otherwise its keys are those of the other store from now on. One that
    /// named a value of this store before may name another one later.
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
        self.try_grow(source.used)?;
        self.clear();
        self.fill_from(source);
        Ok(())
    }

    /// Clones the values and the words of another store. Slots that the other has not used become unused.
    ///
    /// If a clone panics, this store is as it was.
    ///
    /// # Panics
    ///
    /// Panics if this store has values, or fewer slots.
    fn fill_from(&mut self, source: &Self)
    where
        T: Clone,
    {
        assert!(self.live == 0 && self.slots >= source.used, "an empty store with slots");
        // All values are cloned before a slot changes. Until then the slots have the words of their own handles, so that none of
        // these comes alive again if a clone panics.
        let (present, mut word) = (source.presence(), 0);
        let mut filling = DropGuard::new((&self.cells, 0), |(cells, end)| {
            let is_occupied = |slot: &usize| present[slot / 64] & 1 << (slot % 64) != 0;
            for slot in (0..*end).filter(is_occupied) {
                // SAFETY: the value was cloned there, and its slot is vacant.
                unsafe { ptr::drop_in_place(cells.value(slot)) };
            }
        });
        while let Some(&bits) = present.get(word) {
            let (cells, end) = &mut filling.state;
            let start = word * 64;
            if bits == u64::MAX {
                // A run of full words is cloned as a slice.
                word += present[word..].iter().take_while(|bits| **bits == u64::MAX).count();
                // SAFETY: all slots of the run exist here, and are occupied in the source, whose memory is another. Memory of
                // `MaybeUninit` needs no initialisation.
                let (from, to) = unsafe {
                    let to = cells.value(start).cast::<mem::MaybeUninit<T>>();
                    let len = word * 64 - start;
                    let from = core::slice::from_raw_parts(source.cells.value(start), len);
                    (from, core::slice::from_raw_parts_mut(to, len))
                };
                *end = start;
                clone_run(from, to, end);
            } else {
                word += 1;
                let mut left = bits;
                while left != 0 {
                    let slot = start + left.trailing_zeros() as usize;
                    // SAFETY: the slot exists here, and is occupied in the source.
                    unsafe { cells.value(slot).write((*source.cells.value(slot)).clone()) };
                    *end = slot + 1;
                    left &= left - 1;
                }
            }
        }
        filling.dismiss();
        // SAFETY: the words below `used` are initialised in the source, and so are the words of bits; there are as many here. The
        // slots exist, so capacity for their summaries is reserved; all that are retired are among those of the source.
        unsafe {
            ptr::copy_nonoverlapping(source.cells.word(0), self.cells.word(0), source.used as usize);
            ptr::copy_nonoverlapping(present.as_ptr(), self.bits.ptr(), present.len());
            self.vacancy.adopt(&source.vacancy);
            self.vacancy.cover(self.slots);
        }
        (self.used, self.live) = (source.used, source.live);
    }

    /// Returns the bits of the first presence word at or after `word` that has any, and its number.
    #[inline(never)]
    fn find_first(&mut self, word: u32) -> Option<(u64, u32)> {
        let skip = self.presence().get(word as usize..)?.iter().position(|bits| *bits != 0)?;
        let word = word + skip as u32;
        let bits = self.presence()[word as usize];
        // SAFETY: the word exists. Its slots become vacant from now on, and may be noted before.
        unsafe { self.vacancy.vacated(word, bits) };
        Some((bits, word))
    }

    /// Makes the first occupied slot vacant; its value counts as moved out. Returns it, with its generation.
    ///
    /// # Safety
    ///
    /// The place belongs to this store.
    #[inline(always)]
    unsafe fn end_first(&mut self, place: &mut SlottedPlace) -> Option<(usize, u32)> {
        if place.left == 0 {
            (place.left, place.word) = self.find_first(place.word.wrapping_add(1))?;
        }
        // SAFETY: a word that is found has a bit.
        unsafe { assert_unchecked(place.left != 0) };
        let slot = place.word as usize * 64 + place.left.trailing_zeros() as usize;
        place.left &= place.left - 1;
        // SAFETY: the bits of the place are those of its presence word, by the caller's contract. So the slot is occupied, and its
        // word is the generation of its key. The bits that are left are those of the other values of the presence word.
        unsafe {
            let word = self.cells.word(slot);
            let generation = *word;
            self.vacancy.end(word, generation);
            self.bits.at(place.word).write(place.left);
            self.live -= 1;
            Some((slot, generation))
        }
    }

    /// Returns the last occupied slot before `to`.
    fn occupied_before(&self, to: u32) -> Option<u32> {
        let bits = self.presence();
        let to = to.min(self.used);
        let last = bits.get(to as usize / 64).map_or(0, |word| word & !(u64::MAX << (to % 64)));
        if last != 0 {
            return Some(to / 64 * 64 + 63 - last.leading_zeros());
        }
        let word = bits[..to as usize / 64].iter().rposition(|w| *w != 0)?;
        Some(word as u32 * 64 + 63 - bits[word].leading_zeros())
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

impl<V: Vacancy, T> Drop for SlottedStore<V, T> {
    fn drop(&mut self) {
        if mem::needs_drop::<T>() && self.live > 0 {
            // SAFETY: nothing counts the values any more.
            unsafe { self.drop_values(self.used.div_ceil(64)) };
        }
    }
}

/// Clones values one by one. `end` is raised after each.
///
/// The arguments do not overlap, and the compiler knows it: where a clone is a copy of bytes, so is the whole.
#[inline(always)]
fn clone_run<T: Clone>(from: &[T], to: &mut [mem::MaybeUninit<T>], end: &mut usize) {
    let start = *end;
    for (at, (from, to)) in from.iter().zip(to).enumerate() {
        to.write(from.clone());
        *end = start + at + 1;
    }
}

/// How far a [`SlottedStore`] was emptied, from both ends.
#[derive(Debug)]
pub struct SlottedPlace {
    /// The presence word that is emptied from the front; `u32::MAX` before the first.
    word: u32,
    /// Its bits, as they are in the store.
    left: u64,
    /// A slot at or above which there are no values.
    end: u32,
}

impl<V: Vacancy, T> crate::iter::sealed::Sealed for SlottedStore<V, T> {}

impl<V: Vacancy, T> Emptying for SlottedStore<V, T> {
    type Key = V::Key;
    type Value = T;
    type Place = SlottedPlace;

    #[inline]
    fn start(&mut self) -> SlottedPlace {
        SlottedPlace { word: u32::MAX, left: 0, end: u32::MAX }
    }

    #[inline]
    unsafe fn take_first(&mut self, place: &mut SlottedPlace) -> Option<(V::Key, T)> {
        // SAFETY: the place belongs to the store, by the caller's contract. The slot was occupied under this generation until now,
        // and its value is read once.
        unsafe {
            let (slot, generation) = self.end_first(place)?;
            self.cells.prefetch(slot + 64);
            Some((V::Key::from_parts(slot as u32, generation), self.cells.value(slot).read()))
        }
    }

    unsafe fn take_last(&mut self, place: &mut SlottedPlace) -> Option<(V::Key, T)> {
        let slot = self.occupied_before(place.end)?;
        place.end = slot;
        if slot / 64 == place.word {
            place.left &= !(1 << (slot % 64));
        }
        // SAFETY: the slot is occupied, so its word is the generation of its key. Its value is read once, and the slot is vacant
        // then.
        unsafe {
            let key = V::Key::from_parts(slot, *self.cells.word(slot as usize));
            let value = self.cells.value(slot as usize).read();
            self.vacate(slot as usize, key.generation());
            Some((key, value))
        }
    }

    unsafe fn drop_rest(&mut self, place: &mut SlottedPlace) {
        if mem::needs_drop::<T>() {
            let values = self.cells.values();
            // SAFETY: the place belongs to the store, by the caller's contract.
            let ended = iter::from_fn(|| unsafe { self.end_first(place) });
            // SAFETY: the slot was occupied until now. Its value is dropped once.
            drop_all(ended, |(slot, _)| unsafe { ptr::drop_in_place(values.add(slot)) });
        } else {
            self.clear();
        }
    }

    fn left(&self) -> usize {
        self.len()
    }
}
