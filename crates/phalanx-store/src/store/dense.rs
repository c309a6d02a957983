//! [`DenseStore`]: what [`PackedStore`](crate::PackedStore) and [`SparseSet`](crate::SparseSet) share, all but the making of
//! keys.
//!
//! The values are the rows of a [`Dense`] core. This file turns its positions into a safe surface: a position comes
//! from the index or from a walk over the core, never from the caller.
#![allow(unsafe_code)]

use super::DisjointError;
use super::disjoint::disjoint;
use super::traits::{forward_store, std_traits};
use super::{Runs, RunsMut};
use crate::AllocError;
use crate::cursor::{Cursor, DenseCursor};
use crate::iter::{Drain, Emptying, Iter, IterMut, Keys, Values, ValuesMut};
use crate::memory::Usage;
use crate::raw::{Dense, DenseIndex, DropGuard, LaneOf, Rows, clone_to, drop_all};
use core::marker::PhantomData;
use core::{mem, ptr};

/// A dense container: contiguous values, found through the index `X`.
///
/// This is [`PackedStore`](crate::PackedStore) and [`SparseSet`](crate::SparseSet), which differ in where the keys come
/// from. Iteration runs over a slice. Removal comes in three ways:
///
/// | | cost | order of the rest | slices |
/// |---|---|---|---|
/// | [`swap_remove`](DenseStore::swap_remove) | O(1) | the last value moves to the free position | whole |
/// | [`shift_remove`](DenseStore::shift_remove) | O(n) | kept | whole |
/// | [`remove_in_place`](DenseStore::remove_in_place) | O(1) | kept | in [runs](DenseStore::runs), until [`compact`](DenseStore::compact) |
///
/// Two stores are equal if they have equal values under the same keys, in any order. To compare the order too, use
/// [`Iterator::eq`] of [`iter`](DenseStore::iter); to compare with a slice, use [`as_slice`](DenseStore::as_slice). A store is
/// not `Hash`, because a hash would depend on the order. It has no order, because handles have none that means anything.
pub struct DenseStore<X: DenseIndex, T> {
    pub(crate) core: Dense<X, LaneOf<T>, false>,
}

impl<X: DenseIndex, T> DenseStore<X, T> {
    pub(crate) const fn over(index: X) -> Self {
        DenseStore { core: Dense::empty(index, LaneOf::new()) }
    }

    /// Returns the number of values.
    #[inline]
    pub fn len(&self) -> usize {
        self.core.live() as usize
    }

