//! The last frames of a world.
#![allow(unsafe_code)]

use super::error::TimelineError;
use super::image::Image;
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
/// Groups that own nothing are copied whole in frames in which their members change; and so is everything in the frame after
/// tables got other numbers, by [`World::compact`] or [`World::rollback`].
pub struct Timeline {
    /// Whose marks they are, in the world.
    id: u64,
    frames: usize,
    now: Option<Image>,
    past: VecDeque<Past>,
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
fn fresh_id() -> u64 {
    static TIMELINES: AtomicU64 = AtomicU64::new(0);
    TIMELINES.fetch_add(1, Ordering::Relaxed)
}

impl Timeline {
    /// A timeline that keeps so many frames before the last one captured.
    pub fn new(frames: usize) -> Timeline {
        Timeline { id: fresh_id(), frames, now: None, past: VecDeque::new() }
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
        let past = self.past.iter().map(Past::memory).sum::<usize>() + self.past.capacity() * size_of::<Past>();
        past + self.now.as_ref().map_or(0, Image::memory)
    }

    /// Keeps the state of the world as a frame. The oldest is forgotten if there are too many.
    ///
    /// # Errors
    ///
    /// If an entity has a component that can be neither cloned nor copied, which is named; if the frames before are of
    /// another world; or if memory cannot be had. Nothing is kept then.
    pub fn capture(&mut self, world: &mut World) -> Result<(), TimelineError> {
        if self.now.as_ref().is_some_and(|now| now.space != world.components.space.number()) {
            return Err(TimelineError::Foreign);
        }
        try_track(world)?;
        self.past.try_reserve(1).map_err(|_| phalanx_store::AllocError::CapacityOverflow)?;
        let marked = world.tracker == Some(self.id);
        let past = match &mut self.now {
            Some(now) if now.world == world.id() => Some(Past::Step(now.try_step(world, marked)?)),
            now => {
                let fresh = Image::try_new(world)?;
                now.replace(fresh).map(Past::Whole)
            }
        };
        world.tracker = Some(self.id);
        unmark(world);
        self.past.extend(past);
        if self.past.len() > self.frames {
            drop(self.past.pop_front());
        }
        Ok(())
    }

    /// Brings the world back to what it was so many frames before the last one captured; with 0, to that one. The frames
    /// after it are forgotten: it is the last one captured then.
    ///
    /// See the [module](crate::timeline) for what that means.
    ///
    /// # Errors
    ///
    /// If there are not so many frames, they are another world's, or memory cannot be had. The world is as it was then. In
    /// the last case the frames after it are forgotten all the same; `rewind(world, 0)` tries again.
    pub fn rewind(&mut self, world: &mut World, frames_back: usize) -> Result<(), TimelineError> {
        let none = TimelineError::NoSuchFrame { back: frames_back, kept: self.past.len() };
        let Some(now) = self.now.as_mut().filter(|_| frames_back <= self.past.len()) else { return Err(none) };
        if now.space != world.components.space.number() {
            return Err(TimelineError::Foreign);
        }
        if frames_back > 0 {
            // The marks in the world are not those since the frame that is the last one now.
            self.id = fresh_id();
        }
        for _ in 0..frames_back {
            match self.past.pop_back() {
                Some(Past::Step(mut step)) => now.undo(&mut step),
                Some(Past::Whole(image)) => drop(core::mem::replace(now, image)),
                None => unreachable!("so many are kept"),
            }
        }
        // SAFETY: the image was made of this world, whose components keep their ids.
        let mut fresh = unsafe { now.try_restore(world)? };
        try_track(&mut fresh)?;
        unmark(&mut fresh);
        let old = world.become_state(fresh);
        now.look(world);
        world.tracker = Some(self.id);
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
        (self.now, self.past) = (None, VecDeque::new());
        if world.tracker == Some(self.id) {
            world.tracker = None;
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
