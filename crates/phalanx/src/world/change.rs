//! Changing what an entity has, and ending entities.
#![allow(unsafe_code)]

use super::{Location, World};
use crate::alloc::{try_vec, unwrap_alloc};
use crate::bundle::{Bundle, BundlePtr, VisitSingle};
use crate::bundle_info::EdgeKey;
use crate::component::Component;
use crate::error::{ChangeError, NoSuchEntity};
use crate::error::{infallible, panic_change};
use crate::journal::Spot;
use crate::mutation::InPlace;
use crate::signal::dispatch_events;
use core::mem::ManuallyDrop;
use phalanx_store::Entity;

/// Inserts the only component of a bundle on the fast path, and returns `true` if it could. Asks for a pointer to a component,
/// which counts as moved out in that case, or if this panics.
struct InsertFast<'w> {
    world: &'w mut World,
    entity: Entity,
}

impl VisitSingle for InsertFast<'_> {
    type Output = bool;

    #[inline(always)]
    unsafe fn visit<C: Component>(self, component: *const C) -> bool {
        // SAFETY: there is a component, which counts as moved out if this succeeds.
        unsafe { self.world.insert_fast(self.entity, component) }
    }
}

/// Removes the only component of a bundle on the fast path. Returns `None` if it could not, and otherwise whether the entity had
/// the component. Does not read through the pointer.
struct RemoveFast<'w> {
    world: &'w mut World,
    entity: Entity,
}

impl VisitSingle for RemoveFast<'_> {
    type Output = Option<bool>;

    #[inline(always)]
    unsafe fn visit<C: Component>(self, _: *const C) -> Option<bool> {
        self.world.remove_fast::<C>(self.entity)
    }
}

impl World {
    /// Gives components to an entity; those that it has already are replaced, and their old values dropped.
    ///
    /// # Errors
    ///
    /// If the entity is not alive; the bundle is dropped, and nothing else happens.
    ///
    /// # Panics
    ///
    /// If the bundle names a component twice.
    #[inline(always)]
    #[track_caller]
    pub fn insert<B: Bundle>(&mut self, entity: Entity, bundle: B) -> Result<(), NoSuchEntity> {
        match self.try_insert(entity, bundle) {
            Ok(()) => Ok(()),
            Err(ChangeError::NoSuchEntity(error)) => Err(error),
            Err(error) => panic_change(error),
        }
    }

    /// Gives components to an entity; those that it has already are replaced, and their old values dropped.
    ///
    /// # Errors
    ///
    /// If the entity is not alive, the bundle names a component twice, or memory cannot be had; the bundle is dropped,
    /// and nothing else happens.
    #[inline(always)]
    pub fn try_insert<B: Bundle>(&mut self, entity: Entity, bundle: B) -> Result<(), ChangeError> {
        if const { B::LEN != 1 || B::SPARSE != 1 } {
            return self.insert_slow(entity, bundle);
        }
        let bundle = ManuallyDrop::new(bundle);
        // SAFETY: the bundle is moved out once, here or below.
        match unsafe { B::visit_single(&raw const *bundle, InsertFast { world: self, entity }) } {
            Some(true) => Ok(()),
            _ => self.insert_slow(entity, ManuallyDrop::into_inner(bundle)),
        }
    }

    /// As [`try_insert`](World::try_insert), where there is no short way.
    #[inline(never)]
    fn insert_slow<B: Bundle>(&mut self, entity: Entity, bundle: B) -> Result<(), ChangeError> {
        let bundle_id = self.bundle_id::<B>()?;
        self.storage.flush()?;
        let from = self.storage.try_location(entity)?;
        self.edge(bundle_id, from.table, true)?;
        // SAFETY: the entity is at `from`, and the bundle is that of the plan.
        unsafe {
            self.insert_along(entity, from, EdgeKey::BundleInfo { bundle_id, insert: true }, |place| {
                bundle.write(place)
            })
        }
    }

