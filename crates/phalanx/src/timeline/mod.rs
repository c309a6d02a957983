//! Rollback: returning a world to an earlier state, by a [`Checkpoint`] or a [`Timeline`] of the last frames.
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
//! # What is restored
//!
//! A rollback restores the earlier state exactly:
//!
//! - Live entities and generations, reserved entities, and the order of the free list.
//! - Tables, rows and their order, sparse sets with their order and holes, linear storages, groups.
//! - The change ticks of [tracked](crate::change_detection) components, and the clock.
//! - [Kept](crate::ResourcesMut::keep) resources: each has its earlier value, or is absent if it was.
//! - [Collectors](crate::signal#back-in-time): they lose what they recorded since.
//!
//! The same operations then return the same entities and give the same orders. So a handle of the discarded time may be
//! returned again, for another entity: drop all handles of that time.
//!
//! # What is not restored
//!
//! - Listeners and collectors: what was connected or dropped stays so. A rollback calls no listener.
//! - Items that were drained from a collector.
//! - Resources that the checkpoint or frame does not cover: see [`Checkpoint::uncovered_resources`] and
//!   [`Timeline::uncovered_resources`]. The choice of kept resources is not restored either.
//! - [`ComponentId`](crate::ComponentId)s: a registered component stays registered. No order depends on ids.
//! - A [`Group`](crate::group::Group) handle that was created in the discarded time never becomes valid again.
//!
//! Query states detect by themselves that tables were removed.
//!
//! # Conditions
//!
//! All components of entities must be `#[component(clone)]`, `#[component(plain)]` or `soa`. An error names any other. If a
//! clone panics, the world is unchanged. Destructors of the discarded state run after the world is restored.
//!
//! A [`QueryState`](crate::QueryState) is not part of the world. If it last ran before the checkpoint, it continues from
//! there. If it ran in the discarded time, or before the last eight rollbacks, all values are new to it.
//!
//! # Comparison
//!
//! | | [`rollback`](World::rollback) | [`rewind`](Timeline::rewind) | [`apply_delta`](World::apply_delta) | `Registry::load` | [`try_clone`](World::try_clone) |
//! |---|---|---|---|---|---|
//! | result | the same world | the same world | the same world | a new world | a new world |
//! | entities, rows, order, groups | as they were | as they were | as in the second state | as they were saved | as they are |
//! | change ticks | as they were | as they were | what the delta changed is new now | as they were saved | as they are |
//! | reserved entities | reserved | reserved | reserved | alive, without components | reserved |
//! | kept resources | as they were | as they were | unchanged | those that are registered | cloned |
//! | other resources | unchanged | unchanged | unchanged | those that are registered | absent |
//! | listeners | unchanged | unchanged | unchanged | none | none |
//! | collectors | lose later items | lose later items | are emptied | none | none |
//! | component ids | unchanged | unchanged | unchanged | assigned again | as they are |
#![allow(unsafe_code)]

mod checkpoint;
mod delta;
mod dirty_tracking;
mod error;
mod image;
mod kept_state;
mod rollback_report;

pub use checkpoint::Checkpoint;
pub use delta::delta;
pub use error::{DeltaError, TimelineError};
pub use rollback_report::RollbackReport;

use crate::world::World;
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use dirty_tracking::Tracking;
use image::{Image, ImageUndo};
use kept_state::KeptState;
use phalanx_store::AllocError;
use std::collections::VecDeque;

/// The last frames of a world, stored as one image and the differences between frames.
///
/// Each [`capture`](Timeline::capture) adds a frame, and [`rewind`](Timeline::rewind) returns to one. A frame takes memory
/// for what has changed since the one before, in chunks of 128 rows.
///
/// ```
/// use phalanx::timeline::Timeline;
/// use phalanx::{Component, World};
///
/// #[derive(Component, Clone, Copy)]
/// #[component(plain)]
/// struct Height(i32);
///
/// let mut world = World::new();
/// let stone = world.spawn(Height(100));
/// let mut timeline = Timeline::new(60);
/// for _ in 0..10 {
///     timeline.capture(&mut world)?;
///     world.query_mut::<&mut Height>().for_each(|h| h.0 -= 1);
/// }
/// timeline.rewind(&mut world, 4)?;
/// assert_eq!(world.get::<Height>(stone).unwrap().0, 95);
/// # Ok::<(), phalanx::timeline::TimelineError>(())
/// ```
///
/// # Cost
///
/// From the first capture on, the world records what it writes: a bit for each 128 rows if an entity is written by itself,
/// and a version for a column that a query opens for writing. A capture copies the chunks whose bits are set. It compares
/// an opened column with its copy if the values are [plain](crate::Plain) or scalars of a soa component. It clones any other
/// column as a whole if the column was written at all. So large columns that change often should be plain.
///
/// Changes to adjacent rows are cheap. Writing one row of a hundred, evenly spread, touches three of four chunks: such a
/// frame takes more time and memory than a copy of the column.
///
/// Each frame has a clone of each resource that the world [keeps](crate::ResourcesMut::keep), changed or not.
///
/// Groups that own nothing are copied whole in frames in which their members change. So is the world in the frame after
/// [`World::compact`] or [`World::rollback`], which renumber tables.
#[doc(alias = "history")]
pub struct Timeline {
    /// Identifies the timeline that the dirty bits of a world belong to.
    id: u64,
    frames: usize,
    now: Option<Image>,
    /// The kept state of the last captured frame.
    kept: KeptState,
    /// The earlier frames, each with its kept state.
    past: VecDeque<(Past, KeptState)>,
}

