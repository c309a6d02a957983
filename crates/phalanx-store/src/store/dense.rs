//! What [`PackedStore`](crate::PackedStore) and [`SparseSet`](crate::SparseSet) share: all but the making of keys.
//!
//! The values are the rows of a [`Dense`] core. This file turns its positions into a safe surface: a position comes
//! from the index or from a walk over the core, never from the caller.
#![allow(unsafe_code)]

use super::DisjointError;
use super::disjoint::disjoint;
use super::traits::{forward_store, std_traits};
use crate::AllocError;
use crate::cursor::DenseCursor;
use crate::iter::{Drain, Emptying, Iter, IterMut, Keys, Values, ValuesMut};
use crate::memory::Usage;
use crate::raw::{Dense, DenseIndex, LaneOf, Rows};
use core::iter::FusedIterator;
use core::{fmt, mem, ptr};

/// A dense container: values side by side, found through the index `X`.
///
/// This is [`PackedStore`](crate::PackedStore) and [`SparseSet`](crate::SparseSet), which differ in where the keys come
/// from. Iteration runs over a plain slice. Removal comes in three ways:
///
/// | | cost | order of the rest | slices |
/// |---|---|---|---|
/// | [`swap_remove`](DenseStore::swap_remove) | O(1) | the last value takes the place | whole |
/// | [`shift_remove`](DenseStore::shift_remove) | O(n) | kept | whole |
/// | [`mark_removed`](DenseStore::mark_removed) | O(1) | kept | in [runs](DenseStore::runs), until [`compact`](DenseStore::compact) |
pub struct DenseStore<X: DenseIndex, T> {
    pub(crate) core: Dense<X, LaneOf<T>>,
}

impl<X: DenseIndex, T> DenseStore<X, T> {
    pub(crate) const fn over(index: X) -> Self {
        DenseStore { core: Dense::new(index, LaneOf::new()) }
    }

