//! Views of successive rows: [`Chunks`], [`ChunksExact`] and their mutable forms.
//!
//! What is left is a view, from which an iterator takes rows at either end. So this file needs no unsafe code.

use super::array::Soa;
use super::row::SoaRow;
use super::slice::{SoaSlice, SoaSliceMut};
use core::fmt;
use core::iter::FusedIterator;

/// An iterator over views of `size` successive rows; the last may have fewer. See [`SoaSlice::chunks`].
pub struct Chunks<'a, T: SoaRow> {
    rows: SoaSlice<'a, T>,
    size: usize,
}

/// An iterator over views of exactly `size` successive rows. See [`SoaSlice::chunks_exact`].
pub struct ChunksExact<'a, T: SoaRow> {
    rows: SoaSlice<'a, T>,
    remainder: SoaSlice<'a, T>,
    size: usize,
}

/// An iterator over mutable views of `size` successive rows; the last may have fewer. See [`Soa::chunks_mut`].
pub struct ChunksMut<'a, T: SoaRow> {
    rows: SoaSliceMut<'a, T>,
    size: usize,
}

/// An iterator over mutable views of exactly `size` successive rows. See [`Soa::chunks_exact_mut`].
pub struct ChunksExactMut<'a, T: SoaRow> {
    rows: SoaSliceMut<'a, T>,
    remainder: SoaSliceMut<'a, T>,
    size: usize,
}

/// Panics if chunks would have no rows.
#[track_caller]
fn assert_size(size: usize) {
    assert!(size > 0, "chunks must have at least one row");
}

impl<'a, T: SoaRow> Chunks<'a, T> {
    #[track_caller]
    fn new(rows: SoaSlice<'a, T>, size: usize) -> Self {
        assert_size(size);
        Chunks { rows, size }
    }
}

impl<'a, T: SoaRow> ChunksMut<'a, T> {
    #[track_caller]
    fn new(rows: SoaSliceMut<'a, T>, size: usize) -> Self {
        assert_size(size);
        ChunksMut { rows, size }
    }
}

impl<'a, T: SoaRow> ChunksExact<'a, T> {
    #[track_caller]
    fn new(mut rows: SoaSlice<'a, T>, size: usize) -> Self {
        assert_size(size);
        let remainder = rows.take_back(rows.len() % size);
        ChunksExact { rows, remainder, size }
    }

    /// Returns the rows after the last chunk, fewer than a chunk has.
    pub fn remainder(&self) -> SoaSlice<'a, T> {
        self.remainder
    }
}

impl<'a, T: SoaRow> ChunksExactMut<'a, T> {
    #[track_caller]
    fn new(mut rows: SoaSliceMut<'a, T>, size: usize) -> Self {
        assert_size(size);
        let remainder = rows.take_back(rows.len() % size);
        ChunksExactMut { rows, remainder, size }
    }

    /// Returns the rows after the last chunk, fewer than a chunk has.
    pub fn into_remainder(self) -> SoaSliceMut<'a, T> {
        self.remainder
    }
}

impl<T: SoaRow> Clone for Chunks<'_, T> {
    fn clone(&self) -> Self {
        Chunks { ..*self }
    }
}

impl<T: SoaRow> Clone for ChunksExact<'_, T> {
    fn clone(&self) -> Self {
        ChunksExact { ..*self }
    }
}

macro_rules! chunks {
    ($($name:ident yields $view:ident;)*) => {$(
        impl<'a, T: SoaRow> Iterator for $name<'a, T> {
            type Item = $view<'a, T>;

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                self.nth(0)
            }

            #[inline]
            fn size_hint(&self) -> (usize, Option<usize>) {
                let left = self.rows.len().div_ceil(self.size);
                (left, Some(left))
            }

            #[inline]
            fn nth(&mut self, n: usize) -> Option<Self::Item> {
                self.rows.take_front(n.saturating_mul(self.size).min(self.rows.len()));
                let size = self.size.min(self.rows.len());
                (size > 0).then(|| self.rows.take_front(size))
            }
        }

        impl<T: SoaRow> DoubleEndedIterator for $name<'_, T> {
            #[inline]
            fn next_back(&mut self) -> Option<Self::Item> {
                let last = self.rows.len().checked_sub(1)?;
                // The last chunk begins at a multiple of the size.
                Some(self.rows.take_back(last % self.size + 1))
            }
        }

        impl<T: SoaRow> ExactSizeIterator for $name<'_, T> {}
        impl<T: SoaRow> FusedIterator for $name<'_, T> {}

        impl<T: SoaRow> fmt::Debug for $name<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("left", &self.len()).field("size", &self.size).finish()
            }
        }
    )*};
}
chunks! {
    Chunks yields SoaSlice;
    ChunksExact yields SoaSlice;
    ChunksMut yields SoaSliceMut;
    ChunksExactMut yields SoaSliceMut;
}

