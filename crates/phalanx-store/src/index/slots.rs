//! [`Slots`]: the index that issues handles. It has a slot for each index ever issued.
//!
//! # Representation
//!
//! `slots[0..total]` are initialised. The dense keys of the container are slot numbers. All of `dense_keys[0..total]` is
//! in use, and is a permutation of the slots:
//!
//! - `0..len` are the positions of the container;
//! - `len..free_end` are the free slots, the next to be used first;
//! - `free_end..total` are the retired slots, as many as `retired` says.
//!
//! So the free list costs no memory of its own, releasing cannot fail, and successive insertions read successive words.
//!
//! There may be capacity for more than `total` slots. A slot is initialised when it is first used: when all others are in
//! use, and none is retired. After one was retired, slots become free as soon as there is capacity for them. `limit`
//! is the number of positions for which there are slots: the capacity, or `free_end` if slots are retired.
//!
//! A slot is alive if and only if its dense key lies below `len` and is not a hole.
#![allow(unsafe_code)]

use crate::entity::sealed::Sealed as _;
use crate::generation::{self, DEAD, MAX_GENERATION, RETIRED};
use crate::raw::{DenseIndex, LaneOf, cold_path};
#[cfg(feature = "serde")]
use crate::restore::{Census, Refused, State, counted};
use crate::{AllocError, Handle};
use core::fmt;
use core::marker::PhantomData;

/// The position that a handle leads to, and the generation word of its slot.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(crate) struct Slot {
    pub(crate) position: u32,
    pub(crate) word: u32,
}

const _: () = assert!(size_of::<Slot>() == 8);

/// The bit that makes a hole of a slot number.
const HOLE: u32 = 1 << 31;

/// The word of a slot that was never used.
const UNUSED: u32 = DEAD;

/// Releases a slot whose word is `generation`. Returns `true` if it is retired then.
#[inline(always)]
fn release(word: &mut u32, generation: u32) -> bool {
    // A branch, and not a selection: a slot is retired once in 2³⁰ times.
    if generation == MAX_GENERATION {
        cold_path();
        *word = RETIRED;
        return true;
    }
    *word = generation::released(generation);
    false
}

/// The index of a [`PackedStore`](crate::PackedStore), which issues [`Handle<K>`]s.
pub struct Slots<K: ?Sized> {
    slots: LaneOf<Slot>,
    total: u32,
    retired: u32,
    limit: u32,
    kind: PhantomData<fn() -> *const K>,
}

impl<K: ?Sized> Slots<K> {
    pub(crate) const fn new() -> Slots<K> {
        Slots { slots: LaneOf::new(), total: 0, retired: 0, limit: 0, kind: PhantomData }
    }

    pub(crate) fn total(&self) -> u32 {
        self.total
    }

    pub(crate) fn slots(&self) -> &[Slot] {
        // SAFETY: `total` slots are initialised.
        unsafe { self.slots.slice(self.total) }
    }

    /// Returns the end of the free slots among the dense keys.
    #[inline(always)]
    fn free_end(&self) -> u32 {
        self.total - self.retired
    }

    /// Returns `true` if there is no slot beside the `len` in use.
    #[inline(always)]
    pub(crate) fn is_full(&self, len: u32) -> bool {
        len == self.limit
    }

    /// Sets the limit, for a container with capacity for `keys` dense keys.
    fn set_limit(&mut self, keys: u32) {
        let capacity = self.slots.capacity().min(keys).min(<Self as DenseIndex>::MAX);
        self.limit = if self.retired == 0 { capacity } else { self.free_end() };
    }

    /// Makes sure that there are `additional` slots beside the `len` in use.
    ///
    /// # Safety
    ///
    /// `dense_keys` are those of this index's container, which has `len` positions.
    pub(crate) unsafe fn try_reserve(
        &mut self,
        dense_keys: &mut LaneOf<u32>,
        len: u32,
        additional: u32,
    ) -> Result<(), AllocError> {
        if additional <= self.limit - len {
            return Ok(());
        }
        let fresh = additional - (self.free_end() - len);
        let needed = self.total.checked_add(fresh).filter(|n| *n <= <Self as DenseIndex>::MAX);
        let needed = needed.ok_or(AllocError::CapacityOverflow)?;
        self.slots.countable(needed)?;
        dense_keys.try_grow(needed)?;
        self.slots.try_grow(needed)?;
        if self.retired > 0 {
            let total = self.slots.capacity().min(dense_keys.capacity()).min(<Self as DenseIndex>::MAX);
            // SAFETY: there is capacity for `total` dense keys and slots, and the dense keys are this index's own. The retired
            // ones move to the end, the new ones follow the free ones.
            unsafe {
                let (from, to) = (dense_keys.at(self.free_end()), dense_keys.at(total - self.retired));
                core::ptr::copy(from, to, self.retired as usize);
                for (at, number) in (self.free_end()..).zip(self.total..total) {
                    dense_keys.at(at).write(number);
                    self.slots.at(number).write(Slot { position: 0, word: UNUSED });
                }
            }
            self.total = total;
        }
        self.set_limit(dense_keys.capacity());
        Ok(())
    }