    /// How many values there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.core.live() as usize
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.core.live() == 0
    }

    /// How many values there is room for before the values move in memory. Unlimited for zero-sized ones.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.core.rows.capacity() as usize
    }

    /// How many holes [`mark_removed`](DenseStore::mark_removed) has left.
    #[inline]
    pub fn holes(&self) -> usize {
        self.core.holes() as usize
    }

    /// Whether the key names a value that is there.
    #[inline]
    pub fn contains(&self, key: X::Key) -> bool {
        self.core.index.position(key).is_some()
    }

    /// Where among the values the one of this key is, holes counted.
    #[inline]
    pub fn position(&self, key: X::Key) -> Option<usize> {
        self.core.index.position(key).map(|p| p as usize)
    }

    /// The value of a key.
    #[inline]
    pub fn get(&self, key: X::Key) -> Option<&T> {
        let position = self.core.index.position(key)?;
        // SAFETY: a position of the index is in use and no hole, so its row is initialised.
        Some(unsafe { &*self.core.rows.at(position) })
    }

    /// The value of a key, for writing.
    #[inline]
    pub fn get_mut(&mut self, key: X::Key) -> Option<&mut T> {
        let position = self.core.index.position(key)?;
        // SAFETY: as in `get`, and the store is borrowed exclusively.
        Some(unsafe { &mut *self.core.rows.at(position) })
    }

    /// The values of several keys, for writing.
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
    /// If a key names no value, or two name the same.
    pub fn get_disjoint_mut<const N: usize>(&mut self, keys: [X::Key; N]) -> Result<[&mut T; N], DisjointError> {
        let index = &self.core.index;
        // SAFETY: the rows are borrowed exclusively, and the positions of the index are in use and no holes.
        unsafe { disjoint(self.core.rows.ptr(), |at| index.position(keys[at])) }
    }

    /// Replaces the value of a key and returns the old one, or gives the new one back if there is nothing to replace.
    ///
    /// # Errors
    ///
    /// The value, if the key names none.
    pub fn replace(&mut self, key: X::Key, value: T) -> Result<T, T> {
        match self.get_mut(key) {
            Some(place) => Ok(mem::replace(place, value)),
            None => Err(value),
        }
    }

    /// Takes the value of a key out: [`swap_remove`](DenseStore::swap_remove).
    #[inline]
    pub fn remove(&mut self, key: X::Key) -> Option<T> {
        self.swap_remove(key)
    }

    /// Takes the value of a key out and puts the last value in its place.
    #[inline]
    pub fn swap_remove(&mut self, key: X::Key) -> Option<T> {
        let position = self.core.index.position(key)?;
        // SAFETY: the position is in use and no hole; its row is read once and counts as moved out.
        unsafe {
            let value = self.core.rows.at(position).read();
            self.core.close_swap(position, X::mark(key));
            Some(value)
        }
    }

    /// Takes the value of a key out and moves all later ones down by one, so that their order stays. Closes holes first.
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
            self.core.close_shift(position);
            Some(value)
        }
    }

    /// Drops the value of a key and leaves a hole, so that no other value moves. Whether there was one.
    ///
    /// Iteration skips holes; slices are handed out run by run while there are any. Closing them is
    /// [`compact`](DenseStore::compact).
    ///
    /// ```
    /// use phalanx_store::PackedStore;
    ///
    /// let mut store = PackedStore::new();
    /// let handles = ["a", "b", "c", "d"].map(|name| store.insert(name));
    /// assert!(store.mark_removed(handles[1]));
    /// assert!(!store.mark_removed(handles[1]));
    /// assert_eq!(store.values().copied().collect::<Vec<_>>(), ["a", "c", "d"]);
    /// assert_eq!(store.runs().collect::<Vec<_>>(), [&["a"][..], &["c", "d"]]);
    /// store.compact();
    /// assert_eq!(store.as_slice(), ["a", "c", "d"]);
    /// ```
    #[inline]
    pub fn mark_removed(&mut self, key: X::Key) -> bool {
        let Some(position) = self.core.index.position(key) else { return false };
        // SAFETY: the position is in use and no hole. The hole is made first, and then nobody owns the row but this
        // function, which drops it where it lies.
        unsafe {
            let value = self.core.rows.at(position);
            self.core.punch(position);
            ptr::drop_in_place(value);
        }
        true
    }

    /// Closes all holes in one pass that keeps the order.
    pub fn compact(&mut self) {
        self.core.compact(u32::MAX);
    }

    /// Goes on closing holes, in a way that keeps the order, with at most `moves` moves of a value. Returns how many it
    /// made: fewer than asked for only when no hole is left. To be called each frame.
    ///
    /// ```
    /// use phalanx_store::PackedStore;
    ///
    /// let mut store = PackedStore::new();
    /// let handles: Vec<_> = (0..100).map(|n| store.insert(n)).collect();
    /// handles[..50].iter().for_each(|h| assert!(store.mark_removed(*h)));
    /// assert_eq!(store.compact_some(30), 30);
    /// assert_eq!(store.holes(), 50);
    /// assert_eq!(store.compact_some(30), 20);
    /// assert_eq!(store.holes(), 0);
    /// ```
    pub fn compact_some(&mut self, moves: usize) -> usize {
        self.core.compact(moves.min(u32::MAX as usize) as u32) as usize
    }

    /// Keeps the values for which `keep` is true, in their order, and drops the others.
    ///
    /// If `keep` or a destructor panics, what was not looked at yet is kept.
    pub fn retain(&mut self, mut keep: impl FnMut(X::Key, &mut T) -> bool) {
        /// Closes the holes, also when a panic passes through.
        struct Compacting<'a, X: DenseIndex, T>(&'a mut DenseStore<X, T>);
        impl<X: DenseIndex, T> Drop for Compacting<'_, X, T> {
            fn drop(&mut self) {
                self.0.compact();
            }
        }
        self.compact();
        let store = Compacting(self);
        let core = &mut store.0.core;
        let mut at = 0;
        while at < core.positions() {
            // SAFETY: the position is in use, and no hole was left at or after it.
            unsafe {
                let mark = *core.marks.at(at);
                let (key, value) = (core.index.key(mark), core.rows.at(at));
                if !keep(key, &mut *value) {
                    // The hole comes first: then nobody owns the row but this function.
                    core.punch(at);
                    ptr::drop_in_place(value);
                }
            }
            at += 1;
        }
    }

    /// Removes everything. All keys are dead then, and the room is kept.
    pub fn clear(&mut self) {
        let len = self.core.release_all();
        // SAFETY: the rows below `len` are released: nobody owns them but this function.
        unsafe { self.core.rows.drop_rows(0..len) };
    }

    /// Takes everything out, in order. What is not taken is dropped with the iterator; if the iterator is leaked, it
    /// stays in the store, behind holes.
    pub fn drain(&mut self) -> Drain<'_, Self> {
        Drain::new(self)
    }

    /// Keys and values, in order.
    #[inline]
    pub fn iter(&self) -> Iter<'_, DenseCursor<'_, X>, T> {
        // SAFETY: the values of the cursor's own store, borrowed with it.
        unsafe { Iter::new(self.cursor(), self.core.rows.ptr()) }
    }

    /// Keys and values, for writing, in order.
    #[inline]
    pub fn iter_mut(&mut self) -> IterMut<'_, DenseCursor<'_, X>, T> {
        let values = self.core.rows.ptr();
        // SAFETY: the values of the cursor's own store, which is borrowed exclusively; the cursor reads index and marks.
        unsafe { IterMut::new(self.cursor(), values) }
    }

    /// The values, in order.
    #[inline]
    pub fn values(&self) -> Values<'_, DenseCursor<'_, X>, T> {
        // SAFETY: the values of the cursor's own store, borrowed with it.
        unsafe { Values::new(self.cursor(), self.core.rows.ptr()) }
    }

    /// The values, for writing, in order.
    #[inline]
    pub fn values_mut(&mut self) -> ValuesMut<'_, DenseCursor<'_, X>, T> {
        let values = self.core.rows.ptr();
        // SAFETY: the values of the cursor's own store, which is borrowed exclusively; the cursor reads index and marks.
        unsafe { ValuesMut::new(self.cursor(), values) }
    }

    /// The keys, in the order of the values.
    #[inline]
    pub fn keys(&self) -> Keys<'_, DenseCursor<'_, X>> {
        Keys::new(self.cursor())
    }

    #[inline]
    pub(crate) fn cursor(&self) -> DenseCursor<'_, X> {
        DenseCursor::new(&self.core.index, self.core.marks(), self.core.holes())
    }

    /// The key of the value at `position` among the values; `None` past the end and for holes.
    pub fn key_at(&self, position: usize) -> Option<X::Key> {
        let mark = *self.core.marks().get(position)?;
        // SAFETY: a mark that is no hole is alive.
        (!X::is_hole(mark)).then(|| unsafe { self.core.index.key(mark) })
    }

    /// All values as one slice.
    ///
    /// # Panics
    ///
    /// If there are holes: then there is no such slice. [`compact`](DenseStore::compact) closes them,
    /// [`runs`](DenseStore::runs) goes around them.
    #[inline]
    #[track_caller]
    pub fn as_slice(&self) -> &[T] {
        self.whole();
        // SAFETY: without holes, `len` rows are initialised.
        unsafe { self.core.rows.slice(self.core.positions()) }
    }

    /// All values as one slice, for writing.
    ///
    /// # Panics
    ///
    /// If there are holes, as [`as_slice`](DenseStore::as_slice).
    #[inline]
    #[track_caller]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        self.whole();
        let len = self.core.positions();
        // SAFETY: without holes, `len` rows are initialised.
        unsafe { self.core.rows.slice_mut(len) }
    }

    #[inline]
    #[track_caller]
    fn whole(&self) {
        let holes = self.core.holes();
        assert!(holes == 0, "no slice of all values while there are holes ({holes}): compact, or go by runs");
    }

    /// The values as slices between the holes: one slice if there are none.
    pub fn runs(&self) -> Runs<'_, X, T> {
        Runs { cursor: self.cursor(), values: self }
    }

    /// The values as slices between the holes, for writing.
    pub fn runs_mut(&mut self) -> RunsMut<'_, X, T> {
        let values = self.core.rows.ptr();
        RunsMut { cursor: self.cursor(), values, borrow: core::marker::PhantomData }
    }

    /// The bytes that the store holds from the allocator.
    pub fn memory(&self) -> Usage {
        let core = &self.core;
        Usage { values: core.rows.bytes(), keys: core.marks.bytes(), index: core.index.bytes() }
    }

    /// Checks every invariant of the store.
    ///
    /// # Errors
    ///
    /// A sentence that says what does not hold. It never does for a store that was used by safe code alone.
    pub fn validate(&self) -> Result<(), &'static str> {
        self.core.validate()
    }

    pub(crate) fn checked_additional(additional: usize) -> Result<u32, AllocError> {
        u32::try_from(additional).map_err(|_| AllocError::CapacityOverflow)
    }

    /// A copy over a copy of the index: the same order, the same holes, and the first `marks` marks.
    pub(crate) fn try_clone_over(&self, index: X, marks: u32) -> Result<Self, AllocError>
    where
        T: Clone,
    {
        let from = &self.core;
        let mut copy = DenseStore::over(index);
        copy.core.marks.try_grow(marks)?;
        copy.core.rows.try_grow(from.positions())?;
        /// The values that were cloned, which are dropped again if a later one cannot be.
        struct Filling<'a, X: DenseIndex, T> {
            rows: &'a mut LaneOf<T>,
            marks: &'a [X::Mark],
            done: u32,
        }
        impl<X: DenseIndex, T> Drop for Filling<'_, X, T> {
            fn drop(&mut self) {
                for at in (0..self.done).filter(|at| !X::is_hole(self.marks[*at as usize])) {
                    // SAFETY: written, and owned by nobody else.
                    unsafe { ptr::drop_in_place(self.rows.at(at)) };
                }
            }
        }
        let mut filling = Filling::<X, T> { rows: &mut copy.core.rows, marks: from.marks(), done: 0 };
        for (at, mark) in (0..).zip(from.marks()) {
            if !X::is_hole(*mark) {
                // SAFETY: the row is initialised there, and there is room for it here.
                unsafe { filling.rows.at(at).write((*from.rows.at(at)).clone()) };
            }
            filling.done = at + 1;
        }
        mem::forget(filling);
        let to = &mut copy.core;
        // SAFETY: `marks` marks are initialised there, and there is room for them here.
        unsafe { ptr::copy_nonoverlapping(from.marks.ptr(), to.marks.ptr(), marks as usize) };
        (to.len, to.holes, to.gap, to.low) = (from.len, from.holes, from.gap.clone(), from.low);
        Ok(copy)
    }
}

