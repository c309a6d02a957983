//! [`RowMut`]: a row of a world that is borrowed exclusively.

use super::get::{Mut, Ref};
use super::{RowId, World};
use crate::bundle::Bundle;
use crate::change_detection::{self, TracksChanges};
use crate::component::Component;
use crate::error::{RowError, StructuralError, panic_change};
use crate::rows::{Key, Row};
use core::fmt;

/// A row of a world that is borrowed exclusively: [`World::row_mut`].
///
/// A change calls [listeners](crate::signal), which may remove the row. Then the handle returns errors.
pub struct RowMut<'w> {
    world: &'w mut World,
    row: Row,
    /// The key of the row. It stays known if a listener removes the row.
    key: Key,
}

impl World {
    /// Returns a handle that changes one row, main or extra, named by its key or its handle.
    ///
    /// ```
    /// use phalanx::{Component, Key, Role, RowError, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Charge(u32);
    /// #[derive(Component)]
    /// struct Broken;
    ///
    /// let mut world = World::new();
    /// let left = world.spawn_keyed(None, Role(1), Charge(3))?;
    /// let mut row = world.row_mut(left)?;
    /// assert_eq!(row.patch::<Charge, _>(|charge| std::mem::take(&mut charge.0))?, 3);
    /// assert_eq!(row.replace(Charge(9))?, Charge(0));
    /// row.insert(Broken).get_mut::<Charge>()?.0 += 1;
    /// assert!(row.remove::<Broken>());
    /// assert_eq!(row.take::<Charge>()?, Charge(10));
    /// # Ok::<(), RowError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`RowError::NoSuchEntity`] if the entity of the key is not alive.
    /// - [`RowError::NoSuchRow`] if the entity has no row under the key.
    /// - [`RowError::Stale`] if the row of the handle was removed.
    /// - [`RowError::Alloc`] if the entity is [reserved](World::reserve_entity), and allocation fails.
    pub fn row_mut(&mut self, row: impl RowId) -> Result<RowMut<'_>, RowError> {
        let row = match row.find(self) {
            Ok(row) => row,
            Err(_) => {
                // Its entity may be reserved.
                self.storage.flush()?;
                row.find(self)?
            }
        };
        let key = self.storage.key_of(row)?;
        Ok(RowMut { world: self, row, key })
    }
}

