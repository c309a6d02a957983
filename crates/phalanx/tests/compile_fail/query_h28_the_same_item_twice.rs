//! Of a query that writes, an item ends before the next is had by entity.

use phalanx::{Component, Entity, World};

#[derive(Component)]
struct A(u32);

fn twice(world: &mut World, e: Entity) {
    let mut query = world.query_mut::<&mut A>();
    let first = query.get_mut(e).unwrap();
    let second = query.get_mut(e).unwrap();
    first.0 += second.0;
}

fn many(world: &mut World, e: Entity) {
    world.query_mut::<&mut A>().iter_many([e, e]).for_each(drop);
    world.query_mut::<&mut A>().combinations::<2>().for_each(drop);
}

fn kept(world: &mut World, e: Entity) {
    let mut items = Vec::new();
    world.query_mut::<&mut A>().for_each_many([e, e], |item| items.push(item)).unwrap();
    let mut pairs = Vec::new();
    world.query_mut::<&mut A>().for_each_combination_mut(|[a, b]| pairs.push((a, b)));
}

fn main() {}
