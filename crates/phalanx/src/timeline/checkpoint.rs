//! [`Checkpoint`]: a copy of the state of a world that it can return to.
#![allow(unsafe_code)]

use super::error::TimelineError;
use super::image::Image;
use super::kept_state::KeptState;
use super::rollback_report::RollbackReport;
use crate::world::World;

/// A copy of the state of a world that a [rollback](World::rollback) returns to. See [`World::checkpoint`].
#[doc(alias = "snapshot")]
#[derive(Debug)]
pub struct Checkpoint {
    pub(super) image: Image,
    pub(super) kept: KeptState,
}

impl Checkpoint {
    /// Returns the number of bytes that are allocated, without what cloned values own.
    pub fn memory(&self) -> usize {
        self.image.memory() + self.kept.memory()
    }

    /// Returns the type names of the resources of a world that the checkpoint does not cover, in alphabetical order.
    ///
    /// A [`rollback`](World::rollback) does not change them. [`ResourcesMut::keep`](crate::ResourcesMut::keep) makes later checkpoints cover them.
    ///
    /// ```
    /// # use phalanx::World;
    /// #[derive(Clone)]
    /// struct Score(u32);
    /// struct Window;
    ///
    /// let mut world = World::new();
    /// world.insert_resource(Score(3));
    /// world.insert_resource(Window);
    /// world.resources_mut().keep::<Score>();
    /// let checkpoint = world.checkpoint()?;
    /// let names: Vec<&str> = checkpoint.uncovered_resources(&world).collect();
    /// assert!(names.len() == 1 && names[0].ends_with("Window"));
    /// # Ok::<(), phalanx::timeline::TimelineError>(())
    /// ```
    pub fn uncovered_resources(&self, world: &World) -> impl Iterator<Item = &'static str> + use<> {
        world.resources.uncovered(Some(&self.kept.resources)).into_iter()
    }
}

impl World {
    /// Returns a copy of the state of the world, with the resources that are [kept](crate::ResourcesMut::keep).
    ///
    /// # Errors
    ///
    /// - [`TimelineError::NotClone`] if an entity has a component that can be neither cloned nor copied.
    /// - [`TimelineError::Resource`] if a kept resource is taken out by a scope.
    /// - [`TimelineError::Alloc`] if allocation fails.
    pub fn checkpoint(&self) -> Result<Checkpoint, TimelineError> {
        let kept = KeptState::try_new(self)?;
        // Later changes get later ticks than earlier ones. Deltas depend on it.
        self.storage.sparse.clock.take();
        Ok(Checkpoint { image: Image::try_new(self)?, kept })
    }

    /// Restores the state of a checkpoint, which stays valid.
    ///
    /// The [module](crate::timeline) describes what is restored, and what is not.
    ///
    /// # Errors
    ///
    /// - [`TimelineError::Foreign`] if the checkpoint is of another world.
    /// - [`TimelineError::Resource`] if a kept resource is taken out by a scope.
    /// - [`TimelineError::Alloc`] if allocation fails.
    ///
    /// On error the world is unchanged.
    #[doc(alias = "restore")]
    pub fn rollback(&mut self, checkpoint: &Checkpoint) -> Result<(), TimelineError> {
        restore(self, checkpoint, None)
    }

    /// Restores the state of a checkpoint, and returns which entities that removed and restored.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`rollback`](World::rollback).
    pub fn rollback_with_report(&mut self, checkpoint: &Checkpoint) -> Result<RollbackReport, TimelineError> {
        let mut report = RollbackReport::default();
        restore(self, checkpoint, Some(&mut report))?;
        Ok(report)
    }
}

fn restore(
    world: &mut World,
    checkpoint: &Checkpoint,
    report: Option<&mut RollbackReport>,
) -> Result<(), TimelineError> {
    if checkpoint.image.registry_id != world.storage.components.registry_id.number() {
        return Err(TimelineError::Foreign);
    }
    let kept = checkpoint.kept.try_clone_for(world)?;
    // SAFETY: the image was made of this world, whose components keep their ids.
    let restored = unsafe { checkpoint.image.try_restore(world)? };
    drop(kept.try_swap(world, restored, report)?);
    Ok(())
}
