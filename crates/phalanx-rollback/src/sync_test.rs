//! [`SyncTest`]: simulates frames several times, and compares.

use crate::desync::Desync;
use crate::error::RollbackError;
use crate::rollback::Rollback;
use core::fmt;
use phalanx::World;
use phalanx::timeline::{Checkpoint, FrameSums};
use std::collections::VecDeque;

/// Simulates frames, goes back after each one, simulates them again, and compares.
///
/// A simulation that depends on anything outside of its world and inputs gives another result the second time. Such a
/// simulation would run differently on two machines. So most desyncs are found by a test, without a network.
///
/// ```
/// use phalanx::{Component, World};
/// use phalanx_rollback::SyncTest;
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// #[derive(Component, Clone, Copy)]
/// #[component(plain)]
/// struct Speed(u32);
///
/// static CALLS: AtomicU32 = AtomicU32::new(0);
///
/// fn simulate(world: &mut World, _: &u32) {
///     let calls = CALLS.fetch_add(1, Ordering::Relaxed);
///     world.query_mut::<&mut Speed>().for_each(|speed| speed.0 = calls);
/// }
///
/// let mut world = World::new();
/// world.spawn(Speed(0));
/// let failure = SyncTest::new(world).distance(3).frames(20).run(|frame| frame as u32, simulate).unwrap_err();
/// assert!(failure.to_string().contains("Speed"));
/// ```
#[derive(Debug)]
pub struct SyncTest {
    world: World,
    distance: usize,
    frames: u64,
}

/// Why a [`SyncTest`] failed.
#[derive(Debug)]
pub enum SyncFailure {
    /// Two simulations of a frame differ.
    Desync(Box<Desync>),
    /// A frame could not be captured or restored.
    Rollback(RollbackError),
}

impl SyncFailure {
    /// Returns the report, if two simulations differ.
    pub fn desync(&self) -> Option<&Desync> {
        match self {
            SyncFailure::Desync(desync) => Some(desync),
            SyncFailure::Rollback(_) => None,
        }
    }

    /// Adds to a report the systems of a schedule that may write what differs first.
    #[cfg(feature = "schedule")]
    pub fn with_writers(mut self, schedule: &phalanx_schedule::Schedule) -> SyncFailure {
        if let SyncFailure::Desync(desync) = &mut self {
            desync.add_writers(schedule);
        }
        self
    }
}

impl fmt::Display for SyncFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SyncFailure::Desync(desync) => desync.fmt(f),
            SyncFailure::Rollback(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for SyncFailure {}

impl From<RollbackError> for SyncFailure {
    fn from(error: RollbackError) -> Self {
        SyncFailure::Rollback(error)
    }
}

impl SyncTest {
    /// Creates a test that begins with a world. It goes back by 7 frames and simulates 600.
    pub fn new(world: World) -> SyncTest {
        SyncTest { world, distance: 7, frames: 600 }
    }

    /// Sets by how many frames it goes back, at least one.
    pub fn distance(self, distance: usize) -> SyncTest {
        SyncTest { distance: distance.max(1), ..self }
    }

    /// Sets the number of frames.
    pub fn frames(self, frames: u64) -> SyncTest {
        SyncTest { frames, ..self }
    }

    /// Runs the test. `inputs` returns the inputs of a frame, the same each time.
    ///
    /// Returns the world after the last frame.
    ///
    /// # Errors
    ///
    /// Returns [`SyncFailure::Desync`] if two simulations of a frame differ, or [`SyncFailure::Rollback`] if a frame cannot be
    /// captured or restored.
    pub fn run<I>(
        self,
        mut inputs: impl FnMut(u64) -> I,
        mut simulate: impl FnMut(&mut World, &I),
    ) -> Result<World, SyncFailure> {
        let mut game = Rollback::new(self.world, self.distance)?;
        // The frames that are simulated again, as they were the first time, and their inputs.
        let mut first: VecDeque<(Checkpoint, FrameSums)> = VecDeque::new();
        let mut given: VecDeque<I> = VecDeque::new();
        for frame in 0..self.frames {
            given.push_back(inputs(frame));
            let Some(input) = given.back() else { unreachable!("an input was added above") };
            game.advance(input, &mut simulate)?;
            first.push_back((game.pin(game.frame())?, game.sums().clone()));
            if given.len() > self.distance {
                given.pop_front();
                first.pop_front();
            }
            game.load(game.frame() - given.len() as u64)?;
            for (input, (state, sums)) in given.iter().zip(&first) {
                game.advance(input, &mut simulate)?;
                if game.sums() != sums {
                    let again = game.pin(game.frame())?;
                    let states = [(state, sums), (&again, game.sums())];
                    let desync = Desync::new(game.frame(), states, game.world(), game.unrestored());
                    return Err(SyncFailure::Desync(Box::new(desync)));
                }
            }
        }
        Ok(game.into_world())
    }
}