    /// Moves an entity along an edge that inserts components, and drops what that displaces.
    ///
    /// # Safety
    ///
    /// The entity is alive and at `from`, and the edge is one of that table. Given a place in its target without values, `write`
    /// moves values into all components of the target that do not come along, and into all sparse storages that get one. If it
    /// panics, nothing has happened.
    #[inline(always)]
    pub(crate) unsafe fn insert_along(
        &mut self,
        entity: Entity,
        from: Location,
        edge: EdgeKey<'_>,
        write: impl FnOnce(BundlePtr),
    ) -> Result<(), ChangeError> {
        let edge = edge.find(&self.bundles, from.table);
        self.storage.reserve_move(entity.index(), from, edge)?;
        let tail = self.storage.tables[edge.target as usize].len;
        write(self.storage.place(edge.target, edge.places.as_ptr(), tail));
        // SAFETY: the entity is there, everything is reserved, and the values are written.
        unsafe { self.storage.move_row(entity, from, edge, &mut InPlace) };
        let notified = dispatch_events!(self);
        // SAFETY: the displaced values were left in place, and nothing was committed since.
        unsafe { self.storage.drop_in_place(from.table, Some(&edge.removed)) };
        self.complete(notified);
        Ok(())
    }

    /// Takes components from an entity and drops them; those that it does not have are no error. Whether it had any.
    ///
    /// # Errors
    ///
    /// If the entity is not alive.
    ///
    /// # Panics
    ///
    /// If the bundle names a component twice.
    #[inline(always)]
    #[track_caller]
    pub fn remove<B: Bundle>(&mut self, entity: Entity) -> Result<bool, NoSuchEntity> {
        match self.try_remove::<B>(entity) {
            Ok(removed) => Ok(removed),
            Err(ChangeError::NoSuchEntity(error)) => Err(error),
            Err(error) => panic_change(error),
        }
    }

    /// Takes components from an entity and drops them; those that it does not have are no error. Whether it had any.
    ///
    /// # Errors
    ///
    /// If the entity is not alive, the bundle names a component twice, or memory cannot be had; nothing happens then.
    #[inline(always)]
    pub fn try_remove<B: Bundle>(&mut self, entity: Entity) -> Result<bool, ChangeError> {
        // SAFETY: the visitor does not read through the pointer.
        match unsafe { B::visit_single(core::ptr::dangling(), RemoveFast { world: self, entity }) } {
            Some(Some(unwrap_alloc)) => Ok(unwrap_alloc),
            _ => self.remove_slow::<B>(entity),
        }
    }

    /// As [`try_remove`](World::try_remove), where there is no short way.
    #[inline(never)]
    fn remove_slow<B: Bundle>(&mut self, entity: Entity) -> Result<bool, ChangeError> {
        let bundle_id = self.bundle_id::<B>()?;
        self.storage.flush()?;
        let from = self.storage.try_location(entity)?;
        self.edge(bundle_id, from.table, false)?;
        // SAFETY: the entity is at `from`, and the edge inserts nothing.
        unsafe { self.remove_along(entity, from, EdgeKey::BundleInfo { bundle_id, insert: false }) }
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
    ) -> Result<bool, ChangeError> {
        let edge = edge.find(&self.bundles, from.table);
        self.storage.reserve_move(entity.index(), from, edge)?;
        // SAFETY: the entity is there, and everything is reserved; the target has no lanes but those that come along.
        unsafe { self.storage.move_row(entity, from, edge, &mut InPlace) };
        if edge.target == from.table && self.storage.sparse.displaced_values.is_empty() {
            return Ok(false);
        }
        let notified = dispatch_events!(self);
        // SAFETY: the displaced values were left in place, and nothing was committed since.
        unsafe { self.storage.drop_in_place(from.table, Some(&edge.removed)) };
        self.complete(notified);
        Ok(true)
    }

