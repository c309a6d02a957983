//! The last frames of a world.
#![allow(unsafe_code)]

use super::context::Context;
use super::error::TimelineError;
use super::image::Image;
use super::rollback_report::RollbackReport;
use super::step::{Step, each_tracked, try_track, unmark};
use crate::world::World;
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::VecDeque;

/// The last frames of a world, to be gone back to.
///
/// It has one copy of the world as it was at the last [`capture`](Timeline::capture), and for each frame before what is
/// different in it. So a frame takes memory for what changed, in chunks of 128 rows.
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
/// # What it costs
///
/// From its first capture on, the world marks what it writes: a bit for each 128 rows where an entity is written by itself,
/// a number for a column that a query opens for writing. A capture looks at the marks. Marked chunks are copied. A column
/// that was opened is compared with the copy if it is [plain](crate::Plain) or of scalars in lanes; any other is cloned as a
/// whole, as is one of clones that was written at all. So what is large and changes often should be plain.
///
/// Changes are cheap where they lie together. If one row of a hundred is written, here and there, three of four chunks are
/// touched: such a frame costs more than copying the column, in time and in memory.
///
/// Each frame has a clone of each resource that the world [keeps](crate::ResourcesMut::keep), changed or not.
///
/// Groups that own nothing are copied whole in frames in which their members change; and so is everything in the frame after
/// tables got other numbers, by [`World::compact`] or [`World::rollback`].
pub struct Timeline {
    /// Whose marks they are, in the world.
    id: u64,
    frames: usize,
    now: Option<Image>,
    /// That of the last frame captured.
    context: Context,
    /// The frames before, each with its context.
    past: VecDeque<(Past, Context)>,
}

/// The way to the frame before.
enum Past {
    Step(Step),
    /// All of it, where the two have nothing in common.
    Whole(Image),
}

impl Past {
    fn memory(&self) -> usize {
        match self {
            Past::Step(step) => step.memory(),
            Past::Whole(image) => image.memory(),
        }
    }
}

/// A number that no other timeline has or had.
fn next_id() -> u64 {
    static TIMELINES: AtomicU64 = AtomicU64::new(0);
    TIMELINES.fetch_add(1, Ordering::Relaxed)
}

impl Timeline {
    /// A timeline that keeps so many frames before the last one captured.
    pub fn new(frames: usize) -> Timeline {
        Timeline { id: next_id(), frames, now: None, context: Context::default(), past: VecDeque::new() }
    }

    /// How many frames it can go back, from the last one captured.
    pub fn len(&self) -> usize {
        self.past.len()
    }

    /// Whether there is no frame before the last one captured.
    pub fn is_empty(&self) -> bool {
        self.past.is_empty()
    }

    /// Bytes held from the allocator. What clones hold beside their rows is not known.
    pub fn memory(&self) -> usize {
        let past = self.past.iter().map(|(past, context)| past.memory() + context.memory()).sum::<usize>();
        let list = self.past.capacity() * size_of::<(Past, Context)>();
        past + list + self.context.memory() + self.now.as_ref().map_or(0, Image::memory)
    }

