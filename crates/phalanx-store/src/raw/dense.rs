//! The dense core: keys and rows in the same order, and an index that leads to them.
//!
//! # Representation
//!
//! Positions `0..len` are in use. Each has a *dense key* (the index's form of a key) and a row. A dense key may be a
//! *hole*, left by a removal in place: its row is moved out. The last position in use is never a hole.
//!
//! The dense keys above `len` belong to the index: `Slots` keeps its free slots there. Rows above
//! `len` are moved out.
//!
//! `gap` is a run of holes that a stable compaction is pushing to the right; it may be empty. `low` is a position below
//! which there is no hole, and where the gap begins. Both only save time: a compaction always continues from the lowest
//! hole.
//!
//! # User code
//!
//! Structure changes first, user code runs last. A method here either runs none, or runs it after lengths and index have
//! reached their final state.
#![allow(unsafe_code)]

use super::{Lane, LaneOf, Rows};
use crate::{AllocError, Key};
use core::ops::Range;

/// An index from keys to positions of a [`Dense`] container.
///
/// # Safety
///
/// - `position` returns only the position that [`relocate`](DenseIndex::relocate), or the index's own way of linking,
///   stored last for that key. The key was not [released](DenseIndex::release) since.
/// - [`dense_key`](DenseIndex::dense_key) and [`key`](DenseIndex::key) are inverse for live keys, and
///   [`filled`](DenseIndex::filled) undoes [`hole`](DenseIndex::hole).
/// - [`is_hole`](DenseIndex::is_hole) is true of what `hole` made and of nothing else, always.
/// - None of the methods panics when its conditions hold.
pub unsafe trait DenseIndex {
    /// The key that users hold.
    type Key: Key;
    /// The form of a key that is stored at its position.
    type DenseKey: Copy;
    /// The largest number of positions.
    const MAX: u32;

    /// Returns the position of `key`, or `None` if it is not alive.
    fn position(&self, key: Self::Key) -> Option<u32>;

    /// Returns the stored form of a live key.
    fn dense_key(key: Self::Key) -> Self::DenseKey;

    /// Returns the key that `dense_key` stands for.
    ///
    /// # Safety
    ///
    /// `dense_key` is alive in this index, and is not a hole.
    unsafe fn key(&self, dense_key: Self::DenseKey) -> Self::Key;

    /// Records that the row of `dense_key` is now at `position`.
    ///
    /// # Safety
    ///
    /// `dense_key` is alive in this index.
    unsafe fn relocate(&mut self, dense_key: Self::DenseKey, position: u32);

    /// Ends a key, so that no position is found for it any more.
    ///
    /// Returns `true` if [`on_released`](DenseIndex::on_released) must be called when the key has reached the tail.
    ///
    /// # Safety
    ///
    /// `dense_key` is alive in this index.
    unsafe fn release(&mut self, dense_key: Self::DenseKey) -> bool;

    /// Ends a key, like [`release`](DenseIndex::release). For a key that was just looked up.
    ///
    /// # Safety
    ///
    /// The key is alive in this index.
    #[inline(always)]
    unsafe fn release_key(&mut self, key: Self::Key) -> bool {
        // SAFETY: the key is alive, as this method asks for too.
        unsafe { self.release(Self::dense_key(key)) }
    }

    /// Ends the keys of the first `len` dense keys. Returns `true` if [`release`](DenseIndex::release) does for one of them.
    ///
    /// # Safety
    ///
    /// `dense_keys` are those of this index's container. The first `len` are all that are alive, and not holes.
    unsafe fn release_all(&mut self, dense_keys: &LaneOf<Self::DenseKey>, len: u32) -> bool {
        let mut retired = false;
        for at in 0..len {
            // SAFETY: the dense key is initialised and alive.
            retired |= unsafe { self.release(*dense_keys.at(at)) };
        }
        retired
    }

    /// Called when a released key has reached `at`, the lowest position above those in use.
    ///
    /// # Safety
    ///
    /// `dense_keys` are those of this index's container, and `dense_keys[at]` is the released key. The method was called
    /// for all released keys above it.
    unsafe fn on_released(&mut self, dense_keys: &mut LaneOf<Self::DenseKey>, at: u32);

