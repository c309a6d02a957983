//! Access to the resources of a world.

use super::World;
use crate::alloc::unwrap_alloc;
use crate::error::NoSuchResource;
use crate::resources::{Stored, clone_resource, missing, unboxed};
use phalanx_store::AllocError;

/// Resources: values of which the world has one of each type. [`clear`](World::clear) leaves them alone.
impl World {
    /// Gives the world a resource. The one it had of this type, if any, is returned.
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
        let value = Box::new(resource);
        let old = self.resources.place::<R>().value.replace(value)?;
        Some(unboxed(old))
    }

    /// A resource.
    ///
    /// # Errors
    ///
    /// If the world does not have it.
    pub fn resource<R: Send + Sync + 'static>(&self) -> Result<&R, NoSuchResource> {
        let slot = self.resources.find::<R>()?;
        slot.value.as_ref().and_then(|value| value.downcast_ref()).ok_or(missing::<R>(slot.in_scope))
    }

    /// A resource, for writing.
    ///
    /// # Errors
    ///
    /// If the world does not have it.
    pub fn resource_mut<R: Send + Sync + 'static>(&mut self) -> Result<&mut R, NoSuchResource> {
        let slot = self.resources.find_mut::<R>()?;
        slot.value.as_mut().and_then(|value| value.downcast_mut()).ok_or(missing::<R>(slot.in_scope))
    }

    /// Whether the world has a resource.
    pub fn contains_resource<R: Send + Sync + 'static>(&self) -> bool {
        self.resource::<R>().is_ok()
    }

    /// A resource, which is made by `init` if the world does not have it.
    ///
    /// `init` may read and change the world. If it inserts the resource itself, its result takes that one's place.
    ///
    /// ```
    /// use phalanx::World;
    ///
    /// #[derive(Debug, Default, PartialEq)]
    /// struct Score(u32);
    ///
    /// let mut world = World::new();
    /// world.spawn_empty();
    /// world.init_resource(|world| Score(world.len() as u32)).0 += 10;
    /// assert_eq!(world.init_resource(|_| Score::default()), &mut Score(11));
    /// ```
    ///
    /// # Panics
    ///
    /// If [`resource_scope`](World::resource_scope) has taken it out.
    #[track_caller]
    pub fn init_resource<R: Send + Sync + 'static>(&mut self, init: impl FnOnce(&mut World) -> R) -> &mut R {
        match self.resource::<R>() {
            Err(error) if error.in_scope => panic!("{error}"),
            Err(_) => {
                let value = init(self);
                drop(self.insert_resource(value));
            }
            Ok(_) => {}
        }
        self.resource_mut::<R>().expect("inserted, or found")
    }

    /// Takes a resource from the world and returns it.
    ///
    /// # Errors
    ///
    /// If the world does not have it.
    pub fn remove_resource<R: Send + Sync + 'static>(&mut self) -> Result<R, NoSuchResource> {
        let slot = self.resources.find_mut::<R>()?;
        match slot.value.take() {
            Some(value) => Ok(unboxed(value)),
            None => Err(missing::<R>(slot.in_scope)),
        }
    }

    /// Keeps resources of a type: they become part of checkpoints, of timelines and of clones of the world.
    ///
    /// [`checkpoint`](World::checkpoint) and [`Timeline::capture`](crate::timeline::Timeline::capture) clone the resource from
    /// now on. [`rollback`](World::rollback) and [`Timeline::rewind`](crate::timeline::Timeline::rewind) put back what was there:
    /// one that was inserted since is removed, and one that was removed is there again.
    /// [`clone_world`](World::clone_world) clones it, and the clone keeps it, too.
    ///
    /// The world need not have the resource yet. Checkpoints and frames that were made before do not cover it, and leave it
    /// alone. That resources of a type are kept is not undone by a rollback. They are not part of
    /// [deltas](crate::timeline::delta).
    ///
    /// ```
    /// use phalanx::World;
    ///
    /// #[derive(Clone, Debug, PartialEq)]
    /// struct Score(u32);
    ///
    /// let mut world = World::new();
    /// world.keep_resource::<Score>();
    /// world.insert_resource(Score(1));
    /// let before = world.checkpoint()?;
    /// world.resource_mut::<Score>()?.0 = 7;
    /// world.rollback(&before)?;
    /// assert_eq!(world.resource(), Ok(&Score(1)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If allocation fails.
    #[track_caller]
    pub fn keep_resource<R: Clone + Send + Sync + 'static>(&mut self) {
        unwrap_alloc(self.try_keep_resource::<R>());
    }

    /// Keeps resources of a type, as [`keep_resource`](World::keep_resource) does.
    ///
    /// # Errors
    ///
    /// If allocation fails. Nothing has changed then.
    pub fn try_keep_resource<R: Clone + Send + Sync + 'static>(&mut self) -> Result<(), AllocError> {
        self.resources.try_reserve(1)?;
        self.resources.place::<R>().keep = Some(clone_resource::<R>);
        Ok(())
    }

    /// Runs `scope` with a resource and the rest of the world, both for writing.
    ///
    /// Meanwhile the resource is taken out. It returns when the scope ends, by a panic too; one of the same type that was
    /// inserted meanwhile is dropped then.
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
    /// If the world does not have the resource; `scope` is not run then.
    pub fn resource_scope<R: Send + Sync + 'static, T>(
        &mut self,
        scope: impl FnOnce(&mut World, &mut R) -> T,
    ) -> Result<T, NoSuchResource> {
        /// SparseInserts the resource back.
        struct Return<'w, R: Send + Sync + 'static> {
            world: &'w mut World,
            value: Option<Stored>,
            resource: core::marker::PhantomData<fn() -> R>,
        }
        impl<R: Send + Sync + 'static> Drop for Return<'_, R> {
            fn drop(&mut self) {
                let slot = self.world.resources.place::<R>();
                slot.in_scope = false;
                // What was inserted meanwhile ends at last, with the resource in its place already.
                drop(core::mem::replace(&mut slot.value, self.value.take()));
            }
        }
        let slot = self.resources.find_mut::<R>()?;
        let value = Some(slot.value.take().ok_or(missing::<R>(slot.in_scope))?);
        slot.in_scope = true;
        let mut out = Return::<R> { world: self, value, resource: core::marker::PhantomData };
        match out.value.as_mut().and_then(|value| value.downcast_mut()) {
            Some(value) => Ok(scope(out.world, value)),
            None => unreachable!("a slot holds its type"),
        }
    }
}
