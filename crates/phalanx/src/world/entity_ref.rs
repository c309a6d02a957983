//! [`EntityRef`]: an entity of a shared world.

use super::World;
use super::get::Ref;
use crate::change_detection::{self, TracksChanges};
use crate::component::{Component, ComponentId};
use crate::error::{ComponentError, NoSuchEntity};
use crate::storage::table::ALIGNED_FOR_ALL;
use core::fmt;
use core::ptr::NonNull;
use phalanx_store::Entity;

/// An entity of a shared world: [`World::entity`].
///
/// It is also a term of [queries](crate::query), for code that does not know in advance which components it reads:
///
/// ```
/// use phalanx::{Component, EntityRef, With, World};
///
/// #[derive(Component)]
/// struct Selected;
/// #[derive(Component)]
/// struct Name(&'static str);
///
/// let mut world = World::new();
/// world.spawn((Selected, Name("Ann")));
/// world.spawn(Selected);
/// let names: Vec<_> = world
///     .query_filtered::<EntityRef, With<Selected>>()
///     .iter()
///     .map(|entity| entity.get::<Name>().map_or("?", |name| name.0))
///     .collect();
/// assert_eq!(names, ["Ann", "?"]);
/// ```
///
/// As a term it reads the whole world. So no term beside it and no other query of
/// [`queries_mut`](World::queries_mut) may write. A system with such a query may not write resources either. In a query that
/// visits [extra rows](crate::Key), it is the entity that owns the row.
#[doc(alias = "FilteredEntityRef")]
#[derive(Clone, Copy)]
pub struct EntityRef<'w> {
    pub(crate) world: &'w World,
    pub(crate) entity: Entity,
}

impl World {
    /// Returns a handle that reads one entity.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Age(u32);
    ///
    /// let mut world = World::new();
    /// let e = world.spawn(Age(7));
    /// let ann = world.entity(e)?;
    /// assert!(ann.has::<Age>() && ann.get::<Age>().unwrap().0 == 7);
    ///
    /// let mut ann = world.entity_mut(e)?;
    /// ann.get_mut::<Age>().unwrap().0 += 1;
    /// assert_eq!(ann.take::<Age>().unwrap().0, 8);
    /// ann.despawn();
    /// assert!(world.entity(e).is_err());
    /// # Ok::<(), phalanx::NoSuchEntity>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`NoSuchEntity`] if the entity is not alive.
    pub fn entity(&self, entity: Entity) -> Result<EntityRef<'_>, NoSuchEntity> {
        self.storage.try_location(entity)?;
        Ok(EntityRef { world: self, entity })
    }
}

impl<'w> EntityRef<'w> {
    /// Returns the entity.
    pub fn id(&self) -> Entity {
        self.entity
    }

    /// Returns the world.
    pub fn world(&self) -> &'w World {
        self.world
    }

    /// Returns a component.
    ///
    /// # Errors
    ///
    /// [`ComponentError::MissingComponent`] if the entity does not have it.
    pub fn get<C: Component>(&self) -> Result<Ref<'w, C>, ComponentError> {
        self.world.get::<C>(self.entity)
    }

    /// Returns a component with its change flags, like [`World::get_ref`].
    ///
    /// # Errors
    ///
    /// [`ComponentError::MissingComponent`] if the entity does not have it.
    pub fn get_ref<C: Component>(&self) -> Result<change_detection::Ref<'w, C>, ComponentError>
    where
        C::Layout: TracksChanges<C>,
    {
        self.world.get_ref::<C>(self.entity)
    }

    /// Returns `true` if the entity has the component.
    #[doc(alias = "contains")]
    pub fn has<C: Component>(&self) -> bool {
        self.world.has::<C>(self.entity)
    }

    /// Returns the names of the entity's components, in alphabetical order.
    #[doc(alias = "component_types")]
    pub fn component_names(&self) -> impl Iterator<Item = &'static str> + use<'w> {
        let components = &self.world.storage.components;
        self.component_ids().map(|id| components.info(id).name())
    }

    /// Returns the ids of the entity's components, in alphabetical order of their names.
    pub fn component_ids(&self) -> impl Iterator<Item = ComponentId> + use<'w> {
        let EntityRef { world, entity } = *self;
        world.storage.components.in_order().filter(move |id| world.storage.has(entity, *id))
    }

    /// Returns the address of a component's value. It is valid until the world is changed or the value is written.
    ///
    /// For a zero-sized component, the address is aligned and points at nothing.
    ///
    /// # Errors
    ///
    /// - [`ComponentError::MissingComponent`] if the entity does not have the component.
    /// - [`ComponentError::NoAddress`] if the component's values are split over several columns.
    #[doc(alias = "get_id")]
    pub fn get_by_id(&self, id: ComponentId) -> Result<NonNull<u8>, ComponentError> {
        let (storage, entity) = (&self.world.storage, self.entity);
        let location = storage.try_location(entity)?;
        let found = match storage.sparse.of(id) {
            Some(_) if storage.components.is_hidden(id) => None,
            None => storage.lanes_in(id, location.table).map(|lanes| (lanes, location.row)),
            Some(sparse) => sparse.row(entity.index()).map(|row| (sparse.values().lanes(), row)),
        };
        let Some((lanes, row)) = found else {
            let info = storage.components.iter().nth(id.index());
            let component = info.map_or("an unknown component", |(_, info)| info.name());
            return Err(ComponentError::MissingComponent { entity, component });
        };
        let info = storage.components.info(id);
        let lane = lanes.first().filter(|_| !info.is_zero_sized());
        match (info.has_address, lane.and_then(|lane| NonNull::new(lane.row(row)))) {
            (false, _) => Err(ComponentError::NoAddress { component: info.name() }),
            (true, None) => Ok(NonNull::without_provenance(ALIGNED_FOR_ALL)),
            (true, Some(address)) => Ok(address),
        }
    }

    /// Returns `true` if the entity has the component with this id.
    #[doc(alias = "contains_id")]
    pub fn has_by_id(&self, id: ComponentId) -> bool {
        self.world.storage.has(self.entity, id)
    }
}

impl fmt::Debug for EntityRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.entity)?;
        f.debug_set().entries(self.component_names()).finish()
    }
}
