//! One component, held over a loop.
#![allow(unsafe_code)]

use super::World;
use super::access::{Mut, Ref};
use crate::bundle::Bundle;
use crate::bundle_info::EdgeKey;
use crate::change_detection::RunTicks;
use crate::component::Component;
use crate::error::{ChangeError, ComponentError, NoSuchEntity};
use crate::error::{infallible, panic_change};
use crate::layout::Layout;
use crate::sparse::{FastInsert, has_fast_path};
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use phalanx_store::Entity;

impl World {
    /// One component of any entity, to be read, written, given and taken in a loop: what it means to this world is
    /// resolved once, and where it leads from a table once for entities of the same table in a row.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Ship;
    /// #[derive(Component, Debug, PartialEq)]
    /// struct Burning(u32);
    ///
    /// let mut world = World::new();
    /// let ships: Vec<_> = (0..4).map(|_| world.spawn(Ship)).collect();
    /// let mut fires = world.access_mut::<Burning>();
    /// for ship in &ships {
    ///     assert_eq!(fires.insert(*ship, Burning(3))?, None);
    /// }
    /// fires.get_mut(ships[1]).unwrap().0 -= 3;
    /// assert_eq!(fires.insert(ships[2], Burning(9))?, Some(Burning(3)));
    /// assert_eq!(fires.remove(ships[1])?, Some(Burning(0)));
    /// assert_eq!(fires.remove(ships[1])?, None);
    /// assert!(!world.has::<Burning>(ships[1]) && world.has::<Ship>(ships[1]));
    /// # Ok::<(), phalanx::NoSuchEntity>(())
    /// ```
    #[track_caller]
    pub fn access_mut<C: Component>(&mut self) -> AccessMut<'_, C> {
        infallible(self.try_access_mut())
    }

    /// As [`access_mut`](World::access_mut).
    ///
    /// # Errors
    ///
    /// If memory cannot be had for what the component means to this world.
    pub fn try_access_mut<C: Component>(&mut self) -> Result<AccessMut<'_, C>, ChangeError> {
        let bundle_id = self.bundle_id::<C>()?;
        let id = self.id();
        let mut accessor = AccessMut { world: self, id, bundle_id, side: 0, short: false, component: PhantomData };
        accessor.find_short_way();
        Ok(accessor)
    }
}

/// Larger values are dropped where they are.
const MOST_ON_STACK: usize = 4096;

/// The short way without an accessor.
impl World {
    /// Whether the short way may be gone: nobody listens, and no entity waits to be made, as each change makes it first.
    #[inline(always)]
    fn is_fast_path_open(&self) -> bool {
        !self.storage.journal.is_active() && self.storage.entities.reserved_count() == 0
    }

    /// The side of a component that has a short way, if it may be gone.
    #[inline(always)]
    fn fast_path<C: Component>(&self) -> Option<u32> {
        if !const { has_fast_path::<C>() } || !self.is_fast_path_open() {
            return None;
        }
        self.storage.sparse.storage_id_of::<C>(&self.storage.components)
    }

    /// Gives a component to an entity if there is a short way: the value is moved out then, and the one that it had dropped.
    /// Whether it was so.
    ///
    /// # Safety
    ///
    /// There is a value, which counts as moved out if there was a short way, or if this panics.
    #[inline(always)]
    pub(crate) unsafe fn insert_fast<C: Component>(&mut self, entity: Entity, value: *const C) -> bool {
        let Some(side) = self.fast_path::<C>() else { return false };
        self.storage.restructured();
        let entities = &self.storage.entities;
        // SAFETY: the side is the component's, and the value is the caller's to give.
        let put = unsafe { self.storage.sparse.typed(side).insert(entity, value, || entities.contains(entity)) };
        matches!(put, FastInsert::Done(_))
    }

    /// Takes a component from an entity and drops it, if there is a short way. Whether there was one.
    #[inline(always)]
    pub(crate) fn remove_fast<C: Component>(&mut self, entity: Entity) -> Option<bool> {
        // Chosen among functions: a branch of this one would have the value in its frame, though it is not taken.
        let way: fn(&mut World, Entity) -> Option<bool> = const {
            match has_fast_path::<C>() && size_of::<C>() <= MOST_ON_STACK {
                true => World::drop_taken::<C>,
                false => |_, _| None,
            }
        };
        way(self, entity)
    }

