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
//! The past exactly: entities with their generations, those that are free in the order in which they will be used, tables,
//! rows and their order, pools with their order and holes, linear stores, groups. The same operations give the same
//! entities and the same order again as if the time between had never been. So a handle that was made in the time between
//! may be made again, for another entity: that is what it means. Handles of that time are to be forgotten with it.
//!
//! Tables that were made since are gone, and query states find out. Component ids that were given out stay what they are.
//! Resources are left alone: a world has no way to copy them. Nobody is told: no signal is sent.
//!
//! All components that entities have must be `#[component(clone)]`, `#[component(plain)]` or `soa`; others are named in an
//! error. A panic of a clone leaves the world as it was; one of a destructor, of the state that is discarded, comes when the
//! world is back already.
//!
//! Marks of what is [tracked](crate::track) come back as well, and the time with them. A [`QueryState`](crate::QueryState) is
//! not part of the world: one that ran last before the checkpoint goes on from there; to one that ran in the discarded time
//! everything is new, and so it is, to be safe, after eight times back since its last run.
#![allow(unsafe_code)]

mod array;
mod bytes;
mod canonical;
mod check;
mod column;
mod delta;
mod error;
mod image;
mod restore;
mod ring;
mod step;
mod track;
mod values;

pub use delta::delta;
pub use error::{DeltaError, TimelineError};
pub use ring::Timeline;

use crate::world::World;
use image::Image;

/// The state of a world at one time: [`World::checkpoint`].
#[derive(Debug)]
pub struct Checkpoint {
    image: Image,
}

impl Checkpoint {
    /// Bytes held from the allocator. What clones hold beside their rows is not known.
    pub fn memory(&self) -> usize {
        self.image.memory()
    }
}

impl World {
    /// The state of the world as it is now.
    ///
    /// # Errors
    ///
    /// If an entity has a component that can be neither cloned nor copied, which is named, or memory cannot be had.
    pub fn checkpoint(&self) -> Result<Checkpoint, TimelineError> {
        // What is changed from now on has other marks than what was changed before: a delta goes by it.
        self.sides.clock.take();
        Ok(Checkpoint { image: Image::try_new(self)? })
    }

    /// Brings the world back to what it was at a checkpoint, which stays good.
    ///
    /// See the [module](crate::timeline) for what that means.
    ///
    /// # Errors
    ///
    /// If the checkpoint is another world's, or memory cannot be had; nothing happens then.
    pub fn rollback(&mut self, checkpoint: &Checkpoint) -> Result<(), TimelineError> {
        if checkpoint.image.space != self.components.space.number() {
            return Err(TimelineError::Foreign);
        }
        // SAFETY: the image was made of this world, whose components keep their ids.
        let fresh = unsafe { checkpoint.image.try_restore(self)? };
        drop(self.become_state(fresh));
        Ok(())
    }
}
