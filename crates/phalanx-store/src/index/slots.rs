//! The minting index: a slot for each handle ever made.
//!
//! # Representation
//!
//! `slots[0..total]` are initialised. The marks of the dense side are slot numbers, and all of `marks[0..total]` is in
//! use: it is a permutation of the slots. First come the positions of the container, then at `len..free_end` the free
//! slots, the next to be used first, then at `free_end..total` the retired ones. So the free list costs no memory of
//! its own, releasing cannot fail, and successive insertions read successive words instead of chasing a list. Slots are
//! made free as soon as there is room for them: an insertion has one path, whether its slot was used before or not.
//!
//! A slot is alive if and only if its mark lies below `len` and is no hole.
#![allow(unsafe_code)]

use crate::generation::{self, DEAD, RETIRED};
use crate::raw::{DenseIndex, LaneOf};
#[cfg(feature = "serde")]
use crate::serial::{self, Census, Refused, State};
use crate::{AllocError, Handle};
use core::fmt;
use core::marker::PhantomData;

/// Where a handle leads, and the generation that it must have.
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

/// The index of a [`PackedStore`](crate::PackedStore): it mints [`Handle<K>`]s.
pub struct Slots<K: ?Sized> {
    slots: LaneOf<Slot>,
    total: u32,
    free_end: u32,
    kind: PhantomData<fn() -> *const K>,
}

impl<K: ?Sized> Slots<K> {
    pub(crate) const fn new() -> Slots<K> {
        Slots { slots: LaneOf::new(), total: 0, free_end: 0, kind: PhantomData }
    }

    pub(crate) fn total(&self) -> u32 {
        self.total
    }

    pub(crate) fn slots(&self) -> &[Slot] {
        // SAFETY: `total` slots are initialised.
        unsafe { self.slots.slice(self.total) }
    }

    /// Whether a container with `len` positions finds no free slot.
    #[inline(always)]
    pub(crate) fn is_full(&self, len: u32) -> bool {
        len == self.free_end
    }

    /// Makes sure that `additional` slots are free beside the `len` in use.
    ///
    /// # Safety
    ///
    /// The marks are those of this index's container, which has `len` positions.
    pub(crate) unsafe fn try_reserve(
        &mut self,
        marks: &mut LaneOf<u32>,
        len: u32,
        additional: u32,
    ) -> Result<(), AllocError> {
        let fresh = additional.saturating_sub(self.free_end - len);
        if fresh == 0 {
            return Ok(());
        }
        let needed = self.total.checked_add(fresh).filter(|n| *n <= <Self as DenseIndex>::MAX);
        let needed = needed.ok_or(AllocError::CapacityOverflow)?;
        self.slots.countable(needed)?;
        marks.try_grow(needed)?;
        self.slots.try_grow(needed)?;
        let total = self.slots.capacity().min(marks.capacity()).min(<Self as DenseIndex>::MAX);
        let retired = self.total - self.free_end;
        // SAFETY: there is room for `total` marks and slots, and the marks are this index's, by the caller's promise. The retired ones make way to the end, the new ones follow
        // the free ones.
        unsafe {
            core::ptr::copy(marks.at(self.free_end), marks.at(total - retired), retired as usize);
            for (at, number) in (self.free_end..).zip(self.total..total) {
                marks.at(at).write(number);
                self.slots.at(number).write(Slot { position: 0, word: UNUSED });
            }
        }
        (self.free_end, self.total) = (total - retired, total);
        Ok(())
    }

    /// How many slots there are up to the last one that was ever used. Those above it are the last free ones, by number.
    pub(crate) fn used(&self) -> u32 {
        self.slots().iter().rposition(|slot| slot.word != UNUSED).map_or(0, |last| last as u32 + 1)
    }

