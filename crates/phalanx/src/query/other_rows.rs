//! [`OtherRows`]: data of other rows than the one that a query visits.
#![allow(unsafe_code)]

use super::lookup::row_of;
use super::{ItemRef, ReadOnlyQueryData, VisitedRow, WorldView};
use crate::world::World;
use core::fmt;
use core::marker::PhantomData;

/// Finds data of other rows than the visited one, for terms that read related entities.
///
/// Such a term adds the data to its access by [`Access::read_elsewhere`](super::Access::read_elsewhere). So nothing writes what
/// the data read, in any row, while the term is used.
///
/// The data `D` are given by their `Static` and their `View`, which need no lifetime bounds.
#[doc(hidden)]
pub struct OtherRows<S, V> {
    view: V,
    world: WorldView,
    data: PhantomData<fn() -> S>,
}

impl<S, V: Copy> Clone for OtherRows<S, V> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<S, V: Copy> Copy for OtherRows<S, V> {}

impl<S, V> fmt::Debug for OtherRows<S, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OtherRows")
    }
}

impl<S: 'static, V: Copy + 'static> OtherRows<S, V> {
    /// Resolves a world for random access.
    ///
    /// # Safety
    ///
    /// - The state is the world's. The value is used only while the world is borrowed and unchanged.
    /// - The access of the term that uses it names what the data read, by `Access::read_elsewhere`.
    #[inline(always)]
    pub(crate) unsafe fn new<D: ReadOnlyQueryData<Static = S, View = V>>(state: &D::State, world: &World) -> Self {
        // SAFETY: the caller's contract. Rows that are found by slot come from no driver.
        let view = unsafe { D::view(state, world, None) };
        OtherRows { view, world: WorldView::new(world), data: PhantomData }
    }

    /// Returns the main row of the entity at a slot, in the world of a visited row.
    #[inline(always)]
    fn find(&self, visited: VisitedRow, slot: u32) -> Option<VisitedRow> {
        let world = self.world.of(&visited);
        row_of(world, world.storage.entities.get(slot)?).ok()
    }

    /// Returns `true` if there is an entity at a slot and it matches. Makes no item.
    #[inline(always)]
    pub(crate) fn matches<D: ReadOnlyQueryData<Static = S, View = V>>(
        &self,
        state: &D::State,
        visited: VisitedRow,
        slot: u32,
    ) -> bool {
        self.find(visited, slot).is_some_and(|row| D::matches_row(state, self.view, row))
    }

    /// Returns the item of the entity at a slot, if there is one and it matches.
    #[inline(always)]
    pub(crate) fn item<'w, D: ReadOnlyQueryData<Static = S, View = V>>(
        &self,
        state: &D::State,
        visited: ItemRef<'w>,
        slot: u32,
    ) -> Option<D::Item<'w>> {
        let row = self.find(visited.row(), slot)?;
        // SAFETY: the world is borrowed for `'w` as the query of the visited row needs it, by the contract of `ItemRef`. That
        // includes what the data read of any row, by the contract of `new`: data with the same `Static` are the same. The data
        // only read, so no item conflicts with another one of the same row.
        D::at(state, self.view, unsafe { row.item() })
    }
}
