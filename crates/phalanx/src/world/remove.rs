//! Removes components from entities.
#![allow(unsafe_code)]

use super::recorded_change::{MAX_ON_STACK, has_recorded_path};
use super::{Location, World};
use crate::bundle::{Bundle, BundlePtr, VisitSingle};
use crate::bundle_info::EdgeKey;
use crate::component::{Component, ComponentId};
use crate::error::{NoSuchEntity, StructuralError, require_alive};
use crate::mutation::InPlace;
use crate::signal::dispatch_catch;
use crate::sparse::has_fast_path;
use crate::storage::Storage;
use phalanx_store::{AllocError, Entity};

impl World {
    /// Removes the components of `B` from `entity` and drops them. Components that it does not have are ignored. Returns `true`
    /// if at least one was removed.
    ///
    /// # Errors
    ///
    /// [`NoSuchEntity`] if the entity is not alive.
    ///
    /// # Panics
    ///
    /// If the bundle contains a component twice.
    #[inline(always)]
    #[track_caller]
    pub fn remove<B: Bundle>(&mut self, entity: Entity) -> Result<bool, NoSuchEntity> {
        match self.remove_fast::<B>(entity) {
            Some(removed) => Ok(removed),
            None => require_alive(self.remove_slow::<B>(entity)),
        }
    }

    /// Removes the components of `B` from `entity`, like [`remove`](World::remove), but returns every error.
    ///
    /// # Errors
    ///
    /// - [`StructuralError::NoSuchEntity`] if the entity is not alive.
    /// - [`StructuralError::Duplicate`] if the bundle contains a component twice.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// On error nothing has changed.
    #[inline(always)]
    pub fn try_remove<B: Bundle>(&mut self, entity: Entity) -> Result<bool, StructuralError> {
        match self.remove_fast::<B>(entity) {
            Some(removed) => Ok(removed),
            None => self.remove_slow::<B>(entity),
        }
    }

    /// Removes a bundle on the fast path. Returns `None` if it could not.
    #[inline(always)]
    fn remove_fast<B: Bundle>(&mut self, entity: Entity) -> Option<bool> {
        let visit = RemoveFast { storage: &mut self.storage, entity };
        // SAFETY: the visitor does not read through the pointer.
        unsafe { B::visit_single(core::ptr::dangling(), visit) }.flatten()
    }

    /// Removes a bundle on the slow path.
    #[inline(never)]
    fn remove_slow<B: Bundle>(&mut self, entity: Entity) -> Result<bool, StructuralError> {
        if self.storage.journal.is_active() {
            // SAFETY: the visitor does not read through the pointer.
            match unsafe { B::visit_single(core::ptr::dangling(), RemoveRecorded { world: self, entity }) } {
                Some(Ok(Some(removed))) => return Ok(removed),
                Some(Err(error)) => return Err(error.into()),
                _ => {}
            }
        }
        let bundle_id = self.full_bundle_id::<B>()?;
        self.storage.flush()?;
        let from = self.storage.try_location(entity)?;
        self.edge(bundle_id, from.table, false)?;
        // SAFETY: the entity is at `from`, and the edge inserts nothing.
        unsafe { self.remove_along(entity, from, EdgeKey::Cached { bundle_id, insert: false }) }
    }

    /// Moves an entity along an edge that only removes components, and drops them. Returns `true` if there were any.
    ///
    /// # Safety
    ///
    /// The entity is alive and at `from`, and the edge is one of that table that inserts nothing.
    pub(crate) unsafe fn remove_along(
        &mut self,
        entity: Entity,
        from: Location,
        edge: EdgeKey<'_>,
    ) -> Result<bool, StructuralError> {
        let edge = edge.find(&self.bundles, from.table);
        let reserved = self.storage.reserve_move(entity.index(), from, edge)?;
        // SAFETY: the entity is at `from`, by the caller's contract, and everything is reserved. The edge inserts nothing, so
        // all lanes of the target come along.
        unsafe { self.storage.move_row(reserved, entity, from, edge, &mut InPlace) };
        if edge.target == from.table && self.storage.sparse.displaced_values.is_empty() {
            return Ok(false);
        }
        let outcome = dispatch_catch!(self);
        // SAFETY: the displaced values were left in place, and nothing was committed since.
        unsafe { self.storage.drop_in_place(from.table, Some(&edge.displaced)) };
        outcome.finish(self);
        Ok(true)
    }

