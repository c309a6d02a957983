//! Reads and writes components of one entity.
#![allow(unsafe_code)]

use super::{Location, World};
use crate::change_detection::RunTicks;
use crate::component::Component;
use crate::error::ComponentError;
use crate::layout::{Kind, Layout};
use crate::sparse::{SparseStorage, Store};
use crate::storage::Storage;
use phalanx_store::raw::{DenseIndex, Lane};
use phalanx_store::{Entity, Places};

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
        let (lane, row) = self.storage.find::<C>(entity)?;
        // SAFETY: the lane is the component's, the row is in use, and the world is borrowed.
        Ok(unsafe { C::Layout::get(C::Layout::ptr(lane, RunTicks::READ), row) })
    }

    /// Returns a component of an entity, for writing.
    ///
    /// # Errors
    ///
    /// - [`ComponentError::NoSuchEntity`] if the entity is not alive.
    /// - [`ComponentError::MissingComponent`] if it does not have the component.
    #[inline]
    pub fn get_mut<C: Component>(&mut self, entity: Entity) -> Result<Mut<'_, C>, ComponentError> {
        let (lane, row) = self.storage.find::<C>(entity)?;
        // SAFETY: the lane is the component's, the row is in use, and the world is borrowed exclusively.
        Ok(unsafe { self.storage.item_mut::<C>(lane, row) })
    }

    /// Returns `true` if the entity is alive and has the component.
    #[doc(alias = "any_of")]
    #[inline]
    pub fn has<C: Component>(&self, entity: Entity) -> bool {
        self.storage.find::<C>(entity).is_ok()
    }
}

impl Storage {
    /// Returns a value for writing.
    ///
    /// # Safety
    ///
    /// - The lane is the component's, and the row is in use.
    /// - Nothing else uses the row for `'a`, and nothing else writes any row of the lane during the call.
    #[inline(always)]
    pub(crate) unsafe fn item_mut<'a, C: Component>(&self, lane: *const Lane, row: usize) -> Mut<'a, C> {
        // SAFETY: the lane is the component's and the row is used by nothing else, by the caller's contract.
        unsafe {
            crate::layout::mark_row::<C>(lane, row);
            self.item_touched::<C>(lane, row)
        }
    }

    /// Returns a value for writing, like [`item_mut`](Storage::item_mut). Other threads may get other rows in this way at the
    /// same time.
    ///
    /// # Safety
    ///
    /// - The lane is the component's, and the row is in use. Nothing else uses the row for `'a`.
    /// - All who write rows of the lane do so in this way, under one exclusive borrow of the world.
    pub(crate) unsafe fn item_mut_shared<'a, C: Component>(&self, lane: *const Lane, row: usize) -> Mut<'a, C> {
        // SAFETY: the row is used by nothing else and other rows are written in this way, by the caller's contract.
        unsafe {
            crate::layout::mark_row_shared::<C>(lane, row);
            self.item_touched::<C>(lane, row)
        }
    }

    /// Returns a value for writing whose dirty bit is set, and sets its change ticks.
    ///
    /// Ticks of columns are atomic, and those of a row belong to the one who uses the row.
    ///
    /// # Safety
    ///
    /// The lane is the component's, the row is in use, and nothing else uses it for `'a`.
    #[inline(always)]
    unsafe fn item_touched<'a, C: Component>(&self, lane: *const Lane, row: usize) -> Mut<'a, C> {
        // SAFETY: the lane is the component's and the row is used by nothing else, by the caller's contract.
        unsafe {
            let ticks = RunTicks::of::<C>(&raw const self.sparse.clock);
            C::Layout::touch(lane, ticks.now);
            C::Layout::get_mut(C::Layout::ptr(lane, ticks), row)
        }
    }

    /// Returns the lane and the row of an entity's component.
    #[inline(always)]
    pub(crate) fn find<C: Component>(&self, entity: Entity) -> Result<(*const Lane, usize), ComponentError> {
        self.source::<C>().find::<C>(self, entity)
    }

    /// Returns what leads to the values of a component.
    #[inline(always)]
    pub(super) fn source<C: Component>(&self) -> Source<'_> {
        let locations = self.entities.places();
        match C::Layout::KIND {
            Kind::Table => Source { locations, lanes: self.lanes_of(self.components.id::<C>()), sparse: None },
            Kind::Pool | Kind::Linear => {
                let sparse = self.sparse.number_of::<C>(&self.components).map(|number| self.sparse.get(number));
                Source { locations, lanes: &[], sparse }
            }
        }
    }
}

/// What leads to the values of a component: its lanes by table, or its sparse storage; and the locations of entities.
#[derive(Clone, Copy)]
pub(super) struct Source<'w> {
    locations: Places<Location>,
    lanes: &'w [*mut Lane],
    sparse: Option<&'w SparseStorage>,
}

impl Source<'_> {
    /// Returns the lane and the row of an entity's component.
    #[inline(always)]
    pub(super) fn find<C: Component>(
        &self,
        storage: &Storage,
        entity: Entity,
    ) -> Result<(*const Lane, usize), ComponentError> {
        #[cfg(feature = "counters")]
        if storage.counting {
            storage.count_lookup(storage.components.id::<C>());
        }
        // SAFETY: the world has been borrowed since; a location is written for every entity that is alive.
        let find_location = || unsafe { self.locations.find(entity) };
        let found = match (C::Layout::KIND, self.sparse.map(|sparse| &sparse.store)) {
            (Kind::Table, _) => find_location().and_then(|location| {
                let lane = *self.lanes.get(location.table as usize)?;
                (!lane.is_null()).then_some((lane, location.row))
            }),
            // Only slots that are alive are in a pool, under their generations.
            (Kind::Pool, Some(Store::Pool(pool))) => {
                pool.dense.index().position(entity).map(|position| (pool.values().lane(), position))
            }
            (Kind::Linear, Some(Store::Linear(linear))) => {
                let index = entity.index();
                (linear.has(index) && find_location().is_some()).then(|| (linear.values().lane(), index))
            }
            _ => None,
        };
        if let Some((lane, row)) = found {
            return Ok((lane, row as usize));
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
