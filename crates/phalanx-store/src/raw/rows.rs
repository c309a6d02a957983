//! [`Rows`]: what a dense container stores beside its keys.
#![allow(unsafe_code)]

use super::LaneOf;
use crate::AllocError;
use core::ops::Range;
use core::ptr;

/// One or more lanes of equal length, whose rows move together.
///
/// A dense container is generic over it. [`LaneOf<T>`] is a single typed lane; an owner of several
/// [`Lane`](super::Lane)s with sizes known at run time is the erased form. Only [`drop_rows`](Rows::drop_rows) runs user
/// code.
///
/// # Safety
///
/// There is memory for [`capacity`](Rows::capacity) rows. Rows keep their bytes until a method moves them, and each
/// method moves exactly the rows that it names.
pub unsafe trait Rows {
    /// Returns the number of rows that every lane has capacity for.
    fn capacity(&self) -> u32;

    /// Returns the number of bytes allocated.
    fn bytes(&self) -> usize;

    /// Checks that a block of `needed` rows can exist at all. Called before anything grows.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::CapacityOverflow`] if a lane would have more than `isize::MAX` bytes.
    fn countable(&self, needed: u32) -> Result<(), AllocError> {
        let _ = needed;
        Ok(())
    }

    /// Grows the capacity to at least `needed` rows, at least doubling it.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; no row changes.
    fn try_grow(&mut self, needed: u32) -> Result<(), AllocError>;

    /// Sets the capacity of every lane to `cap` rows.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; no row changes.
    ///
    /// # Safety
    ///
    /// No row at or above `cap` is in use.
    unsafe fn try_resize(&mut self, cap: u32) -> Result<(), AllocError>;

    /// Exchanges two rows.
    ///
    /// # Safety
    ///
    /// Both are below the capacity, and they differ.
    unsafe fn swap(&mut self, a: u32, b: u32);

    /// Copies the bytes of row `from` over row `to`; `from` counts as moved out.
    ///
    /// # Safety
    ///
    /// Both are below the capacity, and they differ. The row at `to` is moved out.
    unsafe fn shift(&mut self, from: u32, to: u32);

    /// Moves the rows `gap + 1..len` down by one; row `gap` counts as moved out before, row `len - 1` after.
    ///
    /// # Safety
    ///
    /// `gap < len`, and `len` is not above the capacity.
    unsafe fn shift_down(&mut self, gap: u32, len: u32);

    /// Moves the rows `first + 1..len` down by one, and the row `first` to `len - 1`.
    ///
    /// # Safety
    ///
    /// `first < len`, and `len` is not above the capacity.
    unsafe fn rotate(&mut self, first: u32, len: u32) {
        for at in first + 1..len {
            // SAFETY: both rows are below the capacity, and they differ.
            unsafe { self.swap(at - 1, at) };
        }
    }

    /// Drops all rows in `range`, even if a destructor panics. A second panic aborts.
    ///
    /// # Safety
    ///
    /// The rows are initialised, and count as moved out from then on.
    unsafe fn drop_rows(&mut self, range: Range<u32>);
}

// SAFETY: the lane's memory is as large as its capacity says, and every method is a copy of whole rows of `T`.
unsafe impl<T> Rows for LaneOf<T> {
    #[inline(always)]
    fn capacity(&self) -> u32 {
        LaneOf::capacity(self)
    }

    fn bytes(&self) -> usize {
        LaneOf::bytes(self)
    }

    fn countable(&self, needed: u32) -> Result<(), AllocError> {
        LaneOf::countable(self, needed)
    }

    #[inline]
    fn try_grow(&mut self, needed: u32) -> Result<(), AllocError> {
        LaneOf::try_grow(self, needed)
    }

    unsafe fn try_resize(&mut self, cap: u32) -> Result<(), AllocError> {
        // SAFETY: no row at or above `cap` is in use, as this method asks for too.
        unsafe { LaneOf::try_resize(self, cap) }
    }

    #[inline(always)]
    unsafe fn swap(&mut self, a: u32, b: u32) {
        // SAFETY: both rows are within the capacity and differ, so they do not overlap; as maybe-uninitialised bytes
        // they may be swapped whether or not anything lives there.
        unsafe {
            ptr::swap_nonoverlapping(
                self.at(a).cast::<core::mem::MaybeUninit<T>>(),
                self.at(b).cast::<core::mem::MaybeUninit<T>>(),
                1,
            );
        }
    }

    #[inline(always)]
    unsafe fn shift(&mut self, from: u32, to: u32) {
        // SAFETY: both rows are within the capacity and differ, so they do not overlap.
        unsafe { ptr::copy_nonoverlapping(self.at(from), self.at(to), 1) };
    }

    #[inline]
    unsafe fn shift_down(&mut self, gap: u32, len: u32) {
        // SAFETY: `gap + 1..len` and `gap..len - 1` are within the capacity; they may overlap, and `copy` allows it.
        unsafe { ptr::copy(self.at(gap + 1), self.at(gap), (len - gap - 1) as usize) };
    }

    #[inline]
    unsafe fn drop_rows(&mut self, range: Range<u32>) {
        if core::mem::needs_drop::<T>() {
            // SAFETY: the rows of `range` are initialised and given up by the caller. Dropping a slice goes on after a panic.
            unsafe {
                ptr::drop_in_place(ptr::slice_from_raw_parts_mut(
                    self.at(range.start),
                    (range.end - range.start) as usize,
                ));
            }
        }
    }
}