    /// Forgets the slots above the last one that was ever used, and gives their room back. The marks may be shrunk to the
    /// total then.
    ///
    /// # Safety
    ///
    /// The marks are those of this index's container, which has `len` positions.
    pub(crate) unsafe fn shrink(&mut self, marks: &mut LaneOf<u32>, len: u32) {
        let used = self.used();
        let (mut to, retired) = (len, self.total - self.free_end);
        // SAFETY: marks below `total` are initialised, by the caller's promise; those that stay move down, the free ones one by one.
        unsafe {
            for at in len..self.free_end {
                let mark = *marks.at(at);
                if mark < used {
                    marks.at(to).write(mark);
                    to += 1;
                }
            }
            core::ptr::copy(marks.at(self.free_end), marks.at(to), retired as usize);
        }
        (self.free_end, self.total) = (to, used);
        // SAFETY: slots at and above `total` are not in use. What cannot be had smaller stays as it was.
        let _ = unsafe { self.slots.try_resize(used) };
    }

    /// The handle that [`mint`](Slots::mint) will return for a container with `len` positions.
    ///
    /// # Safety
    ///
    /// The marks are those of this index's container, and the index is not full.
    #[inline(always)]
    pub(crate) unsafe fn next(&self, marks: &LaneOf<u32>, len: u32) -> Handle<K> {
        // SAFETY: marks below `free_end` are initialised slot numbers.
        unsafe {
            let number = *marks.at(len);
            Handle::new(number, generation::generation((*self.slots.at(number)).word))
        }
    }

    /// Takes the free slot at `marks[len]` for position `len` of the container and returns its handle.
    ///
    /// # Safety
    ///
    /// The marks are those of this index's container, `len` is the number of its positions, and the index is not full.
    #[inline(always)]
    pub(crate) unsafe fn mint(&mut self, marks: &LaneOf<u32>, len: u32) -> Handle<K> {
        debug_assert!(!self.is_full(len));
        // SAFETY: marks below `free_end` are initialised slot numbers.
        unsafe {
            let number = *marks.at(len);
            let slot = self.slots.at(number);
            let word = generation::generation((*slot).word);
            slot.write(Slot { position: len, word });
            Handle::new(number, word)
        }
    }

    /// A copy for a container whose marks are copied too.
    pub(crate) fn try_clone(&self) -> Result<Self, AllocError> {
        let mut slots = LaneOf::new();
        slots.try_grow(self.total)?;
        // SAFETY: `total` slots are initialised here, and there is room for them there.
        unsafe { core::ptr::copy_nonoverlapping(self.slots.ptr(), slots.ptr(), self.total as usize) };
        Ok(Slots { slots, total: self.total, free_end: self.free_end, kind: PhantomData })
    }

    /// An index of slots with these words, and the marks of a container that has them in this order: live ones, free
    /// ones, retired ones. The container has as many positions as there are live slots.
    #[cfg(feature = "serde")]
    pub(crate) fn try_restore(words: &[u32], order: &[u32]) -> Result<(Self, LaneOf<u32>), Refused> {
        /// No position: the slot has not come up in the order.
        const NOWHERE: u32 = u32::MAX;
        let Census { live, free, .. } = Census::of(words, <Self as DenseIndex>::MAX)?;
        serial::counted("slots in the order", order.len(), words.len())?;
        let total = words.len() as u32;
        let (mut index, mut marks) = (Self::new(), LaneOf::<u32>::new());
        index.slots.try_grow(total)?;
        marks.try_grow(total)?;
        for (&word, at) in words.iter().zip(0..) {
            // SAFETY: below `total`, for which there is room.
            unsafe { index.slots.at(at).write(Slot { position: NOWHERE, word }) };
        }
        (index.total, index.free_end) = (total, live + free);
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
            // SAFETY: both are below `total`: the slot is initialised, and there is room for the mark.
            unsafe {
                let position = &raw mut (*index.slots.at(slot)).position;
                if position.replace(at) != NOWHERE {
                    return Err(Refused::Slot { slot, what: "is in the order twice" });
                }
                marks.at(at).write(slot);
            }
        }
        Ok((index, marks))
    }
}

