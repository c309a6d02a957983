//! Despawning an entity needs exclusive access to the world.
use phalanx::{Component, Entity, World};

#[derive(Component)]
struct Age(u32);

fn main() {
    let mut world = World::new();
    for (e, age) in world.query_mut::<(Entity, &mut Age)>() {
        if age.0 > 100 {
            world.despawn(e).unwrap();
        }
    }
    for (e, age) in world.query::<(Entity, &Age)>().iter() {
        world.despawn(e).unwrap();
        drop(age.0);
    }
}