impl<'a, T: SoaRow> SoaSlice<'a, T> {
    /// Iterates over views of `size` successive rows. The last one has fewer if `size` does not divide the length.
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
    /// let sums: Vec<i32> = points.chunks(2).map(|chunk| chunk.lanes().x.iter().sum()).collect();
    /// assert_eq!(sums, [1, 5, 4]);
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if `size` is 0.
    #[track_caller]
    pub fn chunks(&self, size: usize) -> Chunks<'a, T> {
        Chunks::new(*self, size)
    }

    /// Iterates over views of exactly `size` successive rows. [`ChunksExact::remainder`] returns the rows after the last.
    ///
    /// # Panics
    ///
    /// Panics if `size` is 0.
    #[track_caller]
    pub fn chunks_exact(&self, size: usize) -> ChunksExact<'a, T> {
        ChunksExact::new(*self, size)
    }
}

impl<'a, T: SoaRow> SoaSliceMut<'a, T> {
    /// Iterates over mutable views of `size` successive rows, for as long as the array is borrowed.
    ///
    /// # Panics
    ///
    /// Panics if `size` is 0.
    #[doc(alias = "chunks_mut")]
    #[track_caller]
    pub fn into_chunks(self, size: usize) -> ChunksMut<'a, T> {
        ChunksMut::new(self, size)
    }

    /// Iterates over mutable views of exactly `size` successive rows, for as long as the array is borrowed.
    ///
    /// # Panics
    ///
    /// Panics if `size` is 0.
    #[doc(alias = "chunks_exact_mut")]
    #[track_caller]
    pub fn into_chunks_exact(self, size: usize) -> ChunksExactMut<'a, T> {
        ChunksExactMut::new(self, size)
    }
}

impl<T: SoaRow> Soa<T> {
    /// Iterates over views of `size` successive rows. The last one has fewer if `size` does not divide the length.
    ///
    /// See [`SoaSlice::chunks`] for an example.
    ///
    /// # Panics
    ///
    /// Panics if `size` is 0.
    #[track_caller]
    pub fn chunks(&self, size: usize) -> Chunks<'_, T> {
        self.as_slice().chunks(size)
    }

    /// Iterates over views of exactly `size` successive rows. [`ChunksExact::remainder`] returns the rows after the last.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use phalanx_store::Soa;
    ///
    /// #[derive(Soa, Clone, Copy)]
    /// struct Sample {
    ///     value: f32,
    ///     weight: f32,
    /// }
    ///
    /// let samples: Soa<Sample> = (0..10).map(|n| Sample { value: n as f32, weight: 0.5 }).collect();
    /// let chunks = samples.chunks_exact(4);
    /// let rest: f32 = chunks.remainder().lanes().value.iter().sum();
    /// let whole: Vec<f32> = chunks.map(|four| four.lanes().value.iter().sum()).collect();
    /// assert_eq!((whole, rest), (vec![6.0, 22.0], 17.0));
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if `size` is 0.
    #[track_caller]
    pub fn chunks_exact(&self, size: usize) -> ChunksExact<'_, T> {
        self.as_slice().chunks_exact(size)
    }

    /// Iterates over mutable views of `size` successive rows. The last one has fewer if `size` does not divide the length.
    ///
    /// The views are disjoint, so they can be sent to several threads.
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
    /// let mut points: Soa<Point> = (0..5).map(|x| Point { x, y: 0 }).collect();
    /// std::thread::scope(|scope| {
    ///     for (number, chunk) in points.chunks_mut(2).enumerate() {
    ///         scope.spawn(move || chunk.into_lanes().y.fill(number as i32));
    ///     }
    /// });
    /// assert_eq!(points.lanes().y, [0, 0, 1, 1, 2]);
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if `size` is 0.
    #[track_caller]
    pub fn chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T> {
        self.as_mut_slice().into_chunks(size)
    }

    /// Iterates over mutable views of exactly `size` successive rows. [`ChunksExactMut::into_remainder`] returns the rows
    /// after the last.
    ///
    /// # Panics
    ///
    /// Panics if `size` is 0.
    #[track_caller]
    pub fn chunks_exact_mut(&mut self, size: usize) -> ChunksExactMut<'_, T> {
        self.as_mut_slice().into_chunks_exact(size)
    }
}