    /// Returns the type names of the resources of a world that not every frame covers, in alphabetical order.
    ///
    /// A [`rewind`](Timeline::rewind) to some frame leaves them alone. Before the first capture they are those that the world
    /// does not [keep](crate::ResourcesMut::keep). A resource that is kept later is covered when the frames before are forgotten.
    pub fn uncovered_resources(&self, world: &World) -> impl Iterator<Item = &'static str> + use<> {
        // What is kept stays so: the oldest frame covers least.
        let oldest = self.past.front().map_or(&self.context, |(_, context)| context);
        world.resources.uncovered(self.now.as_ref().map(|_| &oldest.resources)).into_iter()
    }

    /// Keeps the state of the world as a frame, with the resources that are [kept](crate::ResourcesMut::keep). The oldest frame is
    /// forgotten if there are too many.
    ///
    /// # Errors
    ///
    /// - [`TimelineError::NotClone`] if an entity has a component that can be neither cloned nor copied.
    /// - [`TimelineError::Foreign`] if the frames before are another world's.
    /// - [`TimelineError::Resource`] if a kept resource is taken out by a scope.
    /// - [`TimelineError::Alloc`] if allocation fails.
    ///
    /// On error nothing is kept.
    pub fn capture(&mut self, world: &mut World) -> Result<(), TimelineError> {
        if self.now.as_ref().is_some_and(|now| now.space != world.storage.components.space.number()) {
            return Err(TimelineError::Foreign);
        }
        let context = Context::try_new(world)?;
        try_track(world)?;
        self.past.try_reserve(1).map_err(|_| phalanx_store::AllocError::CapacityOverflow)?;
        let marked = world.storage.tracker == Some(self.id);
        let past = match &mut self.now {
            Some(now) if now.world == world.id() => Some(Past::Step(now.try_step(world, marked)?)),
            now => {
                let fresh = Image::try_new(world)?;
                now.replace(fresh).map(Past::Whole)
            }
        };
        world.storage.tracker = Some(self.id);
        unmark(world);
        let before = core::mem::replace(&mut self.context, context);
        self.past.extend(past.map(|past| (past, before)));
        if self.past.len() > self.frames {
            drop(self.past.pop_front());
        }
        Ok(())
    }

    /// Brings the world back to what it was so many frames before the last one captured; with 0, to that one. The frames
    /// after it are forgotten: it is the last one captured then.
    ///
    /// The [module](crate::timeline) says what is part of that, and what is not.
    ///
    /// # Errors
    ///
    /// - [`TimelineError::NoSuchFrame`] if there are not so many frames.
    /// - [`TimelineError::Foreign`] if they are another world's.
    /// - [`TimelineError::Resource`] if a kept resource is taken out by a scope.
    /// - [`TimelineError::Alloc`] if allocation fails. The frames after the one asked for are forgotten all the same;
    ///   `rewind(world, 0)` tries again.
    ///
    /// On error the world is unchanged.
    pub fn rewind(&mut self, world: &mut World, frames_back: usize) -> Result<(), TimelineError> {
        self.try_rewind(world, frames_back, None)
    }

    /// Brings the world back as [`rewind`](Timeline::rewind) does, and reports which entities it removed and restored.
    ///
    /// # Errors
    ///
    /// As [`rewind`](Timeline::rewind).
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
        if now.space != world.storage.components.space.number() {
            return Err(TimelineError::Foreign);
        }
        let target = match frames_back {
            0 => &self.context,
            back => &self.past[self.past.len() - back].1,
        };
        let context = target.try_clone_for(world)?;
        if frames_back > 0 {
            // The marks in the world are not those since the frame that is the last one now.
            self.id = next_id();
        }
        for _ in 0..frames_back {
            let Some((past, mut context)) = self.past.pop_back() else { unreachable!("so many are kept") };
            // What ends, ends when the frame before is the last one.
            core::mem::swap(&mut self.context, &mut context);
            match past {
                Past::Step(mut step) => now.undo(&mut step),
                Past::Whole(image) => drop(core::mem::replace(now, image)),
            }
        }
        // SAFETY: the image was made of this world, whose components keep their ids.
        let mut fresh = unsafe { now.try_restore(world)? };
        try_track(&mut fresh)?;
        unmark(&mut fresh);
        let old = world.try_take_over(fresh, context, report)?;
        now.update(world);
        world.storage.tracker = Some(self.id);
        drop(old);
        Ok(())
    }

    /// Checks that the last frame is what the world is: that nothing was written since, and that nothing was written without
    /// being noticed before. Clones are not compared.
    ///
    /// # Errors
    ///
    /// A sentence that says what does not hold.
    pub fn validate(&mut self, world: &World) -> Result<(), &'static str> {
        match &mut self.now {
            None => Err("nothing was captured"),
            Some(now) if now.world != world.id() => Err("another world, or one whose tables got other numbers"),
            Some(now) => match now.is_of(world) {
                Ok(true) => Ok(()),
                Ok(false) => Err("the last frame is not what the world is"),
                Err(_) => Err("no memory to look"),
            },
        }
    }

    /// Forgets all frames, and lets the world stop to mark what it writes.
    pub fn detach(&mut self, world: &mut World) {
        let _ended = core::mem::replace(self, Timeline { id: self.id, ..Timeline::new(self.frames) });
        if world.storage.tracker == Some(self.id) {
            world.storage.tracker = None;
            let stopped = each_tracked(world, |lane| {
                lane.untrack();
                Ok(())
            });
            debug_assert!(stopped.is_ok());
        }
    }
}

impl fmt::Debug for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Timeline({} of {} frames)", self.past.len(), self.frames)
    }
}
