//! Iterators over borrowed and owned rows.
//!
//! # Invariants
//!
//! - `range` lies within the rows of the view or the block; a row that was returned is no longer in it.
#![allow(unsafe_code)]

use super::array::Soa;
use super::block::Block;
use super::row::{Mut, Ref, SoaRow};
use super::shape::Shape;
use super::slice::{SoaSlice, SoaSliceMut};
use core::iter::FusedIterator;
use core::mem::{self, ManuallyDrop};
use core::ops::Range;
use core::ptr;

/// An iterator over the rows of a [`Soa`], as references to their fields.
pub struct Iter<'a, T: SoaRow> {
    rows: SoaSlice<'a, T>,
    range: Range<usize>,
}

/// An iterator over the rows of a [`Soa`], as mutable references to their fields.
pub struct IterMut<'a, T: SoaRow> {
    rows: SoaSliceMut<'a, T>,
    range: Range<usize>,
}

/// An iterator that moves the rows out of a [`Soa`]. Rows that are not taken are dropped with it.
pub struct IntoIter<T: SoaRow> {
    block: Block<T::Shape>,
    range: Range<usize>,
}

impl<'a, T: SoaRow> Iter<'a, T> {
    #[inline]
    pub(super) fn new(rows: SoaSlice<'a, T>) -> Self {
        Iter { rows, range: 0..rows.len() }
    }

    /// Returns the rows that are left.
    pub fn as_slice(&self) -> SoaSlice<'a, T> {
        self.rows.slice(self.range.clone())
    }
}

impl<T: SoaRow> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Iter { rows: self.rows, range: self.range.clone() }
    }
}

impl<'a, T: SoaRow> IterMut<'a, T> {
    #[inline]
    pub(super) fn new(rows: SoaSliceMut<'a, T>) -> Self {
        IterMut { range: 0..rows.len(), rows }
    }
}

impl<T: SoaRow> IntoIter<T> {
    pub(super) fn new(soa: Soa<T>) -> Self {
        let soa = ManuallyDrop::new(soa);
        // SAFETY: the array is never used nor dropped again, so the block is moved out of it.
        let block = unsafe { ptr::read(&raw const soa.block) };
        IntoIter { block, range: 0..soa.len }
    }
}

/// The three iterators differ in how a row is made from its number: `$row` is called once for each number that was in
/// the range and has left it.
macro_rules! iterator {
    (impl[$($generics:tt)*] $name:ty, $item:ty, $row:expr) => {
        impl<$($generics)*> Iterator for $name {
            type Item = $item;

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                let row = self.range.next()?;
                Some($row(self, row))
            }

            #[inline]
            fn size_hint(&self) -> (usize, Option<usize>) {
                self.range.size_hint()
            }

            #[inline]
            fn nth(&mut self, n: usize) -> Option<Self::Item> {
                self.skip_rows(n);
                self.next()
            }

            #[inline]
            fn fold<B, F: FnMut(B, Self::Item) -> B>(mut self, init: B, mut f: F) -> B {
                let mut state = init;
                while let Some(row) = self.range.next() {
                    state = f(state, $row(&mut self, row));
                }
                state
            }
        }

        impl<$($generics)*> DoubleEndedIterator for $name {
            #[inline]
            fn next_back(&mut self) -> Option<Self::Item> {
                let row = self.range.next_back()?;
                Some($row(self, row))
            }
        }

        impl<$($generics)*> ExactSizeIterator for $name {}
        impl<$($generics)*> FusedIterator for $name {}
    };
}

iterator!(impl['a, T: SoaRow] Iter<'a, T>, Ref<'a, T>, |it: &mut Self, row| {
    // SAFETY: the row was in the range, so it is below the length of the view.
    unsafe { it.rows.get_unchecked(row) }
});

iterator!(impl['a, T: SoaRow] IterMut<'a, T>, Mut<'a, T>, |it: &mut Self, row| {
    // SAFETY: the row was in the range, so it is below the length of the view. It has left the range and is not returned
    // again.
    unsafe { it.rows.row_at(row) }
});

iterator!(impl[T: SoaRow] IntoIter<T>, T, |it: &mut Self, row| {
    // SAFETY: the row was in the range, so it is initialised; it has left the range and is not read or dropped again.
    T::join(unsafe { T::Shape::read(it.block.ptrs(), row) })
});

impl<T: SoaRow> Iter<'_, T> {
    #[inline]
    fn skip_rows(&mut self, n: usize) {
        self.range.start += n.min(self.range.len());
    }
}

impl<T: SoaRow> IterMut<'_, T> {
    #[inline]
    fn skip_rows(&mut self, n: usize) {
        self.range.start += n.min(self.range.len());
    }
}

impl<T: SoaRow> IntoIter<T> {
    fn skip_rows(&mut self, n: usize) {
        let (start, n) = (self.range.start, n.min(self.range.len()));
        self.range.start += n;
        // SAFETY: the rows are initialised and have left the range.
        unsafe { T::Shape::drop_rows(self.block.ptrs(), start, n) };
    }
}

impl<T: SoaRow> Drop for IntoIter<T> {
    fn drop(&mut self) {
        let rest = mem::take(&mut self.range);
        // SAFETY: the rows are initialised and have left the range. The block is freed after this, panic or not.
        unsafe { T::Shape::drop_rows(self.block.ptrs(), rest.start, rest.len()) };
    }
}
