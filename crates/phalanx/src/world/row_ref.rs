//! [`RowRef`]: a row of a shared world.

use super::get::Ref;
use super::{RowId, World};
use crate::change_detection::{self, TracksChanges};
use crate::component::{Component, ComponentId};
use crate::error::{ComponentError, NoSuchEntity, RowError};
use crate::rows::{Key, Label, Role, Row};
use crate::storage::Storage;
use core::fmt;
use phalanx_store::Entity;

/// A row of a shared world: [`World::row`].
#[derive(Clone, Copy)]
pub struct RowRef<'w> {
    world: &'w World,
    row: Row,
}

impl World {
    /// Returns a handle that reads one row, main or extra, named by its key or its handle.
    ///
    /// ```
    /// use phalanx::{Component, Key, Role, RowError, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Ring(&'static str);
    ///
    /// const LEFT: Role = Role(1);
    ///
    /// let mut world = World::new();
    /// let elf = world.spawn_empty();
    /// let left = Key::main(elf).with_role(LEFT);
    /// let handle = world.add_row(left, Ring("of air"))?;
    /// let row = world.row(handle)?;
    /// assert_eq!((row.get::<Ring>()?, row.key()), (&Ring("of air"), left));
    /// assert_eq!(world.row(left)?.id(), handle);
    /// assert!(world.row(Key::main(elf).with_role(Role(2))).is_err());
    /// # Ok::<(), RowError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`RowError::NoSuchEntity`] if the entity of the key is not alive.
    /// - [`RowError::NoSuchRow`] if the entity has no row under the key.
    /// - [`RowError::Stale`] if the row of the handle was removed.
    #[inline]
    pub fn row(&self, row: impl RowId) -> Result<RowRef<'_>, RowError> {
        Ok(RowRef { world: self, row: row.find(self)? })
    }

    /// Returns the keys and handles of an entity's rows: the main row, then the extra ones in the order of their creation.
    ///
    /// # Errors
    ///
    /// [`NoSuchEntity`] if the entity is not alive.
    pub fn rows(&self, entity: Entity) -> Result<impl Iterator<Item = (Key, Row)> + Clone + '_, NoSuchEntity> {
        if !self.contains(entity) {
            return Err(NoSuchEntity { entity });
        }
        let extra = self.storage.extra_rows(entity.index()).map(move |(row, label)| (label.key(entity), row));
        Ok(core::iter::once((Key::main(entity), Row(entity))).chain(extra))
    }

    /// Returns the number of rows: one for each entity, and the extra ones.
    pub fn row_count(&self) -> usize {
        self.storage.row_count()
    }
}

impl<'w> RowRef<'w> {
    /// Returns the handle of the row.
    pub fn id(&self) -> Row {
        self.row
    }

    /// Returns the key of the row.
    pub fn key(&self) -> Key {
        match self.world.storage.key_of(self.row) {
            Ok(key) => key,
            Err(_) => unreachable!("the row was there when the handle was created, and the world is borrowed"),
        }
    }

    /// Returns the world.
    pub fn world(&self) -> &'w World {
        self.world
    }

    /// Returns a component.
    ///
    /// # Errors
    ///
    /// [`RowError::MissingComponent`] if the row does not have it.
    #[inline]
    pub fn get<C: Component>(&self) -> Result<Ref<'w, C>, RowError> {
        match self.world.get::<C>(self.row.0) {
            Ok(value) => Ok(value),
            Err(error) => Err(self.world.storage.row_error(self.row, error)),
        }
    }

    /// Returns a component with its change flags, like [`World::get_ref`].
    ///
    /// # Errors
    ///
    /// [`RowError::MissingComponent`] if the row does not have it.
    pub fn get_ref<C: Component>(&self) -> Result<change_detection::Ref<'w, C>, RowError>
    where
        C::Layout: TracksChanges<C>,
    {
        self.world.get_ref::<C>(self.row.0).map_err(|error| self.world.storage.row_error(self.row, error))
    }

    /// Returns the ids of the row's components, in alphabetical order of their names.
    pub fn component_ids(&self) -> impl Iterator<Item = ComponentId> + use<'w> {
        let RowRef { world, row } = *self;
        let ids = world.storage.components.in_order().filter(|id| *id != ComponentId::ROW);
        ids.filter(move |id| world.storage.has(row.0, *id))
    }

    /// Returns `true` if the row has the component.
    pub fn has<C: Component>(&self) -> bool {
        self.world.has::<C>(self.row.0)
    }
}

impl fmt::Debug for RowRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.key())
    }
}

impl Storage {
    /// Returns the label of a component and a role; `None` for that of the main row.
    pub(crate) fn label(&self, component: Option<ComponentId>, role: Role) -> Result<Option<Label>, RowError> {
        if let Some(component) = component
            && (self.components.is_hidden(component) || component.index() >= self.components.len())
        {
            return Err(RowError::NoSuchComponent { component });
        }
        Ok(Label::of(component, role))
    }

    /// Returns the handle of the row under a key.
    pub(crate) fn find_row(&self, key: Key) -> Result<Row, RowError> {
        if !self.entities.contains(key.entity) {
            return Err(NoSuchEntity { entity: key.entity }.into());
        }
        if key.is_main() {
            return Ok(Row(key.entity));
        }
        let label = self.label(key.component, key.role).ok().flatten();
        match label.and_then(|label| self.row_of_name((key.entity.index(), label))) {
            Some((slot, _)) => Ok(Row(slot)),
            None => Err(RowError::NoSuchRow { key }),
        }
    }

    /// Returns the key of a row.
    pub(crate) fn key_of(&self, row: Row) -> Result<Key, RowError> {
        match self.contains(row.0) {
            true if row.is_main() => Some(Key::main(row.0)),
            true => self.find_extra_row(row.0.index()).map(|row| row.label.key(row.owner)),
            false => None,
        }
        .ok_or(RowError::Stale { row })
    }

    /// Returns the error of a row for an error of its slot.
    #[cold]
    pub(crate) fn row_error(&self, row: Row, error: ComponentError) -> RowError {
        let key = match self.key_of(row) {
            Ok(key) => key,
            Err(error) => return error,
        };
        match error {
            ComponentError::MissingComponent { component, .. } | ComponentError::NoAddress { component } => {
                RowError::MissingComponent { key, component }
            }
            ComponentError::ExcludedComponent { component, .. } => RowError::ExcludedComponent { key, component },
            ComponentError::UnchangedComponent { component, .. } => RowError::UnchangedComponent { key, component },
            ComponentError::DuplicateEntity { .. } | ComponentError::NoSuchEntity(_) => RowError::Stale { row },
            ComponentError::Alloc(error) => RowError::Alloc(error),
        }
    }
}
