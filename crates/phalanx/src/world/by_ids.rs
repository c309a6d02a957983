//! Spawns and inserts by component ids.
#![allow(unsafe_code)]

use super::World;
use crate::alloc::{try_clone_slice, try_vec};
use crate::bundle::BundlePtr;
use crate::bundle_info::EdgeKey;
use crate::component::{ComponentId, Components, WriteFn};
use crate::error::StructuralError;
use crate::layout::Kind;
use crate::sort::sort_short_by_key;
use core::ptr::NonNull;
use phalanx_store::{AllocError, Entity};

/// Values by their addresses, in the order of their ids, and what moves them in.
pub(super) struct Values {
    pub(super) ids: Vec<ComponentId>,
    values: Vec<(WriteFn, Kind, NonNull<u8>)>,
}

impl Values {
    /// Finds out how to move values in.
    ///
    /// # Panics
    ///
    /// If there is no component with one of the ids.
    #[track_caller]
    pub(super) fn try_new(components: &Components, given: &[(ComponentId, NonNull<u8>)]) -> Result<Values, AllocError> {
        let (mut ids, mut values) = (try_vec(given.len())?, try_vec(given.len())?);
        let mut sorted = try_clone_slice(given)?;
        sort_short_by_key(&mut sorted, |(id, _)| *id);
        for (id, value) in sorted {
            let info = components.info(id);
            ids.push(id);
            values.push((info.write, info.kind(), value));
        }
        Ok(Values { ids, values })
    }

    /// Moves the values in.
    ///
    /// # Safety
    ///
    /// - The columns are those of the ids, in their order, and the row has no values.
    /// - Each address is that of a value of its component, which counts as moved out.
    pub(super) unsafe fn write(&self, to: BundlePtr) {
        for (at, (put, kind, value)) in self.values.iter().enumerate() {
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
        let bundle_id = self.bundle_id_of_ids(&values.ids)?;
        // SAFETY: the values of the ids are moved in; their addresses are valid by the caller's contract.
        unsafe { self.spawn_erased(bundle_id, &mut |ptr| values.write(ptr)) }
    }

    /// Spawns an entity with the components of a bundle.
    ///
    /// # Safety
    ///
    /// Given a row without values and the columns of the bundle, `write` moves in a value of each component. If it panics, it has
    /// dropped them. It is called at most once.
    pub(super) unsafe fn spawn_erased(
        &mut self,
        bundle_id: usize,
        write: &mut dyn FnMut(BundlePtr),
    ) -> Result<Entity, StructuralError> {
        // SAFETY: the info is one of this world, and `write` moves in the values of its bundle, by the caller's contract.
        let entity = unsafe { self.storage.spawn_erased(self.bundles.get(bundle_id), write)? };
        self.dispatch();
        Ok(entity)
    }

    /// Inserts the components of a bundle into an entity.
    ///
    /// # Safety
    ///
    /// As for [`spawn_erased`](World::spawn_erased): `write` moves in a value of each component.
    pub(super) unsafe fn insert_erased(
        &mut self,
        entity: Entity,
        bundle_id: usize,
        write: &mut dyn FnMut(BundlePtr),
    ) -> Result<(), StructuralError> {
        self.storage.flush()?;
        let from = self.storage.try_location(entity)?;
        let bundle_id = self.bundle_for_slot(bundle_id, entity.index())?;
        self.edge(bundle_id, from.table, true)?;
        // SAFETY: the entity is at `from`. The edge inserts the bundle, and `write` moves in a value of each of its components, by
        // the caller's contract.
        unsafe { self.insert_along_erased(entity, from, EdgeKey::Cached { bundle_id, insert: true }, write) }
    }
}
