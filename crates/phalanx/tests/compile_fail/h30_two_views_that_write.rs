//! Two views that write the same, in either order.
use phalanx::{Component, World};

#[derive(Component)]
struct Age(u32);

fn main() {
    let mut world = World::new();
    let e = world.spawn(Age(1));
    let mut writer = world.component_mut::<Age>();
    let reader = world.component::<Age>();
    writer.get_mut(e).unwrap().0 = reader.get(e).unwrap().0;
    let reader = world.component::<Age>();
    let mut writer = world.component_mut::<Age>();
    writer.get_mut(e).unwrap().0 = reader.get(e).unwrap().0;
}
