//! Spawns entities.
#![allow(unsafe_code)]

use super::World;
use crate::bundle::Bundle;
use crate::bundle_info::BundleInfo;
use crate::error::{StructuralError, infallible};
use crate::prefetch::prefetch;
use crate::storage::Storage;
use phalanx_store::{AllocError, Entity};

impl World {
    /// Spawns an entity with the components of `bundle`, and returns it.
    ///
    /// # Panics
    ///
    /// If the bundle contains a component twice.
    #[doc(alias = "create")]
    #[inline]
    #[track_caller]
    pub fn spawn<B: Bundle>(&mut self, bundle: B) -> Entity {
        infallible(self.try_spawn(bundle))
    }

    /// Spawns an entity with the components of `bundle`, like [`spawn`](World::spawn), but returns every error.
    ///
    /// # Errors
    ///
    /// - [`StructuralError::Duplicate`] if the bundle contains a component twice.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// On error the bundle is dropped, and nothing else changes.
    #[inline(always)]
    pub fn try_spawn<B: Bundle>(&mut self, bundle: B) -> Result<Entity, StructuralError> {
        let bundle_id = self.bundle_id::<B>()?;
        // SAFETY: the bundle was resolved in this world.
        let entity = unsafe { self.storage.spawn(self.bundles.get(bundle_id), bundle)? };
        self.dispatch();
        Ok(entity)
    }

    /// Spawns an entity without components, and returns it.
    #[track_caller]
    pub fn spawn_empty(&mut self) -> Entity {
        self.spawn(())
    }

    /// Reserves an entity through a shared reference, from any thread.
    ///
    /// The next structural change creates it, without components: an operation that spawns or despawns an entity, or inserts,
    /// removes, replaces or patches a component. Writing through [`get_mut`](World::get_mut) or a query is not a structural
    /// change.
    #[track_caller]
    pub fn reserve_entity(&self) -> Entity {
        self.storage.entities.reserve_entity()
    }
}

impl Storage {
    /// Spawns an entity with the components of a bundle, and records it.
    ///
    /// # Safety
    ///
    /// The info is that of `B` in this storage.
    #[inline(always)]
    pub(super) unsafe fn spawn<B: Bundle>(&mut self, info: &BundleInfo, bundle: B) -> Result<Entity, AllocError> {
        self.reserve_spawn::<B>(info)?;
        let tail = self.tables[info.table as usize].len;
        // SAFETY: capacity for the row, the slot and the sparse values is reserved, and the info is that of the bundle, by the
        // caller's contract. Splitting a soa value is code of its type, which may panic: so the slot is allocated when the row
        // is written.
        unsafe {
            bundle.write(self.bundle_ptr(info.table, info.columns.as_ptr(), tail));
            Ok(self.spawn_new_row::<true>(info.table, if B::SPARSE > 0 { &info.sparse } else { &[] }))
        }
    }

    /// Reserves the capacity for one entity of a bundle.
    #[inline(always)]
    fn reserve_spawn<B: Bundle>(&mut self, info: &BundleInfo) -> Result<(), AllocError> {
        let table = &self.tables[info.table as usize];
        if table.len == table.cap || !self.entities.is_ready() {
            self.reserve_spawns(info.table, 1)?;
        }
        if B::SPARSE > 0 {
            self.reserve_spawn_sparse(&info.sparse)?;
        }
        self.reserve_row_entries(info.table, 1)
    }

    /// Reserves the capacity for the sparse components of the next entity.
    #[inline]
    fn reserve_spawn_sparse(&mut self, sparse: &[u32]) -> Result<(), AllocError> {
        // Values may move even if this fails.
        self.restructured();
        // Slots that are reused are scattered: one that is used soon is prefetched. The next one would come too late.
        if self.sparse.should_prefetch()
            && let [.., slot, _, _, _, _] = self.entities.free_list()
        {
            prefetch(self.entities.payloads().slot_address(*slot));
            self.sparse.prefetch_spawn(*slot, sparse);
        }
        self.sparse.try_reserve::<true>(self.entities.next_index(), sparse, &[])
    }

    /// Reserves the capacity for `count` entities, and for their rows in a table.
    #[cold]
    #[inline(never)]
    pub(super) fn reserve_spawns(&mut self, table: u32, count: u32) -> Result<(), AllocError> {
        self.flush()?;
        self.reserve_entities(count)?;
        self.reserve_table(table, count)
    }
}
