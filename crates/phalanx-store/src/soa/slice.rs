//! [`SoaSlice`] and [`SoaSliceMut`]: views of a range of rows.
//!
//! # Invariants
//!
//! - `ptrs` are the lanes of a live [`Soa`](super::Soa) that is borrowed for `'a`: shared by [`SoaSlice`], mutably by
//!   [`SoaSliceMut`].
//! - The rows `start..start + len` are in use, and a `SoaSliceMut` is the only one to reach them.
#![allow(unsafe_code)]

use super::iter::{Iter, IterMut};
use super::row::{Lanes, LanesMut, Mut, Ref, SoaRow};
use super::shape::{CloneLanes, Shape};
use core::marker::PhantomData;
use core::ops::{Bound, Range, RangeBounds};

type Values<T> = <<T as SoaRow>::Shape as Shape>::Values;

/// A view of a range of rows, as `&[T]` is of a `Vec<T>`.
pub struct SoaSlice<'a, T: SoaRow> {
    ptrs: <T::Shape as Shape>::Ptrs,
    start: usize,
    len: usize,
    rows: PhantomData<(&'a Values<T>, &'a T)>,
}

/// A mutable view of a range of rows, as `&mut [T]` is of a `Vec<T>`.
pub struct SoaSliceMut<'a, T: SoaRow> {
    ptrs: <T::Shape as Shape>::Ptrs,
    start: usize,
    len: usize,
    rows: PhantomData<(&'a mut Values<T>, &'a mut T)>,
}

// SAFETY: a shared view is shared references to the values.
unsafe impl<T: SoaRow> Send for SoaSlice<'_, T> where Values<T>: Sync {}
// SAFETY: the same.
unsafe impl<T: SoaRow> Sync for SoaSlice<'_, T> where Values<T>: Sync {}
// SAFETY: a mutable view is mutable references to the values.
unsafe impl<T: SoaRow> Send for SoaSliceMut<'_, T> where Values<T>: Send {}
// SAFETY: behind a shared reference it is shared references to the values.
unsafe impl<T: SoaRow> Sync for SoaSliceMut<'_, T> where Values<T>: Sync {}

impl<T: SoaRow> Clone for SoaSlice<'_, T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: SoaRow> Copy for SoaSlice<'_, T> {}

impl<'a, T: SoaRow> SoaSlice<'a, T> {
    /// # Safety
    ///
    /// The invariants at the head of this file.
    #[inline(always)]
    pub(super) unsafe fn new(ptrs: <T::Shape as Shape>::Ptrs, start: usize, len: usize) -> Self {
        SoaSlice { ptrs, start, len, rows: PhantomData }
    }

