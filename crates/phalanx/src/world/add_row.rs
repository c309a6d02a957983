//! Adds extra rows to entities.
#![allow(unsafe_code)]

use super::World;
use crate::bundle::{Bundle, Required};
use crate::component::ComponentId;
use crate::error::{NoSuchEntity, RowError, StructuralError, panic_change};
use crate::rows::{Key, Role, Row};
use crate::signature::Signature;
use phalanx_store::AllocError;

impl World {
    /// Spawns an entity whose components are in a row of their own, and returns the key of that row. The main row of the entity
    /// has no components.
    ///
    /// Without component and role this is [`try_spawn`](World::try_spawn).
    ///
    /// # Errors
    ///
    /// - [`RowError::NoSuchComponent`] if the world does not know the component of the key.
    /// - [`RowError::Duplicate`] if the bundle contains a component twice.
    /// - [`RowError::Alloc`] if allocation fails.
    ///
    /// On error the bundle is dropped, and nothing else changes.
    pub fn spawn_keyed<B: Bundle>(
        &mut self,
        component: impl Into<Option<ComponentId>>,
        role: Role,
        bundle: B,
    ) -> Result<Key, RowError> {
        let component = component.into();
        let Some(label) = self.storage.label(component, role)? else {
            return self.try_spawn(bundle).map(Key::main).map_err(bundle_error);
        };
        let bundle_id = self.bundle_id_of(&bundle).map_err(bundle_error)?;
        let empty = self.row_edge(bundle_id)?;
        self.storage.flush()?;
        let edge = self.bundles.edge(bundle_id, empty, true);
        self.storage.reserve_entities(2)?;
        let _ = self.storage.reserve_extra_row(0)?;
        let reserved = self.storage.reserve_extra_row(edge.target)?;
        // The slot of the extra row is allocated after that of its entity.
        self.storage.reserve_sparse(1, &edge.sparse_inserts)?;
        let tail = self.storage.tables[edge.target as usize].len;
        // SAFETY: everything is reserved, for the entity with its main row and for the extra row, and the values are written.
        unsafe {
            let ptr = self.storage.bundle_ptr(edge.target, edge.columns.as_ptr(), tail);
            Required::write_with(&edge.required, edge.columns.len(), ptr, |ptr| bundle.write(ptr));
            let entity = self.storage.spawn_row::<true>(reserved, 0, &[]);
            self.storage.spawn_extra_row::<true>(reserved, entity, label, edge.target, &edge.sparse_inserts);
            self.dispatch();
            Ok(Key { entity, component, role })
        }
    }

    /// Adds a row to an entity, under a key that it has no row under, and returns its handle.
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
    /// world.add_row(left, Ring("of air"))?;
    /// assert_eq!(world.row(left)?.get::<Ring>()?, &Ring("of air"));
    /// assert_eq!(world.add_row(left, Ring("of fire")), Err(RowError::Exists { key: left }));
    /// # Ok::<(), RowError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`RowError::NoSuchEntity`] if the entity is not alive.
    /// - [`RowError::Exists`] if the entity has a row under the key. It always has one under that of the main row.
    /// - [`RowError::NoSuchComponent`] if the world does not know the component of the key.
    ///
    /// On error the bundle is dropped, and nothing else changes.
    ///
    /// # Panics
    ///
    /// If the bundle contains a component twice.
    #[track_caller]
    pub fn add_row<B: Bundle>(&mut self, key: Key, bundle: B) -> Result<Row, RowError> {
        match self.try_add_row(key, bundle) {
            Err(error @ (RowError::Alloc(_) | RowError::Duplicate(_))) => panic_change(error.into()),
            outcome => outcome,
        }
    }

    /// Adds a row to an entity, like [`add_row`](World::add_row), but returns every error.
    ///
    /// # Errors
    ///
    /// - [`RowError::NoSuchEntity`], [`RowError::Exists`] and [`RowError::NoSuchComponent`] as for `add_row`.
    /// - [`RowError::Duplicate`] if the bundle contains a component twice.
    /// - [`RowError::Alloc`] if allocation fails.
    ///
    /// On error the bundle is dropped, and nothing else changes.
    pub fn try_add_row<B: Bundle>(&mut self, key: Key, bundle: B) -> Result<Row, RowError> {
        let bundle_id = self.bundle_id_of(&bundle).map_err(bundle_error)?;
        let empty = self.row_edge(bundle_id)?;
        self.storage.flush()?;
        if !self.contains(key.entity) {
            return Err(NoSuchEntity { entity: key.entity }.into());
        }
        let label = match self.storage.label(key.component, key.role)? {
            Some(label) if !self.storage.rows.by_name.contains_key(&(key.entity.index(), label)) => label,
            _ => return Err(RowError::Exists { key }),
        };
        let edge = self.bundles.edge(bundle_id, empty, true);
        self.storage.reserve_entities(1)?;
        let reserved = self.storage.reserve_extra_row(edge.target)?;
        self.storage.reserve_sparse(0, &edge.sparse_inserts)?;
        let tail = self.storage.tables[edge.target as usize].len;
        // SAFETY: everything is reserved, the values are written, and the entity has no row under this label.
        let row = unsafe {
            let ptr = self.storage.bundle_ptr(edge.target, edge.columns.as_ptr(), tail);
            Required::write_with(&edge.required, edge.columns.len(), ptr, |ptr| bundle.write(ptr));
            self.storage.spawn_extra_row::<true>(reserved, key.entity, label, edge.target, &edge.sparse_inserts)
        };
        self.dispatch();
        Ok(row)
    }

    /// Creates the edge of a bundle from the table of extra rows without components, and returns that table.
    pub(crate) fn row_edge(&mut self, bundle_id: usize) -> Result<u32, AllocError> {
        let empty = match self.storage.rows.bare {
            Some(empty) => empty,
            None => self.storage.table_of(&Signature::of([ComponentId::ROW]))?,
        };
        self.storage.rows.bare = Some(empty);
        self.edge(bundle_id, empty, true)?;
        Ok(empty)
    }
}

/// Returns the error of a row for an error of its bundle.
fn bundle_error(error: StructuralError) -> RowError {
    match error {
        StructuralError::Duplicate(error) => RowError::Duplicate(error),
        StructuralError::Alloc(error) => RowError::Alloc(error),
        error => unreachable!("a new row fails only by its bundle or by its memory: {error}"),
    }
}
