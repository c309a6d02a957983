//! Resources: values of which a world has one for each type.

use super::World;
use crate::error::NoSuchResource;
use crate::resources::{ResourceCell, missing, unboxed};
use phalanx_store::raw::DropGuard;

/// Resources: values of which the world has one for each type. [`clear`](World::clear) does not change them.
impl World {
    /// Inserts a resource, and returns the old one of this type.
    ///
    /// ```
    /// use phalanx::World;
    ///
    /// struct Gravity(f32);
    ///
    /// let mut world = World::new();
    /// world.insert_resource(Gravity(9.81));
    /// world.resource_mut::<Gravity>()?.0 = 1.62;
    /// assert_eq!(world.resource::<Gravity>()?.0, 1.62);
    /// # Ok::<(), phalanx::NoSuchResource>(())
    /// ```
    pub fn insert_resource<R: Send + Sync + 'static>(&mut self, resource: R) -> Option<R> {
        let value = Box::new(ResourceCell::new(resource));
        let old = self.resources.slot_mut::<R>().value.replace(value)?;
        Some(unboxed(old))
    }

    /// Returns a resource.
    ///
    /// # Errors
    ///
    /// [`NoSuchResource`] if the world does not have it.
    pub fn resource<R: Send + Sync + 'static>(&self) -> Result<&R, NoSuchResource> {
        self.resources.find::<R>()?.cell().map(ResourceCell::get)
    }

    /// Returns a resource, for writing.
    ///
    /// # Errors
    ///
    /// [`NoSuchResource`] if the world does not have it.
    pub fn resource_mut<R: Send + Sync + 'static>(&mut self) -> Result<&mut R, NoSuchResource> {
        self.resources.find_mut::<R>()?.get_mut()
    }

    /// Removes a resource, and returns it.
    ///
    /// # Errors
    ///
    /// [`NoSuchResource`] if the world does not have it.
    pub fn remove_resource<R: Send + Sync + 'static>(&mut self) -> Result<R, NoSuchResource> {
        let slot = self.resources.find_mut::<R>()?;
        match slot.value.take() {
            Some(value) => Ok(unboxed(value)),
            None => Err(missing::<R>(slot.in_scope)),
        }
    }

    /// Calls `scope` with a resource and the rest of the world, both for writing.
    ///
    /// The resource is taken out of the world for the call, and put back afterwards, also if `scope` panics. One of the same type
    /// that `scope` has inserted is dropped then.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Position(f32);
    /// struct Arrivals(Vec<f32>);
    ///
    /// let mut world = World::new();
    /// world.insert_resource(Arrivals(vec![1.0, 2.0]));
    /// world.resource_scope(|world, arrivals: &mut Arrivals| {
    ///     for x in arrivals.0.drain(..) {
    ///         world.spawn(Position(x));
    ///     }
    /// })?;
    /// assert_eq!(world.len(), 2);
    /// assert!(world.resource::<Arrivals>()?.0.is_empty());
    /// # Ok::<(), phalanx::NoSuchResource>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`NoSuchResource`] if the world does not have the resource. `scope` is not called.
    pub fn resource_scope<R: Send + Sync + 'static, T>(
        &mut self,
        scope: impl FnOnce(&mut World, &mut R) -> T,
    ) -> Result<T, NoSuchResource> {
        let slot = self.resources.find_mut::<R>()?;
        let value = Some(slot.value.take().ok_or(missing::<R>(slot.in_scope))?);
        slot.in_scope = true;
        // Puts the resource back, also if the scope panics.
        let mut out = DropGuard::new((self, value), |(world, value)| {
            let slot = world.resources.slot_mut::<R>();
            slot.in_scope = false;
            // A resource that was inserted meanwhile is dropped last.
            drop(core::mem::replace(&mut slot.value, value.take()));
        });
        let (world, value) = &mut out.state;
        match value.as_mut().and_then(|value| value.downcast_mut::<ResourceCell<R>>()) {
            Some(value) => Ok(scope(world, value.get_mut())),
            None => unreachable!("a slot holds its type"),
        }
    }
}
