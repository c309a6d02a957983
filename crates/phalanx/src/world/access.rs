//! Reading and writing components of one entity.
#![allow(unsafe_code)]

use super::{Location, World};
use crate::change_detection::RunTicks;
use crate::component::Component;
use crate::error::ComponentError;
use crate::layout::{Kind, Layout};
use crate::sparse::{SparseStorage, Store};
use core::marker::PhantomData;
use phalanx_store::raw::{DenseIndex, Lane};
use phalanx_store::{Entity, Places};

/// What a reader of `C` sees.
pub(crate) type Ref<'a, C> = <<C as Component>::Layout as Layout<C>>::Ref<'a>;
/// What a writer of `C` sees.
pub(crate) type Mut<'a, C> = <<C as Component>::Layout as Layout<C>>::Mut<'a>;

impl World {
    /// A component of an entity.
    ///
    /// # Errors
    ///
    /// If the entity is not alive, or does not have the component.
    #[inline]
    pub fn get<C: Component>(&self, entity: Entity) -> Result<Ref<'_, C>, ComponentError> {
        let (lane, row) = self.find::<C>(entity)?;
        // SAFETY: the lane is the component's, the row is in use, and the world is borrowed.
        Ok(unsafe { C::Layout::get(C::Layout::ptr(lane, RunTicks::READ), row) })
    }

    /// A component of an entity, for writing.
    ///
    /// # Errors
    ///
    /// If the entity is not alive, or does not have the component.
    #[inline]
    pub fn get_mut<C: Component>(&mut self, entity: Entity) -> Result<Mut<'_, C>, ComponentError> {
        let (lane, row) = self.find::<C>(entity)?;
        // SAFETY: the lane is the component's, the row is in use, and the world is borrowed exclusively.
        Ok(unsafe { self.item_mut::<C>(lane, row) })
    }

    /// A value for writing.
    ///
    /// # Safety
    ///
    /// The lane is the component's, and the row is in use. Nobody else uses the row for `'a`, and nobody else writes any row of
    /// the lane during the call.
    #[inline(always)]
    pub(crate) unsafe fn item_mut<'a, C: Component>(&self, lane: *const Lane, row: usize) -> Mut<'a, C> {
        // SAFETY: the caller's promise.
        unsafe {
            crate::layout::mark_row::<C>(lane, row);
            self.item_marked::<C>(lane, row)
        }
    }

    /// Like [`item_mut`](World::item_mut), but other threads may get other rows of the lane at the same time, in this way.
    ///
    /// # Safety
    ///
    /// The lane is the component's, and the row is in use. Nobody else uses the row for `'a`. The world is borrowed exclusively
    /// by those who write rows of the lane, all of them in this way.
    pub(crate) unsafe fn item_mut_shared<'a, C: Component>(&self, lane: *const Lane, row: usize) -> Mut<'a, C> {
        // SAFETY: the caller's promise.
        unsafe {
            crate::layout::mark_row_shared::<C>(lane, row);
            self.item_marked::<C>(lane, row)
        }
    }

    /// A value for writing, whose row is marked for those who keep frames. What is tracked is marked here: marks of columns
    /// are atomic, and those of a row belong to the one who has it.
    ///
    /// # Safety
    ///
    /// The lane is the component's, the row is in use, and nobody else uses it for `'a`.
    #[inline(always)]
    unsafe fn item_marked<'a, C: Component>(&self, lane: *const Lane, row: usize) -> Mut<'a, C> {
        // SAFETY: the caller's promise.
        unsafe {
            let look = RunTicks::of::<C>(&raw const self.storage.sparse.clock);
            C::Layout::touch(lane, look.now);
            C::Layout::get_mut(C::Layout::ptr(lane, look), row)
        }
    }

    /// Whether an entity is alive and has a component.
    #[inline]
    pub fn has<C: Component>(&self, entity: Entity) -> bool {
        self.find::<C>(entity).is_ok()
    }

    /// The lane and the row of an entity's component.
    #[inline(always)]
    pub(crate) fn find<C: Component>(&self, entity: Entity) -> Result<(*const Lane, usize), ComponentError> {
        self.source::<C>().find::<C>(self, entity)
    }

    /// Where the values of a component are.
    #[inline(always)]
    fn source<C: Component>(&self) -> Source<'_> {
        let places = self.storage.entities.places();
        match C::Layout::KIND {
            Kind::Table => {
                Source { places, lanes: self.storage.lanes_of(self.storage.components.id::<C>()), side: None }
            }
            Kind::Pool | Kind::Linear => {
                let side = self
                    .storage
                    .sparse
                    .storage_id_of::<C>(&self.storage.components)
                    .map(|side| self.storage.sparse.get(side));
                Source { places, lanes: &[], side }
            }
        }
    }

    /// Random access to one component, resolved once: for loops over entities.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Weight(u32);
    ///
    /// let mut world = World::new();
    /// let crates: Vec<_> = (1..=4).map(|n| world.spawn(Weight(n))).collect();
    /// let weights = world.view::<Weight>();
    /// let total: u32 = crates.iter().map(|e| weights.get(*e).unwrap().0).sum();
    /// assert_eq!(total, 10);
    /// ```
    #[inline]
    pub fn view<C: Component>(&self) -> View<'_, C> {
        View { world: self, source: self.source::<C>(), component: PhantomData }
    }

    /// Random access to one component, for writing.
    #[inline]
    pub fn view_mut<C: Component>(&mut self) -> ViewMut<'_, C> {
        ViewMut { world: self, component: PhantomData }
    }

    /// Returns the names of an entity's components, in alphabetical order.
    ///
    /// # Errors
    ///
    /// If the entity is not alive.
    pub fn components_of(
        &self,
        entity: Entity,
    ) -> Result<impl Iterator<Item = &'static str> + '_, crate::error::NoSuchEntity> {
        let table = &self.storage.tables[self.storage.try_location(entity)?.table as usize];
        let has = move |id: crate::component::ComponentId| match self.storage.sparse.of(id) {
            None => table.signature.has(id),
            Some(side) => side.row(entity.index()).is_some(),
        };
        Ok(self
            .storage
            .components
            .in_order()
            .filter(move |id| has(*id))
            .map(|id| self.storage.components.info(id).name()))
    }
}

