//! [`RunContext`]: what a system gets from the code that runs it.

use crate::change_detection::Tick;
use crate::world::World;
use core::fmt;
use core::ops::Range;
use core::sync::atomic::{AtomicU32, Ordering};
use phalanx_store::Entity;

/// What a system gets from the code that runs it: its change tick, and the entities that it may reserve.
///
/// Systems that run at the same time get contexts that do not depend on which of them runs first. So neither does the result.
#[derive(Clone, Copy)]
pub struct RunContext<'w> {
    pub(crate) tick: Tick,
    reservations: Option<(&'w Reservations, &'w dyn Turn)>,
}

/// Entities that only one system reserves: a range of numbers. The entity with the number `n` is the one that the world would
/// allocate after `n` others.
#[derive(Debug, Default)]
pub struct Reservations {
    next: AtomicU32,
    end: u32,
}

/// The turn of a system to reserve more entities than it has [reservations](Reservations).
pub trait Turn: Sync {
    /// Returns when all systems before this one have finished that may reserve entities.
    fn wait(&self);
}

impl Reservations {
    /// Creates reservations from a range of numbers.
    pub fn new(numbers: Range<u32>) -> Reservations {
        Reservations { next: AtomicU32::new(numbers.start), end: numbers.end }
    }

    /// Creates no reservations.
    pub const fn none() -> Reservations {
        Reservations { next: AtomicU32::new(0), end: 0 }
    }

    /// Returns the numbers that were not used.
    pub fn unused(&self) -> Range<u32> {
        self.next.load(Ordering::Relaxed).min(self.end)..self.end
    }

    /// Takes the next number, if one is left.
    #[inline]
    fn take(&self) -> Option<u32> {
        // The counter does not overflow: it is beyond the end by at most the number of threads.
        let is_left = self.next.load(Ordering::Relaxed) < self.end;
        let number = is_left.then(|| self.next.fetch_add(1, Ordering::Relaxed))?;
        (number < self.end).then_some(number)
    }
}

impl<'w> RunContext<'w> {
    /// Creates the context of a system that runs alone: it takes its tick and its entities from the world.
    pub fn new(world: &World) -> RunContext<'w> {
        RunContext { tick: world.storage.sparse.clock.take(), reservations: None }
    }

    /// Creates the context of a system that runs beside others.
    ///
    /// `tick` is the change tick of its writes and filters. When its reservations are used up, it waits for its `turn`, and
    /// then reserves entities like any other code.
    pub fn beside_others(tick: Tick, reservations: &'w Reservations, turn: &'w dyn Turn) -> RunContext<'w> {
        RunContext { tick, reservations: Some((reservations, turn)) }
    }

    /// Returns the context of what a system does after its conditions, which have filtered by changes: with the next tick.
    #[must_use]
    pub fn with_next_tick(self) -> RunContext<'w> {
        RunContext { tick: Tick(self.tick.0.wrapping_add(2)), ..self }
    }

    /// Reserves an entity.
    ///
    /// # Panics
    ///
    /// Panics if all indices of entities are in use.
    #[inline]
    #[track_caller]
    pub(crate) fn reserve_entity(&self, world: &World) -> Entity {
        let Some((reservations, turn)) = self.reservations else { return world.reserve_entity() };
        match reservations.take().and_then(|number| world.storage.entities.nth_entity(number)) {
            Some(entity) => entity,
            None => {
                turn.wait();
                world.reserve_entity()
            }
        }
    }
}

impl fmt::Debug for RunContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reservations = self.reservations.map(|(reservations, _)| reservations);
        f.debug_struct("RunContext").field("tick", &self.tick).field("reservations", &reservations).finish()
    }
}
