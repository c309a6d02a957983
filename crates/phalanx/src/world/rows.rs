//! Rows by key and role: extra rows of entities, made, changed, found and ended.
#![allow(unsafe_code)]

use super::World;
use super::access::{Mut, Ref};
use crate::bundle::Bundle;
use crate::component::{Component, ComponentId};
use crate::error::RowError;
use crate::error::panic_change;
use crate::error::{ChangeError, ComponentError, NoSuchEntity};
use crate::rows::{Key, Label, Role, Row};
use crate::signature::Signature;
use crate::world::RowId;
use phalanx_store::{AllocError, Entity};

impl World {
    /// Makes an entity whose first row has a key: its main row is without components, and the bundle is in a row of its own.
    /// Without component and role this is [`spawn`](World::spawn).
    ///
    /// # Panics
    ///
    /// If the bundle names a component twice, or the component is none of this world's.
    #[track_caller]
    pub fn spawn_keyed<B: Bundle>(&mut self, component: impl Into<Option<ComponentId>>, role: Role, bundle: B) -> Key {
        match self.try_spawn_keyed(component, role, bundle) {
            Ok(key) => key,
            Err(RowError::Alloc(error)) => panic_change(error.into()),
            Err(error) => panic!("{error}"),
        }
    }

    /// As [`spawn_keyed`](World::spawn_keyed).
    ///
    /// # Errors
    ///
    /// If the component is none of this world's, the bundle names one twice, or memory cannot be had; the bundle is
    /// dropped, and nothing else happens.
    pub fn try_spawn_keyed<B: Bundle>(
        &mut self,
        component: impl Into<Option<ComponentId>>,
        role: Role,
        bundle: B,
    ) -> Result<Key, RowError> {
        let component = component.into();
        let Some(label) = self.label(component, role)? else {
            return match self.try_spawn(bundle) {
                Ok(entity) => Ok(Key::main(entity)),
                Err(ChangeError::Duplicate(error)) => Err(RowError::Duplicate(error)),
                Err(ChangeError::Alloc(error)) => Err(RowError::Alloc(error)),
                Err(_) => unreachable!("a new entity is there, and nothing was to be taken from it"),
            };
        };
        let (bundle_id, bare) = self.resolve_row::<B>()?;
        self.storage.flush()?;
        let edge = self.bundles.edge(bundle_id, bare, true);
        self.storage.reserve_entities(2)?;
        self.storage.reserve_extra_row(0)?;
        self.storage.reserve_extra_row(edge.target)?;
        // The slot of the extra row is allocated after that of its entity.
        self.storage.reserve_sparse(1, &edge.sparse_inserts)?;
        let tail = self.storage.tables[edge.target as usize].len;
        // SAFETY: everything is reserved, for the entity with its main row and for the extra row, and the values are written.
        unsafe {
            bundle.write(self.storage.place(edge.target, edge.places.as_ptr(), tail));
            let entity = self.storage.entities.alloc();
            self.storage.spawn_row::<true>(entity, 0, &[]);
            self.storage.spawn_extra_row::<true>(entity, label, edge.target, &edge.sparse_inserts);
            self.dispatch();
            Ok(Key { entity, component, role })
        }
    }

    /// Adds a row to an entity, under a key that it has no row under.
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
    /// world.extend(left, Ring("of air"))?;
    /// assert_eq!(world.get_key::<Ring>(left)?, &Ring("of air"));
    /// assert_eq!(world.extend(left, Ring("of fire")), Err(RowError::Exists { key: left }));
    /// # Ok::<(), RowError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the entity is not alive or has a row under the key, as it always has under that of the main row, or the key's
    /// component is none of this world's; the bundle is dropped, and nothing else happens.
    ///
    /// # Panics
    ///
    /// If the bundle names a component twice.
    #[track_caller]
    pub fn extend<B: Bundle>(&mut self, key: Key, bundle: B) -> Result<Row, RowError> {
        plain(self.try_extend(key, bundle))
    }

    /// As [`extend`](World::extend).
    ///
    /// # Errors
    ///
    /// As there, and if the bundle names a component twice, or memory cannot be had.
    pub fn try_extend<B: Bundle>(&mut self, key: Key, bundle: B) -> Result<Row, RowError> {
        let (bundle_id, bare) = self.resolve_row::<B>()?;
        self.storage.flush()?;
        if !self.contains(key.entity) {
            return Err(NoSuchEntity { entity: key.entity }.into());
        }
        let label = match self.label(key.component, key.role)? {
            Some(label) if !self.storage.rows.by_name.contains_key(&(key.entity.index(), label)) => label,
            _ => return Err(RowError::Exists { key }),
        };
        let edge = self.bundles.edge(bundle_id, bare, true);
        self.storage.reserve_entities(1)?;
        self.storage.reserve_extra_row(edge.target)?;
        self.storage.reserve_sparse(0, &edge.sparse_inserts)?;
        let tail = self.storage.tables[edge.target as usize].len;
        // SAFETY: everything is reserved, the values are written, and the entity has no row under this label.
        let row = unsafe {
            bundle.write(self.storage.place(edge.target, edge.places.as_ptr(), tail));
            self.storage.spawn_extra_row::<true>(key.entity, label, edge.target, &edge.sparse_inserts)
        };
        self.dispatch();
        Ok(row)
    }

