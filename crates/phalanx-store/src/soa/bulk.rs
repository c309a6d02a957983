//! Methods of [`Soa`] for many rows at a time.
//!
//! # Invariants
//!
//! Those of `array.rs`. While user code can run, `len` counts no row that is being moved: it is lowered first, and a guard
//! restores it on the way out.
#![allow(unsafe_code)]

use super::array::Soa;
use super::columns::{ColumnsError, common_len};
use super::row::{Lanes, Mut, Ref, SoaRow};
use super::shape::{CloneLanes, Shape};
use super::slice::{SoaSlice, bounds};
use crate::error::infallible;
use crate::raw::DropGuard;
use crate::{AllocError, TryInsertError};
use core::fmt;
use core::iter::FusedIterator;
use core::mem;
use core::ops::{Range, RangeBounds};

impl<T: SoaRow> Soa<T> {
    /// Moves all rows of `other` to the end of this array, and leaves it empty.
    ///
    /// # Panics
    ///
    /// Panics if the bytes are more than `isize::MAX`; aborts if allocation fails.
    #[track_caller]
    pub fn append(&mut self, other: &mut Soa<T>) {
        infallible(self.try_append(other));
    }

    /// Moves all rows of `other` to the end of this array, and leaves it empty.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; both arrays are unchanged then.
    pub fn try_append(&mut self, other: &mut Soa<T>) -> Result<(), AllocError> {
        self.try_reserve(other.len)?;
        let count = mem::take(&mut other.len);
        // SAFETY: the rows were in use in `other` and are no longer. There is capacity for them here, and two arrays do
        // not share memory.
        unsafe { T::Shape::copy(other.block.ptrs(), 0, self.block.ptrs(), self.len, count) };
        self.len += count;
        Ok(())
    }

    /// Moves the rows from `at` on to an array of their own.
    ///
    /// # Panics
    ///
    /// Panics if `at` is beyond the length; aborts if allocation fails.
    #[track_caller]
    pub fn split_off(&mut self, at: usize) -> Soa<T> {
        infallible(self.try_split_off(at))
    }

    /// Moves the rows from `at` on to an array of their own.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::OutOfMemory`] if allocation fails; the array is unchanged then.
    ///
    /// # Panics
    ///
    /// Panics if `at` is beyond the length.
    #[track_caller]
    pub fn try_split_off(&mut self, at: usize) -> Result<Soa<T>, AllocError> {
        let range = bounds(at.., self.len);
        let mut rest = Soa::try_with_capacity(range.len())?;
        self.len = at;
        // SAFETY: the rows were in use here and are no longer. The new array has capacity for exactly these rows.
        unsafe { T::Shape::copy(self.block.ptrs(), at, rest.block.ptrs(), 0, range.len()) };
        rest.len = range.len();
        Ok(rest)
    }

    /// Appends the rows of an iterator.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] without a row if memory for the lower size hint cannot be allocated. No row is taken then. A
    /// hint that overflows is ignored.
    ///
    /// Returns an [`AllocError`] with a row if the iterator yields more than its hint and allocation fails. The rows before it
    /// have been appended. To keep those after it, pass the iterator by reference.
    pub fn try_extend(
        &mut self,
        rows: impl IntoIterator<Item = T>,
    ) -> Result<(), TryInsertError<Option<T>, AllocError>> {
        let mut rows = rows.into_iter();
        match self.try_reserve(rows.size_hint().0) {
            Ok(()) | Err(AllocError::CapacityOverflow) => {}
            Err(reason) => return Err(TryInsertError { value: None, reason }),
        }
        while let Some(row) = rows.next() {
            if self.len == self.capacity()
                && let Err(reason) = self.try_reserve(1)
            {
                return Err(TryInsertError { value: Some(row), reason });
            }
            self.push(row);
            self.fill(&mut rows);
        }
        Ok(())
    }

    /// Pushes rows until the iterator ends or the capacity is reached.
    #[inline]
    fn fill(&mut self, rows: &mut impl Iterator<Item = T>) {
        let (ptrs, capacity) = (self.block.ptrs(), self.capacity());
        // The length is kept in a register and committed on the way out, panic or not.
        let mut end = DropGuard::new((self.len, &mut self.len), |(at, len)| **len = *at);
        while end.state.0 < capacity {
            let Some(row) = rows.next() else { return };
            let values = row.split();
            // SAFETY: below the capacity, so within the lanes, and not in use.
            unsafe { T::Shape::write(ptrs, end.state.0, values) };
            end.state.0 += 1;
        }
    }

