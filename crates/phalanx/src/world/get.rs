//! Reads and writes components of one entity.
#![allow(unsafe_code)]

use super::{Location, World};
use crate::change_detection::{self, TracksChanges};
use crate::component::Component;
use crate::error::ComponentError;
use crate::layout::{ComponentRef, Kind, Layout};
use crate::sparse::{LinearStorage, Store};
use crate::storage::Storage;
use core::marker::PhantomData;
use phalanx_store::index::SparseLookup;
use phalanx_store::raw::Lane;
use phalanx_store::{Entity, Payloads};

/// What a reader of `C` sees.
pub(crate) type Ref<'a, C> = <<C as Component>::Layout as Layout<C>>::Ref<'a>;
/// What a writer of `C` sees.
pub(crate) type Mut<'a, C> = <<C as Component>::Layout as Layout<C>>::Mut<'a>;

impl World {
    /// Returns a component of an entity.
    ///
    /// # Errors
    ///
    /// - [`ComponentError::NoSuchEntity`] if the entity is not alive.
    /// - [`ComponentError::MissingComponent`] if it does not have the component.
    #[inline]
    pub fn get<C: Component>(&self, entity: Entity) -> Result<Ref<'_, C>, ComponentError> {
        Ok(self.storage.find::<C>(entity)?.get())
    }

    /// Returns a component of an entity, which is [tracked](crate::change_detection), with its change flags.
    ///
    /// The flags tell what has happened since [`clear_trackers`](World::clear_trackers).
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// #[component(track = "row")]
    /// struct Health(i32);
    ///
    /// let mut world = World::new();
    /// let ann = world.spawn(Health(10));
    /// assert!(world.get_ref::<Health>(ann)?.is_added());
    /// world.clear_trackers();
    /// assert!(!world.get_ref::<Health>(ann)?.is_changed());
    /// world.get_mut::<Health>(ann)?.0 = 9;
    /// let health = world.get_ref::<Health>(ann)?;
    /// assert!(health.is_changed() && !health.is_added() && health.0 == 9);
    /// # Ok::<(), phalanx::ComponentError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`ComponentError::NoSuchEntity`] if the entity is not alive.
    /// - [`ComponentError::MissingComponent`] if it does not have the component.
    #[inline]
    pub fn get_ref<C: Component>(&self, entity: Entity) -> Result<change_detection::Ref<'_, C>, ComponentError>
    where
        C::Layout: TracksChanges<C>,
    {
        let (lanes, row) = self.storage.find::<C>(entity)?.location();
        // SAFETY: the value was found at this row of the component's lanes. The world is borrowed.
        Ok(unsafe { change_detection::Ref::new(C::Layout::ptr(lanes, self.storage.run_ticks()), row) })
    }

    /// Returns a component of an entity, for writing.
    ///
    /// # Errors
    ///
    /// - [`ComponentError::NoSuchEntity`] if the entity is not alive.
    /// - [`ComponentError::MissingComponent`] if it does not have the component.
    #[inline]
    pub fn get_mut<C: Component>(&mut self, entity: Entity) -> Result<Mut<'_, C>, ComponentError> {
        let value = self.storage.find::<C>(entity)?;
        // SAFETY: the world is borrowed exclusively.
        Ok(unsafe { value.get_mut::<false>(&self.storage.sparse.clock) })
    }

    /// Returns `true` if the entity is alive and has the component.
    #[doc(alias = "any_of")]
    #[inline]
    pub fn has<C: Component>(&self, entity: Entity) -> bool {
        self.storage.find::<C>(entity).is_ok()
    }
}

impl Storage {
    /// Finds the component of an entity.
    #[inline(always)]
    pub(crate) fn find<C: Component>(&self, entity: Entity) -> Result<ComponentRef<'_, C>, ComponentError> {
        self.source::<C>().find(self, entity)
    }

    /// Returns what leads to the values of a component.
    #[inline(always)]
    pub(super) fn source<C: Component>(&self) -> Source<'_, C> {
        let locations = self.entities.payloads();
        match C::Layout::KIND {
            Kind::Table => {
                let lanes = self.lanes_of(self.components.id::<C>());
                Source { locations, lanes, pool: None, linear: None, component: PhantomData }
            }
            Kind::Pool | Kind::Linear => {
                let sparse = self.sparse.storage_id_of::<C>(&self.components).map(|number| self.sparse.get(number));
                let (pool, linear) = match sparse.map(|sparse| &sparse.store) {
                    Some(Store::Pool(pool)) => (Some((pool.dense.index().lookup(), pool.values().lane())), None),
                    Some(Store::Linear(linear)) => (None, Some((linear, linear.values().lane()))),
                    None => (None, None),
                };
                Source { locations, lanes: &[], pool, linear, component: PhantomData }
            }
        }
    }
}

/// What leads to the values of a component: its lanes by table, or its sparse storage with its first lane; and the locations of
/// entities.
pub(super) struct Source<'w, C> {
    locations: Payloads<'w, Location>,
    lanes: &'w [*mut Lane],
    pool: Option<(SparseLookup<'w, Entity>, *mut Lane)>,
    linear: Option<(&'w LinearStorage, *mut Lane)>,
    component: PhantomData<fn() -> C>,
}

impl<C> Clone for Source<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C> Copy for Source<'_, C> {}

impl<'w, C: Component> Source<'w, C> {
    /// Finds the component of an entity. The storage is the one that the source is of.
    #[inline(always)]
    pub(super) fn find(&self, storage: &Storage, entity: Entity) -> Result<ComponentRef<'w, C>, ComponentError> {
        #[cfg(feature = "counters")]
        if storage.counting {
            storage.components.count_lookup(storage.components.id::<C>());
        }
        let find_location = || self.locations.get(entity);
        let found = match C::Layout::KIND {
            Kind::Table => find_location().and_then(|location| {
                let lane = *self.lanes.get(location.table as usize)?;
                (!lane.is_null()).then_some((lane, location.row))
            }),
            // Only slots that are alive are in a pool, under their generations.
            Kind::Pool => self.pool.and_then(|(pool, lane)| pool.position(entity).map(|position| (lane, position))),
            Kind::Linear => self.linear.and_then(|(linear, lane)| {
                let index = entity.index();
                (linear.has(index) && find_location().is_some()).then_some((lane, index))
            }),
        };
        if let Some((lane, row)) = found {
            // SAFETY: the source has the lanes of `C`, and the row is in use. The storage is borrowed for `'w`.
            return Ok(unsafe { ComponentRef::new(lane, row as usize) });
        }
        Err(absent(storage, entity, core::any::type_name::<C>()))
    }
}

/// Returns the reason why an entity's component is not found.
#[cold]
#[inline(never)]
fn absent(storage: &Storage, entity: Entity, component: &'static str) -> ComponentError {
    match storage.try_location(entity) {
        Ok(_) => ComponentError::MissingComponent { entity, component },
        Err(error) => error.into(),
    }
}
