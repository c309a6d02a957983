//! [`StageStart`]: what systems that run at the same time share.

use super::{Reservations, RunContext, Turn};
use crate::change_detection::Tick;
use crate::error::panic_change;
use crate::world::World;
use core::ops::Range;

/// The start of a stage: change ticks and reserved entities for systems that run at the same time.
///
/// Code that runs several systems at once creates one, gives each system a [context](StageStart::context), and calls
/// [`finish`](StageStart::finish) when all have run, before it applies what they have recorded. The crate `phalanx-schedule`
/// does all of this.
#[derive(Debug)]
pub struct StageStart {
    first: Tick,
    numbers: Range<u32>,
}

impl StageStart {
    /// Creates `ticks` change ticks, and reserves entities.
    ///
    /// # Panics
    ///
    /// Aborts if memory for entities that were reserved before cannot be allocated.
    pub fn new(world: &mut World, ticks: u32, reservations: u32) -> StageStart {
        if let Err(error) = world.storage.flush() {
            panic_change(error.into());
        }
        let numbers = match reservations {
            0 => 0..0,
            count => {
                let numbers = world.storage.entities.reserve_numbers(count);
                if numbers.len() < count as usize {
                    // Without reservations each system takes only the entities that it spawns.
                    cancel(world, &[numbers]);
                    0..0
                } else {
                    numbers
                }
            }
        };
        StageStart { first: world.storage.sparse.clock.take_many(ticks), numbers }
    }

    /// Returns the numbers of the reserved entities, which start at 0. There are none if not as many indices are left.
    pub fn numbers(&self) -> Range<u32> {
        self.numbers.clone()
    }

    /// Returns the context of a system: with the tick of this number, and reservations.
    ///
    /// A tick may be shared by systems that do not write, or filter by, the same tracked component.
    #[inline(always)]
    pub fn context<'w>(&self, tick: u32, reservations: &'w Reservations, turn: &'w dyn Turn) -> RunContext<'w> {
        let tick = Tick(self.first.0.wrapping_add(2 * tick));
        RunContext::beside_others(tick, reservations, turn)
    }

    /// Gives back the numbers that were not used. They are ascending.
    ///
    /// # Panics
    ///
    /// Panics if the numbers are not ascending. Aborts if allocation fails.
    pub fn finish(self, world: &mut World, unused: &[Range<u32>]) {
        cancel(world, unused);
    }
}

fn cancel(world: &mut World, numbers: &[Range<u32>]) {
    if let Err(error) = world.storage.entities.try_cancel(numbers) {
        panic_change(error.into());
    }
}
