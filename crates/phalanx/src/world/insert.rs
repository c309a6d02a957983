//! Inserts components into entities.
#![allow(unsafe_code)]

use super::recorded_change::has_recorded_path;
use super::{Location, World};
use crate::bundle::{Bundle, BundlePtr, Required, VisitSingle, WriteOnce};
use crate::bundle_info::EdgeKey;
use crate::component::Component;
use crate::error::{NoSuchEntity, StructuralError, require_alive};
use crate::mutation::InPlace;
use crate::signal::dispatch_catch;
use crate::sparse::{FastInsert, has_fast_path};
use crate::storage::Storage;
use core::mem::ManuallyDrop;
use phalanx_store::{AllocError, Entity};

impl World {
    /// Inserts the components of `bundle` into `entity`. Components that it already has are overwritten, and their old values
    /// are dropped.
    ///
    /// # Errors
    ///
    /// [`NoSuchEntity`] if the entity is not alive. The bundle is dropped, and nothing else changes.
    ///
    /// # Panics
    ///
    /// If the bundle contains a component twice.
    #[doc(alias = "add")]
    #[doc(alias = "emplace")]
    #[inline(always)]
    #[track_caller]
    pub fn insert<B: Bundle>(&mut self, entity: Entity, bundle: B) -> Result<(), NoSuchEntity> {
        let bundle = ManuallyDrop::new(bundle);
        // SAFETY: the bundle is moved out once, here or below.
        match unsafe { self.insert_fast(entity, &bundle) } {
            true => Ok(()),
            false => require_alive(self.insert_slow(entity, ManuallyDrop::into_inner(bundle))),
        }
    }

    /// Inserts the components of `bundle` into `entity`, like [`insert`](World::insert), but returns every error.
    ///
    /// # Errors
    ///
    /// - [`StructuralError::NoSuchEntity`] if the entity is not alive.
    /// - [`StructuralError::Duplicate`] if the bundle contains a component twice.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// On error the bundle is dropped, and nothing else changes.
    #[inline(always)]
    pub fn try_insert<B: Bundle>(&mut self, entity: Entity, bundle: B) -> Result<(), StructuralError> {
        let bundle = ManuallyDrop::new(bundle);
        // SAFETY: the bundle is moved out once, here or below.
        match unsafe { self.insert_fast(entity, &bundle) } {
            true => Ok(()),
            false => self.insert_slow(entity, ManuallyDrop::into_inner(bundle)),
        }
    }

    /// Inserts a bundle on the fast path, and returns `true` if it could.
    ///
    /// # Safety
    ///
    /// The bundle counts as moved out if this returns `true`, or if it panics.
    #[inline(always)]
    unsafe fn insert_fast<B: Bundle>(&mut self, entity: Entity, bundle: &ManuallyDrop<B>) -> bool {
        if const { B::LEN != 1 || B::SPARSE != 1 || B::REQUIRES } {
            return false;
        }
        // SAFETY: the bundle is moved out at most once, by the caller's contract.
        unsafe { B::visit_single(&raw const **bundle, InsertFast { storage: &mut self.storage, entity }) == Some(true) }
    }

    /// Inserts a bundle on the slow path.
    #[inline(never)]
    fn insert_slow<B: Bundle>(&mut self, entity: Entity, bundle: B) -> Result<(), StructuralError> {
        let bundle = ManuallyDrop::new(bundle);
        if const { B::LEN == 1 && B::SPARSE == 1 && !B::REQUIRES } && self.storage.journal.is_active() {
            // SAFETY: the bundle is moved out once, here or below.
            match unsafe { B::visit_single(&raw const *bundle, InsertRecorded { world: self, entity }) } {
                Some(Ok(true)) => return Ok(()),
                Some(Err(error)) => {
                    drop(ManuallyDrop::into_inner(bundle));
                    return Err(error.into());
                }
                _ => {}
            }
        }
        let bundle = ManuallyDrop::into_inner(bundle);
        let mut bundle_id = self.bundle_id_of(&bundle)?;
        self.storage.flush()?;
        let from = self.storage.try_location(entity)?;
        if const { B::REQUIRES } {
            bundle_id = self.bundle_for_slot(bundle_id, entity.index())?;
        }
        self.edge(bundle_id, from.table, true)?;
        // SAFETY: the entity is at `from`, and the edge inserts the bundle.
        unsafe {
            let edge = EdgeKey::Cached { bundle_id, insert: true };
            match const { B::REQUIRES } {
                true => {
                    let mut bundle = WriteOnce::new(bundle);
                    self.insert_along_erased(entity, from, edge, &mut |ptr| bundle.write(ptr))
                }
                false => self.insert_along::<false>(entity, from, edge, |ptr| bundle.write(ptr)),
            }
        }
    }

