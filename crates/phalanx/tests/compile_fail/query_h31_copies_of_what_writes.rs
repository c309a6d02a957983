//! What gives out items for writing cannot be copied.

use phalanx::query::QueryState;
use phalanx::{Component, QueryData, World};

#[derive(Component)]
struct A(u32);

#[derive(QueryData)]
struct Named {
    a: &'static mut A,
}

fn main() {
    let mut world = World::new();
    let _ = world.query_mut::<&mut A>().clone();
    let _ = world.query_mut::<&mut A>().reborrow().clone();
    let _ = world.query_mut::<&mut A>().into_iter().clone();
    let _ = world.query_mut::<&mut A>().chunks().clone();
    let _ = QueryState::<&mut A>::new().clone();
    let _ = world.query_mut::<Named>().single_mut().unwrap().clone();
}
