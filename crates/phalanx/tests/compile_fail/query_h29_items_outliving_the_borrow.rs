//! Items may outlive the iterator, but not the borrow of the world.

use phalanx::query::{DynamicQuery, QueryState};
use phalanx::{Component, Entity, World};

#[derive(Component)]
struct A(u32);

fn iterated(world: &mut World) {
    let items: Vec<&mut A> = world.query_mut::<&mut A>().into_iter().collect();
    world.spawn(A(1));
    drop(items);
}

fn chunked(world: &mut World) {
    let items: Vec<&mut [A]> = world.query_mut::<&mut A>().chunks().collect();
    world.spawn(A(1));
    drop(items);
}

fn got<'w>(world: &'w mut World, e: Entity) -> &'w A {
    let a = world.query::<&A>().get(e).unwrap();
    world.despawn(e).unwrap();
    a
}

fn held(world: &mut World, state: &mut QueryState<&'static mut A>) {
    let items: Vec<&mut A> = state.iter_mut(world).collect();
    world.clear();
    drop(items);
}

fn several(world: &mut World) {
    let (a, _) = world.queries_mut::<(&mut A, Entity)>();
    world.clear();
    a.for_each(drop);
}

fn combined(world: &mut World) {
    let pairs = world.query::<&A>().combinations::<2>();
    world.clear();
    pairs.for_each(drop);
}

fn run_time(world: &mut World, query: &DynamicQuery) {
    let tables: Vec<_> = query.tables_mut(world).unwrap().collect();
    world.clear();
    drop(tables);
}

fn of_a_world_that_is_gone() -> &'static A {
    let mut world = World::new();
    world.spawn(A(1));
    world.query_mut::<&A>().single().unwrap()
}

fn main() {}