    /// Returns the number of bytes allocated.
    fn bytes(&self) -> usize;

    /// Checks the invariants of the index, for a container with these keys, `len` positions and `live` live keys.
    ///
    /// # Errors
    ///
    /// Returns a sentence that names the invariant that does not hold.
    ///
    /// # Safety
    ///
    /// `dense_keys` are those of this index's container.
    unsafe fn validate(&self, dense_keys: &LaneOf<Self::DenseKey>, len: u32, live: u32) -> Result<(), &'static str>;

    /// Returns `dense_key` as a hole.
    fn hole(dense_key: Self::DenseKey) -> Self::DenseKey;
    /// Returns `true` if `dense_key` is a hole.
    fn is_hole(dense_key: Self::DenseKey) -> bool;
    /// Returns the dense key that a hole was made of.
    fn filled(dense_key: Self::DenseKey) -> Self::DenseKey;
}

/// Keys and rows in the same order, and the index that leads to them.
///
/// `TRACKED` says whether dirty bits of the keys can be [tracked](Dense::parts_mut). The typed containers of this crate have
/// no use for them.
#[derive(Debug)]
pub struct Dense<X: DenseIndex, R: Rows, const TRACKED: bool = true> {
    pub(crate) index: X,
    pub(crate) keys: LaneOf<X::DenseKey>,
    pub(crate) rows: R,
    pub(crate) len: u32,
    pub(crate) holes: u32,
    pub(crate) gap: Range<u32>,
    pub(crate) low: u32,
    /// Whether the key of a hole may have to be passed to [`on_released`](DenseIndex::on_released).
    pub(crate) retired: bool,
}

impl<X: DenseIndex, R: Rows> Dense<X, R> {
    /// Creates an empty container over `index` and `rows`.
    pub const fn new(index: X, rows: R) -> Dense<X, R> {
        Dense::empty(index, rows)
    }

    /// Returns the lane of the dense keys, for tracking, and the rows.
    ///
    /// The container marks in that lane each position whose key or row it replaces, or raises its version.
    ///
    /// # Safety
    ///
    /// The lane is not replaced or resized. The rows are used as [`rows_mut`](Dense::rows_mut) asks for.
    pub unsafe fn parts_mut(&mut self) -> (&mut Lane, &mut R) {
        // SAFETY: the caller does not replace the lane.
        (unsafe { self.keys.erased() }, &mut self.rows)
    }

    /// Returns the lane of the dense keys; see [`parts_mut`](Dense::parts_mut).
    pub fn key_lane(&self) -> &Lane {
        self.keys.lane()
    }
}

impl<X: DenseIndex, R: Rows, const TRACKED: bool> Dense<X, R, TRACKED> {
    /// Creates an empty container over `index` and `rows`.
    pub(crate) const fn empty(index: X, rows: R) -> Self {
        Dense { index, keys: LaneOf::new(), rows, len: 0, holes: 0, gap: 0..0, low: 0, retired: false }
    }

    /// Returns the number of positions in use, holes included.
    #[inline(always)]
    pub fn positions(&self) -> u32 {
        self.len
    }

    /// Returns the number of rows, holes excluded.
    #[inline(always)]
    pub fn live(&self) -> u32 {
        self.len - self.holes
    }

    /// Returns the number of holes.
    #[inline(always)]
    pub fn holes(&self) -> u32 {
        self.holes
    }

    /// Returns the number of positions that fit without allocating.
    pub fn capacity(&self) -> u32 {
        self.keys.capacity().min(self.rows.capacity())
    }

    /// Returns the dense keys of all positions in use.
    #[inline(always)]
    pub fn dense_keys(&self) -> &[X::DenseKey] {
        // SAFETY: `len` dense keys are within the capacity and initialised.
        unsafe { self.keys.slice(self.len) }
    }

    /// Returns the rows.
    #[inline(always)]
    pub fn rows(&self) -> &R {
        &self.rows
    }

