//! [`Runs`] and [`RunsMut`]: the values of a dense store as slices.
#![allow(unsafe_code)]

use super::DenseStore;
use crate::cursor::DenseCursor;
use crate::raw::DenseIndex;
use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;

/// An iterator over the values of a [`DenseStore`] as slices between its holes.
pub struct Runs<'a, X: DenseIndex, T> {
    pub(super) cursor: DenseCursor<'a, X>,
    pub(super) values: &'a DenseStore<X, T>,
}

// Not derived: a derive would ask for the same of the index and the values.
impl<X: DenseIndex, T> Clone for Runs<'_, X, T> {
    fn clone(&self) -> Self {
        Runs { cursor: self.cursor.clone(), values: self.values }
    }
}

impl<'a, X: DenseIndex, T> Iterator for Runs<'a, X, T> {
    type Item = &'a [T];

    fn next(&mut self) -> Option<&'a [T]> {
        let run = self.cursor.next_run()?;
        // SAFETY: the positions of a run are in use and not holes.
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

/// An iterator over the values of a [`DenseStore`] as mutable slices between its holes.
pub struct RunsMut<'a, X: DenseIndex, T> {
    pub(super) cursor: DenseCursor<'a, X>,
    pub(super) values: *mut T,
    pub(super) borrow: PhantomData<&'a mut T>,
}

impl<'a, X: DenseIndex, T> Iterator for RunsMut<'a, X, T> {
    type Item = &'a mut [T];

    fn next(&mut self) -> Option<&'a mut [T]> {
        let run = self.cursor.next_run()?;
        // SAFETY: the positions of a run are in use and not holes, no run comes twice, and the store is borrowed
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

// SAFETY: exclusive references to values, beside a cursor that shares index and dense keys.
unsafe impl<X: DenseIndex + Sync, T: Send> Send for RunsMut<'_, X, T> where X::DenseKey: Sync {}
// SAFETY: behind a shared reference nothing of it can be used.
unsafe impl<X: DenseIndex + Sync, T: Sync> Sync for RunsMut<'_, X, T> where X::DenseKey: Sync {}