// SAFETY: a position is returned only for a handle whose generation equals the slot's word, so for a slot that is
// alive; there it is what `mint` or `relocate` stored last.
unsafe impl<K: ?Sized> DenseIndex for Slots<K> {
    type Key = Handle<K>;
    type Mark = u32;
    const MAX: u32 = generation::at_most_countable(HOLE);

    #[inline(always)]
    fn position(&self, key: Handle<K>) -> Option<u32> {
        if key.index() < self.total {
            // SAFETY: below `total`, so initialised.
            let slot = unsafe { *self.slots.at(key.index()) };
            if slot.word == key.generation() {
                return Some(slot.position);
            }
        }
        None
    }

    #[inline(always)]
    fn mark(key: Handle<K>) -> u32 {
        key.index()
    }

    #[inline(always)]
    unsafe fn key(&self, mark: u32) -> Handle<K> {
        // SAFETY: a mark of the container is a slot number below `total`.
        Handle::new(mark, unsafe { (*self.slots.at(mark)).word })
    }

    #[inline(always)]
    unsafe fn relocate(&mut self, mark: u32, position: u32) {
        // SAFETY: a mark of the container is a slot number below `total`.
        unsafe { (*self.slots.at(mark)).position = position };
    }

    #[inline(always)]
    unsafe fn release(&mut self, mark: u32) -> bool {
        // SAFETY: a mark of the container is a slot number below `total`.
        unsafe {
            let slot = self.slots.at(mark);
            (*slot).word = generation::released((*slot).word);
            (*slot).word == RETIRED
        }
    }

    #[cold]
    #[inline(never)]
    unsafe fn settle(&mut self, marks: &mut LaneOf<u32>, at: u32) {
        // SAFETY: `at` is below `free_end`, marks below `total` are initialised slot numbers. The free ones keep their
        // order: a retired slot moves past all of them.
        unsafe {
            let mark = *marks.at(at);
            if (*self.slots.at(mark)).word == RETIRED {
                self.free_end -= 1;
                core::ptr::copy(marks.at(at + 1), marks.at(at), (self.free_end - at) as usize);
                marks.at(self.free_end).write(mark);
            }
        }
    }

    fn bytes(&self) -> usize {
        self.slots.bytes()
    }

    /// Checks the permutation and the words against it.
    unsafe fn validate(&self, marks: &LaneOf<u32>, len: u32, _: u32) -> Result<(), &'static str> {
        if !(len <= self.free_end && self.free_end <= self.total) {
            return Err("slots are not divided into used, free and retired");
        }
        if self.total > self.slots.capacity() || self.total > marks.capacity() {
            return Err("more slots than room");
        }
        let mut seen = alloc::vec![false; self.total as usize];
        // SAFETY: marks below `total` are initialised.
        for (at, &mark) in unsafe { marks.slice(self.total) }.iter().enumerate() {
            let Some(seen) = seen.get_mut(Self::filled(mark) as usize) else { return Err("a mark is no slot") };
            if core::mem::replace(seen, true) {
                return Err("a slot is marked twice");
            }
            let word = self.slots()[Self::filled(mark) as usize].word;
            let (alive, retired) = (!generation::is_dead(word), word == RETIRED);
            let at = at as u32;
            let right = match at {
                _ if at < len => alive != Self::is_hole(mark),
                _ if at < self.free_end => !alive && !retired && !Self::is_hole(mark),
                _ => retired && !Self::is_hole(mark),
            };
            if !right {
                return Err("a slot is not what its place says");
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn hole(mark: u32) -> u32 {
        mark | HOLE
    }

    #[inline(always)]
    fn is_hole(mark: u32) -> bool {
        mark & HOLE != 0
    }

    #[inline(always)]
    fn filled(mark: u32) -> u32 {
        mark & !HOLE
    }
}

impl<K: ?Sized> fmt::Debug for Slots<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Slots({} used or free, {} retired)", self.free_end, self.total - self.free_end)
    }
}
