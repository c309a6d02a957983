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
//! A [`QueryState`](crate::QueryState) is not part of the world, and remembers its last runs. After a rollback it continues
//! from its last run before the restored state. So a frame that runs again sees the same values as changed as it did the first
//! time. A state remembers one run before each of the last 128 checkpoints or frames. All values are new to it if none of these
//! is before the restored state, or if that was before the last 64 rollbacks. Systems and their resources do the same.
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
mod difference;
mod error;
mod frame_sums;
mod image;
mod kept_state;
mod rollback_report;
mod state_array;

pub use checkpoint::Checkpoint;
pub use delta::delta;
pub use difference::{Difference, differences};
pub use error::{DeltaError, TimelineError};
pub use frame_sums::{ComponentSum, FrameSums, ResourceSum};
pub use rollback_report::RollbackReport;
pub use state_array::{ArrayKey, ArrayPart, StateArray};

use crate::dirty_tracking::Tracking;
use crate::world::World;
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use image::{Image, ImageUndo, Rewind};
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
    keeps_sums: bool,
    /// The number of the last captured frame.
    number: u64,
    now: Option<Image>,
    /// The kept state of the last captured frame.
    kept: KeptState,
    /// The sums of the last captured frame, if they are kept.
    sums: Option<FrameSums>,
    /// The earlier frames.
    past: VecDeque<PastFrame>,
}

/// An earlier frame.
struct PastFrame {
    past: Past,
    kept: KeptState,
    sums: Option<FrameSums>,
}

impl PastFrame {
    fn memory(&self) -> usize {
        self.past.memory() + self.kept.memory() + self.sums.as_ref().map_or(0, FrameSums::memory)
    }
}

/// The way to the frame before.
enum Past {
    Undo(ImageUndo),
    /// The whole frame, if it has nothing in common with the next one.
    Whole(Image),
}

impl Past {
    fn undo(&self) -> Option<&ImageUndo> {
        match self {
            Past::Undo(undo) => Some(undo),
            Past::Whole(_) => None,
        }
    }

    fn undo_mut(&mut self) -> Option<&mut ImageUndo> {
        match self {
            Past::Undo(undo) => Some(undo),
            Past::Whole(_) => None,
        }
    }

    fn memory(&self) -> usize {
        match self {
            Past::Undo(undo) => undo.memory(),
            Past::Whole(image) => image.memory(),
        }
    }
}

/// What a rewind has replaced. It is dropped last.
#[allow(dead_code, clippy::large_enum_variant)]
enum Old {
    InPlace((Rewind, KeptState)),
    Whole((World, KeptState)),
}

/// Brings a world to the state of an image by writing what differs. Returns what was replaced.
///
/// # Safety
///
/// The image was made of this world, and its tables and storages have the numbers of the image.
unsafe fn rewind_in_place(
    image: &Image,
    world: &mut World,
    mut kept: KeptState,
    marked: bool,
    report: Option<&mut RollbackReport>,
) -> Result<(Rewind, KeptState), AllocError> {
    kept.try_reserve_in(world)?;
    world.storage.try_set_tracking(Tracking::Start)?;
    // SAFETY: the image is of this world and its tables, by the caller's contract. Nothing happens between the two calls.
    let rewind = unsafe {
        let mut rewind = Rewind::try_new(image, world, marked, report)?;
        rewind.commit(image, world);
        rewind
    };
    kept.swap_into(world);
    world.storage.clear_dirty_bits();
    Ok((rewind, kept))
}

/// Brings a world to the state of an image by making a whole world. Returns what was replaced.
///
/// # Safety
///
/// The image was made of this world.
unsafe fn restore_whole(
    image: &Image,
    world: &mut World,
    kept: KeptState,
    report: Option<&mut RollbackReport>,
) -> Result<(World, KeptState), AllocError> {
    // SAFETY: the image was made of this world, by the caller's contract.
    let mut restored = unsafe { image.try_restore(world)? };
    restored.storage.try_set_tracking(Tracking::Start)?;
    restored.storage.clear_dirty_bits();
    kept.try_swap(world, restored, report)
}

