//! Resources by id.

use super::World;
use crate::error::NoSuchResource;
use crate::resources::{ResourceId, Slot};
use core::any::{Any, TypeId};

/// Access by ids, for types that are known only at run time.
impl World {
    /// Returns the id of a resource type, which is assigned if the world does not know the type. The world need not have a
    /// resource of it.
    ///
    /// ```
    /// use phalanx::World;
    ///
    /// struct Gravity(f32);
    ///
    /// let mut world = World::new();
    /// let gravity = world.register_resource::<Gravity>();
    /// assert!(!world.contains_resource_by_id(gravity));
    /// assert!(world.insert_resource_by_id(gravity, Box::new(Gravity(9.81))).unwrap().is_none());
    /// let value = world.resource_by_id(gravity)?.downcast_ref::<Gravity>().unwrap();
    /// assert_eq!(value.0, 9.81);
    /// # Ok::<(), phalanx::NoSuchResource>(())
    /// ```
    pub fn register_resource<R: Send + Sync + 'static>(&mut self) -> ResourceId {
        ResourceId::from_index(self.resources.number_of::<R>() as u32)
    }

    /// Returns the id of a resource type, if the world knows it: a resource of it was inserted, kept or registered.
    pub fn resource_id<R: Send + Sync + 'static>(&self) -> Option<ResourceId> {
        self.resource_id_of_type(TypeId::of::<R>())
    }

    /// Returns the id of a resource type by its type id, if the world knows it.
    ///
    /// ```
    /// use core::any::TypeId;
    /// use phalanx::World;
    ///
    /// let mut world = World::new();
    /// world.insert_resource(7_u32);
    /// let id = world.resource_id_of_type(TypeId::of::<u32>()).unwrap();
    /// assert_eq!(world.resource_by_id(id)?.downcast_ref(), Some(&7_u32));
    /// # Ok::<(), phalanx::NoSuchResource>(())
    /// ```
    pub fn resource_id_of_type(&self, type_id: TypeId) -> Option<ResourceId> {
        self.resources.number_of_type(type_id).map(|number| ResourceId::from_index(number as u32))
    }

    /// Returns `true` if the world has a resource of this type.
    #[doc(alias = "has_resource")]
    pub fn contains_resource<R: Send + Sync + 'static>(&self) -> bool {
        self.resource::<R>().is_ok()
    }

    /// Returns `true` if the world has the resource with this id.
    pub fn contains_resource_by_id(&self, id: ResourceId) -> bool {
        self.resource_by_id(id).is_ok()
    }

    /// Returns a resource by its id.
    ///
    /// # Errors
    ///
    /// [`NoSuchResource`] if the world does not have it, or has no type with this id.
    #[doc(alias = "get_resource_by_id")]
    pub fn resource_by_id(&self, id: ResourceId) -> Result<&(dyn Any + Send + Sync), NoSuchResource> {
        self.resources.slot_by_id(id)?.value_dyn()
    }

    /// Returns a resource by its id, for writing. It counts as changed.
    ///
    /// # Errors
    ///
    /// [`NoSuchResource`] if the world does not have it, or has no type with this id.
    #[doc(alias = "get_resource_mut_by_id")]
    pub fn resource_mut_by_id(&mut self, id: ResourceId) -> Result<&mut (dyn Any + Send + Sync), NoSuchResource> {
        let now = self.storage.tick();
        self.resources.slot_by_id_mut(id)?.value_dyn_mut(now)
    }

    /// Inserts a resource by its id, and returns the old one.
    ///
    /// # Errors
    ///
    /// Returns the value if it is of another type, or if the world has no type with this id. Nothing has changed.
    pub fn insert_resource_by_id(
        &mut self,
        id: ResourceId,
        resource: Box<dyn Any + Send + Sync>,
    ) -> Result<Option<Box<dyn Any + Send + Sync>>, Box<dyn Any + Send + Sync>> {
        let now = self.storage.tick();
        match self.resources.slot_by_id_mut(id) {
            Ok(slot) => slot.insert_dyn(resource, now),
            Err(_) => Err(resource),
        }
    }

    /// Removes a resource by its id, and returns it.
    ///
    /// ```
    /// use phalanx::World;
    ///
    /// let mut world = World::new();
    /// world.insert_resource("text");
    /// let id = world.resource_id::<&str>().unwrap();
    /// assert_eq!(world.remove_resource_by_id(id)?.downcast_ref(), Some(&"text"));
    /// assert!(world.remove_resource_by_id(id).is_err());
    /// # Ok::<(), phalanx::NoSuchResource>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`NoSuchResource`] if the world does not have it, or has no type with this id.
    pub fn remove_resource_by_id(&mut self, id: ResourceId) -> Result<Box<dyn Any + Send + Sync>, NoSuchResource> {
        self.resources.slot_by_id_mut(id)?.remove_dyn()
    }

    /// Returns all resources with their ids and the names of their types, in the order in which the types became known.
    ///
    /// ```
    /// use phalanx::World;
    ///
    /// let mut world = World::new();
    /// world.insert_resource(7_u32);
    /// world.insert_resource("text");
    /// world.remove_resource::<u32>()?;
    /// assert!(world.resources().map(|(_, name, _)| name).eq(["&str"]));
    /// # Ok::<(), phalanx::NoSuchResource>(())
    /// ```
    #[doc(alias = "iter_resources")]
    #[doc(alias = "ctx")]
    pub fn resources(&self) -> impl Iterator<Item = (ResourceId, &'static str, &(dyn Any + Send + Sync))> + '_ {
        let slots = (0..).zip(self.resources.slots());
        slots.filter_map(|(number, slot): (u32, &Slot)| {
            Some((ResourceId::from_index(number), slot.name(), slot.value_dyn().ok()?))
        })
    }
}
