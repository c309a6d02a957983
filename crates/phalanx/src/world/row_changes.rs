//! Changes of rows by key or handle, as entities have them.

use super::World;
use super::access::Mut;
use super::rows::plain;
use crate::bundle::Bundle;
use crate::component::Component;
use crate::error::RowError;
use crate::world::RowId;

impl World {
    /// Gives components to a row that a closure makes, if the row is there: [`insert_with`](World::insert_with) for rows.
    ///
    /// The closure runs before anything changes: if it panics, nothing has happened.
    ///
    /// # Errors
    ///
    /// If the row is not there; the closure is not called then.
    ///
    /// # Panics
    ///
    /// If the bundle names a component twice.
    #[track_caller]
    pub fn update_with<B: Bundle>(&mut self, row: impl RowId, bundle: impl FnOnce() -> B) -> Result<(), RowError> {
        plain(self.try_update_with(row, bundle))
    }

    /// As [`update_with`](World::update_with).
    ///
    /// # Errors
    ///
    /// As there, and if the bundle names a component twice, or memory cannot be had; nothing happens then.
    pub fn try_update_with<B: Bundle>(&mut self, row: impl RowId, bundle: impl FnOnce() -> B) -> Result<(), RowError> {
        let (row, key) = self.named(row)?;
        self.try_insert_with(row.0, bundle).map_err(|error| RowError::of(key, error))
    }

    /// Changes a component of a row in its place, and returns what the closure returns: [`patch`](World::patch) for rows.
    ///
    /// ```
    /// use phalanx::{Component, Key, Role, RowError, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Charge(u32);
    ///
    /// let mut world = World::new();
    /// let left = world.spawn_keyed(None, Role(1), Charge(3));
    /// assert_eq!(world.patch_row::<Charge, _>(left, |charge| std::mem::take(&mut charge.0))?, 3);
    /// assert_eq!(world.replace_row(left, Charge(9))?, Charge(0));
    /// assert!(world.replace_row(Key::main(left.entity), Charge(9)).is_err());
    /// # Ok::<(), RowError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the row is not there, or does not have the component; the closure is not called then.
    pub fn patch_row<C: Component, R>(
        &mut self,
        row: impl RowId,
        change: impl FnOnce(Mut<'_, C>) -> R,
    ) -> Result<R, RowError> {
        let row = row.find(self)?;
        self.patch::<C, R>(row.0, change).map_err(|error| self.access_error(row, error))
    }

    /// SparseInserts another value in the place of a row's component, and returns the old one: [`replace`](World::replace) for rows.
    ///
    /// # Errors
    ///
    /// If the row is not there, or does not have the component; the value is dropped then.
    pub fn replace_row<C: Component>(&mut self, row: impl RowId, value: C) -> Result<C, RowError> {
        let row = row.find(self)?;
        self.replace(row.0, value).map_err(|error| self.access_error(row, error))
    }

    /// Takes the components of `R` from a row and gives it those of a bundle, in one move: [`exchange`](World::exchange) for
    /// rows.
    ///
    /// Those of `R` that it does not have are no error; a component of both is replaced.
    ///
    /// # Errors
    ///
    /// If the row is not there; the bundle is dropped, and nothing else happens.
    ///
    /// # Panics
    ///
    /// If a bundle names a component twice.
    #[track_caller]
    pub fn exchange_row<R: Bundle, I: Bundle>(&mut self, row: impl RowId, bundle: I) -> Result<(), RowError> {
        plain(self.try_exchange_row::<R, I>(row, bundle))
    }

    /// As [`exchange_row`](World::exchange_row).
    ///
    /// # Errors
    ///
    /// As there, and if a bundle names a component twice, or memory cannot be had; the bundle is dropped, and nothing else
    /// happens.
    pub fn try_exchange_row<R: Bundle, I: Bundle>(&mut self, row: impl RowId, bundle: I) -> Result<(), RowError> {
        let (row, key) = self.named(row)?;
        self.try_exchange::<R, I>(row.0, bundle).map_err(|error| RowError::of(key, error))
    }
}
