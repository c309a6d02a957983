//! One component, held over a loop.
#![allow(unsafe_code)]

use super::World;
use super::access::{Mut, Ref};
use super::spawn::raise;
use crate::component::Component;
use crate::error::{ChangeError, ComponentError, NoSuchEntity};
use crate::layout::{Kind, Layout};
use crate::plan::Edge;
use crate::side::Put;
use crate::track::{Look, Track};
use core::marker::PhantomData;
use phalanx_store::{AllocError, Entity};

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
        self.try_access_mut().unwrap_or_else(|error| raise(error))
    }

    /// As [`access_mut`](World::access_mut).
    ///
    /// # Errors
    ///
    /// If memory cannot be had for what the component means to this world.
    pub fn try_access_mut<C: Component>(&mut self) -> Result<AccessMut<'_, C>, ChangeError> {
        let plan = self.plan::<C>()?;
        let (id, side) = (self.id(), self.plans.get(plan).sides.first().copied().unwrap_or(0));
        Ok(AccessMut { world: self, id, plan, side, given: Way::NONE, taken: Way::NONE, component: PhantomData })
    }
}

/// The edge that was followed last.
#[derive(Clone, Copy)]
struct Way {
    source: u32,
    edge: *const Edge,
}

impl Way {
    /// None: no table has this number.
    const NONE: Way = Way { source: u32::MAX, edge: core::ptr::null() };

    /// The edge from a table, the one that was followed last if it is that. Edges are boxed, and stay while the world has
    /// the same number.
    #[inline(always)]
    fn from(&mut self, world: &mut World, plan: usize, source: u32, insert: bool) -> Result<*const Edge, AllocError> {
        if self.source != source {
            world.edge(plan, source, insert)?;
            *self = Way { source, edge: world.edge_of(plan, source, insert) };
        }
        Ok(self.edge)
    }
}

/// One component of any entity: [`World::access_mut`].
pub struct AccessMut<'w, C> {
    world: &'w mut World,
    /// Of the world, when plan and edges were found.
    id: u64,
    plan: usize,
    /// Of a component that is not kept in tables.
    side: u32,
    given: Way,
    taken: Way,
    component: PhantomData<fn(C) -> C>,
}

// SAFETY: the edges belong to the world, which is borrowed exclusively.
unsafe impl<C> Send for AccessMut<'_, C> {}
// SAFETY: through a shared accessor the world is read, and the edges are not followed.
unsafe impl<C> Sync for AccessMut<'_, C> {}

impl<C: Component> AccessMut<'_, C> {
    /// Whether there is a short way: for components with a store of their own that are not tracked.
    const SHORT: bool = !matches!(C::Layout::KIND, Kind::Table) && matches!(C::Layout::TRACK, Track::None);

    /// The component of an entity.
    ///
    /// # Errors
    ///
    /// If the entity is not alive, or does not have the component.
    #[inline]
    pub fn get(&self, entity: Entity) -> Result<Ref<'_, C>, ComponentError> {
        let (lane, row) = self.world.find::<C>(entity)?;
        // SAFETY: the lane is the component's, the row is in use, and the accessor is borrowed.
        Ok(unsafe { C::Layout::get(C::Layout::ptr(lane, Look::READ), row) })
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
            self.plan = self.world.plan::<C>()?;
            self.side = self.world.plans.get(self.plan).sides.first().copied().unwrap_or(0);
            (self.id, self.given, self.taken) = (self.world.id(), Way::NONE, Way::NONE);
        }
        Ok(())
    }

    /// Gives the component to an entity; returns the one that it had.
    ///
    /// # Errors
    ///
    /// If the entity is not alive; the value is dropped, and nothing else happens.
    #[inline]
    #[track_caller]
    pub fn insert(&mut self, entity: Entity, value: C) -> Result<Option<C>, NoSuchEntity> {
        plain(self.try_insert(entity, value))
    }

    /// As [`insert`](AccessMut::insert).
    ///
    /// # Errors
    ///
    /// If the entity is not alive, or memory cannot be had; the value is dropped, and nothing else happens.
    #[inline]
    pub fn try_insert(&mut self, entity: Entity, value: C) -> Result<Option<C>, ChangeError> {
        let mut value = value;
        if Self::SHORT && !self.world.signals.is_active() && self.world.contains(entity) {
            self.resolve()?;
            self.world.restructured();
            // SAFETY: the side is the component's, and the entity is alive.
            match unsafe { self.world.sides.put_alone(self.side, entity, value) } {
                Put::Done(old) => return Ok(old),
                Put::Back(back) => value = back,
            }
        }
        if self.world.has::<C>(entity) {
            if self.world.signals.is_active() {
                self.world.reserve_notes(1)?;
            }
            return Ok(self.world.replace(entity, value).ok());
        }
        self.resolve()?;
        self.world.flush()?;
        let from = self.world.locate(entity)?;
        let edge = self.given.from(self.world, self.plan, from.table, true)?;
        use crate::bundle::Bundle;
        // SAFETY: the entity is at `from`, and the edge is one of that table that brings the component.
        unsafe { self.world.follow(entity, from, edge, |place| value.write(place))? };
        Ok(None)
    }

    /// Takes the component from an entity and returns it, if it had it.
    ///
    /// # Errors
    ///
    /// If the entity is not alive.
    #[inline]
    #[track_caller]
    pub fn remove(&mut self, entity: Entity) -> Result<Option<C>, NoSuchEntity> {
        plain(self.try_remove(entity))
    }

    /// As [`remove`](AccessMut::remove).
    ///
    /// # Errors
    ///
    /// If the entity is not alive, or memory cannot be had; nothing happens then.
    #[inline]
    pub fn try_remove(&mut self, entity: Entity) -> Result<Option<C>, ChangeError> {
        self.resolve()?;
        if Self::SHORT && !self.world.signals.is_active() && self.world.contains(entity) {
            self.world.restructured();
            // SAFETY: the side is the component's, and the entity is alive.
            if let Some(taken) = unsafe { self.world.sides.take_alone(self.side, entity) } {
                return Ok(taken);
            }
        }
        self.world.flush()?;
        let from = self.world.locate(entity)?;
        if !self.world.has::<C>(entity) {
            return Ok(None);
        }
        let edge = self.taken.from(self.world, self.plan, from.table, false)?;
        // SAFETY: the entity is at `from` and has the component, and the edge is one of that table that takes it.
        unsafe { self.world.take_along(entity, from, edge).map(Some) }
    }
}

/// What the plain forms make of an outcome.
#[inline(always)]
#[track_caller]
fn plain<R>(outcome: Result<R, ChangeError>) -> Result<R, NoSuchEntity> {
    match outcome {
        Ok(result) => Ok(result),
        Err(ChangeError::NoSuchEntity(error)) => Err(error),
        Err(error) => raise(error),
    }
}

impl<C> core::fmt::Debug for AccessMut<'_, C> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "AccessMut({})", core::any::type_name::<C>())
    }
}