    /// Returns `true` if there are no values.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.core.live() == 0
    }

    /// Returns the number of values that fit without moving in memory. It is `u32::MAX` for zero-sized ones.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.core.rows.capacity() as usize
    }

    /// Returns the number of holes that [`remove_in_place`](DenseStore::remove_in_place) has left.
    #[inline]
    pub fn holes(&self) -> usize {
        self.core.holes() as usize
    }

    /// Returns `true` if `key` names a value.
    #[doc(alias = "contains_key")]
    #[inline]
    pub fn contains(&self, key: X::Key) -> bool {
        self.core.index.position(key).is_some()
    }

    /// Returns the position of a key's value among all values, holes included.
    #[doc(alias = "index_of")]
    #[inline]
    pub fn position(&self, key: X::Key) -> Option<usize> {
        self.core.index.position(key).map(|p| p as usize)
    }

    /// Returns a reference to the value of a key.
    #[inline]
    pub fn get(&self, key: X::Key) -> Option<&T> {
        let position = self.core.index.position(key)?;
        // SAFETY: a position of the index is in use and no hole, so its row is initialised.
        Some(unsafe { &*self.core.rows.at(position) })
    }

    /// Returns a mutable reference to the value of a key.
    #[inline]
    pub fn get_mut(&mut self, key: X::Key) -> Option<&mut T> {
        let position = self.core.index.position(key)?;
        // SAFETY: as in `get`, and the store is borrowed exclusively.
        Some(unsafe { &mut *self.core.rows.at(position) })
    }

    /// Returns mutable references to the values of several keys.
    ///
    /// ```
    /// use phalanx_store::{DisjointError, PackedStore};
    ///
    /// let mut store = PackedStore::new();
    /// let [a, b] = [1, 2].map(|n| store.insert(n));
    /// let [x, y] = store.get_disjoint_mut([a, b])?;
    /// core::mem::swap(x, y);
    /// assert_eq!((store[a], store[b]), (2, 1));
    /// assert_eq!(store.get_disjoint_mut([a, b, a]), Err(DisjointError::Repeated(0, 2)));
    /// # Ok::<(), DisjointError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`DisjointError::Absent`] if a key names no value, or [`DisjointError::Repeated`] if two keys name the same.
    pub fn get_disjoint_mut<const N: usize>(&mut self, keys: [X::Key; N]) -> Result<[&mut T; N], DisjointError> {
        let index = &self.core.index;
        // SAFETY: the rows are borrowed exclusively, and the positions of the index are in use and not holes.
        unsafe { disjoint(self.core.rows.ptr(), |at| index.position(keys[at])) }
    }

    /// Replaces the value of a key and returns the old one.
    ///
    /// Returns `None` if the key names no value; then `value` is dropped.
    pub fn replace(&mut self, key: X::Key, value: T) -> Option<T> {
        self.get_mut(key).map(|place| mem::replace(place, value))
    }

    /// Removes and returns the value of a key, by [`swap_remove`](DenseStore::swap_remove).
    #[inline]
    pub fn remove(&mut self, key: X::Key) -> Option<T> {
        self.swap_remove(key)
    }

    /// Removes and returns the value of a key, and moves the last value to its position.
    #[doc(alias("swap_and_pop", "pop"))]
    #[inline]
    pub fn swap_remove(&mut self, key: X::Key) -> Option<T> {
        let position = self.core.index.position(key)?;
        // SAFETY: the position is in use and not a hole; its row is read once and counts as moved out.
        unsafe {
            let value = self.core.rows.at(position).read();
            self.core.swap_remove_key(position, key);
            Some(value)
        }
    }

    /// Removes and returns the value of a key, and moves all later values down by one. The order is kept. Closes holes first.
    ///
    /// ```
    /// use phalanx_store::PackedStore;
    ///
    /// let mut store = PackedStore::new();
    /// let [a, _b, c] = ["a", "b", "c"].map(|name| store.insert(name));
    /// store.shift_remove(a);
    /// assert_eq!(store.as_slice(), ["b", "c"]);
    /// assert_eq!(store[c], "c");
    /// ```
    pub fn shift_remove(&mut self, key: X::Key) -> Option<T> {
        let mut position = self.core.index.position(key)?;
        if self.core.holes() > 0 {
            self.compact();
            position = self.core.index.position(key)?;
        }
        // SAFETY: the position is in use, there are no holes; its row is read once and counts as moved out.
        unsafe {
            let value = self.core.rows.at(position).read();
            self.core.shift_remove(position);
            Some(value)
        }
    }

    /// Drops the value of a key and leaves a hole, so that no other value moves. Returns `true` if there was a value.
    ///
    /// Iteration skips holes. While there are any, slices come in [runs](DenseStore::runs).
    /// [`compact`](DenseStore::compact) closes them.
    ///
    /// ```
    /// use phalanx_store::PackedStore;
    ///
    /// let mut store = PackedStore::new();
    /// let handles = ["a", "b", "c", "d"].map(|name| store.insert(name));
    /// assert!(store.remove_in_place(handles[1]));
    /// assert!(!store.remove_in_place(handles[1]));
    /// assert_eq!(store.values().copied().collect::<Vec<_>>(), ["a", "c", "d"]);
    /// assert_eq!(store.runs().collect::<Vec<_>>(), [&["a"][..], &["c", "d"]]);
    /// store.compact();
    /// assert_eq!(store.as_slice(), ["a", "c", "d"]);
    /// ```
    #[doc(alias("in_place_delete", "tombstone"))]
    #[inline]
    pub fn remove_in_place(&mut self, key: X::Key) -> bool {
        let Some(position) = self.core.index.position(key) else { return false };
        // SAFETY: the position is in use and not a hole. The hole is made first; then the row belongs to this function alone,
        // which drops it where it lies.
        unsafe {
            let value = self.core.rows.at(position);
            self.core.leave_hole(position);
            ptr::drop_in_place(value);
        }
        true
    }

    /// Closes all holes in one pass. The order is kept.
    pub fn compact(&mut self) {
        self.core.compact(u32::MAX);
    }

    /// Closes holes with at most `moves` moves of a value. The order is kept. Returns the number of moves.
    ///
    /// Fewer moves than `moves` mean that no hole is left. Call it once a frame to spread the cost.
    ///
    /// ```
    /// use phalanx_store::PackedStore;
    ///
    /// let mut store = PackedStore::new();
    /// let handles: Vec<_> = (0..100).map(|n| store.insert(n)).collect();
    /// handles[..50].iter().for_each(|h| assert!(store.remove_in_place(*h)));
    /// assert_eq!(store.compact_step(30), 30);
    /// assert_eq!(store.holes(), 50);
    /// assert_eq!(store.compact_step(30), 20);
    /// assert_eq!(store.holes(), 0);
    /// ```
    pub fn compact_step(&mut self, moves: usize) -> usize {
        self.core.compact(moves.min(u32::MAX as usize) as u32) as usize
    }

    /// Keeps the values for which `keep` returns `true`, in their order, and drops the others.
    ///
    /// If `keep` or a destructor panics, all later values are kept.
    pub fn retain(&mut self, mut keep: impl FnMut(X::Key, &mut T) -> bool) {
        self.compact();
        let len = self.core.positions();
        // The positions `to..at` are those of removed values. They become one gap, also if user code panics.
        let mut pass = DropGuard::new((&mut self.core, 0, 0, false), |(core, to, at, retired)| {
            // SAFETY: the keys at these positions were released, and their rows are moved out.
            unsafe { core.close_gap(*to..*at, *retired) };
        });
        while pass.state.2 < len {
            let (core, to, end, retired) = &mut pass.state;
            let at = *end;
            // SAFETY: the position is in use and not a hole. A value is dropped after its key was released and its position
            // joined the gap; then its row belongs to this function alone. One that is kept moves to the start of the gap, whose
            // row is moved out, and the two keys trade places.
            unsafe {
                let dense_key = *core.keys.at(at);
                let (key, value) = (core.index.key(dense_key), core.rows.at(at));
                let kept = keep(key, &mut *value);
                *end = at + 1;
                if kept {
                    if *to < at {
                        core.move_down(at, *to);
                    }
                    *to += 1;
                } else {
                    if core.index.release(dense_key) {
                        *retired = true;
                    }
                    ptr::drop_in_place(value);
                }
            }
        }
    }

    /// Drops all values. All keys are dead then, and the capacity is kept.
    pub fn clear(&mut self) {
        let len = self.core.release_all();
        // SAFETY: the rows below `len` are released, so they belong to this function alone.
        unsafe { self.core.rows.drop_rows(0..len) };
    }

    /// Removes all values and iterates over them, in order. Values that are not taken are dropped with the iterator. Closes
    /// holes first.
    ///
    /// If the iterator is leaked, the values that are left stay in the store, behind holes.
    pub fn drain(&mut self) -> Drain<'_, Self> {
        Drain::new(self)
    }

    /// Iterates over keys and values, in order.
    #[inline]
    pub fn iter(&self) -> Iter<'_, DenseCursor<'_, X>, T> {
        // SAFETY: the values of the cursor's own store, borrowed with it.
        unsafe { Iter::new(self.cursor(), self.core.rows.ptr()) }
    }

    /// Iterates over keys and mutable values, in order.
    #[inline]
    pub fn iter_mut(&mut self) -> IterMut<'_, DenseCursor<'_, X>, T> {
        let values = self.core.rows.ptr();
        // SAFETY: the values of the cursor's own store, which is borrowed exclusively; the cursor reads index and dense keys.
        unsafe { IterMut::new(self.cursor(), values) }
    }

    /// Iterates over the values, in order.
    #[inline]
    pub fn values(&self) -> Values<'_, DenseCursor<'_, X>, T> {
        // SAFETY: the values of the cursor's own store, borrowed with it.
        unsafe { Values::new(self.cursor(), self.core.rows.ptr()) }
    }

    /// Iterates over mutable values, in order.
    #[inline]
    pub fn values_mut(&mut self) -> ValuesMut<'_, DenseCursor<'_, X>, T> {
        let values = self.core.rows.ptr();
        // SAFETY: the values of the cursor's own store, which is borrowed exclusively; the cursor reads index and dense keys.
        unsafe { ValuesMut::new(self.cursor(), values) }
    }

    /// Iterates over the keys, in the order of the values.
    #[inline]
    pub fn keys(&self) -> Keys<'_, DenseCursor<'_, X>> {
        Keys::new(self.cursor())
    }

    #[inline]
    pub(crate) fn cursor(&self) -> DenseCursor<'_, X> {
        DenseCursor::new(&self.core.index, self.core.dense_keys(), self.core.holes())
    }

    /// Returns the key of the value at `position`, or `None` if it is a hole or past the end.
    pub fn key_at(&self, position: usize) -> Option<X::Key> {
        let dense_key = *self.core.dense_keys().get(position)?;
        // SAFETY: a dense key that is not a hole is alive.
        (!X::is_hole(dense_key)).then(|| unsafe { self.core.index.key(dense_key) })
    }

    /// Returns all values as one slice.
    ///
    /// # Panics
    ///
    /// Panics if there are holes. [`compact`](DenseStore::compact) closes them, [`runs`](DenseStore::runs) goes around them.
    #[inline]
    #[track_caller]
    pub fn as_slice(&self) -> &[T] {
        self.assert_no_holes();
        // SAFETY: without holes, `len` rows are initialised.
        unsafe { self.core.rows.slice(self.core.positions()) }
    }

    /// Returns all values as one mutable slice.
    ///
    /// # Panics
    ///
    /// Panics if there are holes, like [`as_slice`](DenseStore::as_slice).
    #[inline]
    #[track_caller]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        self.assert_no_holes();
        let len = self.core.positions();
        // SAFETY: without holes, `len` rows are initialised.
        unsafe { self.core.rows.slice_mut(len) }
    }

    #[inline]
    #[track_caller]
    fn assert_no_holes(&self) {
        let holes = self.core.holes();
        assert!(holes == 0, "no slice of all values while there are holes ({holes}): compact, or go by runs");
    }

    /// Iterates over the values as slices between the holes: one slice if there are none.
    pub fn runs(&self) -> Runs<'_, X, T> {
        Runs { cursor: self.cursor(), values: self }
    }

    /// Iterates over the values as mutable slices between the holes.
    pub fn runs_mut(&mut self) -> RunsMut<'_, X, T> {
        let values = self.core.rows.ptr();
        RunsMut { cursor: self.cursor(), values, borrow: PhantomData }
    }

    /// Returns the bytes allocated by the store.
    pub fn memory(&self) -> Usage {
        let core = &self.core;
        Usage { values: core.rows.bytes(), keys: core.keys.bytes(), index: core.index.bytes() }
    }

    /// Checks every invariant of the store.
    ///
    /// # Errors
    ///
    /// Returns a sentence that names the invariant that does not hold. Safe code cannot cause one.
    pub fn validate(&self) -> Result<(), &'static str> {
        self.core.validate()
    }

    /// Clones the values: the same order, the same holes, and the first `dense_keys` keys. `index` becomes the index of the
    /// copy, as in [`fill_from`](DenseStore::fill_from).
    pub(crate) fn try_clone_over(
        &self,
        index: X,
        dense_keys: u32,
        set_index: impl FnOnce(&mut X, u32),
    ) -> Result<Self, AllocError>
    where
        T: Clone,
    {
        let mut copy = Self::over(index);
        copy.core.keys.try_grow(dense_keys)?;
        copy.core.rows.try_grow(self.core.positions())?;
        copy.fill_from(self, dense_keys, set_index);
        Ok(copy)
    }

    /// Clones the values and the first `dense_keys` keys of another store: the same order, the same holes. `set_index` makes
    /// the index that of the other store, by the same memory or another. It gets the capacity for dense keys.
    ///
    /// If a clone panics, this store is as it was.
    ///
    /// # Panics
    ///
    /// Panics if this store has values or holes, or no capacity for those of the other.
    pub(crate) fn fill_from(&mut self, source: &Self, dense_keys: u32, set_index: impl FnOnce(&mut X, u32))
    where
        T: Clone,
    {
        let (from, to) = (&source.core, &mut self.core);
        let fits = to.rows.capacity() >= from.positions() && to.keys.capacity() >= dense_keys;
        assert!(to.len == 0 && fits && dense_keys >= from.positions(), "an empty store with capacity");
        // A run between holes is cloned as a slice. If a clone panics, the values that were cloned are dropped.
        let mut filling = DropGuard::new((&mut to.rows, source.cursor()), |(rows, left)| {
            let mut runs = source.cursor();
            while runs.remaining() > left.remaining() {
                let Some(run) = runs.next_run() else { break };
                // SAFETY: the rows of all runs that are not left were cloned, and the copy does not count them.
                unsafe { rows.drop_rows(run) };
            }
        });
        let mut runs = source.cursor();
        while let Some(run) = runs.next_run() {
            let (start, len) = (run.start, (run.end - run.start) as usize);
            // SAFETY: the rows of a run are initialised in the source. There is capacity for them in the copy, whose memory is
            // its own.
            unsafe { clone_to(core::slice::from_raw_parts(from.rows.at(start), len), filling.state.0.at(start)) };
            filling.state.1 = runs.clone();
        }
        filling.dismiss();
        set_index(&mut to.index, to.keys.capacity());
        // SAFETY: that many dense keys are initialised in the source, and there is capacity for them in the copy. The values
        // of all runs were cloned, and the index was set just now.
        unsafe {
            ptr::copy_nonoverlapping(from.keys.ptr(), to.keys.ptr(), dense_keys as usize);
            to.set_positions(from);
        }
    }
}

