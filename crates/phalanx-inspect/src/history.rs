//! [`History`]: earlier frames, copies, and whether the program is paused.

use crate::flow::Flow;
use crate::refusal::conflict;
use crate::request::Moment;
use crate::response::Response;
use phalanx::World;
use phalanx::timeline::{Timeline, TimelineError};

/// The number of copies that can be kept.
pub(crate) const COPY_LIMIT: usize = 8;

/// Earlier frames, copies, and whether the program is paused.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) timeline: Option<Timeline>,
    /// Why the timeline has ended, if it has.
    pub(crate) fault: Option<TimelineError>,
    /// The number of the last captured frame.
    pub(crate) captured: u64,
    /// The frame that was last looked at.
    looked: Option<(u64, World)>,
    pub(crate) copies: Vec<KeptCopy>,
    next_copy: u32,
    pub(crate) is_paused: bool,
    /// The frames that are made before the next pause.
    steps: u32,
    pub(crate) last: Flow,
}

/// A copy of a world.
#[derive(Debug)]
pub(crate) struct KeptCopy {
    pub(crate) number: u32,
    pub(crate) frame: u64,
    /// The name of the file that it was loaded from.
    pub(crate) file: Option<String>,
    pub(crate) world: World,
}

impl History {
    pub(crate) fn new(frames: Option<usize>) -> History {
        History { timeline: frames.map(Timeline::new), ..History::default() }
    }

    /// Captures a frame, if there is a timeline.
    pub(crate) fn capture(&mut self, world: &mut World, frame: u64) {
        let Some(timeline) = &mut self.timeline else { return };
        match timeline.capture(world) {
            Ok(()) => self.captured = frame,
            // Frames are numbered without gaps, so that the earlier ones are of no use.
            Err(error) => {
                timeline.detach(world);
                self.timeline = None;
                self.fault = Some(error);
                self.looked = None;
            }
        }
    }

    /// Returns the first frame that can be looked at.
    pub(crate) fn first(&self) -> Option<u64> {
        let timeline = self.timeline.as_ref().filter(|_| self.captured > 0)?;
        Some(self.captured - timeline.len() as u64)
    }

    /// Returns how many frames before the last captured one a frame is.
    pub(crate) fn frames_back(&self, frame: u64) -> Result<usize, Response> {
        match self.first() {
            None => Err(Response::error(409, "there is no timeline: call `.timeline(frames)` of the builder")),
            Some(first) if (first..=self.captured).contains(&frame) => Ok((self.captured - frame) as usize),
            Some(first) => {
                let captured = self.captured;
                Err(Response::error(410, format_args!("frame {frame} is not one of {first} to {captured}")))
            }
        }
    }

    /// Returns a moment that stays the same while frames are made.
    pub(crate) fn fixed(&self, moment: Moment) -> Moment {
        match moment {
            Moment::Back(frames) => Moment::Frame(self.captured.saturating_sub(frames)),
            moment => moment,
        }
    }

    /// Prepares the world of a moment, for [`world_at`](History::world_at).
    pub(crate) fn prepare(&mut self, world: &World, moment: Moment) -> Result<(), Response> {
        match moment {
            Moment::Now => Ok(()),
            Moment::Back(_) => self.prepare(world, self.fixed(moment)),
            Moment::Frame(frame) => {
                let back = self.frames_back(frame)?;
                if self.looked.as_ref().is_some_and(|(looked, _)| *looked == frame) {
                    return Ok(());
                }
                let Some(timeline) = &self.timeline else { return Err(Response::error(409, "there is no timeline")) };
                let past = timeline.at(world, back).map_err(conflict)?;
                self.looked = Some((frame, past));
                Ok(())
            }
            Moment::Copy(copy) => match self.copies.iter().any(|kept| kept.number == copy) {
                true => Ok(()),
                false => Err(Response::error(410, format_args!("there is no copy {copy}"))),
            },
        }
    }

    /// Returns the world of a moment, if it is prepared.
    pub(crate) fn world_at<'w>(&'w self, world: &'w World, moment: Moment) -> Option<&'w World> {
        match moment {
            Moment::Now => Some(world),
            Moment::Back(_) => self.world_at(world, self.fixed(moment)),
            Moment::Frame(frame) => self.looked.as_ref().filter(|(looked, _)| *looked == frame).map(|(_, past)| past),
            Moment::Copy(copy) => self.copies.iter().find(|kept| kept.number == copy).map(|kept| &kept.world),
        }
    }

    /// Returns the world to an earlier frame.
    pub(crate) fn rewind(&mut self, world: &mut World, frame: u64) -> Result<(), Response> {
        let back = self.frames_back(frame)?;
        self.looked = None;
        let Some(timeline) = &mut self.timeline else { return Err(Response::error(409, "there is no timeline")) };
        timeline.rewind(world, back).map_err(conflict)?;
        self.captured = frame;
        Ok(())
    }

    /// Keeps a copy of the world, and returns its number.
    pub(crate) fn keep(&mut self, world: &World, frame: u64) -> Result<u32, Response> {
        self.reserve_copy()?;
        let copy = world.try_clone().map_err(conflict)?;
        Ok(self.add_copy(frame, None, copy))
    }

    /// Reserves capacity for one more copy.
    pub(crate) fn reserve_copy(&mut self) -> Result<(), Response> {
        if self.copies.len() == COPY_LIMIT {
            return Err(Response::error(409, format_args!("there are {COPY_LIMIT} copies: forget one first")));
        }
        self.copies.try_reserve(1).map_err(|_| Response::out_of_memory())
    }

    /// Adds a copy, for which capacity is reserved, and returns its number.
    pub(crate) fn add_copy(&mut self, frame: u64, file: Option<String>, world: World) -> u32 {
        self.next_copy += 1;
        self.copies.push(KeptCopy { number: self.next_copy, frame, file, world });
        self.next_copy
    }

    /// Drops a copy. Returns `false` if there is none.
    pub(crate) fn forget(&mut self, copy: u32) -> bool {
        let before = self.copies.len();
        self.copies.retain(|kept| kept.number != copy);
        self.copies.len() < before
    }

    pub(crate) fn pause(&mut self) {
        (self.is_paused, self.steps) = (true, 0);
    }

    pub(crate) fn resume(&mut self) {
        (self.is_paused, self.steps) = (false, 0);
    }

    pub(crate) fn step(&mut self, frames: u32) {
        (self.is_paused, self.steps) = (true, frames);
    }

    /// Returns `true` if the program is to wait, now.
    pub(crate) fn is_held(&self) -> bool {
        self.is_paused && self.steps == 0
    }

    /// Returns whether the next frame is due.
    pub(crate) fn flow(&mut self) -> Flow {
        self.last = match self.is_held() {
            true => Flow::Hold,
            false => {
                self.steps = self.steps.saturating_sub(1);
                Flow::Run
            }
        };
        self.last
    }
}