/// Returns a number that no other timeline has or had.
fn next_id() -> u64 {
    static TIMELINES: AtomicU64 = AtomicU64::new(0);
    TIMELINES.fetch_add(1, Ordering::Relaxed)
}

impl Timeline {
    /// Creates a timeline that keeps `frames` frames before the last captured one.
    pub fn new(frames: usize) -> Timeline {
        Timeline {
            id: next_id(),
            frames,
            keeps_sums: false,
            number: 0,
            now: None,
            kept: KeptState::default(),
            sums: None,
            past: VecDeque::new(),
        }
    }

    /// Creates a timeline that keeps `frames` frames before the last captured one, and the [sums](Timeline::sums) of all.
    ///
    /// A capture then computes the checksums of the chunks that it copies. It takes 8 bytes for each 128 rows of a column.
    pub fn with_sums(frames: usize) -> Timeline {
        Timeline { keeps_sums: true, ..Timeline::new(frames) }
    }

    /// Returns the checksums of the frame `frames_back` frames before the last captured one.
    ///
    /// Returns `None` if there is no such frame, or the timeline was not made by [`with_sums`](Timeline::with_sums).
    pub fn sums(&self, frames_back: usize) -> Option<&FrameSums> {
        match self.past.len().checked_sub(frames_back)? {
            at if at == self.past.len() => self.sums.as_ref(),
            at => self.past[at].sums.as_ref(),
        }
    }

    /// Returns the number of the last captured frame. The first capture has the number 0, and each later one the next.
    ///
    /// Returns `None` if nothing was captured. After a [`rewind`](Timeline::rewind) it is the number of the restored frame.
    pub fn frame(&self) -> Option<u64> {
        self.now.as_ref().map(|_| self.number)
    }

    /// Returns how many frames a frame is before the last captured one, or `None` if the frame is not kept.
    ///
    /// ```
    /// # use phalanx::World;
    /// # use phalanx::timeline::Timeline;
    /// # let mut world = World::new();
    /// let mut timeline = Timeline::new(2);
    /// for _ in 0..5 {
    ///     timeline.capture(&mut world)?;
    /// }
    /// assert_eq!(timeline.frame(), Some(4));
    /// assert_eq!((timeline.frames_back(3), timeline.frames_back(1)), (Some(1), None));
    /// # Ok::<(), phalanx::timeline::TimelineError>(())
    /// ```
    pub fn frames_back(&self, frame: u64) -> Option<usize> {
        let back = usize::try_from(self.frame()?.checked_sub(frame)?).ok()?;
        (back <= self.past.len()).then_some(back)
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
        let past = self.past.iter().map(PastFrame::memory).sum::<usize>();
        let list = self.past.capacity() * size_of::<PastFrame>();
        let sums = self.sums.as_ref().map_or(0, FrameSums::memory);
        past + list + sums + self.kept.memory() + self.now.as_ref().map_or(0, Image::memory)
    }

