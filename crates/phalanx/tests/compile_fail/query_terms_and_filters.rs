//! The message names a type that is not a component. For a component used as a filter, it says what to write.

use phalanx::{Component, With, World};

#[derive(Component)]
struct Position(f32);

struct Name;

fn reads(world: &World) {
    world.query::<&Name>();
}

fn writes(world: &mut World) {
    world.query_mut::<(&Position, &mut u8)>();
}

fn writes_through_a_shared_world(world: &World) {
    world.query::<(&Position, &mut Position)>();
}

fn filters(world: &World) {
    world.query_filtered::<&Position, Position>();
}

fn filters_by_what_is_not_a_component(world: &World) {
    world.query_filtered::<&Position, With<u16>>();
}

fn main() {}
