//! Resources: values of which a world has one for each type.

use super::World;
use crate::error::NoSuchResource;
use crate::resources::{Res, ResMut, ResourceCell, missing, unboxed};
use phalanx_store::raw::DropGuard;

/// Resources: values of which the world has one for each type. [`clear`](World::clear) does not change them.
///
/// The world records [when they were inserted and changed](Res).
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
        let now = self.storage.tick();
        let old = self.resources.slot_mut::<R>().insert(value, now)?;
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

    /// Returns a resource with its change flags, which tell what has happened since
    /// [`clear_trackers`](World::clear_trackers).
    ///
    /// ```
    /// use phalanx::World;
    ///
    /// struct Gravity(f32);
    ///
    /// let mut world = World::new();
    /// world.insert_resource(Gravity(9.81));
    /// assert!(world.resource_ref::<Gravity>()?.is_added());
    /// world.clear_trackers();
    /// assert!(!world.resource_ref::<Gravity>()?.is_changed());
    /// world.resource_mut::<Gravity>()?.0 = 1.62;
    /// let gravity = world.resource_ref::<Gravity>()?;
    /// assert!(gravity.is_changed() && !gravity.is_added());
    /// # Ok::<(), phalanx::NoSuchResource>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`NoSuchResource`] if the world does not have it.
    #[doc(alias = "is_resource_changed")]
    #[doc(alias = "is_resource_added")]
    #[doc(alias = "get_resource_ref")]
    pub fn resource_ref<R: Send + Sync + 'static>(&self) -> Result<Res<'_, R>, NoSuchResource> {
        self.resources.find::<R>()?.get_ref(self.storage.run_ticks())
    }

    /// Returns a resource, for writing. Dereferencing the handle mutably records a change.
    ///
    /// # Errors
    ///
    /// [`NoSuchResource`] if the world does not have it.
    pub fn resource_mut<R: Send + Sync + 'static>(&mut self) -> Result<ResMut<'_, R>, NoSuchResource> {
        let run = self.storage.run_ticks();
        self.resources.find_mut::<R>()?.get_tracked(run)
    }

    /// Returns a resource, for writing. If the world does not have it, inserts the value that `make` returns first.
    ///
    /// ```
    /// use phalanx::World;
    ///
    /// struct Score(u32);
    ///
    /// let mut world = World::new();
    /// for _ in 0..3 {
    ///     world.resource_or_insert_with(|| Score(10)).0 += 1;
    /// }
    /// assert_eq!(world.resource::<Score>()?.0, 13);
    /// # Ok::<(), phalanx::NoSuchResource>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the resource is in a [scope](World::resource_scope): it is not in the world then, but comes back.
    #[doc(alias = "get_resource_or_insert_with")]
    #[doc(alias = "get_resource_or_init")]
    #[doc(alias = "init_resource")]
    #[doc(alias = "UniqueOrDefaultView")]
    #[track_caller]
    pub fn resource_or_insert_with<R: Send + Sync + 'static>(&mut self, make: impl FnOnce() -> R) -> ResMut<'_, R> {
        let found = self.resources.find::<R>();
        let in_scope = found.is_ok_and(|slot| slot.in_scope);
        assert!(!in_scope, "the resource {} is in a scope", core::any::type_name::<R>());
        if !self.contains_resource::<R>() {
            self.insert_resource(make());
        }
        match self.resource_mut::<R>() {
            Ok(resource) => resource,
            Err(error) => unreachable!("the world has the resource: {error}"),
        }
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
    /// that `scope` has inserted is dropped then. The call counts as a change of the resource.
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
            slot.ticks.by_ref().set_changed(world.storage.tick());
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
