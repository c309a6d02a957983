//! [`ResourcesMut`]: rare operations on the resources of a world.

use super::World;
use crate::alloc::unwrap_alloc;
use crate::plain::Plain;
use crate::resources::{PlainResource, ResMut, clone_resource};
use core::fmt;
use phalanx_store::AllocError;

/// The resources of a world: [`World::resources_mut`].
pub struct ResourcesMut<'w> {
    world: &'w mut World,
}

impl World {
    /// Returns the resources, for the operations that concern more than the value of one.
    pub fn resources_mut(&mut self) -> ResourcesMut<'_> {
        ResourcesMut { world: self }
    }
}

impl<'w> ResourcesMut<'w> {
    /// Returns a resource, for writing. If the world does not have it, `init` creates it.
    ///
    /// `init` may read and change the world. If it inserts the resource itself, its result replaces that one.
    ///
    /// ```
    /// use phalanx::World;
    ///
    /// #[derive(Debug, Default, PartialEq)]
    /// struct Score(u32);
    ///
    /// let mut world = World::new();
    /// world.spawn_empty();
    /// world.resources_mut().init(|world| Score(world.len() as u32)).0 += 10;
    /// assert_eq!(*world.resources_mut().init(|_| Score::default()), Score(11));
    /// ```
    ///
    /// # Panics
    ///
    /// If [`resource_scope`](World::resource_scope) has taken it out.
    #[doc(alias = "get_resource_or_insert_with")]
    #[track_caller]
    pub fn init<R: Send + Sync + 'static>(self, init: impl FnOnce(&mut World) -> R) -> ResMut<'w, R> {
        match self.world.resource::<R>() {
            Err(error) if error.in_scope => panic!("{error}"),
            Err(_) => {
                let value = init(self.world);
                drop(self.world.insert_resource(value));
            }
            Ok(_) => {}
        }
        self.world.resource_mut::<R>().expect("inserted, or found")
    }

    /// Keeps resources of a type: they become part of checkpoints, of timelines and of clones of the world.
    ///
    /// - [`checkpoint`](World::checkpoint) and [`Timeline::capture`](crate::timeline::Timeline::capture) clone the resource from
    ///   now on.
    /// - [`rollback`](World::rollback) and [`Timeline::rewind`](crate::timeline::Timeline::rewind) restore it. A resource that was
    ///   inserted since is removed, and one that was removed is inserted again.
    /// - [`try_clone`](World::try_clone) clones it, and the clone keeps it, too.
    ///
    /// The world need not have the resource yet. Earlier checkpoints and frames do not contain it, and leave it alone. A rollback
    /// does not undo this call. Resources that are kept by [`keep_plain`](crate::ResourcesMut::keep_plain) are part of [deltas](crate::timeline::delta), too.
    ///
    /// ```
    /// use phalanx::World;
    ///
    /// #[derive(Clone, Debug, PartialEq)]
    /// struct Score(u32);
    ///
    /// let mut world = World::new();
    /// world.resources_mut().keep::<Score>();
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
    pub fn keep<R: Clone + Send + Sync + 'static>(&mut self) {
        unwrap_alloc(self.try_keep::<R>());
    }

    /// Keeps resources of a plain type, like [`keep`](crate::ResourcesMut::keep). They are also part of
    /// [deltas](crate::timeline::delta).
    ///
    /// A world that applies a delta must keep the resource too. If it does not have the resource, it gets it.
    ///
    /// ```
    /// use phalanx::timeline::delta;
    /// use phalanx::{Plain, World};
    ///
    /// #[derive(Plain, Clone, Copy, Debug, PartialEq)]
    /// struct Score(u32);
    ///
    /// let mut here = World::new();
    /// here.resources_mut().keep_plain::<Score>();
    /// here.insert_resource(Score(1));
    /// let mut there = here.try_clone().unwrap();
    /// let before = here.checkpoint()?;
    /// here.resource_mut::<Score>()?.0 = 7;
    /// there.apply_delta(&delta(&before, &here.checkpoint()?)?)?;
    /// assert_eq!(there.resource(), Ok(&Score(7)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If allocation fails.
    #[track_caller]
    pub fn keep_plain<R: Plain>(&mut self) {
        self.keep::<R>();
        self.world.resources.slot_mut::<R>().plain = Some(PlainResource::new::<R>());
    }

    /// Keeps resources of a type, like [`keep`](crate::ResourcesMut::keep), but returns an error if allocation fails.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if allocation fails. Nothing has changed.
    pub fn try_keep<R: Clone + Send + Sync + 'static>(&mut self) -> Result<(), AllocError> {
        self.world.resources.try_reserve(1)?;
        self.world.resources.slot_mut::<R>().keep = Some(clone_resource::<R>);
        Ok(())
    }
}

impl fmt::Debug for ResourcesMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.world.resources.fmt(f)
    }
}
