//! [`Soa`]: the container, and its methods for single rows.
//!
//! # Invariants
//!
//! - `len` is at most the capacity of the block, and exactly the first `len` elements of each lane are initialised.
//! - A row is split (`SoaRow::split`) before the first change and joined (`SoaRow::join`) after the last. Values are
//!   dropped after `len` stopped counting them. So user code never runs while the length counts a value that is moved out.
#![allow(unsafe_code)]

use super::block::Block;
use super::row::{Lanes, LanesMut, Mut, Ref, SoaRow};
use super::shape::{CloneLanes, Shape};
use super::slice::{SoaSlice, SoaSliceMut};
use crate::error::infallible;
use crate::store::distinct;
use crate::{AllocError, DisjointError, TryInsertError};
use core::ops::RangeBounds;

/// A growable array of structs that keeps each field in a lane of its own.
///
/// One allocation holds all lanes, each aligned to 64 bytes (or more, if its type asks for more). A row is pushed and
/// popped as a whole `T`, and borrowed field by field: [`lanes`](Soa::lanes) returns a slice per field, [`get`](Soa::get)
/// and [`iter`](Soa::iter) return rows of references. Work on one field reads the memory of one field.
///
/// ```
/// # #[cfg(feature = "derive")] {
/// use phalanx_store::Soa;
///
/// #[derive(Soa, Clone, Copy, Debug, PartialEq)]
/// struct Particle {
///     x: f32,
///     speed: f32,
///     alive: bool,
/// }
///
/// let mut particles: Soa<Particle> = Soa::new();
/// particles.push(Particle { x: 0.0, speed: 2.0, alive: true });
/// particles.push(Particle { x: 1.0, speed: 4.0, alive: false });
///
/// let lanes = particles.lanes_mut();
/// for (x, speed) in lanes.x.iter_mut().zip(&*lanes.speed) {
///     *x += speed * 0.5;
/// }
/// particles.retain(|row| *row.alive);
/// assert_eq!(particles.lanes().x, [1.0]);
/// assert_eq!(particles.pop(), Some(Particle { x: 1.0, speed: 2.0, alive: true }));
/// # }
/// ```
///
/// The length is kept once, and so is the capacity: a push checks once, whatever the number of fields. Zero-sized rows
/// need no memory, and the capacity for them is `usize::MAX`.
///
/// # Panics in user code
///
/// When a destructor, a `Clone`, a closure or an iterator panics in a call, the array remains valid. Each value is
/// dropped at most once, and the other values that were to be dropped are dropped. Destructors run lane by lane: all values
/// of the first field, then those of the second.
#[doc(alias("SoaVec", "struct of arrays", "structure of arrays"))]
pub struct Soa<T: SoaRow> {
    pub(super) block: Block<T::Shape>,
    pub(super) len: usize,
}

impl<T: SoaRow> Soa<T> {
    /// Creates an empty array without allocating.
    #[inline]
    pub const fn new() -> Soa<T> {
        Soa { block: Block::new(), len: 0 }
    }

    /// Creates an empty array with capacity for `capacity` rows.
    ///
    /// # Panics
    ///
    /// Panics if the bytes are more than `isize::MAX`; aborts if allocation fails.
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> Soa<T> {
        infallible(Soa::try_with_capacity(capacity))
    }

    /// Creates an empty array with capacity for `capacity` rows.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::CapacityOverflow`] if the bytes are more than `isize::MAX`, or [`AllocError::OutOfMemory`] if
    /// allocation fails.
    pub fn try_with_capacity(capacity: usize) -> Result<Soa<T>, AllocError> {
        Ok(Soa { block: Block::try_with_capacity(capacity)?, len: 0 })
    }

    /// Returns the number of rows.
    #[inline(always)]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns `true` if there are no rows.
    #[inline(always)]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of rows that fit without allocating: `usize::MAX` for zero-sized rows.
    #[inline(always)]
    pub const fn capacity(&self) -> usize {
        self.block.capacity()
    }

    /// Returns the number of bytes allocated, including padding between the lanes.
    ///
    /// Memory that the values themselves own is not counted.
    pub fn memory(&self) -> usize {
        self.block.bytes()
    }