impl<X: DenseIndex, T> Drop for DenseStore<X, T> {
    fn drop(&mut self) {
        if mem::needs_drop::<T>() {
            self.core.compact(u32::MAX);
            let len = mem::replace(&mut self.core.len, 0);
            // SAFETY: without holes the rows are initialised; the core has given them up.
            unsafe { self.core.rows.drop_rows(0..len) };
        }
    }
}

impl<X: DenseIndex, T> crate::iter::sealed::Sealed for DenseStore<X, T> {}

impl<X: DenseIndex, T> Emptying for DenseStore<X, T> {
    type Key = X::Key;
    type Value = T;

    fn take_from(&mut self, from: &mut u32) -> Option<(X::Key, T)> {
        let marks = self.core.marks();
        while *from < self.core.positions() && X::is_hole(marks[*from as usize]) {
            *from += 1;
        }
        if *from >= self.core.positions() {
            return None;
        }
        // SAFETY: the position is in use and no hole; its row is read once and counts as moved out.
        unsafe {
            let key = self.core.index.key(*self.core.marks.at(*from));
            let value = self.core.rows.at(*from).read();
            self.core.punch(*from);
            *from += 1;
            Some((key, value))
        }
    }

    fn left(&self) -> usize {
        self.len()
    }
}

forward_store!([X: DenseIndex, T] DenseStore<X, T>, X::Key, T);
std_traits!([X: DenseIndex, T] DenseStore<X, T>, X::Key, T, DenseCursor<X>);

