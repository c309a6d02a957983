//! Conversions between [`Soa`] and arrays of structs.

use super::array::Soa;
use super::row::SoaRow;
use super::shape::CloneLanes;
use super::slice::{SoaSlice, SoaSliceMut};
use alloc::vec::Vec;

impl<T: SoaRow> From<Vec<T>> for Soa<T> {
    /// Moves the rows of a `Vec` to lanes.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use phalanx_store::Soa;
    ///
    /// #[derive(Soa, Clone, Debug, PartialEq)]
    /// struct Point {
    ///     x: i32,
    ///     y: i32,
    /// }
    ///
    /// let rows = vec![Point { x: 1, y: 2 }, Point { x: 3, y: 4 }];
    /// let points = Soa::from(rows.clone());
    /// assert_eq!(points.lanes().y, [2, 4]);
    /// assert_eq!(points, rows);
    /// assert_eq!(Vec::from(points), rows);
    /// # }
    /// ```
    #[track_caller]
    fn from(rows: Vec<T>) -> Self {
        Soa::from_iter(rows)
    }
}

impl<T: SoaRow, const N: usize> From<[T; N]> for Soa<T> {
    #[track_caller]
    fn from(rows: [T; N]) -> Self {
        Soa::from_iter(rows)
    }
}

impl<T: SoaRow + Clone> From<&[T]> for Soa<T> {
    #[track_caller]
    fn from(rows: &[T]) -> Self {
        rows.iter().cloned().collect()
    }
}

impl<T: SoaRow> From<Soa<T>> for Vec<T> {
    /// Joins the rows to structs.
    fn from(rows: Soa<T>) -> Self {
        rows.into_iter().collect()
    }
}

impl<T: SoaRow> From<SoaSlice<'_, T>> for Soa<T>
where
    T::Shape: CloneLanes,
{
    /// Clones the rows of a view, lane by lane.
    #[track_caller]
    fn from(rows: SoaSlice<'_, T>) -> Self {
        rows.to_soa()
    }
}

impl<T: SoaRow> SoaSlice<'_, T>
where
    T::Shape: CloneLanes,
{
    /// Returns an array of clones of these rows.
    ///
    /// # Panics
    ///
    /// Aborts if allocation fails.
    #[doc(alias("to_vec", "to_owned"))]
    #[track_caller]
    pub fn to_soa(&self) -> Soa<T> {
        crate::error::infallible(self.try_to_soa())
    }

    /// Returns an array of clones of these rows.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::OutOfMemory`](crate::AllocError::OutOfMemory) if allocation fails.
    pub fn try_to_soa(&self) -> Result<Soa<T>, crate::AllocError> {
        let mut copy = Soa::try_with_capacity(self.len())?;
        copy.try_extend_from_slice(*self)?;
        Ok(copy)
    }

    /// Returns a `Vec` of clones of these rows, joined to structs.
    pub fn to_vec(&self) -> Vec<T> {
        self.iter().map(T::from_row).collect()
    }
}

impl<'a, T: SoaRow> From<&'a Soa<T>> for SoaSlice<'a, T> {
    fn from(rows: &'a Soa<T>) -> Self {
        rows.as_slice()
    }
}

impl<'a, T: SoaRow> From<&'a mut Soa<T>> for SoaSliceMut<'a, T> {
    fn from(rows: &'a mut Soa<T>) -> Self {
        rows.as_mut_slice()
    }
}

impl<'a, T: SoaRow + Copy> Extend<&'a T> for Soa<T> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = &'a T>>(&mut self, rows: I) {
        self.extend(rows.into_iter().copied());
    }
}
