//! Two groups whose slices are written, or read beside.
use phalanx::group::Owned;
use phalanx::{Component, World};

#[derive(Component)]
#[component(layout = "pool")]
struct Age(u32);

fn main() {
    let mut world = World::new();
    let group = world.create_group::<Owned<Age>>().unwrap();
    let writer = group.slices_mut(&mut world);
    let reader = group.slices(&world);
    writer[0].0 = reader[0].0;
    let reader = group.iter(&world);
    group.for_each(&mut world, |age| age.0 += 1);
    drop(reader);
}
