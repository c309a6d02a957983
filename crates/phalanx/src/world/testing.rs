//! Access for tests.

use super::World;
use crate::change_detection::Tick;

/// Sets the change tick of a world, like restoring a world does.
pub fn set_change_tick(world: &mut World, number: u32) {
    world.storage.sparse.clock.set(Tick(number));
}