    /// Returns the rows for writing and dropping.
    ///
    /// # Safety
    ///
    /// The caller does not replace the rows or their memory. Positions in use that are not holes stay initialised, and
    /// no others become so.
    #[inline(always)]
    pub unsafe fn rows_mut(&mut self) -> &mut R {
        &mut self.rows
    }

    /// Returns the number of bytes allocated for keys.
    pub fn key_bytes(&self) -> usize {
        self.keys.bytes()
    }

    /// Returns the index.
    #[inline(always)]
    pub fn index(&self) -> &X {
        &self.index
    }

    /// Returns the index for linking new keys.
    ///
    /// # Safety
    ///
    /// The caller does not replace the index, nor change what it knows of keys in use. A key that is linked gets its
    /// position by [`push`](Dense::push) next.
    #[inline(always)]
    pub unsafe fn index_mut(&mut self) -> &mut X {
        &mut self.index
    }

    /// Reserves capacity for `additional` more rows.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::CapacityOverflow`] if there would be more than [`DenseIndex::MAX`] positions, or
    /// [`AllocError::OutOfMemory`] if allocation fails. No row or key changes.
    pub fn try_reserve(&mut self, additional: u32) -> Result<(), AllocError> {
        let needed = self.len.checked_add(additional).filter(|n| *n <= X::MAX);
        let needed = needed.ok_or(AllocError::CapacityOverflow)?;
        self.rows.countable(needed)?;
        self.keys.try_grow(needed)?;
        self.rows.try_grow(needed)
    }

    /// Shrinks the rows to those in use, and the dense keys to `dense_keys`.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::OutOfMemory`] if the allocator cannot shrink a block; no row or key changes.
    ///
    /// # Safety
    ///
    /// No dense key at or above `dense_keys` is in use by the container or its index.
    pub unsafe fn try_shrink(&mut self, dense_keys: u32) -> Result<(), AllocError> {
        debug_assert!(dense_keys >= self.len);
        // SAFETY: no row at or above `len` is in use, and no dense key at or above `dense_keys`.
        unsafe {
            self.rows.try_resize(self.len)?;
            self.keys.try_resize(dense_keys)
        }
    }

    /// Writes the dense key of a position, and its dirty bit if there can be one.
    ///
    /// # Safety
    ///
    /// `at` is below the capacity for dense keys.
    #[inline(always)]
    pub(crate) unsafe fn set_key(&mut self, at: u32, dense_key: X::DenseKey) {
        // SAFETY: `at` is below the capacity; the container is borrowed exclusively, so no other thread marks rows.
        unsafe {
            self.keys.at(at).write(dense_key);
            if TRACKED {
                self.keys.set_dirty(at);
            }
        }
    }

    /// Makes the positions in use and the holes those of another container.
    ///
    /// # Safety
    ///
    /// The index and the dense keys are copies of those of the other container. There is capacity for as many rows, and they
    /// are initialised at all positions that are not holes.
    pub(crate) unsafe fn set_positions<S: Rows>(&mut self, from: &Dense<X, S, TRACKED>) {
        // All fields are named, so that none is forgotten.
        let Dense { index: _, keys: _, rows: _, len, holes, gap, low, retired } = from;
        (self.len, self.holes, self.gap, self.low, self.retired) = (*len, *holes, gap.clone(), *low, *retired);
    }

    /// Appends a position for `dense_key` and returns it. The caller writes the row there.
    ///
    /// # Safety
    ///
    /// There is capacity for one more row and key. `dense_key` is alive in the index and recorded there at this position.
    /// The row is written before anything else happens.
    #[inline(always)]
    pub unsafe fn push(&mut self, dense_key: X::DenseKey) -> u32 {
        let at = self.len;
        debug_assert!(at < self.keys.capacity() && at < self.rows.capacity());
        // SAFETY: the caller has made sure that there is capacity for one more key.
        unsafe { self.set_key(at, dense_key) };
        self.len = at + 1;
        at
    }

