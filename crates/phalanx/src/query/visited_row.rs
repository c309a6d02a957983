//! Rows of which items are made.
//!
//! To have such a value is the permission to make items of the row. So the methods of [`QueryData`] that
//! take one are safe, and the contract is that of making the value.
#![allow(unsafe_code)]

use super::QueryData;
use crate::rows::Row;
use crate::world::{Location, World};
use core::marker::PhantomData;
use core::ptr::NonNull;
use phalanx_store::Entity;

/// A row of a fetch, of which an item is made.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct ItemRow<'w> {
    row: usize,
    item: PhantomData<&'w mut ()>,
}

impl ItemRow<'_> {
    /// # Safety
    ///
    /// - The row is in use in the table or the stores whose fetch the value is passed with.
    /// - These are borrowed for `'w` as the query needs them, and no other item of the row that lives in `'w` conflicts.
    #[inline(always)]
    pub(super) unsafe fn new(row: usize) -> Self {
        ItemRow { row, item: PhantomData }
    }

    /// Returns the number of the row.
    #[inline(always)]
    pub(super) fn index(self) -> usize {
        self.row
    }
}

/// All rows of a fetch, of which a chunk is made.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct ItemRows<'w> {
    len: usize,
    items: PhantomData<&'w mut ()>,
}

impl<'w> ItemRows<'w> {
    /// # Safety
    ///
    /// - The first `len` rows are in use in the table whose fetch the value is passed with.
    /// - The table is borrowed for `'w` as the query needs it, and no other item of the rows that lives in `'w` conflicts.
    #[inline(always)]
    pub(super) unsafe fn new(len: usize) -> Self {
        ItemRows { len, items: PhantomData }
    }

    /// Returns the number of rows.
    #[inline(always)]
    pub(super) fn len(self) -> usize {
        self.len
    }
}

/// A row that a query visits or tests.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct VisitedRow {
    index: u32,
    key: Option<Entity>,
    position: u32,
    location: Location,
    settled: bool,
}

impl VisitedRow {
    /// The location for queries that do not [need it](QueryData::NEEDS_LOCATION).
    const NOWHERE: Location = Location { table: u32::MAX, row: 0 };

    /// Takes the index of a slot, the slot, if it is known already, its position in the store that drives the query, if one
    /// does, and its location in its table, if the query needs it.
    ///
    /// # Safety
    ///
    /// - The slot is in use in a world, and position and location are its own.
    /// - The value is passed only with that world and views of it, while it is borrowed and unchanged.
    #[inline(always)]
    pub(super) unsafe fn new(index: u32, key: Option<Entity>, position: u32, location: Location) -> Self {
        VisitedRow { index, key, position, location, settled: false }
    }

    /// Returns the row, for views that are [settled](QueryData::settle) for its table.
    ///
    /// # Safety
    ///
    /// The value is passed only with views that are settled for the table of its location.
    #[inline(always)]
    pub(super) unsafe fn settled(self) -> Self {
        VisitedRow { settled: true, ..self }
    }

    /// Returns `true` if views that the row is passed with are settled for its table.
    #[inline(always)]
    pub(super) fn is_settled(self) -> bool {
        self.settled
    }

    /// Takes the index of a slot, the slot, if it is known already, and its position in the store that drives the query. The
    /// location is found if the query `D` needs it.
    ///
    /// # Safety
    ///
    /// - The slot is in use in the world, and the position is its own.
    /// - The value is passed only with that world and views of it, while it is borrowed and unchanged.
    #[inline(always)]
    pub(super) unsafe fn locate<D: QueryData>(world: &World, index: u32, key: Option<Entity>, position: u32) -> Self {
        // SAFETY: the slot is in use, by the caller's contract, so its location is written; the rest by the same contract.
        unsafe {
            let location =
                if D::NEEDS_LOCATION { world.storage.entities.payload_unchecked(index) } else { Self::NOWHERE };
            VisitedRow::new(index, key, position, location)
        }
    }

    /// Returns the row, for making an item of it.
    ///
    /// # Safety
    ///
    /// The world is borrowed for `'w` as the query needs it, and no other item of the row that lives in `'w` conflicts.
    #[inline(always)]
    pub(super) unsafe fn item<'w>(self) -> ItemRef<'w> {
        ItemRef { row: self, item: PhantomData }
    }

