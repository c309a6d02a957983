//! Spawns entities.
#![allow(unsafe_code)]

use super::World;
use crate::bundle::{Bundle, BundlePtr, Required, WriteOnce};
use crate::bundle_info::BundleInfo;
use crate::error::{StructuralError, infallible};
use crate::mutation::Reserved;
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
        let bundle_id = self.bundle_id_of(&bundle)?;
        // SAFETY: the bundle was resolved in this world.
        let entity = unsafe { self.storage.spawn(self.bundles.get(bundle_id), bundle)? };
        self.dispatch();
        Ok(entity)
    }

    /// Spawns an entity with the components of `bundle`, and calls a function with it before the events are dispatched.
    /// Reserves capacity for more journal entries, which the function may use.
    #[inline(always)]
    pub(crate) fn spawn_then<B: Bundle>(
        &mut self,
        bundle: B,
        entries: usize,
        then: impl FnOnce(&mut Storage, Entity),
    ) -> Result<Entity, StructuralError> {
        let bundle_id = self.bundle_id_of(&bundle)?;
        let info = self.bundles.get(bundle_id);
        if self.storage.journal.is_active() {
            self.storage.reserve_entries(self.storage.entries_of(info.table) + entries)?;
        }
        // SAFETY: the bundle was resolved in this world.
        let entity = unsafe { self.storage.spawn(info, bundle)? };
        then(&mut self.storage, entity);
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
    pub(crate) unsafe fn spawn<B: Bundle>(&mut self, info: &BundleInfo, bundle: B) -> Result<Entity, AllocError> {
        // SAFETY: the info is that of the bundle, by the caller's contract, which is moved to where it goes.
        unsafe {
            match const { (B::REQUIRES || B::OPTIONAL > 0, B::SPARSE > 0) } {
                (true, _) => {
                    let mut bundle = WriteOnce::new(bundle);
                    self.spawn_erased(info, &mut |ptr| bundle.write(ptr))
                }
                (false, true) => self.spawn_with::<true>(info, |ptr| bundle.write(ptr)),
                (false, false) => self.spawn_with::<false>(info, |ptr| bundle.write(ptr)),
            }
        }
    }

    /// Spawns an entity with the components of a bundle, and those that it requires. There is one function for all bundles.
    ///
    /// # Safety
    ///
    /// The info is one of this storage. Given a row without values and its columns, `write` moves in the values of its bundle. If
    /// it panics, it has dropped them. It is called at most once.
    #[inline(never)]
    pub(super) unsafe fn spawn_erased(
        &mut self,
        info: &BundleInfo,
        write: &mut dyn FnMut(BundlePtr),
    ) -> Result<Entity, AllocError> {
        // SAFETY: the pointer is valid for the components of the info: first for those of the bundle, by the caller's contract,
        // then for those that it requires.
        let write = |ptr| unsafe { Required::write_with(&info.required, info.columns.len(), ptr, write) };
        // SAFETY: the values of all components of the info are moved in, by the caller's contract and as above.
        unsafe {
            match info.sparse.is_empty() {
                true => self.spawn_with::<false>(info, write),
                false => self.spawn_with::<true>(info, write),
            }
        }
    }

    /// Spawns an entity, whose components `write` moves in. `SPARSE` says whether any of them is sparse.
    ///
    /// # Safety
    ///
    /// The info is one of this storage. Given a row without values and its columns, `write` moves in the values of all of its
    /// components. If it panics, it has dropped them.
    #[inline(always)]
    unsafe fn spawn_with<const SPARSE: bool>(
        &mut self,
        info: &BundleInfo,
        write: impl FnOnce(BundlePtr),
    ) -> Result<Entity, AllocError> {
        let reserved = self.reserve_spawn::<SPARSE>(info)?;
        let tail = self.tables[info.table as usize].len;
        write(self.bundle_ptr(info.table, info.columns.as_ptr(), tail));
        // SAFETY: capacity for the row, the slot and the sparse values is reserved, and the values are written. Splitting a soa
        // value and creating a required one is user code, which may panic: so the slot is allocated when the row is written.
        Ok(unsafe { self.spawn_row::<true>(reserved, info.table, if SPARSE { &info.sparse } else { &[] }) })
    }

    /// Spawns an entity with the components of a bundle, and links it to a target, after the other sources of that target. Nothing
    /// is recorded.
    ///
    /// `is_tree` is given by the caller, who knows it at compile time.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if allocation fails. The bundle is dropped, and nothing else changes.
    ///
    /// # Safety
    ///
    /// - The info is that of `B` in this storage. The bundle has no sparse or optional components, and requires none.
    /// - The storage [is ready](Storage::is_ready) for the table of the bundle, and the target is alive.
    #[inline(always)]
    pub(crate) unsafe fn spawn_linked<B: Bundle>(
        &mut self,
        info: &BundleInfo,
        bundle: B,
        relation: u32,
        is_tree: bool,
        target: u32,
    ) -> Result<Entity, AllocError> {
        let tail = self.tables[info.table as usize].len;
        // SAFETY: the storage has capacity for the slot and the row, which is written before it is committed. If it is not committed,
        // its values are dropped once, where they are.
        unsafe {
            bundle.write(self.bundle_ptr(info.table, info.columns.as_ptr(), tail));
            if let Err(error) = self.try_link_new(relation, is_tree, self.entities.next_index(), target) {
                self.drop_in_place(info.table, None);
                return Err(error);
            }
            Ok(self.spawn_row::<false>(Reserved::new(), info.table, &[]))
        }
    }
}