    /// Removes the components of `B` from `entity` and returns them: all of the bundle, or nothing changes.
    ///
    /// ```
    /// use phalanx::{StructuralError, Component, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Purse(u32);
    ///
    /// let mut world = World::new();
    /// let thief = world.spawn(Purse(3));
    /// assert_eq!(world.take::<Purse>(thief)?, Purse(3));
    /// assert!(matches!(world.take::<Purse>(thief), Err(StructuralError::Missing { .. })));
    /// assert!(world.contains(thief));
    /// # Ok::<(), StructuralError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`StructuralError::NoSuchEntity`] if the entity is not alive.
    /// - [`StructuralError::Missing`] if it does not have all of the components.
    /// - [`StructuralError::Duplicate`] if the bundle contains a component twice.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// On error nothing has changed.
    pub fn take<B: Bundle>(&mut self, entity: Entity) -> Result<B, StructuralError> {
        let mut bundle_id = self.full_bundle_id::<B>()?;
        self.storage.flush()?;
        let from = self.storage.try_location(entity)?;
        if const { B::OPTIONAL > 0 } {
            let (mut present, mut bit, ids) = (0, 1_u64, &self.bundles.get(bundle_id).ids);
            B::optional(0, &mut |at| {
                present |= if self.storage.has(entity, ids[at]) { bit } else { 0 };
                bit <<= 1;
            });
            bundle_id = self.bundle_id_with::<B>(present)?;
        }
        let mut ids = self.bundles.get(bundle_id).ids.iter().filter(|id| **id != ComponentId::UNKNOWN);
        if let Some(id) = ids.find(|id| !self.storage.has(entity, **id)) {
            return Err(StructuralError::Missing { entity, component: self.storage.components.info(*id).name() });
        }
        self.edge(bundle_id, from.table, false)?;
        // SAFETY: the entity is at `from` and has the whole bundle, and the edge that removes the bundle exists.
        unsafe { self.take_along(entity, from, bundle_id) }
    }

    /// Moves an entity along the edge that removes a bundle, and returns the bundle.
    ///
    /// # Safety
    ///
    /// - The entity is alive and at `from`, and has all components of the bundle.
    /// - The number is that of the bundle, and its edge from that table exists.
    #[inline(always)]
    pub(super) unsafe fn take_along<B: Bundle>(
        &mut self,
        entity: Entity,
        from: Location,
        bundle_id: usize,
    ) -> Result<B, StructuralError> {
        let edge = self.bundles.edge(bundle_id, from.table, false);
        let reserved = self.storage.reserve_move(entity.index(), from, edge)?;
        // SAFETY: the entity is at `from`, by the caller's contract, and everything is reserved. The edge inserts nothing, so
        // all lanes of the target come along.
        unsafe { self.storage.move_row(reserved, entity, from, edge, &mut InPlace) };
        let outcome = dispatch_catch!(self);
        let sparse = self.storage.sparse.displaced_ptrs();
        self.storage.sparse.displaced_values.clear();
        let (source, clock) = (&self.storage.tables[from.table as usize], &raw const self.storage.sparse.clock);
        let (lanes, columns, row) = (source.lanes(), edge.columns.as_ptr(), source.len as usize);
        // SAFETY: the values were left in place, in the table and in sparse storages, and are moved out once.
        let taken = unsafe { B::read(BundlePtr { lanes, columns, row, sparse, clock }) };
        outcome.finish(self);
        Ok(taken)
    }
}

/// Removes the only component of a bundle on the fast path. Returns `None` if it could not, and otherwise whether the entity had
/// the component. Its visit does not read through the pointer.
struct RemoveFast<'w> {
    storage: &'w mut Storage,
    entity: Entity,
}

impl VisitSingle for RemoveFast<'_> {
    type Output = Option<bool>;

    #[inline(always)]
    unsafe fn visit<C: Component>(self, _: *const C) -> Option<bool> {
        self.storage.remove_fast::<C>(self.entity)
    }
}

/// Removes the only component of a bundle in a world that records events, like [`RemoveFast`]. Fails if allocation fails.
struct RemoveRecorded<'w> {
    world: &'w mut World,
    entity: Entity,
}

impl VisitSingle for RemoveRecorded<'_> {
    type Output = Result<Option<bool>, AllocError>;

    #[inline(always)]
    unsafe fn visit<C: Component>(self, _: *const C) -> Result<Option<bool>, AllocError> {
        match const { has_recorded_path::<C>() } {
            true => self.world.remove_recorded::<C>(self.entity),
            false => Ok(None),
        }
    }
}

impl Storage {
    /// Removes a component on the fast path and drops it. Returns `None` if it could not, and otherwise whether the entity had
    /// the component.
    #[inline(always)]
    fn remove_fast<C: Component>(&mut self, entity: Entity) -> Option<bool> {
        // Chosen among functions: a branch of this one would have the value in its frame, though it is not taken.
        let remove: fn(&mut Storage, Entity) -> Option<bool> = const {
            match has_fast_path::<C>() && size_of::<C>() <= MAX_ON_STACK {
                true => Storage::take_and_drop::<C>,
                false => |_, _| None,
            }
        };
        remove(self, entity)
    }

    /// Removes a component on the fast path, through the stack.
    #[inline(always)]
    fn take_and_drop<C: Component>(&mut self, entity: Entity) -> Option<bool> {
        let number = self.fast_path::<C>()?;
        self.restructured();
        let entities = &self.entities;
        // SAFETY: the storage is the component's.
        Some(unsafe { self.sparse.typed::<C>(number) }.remove(entity, || entities.contains(entity))?.is_some())
    }
}
