//! Despawning a member of a group needs exclusive access to the world.
use phalanx::group::Owned;
use phalanx::{Component, World};

#[derive(Component)]
#[component(layout = "pool")]
struct Age(u32);

fn main() {
    let mut world = World::new();
    let group = world.create_group::<Owned<Age>>().unwrap();
    for e in group.entities(&world) {
        world.despawn(e).unwrap();
    }
}
