//! The standard traits of [`Soa`] and its views.

use super::array::Soa;
use super::iter::{IntoIter, Iter, IterMut};
use super::row::{Ref, SoaRow};
use super::shape::CloneLanes;
use super::slice::{SoaSlice, SoaSliceMut};
use crate::AllocError;
use crate::error::infallible;
use core::fmt;

impl<T: SoaRow> Soa<T> {
    /// Iterates over the rows, as references to their fields.
    #[inline]
    pub fn iter(&self) -> Iter<'_, T> {
        self.as_slice().iter()
    }

    /// Iterates over the rows, as mutable references to their fields.
    #[inline]
    pub fn iter_mut(&mut self) -> IterMut<'_, T> {
        IterMut::new(self.as_mut_slice())
    }

    /// Clones this array, with capacity for its rows and no more. Fields are cloned lane by lane.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::OutOfMemory`] if allocation fails.
    pub fn try_clone(&self) -> Result<Soa<T>, AllocError>
    where
        T::Shape: CloneLanes,
    {
        self.as_slice().try_to_soa()
    }
}

impl<T: SoaRow> Default for Soa<T> {
    fn default() -> Self {
        Soa::new()
    }
}

impl<T: SoaRow> Clone for Soa<T>
where
    T::Shape: CloneLanes,
{
    #[track_caller]
    fn clone(&self) -> Self {
        infallible(self.try_clone())
    }

    #[track_caller]
    fn clone_from(&mut self, source: &Self) {
        self.clear();
        infallible(self.try_extend_from(source));
    }
}

impl<T: SoaRow> Extend<T> for Soa<T> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = T>>(&mut self, rows: I) {
        infallible(self.try_extend(rows).map_err(AllocError::from));
    }
}

impl<T: SoaRow> FromIterator<T> for Soa<T> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = T>>(rows: I) -> Self {
        let mut soa = Soa::new();
        soa.extend(rows);
        soa
    }
}

impl<T: SoaRow> IntoIterator for Soa<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter::new(self)
    }
}

impl<'a, T: SoaRow> IntoIterator for &'a Soa<T> {
    type Item = Ref<'a, T>;
    type IntoIter = Iter<'a, T>;

    #[inline]
    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<'a, T: SoaRow> IntoIterator for &'a mut Soa<T> {
    type Item = super::Mut<'a, T>;
    type IntoIter = IterMut<'a, T>;

    #[inline]
    fn into_iter(self) -> IterMut<'a, T> {
        self.iter_mut()
    }
}

impl<'a, T: SoaRow> IntoIterator for SoaSlice<'a, T> {
    type Item = Ref<'a, T>;
    type IntoIter = Iter<'a, T>;

    #[inline]
    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<'a, T: SoaRow> IntoIterator for &SoaSlice<'a, T> {
    type Item = Ref<'a, T>;
    type IntoIter = Iter<'a, T>;

    #[inline]
    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<'a, T: SoaRow> IntoIterator for &'a mut SoaSliceMut<'_, T> {
    type Item = super::Mut<'a, T>;
    type IntoIter = IterMut<'a, T>;

    #[inline]
    fn into_iter(self) -> IterMut<'a, T> {
        self.iter_mut()
    }
}

impl<'a, T: SoaRow> IntoIterator for SoaSliceMut<'a, T> {
    type Item = super::Mut<'a, T>;
    type IntoIter = IterMut<'a, T>;

    #[inline]
    fn into_iter(self) -> IterMut<'a, T> {
        IterMut::new(self)
    }
}

impl<T: SoaRow> fmt::Debug for Soa<T>
where
    for<'a> Ref<'a, T>: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl<T: SoaRow> fmt::Debug for SoaSlice<'_, T>
where
    for<'a> Ref<'a, T>: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: SoaRow> fmt::Debug for SoaSliceMut<'_, T>
where
    for<'a> Ref<'a, T>: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

macro_rules! debug_as_rest {
    ($($name:ty),*) => { $(
        impl<T: SoaRow> fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(T::NAME).field("left", &self.len()).finish_non_exhaustive()
            }
        }
    )* };
}

debug_as_rest!(Iter<'_, T>, IterMut<'_, T>, IntoIter<T>);