    /// Returns the type names of the resources of a world that not every frame covers, in alphabetical order.
    ///
    /// A [`rewind`](Timeline::rewind) to some frame does not change them. Before the first capture they are those that the
    /// world does not [keep](crate::ResourcesMut::keep). A resource that is kept later is covered once the older frames are dropped.
    pub fn uncovered_resources(&self, world: &World) -> impl Iterator<Item = &'static str> + use<> {
        // A kept resource stays kept, so that the oldest frame covers least.
        let oldest = self.past.front().map_or(&self.kept, |frame| &frame.kept);
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
        let mut sums = match self.keeps_sums {
            true => {
                let mut sums = FrameSums::try_with_capacity(world.storage.components.len())?;
                kept.resources.try_sums(|name, bytes| sums.try_add_resource(name, bytes))?;
                Some(sums)
            }
            false => None,
        };
        let past = match &mut self.now {
            Some(now) if now.world == world.id() => Some(Past::Undo(now.try_update(world, marked)?)),
            now => {
                let mut image = Image::try_new(world)?;
                if self.keeps_sums {
                    image.try_keep_sums(&world.storage.components)?;
                }
                now.replace(image).map(Past::Whole)
            }
        };
        if let (Some(now), Some(sums)) = (&self.now, &mut sums) {
            now.add_sums(&world.storage, sums);
            sums.sort();
        }
        world.storage.tracker = Some(self.id);
        world.storage.clear_dirty_bits();
        let before = (core::mem::replace(&mut self.kept, kept), core::mem::replace(&mut self.sums, sums));
        if let Some(past) = past {
            self.past.push_back(PastFrame { past, kept: before.0, sums: before.1 });
            self.number += 1;
        }
        if self.past.len() > self.frames {
            drop(self.past.pop_front());
        }
        Ok(())
    }

    /// Returns the frame `frames_back` frames before the last captured one as a checkpoint, which is kept until it is dropped.
    ///
    /// This copies the whole frame. The timeline and the world are unchanged. Checkpoints of frames can be rolled back to, and
    /// two of them have a [`delta`].
    ///
    /// # Errors
    ///
    /// - [`TimelineError::NoSuchFrame`] if there are fewer frames.
    /// - [`TimelineError::Foreign`] if the frames are of another world.
    /// - [`TimelineError::Resource`] if a kept resource is taken out by a scope.
    /// - [`TimelineError::Alloc`] if allocation fails.
    pub fn pin(&self, world: &World, frames_back: usize) -> Result<Checkpoint, TimelineError> {
        let none = TimelineError::NoSuchFrame { back: frames_back, kept: self.past.len() };
        let Some(now) = self.now.as_ref().filter(|_| frames_back <= self.past.len()) else { return Err(none) };
        if now.registry_id != world.storage.components.registry_id.number() {
            return Err(TimelineError::Foreign);
        }
        let first = self.past.len() - frames_back;
        let kept = self.past.get(first).map_or(&self.kept, |frame| &frame.kept).try_clone_for(world)?;
        let whole = (first..self.past.len()).find(|at| matches!(self.past[*at].past, Past::Whole(_)));
        let (end, base) = match whole.map(|at| (at, &self.past[at].past)) {
            Some((at, Past::Whole(image))) => (at, image),
            _ => (self.past.len(), now),
        };
        let undos = self.past.range(first..end).filter_map(|frame| frame.past.undo());
        let mut image = base.try_clone_at(undos, &world.storage.components)?;
        if whole.is_some() {
            // Nothing is known about the difference from the last frame.
            image.begin_restore();
        }
        Ok(Checkpoint { image, kept })
    }

    /// Returns the way from the frame before to the frame `frames_back` frames before the last captured one, as bytes.
    ///
    /// [`World::apply_delta`] applies them to a world that is in the frame before. So a replica or a recording follows frame by
    /// frame. For the last frame, only the chunks that the capture has copied are compared.
    ///
    /// Returns `None` if one of the two frames is not kept.
    ///
    /// ```
    /// # use phalanx::timeline::Timeline;
    /// # use phalanx::{Component, World};
    /// # #[derive(Component, Clone, Copy)]
    /// # #[component(plain)]
    /// # struct Height(i32);
    /// let mut here = World::new();
    /// let stone = here.spawn(Height(100));
    /// let mut there = here.try_clone().unwrap();
    /// let mut timeline = Timeline::new(1);
    /// timeline.capture(&mut here)?;
    /// for _ in 0..10 {
    ///     here.query_mut::<&mut Height>().for_each(|h| h.0 -= 1);
    ///     timeline.capture(&mut here)?;
    ///     there.apply_delta(&timeline.step(&here, 0)?.unwrap())?;
    /// }
    /// assert_eq!(there.get::<Height>(stone)?.0, 90);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`delta`], and [`DeltaError::Resource`] if a kept resource is taken out by a scope.
    pub fn step(&self, world: &World, frames_back: usize) -> Result<Option<Vec<u8>>, DeltaError> {
        let before = match self.pin(world, frames_back + 1) {
            Err(TimelineError::NoSuchFrame { .. }) => return Ok(None),
            before => before?,
        };
        let base = (&before.image, &before.kept);
        let Some(now) = self.now.as_ref().filter(|_| frames_back == 0) else {
            let target = self.pin(world, frames_back)?;
            return delta::try_delta(base, (&target.image, &target.kept), false).map(Some);
        };
        let is_derived = self.past.back().is_some_and(|frame| frame.past.undo().is_some());
        delta::try_delta(base, (now, &self.kept), is_derived).map(Some)
    }

    /// Returns a world in the state `frames_back` frames before the last captured one, to look at it without going back.
    ///
    /// The world has the components and the [kept](crate::ResourcesMut::keep) resources of that frame, and no listeners, as a
    /// [clone](World::try_clone) has.
    ///
    /// ```
    /// # use phalanx::timeline::Timeline;
    /// # use phalanx::{Component, World};
    /// # #[derive(Component, Clone, Copy)]
    /// # #[component(plain)]
    /// # struct Height(i32);
    /// let mut world = World::new();
    /// let stone = world.spawn(Height(100));
    /// let mut timeline = Timeline::new(60);
    /// for _ in 0..10 {
    ///     timeline.capture(&mut world)?;
    ///     world.query_mut::<&mut Height>().for_each(|h| h.0 -= 1);
    /// }
    /// let then = timeline.at(&world, 4)?;
    /// assert_eq!(then.get::<Height>(stone).unwrap().0, 95);
    /// assert_eq!(world.get::<Height>(stone).unwrap().0, 90);
    /// # Ok::<(), phalanx::timeline::TimelineError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`pin`](Timeline::pin).
    pub fn at(&self, world: &World, frames_back: usize) -> Result<World, TimelineError> {
        let Checkpoint { image, kept } = self.pin(world, frames_back)?;
        // SAFETY: the image was made of this world, whose components keep their ids.
        let mut then = unsafe { image.try_restore(world)? };
        then.resources = crate::resources::Resources::try_from_kept(kept.resources)?;
        Ok(then)
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
        let first = self.past.len() - frames_back;
        let kept = self.past.get(first).map_or(&self.kept, |frame| &frame.kept).try_clone_for(world)?;
        // The last frame that is stored as a whole, if there is one. Later frames have nothing in common with it.
        let whole = (first..self.past.len()).find(|at| matches!(self.past[*at].past, Past::Whole(_)));
        let end = whole.unwrap_or(self.past.len());
        if let Some(Past::Whole(image)) = whole.map(|at| &mut self.past[at].past) {
            core::mem::swap(now, image);
        }
        let undos = self.past.range(first..end).filter_map(|frame| frame.past.undo());
        let mut removed = match now.try_prepare_restore(undos) {
            Ok(removed) => removed,
            Err(error) => {
                if let Some(Past::Whole(image)) = whole.map(|at| &mut self.past[at].past) {
                    core::mem::swap(now, image);
                }
                return Err(error.into());
            }
        };
        let marked = world.storage.tracker == Some(self.id);
        if frames_back > 0 {
            // The dirty bits of the world are not relative to the frame that becomes the last one.
            self.id = next_id();
            now.restore_from(self.past.range_mut(first..end).filter_map(|frame| frame.past.undo_mut()), &mut removed);
            core::mem::swap(&mut self.kept, &mut self.past[first].kept);
            core::mem::swap(&mut self.sums, &mut self.past[first].sums);
            self.number -= frames_back as u64;
        }
        // What is discarded is dropped after the world is restored, also if that fails.
        let discarded = (self.past.drain(first..), removed);
        let is_in_place = whole.is_none() && now.world == world.id();
        let old = match is_in_place {
            // SAFETY: the image was made of this world, whose tables have the same numbers.
            true => unsafe { Old::InPlace(rewind_in_place(now, world, kept, marked, report)?) },
            // SAFETY: the image was made of this world, whose components keep their ids.
            false => unsafe { Old::Whole(restore_whole(now, world, kept, report)?) },
        };
        now.set_seen(world);
        world.storage.tracker = Some(self.id);
        drop((old, discarded));
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
                Ok(true) if now.has_valid_sums() => Ok(()),
                Ok(true) => Err("the last frame has other sums than its chunks"),
                Ok(false) => Err("the last frame differs from the world"),
                Err(_) => Err("allocation failed"),
            },
        }
    }

    /// Drops all frames. The world stops recording what it writes.
    pub fn detach(&mut self, world: &mut World) {
        let empty = Timeline { id: self.id, keeps_sums: self.keeps_sums, ..Timeline::new(self.frames) };
        let _frames = core::mem::replace(self, empty);
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
