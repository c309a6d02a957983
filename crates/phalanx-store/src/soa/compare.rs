//! Comparison and hashing of [`Soa`] and its views: they compare like slices of rows.

use super::array::Soa;
use super::row::{Lanes, Ref, SoaRow};
use super::slice::{SoaSlice, SoaSliceMut};
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::hash::{Hash, Hasher};

/// Compares rows of two arrays, a lane at a time.
fn same_lanes<'a, T: SoaRow>(a: SoaSlice<'a, T>, b: SoaSlice<'a, T>) -> bool
where
    Lanes<'a, T>: PartialEq,
{
    // Rows without fields have no lanes.
    a.len() == b.len() && a.lanes() == b.lanes()
}

/// Compares rows of an array with whole structs, field by field.
fn same_rows<'a, T: SoaRow>(a: SoaSlice<'a, T>, b: &'a [T]) -> bool
where
    Ref<'a, T>: PartialEq,
{
    a.len() == b.len() && a.iter().zip(b).all(|(row, other)| row == other.as_row())
}

fn partial_order<'a, T: SoaRow>(a: SoaSlice<'a, T>, b: SoaSlice<'a, T>) -> Option<Ordering>
where
    Ref<'a, T>: PartialOrd,
{
    a.iter().partial_cmp(b.iter())
}

fn order<'a, T: SoaRow>(a: SoaSlice<'a, T>, b: SoaSlice<'a, T>) -> Ordering
where
    Ref<'a, T>: Ord,
{
    a.iter().cmp(b.iter())
}

impl<T: SoaRow> SoaSlice<'_, T> {
    /// Returns the same rows, under the name that arrays and mutable views have for it.
    fn as_slice(&self) -> SoaSlice<'_, T> {
        *self
    }
}

macro_rules! equal_to_views {
    ($($a:ty: $($b:ty),*;)*) => {$($(
        impl<T: SoaRow> PartialEq<$b> for $a
        where
            for<'x> Lanes<'x, T>: PartialEq,
        {
            fn eq(&self, other: &$b) -> bool {
                same_lanes(self.as_slice(), other.as_slice())
            }
        }
    )*)*};
}
equal_to_views! {
    Soa<T>: Soa<T>, SoaSlice<'_, T>, SoaSliceMut<'_, T>;
    SoaSlice<'_, T>: Soa<T>, SoaSlice<'_, T>, SoaSliceMut<'_, T>;
    SoaSliceMut<'_, T>: Soa<T>, SoaSlice<'_, T>, SoaSliceMut<'_, T>;
}

macro_rules! compared {
    ($($name:ty),*) => {$(
        impl<T: SoaRow> Eq for $name where for<'x> Lanes<'x, T>: Eq {}

        /// Compares with whole structs, field by field.
        impl<T: SoaRow> PartialEq<[T]> for $name
        where
            for<'x> Ref<'x, T>: PartialEq,
        {
            fn eq(&self, other: &[T]) -> bool {
                same_rows(self.as_slice(), other)
            }
        }

        /// Compares with whole structs, field by field.
        impl<T: SoaRow> PartialEq<&[T]> for $name
        where
            for<'x> Ref<'x, T>: PartialEq,
        {
            fn eq(&self, other: &&[T]) -> bool {
                same_rows(self.as_slice(), other)
            }
        }

        /// Compares with whole structs, field by field.
        impl<T: SoaRow, const N: usize> PartialEq<[T; N]> for $name
        where
            for<'x> Ref<'x, T>: PartialEq,
        {
            fn eq(&self, other: &[T; N]) -> bool {
                same_rows(self.as_slice(), other)
            }
        }

        /// Compares with whole structs, field by field.
        impl<T: SoaRow> PartialEq<Vec<T>> for $name
        where
            for<'x> Ref<'x, T>: PartialEq,
        {
            fn eq(&self, other: &Vec<T>) -> bool {
                same_rows(self.as_slice(), other)
            }
        }

        /// Compares row by row, and rows field by field, as slices of the structs with derived orders do.
        impl<T: SoaRow> PartialOrd for $name
        where
            for<'x> Lanes<'x, T>: PartialEq,
            for<'x> Ref<'x, T>: PartialOrd,
        {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                partial_order(self.as_slice(), other.as_slice())
            }
        }

        /// Compares row by row, and rows field by field, as slices of the structs with derived orders do.
        impl<T: SoaRow> Ord for $name
        where
            for<'x> Lanes<'x, T>: Eq,
            for<'x> Ref<'x, T>: Ord,
        {
            fn cmp(&self, other: &Self) -> Ordering {
                order(self.as_slice(), other.as_slice())
            }
        }

        /// Hashes the number of rows and the rows, field by field.
        impl<T: SoaRow> Hash for $name
        where
            for<'x> Ref<'x, T>: Hash,
        {
            fn hash<H: Hasher>(&self, state: &mut H) {
                let rows = self.as_slice();
                state.write_usize(rows.len());
                rows.iter().for_each(|row| row.hash(state));
            }
        }
    )*};
}
compared!(Soa<T>, SoaSlice<'_, T>, SoaSliceMut<'_, T>);
