//! [`Clock`]: the time of a world.

use super::{RunTicks, Tick};
use crate::alloc::{try_clone_slice, try_vec};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use phalanx_store::AllocError;

/// The clock of a world: its current tick, and the identity of its time.
///
/// A rollback sets the clock back. Then it gets another id, because the ticks that follow mean another time than before. The
/// clock remembers its last ids, so that states and reservations from before the rollback stay valid if they were not undone.
#[derive(Debug)]
pub(crate) struct Clock {
    tick: AtomicU32,
    /// The previous run of queries without a state.
    cleared: Option<Tick>,
    /// Differs between worlds, and changes when the clock is set back. It stays when the world gets another number.
    pub(crate) id: u64,
    /// The number of the next image of the world under this id, from one on.
    images: AtomicU64,
    /// The first image number whose time is part of the current state.
    first: u64,
    /// The ids that the clock had before it was set back, the latest first. Only the last 64 are kept.
    past: Vec<PastId>,
}

/// An id that a clock had before it was set back.
#[derive(Clone, Copy, Debug)]
struct PastId {
    id: u64,
    /// The last tick under this id that was not undone.
    until: Tick,
    /// The first and last image number whose time is part of the current state.
    images: [u64; 2],
}

/// The number of earlier ids that a clock remembers.
const PAST_IDS: usize = 64;

/// A time in the history of a world: between two images, under one id of its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    id: u64,
    images: u64,
}

/// The state of a clock in an image of a world.
#[derive(Debug)]
pub(crate) struct Time {
    pub(crate) tick: Tick,
    pub(crate) cleared: Option<Tick>,
    /// Runs up to this tick have seen all changes up to it.
    known: Tick,
    id: u64,
    /// The number of the image.
    images: u64,
    /// The first image number whose time is part of the state in the image.
    first: u64,
    past: Vec<PastId>,
}

impl Time {
    /// Returns the number of bytes that are allocated.
    pub(crate) fn memory(&self) -> usize {
        self.past.capacity() * size_of::<PastId>()
    }

    /// Returns a copy.
    pub(crate) fn try_clone(&self) -> Result<Time, AllocError> {
        Ok(Time { past: try_clone_slice(&self.past)?, ..*self })
    }
}

impl Clock {
    /// Creates a clock at tick 1, of the world with this id.
    pub(crate) const fn new(id: u64) -> Clock {
        let (tick, images) = (AtomicU32::new(1), AtomicU64::new(1));
        Clock { tick, cleared: None, id, images, first: 1, past: Vec::new() }
    }

    /// Returns a clock with the same time, for another world.
    pub(crate) fn copy(&self, id: u64) -> Clock {
        let (tick, images) = (AtomicU32::new(self.now().0), AtomicU64::new(1));
        Clock { tick, cleared: self.cleared, id, images, first: 1, past: Vec::new() }
    }

    /// Returns a clock for a state that replaces the current one. No earlier time is part of that state.
    pub(crate) fn try_carry(&self) -> Result<Clock, AllocError> {
        let (tick, first) = (AtomicU32::new(self.now().0), self.images.load(Ordering::Relaxed) + 1);
        let mut past = try_clone_slice(&self.past)?;
        past.iter_mut().for_each(|past: &mut PastId| past.images = [1, 0]);
        Ok(Clock { tick, cleared: self.cleared, id: self.id, images: AtomicU64::new(first), first, past })
    }

    /// Returns the current tick.
    #[inline(always)]
    pub(crate) fn now(&self) -> Tick {
        Tick(self.tick.load(Ordering::Relaxed))
    }

    /// Returns a tick that no other code gets, and advances the clock beyond it.
    pub(crate) fn take(&self) -> Tick {
        Tick(self.tick.fetch_add(2, Ordering::Relaxed).wrapping_add(1))
    }