/// Where the values of a component are: its lanes by table, or its side; and where entities are. As the world is.
#[derive(Clone, Copy)]
struct Source<'w> {
    places: Places<Location>,
    lanes: &'w [*mut Lane],
    side: Option<&'w SparseStorage>,
}

impl Source<'_> {
    /// The lane and the row of an entity's component.
    #[inline(always)]
    fn find<C: Component>(&self, world: &World, entity: Entity) -> Result<(*const Lane, usize), ComponentError> {
        #[cfg(feature = "counters")]
        if world.storage.counting {
            world.count_lookup(world.storage.components.id::<C>());
        }
        // SAFETY: the world has been borrowed since; a location is written for every entity that is alive.
        let try_location = || unsafe { self.places.find(entity) };
        let found = match (C::Layout::KIND, self.side.map(|side| &side.store)) {
            (Kind::Table, _) => try_location().and_then(|location| {
                let lane = *self.lanes.get(location.table as usize)?;
                (!lane.is_null()).then_some((lane, location.row))
            }),
            // Only slots that are alive are in a pool, under their generations.
            (Kind::Pool, Some(Store::Pool(pool))) => {
                pool.dense.index().position(entity).map(|position| (pool.values().lane(), position))
            }
            (Kind::Linear, Some(Store::Linear(linear))) => {
                let index = entity.index();
                (linear.has(index) && try_location().is_some()).then(|| (linear.values().lane(), index))
            }
            _ => None,
        };
        if let Some((lane, row)) = found {
            return Ok((lane, row as usize));
        }
        Err(absent(world, entity, core::any::type_name::<C>()))
    }
}

/// Why an entity's component is not found.
#[cold]
#[inline(never)]
fn absent(world: &World, entity: Entity, component: &'static str) -> ComponentError {
    match world.storage.try_location(entity) {
        Ok(_) => ComponentError::MissingComponent { entity, component },
        Err(error) => error.into(),
    }
}

/// Random access to one component: [`World::view`].
pub struct View<'w, C> {
    world: &'w World,
    source: Source<'w>,
    component: PhantomData<fn() -> C>,
}

impl<'w, C: Component> View<'w, C> {
    /// The component of an entity.
    ///
    /// # Errors
    ///
    /// If the entity is not alive, or does not have the component.
    #[inline]
    pub fn get(&self, entity: Entity) -> Result<Ref<'w, C>, ComponentError> {
        let (lane, row) = self.source.find::<C>(self.world, entity)?;
        // SAFETY: the lane is the component's, the row is in use, and the world is borrowed.
        Ok(unsafe { C::Layout::get(C::Layout::ptr(lane, RunTicks::READ), row) })
    }

    /// Whether an entity has the component.
    #[inline]
    pub fn has(&self, entity: Entity) -> bool {
        self.source.find::<C>(self.world, entity).is_ok()
    }
}

// SAFETY: it reads what the shared world holds, and nothing else.
unsafe impl<C> Send for View<'_, C> {}
// SAFETY: as above.
unsafe impl<C> Sync for View<'_, C> {}

impl<C> Clone for View<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C> Copy for View<'_, C> {}

impl<C> core::fmt::Debug for View<'_, C> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "View({})", core::any::type_name::<C>())
    }
}

/// Random access to one component, for writing: [`World::view_mut`].
pub struct ViewMut<'w, C> {
    world: &'w mut World,
    component: PhantomData<fn() -> C>,
}

impl<C: Component> ViewMut<'_, C> {
    /// The component of an entity.
    ///
    /// # Errors
    ///
    /// If the entity is not alive, or does not have the component.
    #[inline]
    pub fn get(&self, entity: Entity) -> Result<Ref<'_, C>, ComponentError> {
        let (lane, row) = self.world.find::<C>(entity)?;
        // SAFETY: the lane is the component's, the row is in use, and the view is borrowed.
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
        // SAFETY: the lane is the component's, the row is in use, and the world is borrowed exclusively.
        Ok(unsafe { self.world.item_mut::<C>(lane, row) })
    }
}

impl<C> core::fmt::Debug for ViewMut<'_, C> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "ViewMut({})", core::any::type_name::<C>())
    }
}