    /// Returns the slot.
    #[inline(always)]
    pub(super) fn key(self, world: &World) -> Entity {
        match self.key.or_else(|| world.storage.slot(self.index)) {
            Some(key) => key,
            None => unreachable!("a row that is visited exists"),
        }
    }

    /// Returns the index of the slot.
    #[inline(always)]
    pub(crate) fn index(self) -> u32 {
        self.index
    }

    /// Returns the position in the store that drives the query.
    #[inline(always)]
    pub(super) fn position(self) -> u32 {
        self.position
    }

    /// Returns the location in the row's table.
    #[inline(always)]
    pub(super) fn location(self) -> Location {
        self.location
    }
}

/// A world whose rows are visited: a view of it that finds nothing in advance.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct WorldView(NonNull<World>);

impl WorldView {
    #[inline(always)]
    pub(crate) fn new(world: &World) -> Self {
        WorldView(NonNull::from(world))
    }

    /// Returns the world of a row.
    #[inline(always)]
    pub(crate) fn of<'a>(&'a self, _: &'a VisitedRow) -> &'a World {
        // SAFETY: a row is passed only with views of its world, while that is borrowed, by the contract of `VisitedRow`.
        unsafe { self.0.as_ref() }
    }

    /// Returns the world of a row of which an item is made.
    #[inline(always)]
    pub(super) fn of_item<'w>(self, _: ItemRef<'w>) -> &'w World {
        // SAFETY: a row is passed only with views of its world, and that is borrowed for `'w`, by the contracts of
        // `VisitedRow` and `ItemRef`.
        unsafe { self.0.as_ref() }
    }

    /// Returns the world of a row of a fetch.
    #[inline(always)]
    pub(super) fn of_row<'w>(self, _: ItemRow<'w>) -> &'w World {
        // SAFETY: a row is passed only with a fetch of its world, and that is borrowed for `'w`, by the contract of `ItemRow`.
        unsafe { self.0.as_ref() }
    }

    /// Returns the world of the rows of a fetch.
    #[inline(always)]
    pub(super) fn of_rows<'w>(self, _: ItemRows<'w>) -> &'w World {
        // SAFETY: rows are passed only with a fetch of their world, and that is borrowed for `'w`, by the contract of
        // `ItemRows`.
        unsafe { self.0.as_ref() }
    }
}

/// A row of which an item is made.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct ItemRef<'w> {
    row: VisitedRow,
    item: PhantomData<&'w mut ()>,
}

impl ItemRef<'_> {
    /// Returns the row, for testing it.
    #[inline(always)]
    pub(crate) fn row(self) -> VisitedRow {
        self.row
    }
}

/// The first of the values of all rows of a table or of aligned stores, such as their entities, which no query writes.
#[doc(hidden)]
#[derive(Debug)]
pub struct ColumnPtr<T>(NonNull<T>);

impl<T> Clone for ColumnPtr<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for ColumnPtr<T> {}

impl<T: Copy + 'static> ColumnPtr<T> {
    pub(super) fn new(values: &[T]) -> Self {
        ColumnPtr(NonNull::from(values).cast())
    }

    /// Returns the value of a row.
    #[inline(always)]
    pub(super) fn get(self, row: ItemRow<'_>) -> T {
        // SAFETY: the row is in use, by the contract of `ItemRow`.
        unsafe { self.0.add(row.index()).read() }
    }

    /// Returns the values of all rows.
    #[inline(always)]
    pub(super) fn slice<'w>(self, rows: ItemRows<'w>) -> &'w [T] {
        // SAFETY: the rows are in use, by the contract of `ItemRows`, and no query writes the values.
        unsafe { core::slice::from_raw_parts(self.0.as_ptr(), rows.len()) }
    }
}

impl ColumnPtr<Entity> {
    /// Returns slots as rows. A row is a slot, and nothing else.
    pub(super) fn rows(self) -> ColumnPtr<Row> {
        ColumnPtr(self.0.cast())
    }
}
