//! The dense core: keys and rows side by side, an index that leads to them.
//!
//! # Representation
//!
//! Positions `0..len` are in use. Each has a *mark* (what the index calls it) and a row; a mark may be a *hole*, left by
//! a deferred removal: its row is moved out. The last position in use is never a hole.
//!
//! The marks above `len` belong to the index (a minting index keeps its free slots there); rows above `len` are moved
//! out.
//!
//! `gap` is a run of holes that a stable compaction is pushing to the right; it may be empty. `low` is a position below
//! which there is no hole, and where the gap begins. Both only save time: a compaction always goes on from the lowest hole.
//!
//! # What must never leak
//!
//! Structure changes first, user code runs last: a method here either runs none, or runs it when lengths and index are
//! already as they will stay.
#![allow(unsafe_code)]

use super::{Lane, LaneOf, Rows};
use crate::{AllocError, Key};
use core::ops::Range;

/// What leads from keys to positions.
///
/// # Safety
///
/// - `position` returns a position only if [`relocate`](DenseIndex::relocate) (or the index's own way of linking) last
///   stored it for that key and the key was not [released](DenseIndex::release) since.
/// - [`mark`](DenseIndex::mark) and [`key`](DenseIndex::key) are inverse for keys that are alive, and
///   [`filled`](DenseIndex::filled) undoes [`hole`](DenseIndex::hole).
/// - [`is_hole`](DenseIndex::is_hole) is true of what `hole` made and of nothing else, always.
/// - None of the methods panics when its conditions hold.
pub unsafe trait DenseIndex {
    /// What users hold.
    type Key: Key;
    /// What the dense side stores at each position.
    type Mark: Copy;
    /// How many positions there can be.
    const MAX: u32;

    /// The position of a key, if it is alive.
    fn position(&self, key: Self::Key) -> Option<u32>;

    /// The mark of a key that is alive.
    fn mark(key: Self::Key) -> Self::Mark;

    /// The key of a mark that is no hole.
    ///
    /// # Safety
    ///
    /// The mark is alive in this index.
    unsafe fn key(&self, mark: Self::Mark) -> Self::Key;

    /// Records that what `mark` names is now at `position`.
    ///
    /// # Safety
    ///
    /// The mark is alive in this index.
    unsafe fn relocate(&mut self, mark: Self::Mark, position: u32);

    /// Ends the key of `mark`: no position is found under it any more. Whether the index wants to be told, by
    /// [`settle`](DenseIndex::settle), when the mark has come to rest.
    ///
    /// # Safety
    ///
    /// The mark is alive in this index.
    unsafe fn release(&mut self, mark: Self::Mark) -> bool;

    /// Tells that a released mark has come to rest at `at`, the lowest position above those in use.
    ///
    /// # Safety
    ///
    /// `marks[at]` is the mark, the marks above it have been told about.
    unsafe fn settle(&mut self, marks: &mut LaneOf<Self::Mark>, at: u32);

    /// Bytes held from the allocator.
    fn bytes(&self) -> usize;

    /// Checks what the index itself keeps, for a container with these marks, `len` positions and `live` keys.
    ///
    /// # Errors
    ///
    /// A sentence that says what does not hold.
    ///
    /// # Safety
    ///
    /// The marks are those of the index's own container.
    unsafe fn validate(&self, marks: &LaneOf<Self::Mark>, len: u32, live: u32) -> Result<(), &'static str>;

    /// The mark as a hole.
    fn hole(mark: Self::Mark) -> Self::Mark;
    /// Whether a mark is a hole.
    fn is_hole(mark: Self::Mark) -> bool;
    /// The mark that a hole was made of.
    fn filled(mark: Self::Mark) -> Self::Mark;
}

/// Keys and rows in the same order, and the index that leads to them.
#[derive(Debug)]
pub struct Dense<X: DenseIndex, R: Rows> {
    pub(crate) index: X,
    pub(crate) marks: LaneOf<X::Mark>,
    pub(crate) rows: R,
    pub(crate) len: u32,
    pub(crate) holes: u32,
    pub(crate) gap: Range<u32>,
    pub(crate) low: u32,
}

impl<X: DenseIndex, R: Rows> Dense<X, R> {
    /// An empty container over this index and these rows.
    pub const fn new(index: X, rows: R) -> Dense<X, R> {
        Dense { index, marks: LaneOf::new(), rows, len: 0, holes: 0, gap: 0..0, low: 0 }
    }

    /// Positions in use, holes among them.
    #[inline(always)]
    pub fn positions(&self) -> u32 {
        self.len
    }

