//! A query that writes, however deep inside, is not for a shared world.

use phalanx::query::{Filtered, QueryState};
use phalanx::{Component, Or, QueryData, With, World};

#[derive(Component)]
struct A(u32);

#[derive(QueryData)]
struct Named {
    a: &'static mut A,
}

fn main() {
    let world = World::new();
    world.query::<&mut A>();
    world.query::<(Option<&mut A>,)>();
    world.query::<Or<(&A, &mut A)>>();
    world.query::<Filtered<&mut A, With<A>>>();
    world.query::<Named>();
    QueryState::<&mut A>::new().iter(&world);
    QueryState::<&mut A>::new().query(&world);
    World::new().query_mut::<&mut A>().iter();
    World::new().query_mut::<&mut A>().single();
}