    /// Appends whole columns, lane by lane. A row type without fields has no columns, so nothing is appended.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use phalanx_store::Soa;
    ///
    /// #[derive(Soa)]
    /// struct Velocity {
    ///     x: f32,
    ///     y: f32,
    /// }
    ///
    /// let mut soa: Soa<Velocity> = Soa::new();
    /// soa.extend_columns(VelocityColumns { x: vec![1.0, 2.0], y: vec![3.0, 4.0] }).unwrap();
    /// assert_eq!(soa.row(1).y, &4.0);
    /// assert!(soa.extend_columns(VelocityColumns { x: vec![1.0], y: vec![] }).is_err());
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`ColumnsError::UnequalLengths`] if the columns differ in length. Nothing is appended then, and the columns are
    /// dropped.
    ///
    /// # Panics
    ///
    /// Panics if the bytes are more than `isize::MAX`; aborts if allocation fails.
    #[track_caller]
    pub fn extend_columns(&mut self, columns: T::Columns) -> Result<(), ColumnsError> {
        ColumnsError::raise(self.try_extend_columns(columns).map_err(ColumnsError::from))
    }

    /// Appends whole columns, lane by lane.
    ///
    /// # Errors
    ///
    /// Returns the columns with [`ColumnsError::UnequalLengths`] if they differ in length, or with
    /// [`ColumnsError::Alloc`] if allocation fails. Nothing is appended then.
    pub fn try_extend_columns(&mut self, columns: T::Columns) -> Result<(), TryInsertError<T::Columns, ColumnsError>> {
        let columns = T::split_columns(columns);
        let count = common_len::<T>(|each| T::Shape::column_lens(&columns, each));
        let count = match count.and_then(|count| Ok(self.try_reserve(count).map(|()| count)?)) {
            Ok(count) => count,
            Err(reason) => return Err(TryInsertError { value: T::join_columns(columns), reason }),
        };
        // SAFETY: each column has `count` values, and there is capacity for `count` rows from `len` on.
        unsafe { T::Shape::adopt(columns, self.block.ptrs(), self.len) };
        self.len += count;
        Ok(())
    }

    /// Appends clones of the values of whole slices, of another array or any others.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use phalanx_store::Soa;
    ///
    /// #[derive(Soa, Clone, Copy, Debug, PartialEq)]
    /// struct Point {
    ///     x: i32,
    ///     y: i32,
    /// }
    ///
    /// let mut points: Soa<Point> = (0..5).map(|x| Point { x, y: x * x }).collect();
    /// points.extend_lanes(PointLanes { x: &[7, 8], y: &[0, 0] }).unwrap();
    /// let copy = points.clone();
    /// points.extend_lanes(copy.slice(5..).lanes()).unwrap();
    /// assert_eq!(points.lanes().x, [0, 1, 2, 3, 4, 7, 8, 7, 8]);
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`ColumnsError::UnequalLengths`] if the slices differ in length. Nothing is appended then.
    ///
    /// # Panics
    ///
    /// Panics if the bytes are more than `isize::MAX`; aborts if allocation fails.
    #[track_caller]
    pub fn extend_lanes(&mut self, lanes: Lanes<'_, T>) -> Result<(), ColumnsError>
    where
        T::Shape: CloneLanes,
    {
        ColumnsError::raise(self.try_extend_lanes(lanes))
    }

    /// Appends clones of the values of whole slices, of another array or any others.
    ///
    /// # Errors
    ///
    /// Returns [`ColumnsError::UnequalLengths`] if the slices differ in length, or [`ColumnsError::Alloc`] if allocation fails.
    /// Nothing is appended then.
    pub fn try_extend_lanes(&mut self, lanes: Lanes<'_, T>) -> Result<(), ColumnsError>
    where
        T::Shape: CloneLanes,
    {
        let lanes = T::split_lanes(lanes);
        let count = common_len::<T>(|each| T::Shape::lane_lens(lanes, each))?;
        self.try_reserve(count)?;
        // SAFETY: each slice has `count` values, and there is capacity for `count` rows from `len` on. The slices are
        // borrowed, and so not part of this array, which is borrowed mutably. If a `Clone` panics, `len` was not
        // raised.
        unsafe { T::Shape::clone_rows(lanes, self.block.ptrs(), self.len) };
        self.len += count;
        Ok(())
    }

    /// Appends clones of the rows of another array of this type.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails. Nothing is appended then.
    pub fn try_extend_from(&mut self, other: &Soa<T>) -> Result<(), AllocError>
    where
        T::Shape: CloneLanes,
    {
        self.try_extend_from_slice(other.as_slice())
    }

    /// Appends clones of the rows of a view of another array.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use phalanx_store::Soa;
    ///
    /// #[derive(Soa, Clone, Copy)]
    /// struct Point {
    ///     x: i32,
    ///     y: i32,
    /// }
    ///
    /// let points: Soa<Point> = (0..5).map(|x| Point { x, y: 0 }).collect();
    /// let mut some = Soa::new();
    /// some.extend_from_slice(points.slice(1..3));
    /// some.extend_from_slice(points.slice(4..));
    /// assert_eq!(some.lanes().x, [1, 2, 4]);
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the bytes are more than `isize::MAX`; aborts if allocation fails.
    #[track_caller]
    pub fn extend_from_slice(&mut self, rows: SoaSlice<'_, T>)
    where
        T::Shape: CloneLanes,
    {
        infallible(self.try_extend_from_slice(rows));
    }

    /// Appends clones of the rows of a view of another array.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails. Nothing is appended then.
    pub fn try_extend_from_slice(&mut self, rows: SoaSlice<'_, T>) -> Result<(), AllocError>
    where
        T::Shape: CloneLanes,
    {
        self.try_reserve(rows.len())?;
        // SAFETY: the lanes of the view have its length, and there is capacity for `rows.len()` rows from `len` on. The view
        // is borrowed, and so not part of this array, which is borrowed mutably. If a `Clone` panics, `len` was not raised.
        unsafe { T::Shape::clone_rows(rows.parts(), self.block.ptrs(), self.len) };
        self.len += rows.len();
        Ok(())
    }

    /// Changes the number of rows to `len`: drops the rows after it, or appends clones of `row`.
    ///
    /// If a `Clone` panics, the clones that were made before stay.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use phalanx_store::Soa;
    ///
    /// #[derive(Soa, Clone, Copy)]
    /// struct Point {
    ///     x: i32,
    ///     y: i32,
    /// }
    ///
    /// let mut points: Soa<Point> = Soa::new();
    /// points.resize(3, Point { x: 1, y: 2 });
    /// assert_eq!(points.lanes().y, [2, 2, 2]);
    /// points.resize(1, Point { x: 0, y: 0 });
    /// assert_eq!(points.lanes().x, [1]);
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the bytes are more than `isize::MAX`; aborts if allocation fails.
    #[track_caller]
    pub fn resize(&mut self, len: usize, row: T)
    where
        T::Shape: CloneLanes,
    {
        infallible(self.try_resize(len, row).map_err(AllocError::from));
    }

    /// Changes the number of rows to `len`: drops the rows after it, or appends clones of `row`.
    ///
    /// # Errors
    ///
    /// Returns the row with an [`AllocError`] if allocation fails; the array is unchanged then.
    pub fn try_resize(&mut self, len: usize, row: T) -> Result<(), TryInsertError<T, AllocError>>
    where
        T::Shape: CloneLanes,
    {
        let additional = len.saturating_sub(self.len);
        if let Err(reason) = self.try_reserve(additional) {
            return Err(TryInsertError { value: row, reason });
        }
        if additional == 0 {
            self.truncate(len);
            return Ok(());
        }
        for _ in 1..additional {
            self.push(T::from_row(row.as_row()));
        }
        self.push(row);
        Ok(())
    }

    /// Keeps the rows for which `keep` returns `true`, in their order, and drops the others.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use phalanx_store::Soa;
    ///
    /// #[derive(Soa, Clone, Copy, Debug, PartialEq)]
    /// struct Point {
    ///     x: i32,
    ///     y: i32,
    /// }
    ///
    /// let mut points: Soa<Point> = (0..5).map(|x| Point { x, y: x * x }).collect();
    /// points.retain(|row| row.y % 2 == 0);
    /// assert_eq!(points.lanes().x, [0, 2, 4]);
    /// # }
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(Ref<'_, T>) -> bool) {
        // SAFETY: `retain_rows` passes rows that are initialised and not counted, and the reference ends with the call.
        self.retain_rows(|ptrs, row| keep(T::row(unsafe { T::Shape::row(ptrs, row) })));
    }

    /// Keeps the rows for which `keep` returns `true`, in their order, and drops the others. `keep` may change them.
    pub fn retain_mut(&mut self, mut keep: impl FnMut(Mut<'_, T>) -> bool) {
        // SAFETY: `retain_rows` passes rows that are initialised and not counted, and the references end with the call.
        self.retain_rows(|ptrs, row| keep(T::row_mut(unsafe { T::Shape::row_mut(ptrs, row) })));
    }

    /// Calls `keep` with each row's number, all of them initialised at that moment.
    fn retain_rows(&mut self, mut keep: impl FnMut(<T::Shape as Shape>::Ptrs, usize) -> bool) {
        let (ptrs, len) = (self.block.ptrs(), mem::take(&mut self.len));
        // On the way out, rows that were not visited are moved down to those that were kept.
        let mut gap = Gap { soa: self, start: 0, end: 0, rows: len };
        while gap.end < len {
            let row = gap.end;
            if keep(ptrs, row) {
                if gap.start < row {
                    // SAFETY: the row is initialised, and `start..row` are not in use.
                    unsafe { T::Shape::copy(ptrs, row, ptrs, gap.start, 1) };
                }
                gap.start += 1;
                gap.end += 1;
            } else {
                gap.end += 1;
                // SAFETY: the row is initialised, and part of the gap by now, so it is not counted.
                unsafe { T::Shape::drop_rows(ptrs, row, 1) };
            }
        }
    }

    /// Removes the rows of a range and iterates over them. Rows that are not taken are dropped with the iterator.
    ///
    /// If the iterator is leaked, its rows and those after the range are leaked too.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use phalanx_store::Soa;
    ///
    /// #[derive(Soa, Clone, Copy, Debug, PartialEq)]
    /// struct Point {
    ///     x: i32,
    ///     y: i32,
    /// }
    ///
    /// let mut points: Soa<Point> = (0..5).map(|x| Point { x, y: x * x }).collect();
    /// let taken: Vec<Point> = points.drain(1..3).collect();
    /// assert_eq!(taken, [Point { x: 1, y: 1 }, Point { x: 2, y: 4 }]);
    /// assert_eq!(points.lanes().x, [0, 3, 4]);
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the range ends beyond the length or before it starts.
    #[track_caller]
    pub fn drain(&mut self, range: impl RangeBounds<usize>) -> Drain<'_, T> {
        let range = bounds(range, self.len);
        let rows = mem::replace(&mut self.len, range.start);
        Drain { gap: Gap { soa: self, start: range.start, end: range.end, rows }, range }
    }
}

/// An array in which the rows `start..end` are not in use. All others below `rows` are, and `len` is at most `start`.
///
/// On the way out the gap is closed.
struct Gap<'a, T: SoaRow> {
    soa: &'a mut Soa<T>,
    start: usize,
    end: usize,
    rows: usize,
}

impl<T: SoaRow> Drop for Gap<'_, T> {
    fn drop(&mut self) {
        let (ptrs, tail) = (self.soa.block.ptrs(), self.rows - self.end);
        if self.start < self.end {
            // SAFETY: the rows after the gap are initialised and moved down over it, within their lanes.
            unsafe { T::Shape::copy(ptrs, self.end, ptrs, self.start, tail) };
        }
        self.soa.len = self.start + tail;
    }
}

/// An iterator that moves the rows of a range out of a [`Soa`]; see [`Soa::drain`].
pub struct Drain<'a, T: SoaRow> {
    /// Of the rows in the gap, those in `range` are still initialised. Dropped after them.
    gap: Gap<'a, T>,
    range: Range<usize>,
}