    /// Rows that are there.
    #[inline(always)]
    pub fn live(&self) -> u32 {
        self.len - self.holes
    }

    /// Positions in use whose rows are gone.
    #[inline(always)]
    pub fn holes(&self) -> u32 {
        self.holes
    }

    /// Positions there is room for.
    pub fn capacity(&self) -> u32 {
        self.marks.capacity().min(self.rows.capacity())
    }

    /// The marks in use.
    #[inline(always)]
    pub fn marks(&self) -> &[X::Mark] {
        // SAFETY: `len` marks are within the capacity and initialised.
        unsafe { self.marks.slice(self.len) }
    }

    /// The rows.
    #[inline(always)]
    pub fn rows(&self) -> &R {
        &self.rows
    }

    /// The rows, for writing and dropping.
    ///
    /// # Safety
    ///
    /// They stay the rows of this container: their memory is not given away, positions in use that are no holes stay
    /// initialised, and no others become so.
    #[inline(always)]
    pub unsafe fn rows_mut(&mut self) -> &mut R {
        &mut self.rows
    }

    /// Bytes that the marks hold from the allocator.
    pub fn mark_bytes(&self) -> usize {
        self.marks.bytes()
    }

    /// The index.
    #[inline(always)]
    pub fn index(&self) -> &X {
        &self.index
    }

    /// The index, for making keys known to it.
    ///
    /// # Safety
    ///
    /// It stays the index of this container: what it knows of marks in use is not changed, and a key that is made known
    /// gets its position by [`push`](Dense::push) next.
    #[inline(always)]
    pub unsafe fn index_mut(&mut self) -> &mut X {
        &mut self.index
    }

    /// Makes room for `additional` more rows.
    ///
    /// # Errors
    ///
    /// If there would be too many, or memory cannot be had; nothing changed.
    pub fn try_reserve(&mut self, additional: u32) -> Result<(), AllocError> {
        let needed = self.len.checked_add(additional).filter(|n| *n <= X::MAX);
        let needed = needed.ok_or(AllocError::CapacityOverflow)?;
        self.rows.countable(needed)?;
        self.marks.try_grow(needed)?;
        self.rows.try_grow(needed)
    }

    /// Gives back room: rows to those in use, marks to `marks`.
    ///
    /// # Errors
    ///
    /// If the allocator cannot shrink a block; everything is as before.
    ///
    /// # Safety
    ///
    /// No mark at or above `marks` is in use by the container or its index.
    pub unsafe fn try_shrink(&mut self, marks: u32) -> Result<(), AllocError> {
        debug_assert!(marks >= self.len);
        // SAFETY: nothing at or above `len` is in use in the rows, nor at or above `marks` in the marks.
        unsafe {
            self.rows.try_resize(self.len)?;
            self.marks.try_resize(marks)
        }
    }

    /// Writes the mark of a position.
    ///
    /// # Safety
    ///
    /// The position is within the room for marks.
    #[inline(always)]
    pub(crate) unsafe fn set_mark(&mut self, at: u32, mark: X::Mark) {
        // SAFETY: the caller's promise.
        unsafe {
            self.marks.at(at).write(mark);
            self.marks.mark(at);
        }
    }

    /// The lane of the marks, to be tracked, and the rows. Whoever changes which key or row is at a position marks it in that
    /// lane, or raises its version.
    ///
    /// # Safety
    ///
    /// The lane is not exchanged for another or resized; for the rows, as [`rows_mut`](Dense::rows_mut).
    pub unsafe fn parts_mut(&mut self) -> (&mut Lane, &mut R) {
        // SAFETY: the caller's promise.
        (unsafe { self.marks.erased() }, &mut self.rows)
    }

    /// The lane of the marks, see [`parts_mut`](Dense::parts_mut).
    pub fn marks_lane(&self) -> &Lane {
        self.marks.lane()
    }

    /// Takes the position after the last for `mark`, and returns it: the caller writes the row there.
    ///
    /// # Safety
    ///
    /// There is room in rows and marks, the mark is alive in the index and recorded there at this position, and the row
    /// is written before anything else happens.
    #[inline(always)]
    pub unsafe fn push(&mut self, mark: X::Mark) -> u32 {
        let at = self.len;
        debug_assert!(at < self.marks.capacity() && at < self.rows.capacity());
        // SAFETY: there is room, by the caller's promise.
        unsafe { self.set_mark(at, mark) };
        self.len = at + 1;
        at
    }

