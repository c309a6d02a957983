//! Items may outlive the iterator, never the borrow of the world.
use phalanx::{Component, Entity, World};

#[derive(Component)]
struct Age(u32);

fn item() -> &'static Age {
    let world = World::new();
    world.query::<&Age>().iter().next().unwrap()
}

fn main() {
    let mut world = World::new();
    let e = world.spawn(Age(1));
    let mut query = world.query_mut::<&mut Age>();
    let first = query.get_mut(e).unwrap();
    let second = query.get_mut(e).unwrap();
    first.0 = second.0;
    let mut view = world.component_mut::<Age>();
    let first = view.get_mut(e).unwrap();
    let second = view.get_mut(e).unwrap();
    first.0 = second.0;
    let _ = (item(), Entity::from_bits(0));
}
