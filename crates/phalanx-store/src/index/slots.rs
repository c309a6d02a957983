//! The minting index: a slot for each handle ever made.
//!
//! # Representation
//!
//! `slots[0..total]` are initialised. The marks of the dense side are slot numbers, and all of `marks[0..total]` is in
//! use: it is a permutation of the slots. First come the positions of the container, then at `len..free_end` the free
//! slots, the next to be used first, then at `free_end..total` the retired ones. So the free list costs no memory of
//! its own, releasing cannot fail, and successive insertions read successive words instead of chasing a list.
//!
//! A slot is alive if and only if its mark lies below `len` and is no hole.
#![allow(unsafe_code)]

use crate::generation::{self, RETIRED};
use crate::raw::{DenseIndex, LaneOf};
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

/// The index of a [`PackedStore`](crate::PackedStore): it mints [`Handle<K>`]s.
pub struct Slots<K: ?Sized> {
    slots: LaneOf<Slot>,
    /// Slots that were ever used.
    total: u32,
    free_end: u32,
    /// Slots there is room for, in the lane and in the marks.
    room: u32,
    kind: PhantomData<fn() -> *const K>,
}

impl<K: ?Sized> Slots<K> {
    pub(crate) const fn new() -> Slots<K> {
        Slots { slots: LaneOf::new(), total: 0, free_end: 0, room: 0, kind: PhantomData }
    }

    pub(crate) fn total(&self) -> u32 {
        self.total
    }

    pub(crate) fn slots(&self) -> &[Slot] {
        // SAFETY: `total` slots are initialised.
        unsafe { self.slots.slice(self.total) }
    }

    /// Whether the next handle of a container with `len` positions needs a slot for which there is no room.
    #[inline(always)]
    pub(crate) fn is_full(&self, len: u32) -> bool {
        len == self.free_end && self.total == self.room
    }

    /// Makes room for `additional` handles beside the `len` in use.
    #[cold]
    pub(crate) fn try_reserve(&mut self, marks: &mut LaneOf<u32>, len: u32, additional: u32) -> Result<(), AllocError> {
        let fresh = additional.saturating_sub(self.free_end - len);
        let needed = self.total.checked_add(fresh).filter(|n| *n <= <Self as DenseIndex>::MAX);
        let needed = needed.ok_or(AllocError::CapacityOverflow)?;
        self.slots.countable(needed)?;
        marks.try_grow(needed)?;
        self.slots.try_grow(needed)?;
        self.room = self.slots.capacity().min(marks.capacity()).min(<Self as DenseIndex>::MAX);
        Ok(())
    }

    pub(crate) fn try_shrink(&mut self) -> Result<(), AllocError> {
        // The marks may be shrunk to `total` too, from now on.
        self.room = self.total;
        // SAFETY: slots at and above `total` are not in use.
        unsafe { self.slots.try_resize(self.total) }
    }

    /// The handle that [`mint`](Slots::mint) will return for a container with `len` positions.
    ///
    /// # Safety
    ///
    /// The marks are those of this index's container, and the index is not full.
    #[inline(always)]
    pub(crate) unsafe fn next(&self, marks: &LaneOf<u32>, len: u32) -> Handle<K> {
        if len < self.free_end {
            // SAFETY: marks below `total` are initialised slot numbers, and `free_end <= total`.
            unsafe {
                let slot = *marks.at(len);
                Handle::new(slot, generation::generation((*self.slots.at(slot)).word))
            }
        } else {
            Handle::new(self.total, 0)
        }
    }

    /// Takes a slot for position `len` of the container and returns its handle; `marks[len]` is the slot then.
    ///
    /// # Safety
    ///
    /// The marks are those of this index's container, `len` is the number of its positions, and the index is not full.
    #[inline(always)]
    pub(crate) unsafe fn mint(&mut self, marks: &mut LaneOf<u32>, len: u32) -> Handle<K> {
        debug_assert!(!self.is_full(len));
        if len < self.free_end {
            // SAFETY: marks below `total` are initialised slot numbers, and `free_end <= total`.
            unsafe {
                let number = *marks.at(len);
                let slot = self.slots.at(number);
                let word = generation::generation((*slot).word);
                slot.write(Slot { position: len, word });
                Handle::new(number, word)
            }
        } else {
            let number = self.total;
            // SAFETY: not full, so slots and marks have room for one more; the first retired slot, if there is one, at
            // `free_end`, makes way to the end of the marks.
            unsafe {
                if self.free_end != number {
                    marks.at(number).write(*marks.at(self.free_end));
                }
                marks.at(self.free_end).write(number);
                self.slots.at(number).write(Slot { position: len, word: 0 });
            }
            self.total += 1;
            self.free_end += 1;
            Handle::new(number, 0)
        }
    }

    /// A copy for a container whose marks are copied too.
    pub(crate) fn try_clone(&self) -> Result<Self, AllocError> {
        let mut slots = LaneOf::new();
        slots.try_grow(self.total)?;
        // SAFETY: `total` slots are initialised here, and there is room for them there.
        unsafe { core::ptr::copy_nonoverlapping(self.slots.ptr(), slots.ptr(), self.total as usize) };
        Ok(Slots { slots, total: self.total, free_end: self.free_end, room: self.total, kind: PhantomData })
    }

    /// An index of slots with these words, in the state that the marks describe.
    #[cfg(feature = "serde")]
    pub(crate) fn try_restore(words: &[u32], marks: &LaneOf<u32>, len: u32, free: u32) -> Result<Self, AllocError> {
        let total = words.len() as u32;
        let mut index = Slots { total, free_end: len + free, ..Slots::new() };
        index.slots.try_grow(total)?;
        index.room = index.slots.capacity().min(marks.capacity()).min(<Self as DenseIndex>::MAX);
        for (at, &word) in words.iter().enumerate() {
            // SAFETY: below `total`, for which there is room.
            unsafe { index.slots.at(at as u32).write(Slot { position: 0, word }) };
        }
        for at in 0..len {
            // SAFETY: the marks are slot numbers below `total`, by the caller's check.
            unsafe { index.relocate(*marks.at(at), at) };
        }
        Ok(index)
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
    unsafe fn release(&mut self, mark: u32) {
        // SAFETY: a mark of the container is a slot number below `total`.
        unsafe {
            let slot = self.slots.at(mark);
            (*slot).word = generation::released((*slot).word);
        }
    }

    #[inline(always)]
    unsafe fn settle(&mut self, marks: &mut LaneOf<u32>, at: u32) {
        // SAFETY: `at` is below `free_end`, marks below `total` are initialised slot numbers.
        unsafe {
            let mark = *marks.at(at);
            if (*self.slots.at(mark)).word == RETIRED {
                self.free_end -= 1;
                marks.at(at).write(*marks.at(self.free_end));
                marks.at(self.free_end).write(mark);
            }
        }
    }

    fn bytes(&self) -> usize {
        self.slots.bytes()
    }

    /// Checks the permutation and the words against it.
    unsafe fn validate(&self, marks: &LaneOf<u32>, len: u32, _: u32) -> Result<(), &'static str> {
        if !(len <= self.free_end && self.free_end <= self.total && self.total <= self.room) {
            return Err("slots are not divided into used, free and retired");
        }
        if self.room > self.slots.capacity() || self.room > marks.capacity() {
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
        write!(f, "Slots({} used, {} free or retired)", self.free_end, self.total - self.free_end)
    }
}