    /// The label of a component and a role; `None` for that of the main row.
    pub(crate) fn label(&self, component: Option<ComponentId>, role: Role) -> Result<Option<Label>, RowError> {
        if let Some(component) = component
            && (component == ComponentId::ROW || component.index() >= self.storage.components.len())
        {
            return Err(RowError::NoSuchComponent { component });
        }
        Ok(Label::of(component, role))
    }

    /// Makes the edge that leads to the table of extra rows with the bundle's components. Returns the plan of the bundle, and the
    /// table that the edge starts from.
    fn resolve_row<B: Bundle>(&mut self) -> Result<(usize, u32), RowError> {
        let bundle_id = match self.bundle_id::<B>() {
            Ok(bundle_id) => bundle_id,
            Err(ChangeError::Duplicate(error)) => return Err(RowError::Duplicate(error)),
            Err(ChangeError::Alloc(error)) => return Err(RowError::Alloc(error)),
            Err(error) => unreachable!("a plan fails for a component named twice, or without memory: {error}"),
        };
        Ok((bundle_id, self.row_edge(bundle_id)?))
    }

    /// Makes the edge of a plan from the table of extra rows without components, and returns that table.
    pub(crate) fn row_edge(&mut self, bundle_id: usize) -> Result<u32, AllocError> {
        let bare = match self.storage.rows.bare {
            Some(bare) => bare,
            None => self.storage.table_of(&Signature::of([ComponentId::ROW]))?,
        };
        self.storage.rows.bare = Some(bare);
        self.edge(bundle_id, bare, true)?;
        Ok(bare)
    }

    /// The row under a key.
    ///
    /// # Errors
    ///
    /// If the entity is not alive, or has no such row.
    pub fn row(&self, key: Key) -> Result<Row, RowError> {
        if !self.contains(key.entity) {
            return Err(NoSuchEntity { entity: key.entity }.into());
        }
        if key.is_main() {
            return Ok(Row(key.entity));
        }
        let label = self.label(key.component, key.role).ok().flatten();
        match label.and_then(|label| self.storage.rows.by_name.get(&(key.entity.index(), label))) {
            // SAFETY: names lead to extra rows.
            Some(&slot) => Ok(unsafe { self.storage.extra_row(slot).0 }),
            None => Err(RowError::NoSuchRow { key }),
        }
    }

    /// The key of a row.
    ///
    /// # Errors
    ///
    /// If the row has ended.
    pub fn key_of(&self, row: Row) -> Result<Key, RowError> {
        if !self.contains_row(row) {
            return Err(RowError::Stale { row });
        }
        if row.is_main() {
            return Ok(Key::main(row.0));
        }
        // SAFETY: a row that is there and not a main one is an extra one.
        let (_, owner, label, _) = unsafe { self.storage.extra_row(row.0.index()) };
        Ok(label.key(owner))
    }

    /// Whether a row is there.
    #[inline]
    pub fn contains_row(&self, row: Row) -> bool {
        self.storage.entities.contains(row.0)
    }

    /// Whether an entity is alive and has a row under this key.
    pub fn contains_key(&self, key: Key) -> bool {
        self.row(key).is_ok()
    }

    /// How many rows there are: one for each entity, and the extra ones.
    pub fn row_count(&self) -> usize {
        self.storage.row_count()
    }