    /// Returns the number of slots up to the last one ever used. Those above it are the last free ones, by number.
    pub(crate) fn used(&self) -> u32 {
        self.slots().iter().rposition(|slot| slot.word != UNUSED).map_or(0, |last| last as u32 + 1)
    }

    /// Removes the slots above the last one ever used and frees their memory. The dense keys may be shrunk to the total
    /// then.
    ///
    /// # Safety
    ///
    /// `dense_keys` are those of this index's container, which has `len` positions.
    pub(crate) unsafe fn shrink(&mut self, dense_keys: &mut LaneOf<u32>, len: u32) {
        let used = self.used();
        let mut to = len;
        // SAFETY: the dense keys are this index's own, so those below `total` are initialised. Those that stay move down.
        unsafe {
            for at in len..self.free_end() {
                let dense_key = *dense_keys.at(at);
                if dense_key < used {
                    dense_keys.at(to).write(dense_key);
                    to += 1;
                }
            }
            core::ptr::copy(dense_keys.at(self.free_end()), dense_keys.at(to), self.retired as usize);
        }
        self.total = used;
        // SAFETY: slots at and above `total` are not in use. If shrinking fails, the larger block stays.
        let _ = unsafe { self.slots.try_resize(used) };
        // No more than the dense keys are shrunk to.
        self.set_limit(used);
    }

    /// Returns the handle that [`issue`](Slots::issue) will return for a container with `len` positions.
    ///
    /// # Safety
    ///
    /// `dense_keys` are those of this index's container, and the index is not full.
    #[inline(always)]
    pub(crate) unsafe fn next(&self, dense_keys: &LaneOf<u32>, len: u32) -> Handle<K> {
        if len == self.total {
            return Handle::new(len, 0);
        }
        // SAFETY: dense keys below `free_end` are initialised slot numbers. `len` is below it: the index is not full, and not
        // all slots are in use.
        unsafe {
            let number = *dense_keys.at(len);
            Handle::new(number, generation::generation((*self.slots.at(number)).word))
        }
    }

    /// Takes the free slot at `dense_keys[len]`, or one that was not used, for position `len` of the container. Returns its
    /// handle.
    ///
    /// # Safety
    ///
    /// `dense_keys` are those of this index's container, which has `len` positions, and the index is not full.
    #[inline(always)]
    pub(crate) unsafe fn issue(&mut self, dense_keys: &LaneOf<u32>, len: u32) -> Handle<K> {
        debug_assert!(!self.is_full(len));
        // SAFETY: the index is not full.
        // - If all slots are in use, none is retired, so there is capacity for another slot and its dense key.
        // - Otherwise `len` is below `free_end`, and dense keys below that are initialised slot numbers.
        unsafe {
            if len == self.total {
                dense_keys.at(len).write(len);
                self.slots.at(len).write(Slot { position: len, word: 0 });
                self.total = len + 1;
                return Handle::new(len, 0);
            }
            let number = *dense_keys.at(len);
            let slot = self.slots.at(number);
            let word = generation::generation((*slot).word);
            slot.write(Slot { position: len, word });
            Handle::new(number, word)
        }
    }

    /// Reserves memory for the slots of another index.
    pub(crate) fn try_hold(&mut self, other: &Self) -> Result<(), AllocError> {
        self.slots.try_grow(other.total)
    }

