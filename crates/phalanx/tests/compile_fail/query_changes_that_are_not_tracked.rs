//! Filters over what is tracked name the component that is not.
use phalanx::{Added, Changed, Component, Entity, World};

#[derive(Component)]
struct Plain(u32);

#[derive(Component)]
#[component(track = "column")]
struct Wide(u32);

fn main() {
    let world = World::new();
    world.query::<Entity>().filter::<Changed<Plain>>();
    world.query::<Entity>().filter::<Added<Wide>>();
}
