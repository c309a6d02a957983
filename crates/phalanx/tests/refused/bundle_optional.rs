use phalanx::{Component, World};

#[derive(Component)]
struct Position(f32);
#[derive(Component)]
struct Mass(f32);
struct Plain;

fn main() {
    let mut world = World::new();
    world.spawn((Position(0.0), Some((Mass(1.0), Position(2.0)))));
    world.spawn((Position(0.0), Some(Plain)));
    world.spawn_columns((vec![Position(0.0)], vec![Some(Mass(1.0))])).unwrap();
    world.spawn(Some(Some(Mass(1.0))));
}