    /// Ends the key at `position`, whose row is moved out already, and closes the place with the last row.
    ///
    /// # Safety
    ///
    /// The position is in use and no hole, `mark` is its mark, and its row counts as moved out.
    #[inline(always)]
    pub unsafe fn close_swap(&mut self, position: u32, mark: X::Mark) {
        let last = self.len - 1;
        // SAFETY: both positions are in use, so they are within marks and rows; the last one is never a hole, so its
        // mark is alive; the row at `position` is moved out.
        unsafe {
            let settles = self.index.release(mark);
            if position != last {
                let moved = *self.marks.at(last);
                self.rows.shift(last, position);
                self.set_mark(position, moved);
                self.index.relocate(moved, position);
                self.marks.at(last).write(mark);
            }
            self.len = last;
            if settles {
                self.index.settle(&mut self.marks, last);
            }
        }
        if self.holes > 0 {
            self.trim();
        }
    }

    /// Retires the row at `position` to the tail: it is exchanged with the last one and the length lowered, so that it
    /// lies at the position after the last, owned by nobody until the next row is pushed.
    ///
    /// Returns that position. The container has no holes.
    ///
    /// # Safety
    ///
    /// The position is in use, and there are no holes.
    pub unsafe fn retire_swap(&mut self, position: u32) -> u32 {
        debug_assert_eq!(self.holes, 0);
        let last = self.len - 1;
        // SAFETY: both positions are in use and, there being no holes, alive.
        unsafe {
            let mark = *self.marks.at(position);
            self.index.release(mark);
            if position != last {
                let moved = *self.marks.at(last);
                self.rows.swap(last, position);
                self.set_mark(position, moved);
                self.index.relocate(moved, position);
                self.marks.at(last).write(mark);
            }
            self.len = last;
            self.index.settle(&mut self.marks, last);
        }
        last
    }

    /// Ends the key at `position`, whose row is moved out already, and moves all later rows down by one.
    ///
    /// # Safety
    ///
    /// The position is in use, its row counts as moved out, and there are no holes.
    pub unsafe fn close_shift(&mut self, position: u32) {
        debug_assert_eq!(self.holes, 0);
        let last = self.len - 1;
        // SAFETY: `position` is in use, so `position < len`, within marks and rows; all marks are alive.
        unsafe {
            let mark = *self.marks.at(position);
            self.index.release(mark);
            if position != last {
                self.marks.touch();
                self.rows.close(position, self.len);
                core::ptr::copy(self.marks.at(position + 1), self.marks.at(position), (last - position) as usize);
            }
            for at in position..last {
                self.index.relocate(*self.marks.at(at), at);
            }
            self.marks.at(last).write(mark);
            self.len = last;
            self.index.settle(&mut self.marks, last);
        }
    }

    /// Ends the key at `position` and leaves a hole there; the row counts as moved out from now on.
    ///
    /// # Safety
    ///
    /// The position is in use and no hole.
    #[inline]
    pub unsafe fn punch(&mut self, position: u32) {
        // SAFETY: the position is in use and its mark alive.
        unsafe {
            let mark = *self.marks.at(position);
            self.index.release(mark);
            self.set_mark(position, X::hole(mark));
        }
        if self.holes == 0 || position < self.low {
            // A compaction goes on from the lowest hole: which holes there are is all that it depends on.
            (self.low, self.gap) = (position, 0..0);
        }
        self.holes += 1;
        if position + 1 == self.len {
            self.trim();
        }
    }

    /// Gives up the holes at the end.
    #[cold]
    #[inline(never)]
    fn trim(&mut self) {
        // SAFETY: positions below `len` are in use; `len` is lowered past each hole before the index is told, and holes
        // are told about from the highest down.
        unsafe {
            while self.len > 0 && X::is_hole(*self.marks.at(self.len - 1)) {
                let at = self.len - 1;
                let mark = X::filled(*self.marks.at(at));
                self.set_mark(at, mark);
                self.len = at;
                self.holes -= 1;
                self.index.settle(&mut self.marks, at);
            }
        }
        self.gap.end = self.gap.end.min(self.len);
        if self.gap.start >= self.gap.end {
            self.gap = 0..0;
        }
    }