    /// The rows of an entity: the main one, then the extra ones in the order of their making.
    ///
    /// # Errors
    ///
    /// If the entity is not alive.
    pub fn rows(&self, entity: Entity) -> Result<impl Iterator<Item = (Key, Row)> + Clone + '_, NoSuchEntity> {
        if !self.contains(entity) {
            return Err(NoSuchEntity { entity });
        }
        let extra = self.storage.extra_rows(entity.index()).map(move |(row, label)| (label.key(entity), row));
        Ok(core::iter::once((Key::main(entity), Row(entity))).chain(extra))
    }

    /// A component of the row under a key.
    ///
    /// # Errors
    ///
    /// If the entity is not alive, has no such row, or the row does not have the component.
    pub fn get_key<C: Component>(&self, key: Key) -> Result<Ref<'_, C>, RowError> {
        self.get_row::<C>(self.row(key)?)
    }

    /// A component of the row under a key, for writing.
    ///
    /// # Errors
    ///
    /// If the entity is not alive, has no such row, or the row does not have the component.
    pub fn get_key_mut<C: Component>(&mut self, key: Key) -> Result<Mut<'_, C>, RowError> {
        self.get_row_mut::<C>(self.row(key)?)
    }

    /// A component of a row.
    ///
    /// # Errors
    ///
    /// If the row has ended, or does not have the component.
    #[inline]
    pub fn get_row<C: Component>(&self, row: Row) -> Result<Ref<'_, C>, RowError> {
        match self.get::<C>(row.0) {
            Ok(value) => Ok(value),
            Err(error) => Err(self.access_error(row, error)),
        }
    }

    /// A component of a row, for writing.
    ///
    /// # Errors
    ///
    /// If the row has ended, or does not have the component.
    #[inline]
    pub fn get_row_mut<C: Component>(&mut self, row: Row) -> Result<Mut<'_, C>, RowError> {
        if !self.has::<C>(row.0) {
            let component = core::any::type_name::<C>();
            return Err(self.access_error(row, ComponentError::MissingComponent { entity: row.0, component }));
        }
        self.get_mut::<C>(row.0).map_err(|_| RowError::Stale { row })
    }

    /// What an error of a slot is to whoever has the row.
    #[cold]
    pub(crate) fn access_error(&self, row: Row, error: ComponentError) -> RowError {
        match (self.key_of(row), error) {
            (Ok(key), ComponentError::MissingComponent { component, .. }) => {
                RowError::MissingComponent { key, component }
            }
            (Ok(key), ComponentError::ExcludedComponent { component, .. }) => {
                RowError::ExcludedComponent { key, component }
            }
            (Ok(key), ComponentError::UnchangedComponent { component, .. }) => {
                RowError::UnchangedComponent { key, component }
            }
            (Ok(key), ComponentError::NoAddress { component }) => RowError::MissingComponent { key, component },
            (Ok(_), ComponentError::DuplicateEntity { .. }) => RowError::Stale { row },
            (Err(error), _) => error,
            (Ok(_), ComponentError::NoSuchEntity(_)) => RowError::Stale { row },
        }
    }

    /// Gives components to a row, named by its key or its handle; those that it has already are replaced, and their old
    /// values dropped.
    ///
    /// # Errors
    ///
    /// If the row is not there; the bundle is dropped, and nothing else happens.
    ///
    /// # Panics
    ///
    /// If the bundle names a component twice.
    #[track_caller]
    pub fn update<B: Bundle>(&mut self, row: impl RowId, bundle: B) -> Result<(), RowError> {
        plain(self.try_update(row, bundle))
    }

    /// As [`update`](World::update).
    ///
    /// # Errors
    ///
    /// As there, and if the bundle names a component twice, or memory cannot be had.
    pub fn try_update<B: Bundle>(&mut self, row: impl RowId, bundle: B) -> Result<(), RowError> {
        let (row, key) = self.named(row)?;
        self.try_insert(row.0, bundle).map_err(|error| RowError::of(key, error))
    }

    /// Takes components from a row and drops them; those that it does not have are no error. Whether it had any.
    ///
    /// # Errors
    ///
    /// If the row is not there.
    ///
    /// # Panics
    ///
    /// If the bundle names a component twice.
    #[track_caller]
    pub fn remove_row_components<B: Bundle>(&mut self, row: impl RowId) -> Result<bool, RowError> {
        plain(self.try_remove_row_components::<B>(row))
    }

    /// As [`remove_row_components`](World::remove_row_components).
    ///
    /// # Errors
    ///
    /// As there, and if the bundle names a component twice, or memory cannot be had; nothing happens then.
    pub fn try_remove_row_components<B: Bundle>(&mut self, row: impl RowId) -> Result<bool, RowError> {
        let (row, key) = self.named(row)?;
        self.try_remove::<B>(row.0).map_err(|error| RowError::of(key, error))
    }

    /// Takes components from a row and returns them: all of the bundle, or nothing happens.
    ///
    /// # Errors
    ///
    /// If the row is not there or does not have all of the components, the bundle names one twice, or memory cannot be
    /// had; nothing happens then.
    pub fn take_row_components<B: Bundle>(&mut self, row: impl RowId) -> Result<B, RowError> {
        let (row, key) = self.named(row)?;
        self.take::<B>(row.0).map_err(|error| RowError::of(key, error))
    }

    /// A row and its key, before it is changed.
    pub(super) fn named(&mut self, row: impl RowId) -> Result<(Row, Key), RowError> {
        self.storage.flush()?;
        let row = row.find(self)?;
        Ok((row, self.key_of(row)?))
    }
}

/// What the plain forms make of a result: out of memory, and a component named twice, do not return.
#[track_caller]
pub(super) fn plain<T>(result: Result<T, RowError>) -> Result<T, RowError> {
    match result {
        Err(RowError::Alloc(error)) => panic_change(error.into()),
        Err(RowError::Duplicate(error)) => panic_change(error.into()),
        result => result,
    }
}