    /// Returns the number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns `true` if there are no rows.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns references to the fields of the row at `index`.
    #[inline]
    pub fn get(&self, index: usize) -> Option<Ref<'a, T>> {
        // SAFETY: below the length.
        (index < self.len).then(|| unsafe { self.get_unchecked(index) })
    }

    /// Returns references to the fields of the row at `index`.
    ///
    /// # Panics
    ///
    /// Panics if `index` is not below the length.
    #[doc(alias("index", "idx"))]
    #[inline]
    #[track_caller]
    pub fn row(&self, index: usize) -> Ref<'a, T> {
        match self.get(index) {
            Some(row) => row,
            None => panic!("index {index} is not below the length {}", self.len),
        }
    }

    /// Returns the first row.
    #[inline]
    pub fn first(&self) -> Option<Ref<'a, T>> {
        self.get(0)
    }

    /// Returns the last row.
    #[inline]
    pub fn last(&self) -> Option<Ref<'a, T>> {
        self.get(self.len.wrapping_sub(1))
    }

    /// Returns the first row, and a view of the others.
    #[inline]
    pub fn split_first(&self) -> Option<(Ref<'a, T>, SoaSlice<'a, T>)> {
        self.first().map(|row| (row, self.slice(1..)))
    }

    /// Returns the last row, and a view of the others.
    #[inline]
    pub fn split_last(&self) -> Option<(Ref<'a, T>, SoaSlice<'a, T>)> {
        self.last().map(|row| (row, self.slice(..self.len - 1)))
    }

    /// Takes the first `count` rows, at most as many as there are, out of this view.
    #[inline]
    pub(super) fn take_front(&mut self, count: usize) -> SoaSlice<'a, T> {
        let (front, rest) = self.split_at(count);
        *self = rest;
        front
    }

    /// Takes the last `count` rows, at most as many as there are, out of this view.
    #[inline]
    pub(super) fn take_back(&mut self, count: usize) -> SoaSlice<'a, T> {
        let (rest, back) = self.split_at(self.len - count);
        *self = rest;
        back
    }

    /// Returns references to the fields of the row at `index`, without a check.
    ///
    /// # Safety
    ///
    /// `index` is below the length.
    #[inline(always)]
    pub unsafe fn get_unchecked(&self, index: usize) -> Ref<'a, T> {
        // SAFETY: the row is in use and the array is borrowed for `'a`, by the invariants.
        T::row(unsafe { T::Shape::row(self.ptrs, self.start + index) })
    }

    /// Returns a clone of the row at `index`, made of clones of its fields.
    #[inline]
    pub fn get_cloned(&self, index: usize) -> Option<T>
    where
        T::Shape: CloneLanes,
    {
        // SAFETY: below the length, so the row is in use; the array is borrowed for `'a`, by the invariants.
        let row = (index < self.len).then(|| unsafe { T::Shape::row(self.ptrs, self.start + index) });
        row.map(|row| T::join(T::Shape::clone_row(row)))
    }

    /// Returns a slice per field.
    #[inline]
    pub fn lanes(&self) -> Lanes<'a, T> {
        T::lanes(self.parts())
    }

    /// Returns a slice per lane.
    #[inline]
    pub(super) fn parts(&self) -> <T::Shape as Shape>::Lanes<'a> {
        // SAFETY: the rows are in use and the array is borrowed for `'a`, by the invariants.
        unsafe { T::Shape::lanes(self.ptrs, self.start, self.len) }
    }

    /// Returns a view of the rows of a range.
    ///
    /// # Panics
    ///
    /// Panics if the range ends beyond the length or before it starts.
    #[inline]
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> SoaSlice<'a, T> {
        let range = bounds(range, self.len);
        SoaSlice { start: self.start + range.start, len: range.len(), ..*self }
    }

    /// Returns views of the rows before `mid`, and of those from `mid` on.
    ///
    /// # Panics
    ///
    /// Panics if `mid` is beyond the length.
    #[inline]
    #[track_caller]
    pub fn split_at(&self, mid: usize) -> (SoaSlice<'a, T>, SoaSlice<'a, T>) {
        (self.slice(..mid), self.slice(mid..))
    }

    /// Iterates over the rows.
    #[inline]
    pub fn iter(&self) -> Iter<'a, T> {
        Iter::new(*self)
    }
}

impl<'a, T: SoaRow> SoaSliceMut<'a, T> {
    /// # Safety
    ///
    /// The invariants at the head of this file.
    #[inline(always)]
    pub(super) unsafe fn new(ptrs: <T::Shape as Shape>::Ptrs, start: usize, len: usize) -> Self {
        SoaSliceMut { ptrs, start, len, rows: PhantomData }
    }