    /// Gives up the position of a key that was released, and lets `move_row` move the last row there. `retired` is what the
    /// release returned.
    ///
    /// # Safety
    ///
    /// The position is in use and not a hole, and `dense_key` is its key. The last row is moved by `move_row`, which gets
    /// the last position and `position`, and what was at `position` is accounted for.
    #[inline(always)]
    unsafe fn unlink(
        &mut self,
        position: u32,
        dense_key: X::DenseKey,
        retired: bool,
        move_row: impl FnOnce(&mut R, u32, u32),
    ) {
        let last = self.len - 1;
        // SAFETY: both positions are in use, so they are below the capacity. The last one is never a hole, so its key is
        // alive, unless it is the one that was released. That lies at `last` when the length has been lowered.
        unsafe {
            if position != last {
                let moved = *self.keys.at(last);
                move_row(&mut self.rows, last, position);
                self.set_key(position, moved);
                self.index.relocate(moved, position);
                self.keys.at(last).write(dense_key);
            }
            self.len = last;
            if retired {
                self.index.on_released(&mut self.keys, last);
            }
        }
    }

    /// Ends the key at `position`, whose row is moved out already, and moves the last row there.
    ///
    /// # Safety
    ///
    /// The position is in use and not a hole, `dense_key` is its key, and its row counts as moved out.
    #[inline(always)]
    pub unsafe fn swap_remove(&mut self, position: u32, dense_key: X::DenseKey) {
        // SAFETY: the position is in use and `dense_key` its key. Its row is moved out, so it may be written over; the
        // two rows differ where `unlink` moves one.
        unsafe {
            let retired = self.index.release(dense_key);
            self.unlink(position, dense_key, retired, |rows, last, position| rows.shift(last, position));
        }
        if self.holes > 0 {
            self.trim();
        }
    }

    /// Ends a key whose position was just looked up, like [`swap_remove`](Dense::swap_remove).
    ///
    /// # Safety
    ///
    /// The position is that of the key, and its row counts as moved out.
    #[inline(always)]
    pub(crate) unsafe fn swap_remove_key(&mut self, position: u32, key: X::Key) {
        // SAFETY: the position is in use and not a hole, since the key has it. The rest is as in `swap_remove`.
        unsafe {
            let retired = self.index.release_key(key);
            self.unlink(position, X::dense_key(key), retired, |rows, last, position| rows.shift(last, position));
        }
        if self.holes > 0 {
            self.trim();
        }
    }

    /// Ends the key at `position` and exchanges its row with the last one. Returns the position after the last, where the
    /// removed row lies.
    ///
    /// The removed row belongs to the caller until the next row is pushed.
    ///
    /// # Safety
    ///
    /// The position is in use, and there are no holes.
    pub unsafe fn swap_remove_to_tail(&mut self, position: u32) -> u32 {
        debug_assert_eq!(self.holes, 0);
        // SAFETY: the position is in use and, without holes, its key alive. Both rows stay whole, and they differ where
        // `unlink` moves one.
        unsafe {
            let dense_key = *self.keys.at(position);
            let retired = self.index.release(dense_key);
            self.unlink(position, dense_key, retired, |rows, last, position| rows.swap(last, position));
        }
        self.len
    }

    /// Ends the key at `position`, whose row is moved out already, and moves all later rows down by one.
    ///
    /// # Safety
    ///
    /// The position is in use, its row counts as moved out, and there are no holes.
    pub unsafe fn shift_remove(&mut self, position: u32) {
        debug_assert_eq!(self.holes, 0);
        // SAFETY: the position is in use and there are no holes. Its row is moved out, so those after it may move down.
        unsafe { self.unlink_shift(position, |rows, len| rows.shift_down(position, len)) };
    }

    /// Ends the key at `position`, moves its row to the tail and all later rows down by one. Returns the position after
    /// the last, where the removed row lies.
    ///
    /// The removed row belongs to the caller until the next row is pushed.
    ///
    /// # Safety
    ///
    /// The position is in use, and there are no holes.
    pub unsafe fn shift_remove_to_tail(&mut self, position: u32) -> u32 {
        debug_assert_eq!(self.holes, 0);
        // SAFETY: the position is in use and there are no holes. A rotation keeps all rows.
        unsafe { self.unlink_shift(position, |rows, len| rows.rotate(position, len)) };
        self.len
    }