    /// Checks the invariants of the representation, for tests.
    ///
    /// # Errors
    ///
    /// Returns a sentence that names the first invariant that does not hold. Safe code cannot cause one.
    pub fn validate(&self) -> Result<(), &'static str> {
        if self.len > self.capacity() {
            return Err("the length exceeds the capacity");
        }
        self.block.validate()
    }

    /// Reserves capacity for `additional` more rows, at least doubling the capacity if it grows.
    ///
    /// # Panics
    ///
    /// Panics if the bytes are more than `isize::MAX`; aborts if allocation fails.
    #[inline]
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        infallible(self.try_reserve(additional));
    }

    /// Reserves capacity for `additional` more rows, at least doubling the capacity if it grows.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::CapacityOverflow`] if the bytes are more than `isize::MAX`, or [`AllocError::OutOfMemory`] if
    /// allocation fails. The array is unchanged then.
    #[inline]
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), AllocError> {
        if additional <= self.capacity() - self.len {
            return Ok(());
        }
        let needed = self.len.checked_add(additional).ok_or(AllocError::CapacityOverflow)?;
        self.block.try_grow(self.len, needed)
    }

    /// Reserves capacity for exactly `additional` more rows, if there is less.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::CapacityOverflow`] if the bytes are more than `isize::MAX`, or [`AllocError::OutOfMemory`] if
    /// allocation fails. The array is unchanged then.
    pub fn try_reserve_exact(&mut self, additional: usize) -> Result<(), AllocError> {
        if additional <= self.capacity() - self.len {
            return Ok(());
        }
        let needed = self.len.checked_add(additional).ok_or(AllocError::CapacityOverflow)?;
        self.block.try_resize(self.len, needed)
    }

    /// Reserves capacity for exactly `additional` more rows, if there is less.
    ///
    /// # Panics
    ///
    /// Panics if the bytes are more than `isize::MAX`; aborts if allocation fails.
    #[track_caller]
    pub fn reserve_exact(&mut self, additional: usize) {
        infallible(self.try_reserve_exact(additional));
    }

    /// Shrinks the capacity to the number of rows.
    ///
    /// # Panics
    ///
    /// Aborts if the smaller block cannot be allocated.
    #[track_caller]
    pub fn shrink_to_fit(&mut self) {
        infallible(self.try_shrink_to_fit());
    }

    /// Shrinks the capacity to the number of rows.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::OutOfMemory`] if the smaller block cannot be allocated; the array is unchanged then.
    pub fn try_shrink_to_fit(&mut self) -> Result<(), AllocError> {
        self.block.try_resize(self.len, self.len)
    }

    /// Shrinks the capacity to `min_capacity`, or to the number of rows if there are more. Does nothing if it is lower.
    ///
    /// # Panics
    ///
    /// Aborts if the smaller block cannot be allocated.
    #[track_caller]
    pub fn shrink_to(&mut self, min_capacity: usize) {
        infallible(self.try_shrink_to(min_capacity));
    }

    /// Shrinks the capacity to `min_capacity`, or to the number of rows if there are more. Does nothing if it is lower.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::OutOfMemory`] if the smaller block cannot be allocated; the array is unchanged then.
    pub fn try_shrink_to(&mut self, min_capacity: usize) -> Result<(), AllocError> {
        self.block.try_resize(self.len, min_capacity.max(self.len).min(self.capacity()))
    }

    /// Appends a row.
    ///
    /// # Panics
    ///
    /// Panics if the bytes are more than `isize::MAX`; aborts if allocation fails.
    #[inline]
    #[track_caller]
    pub fn push(&mut self, row: T) {
        if self.len == self.block.capacity() {
            self.len = self.block.grow(self.len);
        }
        let (len, values) = (self.len, row.split());
        // SAFETY: `len` is below the capacity, so the row is within the lanes; it is not in use.
        unsafe { T::Shape::write(self.block.ptrs(), len, values) };
        // `self.len` is not read again: the compiler does not know that no lane overlaps it.
        self.len = len + 1;
    }

    /// Appends a row.
    ///
    /// # Errors
    ///
    /// Returns the row with an [`AllocError`] if allocation fails; the array is unchanged then.
    #[inline]
    pub fn try_push(&mut self, row: T) -> Result<(), TryInsertError<T, AllocError>> {
        match self.try_reserve(1) {
            Ok(()) => {
                self.push(row);
                Ok(())
            }
            Err(reason) => Err(TryInsertError { value: row, reason }),
        }
    }

    /// Removes and returns the last row.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.len = self.len.checked_sub(1)?;
        // SAFETY: the row was in use, and since the line above it is not.
        Some(T::join(unsafe { T::Shape::read(self.block.ptrs(), self.len) }))
    }

    /// Inserts a row at `index` and moves all later rows up by one. O(n).
    ///
    /// # Panics
    ///
    /// Panics if `index` is beyond the length, or the bytes are more than `isize::MAX`; aborts if allocation fails.
    #[track_caller]
    pub fn insert(&mut self, index: usize, row: T) {
        infallible(self.try_insert(index, row).map_err(AllocError::from));
    }

    /// Inserts a row at `index` and moves all later rows up by one. O(n).
    ///
    /// # Errors
    ///
    /// Returns the row with an [`AllocError`] if allocation fails; the array is unchanged then.
    ///
    /// # Panics
    ///
    /// Panics if `index` is beyond the length.
    #[track_caller]
    pub fn try_insert(&mut self, index: usize, row: T) -> Result<(), TryInsertError<T, AllocError>> {
        assert!(index <= self.len, "insertion index {index} is beyond the length {}", self.len);
        if let Err(reason) = self.try_reserve(1) {
            return Err(TryInsertError { value: row, reason });
        }
        let (ptrs, values) = (self.block.ptrs(), row.split());
        // SAFETY: there is capacity for `len + 1` rows. The rows from `index` on are moved up by one, within their
        // lanes, and row `index` is written.
        unsafe {
            T::Shape::copy(ptrs, index, ptrs, index + 1, self.len - index);
            T::Shape::write(ptrs, index, values);
        }
        self.len += 1;
        Ok(())
    }

    /// Removes and returns the row at `index`, and moves all later rows down by one. O(n).
    ///
    /// # Panics
    ///
    /// Panics if `index` is not below the length.
    #[track_caller]
    pub fn remove(&mut self, index: usize) -> T {
        assert!(index < self.len, "removal index {index} is not below the length {}", self.len);
        let ptrs = self.block.ptrs();
        self.len -= 1;
        // SAFETY: the row is in use until it is read; then those after it are moved over it, within their lanes.
        let values = unsafe {
            let values = T::Shape::read(ptrs, index);
            T::Shape::copy(ptrs, index + 1, ptrs, index, self.len - index);
            values
        };
        T::join(values)
    }

    /// Removes and returns the row at `index`, and moves the last row there. O(1).
    ///
    /// # Panics
    ///
    /// Panics if `index` is not below the length.
    #[inline]
    #[track_caller]
    pub fn swap_remove(&mut self, index: usize) -> T {
        assert!(index < self.len, "removal index {index} is not below the length {}", self.len);
        let ptrs = self.block.ptrs();
        self.len -= 1;
        // SAFETY: the row is in use until it is read; then the last row, which may be the same, is moved over it.
        let values = unsafe {
            let values = T::Shape::read(ptrs, index);
            T::Shape::copy(ptrs, self.len, ptrs, index, 1);
            values
        };
        T::join(values)
    }

    /// Replaces the row at `index` and returns the old one.
    ///
    /// # Panics
    ///
    /// Panics if `index` is not below the length.
    #[inline]
    #[track_caller]
    pub fn replace(&mut self, index: usize, row: T) -> T {
        assert!(index < self.len, "index {index} is not below the length {}", self.len);
        let (ptrs, values) = (self.block.ptrs(), row.split());
        // SAFETY: the row is in use; it is moved out and written before anything else runs.
        let old = unsafe {
            let old = T::Shape::read(ptrs, index);
            T::Shape::write(ptrs, index, values);
            old
        };
        T::join(old)
    }

    /// Exchanges two rows.
    ///
    /// # Panics
    ///
    /// Panics if one of them is not below the length.
    #[inline]
    #[track_caller]
    pub fn swap(&mut self, a: usize, b: usize) {
        self.as_mut_slice().swap(a, b);
    }

    /// Drops the rows from `len` on. Does nothing if there are none.
    pub fn truncate(&mut self, len: usize) {
        if len < self.len {
            let (start, count) = (len, self.len - len);
            self.len = len;
            // SAFETY: the rows were in use, and since the line above they are not.
            unsafe { T::Shape::drop_rows(self.block.ptrs(), start, count) };
        }
    }

    /// Drops all rows and keeps the capacity.
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Returns references to the fields of the row at `index`.
    #[inline]
    pub fn get(&self, index: usize) -> Option<Ref<'_, T>> {
        self.as_slice().get(index)
    }

    /// Returns a clone of the row at `index`, made of clones of its fields.
    #[inline]
    pub fn get_cloned(&self, index: usize) -> Option<T>
    where
        T::Shape: CloneLanes,
    {
        self.as_slice().get_cloned(index)
    }

    /// Returns mutable references to the fields of the row at `index`.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<Mut<'_, T>> {
        self.as_mut_slice().into_row(index)
    }

    /// Returns mutable references to several rows.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use phalanx_store::{DisjointError, Soa};
    ///
    /// #[derive(Soa, Clone, Copy, Debug, PartialEq)]
    /// struct Point {
    ///     x: i32,
    ///     y: i32,
    /// }
    ///
    /// let mut points: Soa<Point> = (0..5).map(|x| Point { x, y: x * x }).collect();
    /// let [a, b] = points.get_disjoint_mut([4, 0]).unwrap();
    /// *a.x += *b.y + 10;
    /// assert_eq!(points.lanes().x, [0, 1, 2, 3, 14]);
    /// assert!(matches!(points.get_disjoint_mut([1, 2, 1]), Err(DisjointError::Repeated(0, 2))));
    /// assert!(matches!(points.get_disjoint_mut([1, 5]), Err(DisjointError::Absent(1))));
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`DisjointError::Absent`] if an index is not below the length, or [`DisjointError::Repeated`] if two are equal.
    #[doc(alias = "get_many_mut")]
    pub fn get_disjoint_mut<const N: usize>(&mut self, indices: [usize; N]) -> Result<[Mut<'_, T>; N], DisjointError> {
        let indices = distinct(|at| Some(indices[at]).filter(|index| *index < self.len))?;
        let ptrs = self.block.ptrs();
        // SAFETY: the rows are in use and distinct, and the result borrows the array mutably.
        Ok(indices.map(|index| T::row_mut(unsafe { T::Shape::row_mut(ptrs, index) })))
    }

    /// Returns references to the fields of the row at `index`.
    ///
    /// # Panics
    ///
    /// Panics if `index` is not below the length.
    #[inline]
    #[track_caller]
    pub fn row(&self, index: usize) -> Ref<'_, T> {
        match self.get(index) {
            Some(row) => row,
            None => panic!("index {index} is not below the length {}", self.len),
        }
    }

    /// Returns mutable references to the fields of the row at `index`.
    ///
    /// # Panics
    ///
    /// Panics if `index` is not below the length.
    #[inline]
    #[track_caller]
    pub fn row_mut(&mut self, index: usize) -> Mut<'_, T> {
        let len = self.len;
        match self.get_mut(index) {
            Some(row) => row,
            None => panic!("index {index} is not below the length {len}"),
        }
    }

    /// Returns the first row.
    #[inline]
    pub fn first(&self) -> Option<Ref<'_, T>> {
        self.get(0)
    }

    /// Returns the last row.
    #[inline]
    pub fn last(&self) -> Option<Ref<'_, T>> {
        self.get(self.len.wrapping_sub(1))
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

    /// Returns a slice per field.
    #[doc(alias("slices", "columns"))]
    #[inline]
    pub fn lanes(&self) -> Lanes<'_, T> {
        self.as_slice().lanes()
    }

    /// Returns a mutable slice per field.
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
    /// let PointLanesMut { x, y } = points.lanes_mut();
    /// x.iter_mut().zip(y).for_each(|(x, y)| *x += *y);
    /// assert_eq!(points.lanes().x, [0, 2, 6, 12, 20]);
    /// # }
    /// ```
    #[inline]
    pub fn lanes_mut(&mut self) -> LanesMut<'_, T> {
        self.as_mut_slice().into_lanes()
    }

    /// Returns a view of all rows, which can be copied and divided.
    #[inline]
    pub fn as_slice(&self) -> SoaSlice<'_, T> {
        // SAFETY: exactly the first `len` rows are in use, and the result borrows the array.
        unsafe { SoaSlice::new(self.block.ptrs(), 0, self.len) }
    }

    /// Returns a mutable view of all rows, which can be divided.
    #[inline]
    pub fn as_mut_slice(&mut self) -> SoaSliceMut<'_, T> {
        // SAFETY: exactly the first `len` rows are in use, and the result borrows the array mutably.
        unsafe { SoaSliceMut::new(self.block.ptrs(), 0, self.len) }
    }

    /// Returns a view of the rows of a range.
    ///
    /// # Panics
    ///
    /// Panics if the range ends beyond the length or before it starts.
    #[inline]
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> SoaSlice<'_, T> {
        self.as_slice().slice(range)
    }

    /// Returns a mutable view of the rows of a range.
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
    /// points.slice_mut(3..).into_lanes().y.fill(-1);
    /// let (left, right) = points.as_mut_slice().split_at(2);
    /// left.into_lanes().x.copy_from_slice(&right.lanes().y[..2]);
    /// assert_eq!(points.lanes().x, [4, -1, 2, 3, 4]);
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the range ends beyond the length or before it starts.
    #[inline]
    #[track_caller]
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> SoaSliceMut<'_, T> {
        self.as_mut_slice().into_slice(range)
    }
}

impl<T: SoaRow> Drop for Soa<T> {
    fn drop(&mut self) {
        // The block is freed after this, also when a destructor panics.
        self.clear();
    }
}