    /// Makes this index that of another container, whose dense keys are copied too, to where there is capacity for `keys`.
    ///
    /// # Panics
    ///
    /// Panics if there is no memory for the slots, which [`try_hold`](Slots::try_hold) reserves.
    pub(crate) fn copy_from(&mut self, other: &Self, keys: u32) {
        assert!(self.slots.capacity() >= other.total, "memory for the slots is reserved");
        // SAFETY: `total` slots are initialised in `other`, and there is capacity for them. Two indices share no memory.
        unsafe { core::ptr::copy_nonoverlapping(other.slots.ptr(), self.slots.ptr(), other.total as usize) };
        (self.total, self.retired) = (other.total, other.retired);
        self.set_limit(keys);
    }

    /// Moves a retired slot past the free ones, which keep their order.
    ///
    /// # Safety
    ///
    /// `dense_keys` are those of this index's container. `at` is the lowest position above those in use, and has a retired
    /// slot that is not counted as such.
    #[cold]
    #[inline(never)]
    unsafe fn retire(&mut self, dense_keys: &mut LaneOf<u32>, at: u32) {
        self.retired += 1;
        self.limit = self.free_end();
        // SAFETY: `at` is below the former end of the free slots, and dense keys below that are initialised.
        unsafe {
            let dense_key = *dense_keys.at(at);
            core::ptr::copy(dense_keys.at(at + 1), dense_keys.at(at), (self.limit - at) as usize);
            dense_keys.at(self.limit).write(dense_key);
        }
    }

    /// Returns the handle of a live slot.
    pub(crate) fn occupant(&self, index: u32) -> Option<Handle<K>> {
        let slot = self.slots().get(index as usize)?;
        (!generation::is_dead(slot.word)).then(|| Handle::new(index, slot.word))
    }

    /// Creates an index of slots with these words, and the dense keys of its container.
    ///
    /// `order` lists the slots: live ones, free ones, retired ones. The container has a position for each live slot.
    #[cfg(feature = "serde")]
    pub(crate) fn try_restore(words: &[u32], order: &[u32]) -> Result<(Self, LaneOf<u32>), Refused> {
        /// No position: the slot has not come up in the order.
        const NOWHERE: u32 = u32::MAX;
        let Census { live, free, .. } = Census::of(words, <Self as DenseIndex>::MAX)?;
        counted("slots in the order", order.len(), words.len())?;
        let total = words.len() as u32;
        let (mut index, mut dense_keys) = (Self::new(), LaneOf::<u32>::new());
        index.slots.try_grow(total)?;
        dense_keys.try_grow(total)?;
        for (&word, at) in words.iter().zip(0..) {
            // SAFETY: `at` is below `total`, for which there is capacity.
            unsafe { index.slots.at(at).write(Slot { position: NOWHERE, word }) };
        }
        (index.total, index.retired) = (total, total - (live + free));
        index.set_limit(dense_keys.capacity());
        for (&slot, at) in order.iter().zip(0..) {
            let Some(&word) = words.get(slot as usize) else {
                return Err(Refused::Slot { slot, what: "is in the order and does not exist" });
            };
            let (part, what) = match at {
                _ if at < live => (State::Live, "is among the live ones in the order and is not alive"),
                _ if at < live + free => (State::Free, "is among the free ones in the order and is not free"),
                _ => (State::Retired, "is among the retired ones in the order and is not retired"),
            };
            if State::of(word) != part {
                return Err(Refused::Slot { slot, what });
            }
            // SAFETY: both are below `total`: the slot is initialised, and there is capacity for the dense key.
            unsafe {
                let position = &raw mut (*index.slots.at(slot)).position;
                if position.replace(at) != NOWHERE {
                    return Err(Refused::Slot { slot, what: "is in the order twice" });
                }
                dense_keys.at(at).write(slot);
            }
        }
        Ok((index, dense_keys))
    }
}

// SAFETY: a position is returned only for a handle whose generation equals the slot's word, so for a live slot. There it
// is what `issue` or `relocate` stored last.
unsafe impl<K: ?Sized> DenseIndex for Slots<K> {
    type Key = Handle<K>;
    type DenseKey = u32;
    const MAX: u32 = generation::at_most_countable(HOLE);

    #[inline(always)]
    fn position(&self, key: Handle<K>) -> Option<u32> {
        // The index plus one is compared. Then the subtraction becomes part of the address.
        let position = key.position();
        if position > self.total {
            return None;
        }
        // SAFETY: below `total`, so initialised.
        let slot = unsafe { &*self.slots.ptr().add(position as usize - 1) };
        (slot.word == key.generation()).then_some(slot.position)
    }

