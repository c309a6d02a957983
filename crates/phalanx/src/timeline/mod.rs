//! Worlds brought back to what they were: a [`Checkpoint`], or a [`Timeline`] of the last frames.
//!
//! ```
//! use phalanx::{Component, World};
//!
//! #[derive(Component, Clone, Debug, PartialEq)]
//! #[component(clone)]
//! struct Name(String);
//!
//! let mut world = World::new();
//! let ann = world.spawn(Name("Ann".into()));
//! let before = world.checkpoint()?;
//! world.get_mut::<Name>(ann).unwrap().0.push_str("ihilated");
//! world.despawn(ann).unwrap();
//! world.rollback(&before)?;
//! assert_eq!(world.get::<Name>(ann).unwrap().0, "Ann");
//! # Ok::<(), phalanx::timeline::TimelineError>(())
//! ```
//!
//! # What comes back
//!
//! Afterwards the world is exactly what it was:
//!
//! - Entities with their generations, those that are reserved, and those that are free in the order in which they will be used.
//! - Tables, rows and their order, pools with their order and holes, linear stores, groups.
//! - Marks of what is [tracked](crate::change_detection), and the time.
//! - Resources that are [kept](crate::ResourcesMut::keep): each has the value that it had, or is absent if it was.
//! - [Collectors](crate::signal#back-in-time): what they have recorded since is gone.
//!
//! The same operations then give the same entities and the same order again. So a handle that was made in the discarded time may
//! be made again, for another entity: forget handles of that time.
//!
//! # What does not come back
//!
//! - Listeners and collectors that were connected or dropped stay so. The rollback itself is no signal.
//! - What was drained from a collector.
//! - Resources that the checkpoint or frame does not cover: [`Checkpoint::uncovered_resources`],
//!   [`Timeline::uncovered_resources`]. Which resources are kept stays, too.
//! - [`ComponentId`](crate::ComponentId)s: a component that was registered stays registered. No order depends on ids.
//! - A [`Group`](crate::group::Group) handle that was made in the discarded time never leads to a group again.
//!
//! Query states find out by themselves that tables are gone.
//!
//! # Conditions
//!
//! All components that entities have must be `#[component(clone)]`, `#[component(plain)]` or `soa`; others are named in an
//! error. A panic of a clone leaves the world as it was; one of a destructor, of the state that is discarded, comes when the
//! world is back already.
//!
//! A [`QueryState`](crate::QueryState) is not part of the world. One that ran last before the checkpoint goes on from there. To
//! one that ran in the discarded time everything is new, and also to one that ran before the last eight times back.
//!
//! # Which way back
//!
//! | | [`rollback`](World::rollback) | [`rewind`](Timeline::rewind) | [`apply_delta`](World::apply_delta) | `World::load` | [`try_clone`](World::try_clone) |
//! |---|---|---|---|---|---|
//! | result | the same world | the same world | the same world | a new world | a new world |
//! | entities, rows, order, groups | as they were | as they were | as in the second state | as they were saved | as they are |
//! | time and marks | as they were | as they were | what the delta changed is new now | as they were saved | as they are |
//! | reserved entities | reserved | reserved | reserved | alive, without components | reserved |
//! | kept resources | as they were | as they were | left alone | those that are registered | cloned |
//! | other resources | left alone | left alone | left alone | those that are registered | absent |
//! | listeners | stay | stay | stay | none | none |
//! | collectors | lose what is later | lose what is later | are emptied | none | none |
//! | component ids | stay | stay | stay | are given anew | as they are |
#![allow(unsafe_code)]

mod array;
mod bytes;
mod canonical;
mod check;
mod column;
mod context;
mod delta;
mod error;
mod image;
mod restore;
mod ring;
mod rollback_report;
mod step;
mod track;
mod values;

pub use delta::delta;
pub use error::{DeltaError, TimelineError};
pub use ring::Timeline;
pub use rollback_report::RollbackReport;

use crate::world::World;
use context::Context;
use image::Image;

/// The state of a world at one time: [`World::checkpoint`].
#[derive(Debug)]
pub struct Checkpoint {
    image: Image,
    context: Context,
}

impl Checkpoint {
    /// Bytes held from the allocator. What clones hold beside their rows is not known.
    pub fn memory(&self) -> usize {
        self.image.memory() + self.context.memory()
    }

    /// Returns the type names of the resources of a world that the checkpoint does not cover, in alphabetical order.
    ///
    /// A [`rollback`](World::rollback) leaves them alone. [`ResourcesMut::keep`](crate::ResourcesMut::keep) has later checkpoints cover them.
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
        world.resources.uncovered(Some(&self.context.resources)).into_iter()
    }
}

impl World {
    /// Copies the state of the world as it is now, with the resources that are [kept](crate::ResourcesMut::keep).
    ///
    /// # Errors
    ///
    /// - [`TimelineError::NotClone`] if an entity has a component that can be neither cloned nor copied.
    /// - [`TimelineError::Resource`] if a kept resource is taken out by a scope.
    /// - [`TimelineError::Alloc`] if allocation fails.
    pub fn checkpoint(&self) -> Result<Checkpoint, TimelineError> {
        let context = Context::try_new(self)?;
        // What is changed from now on has other marks than what was changed before: a delta goes by it.
        self.storage.sparse.clock.take();
        Ok(Checkpoint { image: Image::try_new(self)?, context })
    }

    /// Brings the world back to what it was at a checkpoint, which stays good.
    ///
    /// The [module](crate::timeline) says what is part of that, and what is not.
    ///
    /// # Errors
    ///
    /// - [`TimelineError::Foreign`] if the checkpoint is another world's.
    /// - [`TimelineError::Resource`] if a kept resource is taken out by a scope.
    /// - [`TimelineError::Alloc`] if allocation fails.
    ///
    /// On error the world is unchanged.
    pub fn rollback(&mut self, checkpoint: &Checkpoint) -> Result<(), TimelineError> {
        self.try_rollback(checkpoint, None)
    }

    /// Brings the world back as [`rollback`](World::rollback) does, and reports which entities it removed and restored.
    ///
    /// # Errors
    ///
    /// As [`rollback`](World::rollback).
    pub fn rollback_with_report(&mut self, checkpoint: &Checkpoint) -> Result<RollbackReport, TimelineError> {
        let mut report = RollbackReport::default();
        self.try_rollback(checkpoint, Some(&mut report))?;
        Ok(report)
    }

    fn try_rollback(
        &mut self,
        checkpoint: &Checkpoint,
        report: Option<&mut RollbackReport>,
    ) -> Result<(), TimelineError> {
        if checkpoint.image.space != self.storage.components.space.number() {
            return Err(TimelineError::Foreign);
        }
        let context = checkpoint.context.try_clone_for(self)?;
        // SAFETY: the image was made of this world, whose components keep their ids.
        let fresh = unsafe { checkpoint.image.try_restore(self)? };
        drop(self.try_take_over(fresh, context, report)?);
        Ok(())
    }
}