impl RowMut<'_> {
    /// Returns the handle of the row.
    pub fn id(&self) -> Row {
        self.row
    }

    /// Returns the key of the row.
    pub fn key(&self) -> Key {
        self.key
    }

    /// Returns a component.
    ///
    /// # Errors
    ///
    /// [`RowError::MissingComponent`] if the row does not have it.
    pub fn get<C: Component>(&self) -> Result<Ref<'_, C>, RowError> {
        self.world.get::<C>(self.row.0).map_err(|error| self.world.storage.row_error(self.row, error))
    }

    /// Returns a component with its change flags, like [`World::get_ref`].
    ///
    /// # Errors
    ///
    /// [`RowError::MissingComponent`] if the row does not have it.
    pub fn get_ref<C: Component>(&self) -> Result<change_detection::Ref<'_, C>, RowError>
    where
        C::Layout: TracksChanges<C>,
    {
        self.world.get_ref::<C>(self.row.0).map_err(|error| self.world.storage.row_error(self.row, error))
    }

    /// Returns a component, for writing.
    ///
    /// # Errors
    ///
    /// [`RowError::MissingComponent`] if the row does not have it.
    #[inline]
    pub fn get_mut<C: Component>(&mut self) -> Result<Mut<'_, C>, RowError> {
        if !self.has::<C>() {
            self.get::<C>()?;
        }
        let row = self.row;
        self.world.get_mut::<C>(row.0).map_err(|_| RowError::Stale { row })
    }

    /// Returns `true` if the row has the component.
    pub fn has<C: Component>(&self) -> bool {
        self.world.has::<C>(self.row.0)
    }

    /// Inserts the components of `bundle`. Components that the row already has are overwritten, and their old values are
    /// dropped.
    ///
    /// # Panics
    ///
    /// If the bundle contains a component twice.
    #[track_caller]
    pub fn insert<B: Bundle>(&mut self, bundle: B) -> &mut Self {
        unwrap_row(self.try_insert(bundle));
        self
    }

    /// Inserts the components of `bundle`, like [`insert`](RowMut::insert), but returns every error.
    ///
    /// # Errors
    ///
    /// - [`RowError::Duplicate`] if the bundle contains a component twice.
    /// - [`RowError::Alloc`] if allocation fails.
    ///
    /// On error the bundle is dropped, and nothing else changes.
    pub fn try_insert<B: Bundle>(&mut self, bundle: B) -> Result<(), RowError> {
        let outcome = self.world.try_insert(self.row.0, bundle);
        self.checked(outcome)
    }

    /// Removes the components of `B` and drops them. Components that the row does not have are ignored. Returns `true` if at
    /// least one was removed.
    ///
    /// # Panics
    ///
    /// If the bundle contains a component twice.
    #[track_caller]
    pub fn remove<B: Bundle>(&mut self) -> bool {
        unwrap_row(self.try_remove::<B>())
    }

    /// Removes the components of `B`, like [`remove`](RowMut::remove), but returns every error.
    ///
    /// # Errors
    ///
    /// - [`RowError::Duplicate`] if the bundle contains a component twice.
    /// - [`RowError::Alloc`] if allocation fails.
    ///
    /// On error nothing has changed.
    pub fn try_remove<B: Bundle>(&mut self) -> Result<bool, RowError> {
        let outcome = self.world.try_remove::<B>(self.row.0);
        self.checked(outcome)
    }

    /// Removes the components of `B` and returns them: all of the bundle, or nothing changes.
    ///
    /// # Errors
    ///
    /// - [`RowError::MissingComponent`] if the row does not have all of the components.
    /// - [`RowError::Duplicate`] if the bundle contains a component twice.
    /// - [`RowError::Alloc`] if allocation fails.
    ///
    /// On error nothing has changed.
    pub fn take<B: Bundle>(&mut self) -> Result<B, RowError> {
        let outcome = self.world.take::<B>(self.row.0);
        self.checked(outcome)
    }

    /// Changes a component in place, and returns what the closure returns, like [`World::patch`].
    ///
    /// # Errors
    ///
    /// [`RowError::MissingComponent`] if the row does not have the component. The closure is not called.
    #[track_caller]
    pub fn patch<C: Component, R>(&mut self, change: impl FnOnce(Mut<'_, C>) -> R) -> Result<R, RowError> {
        match self.world.patch::<C, R>(self.row.0, change) {
            Ok(outcome) => Ok(outcome),
            Err(error) => Err(self.world.storage.row_error(self.row, error)),
        }
    }

    /// Replaces the value of a component, and returns the old value.
    ///
    /// # Errors
    ///
    /// [`RowError::MissingComponent`] if the row does not have the component. The value is dropped.
    #[track_caller]
    pub fn replace<C: Component>(&mut self, value: C) -> Result<C, RowError> {
        match self.world.replace(self.row.0, value) {
            Ok(old) => Ok(old),
            Err(error) => Err(self.world.storage.row_error(self.row, error)),
        }
    }

    /// Removes the components of `R` and inserts those of `bundle`, in one archetype move, like [`World::exchange`].
    ///
    /// # Errors
    ///
    /// - [`RowError::Duplicate`] if a bundle contains a component twice.
    /// - [`RowError::Alloc`] if allocation fails.
    ///
    /// On error the bundle is dropped, and nothing else changes.
    pub fn exchange<R: Bundle, I: Bundle>(&mut self, bundle: I) -> Result<(), RowError> {
        let outcome = self.world.exchange::<R, I>(self.row.0, bundle);
        self.checked(outcome)
    }

    /// Returns the result of a change with the error of the row.
    fn checked<T>(&self, outcome: Result<T, StructuralError>) -> Result<T, RowError> {
        outcome.map_err(|error| RowError::of(self.key, error))
    }
}

impl fmt::Debug for RowMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.key)
    }
}

/// Unwraps the result of a `try_` form in its panicking form.
#[track_caller]
pub(super) fn unwrap_row<T>(result: Result<T, RowError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic_change(error.into()),
    }
}