/// The values of a dense store as slices between its holes.
pub struct Runs<'a, X: DenseIndex, T> {
    cursor: DenseCursor<'a, X>,
    values: &'a DenseStore<X, T>,
}

// Written out, because a derive would ask the same of the index and the values.
impl<X: DenseIndex, T> Clone for Runs<'_, X, T> {
    fn clone(&self) -> Self {
        Runs { cursor: self.cursor.clone(), values: self.values }
    }
}

impl<'a, X: DenseIndex, T> Iterator for Runs<'a, X, T> {
    type Item = &'a [T];

    fn next(&mut self) -> Option<&'a [T]> {
        let run = self.cursor.next_run()?;
        // SAFETY: the positions of a run are in use and no holes.
        Some(unsafe {
            let start = self.values.core.rows.at(run.start);
            core::slice::from_raw_parts(start, (run.end - run.start) as usize)
        })
    }
}

impl<X: DenseIndex, T> FusedIterator for Runs<'_, X, T> {}

impl<X: DenseIndex, T> fmt::Debug for Runs<'_, X, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Runs")
    }
}

/// The values of a dense store as slices between its holes, for writing.
pub struct RunsMut<'a, X: DenseIndex, T> {
    cursor: DenseCursor<'a, X>,
    values: *mut T,
    borrow: core::marker::PhantomData<&'a mut T>,
}

impl<'a, X: DenseIndex, T> Iterator for RunsMut<'a, X, T> {
    type Item = &'a mut [T];

    fn next(&mut self) -> Option<&'a mut [T]> {
        let run = self.cursor.next_run()?;
        // SAFETY: the positions of a run are in use and no holes, no run comes twice, and the store is borrowed
        // exclusively.
        Some(unsafe {
            core::slice::from_raw_parts_mut(self.values.add(run.start as usize), (run.end - run.start) as usize)
        })
    }
}

impl<X: DenseIndex, T> FusedIterator for RunsMut<'_, X, T> {}

impl<X: DenseIndex, T> fmt::Debug for RunsMut<'_, X, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RunsMut")
    }
}

// SAFETY: exclusive references to values, beside a cursor that shares index and marks.
unsafe impl<X: DenseIndex + Sync, T: Send> Send for RunsMut<'_, X, T> where X::Mark: Sync {}
// SAFETY: behind a shared reference nothing of it can be used.
unsafe impl<X: DenseIndex + Sync, T: Sync> Sync for RunsMut<'_, X, T> where X::Mark: Sync {}
