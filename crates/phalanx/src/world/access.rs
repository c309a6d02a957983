//! Reading and writing components of one entity.
#![allow(unsafe_code)]

use super::{Location, World};
use crate::component::Component;
use crate::error::ComponentError;
use crate::layout::Layout;
use core::marker::PhantomData;
use phalanx_store::raw::Lane;
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
        Ok(unsafe { C::Layout::get(C::Layout::ptr(lane), row) })
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
        Ok(unsafe { C::Layout::get_mut(C::Layout::ptr(lane), row) })
    }

    /// Whether an entity is alive and has a component.
    #[inline]
    pub fn has<C: Component>(&self, entity: Entity) -> bool {
        self.find::<C>(entity).is_ok()
    }

    /// The lane and the row of an entity's component.
    #[inline(always)]
    pub(super) fn find<C: Component>(&self, entity: Entity) -> Result<(*const Lane, usize), ComponentError> {
        find::<C>(self, self.entities.places(), self.lanes_of(self.components.id::<C>()), entity)
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
        let lanes = self.lanes_of(self.components.id::<C>());
        View { world: self, places: self.entities.places(), lanes, component: PhantomData }
    }

    /// Random access to one component, for writing.
    #[inline]
    pub fn view_mut<C: Component>(&mut self) -> ViewMut<'_, C> {
        ViewMut { world: self, component: PhantomData }
    }

    /// The names of an entity's components.
    ///
    /// # Errors
    ///
    /// If the entity is not alive.
    pub fn components_of(
        &self,
        entity: Entity,
    ) -> Result<impl Iterator<Item = &'static str> + '_, crate::error::NoSuchEntity> {
        let table = &self.tables[self.locate(entity)?.table as usize];
        Ok(table.signature.iter().map(|id| self.components.info(id).name()))
    }
}

/// The lane and the row of an entity's component. The places are the world's as it is.
#[inline(always)]
fn find<C: Component>(
    world: &World,
    places: Places<Location>,
    lanes: &[*mut Lane],
    entity: Entity,
) -> Result<(*const Lane, usize), ComponentError> {
    // SAFETY: the world has been borrowed since; a location is written for every entity that is alive.
    if let Some(location) = unsafe { places.find(entity) }
        && let Some(lane) = lanes.get(location.table as usize)
        && !lane.is_null()
    {
        return Ok((*lane, location.row as usize));
    }
    Err(absent(world, entity, core::any::type_name::<C>()))
}

/// Why an entity's component is not found.
#[cold]
#[inline(never)]
fn absent(world: &World, entity: Entity, component: &'static str) -> ComponentError {
    match world.locate(entity) {
        Ok(_) => ComponentError::MissingComponent { entity, component },
        Err(error) => error.into(),
    }
}

/// Random access to one component: [`World::view`].
pub struct View<'w, C> {
    world: &'w World,
    places: Places<Location>,
    lanes: &'w [*mut Lane],
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
        let (lane, row) = find::<C>(self.world, self.places, self.lanes, entity)?;
        // SAFETY: the lane is the component's, the row is in use, and the world is borrowed.
        Ok(unsafe { C::Layout::get(C::Layout::ptr(lane), row) })
    }

    /// Whether an entity has the component.
    #[inline]
    pub fn has(&self, entity: Entity) -> bool {
        find::<C>(self.world, self.places, self.lanes, entity).is_ok()
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
        Ok(unsafe { C::Layout::get(C::Layout::ptr(lane), row) })
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
        Ok(unsafe { C::Layout::get_mut(C::Layout::ptr(lane), row) })
    }
}

impl<C> core::fmt::Debug for ViewMut<'_, C> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "ViewMut({})", core::any::type_name::<C>())
    }
}
