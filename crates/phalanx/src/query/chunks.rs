//! Iteration over the tables of a query.
#![allow(unsafe_code)]

use super::{FlatChunk, ItemRows, Iter, QueryData, QueryFilter};
use core::fmt;
use core::iter::FusedIterator;

/// An iterator over the items of a query, table by table: slices of equal length.
///
/// It is made by [`Query::chunks`](super::Query::chunks).
pub struct Chunks<'w, 's, D: QueryData, F: QueryFilter = ()> {
    rows: Iter<'w, 's, D, F>,
}

impl<'w, 's, D: QueryData, F: QueryFilter> Chunks<'w, 's, D, F> {
    /// Takes an iterator over rows that has not been advanced, of a query that is dense.
    #[inline(always)]
    pub(super) fn new(rows: Iter<'w, 's, D, F>) -> Self {
        Chunks { rows }
    }

    /// Returns the chunks as slices of scalars.
    ///
    /// Loops over numbers vectorise on every target; loops over structs of three numbers often do not.
    ///
    /// ```
    /// use phalanx::store::Flat;
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component, Flat, Clone, Copy)]
    /// #[soa(crate = "phalanx::store")]
    /// #[repr(C)]
    /// struct Position { x: f32, y: f32, z: f32 }
    /// #[derive(Component, Flat, Clone, Copy)]
    /// #[soa(crate = "phalanx::store")]
    /// #[repr(C)]
    /// struct Velocity { x: f32, y: f32, z: f32 }
    ///
    /// let mut world = World::new();
    /// let e = world.spawn((Position { x: 0.0, y: 0.0, z: 0.0 }, Velocity { x: 1.0, y: 2.0, z: 3.0 }));
    /// for (p, v) in world.query_mut::<(&mut Position, &Velocity)>().chunks().flat() {
    ///     p.iter_mut().zip(v).for_each(|(p, v)| *p += v);
    /// }
    /// assert_eq!(world.get::<Position>(e).unwrap().z, 3.0);
    /// ```
    #[inline]
    pub fn flat(self) -> impl ExactSizeIterator<Item = <D::Chunk<'w> as FlatChunk>::Scalars> + use<'w, 's, D, F>
    where
        D::Chunk<'w>: FlatChunk,
    {
        self.map(FlatChunk::flat)
    }
}

impl<'w, D: QueryData, F: QueryFilter> Iterator for Chunks<'w, '_, D, F> {
    type Item = D::Chunk<'w>;

    #[inline(always)]
    fn next(&mut self) -> Option<D::Chunk<'w>> {
        let run = self.rows.next_run()?;
        // SAFETY: the rows are in use, and are visited once.
        Some(D::chunk(run.fetch, unsafe { ItemRows::new(run.len as usize) }))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.rows.run_lengths().count();
        (left, Some(left))
    }
}

impl<D: QueryData, F: QueryFilter> ExactSizeIterator for Chunks<'_, '_, D, F> {}
impl<D: QueryData, F: QueryFilter> FusedIterator for Chunks<'_, '_, D, F> {}

impl<D: QueryData, F: QueryFilter> fmt::Debug for Chunks<'_, '_, D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chunks({} left)", self.len())
    }
}