impl<X: DenseIndex, T> DenseStore<X, T> {
    /// Leaves a hole at the first position that is none; its row counts as moved out. Returns it and its key.
    ///
    /// # Safety
    ///
    /// The place belongs to this container: the positions before `from` are holes, and no others are.
    #[inline(always)]
    unsafe fn end_first(&mut self, from: &mut u32) -> Option<(X::Key, u32)> {
        let (at, len) = (*from, self.core.positions());
        if at >= len {
            return None;
        }
        // SAFETY: the position is in use. The holes are those before it, by the caller's contract.
        let key = unsafe { self.core.leave_first(at) };
        *from = at + 1;
        if *from == len {
            // Past any end, so that the compiler sees that a loop is left here, and keeps pointers in registers until then.
            *from = u32::MAX;
            self.core.give_up_holes(0);
        }
        Some((key, at))
    }

    /// Removes and drops all values from a place on, even if a destructor panics.
    ///
    /// Not inlined, and the place is passed by value: an iterator that was read to its end stays in registers.
    ///
    /// # Safety
    ///
    /// The positions before `from` are holes, and no others are.
    #[inline(never)]
    unsafe fn drop_from(&mut self, mut from: u32) {
        let values = self.core.rows.ptr();
        // SAFETY: the clause on `from` holds, and holds again after each call.
        let ended = core::iter::from_fn(|| unsafe { self.end_first(&mut from) });
        // SAFETY: the position was in use and not a hole until now. Its row is dropped once.
        drop_all(ended, |(_, at)| unsafe { ptr::drop_in_place(values.add(at as usize)) });
    }
}

