//! While a query that writes is alive there is no other, whichever is created first.

use phalanx::query::QueryState;
use phalanx::{Component, World};

#[derive(Component)]
struct A(u32);

fn writes_then_reads(world: &mut World) {
    let writes = world.query_mut::<&mut A>();
    let reads = world.query::<&A>();
    writes.for_each(drop);
    reads.for_each(drop);
}

fn reads_then_writes(world: &mut World) {
    let reads = world.query::<&A>();
    let writes = world.query_mut::<&mut A>();
    writes.for_each(drop);
    reads.for_each(drop);
}

fn two_iterators_of_one_query(world: &mut World) {
    let mut query = world.query_mut::<&mut A>();
    let (one, two) = (query.iter_mut(), query.iter_mut());
    one.zip(two).for_each(drop);
}

fn two_reborrows_of_one_query(world: &mut World) {
    let mut query = world.query_mut::<&mut A>();
    let (one, two) = (query.reborrow(), query.reborrow());
    one.into_iter().zip(two).for_each(drop);
}

fn two_states(world: &mut World, one: &mut QueryState<&'static mut A>, two: &mut QueryState<&'static mut A>) {
    let (one, two) = (one.iter_mut(world), two.iter_mut(world));
    one.zip(two).for_each(drop);
}

fn changing_while_iterating(world: &mut World) {
    for a in world.query_mut::<&A>() {
        world.spawn(A(a.0));
    }
}

fn main() {}