    /// Ends the key at `position`, lets `move_rows` move all later rows down by one, and does so with their keys.
    ///
    /// # Safety
    ///
    /// The position is in use and there are no holes. `move_rows` gets the length, and accounts for the row at `position`.
    #[inline(always)]
    unsafe fn unlink_shift(&mut self, position: u32, move_rows: impl FnOnce(&mut R, u32)) {
        let last = self.len - 1;
        // SAFETY: positions up to `last` are in use, so they are below the capacity; all keys are alive. The released key
        // lies at `last` when the length has been lowered.
        unsafe {
            let dense_key = *self.keys.at(position);
            let retired = self.index.release(dense_key);
            if position != last {
                self.keys.touch();
                move_rows(&mut self.rows, self.len);
                core::ptr::copy(self.keys.at(position + 1), self.keys.at(position), (last - position) as usize);
            }
            for at in position..last {
                self.index.relocate(*self.keys.at(at), at);
            }
            self.keys.at(last).write(dense_key);
            self.len = last;
            if retired {
                self.index.on_released(&mut self.keys, last);
            }
        }
    }

    /// Ends the key at `position` and leaves a hole there. The row counts as moved out.
    ///
    /// # Safety
    ///
    /// The position is in use and not a hole.
    #[inline]
    pub unsafe fn leave_hole(&mut self, position: u32) {
        // SAFETY: the position is in use and its key alive.
        unsafe {
            let dense_key = *self.keys.at(position);
            self.retired |= self.index.release(dense_key);
            self.set_key(position, X::hole(dense_key));
        }
        if self.holes == 0 || position < self.low {
            // A compaction continues from the lowest hole, so its result depends on the set of holes alone.
            (self.low, self.gap) = (position, 0..0);
        }
        self.holes += 1;
        if position + 1 == self.len {
            self.trim();
        }
    }

    /// Ends the first key that is left and leaves a hole at its position. The row counts as moved out. Returns the key.
    ///
    /// The caller [gives up](Dense::give_up_holes) all positions when the last one is a hole.
    ///
    /// # Safety
    ///
    /// The position is in use. All positions before it are holes, and no others are.
    #[inline(always)]
    pub(crate) unsafe fn leave_first(&mut self, position: u32) -> X::Key {
        debug_assert_eq!(self.holes, position);
        // SAFETY: the position is in use, and its key is alive, since it is not a hole.
        let key = unsafe {
            let dense_key = *self.keys.at(position);
            let key = self.index.key(dense_key);
            if self.index.release(dense_key) {
                self.retired = true;
            }
            self.set_key(position, X::hole(dense_key));
            key
        };
        // Stored without being read: the next key does not wait for it.
        (self.holes, self.low) = (position + 1, 0);
        key
    }

    /// Gives up the holes at the end.
    #[cold]
    #[inline(never)]
    fn trim(&mut self) {
        let end = self.dense_keys().iter().rposition(|key| !X::is_hole(*key)).map_or(0, |last| last as u32 + 1);
        self.give_up_holes(end);
    }

    /// Gives up the positions from `end` on, all of which are holes.
    #[cold]
    #[inline(never)]
    pub(crate) fn give_up_holes(&mut self, end: u32) {
        // SAFETY: positions below `len` are in use. `len` is lowered past each hole before `on_released` is called for
        // it, from the highest hole to the lowest.
        unsafe {
            self.keys.set_dirty_rows(end..self.len);
            for at in end..self.len {
                let place = self.keys.at(at);
                place.write(X::filled(*place));
            }
            self.holes -= self.len - end;
            if !self.retired {
                self.len = end;
            }
            while self.len > end {
                self.len -= 1;
                self.index.on_released(&mut self.keys, self.len);
            }
        }
        self.retired &= self.holes > 0;
        self.gap.end = self.gap.end.min(self.len);
        if self.gap.start >= self.gap.end {
            self.gap = 0..0;
        }
    }