impl<T: SoaRow> Drain<'_, T> {
    #[inline]
    fn move_out(&self, row: usize) -> T {
        // SAFETY: the row was in the range, so it is initialised; it has left the range, so it is not read again.
        T::join(unsafe { T::Shape::read(self.gap.soa.block.ptrs(), row) })
    }
}

impl<T: SoaRow> Iterator for Drain<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let row = self.range.next()?;
        Some(self.move_out(row))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.range.size_hint()
    }
}

impl<T: SoaRow> DoubleEndedIterator for Drain<'_, T> {
    #[inline]
    fn next_back(&mut self) -> Option<T> {
        let row = self.range.next_back()?;
        Some(self.move_out(row))
    }
}

impl<T: SoaRow> ExactSizeIterator for Drain<'_, T> {}
impl<T: SoaRow> FusedIterator for Drain<'_, T> {}

impl<T: SoaRow> Drop for Drain<'_, T> {
    fn drop(&mut self) {
        let rest = mem::take(&mut self.range);
        // SAFETY: the rows are initialised and have left the range. The gap closes after this, panic or not.
        unsafe { T::Shape::drop_rows(self.gap.soa.block.ptrs(), rest.start, rest.len()) };
    }
}

impl<T: SoaRow> fmt::Debug for Drain<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain").field("left", &self.range.len()).finish_non_exhaustive()
    }
}