/// The way to the frame before.
enum Past {
    Undo(ImageUndo),
    /// The whole frame, if it has nothing in common with the next one.
    Whole(Image),
}

impl Past {
    fn memory(&self) -> usize {
        match self {
            Past::Undo(undo) => undo.memory(),
            Past::Whole(image) => image.memory(),
        }
    }
}

/// Returns a number that no other timeline has or had.
fn next_id() -> u64 {
    static TIMELINES: AtomicU64 = AtomicU64::new(0);
    TIMELINES.fetch_add(1, Ordering::Relaxed)
}

impl Timeline {
    /// Creates a timeline that keeps `frames` frames before the last captured one.
    pub fn new(frames: usize) -> Timeline {
        Timeline { id: next_id(), frames, now: None, kept: KeptState::default(), past: VecDeque::new() }
    }

    /// Returns the number of frames before the last captured one.
    pub fn len(&self) -> usize {
        self.past.len()
    }

    /// Returns `true` if there is no frame before the last captured one.
    pub fn is_empty(&self) -> bool {
        self.past.is_empty()
    }

    /// Returns the number of bytes that are allocated, without what cloned values own.
    pub fn memory(&self) -> usize {
        let past = self.past.iter().map(|(past, kept)| past.memory() + kept.memory()).sum::<usize>();
        let list = self.past.capacity() * size_of::<(Past, KeptState)>();
        past + list + self.kept.memory() + self.now.as_ref().map_or(0, Image::memory)
    }