    /// Moves the row and the key at `from` to `to`, and the key there to `from`.
    ///
    /// # Safety
    ///
    /// `to < from`, and both are in use. The row at `to` is moved out and its key released. The key at `from` is alive.
    #[inline(always)]
    pub(crate) unsafe fn move_down(&mut self, from: u32, to: u32) {
        // SAFETY: both are in use, so they are below the capacity, and they differ.
        unsafe {
            let dense_key = *self.keys.at(from);
            self.rows.shift(from, to);
            self.set_key(from, *self.keys.at(to));
            self.set_key(to, dense_key);
            self.index.relocate(dense_key, to);
        }
    }

    /// Closes a gap in the positions: moves all rows after it down, keeping the order, and gives up the positions at the end.
    ///
    /// # Safety
    ///
    /// The positions are in use, and there are no holes. In the gap, the keys are released and the rows moved out. `retired` is
    /// whether one of the keys must be passed to [`on_released`](DenseIndex::on_released).
    #[inline]
    pub(crate) unsafe fn close_gap(&mut self, gap: Range<u32>, retired: bool) {
        let Range { mut start, end } = gap;
        if start == end {
            return;
        }
        // SAFETY: the gap moves up over positions in use. Then the length is lowered past each of its positions before
        // `on_released` is called for it, from the highest to the lowest.
        unsafe {
            for at in end..self.len {
                self.move_down(at, start);
                start += 1;
            }
            if !retired {
                self.len = start;
            }
            while self.len > start {
                self.len -= 1;
                self.index.on_released(&mut self.keys, self.len);
            }
        }
    }

