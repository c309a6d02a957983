//! Spawning an entity may move the lanes of a table.
use phalanx::{Component, Entity, World};

#[derive(Component)]
struct Age(u32);

fn main() {
    let mut world = World::new();
    let mut state = phalanx::query::QueryState::<(Entity, &mut Age)>::new();
    for (_, age) in state.iter_mut(&mut world) {
        world.spawn(Age(age.0));
    }
    for ages in world.query_mut::<&mut Age>().chunks() {
        world.spawn(Age(ages[0].0));
    }
    let age = world.get::<Age>(world.iter().next().unwrap()).unwrap();
    world.spawn(Age(1));
    drop(age.0);
}
