//! Sorting of [`Soa`]: an order of row numbers is made first, then each lane is permuted.
//!
//! # Invariants
//!
//! - An order is made by writing the numbers `0..len` and sorting the entries. Sorting a slice permutes it, whatever the
//!   comparison returns, so an order is a permutation of the rows.
//! - User code (comparisons, sort keys) runs while the order is made, before any row is moved; permuting the lanes runs
//!   none. A panic or a failed allocation leaves the rows unchanged.
#![allow(unsafe_code)]

use super::array::Soa;
use super::block::Scratch;
use super::row::{Ref, SoaRow};
use super::scalar::Scalar;
use super::shape::Shape;
use crate::AllocError;
use crate::error::infallible;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::cmp::Ordering;

/// A row number, as narrow as the array allows.
trait RowNumber: Copy + Ord {
    fn of(row: usize) -> Self;
    fn get(self) -> usize;
}

impl RowNumber for u32 {
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)]
    fn of(row: usize) -> u32 {
        row as u32
    }
    #[inline(always)]
    fn get(self) -> usize {
        self as usize
    }
}

impl RowNumber for usize {
    #[inline(always)]
    fn of(row: usize) -> usize {
        row
    }
    #[inline(always)]
    fn get(self) -> usize {
        self
    }
}

impl<T: SoaRow> Soa<T> {
    /// Sorts the rows by a comparison. Rows that compare equal keep their order.
    ///
    /// The comparison follows row references, and so reads memory all over the lanes. To sort by one field,
    /// [`sort_by_key`](Soa::sort_by_key) and [`sort_by_scalar`](Soa::sort_by_scalar) are several times faster.
    ///
    /// # Panics
    ///
    /// May panic if the comparison is not a total order; the rows are unchanged then.
    #[track_caller]
    pub fn sort_by(&mut self, compare: impl FnMut(Ref<'_, T>, Ref<'_, T>) -> Ordering) {
        infallible(self.try_sort_by(compare));
    }

    /// Sorts the rows by a comparison. Rows that compare equal keep their order.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::OutOfMemory`] if the order cannot be allocated; the rows are unchanged then.
    ///
    /// # Panics
    ///
    /// May panic if the comparison is not a total order; the rows are unchanged then.
    pub fn try_sort_by(&mut self, compare: impl FnMut(Ref<'_, T>, Ref<'_, T>) -> Ordering) -> Result<(), AllocError> {
        match u32::try_from(self.len) {
            Ok(_) => self.sort_rows::<u32>(compare, true),
            Err(_) => self.sort_rows::<usize>(compare, true),
        }
    }

    /// Sorts the rows by a comparison. Rows that compare equal may change places.
    ///
    /// # Panics
    ///
    /// May panic if the comparison is not a total order; the rows are unchanged then.
    #[track_caller]
    pub fn sort_unstable_by(&mut self, compare: impl FnMut(Ref<'_, T>, Ref<'_, T>) -> Ordering) {
        infallible(self.try_sort_unstable_by(compare));
    }

    /// Sorts the rows by a comparison. Rows that compare equal may change places.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::OutOfMemory`] if the order cannot be allocated; the rows are unchanged then.
    ///
    /// # Panics
    ///
    /// May panic if the comparison is not a total order; the rows are unchanged then.
    pub fn try_sort_unstable_by(
        &mut self,
        compare: impl FnMut(Ref<'_, T>, Ref<'_, T>) -> Ordering,
    ) -> Result<(), AllocError> {
        match u32::try_from(self.len) {
            Ok(_) => self.sort_rows::<u32>(compare, false),
            Err(_) => self.sort_rows::<usize>(compare, false),
        }
    }