    /// Takes components from an entity and returns them: all of the bundle, or nothing happens.
    ///
    /// ```
    /// use phalanx::{ChangeError, Component, World};
    ///
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Purse(u32);
    ///
    /// let mut world = World::new();
    /// let thief = world.spawn(Purse(3));
    /// assert_eq!(world.take::<Purse>(thief)?, Purse(3));
    /// assert!(matches!(world.take::<Purse>(thief), Err(ChangeError::Missing { .. })));
    /// assert!(world.contains(thief));
    /// # Ok::<(), ChangeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the entity is not alive or does not have all of the components, the bundle names one twice, or memory cannot
    /// be had; nothing happens then.
    pub fn take<B: Bundle>(&mut self, entity: Entity) -> Result<B, ChangeError> {
        let bundle_id = self.bundle_id::<B>()?;
        self.storage.flush()?;
        let from = self.storage.try_location(entity)?;
        let table = &self.storage.tables[from.table as usize];
        let missing = self.bundles.get(bundle_id).ids.iter().find(|id| match self.storage.sparse.of(**id) {
            None => !table.signature.has(**id),
            Some(side) => side.row(entity.index()).is_none(),
        });
        if let Some(id) = missing {
            return Err(ChangeError::Missing { entity, component: self.storage.components.info(*id).name() });
        }
        self.edge(bundle_id, from.table, false)?;
        // SAFETY: the entity is there, and the edge is one of that table that removes the bundle, all of which it has.
        unsafe { self.take_along(entity, from, bundle_id) }
    }

    /// Moves an entity along the edge that removes the bundle of a plan, and returns the bundle.
    ///
    /// # Safety
    ///
    /// The entity is alive and at `from`, and has all components of the bundle, which is that of the plan. The edge was made.
    #[inline(always)]
    pub(super) unsafe fn take_along<B: Bundle>(
        &mut self,
        entity: Entity,
        from: Location,
        bundle_id: usize,
    ) -> Result<B, ChangeError> {
        let edge = self.bundles.edge(bundle_id, from.table, false);
        self.storage.reserve_move(entity.index(), from, edge)?;
        // SAFETY: the entity is there, and everything is reserved; the target has no lanes but those that come along.
        unsafe { self.storage.move_row(entity, from, edge, &mut InPlace) };
        let notified = dispatch_events!(self);
        let sparse = self.storage.sparse.displaced_ptrs();
        self.storage.sparse.displaced_values.clear();
        let (source, clock) = (&self.storage.tables[from.table as usize], &raw const self.storage.sparse.clock);
        let (lanes, places, row) = (source.lanes(), edge.places.as_ptr(), source.len as usize);
        // SAFETY: the values were left in place, in the table and in sparse storages, and are moved out once.
        let taken = unsafe { B::read(BundlePtr { lanes, places, row, sparse, clock }) };
        self.complete(notified);
        Ok(taken)
    }

    /// SparseInserts another value in the place of a component's, and returns the old one.
    ///
    /// # Errors
    ///
    /// If the entity is not alive or does not have the component; the value is dropped then.
    #[track_caller]
    pub fn replace<C: Component>(&mut self, entity: Entity, value: C) -> Result<C, crate::error::ComponentError> {
        unwrap_alloc(self.storage.flush());
        unwrap_alloc(self.storage.reserve_entries(1));
        let (lane, row) = self.find::<C>(entity)?;
        // SAFETY: the lane is the component's and the row is in use.
        let old = unsafe { self.storage.set_value(lane, row, value) };
        self.storage.record_set::<C>(entity, Spot::Value((&raw const old).cast()));
        self.dispatch();
        Ok(old)
    }

    /// Ends an entity and drops its components.
    ///
    /// # Errors
    ///
    /// If it is not alive.
    #[inline]
    #[track_caller]
    pub fn despawn(&mut self, entity: Entity) -> Result<(), NoSuchEntity> {
        match self.try_despawn(entity) {
            Ok(()) => Ok(()),
            Err(ChangeError::NoSuchEntity(error)) => Err(error),
            Err(error) => panic_change(error),
        }
    }