    #[inline(always)]
    fn dense_key(key: Handle<K>) -> u32 {
        key.index()
    }

    #[inline(always)]
    unsafe fn key(&self, dense_key: u32) -> Handle<K> {
        // SAFETY: a dense key of the container is a slot number below `total`.
        Handle::new(dense_key, unsafe { (*self.slots.at(dense_key)).word })
    }

    #[inline(always)]
    unsafe fn relocate(&mut self, dense_key: u32, position: u32) {
        // SAFETY: a dense key of the container is a slot number below `total`.
        unsafe { (*self.slots.at(dense_key)).position = position };
    }

    #[inline(always)]
    unsafe fn release(&mut self, dense_key: u32) -> bool {
        // SAFETY: a dense key of the container is a slot number below `total`.
        let word = unsafe { &mut (*self.slots.at(dense_key)).word };
        release(word, *word)
    }

    #[inline(always)]
    unsafe fn release_key(&mut self, key: Handle<K>) -> bool {
        // SAFETY: a live key names a slot below `total`, whose word is its generation.
        release(unsafe { &mut (*self.slots.ptr().add(key.position() as usize - 1)).word }, key.generation())
    }

    unsafe fn release_all(&mut self, dense_keys: &LaneOf<u32>, len: u32) -> bool {
        let mut retired = false;
        if len < self.total / 4 {
            for at in 0..len {
                // SAFETY: the dense key is initialised and alive.
                retired |= unsafe { self.release(*dense_keys.at(at)) };
            }
            return retired;
        }
        // All live slots are released, so they are ended in the order of their numbers, without branches.
        // SAFETY: `total` slots are initialised, and the index is borrowed exclusively.
        for slot in unsafe { self.slots.slice_mut(self.total) } {
            retired |= slot.word == MAX_GENERATION;
            slot.word = if generation::is_dead(slot.word) { slot.word } else { generation::released(slot.word) };
        }
        retired
    }

    #[inline(always)]
    unsafe fn on_released(&mut self, dense_keys: &mut LaneOf<u32>, at: u32) {
        // SAFETY: dense keys below `total` are initialised slot numbers.
        unsafe {
            if (*self.slots.at(*dense_keys.at(at))).word == RETIRED {
                self.retire(dense_keys, at);
            }
        }
    }

    fn bytes(&self) -> usize {
        self.slots.bytes()
    }

    /// Checks the permutation, and the words against it.
    unsafe fn validate(&self, dense_keys: &LaneOf<u32>, len: u32, _: u32) -> Result<(), &'static str> {
        if self.retired > self.total || len > self.free_end() {
            return Err("slots are not divided into used, free and retired");
        }
        if self.total > self.slots.capacity() || self.total > dense_keys.capacity() {
            return Err("more slots than room");
        }
        let capacity = self.slots.capacity().min(dense_keys.capacity()).min(Self::MAX);
        if self.limit > capacity || self.limit < self.free_end() || self.retired > 0 && self.limit > self.free_end() {
            return Err("a limit of other slots than there are");
        }
        let mut seen = alloc::vec![false; self.total as usize];
        // SAFETY: dense keys below `total` are initialised.
        for (at, &dense_key) in unsafe { dense_keys.slice(self.total) }.iter().enumerate() {
            let Some(seen) = seen.get_mut(Self::filled(dense_key) as usize) else { return Err("a key is no slot") };
            if core::mem::replace(seen, true) {
                return Err("a slot is listed twice");
            }
            let word = self.slots()[Self::filled(dense_key) as usize].word;
            let (alive, retired) = (!generation::is_dead(word), word == RETIRED);
            let at = at as u32;
            let right = match at {
                _ if at < len => alive != Self::is_hole(dense_key),
                _ if at < self.free_end() => !alive && !retired && !Self::is_hole(dense_key),
                _ => retired && !Self::is_hole(dense_key),
            };
            if !right {
                return Err("a slot is not what its place says");
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn hole(dense_key: u32) -> u32 {
        dense_key | HOLE
    }

    #[inline(always)]
    fn is_hole(dense_key: u32) -> bool {
        dense_key & HOLE != 0
    }

    #[inline(always)]
    fn filled(dense_key: u32) -> u32 {
        dense_key & !HOLE
    }
}

impl<K: ?Sized> fmt::Debug for Slots<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Slots({} used or free, {} retired)", self.free_end(), self.retired)
    }
}