    /// Sorts the rows by a key, computed once per row. Rows with equal keys keep their order.
    ///
    /// For a key that is one number, [`sort_by_scalar`](Soa::sort_by_scalar) is faster, and takes floats.
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
    /// points.sort_by_key(|row| (row.x % 2, -row.y));
    /// assert_eq!(points.lanes().x, [4, 2, 0, 3, 1]);
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// May panic if the order of the keys is not total; the rows are unchanged then.
    #[track_caller]
    pub fn sort_by_key<K: Ord>(&mut self, key: impl FnMut(Ref<'_, T>) -> K) {
        infallible(self.try_sort_by_key(key));
    }

    /// Sorts the rows by a key, computed once per row. Rows with equal keys keep their order.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::OutOfMemory`] if the keys cannot be allocated; the rows are unchanged then.
    ///
    /// # Panics
    ///
    /// May panic if the order of the keys is not total; the rows are unchanged then.
    pub fn try_sort_by_key<K: Ord>(&mut self, key: impl FnMut(Ref<'_, T>) -> K) -> Result<(), AllocError> {
        match u32::try_from(self.len) {
            Ok(_) => self.sort_keys::<u32, K>(key, |a, b| a.cmp(b)),
            Err(_) => self.sort_keys::<usize, K>(key, |a, b| a.cmp(b)),
        }
    }

    /// Sorts the rows by a key, computed once per row. Rows with equal keys may change places.
    ///
    /// # Panics
    ///
    /// May panic if the order of the keys is not total; the rows are unchanged then.
    #[track_caller]
    pub fn sort_unstable_by_key<K: Ord>(&mut self, key: impl FnMut(Ref<'_, T>) -> K) {
        infallible(self.try_sort_unstable_by_key(key));
    }

    /// Sorts the rows by a key, computed once per row. Rows with equal keys may change places.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::OutOfMemory`] if the keys cannot be allocated; the rows are unchanged then.
    ///
    /// # Panics
    ///
    /// May panic if the order of the keys is not total; the rows are unchanged then.
    pub fn try_sort_unstable_by_key<K: Ord>(&mut self, key: impl FnMut(Ref<'_, T>) -> K) -> Result<(), AllocError> {
        match u32::try_from(self.len) {
            Ok(_) => self.sort_keys::<u32, K>(key, |a, b| a.0.cmp(&b.0)),
            Err(_) => self.sort_keys::<usize, K>(key, |a, b| a.0.cmp(&b.0)),
        }
    }

    /// Sorts the rows by one number, computed once per row. Rows with equal numbers keep their order.
    ///
    /// The number and the row are packed in one integer. Numbers of up to 32 bits are sorted digit by digit, which is faster
    /// than comparing. Floats have their total order: `-NaN`, negative numbers, `-0.0`, `0.0`, positive numbers, `NaN`.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use phalanx_store::Soa;
    ///
    /// #[derive(Soa)]
    /// struct Body {
    ///     mass: f32,
    ///     name: &'static str,
    /// }
    ///
    /// let rows = [(2.0, "b"), (-1.0, "a"), (3.0, "c")];
    /// let mut bodies: Soa<Body> = rows.into_iter().map(|(mass, name)| Body { mass, name }).collect();
    /// bodies.sort_by_scalar(|row| *row.mass);
    /// assert_eq!(bodies.lanes().name, ["a", "b", "c"]);
    /// # }
    /// ```
    #[track_caller]
    pub fn sort_by_scalar<K: Scalar>(&mut self, key: impl FnMut(Ref<'_, T>) -> K) {
        infallible(self.try_sort_by_scalar(key));
    }

    /// Sorts the rows by one number, computed once per row. Rows with equal numbers keep their order.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::OutOfMemory`] if the keys cannot be allocated; the rows are unchanged then.
    pub fn try_sort_by_scalar<K: Scalar>(&mut self, mut key: impl FnMut(Ref<'_, T>) -> K) -> Result<(), AllocError> {
        if u32::try_from(self.len).is_err() {
            return self.sort_keys::<usize, K::Packed>(|row| key(row).pack(0), Ord::cmp);
        }
        let mut order: Vec<K::Packed> = try_vec(self.len)?;
        order.extend(self.iter().zip(0..).map(|(row, at)| key(row).pack(at)));
        K::sort(&mut order)?;
        // SAFETY: the numbers `0..len` were packed, one in each entry, and come out again.
        unsafe { self.try_permute(order.len(), |at| K::row(order[at]) as usize) }
    }

    fn sort_rows<R: RowNumber>(
        &mut self,
        mut compare: impl FnMut(Ref<'_, T>, Ref<'_, T>) -> Ordering,
        stable: bool,
    ) -> Result<(), AllocError> {
        let mut order: Vec<R> = try_vec(self.len)?;
        order.extend((0..self.len).map(R::of));
        let rows = self.as_slice();
        // SAFETY: an order holds numbers below the length.
        let row = |at: R| unsafe { rows.get_unchecked(at.get()) };
        if stable {
            // Numbers are distinct, so comparing them last makes an unstable sort stable, and it needs no memory.
            order.sort_unstable_by(|a, b| compare(row(*a), row(*b)).then_with(|| a.cmp(b)));
        } else {
            order.sort_unstable_by(|a, b| compare(row(*a), row(*b)));
        }
        // SAFETY: the numbers `0..len`, permuted.
        unsafe { self.try_permute(order.len(), |at| order[at].get()) }
    }

    fn sort_keys<R: RowNumber, K: Ord>(
        &mut self,
        mut key: impl FnMut(Ref<'_, T>) -> K,
        compare: impl FnMut(&(K, R), &(K, R)) -> Ordering,
    ) -> Result<(), AllocError> {
        let mut order: Vec<(K, R)> = try_vec(self.len)?;
        order.extend(self.iter().enumerate().map(|(at, row)| (key(row), R::of(at))));
        order.sort_unstable_by(compare);
        // SAFETY: the numbers `0..len`, permuted along with their keys.
        unsafe { self.try_permute(order.len(), |at| order[at].1.get()) }
    }

    /// Moves row `order(i)` to row `i`.
    ///
    /// # Safety
    ///
    /// `order` is a permutation of `0..len`, and neither panics for these nor runs user code.
    unsafe fn try_permute(&mut self, len: usize, order: impl Fn(usize) -> usize) -> Result<(), AllocError> {
        assert_eq!(len, self.len, "an order has an entry for each row");
        if (0..len).all(|at| order(at) == at) {
            return Ok(());
        }
        let scratch = Scratch::try_new(len, T::Shape::WIDEST, T::Shape::ALIGN)?;
        // SAFETY: the rows are in use, and `order` is a permutation of them that runs no user code. The scratch memory has the
        // size and alignment that are asked for.
        unsafe { T::Shape::permute(self.block.ptrs(), len, &order, scratch.ptr()) };
        Ok(())
    }
}

/// Creates an empty vector with capacity for `len` entries.
pub(super) fn try_vec<E>(len: usize) -> Result<Vec<E>, AllocError> {
    let mut entries = Vec::new();
    match entries.try_reserve_exact(len) {
        Ok(()) => Ok(entries),
        Err(_) => Err(match Layout::array::<E>(len) {
            Ok(layout) => AllocError::of(layout),
            Err(_) => AllocError::CapacityOverflow,
        }),
    }
}