    /// As [`despawn`](World::despawn).
    ///
    /// Memory is needed for rows of entities that were [reserved](World::reserve_entity), for the ends of extra rows, and
    /// for what [listeners and collectors](crate::signal) are told; otherwise none is.
    ///
    /// # Errors
    ///
    /// If it is not alive, or memory cannot be had; nothing happens then.
    #[inline(always)]
    pub fn try_despawn(&mut self, entity: Entity) -> Result<(), ChangeError> {
        self.storage.sparse.prefetch_despawn(entity.index());
        self.storage.flush()?;
        let at = self.storage.try_location(entity)?;
        if self.storage.rows.owns(entity.index()) || self.storage.journal.is_active() {
            return Ok(self.despawn_all(&[entity], false).map(|_| ())?);
        }
        // SAFETY: the entity is there, and has no extra rows. There is always room for the sparse values of one slot. The
        // values that need a drop are left in place, and dropped once.
        unsafe {
            self.storage.remove_row(entity, at, &mut InPlace);
            self.storage.drop_in_place(at.table, None);
        }
        Ok(())
    }

    /// Ends entities, in order. How many of them were alive; one that comes twice counts once.
    ///
    /// Where a lack of memory is to be an error, [`try_despawn`](World::try_despawn) ends them one by one. While there are
    /// [listeners or collectors](crate::signal) the iterator is walked to its end before the first of them ends.
    #[track_caller]
    pub fn despawn_batch(&mut self, entities: impl IntoIterator<Item = Entity>) -> usize {
        if self.storage.journal.is_active() {
            // All are told as one: so the iterator has said who they are before the first ends.
            let mut list = Vec::new();
            entities.into_iter().for_each(|entity| list.push(entity));
            return unwrap_alloc(self.storage.flush().and_then(|()| self.despawn_all(&list, false)));
        }
        // Also for a batch without entities.
        unwrap_alloc(self.storage.flush());
        // Not `filter` and `count`, which trust the iterator's hint.
        entities.into_iter().fold(0, |ended, entity| ended + usize::from(self.despawn(entity).is_ok()))
    }

    /// Ends all entities. Tables and what is known of components stay.
    #[track_caller]
    pub fn clear(&mut self) {
        infallible(self.try_clear());
    }

    /// As [`clear`](World::clear).
    ///
    /// # Errors
    ///
    /// If memory cannot be had; nothing happens then.
    pub fn try_clear(&mut self) -> Result<(), ChangeError> {
        self.storage.flush()?;
        if self.storage.journal.is_active() {
            let mut entities = try_vec(self.len())?;
            entities.extend(self.iter());
            return Ok(self.despawn_all(&entities, true).map(|_| ())?);
        }
        let mut lens = try_vec(self.storage.tables.len())?;
        self.storage.count_all_removed();
        self.storage.entities.clear();
        self.storage.rows.clear();
        self.storage.restructured();
        /// Ends the rows that the tables have given up, all of them, even if one panics.
        struct Rows<'a> {
            tables: core::slice::Iter<'a, crate::storage::table::Table>,
            lens: &'a [u32],
            now: Option<(&'a crate::storage::table::Table, core::ops::Range<u32>)>,
        }
        impl Rows<'_> {
            fn run(&mut self) {
                loop {
                    if let Some((table, rows)) = &mut self.now
                        && let Some(row) = rows.next()
                    {
                        // SAFETY: the row was initialised, and the table has given it up.
                        unsafe { table.drop_row(row, &table.columns) };
                        continue;
                    }
                    let (Some(table), Some((len, lens))) = (self.tables.next(), self.lens.split_first()) else {
                        return;
                    };
                    (self.lens, self.now) = (lens, Some((table, 0..*len)));
                }
            }
        }
        impl Drop for Rows<'_> {
            fn drop(&mut self) {
                self.run();
            }
        }
        (0..self.storage.tables.len() as u32).for_each(|table| self.storage.mark_removal(table));
        lens.extend(self.storage.tables.iter_mut().map(|t| core::mem::replace(&mut t.len, 0)));
        let _cleared = self.storage.sparse.clear();
        Rows { tables: self.storage.tables.iter(), lens: &lens, now: None }.run();
        Ok(())
    }
}