    /// Returns the first of `count` ticks, two apart, that no other code gets, and advances the clock beyond them.
    pub(crate) fn take_many(&mut self, count: u32) -> Tick {
        let now = *self.tick.get_mut();
        *self.tick.get_mut() = now.wrapping_add(2 * count);
        Tick(now.wrapping_add(1))
    }

    /// Returns the ticks of code without a state, which writes with the current tick.
    pub(crate) fn run_ticks(&self) -> RunTicks {
        RunTicks { now: self.now(), since: self.cleared, own: false }
    }

    /// Returns the ticks of a run without a state, which gets a tick of its own.
    pub(crate) fn start_run(&self) -> RunTicks {
        RunTicks { now: self.take(), since: self.cleared, own: true }
    }

    /// Sets the previous run of queries without a state to now.
    pub(crate) fn clear_trackers(&mut self) {
        self.cleared = Some(self.take());
    }

    /// Sets the current tick.
    pub(crate) fn set(&mut self, tick: Tick) {
        *self.tick.get_mut() = tick.0;
    }

    /// Returns the state of the clock for an image, and counts the image.
    pub(crate) fn try_time(&self) -> Result<Time, AllocError> {
        let past = try_clone_slice(&self.past)?;
        let (images, first) = (self.images.fetch_add(1, Ordering::Relaxed), self.first);
        Ok(Time { tick: self.now(), cleared: self.cleared, known: self.now(), id: self.id, images, first, past })
    }

    /// Returns the number of the next image under the present id.
    pub(crate) fn images_so_far(&self) -> u64 {
        self.images.load(Ordering::Relaxed)
    }

    /// Returns the current time.
    ///
    /// Relaxed is enough. If nothing orders the call and an image on another thread, the time may be before or after the image.
    pub(crate) fn moment(&self) -> Moment {
        Moment { id: self.id, images: self.images.load(Ordering::Relaxed) }
    }

    /// Returns `true` if changes at a time are part of the current state, that is, were not undone by a rollback.
    ///
    /// Times before the last 64 rollbacks count as undone.
    pub(crate) fn includes(&self, moment: Moment) -> bool {
        let is_past = |PastId { id, images: [first, last], .. }: &PastId| {
            *id == moment.id && (*first..=*last).contains(&moment.images)
        };
        let is_present = moment.id == self.id && moment.images >= self.first;
        is_present || self.past.iter().any(is_past)
    }

    /// Returns numbers that change whenever a time stops being part of the current state.
    pub(crate) fn state(&self) -> [u64; 2] {
        [self.id, self.first]
    }

    /// Returns a clock that continues from an image, with another id.
    pub(crate) fn try_resumed(time: &Time, id: u64) -> Result<Clock, AllocError> {
        let mut past = try_vec(PAST_IDS.min(time.past.len() + 1))?;
        past.push(PastId { id: time.id, until: time.known, images: [time.first, time.images] });
        past.extend(time.past.iter().take(PAST_IDS - 1).map(|past| match past.until.is_until(time.known) {
            true => *past,
            false => PastId { until: time.known, ..*past },
        }));
        let (tick, images) = (AtomicU32::new(time.tick.0), AtomicU64::new(1));
        Ok(Clock { tick, cleared: time.cleared, id, images, first: 1, past })
    }

    /// Returns the tick of a previous run, if the clock has its id, or had it and the run was not undone.
    pub(crate) fn since(&self, (id, tick): (u64, Tick)) -> Option<Tick> {
        let is_past = |past: &PastId| past.id == id && tick.is_until(past.until);
        (id == self.id || self.past.iter().any(is_past)).then_some(tick)
    }

    /// Returns the previous run of queries without a state.
    #[cfg(feature = "snapshot")]
    pub(crate) fn cleared(&self) -> Option<Tick> {
        self.cleared
    }

    /// Sets the clock to a saved time.
    #[cfg(feature = "snapshot")]
    pub(crate) fn restore(&mut self, now: Tick, cleared: Option<Tick>) {
        self.set(now);
        self.cleared = cleared;
    }
}
