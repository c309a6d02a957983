//! Several entities may have the same target, so what is found there is only read. Rows are tested one by one, so there are no
//! chunks. Only trees have depths.

use phalanx::relation::{ChildOf, Depth, IsRoot, Related, Up};
use phalanx::{Component, Query, QueryData, Relation, World};

#[derive(Component)]
struct A(u32);

#[derive(Relation)]
#[relation(one_to_one)]
struct Docked;

#[derive(QueryData)]
struct Named {
    a: &'static mut A,
}

fn writes(mut world: World) {
    world.query_mut::<Related<ChildOf, &mut A>>();
    world.query_mut::<Up<ChildOf, (&A, Option<&mut A>)>>();
    world.query_mut::<Related<ChildOf, Named>>();
}

fn writes_in_a_system(_: Query<Related<ChildOf, &mut A>>) {}

fn chunks(mut world: World) {
    world.query_mut::<(&mut A, Depth<ChildOf>)>().chunks();
    world.query_filtered_mut::<&mut A, IsRoot<ChildOf>>().chunks();
}

fn depths(world: World) {
    world.query::<Depth<Docked>>();
    world.query::<Up<Docked, &A>>();
}

fn sources_through_a_shared_query(mut world: World, target: phalanx::Entity) {
    world.query_mut::<&mut A>().iter_sources::<ChildOf>(target);
}

fn main() {}