    /// Returns the type names of the resources of a world that not every frame covers, in alphabetical order.
    ///
    /// A [`rewind`](Timeline::rewind) to some frame does not change them. Before the first capture they are those that the
    /// world does not [keep](crate::ResourcesMut::keep). A resource that is kept later is covered once the older frames are dropped.
    pub fn uncovered_resources(&self, world: &World) -> impl Iterator<Item = &'static str> + use<> {
        // A kept resource stays kept, so that the oldest frame covers least.
        let oldest = self.past.front().map_or(&self.kept, |(_, kept)| kept);
        world.resources.uncovered(self.now.as_ref().map(|_| &oldest.resources)).into_iter()
    }

    /// Captures the state of the world as a frame, with the resources that are [kept](crate::ResourcesMut::keep).
    ///
    /// If there are too many frames, the oldest one is dropped.
    ///
    /// # Errors
    ///
    /// - [`TimelineError::NotClone`] if an entity has a component that can be neither cloned nor copied.
    /// - [`TimelineError::Foreign`] if the earlier frames are of another world.
    /// - [`TimelineError::Resource`] if a kept resource is taken out by a scope.
    /// - [`TimelineError::Alloc`] if allocation fails.
    ///
    /// On error no frame is added.
    pub fn capture(&mut self, world: &mut World) -> Result<(), TimelineError> {
        if self.now.as_ref().is_some_and(|now| now.registry_id != world.storage.components.registry_id.number()) {
            return Err(TimelineError::Foreign);
        }
        let kept = KeptState::try_new(world)?;
        world.storage.try_set_tracking(Tracking::Start)?;
        self.past.try_reserve(1).map_err(|_| AllocError::CapacityOverflow)?;
        let marked = world.storage.tracker == Some(self.id);
        let past = match &mut self.now {
            Some(now) if now.world == world.id() => Some(Past::Undo(now.try_update(world, marked)?)),
            now => {
                let image = Image::try_new(world)?;
                now.replace(image).map(Past::Whole)
            }
        };
        world.storage.tracker = Some(self.id);
        world.storage.clear_dirty_bits();
        let before = core::mem::replace(&mut self.kept, kept);
        self.past.extend(past.map(|past| (past, before)));
        if self.past.len() > self.frames {
            drop(self.past.pop_front());
        }
        Ok(())
    }

    /// Restores the state of the world `frames_back` frames before the last captured one; with 0, that of the last one.
    ///
    /// The frames after the restored one are dropped. The [module](crate::timeline) describes what is restored, and what is
    /// not.
    ///
    /// # Errors
    ///
    /// - [`TimelineError::NoSuchFrame`] if there are fewer frames.
    /// - [`TimelineError::Foreign`] if the frames are of another world.
    /// - [`TimelineError::Resource`] if a kept resource is taken out by a scope.
    /// - [`TimelineError::Alloc`] if allocation fails. The frames after the requested one may be dropped all the same;
    ///   `rewind(world, 0)` tries again.
    ///
    /// On error the world is unchanged.
    #[doc(alias = "rollback")]
    pub fn rewind(&mut self, world: &mut World, frames_back: usize) -> Result<(), TimelineError> {
        self.try_rewind(world, frames_back, None)
    }

    /// Restores an earlier state as [`rewind`](Timeline::rewind) does, and returns which entities that removed and restored.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`rewind`](Timeline::rewind).
    pub fn rewind_with_report(
        &mut self,
        world: &mut World,
        frames_back: usize,
    ) -> Result<RollbackReport, TimelineError> {
        let mut report = RollbackReport::default();
        self.try_rewind(world, frames_back, Some(&mut report))?;
        Ok(report)
    }

    fn try_rewind(
        &mut self,
        world: &mut World,
        frames_back: usize,
        report: Option<&mut RollbackReport>,
    ) -> Result<(), TimelineError> {
        let none = TimelineError::NoSuchFrame { back: frames_back, kept: self.past.len() };
        let Some(now) = self.now.as_mut().filter(|_| frames_back <= self.past.len()) else { return Err(none) };
        if now.registry_id != world.storage.components.registry_id.number() {
            return Err(TimelineError::Foreign);
        }
        let target = match frames_back {
            0 => &self.kept,
            back => &self.past[self.past.len() - back].1,
        };
        let kept = target.try_clone_for(world)?;
        if frames_back > 0 {
            // The dirty bits of the world are not relative to the frame that becomes the last one.
            self.id = next_id();
        }
        for _ in 0..frames_back {
            let Some((past, mut kept)) = self.past.pop_back() else { unreachable!("there are as many frames") };
            // Values are dropped after the frame before has become the last one.
            core::mem::swap(&mut self.kept, &mut kept);
            match past {
                Past::Undo(mut undo) => now.undo(&mut undo),
                Past::Whole(image) => drop(core::mem::replace(now, image)),
            }
        }
        // SAFETY: the image was made of this world, whose components keep their ids.
        let mut restored = unsafe { now.try_restore(world)? };
        restored.storage.try_set_tracking(Tracking::Start)?;
        restored.storage.clear_dirty_bits();
        let old = kept.try_swap(world, restored, report)?;
        now.set_seen(world);
        world.storage.tracker = Some(self.id);
        drop(old);
        Ok(())
    }

    /// Checks that the last frame equals the world: nothing was written since, and no earlier write was missed.
    ///
    /// Cloned values are not compared.
    ///
    /// # Errors
    ///
    /// Returns a sentence that says what does not hold.
    pub fn validate(&mut self, world: &World) -> Result<(), &'static str> {
        match &mut self.now {
            None => Err("nothing was captured"),
            Some(now) if now.world != world.id() => Err("the frames are of another world, or tables were renumbered"),
            Some(now) => match now.try_equals(&world.storage) {
                Ok(true) => Ok(()),
                Ok(false) => Err("the last frame differs from the world"),
                Err(_) => Err("allocation failed"),
            },
        }
    }

    /// Drops all frames. The world stops recording what it writes.
    pub fn detach(&mut self, world: &mut World) {
        let _frames = core::mem::replace(self, Timeline { id: self.id, ..Timeline::new(self.frames) });
        if world.storage.tracker == Some(self.id) {
            world.storage.tracker = None;
            let stopped = world.storage.try_set_tracking(Tracking::Stop);
            debug_assert!(stopped.is_ok());
        }
    }
}

impl fmt::Debug for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Timeline({} of {} frames)", self.past.len(), self.frames)
    }
}