    /// Returns the number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns `true` if there are no rows.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns a shared view of the same rows.
    #[inline]
    pub fn as_slice(&self) -> SoaSlice<'_, T> {
        // SAFETY: the rows are in use, and are not written while this view is borrowed.
        unsafe { SoaSlice::new(self.ptrs, self.start, self.len) }
    }

    /// Returns a mutable view of the same rows, for a shorter lifetime.
    #[inline]
    pub fn reborrow(&mut self) -> SoaSliceMut<'_, T> {
        SoaSliceMut { rows: PhantomData, ..*self }
    }

    /// Returns references to the fields of the row at `index`.
    #[inline]
    pub fn get(&self, index: usize) -> Option<Ref<'_, T>> {
        self.as_slice().get(index)
    }

    /// Returns mutable references to the fields of the row at `index`.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<Mut<'_, T>> {
        self.reborrow().into_row(index)
    }

    /// Returns the first row, mutably.
    #[inline]
    pub fn first_mut(&mut self) -> Option<Mut<'_, T>> {
        self.get_mut(0)
    }

    /// Returns the last row, mutably.
    #[inline]
    pub fn last_mut(&mut self) -> Option<Mut<'_, T>> {
        self.get_mut(self.len.wrapping_sub(1))
    }

    /// Returns the first row and a view of the others, for as long as the array is borrowed.
    #[doc(alias = "split_first_mut")]
    #[inline]
    pub fn split_first(mut self) -> Option<(Mut<'a, T>, SoaSliceMut<'a, T>)> {
        let first = if self.len > 0 { self.take_front(1).into_row(0) } else { None };
        first.map(|row| (row, self))
    }

    /// Returns the last row and a view of the others, for as long as the array is borrowed.
    #[doc(alias = "split_last_mut")]
    #[inline]
    pub fn split_last(mut self) -> Option<(Mut<'a, T>, SoaSliceMut<'a, T>)> {
        let last = if self.len > 0 { self.take_back(1).into_row(0) } else { None };
        last.map(|row| (row, self))
    }

    /// Takes the first `count` rows, at most as many as there are, out of this view.
    #[inline]
    pub(super) fn take_front(&mut self, count: usize) -> SoaSliceMut<'a, T> {
        assert!(count <= self.len, "rows of the view");
        let front = SoaSliceMut { len: count, rows: PhantomData, ..*self };
        self.start += count;
        self.len -= count;
        front
    }

    /// Takes the last `count` rows, at most as many as there are, out of this view.
    #[inline]
    pub(super) fn take_back(&mut self, count: usize) -> SoaSliceMut<'a, T> {
        assert!(count <= self.len, "rows of the view");
        self.len -= count;
        SoaSliceMut { start: self.start + self.len, len: count, rows: PhantomData, ..*self }
    }

    /// Returns mutable references to the fields of the row at `index`, for as long as the array is borrowed.
    #[inline]
    pub fn into_row(self, index: usize) -> Option<Mut<'a, T>> {
        // SAFETY: below the length; this view is used up, so the row is reached through the result alone.
        (index < self.len).then(|| unsafe { self.row_at(index) })
    }

    /// # Safety
    ///
    /// `index` is below the length, and until `'a` ends this view does not return that row again.
    #[inline(always)]
    pub(super) unsafe fn row_at(&self, index: usize) -> Mut<'a, T> {
        // SAFETY: the row is in use and reached through this view alone, by the invariants. The caller does not ask for it again.
        T::row_mut(unsafe { T::Shape::row_mut(self.ptrs, self.start + index) })
    }

    /// Returns a slice per field.
    #[inline]
    pub fn lanes(&self) -> Lanes<'_, T> {
        self.as_slice().lanes()
    }

    /// Returns a mutable slice per field.
    #[inline]
    pub fn lanes_mut(&mut self) -> LanesMut<'_, T> {
        self.reborrow().into_lanes()
    }

    /// Returns a mutable slice per field, for as long as the array is borrowed.
    #[inline]
    pub fn into_lanes(self) -> LanesMut<'a, T> {
        // SAFETY: the rows are in use, and this view, the only one to reach them, is used up.
        T::lanes_mut(unsafe { T::Shape::lanes_mut(self.ptrs, self.start, self.len) })
    }

    /// Returns a mutable view of the rows of a range, for as long as the array is borrowed.
    ///
    /// # Panics
    ///
    /// Panics if the range ends beyond the length or before it starts.
    #[inline]
    #[track_caller]
    pub fn into_slice(self, range: impl RangeBounds<usize>) -> SoaSliceMut<'a, T> {
        let range = bounds(range, self.len);
        SoaSliceMut { start: self.start + range.start, len: range.len(), ..self }
    }

    /// Returns views of the rows before `mid`, and of those from `mid` on.
    ///
    /// # Panics
    ///
    /// Panics if `mid` is beyond the length.
    #[inline]
    #[track_caller]
    pub fn split_at(self, mid: usize) -> (SoaSliceMut<'a, T>, SoaSliceMut<'a, T>) {
        assert!(mid <= self.len, "division at {mid} is beyond the length {}", self.len);
        let SoaSliceMut { ptrs, start, len, .. } = self;
        // SAFETY: the two are disjoint parts of the rows of this view, which is used up.
        unsafe { (SoaSliceMut::new(ptrs, start, mid), SoaSliceMut::new(ptrs, start + mid, len - mid)) }
    }

    /// Exchanges two rows.
    ///
    /// # Panics
    ///
    /// Panics if one of them is not below the length.
    #[inline]
    #[track_caller]
    pub fn swap(&mut self, a: usize, b: usize) {
        assert!(a < self.len && b < self.len, "rows {a} and {b} are not both below the length {}", self.len);
        // SAFETY: both rows are in use and reached through this view alone.
        unsafe { T::Shape::swap(self.ptrs, self.start + a, self.start + b) };
    }

    /// Iterates over the rows.
    #[inline]
    pub fn iter(&self) -> Iter<'_, T> {
        self.as_slice().iter()
    }

    /// Iterates over the rows, mutably.
    #[inline]
    pub fn iter_mut(&mut self) -> IterMut<'_, T> {
        IterMut::new(self.reborrow())
    }
}

/// Returns the range as two numbers within `len`; panics if it is not.
#[track_caller]
pub(super) fn bounds(range: impl RangeBounds<usize>, len: usize) -> Range<usize> {
    let start = match range.start_bound() {
        Bound::Included(&start) => Some(start),
        Bound::Excluded(&before) => before.checked_add(1),
        Bound::Unbounded => Some(0),
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.checked_add(1),
        Bound::Excluded(&end) => Some(end),
        Bound::Unbounded => Some(len),
    };
    let (start, end) = start.zip(end).expect("a range of rows ends beyond usize::MAX");
    assert!(start <= end && end <= len, "the range {start}..{end} does not lie within {len} rows");
    start..end
}