    /// As [`remove_fast`](World::remove_fast), of a component that has a short way and lies on the stack for a moment.
    #[inline(always)]
    fn drop_taken<C: Component>(&mut self, entity: Entity) -> Option<bool> {
        let side = self.fast_path::<C>()?;
        self.storage.restructured();
        let entities = &self.storage.entities;
        // SAFETY: the side is the component's.
        Some(unsafe { self.storage.sparse.typed::<C>(side) }.remove(entity, || entities.contains(entity))?.is_some())
    }
}

/// One component of any entity: [`World::access_mut`].
pub struct AccessMut<'w, C> {
    world: &'w mut World,
    /// Of the world, when plan and edges were found.
    id: u64,
    bundle_id: usize,
    /// Of a component that is not kept in tables.
    side: u32,
    /// Whether the short way may be tried: there is one, it is open, and the side is the component's. Nobody else changes the
    /// world meanwhile but what listeners record.
    short: bool,
    component: PhantomData<fn(C) -> C>,
}

impl<C: Component> AccessMut<'_, C> {
    /// The component of an entity.
    ///
    /// # Errors
    ///
    /// If the entity is not alive, or does not have the component.
    #[inline]
    pub fn get(&self, entity: Entity) -> Result<Ref<'_, C>, ComponentError> {
        let (lane, row) = self.world.find::<C>(entity)?;
        // SAFETY: the lane is the component's, the row is in use, and the accessor is borrowed.
        Ok(unsafe { C::Layout::get(C::Layout::ptr(lane, RunTicks::READ), row) })
    }

    /// The component of an entity, for writing.
    ///
    /// # Errors
    ///
    /// If the entity is not alive, or does not have the component.
    #[inline]
    pub fn get_mut(&mut self, entity: Entity) -> Result<Mut<'_, C>, ComponentError> {
        let (lane, row) = self.world.find::<C>(entity)?;
        // SAFETY: the lane is the component's, the row is in use, and the accessor is borrowed exclusively.
        Ok(unsafe { self.world.item_mut::<C>(lane, row) })
    }

    /// Whether an entity is alive and has the component.
    #[inline]
    pub fn has(&self, entity: Entity) -> bool {
        self.world.find::<C>(entity).is_ok()
    }

    /// Resolves the component anew if the world has forgotten its plans: what listeners recorded may have compacted it.
    #[inline(always)]
    fn resolve(&mut self) -> Result<(), ChangeError> {
        if self.id != self.world.id() {
            self.bundle_id = self.world.bundle_id::<C>()?;
            self.id = self.world.id();
        }
        Ok(())
    }

    /// Carries out a change the usual way, and finds out whether the next may go the short one.
    #[inline(always)]
    fn long<R>(&mut self, change: impl FnOnce(&mut Self) -> Result<R, ChangeError>) -> Result<R, ChangeError> {
        self.resolve()?;
        let outcome = change(self);
        self.find_short_way();
        outcome
    }

    fn find_short_way(&mut self) {
        self.short = has_fast_path::<C>() && self.id == self.world.id() && self.world.is_fast_path_open();
        if self.short {
            self.side = self.world.bundles.get(self.bundle_id).sparse[0];
        }
    }

    /// Gives the component to an entity; returns the one that it had.
    ///
    /// # Errors
    ///
    /// If the entity is not alive; the value is dropped, and nothing else happens.
    #[inline(always)]
    #[track_caller]
    pub fn insert(&mut self, entity: Entity, value: C) -> Result<Option<C>, NoSuchEntity> {
        plain(self.try_insert(entity, value))
    }

    /// As [`insert`](AccessMut::insert).
    ///
    /// # Errors
    ///
    /// If the entity is not alive, or memory cannot be had; the value is dropped, and nothing else happens.
    #[inline(always)]
    pub fn try_insert(&mut self, entity: Entity, value: C) -> Result<Option<C>, ChangeError> {
        if const { has_fast_path::<C>() } {
            let value = ManuallyDrop::new(value);
            if self.short {
                self.world.storage.restructured();
                let entities = &self.world.storage.entities;
                let is_alive = || entities.contains(entity);
                // SAFETY: the side is the component's; the value is moved out once, here or below.
                let put =
                    unsafe { self.world.storage.sparse.typed(self.side).insert(entity, &raw const *value, is_alive) };
                if let FastInsert::Done(old) = put {
                    return Ok(old);
                }
            }
            return self.insert_side(entity, ManuallyDrop::into_inner(value));
        }
        self.insert_table(entity, value)
    }

    /// As [`try_insert`](AccessMut::try_insert), for those without a short way.
    #[inline]
    fn insert_table(&mut self, entity: Entity, value: C) -> Result<Option<C>, ChangeError> {
        self.long(|accessor| accessor.insert_slow(entity, value))
    }

    /// As [`try_insert`](AccessMut::try_insert), where the short way does not lead on.
    #[cold]
    #[inline(never)]
    fn insert_side(&mut self, entity: Entity, value: C) -> Result<Option<C>, ChangeError> {
        self.long(|accessor| accessor.insert_slow(entity, value))
    }

    #[inline(always)]
    fn insert_slow(&mut self, entity: Entity, value: C) -> Result<Option<C>, ChangeError> {
        self.world.storage.flush()?;
        if self.world.has::<C>(entity) {
            self.world.storage.reserve_entries(1)?;
            return Ok(self.world.replace(entity, value).ok());
        }
        let from = self.world.storage.try_location(entity)?;
        self.world.edge(self.bundle_id, from.table, true)?;
        let edge = EdgeKey::BundleInfo { bundle_id: self.bundle_id, insert: true };
        // SAFETY: the entity is at `from`, and the edge is one of that table that inserts the component.
        unsafe { self.world.insert_along(entity, from, edge, |place| value.write(place))? };
        Ok(None)
    }

    /// Takes the component from an entity and returns it, if it had it.
    ///
    /// # Errors
    ///
    /// If the entity is not alive.
    #[inline(always)]
    #[track_caller]
    pub fn remove(&mut self, entity: Entity) -> Result<Option<C>, NoSuchEntity> {
        plain(self.try_remove(entity))
    }

    /// As [`remove`](AccessMut::remove).
    ///
    /// # Errors
    ///
    /// If the entity is not alive, or memory cannot be had; nothing happens then.
    #[inline(always)]
    pub fn try_remove(&mut self, entity: Entity) -> Result<Option<C>, ChangeError> {
        if const { has_fast_path::<C>() } {
            if self.short {
                self.world.storage.restructured();
                let entities = &self.world.storage.entities;
                // SAFETY: the side is the component's.
                let taken =
                    unsafe { self.world.storage.sparse.typed(self.side) }.remove(entity, || entities.contains(entity));
                if let Some(taken) = taken {
                    return Ok(taken);
                }
            }
            return self.remove_side(entity);
        }
        self.remove_table(entity)
    }

    /// As [`try_remove`](AccessMut::try_remove), for those without a short way.
    #[inline]
    fn remove_table(&mut self, entity: Entity) -> Result<Option<C>, ChangeError> {
        self.long(|accessor| accessor.remove_slow(entity))
    }

    /// As [`try_remove`](AccessMut::try_remove), where the short way does not lead on.
    #[cold]
    #[inline(never)]
    fn remove_side(&mut self, entity: Entity) -> Result<Option<C>, ChangeError> {
        self.long(|accessor| accessor.remove_slow(entity))
    }

    #[inline(always)]
    fn remove_slow(&mut self, entity: Entity) -> Result<Option<C>, ChangeError> {
        self.world.storage.flush()?;
        let from = self.world.storage.try_location(entity)?;
        if !self.world.has::<C>(entity) {
            return Ok(None);
        }
        self.world.edge(self.bundle_id, from.table, false)?;
        // SAFETY: the entity is at `from` and has the component, which is the bundle of the plan.
        unsafe { self.world.take_along(entity, from, self.bundle_id).map(Some) }
    }
}

/// What the plain forms make of an outcome.
#[inline(always)]
#[track_caller]
fn plain<R>(outcome: Result<R, ChangeError>) -> Result<R, NoSuchEntity> {
    match outcome {
        Ok(result) => Ok(result),
        Err(ChangeError::NoSuchEntity(error)) => Err(error),
        Err(error) => panic_change(error),
    }
}

impl<C> core::fmt::Debug for AccessMut<'_, C> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "AccessMut({})", core::any::type_name::<C>())
    }
}