    /// Moves an entity along an edge that inserts components, and drops the displaced values. `REQUIRES` is `false` if no bundle
    /// of the edge requires components.
    ///
    /// # Safety
    ///
    /// - The entity is alive and at `from`, and the edge is one of that table. Without `REQUIRES`, it has no required components.
    /// - Given a row of the target without values, `write` moves values into all of its components that do not come along and are
    ///   not required ones of the edge, and into all sparse storages that get such a value. If it panics, nothing has changed.
    #[inline(always)]
    pub(crate) unsafe fn insert_along<const REQUIRES: bool>(
        &mut self,
        entity: Entity,
        from: Location,
        edge: EdgeKey<'_>,
        write: impl FnOnce(BundlePtr),
    ) -> Result<(), StructuralError> {
        let edge = edge.find(&self.bundles, from.table);
        let reserved = self.storage.reserve_move(entity.index(), from, edge)?;
        let tail = self.storage.tables[edge.target as usize].len;
        let ptr = self.storage.bundle_ptr(edge.target, edge.columns.as_ptr(), tail);
        debug_assert!(REQUIRES || edge.required.is_empty());
        match REQUIRES {
            false => write(ptr),
            // SAFETY: the pointer is valid for the components of the edge: first for those of the bundle, then for required ones.
            true => unsafe { Required::write_with(&edge.required, edge.columns.len(), ptr, write) },
        }
        // SAFETY: the entity is at `from`, by the caller's contract; everything is reserved, and the values are written.
        unsafe { self.storage.move_row(reserved, entity, from, edge, &mut InPlace) };
        let outcome = dispatch_catch!(self);
        // SAFETY: the displaced values were left in place, and nothing was committed since.
        unsafe { self.storage.drop_in_place(from.table, Some(&edge.displaced)) };
        outcome.finish(self);
        Ok(())
    }

    /// Moves an entity along an edge that inserts components, and those that they require. There is one function for all
    /// bundles.
    ///
    /// # Safety
    ///
    /// The contract is that of [`insert_along`](World::insert_along). `write` is called at most once.
    #[inline(never)]
    pub(super) unsafe fn insert_along_erased(
        &mut self,
        entity: Entity,
        from: Location,
        edge: EdgeKey<'_>,
        write: &mut dyn FnMut(BundlePtr),
    ) -> Result<(), StructuralError> {
        // SAFETY: the contract is the same.
        unsafe { self.insert_along::<true>(entity, from, edge, write) }
    }

    /// Moves an entity along an edge that overwrites one component, and returns the old value.
    ///
    /// # Safety
    ///
    /// The entity is alive and at `from`, and has the component. The edge is one of that table. It inserts the component, and
    /// those required components that the entity lacks.
    pub(super) unsafe fn replace_along<C: Component>(
        &mut self,
        entity: Entity,
        from: Location,
        edge: EdgeKey<'_>,
        value: C,
    ) -> Result<C, StructuralError> {
        let columns = self.storage.bundle_columns(from.table, [self.storage.components.id::<C>()].iter())?;
        let edge = edge.find(&self.bundles, from.table);
        let reserved = self.storage.reserve_move(entity.index(), from, edge)?;
        let tail = self.storage.tables[edge.target as usize].len;
        let ptr = self.storage.bundle_ptr(edge.target, edge.columns.as_ptr(), tail);
        // SAFETY: the pointer is valid for the components of the edge: first for this one, then for required ones. The entity is
        // at `from`, by the caller's contract, and everything is reserved.
        unsafe {
            Required::write_with(&edge.required, edge.columns.len(), ptr, |ptr| value.write(ptr));
            self.storage.move_row(reserved, entity, from, edge, &mut InPlace);
        }
        let outcome = dispatch_catch!(self);
        let sparse = self.storage.sparse.displaced_ptrs();
        self.storage.sparse.displaced_values.clear();
        let (source, clock) = (&self.storage.tables[from.table as usize], &raw const self.storage.sparse.clock);
        let (lanes, columns, row) = (source.lanes(), columns.as_ptr(), source.len as usize);
        // SAFETY: the old value is the only one that was displaced. It was left in place, and is moved out once.
        let old = unsafe { C::read(BundlePtr { lanes, columns, row, sparse, clock }) };
        outcome.finish(self);
        Ok(old)
    }
}

/// Inserts the only component of a bundle on the fast path, and returns `true` if it could. Its visit takes a pointer to a
/// component, which counts as moved out in that case, or if the visit panics.
struct InsertFast<'w> {
    storage: &'w mut Storage,
    entity: Entity,
}

impl VisitSingle for InsertFast<'_> {
    type Output = bool;

    #[inline(always)]
    unsafe fn visit<C: Component>(self, component: *const C) -> bool {
        let Some(number) = self.storage.fast_path::<C>() else { return false };
        self.storage.restructured();
        let (entity, entities) = (self.entity, &self.storage.entities);
        // SAFETY: the storage is the component's. The value may be moved out, by the caller's contract; an old one is dropped.
        let put = unsafe { self.storage.sparse.typed(number).insert(entity, component, || entities.contains(entity)) };
        matches!(put, FastInsert::Done(_))
    }
}

/// Inserts the only component of a bundle in a world that records events, like [`InsertFast`]. Fails if allocation fails.
struct InsertRecorded<'w> {
    world: &'w mut World,
    entity: Entity,
}

impl VisitSingle for InsertRecorded<'_> {
    type Output = Result<bool, AllocError>;

    #[inline(always)]
    unsafe fn visit<C: Component>(self, component: *const C) -> Result<bool, AllocError> {
        match const { has_recorded_path::<C>() } {
            // SAFETY: the component is moved out once, by the caller's contract.
            true => unsafe { self.world.insert_recorded(self.entity, component) },
            false => Ok(false),
        }
    }
}

impl Storage {
    /// Returns `true` if the fast path may be taken: there is no listener, and no reserved entity, which a change would
    /// create first.
    #[inline(always)]
    pub(super) fn is_fast_path_open(&self) -> bool {
        !self.journal.is_active() && self.entities.reserved_count() == 0
    }

    /// Returns the number of the component's sparse storage, if the component has a fast path that may be taken.
    #[inline(always)]
    pub(super) fn fast_path<C: Component>(&self) -> Option<u32> {
        if !const { has_fast_path::<C>() } || !self.is_fast_path_open() {
            return None;
        }
        self.sparse.storage_id_of::<C>(&self.components)
    }
}
