//! Spawns and inserts by component ids.
#![allow(unsafe_code)]

use super::World;
use crate::alloc::try_vec;
use crate::bundle::BundlePtr;
use crate::bundle_info::{self, EdgeKey};
use crate::component::{ComponentId, Components, WriteFn};
use crate::error::StructuralError;
use crate::layout::Kind;
use crate::mutation::Reserved;
use core::ptr::NonNull;
use phalanx_store::{AllocError, Entity};

/// Values by their addresses, and what moves them in.
pub(super) struct Values<'a> {
    pub(super) ids: Vec<ComponentId>,
    puts: Vec<(WriteFn, Kind)>,
    values: &'a [(ComponentId, NonNull<u8>)],
}

impl<'a> Values<'a> {
    /// Finds out how to move values in.
    ///
    /// # Panics
    ///
    /// If there is no component with one of the ids.
    #[track_caller]
    pub(super) fn try_new(
        components: &Components,
        values: &'a [(ComponentId, NonNull<u8>)],
    ) -> Result<Values<'a>, AllocError> {
        let (mut ids, mut puts) = (try_vec(values.len())?, try_vec(values.len())?);
        for (id, _) in values {
            let info = components.info(*id);
            ids.push(*id);
            puts.push((info.write, info.kind()));
        }
        Ok(Values { ids, puts, values })
    }

    /// Moves the values in.
    ///
    /// # Safety
    ///
    /// - The columns are those of the ids, in their order, and the row has no values.
    /// - Each address is that of a value of its component, which counts as moved out.
    pub(super) unsafe fn write(&self, to: BundlePtr) {
        for (at, ((_, value), (put, kind))) in self.values.iter().zip(&self.puts).enumerate() {
            // SAFETY: the columns are those of the ids and the addresses those of their values, by the caller's contract.
            unsafe {
                let (lane, row) = to.lane(at, *kind);
                put(lane, row, value.as_ptr(), to.clock);
            }
        }
    }
}

impl World {
    /// Spawns an entity with components by their ids, and returns it. The values are moved out of their addresses.
    ///
    /// # Errors
    ///
    /// - [`StructuralError::Duplicate`] if an id occurs twice.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// On error no value is moved, and nothing has changed.
    ///
    /// # Panics
    ///
    /// If the world has no component with one of the ids, or one is that of a relation.
    ///
    /// # Safety
    ///
    /// Each address is that of a value of its component, which the caller gives up if this succeeds.
    #[track_caller]
    pub unsafe fn spawn_by_ids(&mut self, values: &[(ComponentId, NonNull<u8>)]) -> Result<Entity, StructuralError> {
        let values = Values::try_new(&self.storage.components, values)?;
        // SAFETY: the values of the ids are moved in; their addresses are valid by the caller's contract.
        unsafe { self.spawn_erased(&values.ids, |ptr| values.write(ptr)) }
    }

    /// Spawns an entity with the components of these ids.
    ///
    /// # Safety
    ///
    /// Given a row without values and the columns of the ids, `write` moves in a value of each component. If it panics, nothing
    /// has changed.
    #[track_caller]
    pub(super) unsafe fn spawn_erased(
        &mut self,
        ids: &[ComponentId],
        write: impl FnOnce(BundlePtr),
    ) -> Result<Entity, StructuralError> {
        assert!(!ids.iter().any(|id| self.storage.components.is_hidden(*id)), "a component that rows cannot have");
        let signature = bundle_info::signature(ids, &self.storage.components)?;
        let table = self.storage.table_of(&signature)?;
        let columns = self.storage.bundle_columns(table, ids)?;
        let sparse = self.storage.register_sparse(ids)?;
        self.storage.flush()?;
        self.storage.reserve_entities(1)?;
        self.storage.reserve_table(table, 1)?;
        self.storage.reserve_row_entries(table, 1)?;
        self.storage.reserve_sparse(0, &sparse)?;
        // Splitting a value may be user code: it is done before anything is committed.
        write(self.storage.bundle_ptr(table, columns.as_ptr(), self.storage.tables[table as usize].len));
        // SAFETY: everything is reserved, no entity is reserved, and the values are written.
        let entity = unsafe { self.storage.spawn_row::<true>(Reserved::new(), table, &sparse) };
        self.dispatch();
        Ok(entity)
    }

    /// Inserts the components of these ids into an entity.
    ///
    /// # Safety
    ///
    /// As for [`spawn_erased`](World::spawn_erased): `write` moves in a value of each component.
    #[track_caller]
    pub(super) unsafe fn insert_erased(
        &mut self,
        entity: Entity,
        ids: &[ComponentId],
        write: impl FnOnce(BundlePtr),
    ) -> Result<(), StructuralError> {
        assert!(!ids.iter().any(|id| self.storage.components.is_hidden(*id)), "a component that rows cannot have");
        let bundle = bundle_info::signature(ids, &self.storage.components)?;
        let sparse_inserts = self.storage.register_sparse(ids)?;
        self.storage.flush()?;
        let from = self.storage.try_location(entity)?;
        let goal = self.storage.tables[from.table as usize].signature.try_merge(&bundle)?;
        let target = self.storage.table_of(&goal)?;
        let mut edge =
            self.storage.edge_between(from.table, target, &bundle, self.storage.bundle_columns(target, ids)?)?;
        edge.sparse_inserts = sparse_inserts;
        // SAFETY: the entity is at `from`. The edge leads to the table that has the ids beside what comes along, and `write`
        // moves in a value of each id, by the caller's contract.
        unsafe { self.insert_along(entity, from, EdgeKey::Own(&edge), write) }
    }
}