    /// Closes holes in a stable way, from the left, with at most `budget` moves of a row. Returns how many it made.
    pub fn compact(&mut self, budget: u32) -> u32 {
        let mut moves = 0;
        while self.holes > 0 {
            if self.gap.is_empty() {
                let marks = self.marks();
                let Some(skip) = marks[self.low as usize..].iter().position(|m| X::is_hole(*m)) else {
                    unreachable!("holes are counted and none is below `low`")
                };
                let at = self.low + skip as u32;
                (self.gap, self.low) = (at..at + 1, at);
            }
            let Range { mut start, mut end } = self.gap.clone();
            // SAFETY: the gap lies below `len` and consists of holes; the last position is none, so the loop ends at
            // it at the latest. A row is moved from a position that is no hole into a hole, and the two marks trade
            // places.
            unsafe {
                while end < self.len {
                    let mark = *self.marks.at(end);
                    if !X::is_hole(mark) {
                        if moves == budget {
                            (self.gap, self.low) = (start..end, start);
                            return moves;
                        }
                        self.rows.shift(end, start);
                        self.set_mark(end, *self.marks.at(start));
                        self.set_mark(start, mark);
                        self.index.relocate(mark, start);
                        start += 1;
                        moves += 1;
                    }
                    end += 1;
                }
            }
            self.gap = start..end;
            self.trim();
        }
        moves
    }

    /// Exchanges two positions.
    ///
    /// # Safety
    ///
    /// Both are in use, and there are no holes.
    #[inline]
    pub unsafe fn swap(&mut self, a: u32, b: u32) {
        debug_assert_eq!(self.holes, 0);
        if a == b {
            return;
        }
        // SAFETY: both positions are in use and alive, and they differ.
        unsafe {
            self.rows.swap(a, b);
            let (x, y) = (*self.marks.at(a), *self.marks.at(b));
            self.set_mark(a, y);
            self.set_mark(b, x);
            self.index.relocate(y, a);
            self.index.relocate(x, b);
        }
    }

    /// Puts into each of the first positions, `i`, what was at `order[i]`; those after them stay. Uses `order` as scratch.
    ///
    /// # Safety
    ///
    /// `order` is a permutation of as many first positions as it is long. They are in use, and there are no holes.
    pub unsafe fn permute(&mut self, order: &mut [u32]) {
        debug_assert!(order.len() <= self.len as usize);
        let count = order.len() as u32;
        for start in 0..count {
            let mut at = start;
            loop {
                let from = core::mem::replace(&mut order[at as usize], at);
                if from == start {
                    break;
                }
                // SAFETY: the order holds positions in use, and `from` differs from `at`: the cycle that starts at
                // `start` has not come round to it.
                unsafe {
                    self.rows.swap(at, from);
                    let mark = *self.marks.at(from);
                    self.set_mark(from, *self.marks.at(at));
                    self.set_mark(at, mark);
                }
                at = from;
            }
        }
        for at in 0..count {
            // SAFETY: every position in use has a mark that is alive.
            unsafe { self.index.relocate(*self.marks.at(at), at) };
        }
    }

    /// Ends all keys and gives up all positions. The rows at `0..n`, for the `n` that is returned, are owned by nobody:
    /// the caller ends them.
    pub fn release_all(&mut self) -> u32 {
        self.compact(u32::MAX);
        let len = self.len;
        for at in (0..len).rev() {
            // SAFETY: the positions are in use and no holes; the length is lowered from the end, and the index told
            // about each mark in turn.
            unsafe {
                self.index.release(*self.marks.at(at));
                self.len = at;
                self.index.settle(&mut self.marks, at);
            }
        }
        len
    }

    /// Checks that marks lead to their positions, that holes are counted and the last position is none, and the index.
    ///
    /// # Errors
    ///
    /// A sentence that says what does not hold.
    pub fn validate(&self) -> Result<(), &'static str> {
        if self.len > self.marks.capacity() || self.len > self.rows.capacity() {
            return Err("more positions than room");
        }
        let mut holes = 0;
        for (at, &mark) in self.marks().iter().enumerate() {
            if X::is_hole(mark) {
                holes += 1;
                if (at as u32) < self.low {
                    return Err("a hole below the lowest");
                }
            } else {
                // SAFETY: no hole, so alive.
                let key = unsafe { self.index.key(mark) };
                if self.index.position(key) != Some(at as u32) {
                    return Err("a key that does not lead to its position");
                }
            }
        }
        if holes != self.holes {
            return Err("holes miscounted");
        }
        if self.marks().last().is_some_and(|m| X::is_hole(*m)) {
            return Err("the last position is a hole");
        }
        if !self.gap.is_empty()
            && (self.gap.start != self.low
                || self.gap.end > self.len
                || self.gap.clone().any(|at| !X::is_hole(self.marks()[at as usize])))
        {
            return Err("the gap is not made of holes, the lowest of them first");
        }
        // SAFETY: the container's own marks.
        unsafe { self.index.validate(&self.marks, self.len, self.live()) }
    }
}