    /// Closes holes from the left, keeping the order, with at most `budget` moves of a row. Returns the number of moves.
    pub fn compact(&mut self, budget: u32) -> u32 {
        let mut moves = 0;
        while self.holes > 0 {
            if self.gap.is_empty() {
                let dense_keys = self.dense_keys();
                let Some(skip) = dense_keys[self.low as usize..].iter().position(|k| X::is_hole(*k)) else {
                    unreachable!("holes are counted and none is below `low`")
                };
                let at = self.low + skip as u32;
                (self.gap, self.low) = (at..at + 1, at);
            }
            let Range { mut start, mut end } = self.gap.clone();
            while end < self.len {
                // SAFETY: `end` is below `len`, so its dense key is initialised.
                let dense_key = unsafe { *self.keys.at(end) };
                if !X::is_hole(dense_key) {
                    if moves == budget {
                        (self.gap, self.low) = (start..end, start);
                        return moves;
                    }
                    // SAFETY: `start` is a hole, so its row is moved out; the row at `end` is not, and its key is alive.
                    unsafe { self.move_down(end, start) };
                    start += 1;
                    moves += 1;
                }
                end += 1;
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
    /// Both are in use and not holes.
    #[inline]
    pub unsafe fn swap(&mut self, a: u32, b: u32) {
        debug_assert!(!X::is_hole(self.dense_keys()[a as usize]) && !X::is_hole(self.dense_keys()[b as usize]));
        if a == b {
            return;
        }
        // SAFETY: both positions are in use and alive, and they differ.
        unsafe {
            self.rows.swap(a, b);
            let (x, y) = (*self.keys.at(a), *self.keys.at(b));
            self.set_key(a, y);
            self.set_key(b, x);
            self.index.relocate(y, a);
            self.index.relocate(x, b);
        }
    }

    /// Moves to each position `i` below `order.len()` what was at `order[i]`. Uses `order` as scratch space.
    ///
    /// # Panics
    ///
    /// Panics if `order` is not a permutation of `0..order.len()`, is longer than the positions in use, or there are holes.
    /// Nothing is moved then.
    pub fn permute(&mut self, order: &mut [u32]) {
        assert!(self.holes == 0 && order.len() <= self.len as usize, "positions that are not in use");
        check_permutation(order);
        let count = order.len() as u32;
        for start in 0..count {
            let mut at = start;
            loop {
                let from = core::mem::replace(&mut order[at as usize], at);
                if from == start {
                    break;
                }
                // SAFETY: the order holds positions in use, and `from` differs from `at`: the cycle that starts at
                // `start` has not returned to it.
                unsafe {
                    self.rows.swap(at, from);
                    let dense_key = *self.keys.at(from);
                    self.set_key(from, *self.keys.at(at));
                    self.set_key(at, dense_key);
                }
                at = from;
            }
        }
        for at in 0..count {
            // SAFETY: every position in use has a live key.
            unsafe { self.index.relocate(*self.keys.at(at), at) };
        }
    }

    /// Ends all keys and gives up all positions. Returns the number `n` of rows that were there.
    ///
    /// The rows at `0..n` belong to the caller, which drops them.
    pub fn release_all(&mut self) -> u32 {
        self.compact(u32::MAX);
        let len = self.len;
        // SAFETY: the positions are in use and not holes. All keys are released, and all positions are the gap then; the rows
        // belong to the caller.
        unsafe {
            let retired = self.index.release_all(&self.keys, len);
            self.close_gap(0..len, retired);
        }
        len
    }

    /// Checks every invariant of the container and of its index.
    ///
    /// # Errors
    ///
    /// Returns a sentence that names the invariant that does not hold.
    pub fn validate(&self) -> Result<(), &'static str> {
        if self.len > self.keys.capacity() || self.len > self.rows.capacity() {
            return Err("more positions than room");
        }
        let mut holes = 0;
        for (at, &dense_key) in self.dense_keys().iter().enumerate() {
            if X::is_hole(dense_key) {
                holes += 1;
                if (at as u32) < self.low {
                    return Err("a hole below the lowest");
                }
            } else {
                // SAFETY: not a hole, so alive.
                let key = unsafe { self.index.key(dense_key) };
                if self.index.position(key) != Some(at as u32) {
                    return Err("a key that does not lead to its position");
                }
            }
        }
        if holes != self.holes {
            return Err("holes miscounted");
        }
        if self.retired && holes == 0 {
            return Err("a retired key is noted that is not a hole");
        }
        if self.dense_keys().last().is_some_and(|k| X::is_hole(*k)) {
            return Err("the last position is a hole");
        }
        if !self.gap.is_empty()
            && (self.gap.start != self.low
                || self.gap.end > self.len
                || self.gap.clone().any(|at| !X::is_hole(self.dense_keys()[at as usize])))
        {
            return Err("the gap is not made of holes, the lowest of them first");
        }
        // SAFETY: the container's own dense keys.
        unsafe { self.index.validate(&self.keys, self.len, self.live()) }
    }
}

/// Checks that a list has each number below its length once.
///
/// # Panics
///
/// Panics if it does not.
fn check_permutation(order: &mut [u32]) {
    /// Set in the entry at a number that was seen.
    const SEEN: u32 = 1 << 31;
    assert!(order.len() <= SEEN as usize, "an order that is too long");
    for at in 0..order.len() {
        let number = (order[at] & !SEEN) as usize;
        assert!(number < order.len() && order[number] & SEEN == 0, "an order that is not a permutation");
        order[number] |= SEEN;
    }
    order.iter_mut().for_each(|number| *number &= !SEEN);
}

#[cfg(test)]
mod tests {
    use super::check_permutation;

    #[test]
    fn an_order_is_unchanged_by_its_check() {
        let mut order = [2, 0, 3, 1];
        check_permutation(&mut order);
        assert_eq!(order, [2, 0, 3, 1]);
        check_permutation(&mut []);
    }

    #[test]
    #[should_panic(expected = "not a permutation")]
    fn an_order_that_has_a_number_twice_is_refused() {
        check_permutation(&mut [1, 0, 1]);
    }

    #[test]
    #[should_panic(expected = "not a permutation")]
    fn an_order_with_a_number_beyond_its_end_is_refused() {
        check_permutation(&mut [0, 2]);
    }
}