impl<X: DenseIndex, T> Drop for DenseStore<X, T> {
    fn drop(&mut self) {
        if mem::needs_drop::<T>() {
            self.core.compact(u32::MAX);
            let len = mem::replace(&mut self.core.len, 0);
            // SAFETY: without holes the rows are initialised, and the core does not count them any more.
            unsafe { self.core.rows.drop_rows(0..len) };
        }
    }
}

impl<X: DenseIndex, T> crate::iter::sealed::Sealed for DenseStore<X, T> {}

impl<X: DenseIndex, T> Emptying for DenseStore<X, T> {
    type Key = X::Key;
    type Value = T;
    /// The positions before it are holes, and no others are. It is `u32::MAX` after the last.
    type Place = u32;

    #[inline(never)]
    fn start(&mut self) -> u32 {
        self.compact();
        0
    }

    #[inline]
    unsafe fn take_first(&mut self, from: &mut u32) -> Option<(X::Key, T)> {
        // SAFETY: the place belongs to this container. The position was in use and not a hole until now, and its row is read
        // once.
        unsafe {
            let (key, at) = self.end_first(from)?;
            Some((key, self.core.rows.at(at).read()))
        }
    }

    unsafe fn take_last(&mut self, _: &mut u32) -> Option<(X::Key, T)> {
        let core = &mut self.core;
        let last = core.positions().checked_sub(1)?;
        // SAFETY: the last position is never a hole, so its key is alive. It is given up, with the holes before it. Its row is
        // read once.
        unsafe {
            let key = core.index.key(*core.keys.at(last));
            core.leave_hole(last);
            Some((key, core.rows.at(last).read()))
        }
    }

    #[inline]
    unsafe fn drop_rest(&mut self, from: &mut u32) {
        if !self.is_empty() {
            // SAFETY: the place belongs to this container.
            unsafe { self.drop_from(*from) };
        }
    }

    fn left(&self) -> usize {
        self.len()
    }
}

forward_store!([X: DenseIndex, T] DenseStore<X, T>, X::Key, T);
std_traits!([X: DenseIndex, T] DenseStore<X, T>, X::Key, T, DenseCursor<X>);
