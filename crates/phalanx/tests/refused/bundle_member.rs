//! The message names the member of a tuple that is not a component, at any depth.

use phalanx::{Component, World};

#[derive(Component)]
struct Position(f32);

struct Name;

fn spawns(world: &mut World) {
    world.spawn((Position(0.0), Name));
}

fn inserts_a_foreign_type(world: &mut World) {
    let entity = world.spawn_empty();
    world.insert(entity, (Position(0.0), (Position(1.0), Vec::<u8>::new()))).unwrap();
}

fn removes(world: &mut World) {
    let entity = world.spawn_empty();
    world.remove::<(Position, u16)>(entity).unwrap();
}

fn spawns_a_batch(world: &mut World) {
    world.spawn_batch([(Position(0.0), 1_u32)]);
}

fn spawns_too_many(world: &mut World) {
    world.spawn(((), (), (), (), (), (), (), (), (), (), (), (), (), (), (), ()));
}

fn main() {}
