//! Spawns entities.
#![allow(unsafe_code)]

use super::World;
use crate::bundle::Bundle;
use crate::error::{StructuralError, infallible};
use crate::prefetch::prefetch;
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
        self.reserve_spawn::<B>(bundle_id)?;
        // SAFETY: reserved just now.
        let entity = unsafe { self.commit_spawn(bundle_id, bundle) };
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

    /// Reserves the capacity for one entity of a bundle.
    #[inline(always)]
    pub(super) fn reserve_spawn<B: Bundle>(&mut self, bundle_id: usize) -> Result<(), AllocError> {
        let table = &self.storage.tables[self.bundles.get(bundle_id).table as usize];
        if table.len == table.cap || !self.storage.entities.is_ready() {
            self.reserve_rows(bundle_id, 1)?;
        }
        if B::SPARSE > 0 {
            self.reserve_spawn_sparse(bundle_id)?;
        }
        self.storage.reserve_row_entries(self.bundles.get(bundle_id).table, 1)
    }

    /// Reserves the capacity for the sparse components of the next entity.
    #[inline]
    fn reserve_spawn_sparse(&mut self, bundle_id: usize) -> Result<(), AllocError> {
        // Values may move, even if one of several storages cannot grow.
        self.storage.restructured();
        // Slots that are reused are scattered: one that is used soon is prefetched. The next one would come too late.
        if self.storage.sparse.is_far()
            && let [.., slot, _, _, _, _] = self.storage.entities.free_list()
        {
            prefetch(self.storage.entities.payloads().slot_address(*slot));
            self.storage.sparse.announce_fresh(*slot, &self.bundles.get(bundle_id).sparse);
        }
        // SAFETY: the components of a bundle differ.
        unsafe {
            self.storage
                .sparse
                .try_reserve_spawn(self.storage.entities.next_index(), &self.bundles.get(bundle_id).sparse)
        }
    }

    /// Reserves the capacity for `count` entities and for their rows in the table of a bundle.
    #[cold]
    #[inline(never)]
    pub(crate) fn reserve_rows(&mut self, bundle_id: usize, count: u32) -> Result<(), AllocError> {
        self.storage.flush()?;
        self.storage.reserve_entities(count)?;
        self.storage.reserve_table(self.bundles.get(bundle_id).table, count)
    }

    /// Creates an entity with the components of a bundle.
    ///
    /// # Safety
    ///
    /// - Capacity is reserved for one more entity, one more row of the bundle's table, and a value in each of its sparse
    ///   storages. No entity is reserved.
    /// - The number is that of the bundle.
    #[inline(always)]
    pub(super) unsafe fn commit_spawn<B: Bundle>(&mut self, bundle_id: usize, bundle: B) -> Entity {
        let info = self.bundles.get(bundle_id);
        let tail = self.storage.tables[info.table as usize].len;
        // SAFETY: capacity for the row and for the sparse values is reserved, and the number is that of the bundle, by the
        // caller's contract. Splitting a soa value is code of its type, which may panic: so the slot is allocated when the row
        // is written.
        unsafe {
            bundle.write(self.storage.bundle_ptr(info.table, info.columns.as_ptr(), tail));
            self.storage.spawn_new_row::<true>(info.table, if B::SPARSE > 0 { &info.sparse } else { &[] })
        }
    }
}
