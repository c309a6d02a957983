//! Items of several entities end before the next ones are made, and do not outlive the borrow of the world.

use phalanx::query::WithTable;
use phalanx::{Component, Entity, EntityRef, World};

#[derive(Component)]
struct A(u32);
#[derive(Component)]
#[component(layout = "pool")]
struct Pool;

fn twice(world: &mut World, [a, b]: [Entity; 2]) {
    let mut query = world.query_mut::<&mut A>();
    let [one, _] = query.get_many_mut([a, b]).unwrap();
    let other = query.get_mut(a).unwrap();
    one.0 += other.0;
}

fn two_lists(world: &mut World, list: &[Entity]) {
    let mut query = world.query_mut::<&mut A>();
    let one = query.collect_many_mut(list.iter().copied()).unwrap();
    let two = query.collect_many_mut(list.iter().copied()).unwrap();
    drop((one, two));
}

fn reading_what_is_written(world: &mut World, [a, b]: [Entity; 2]) {
    let query = world.query_mut::<&mut A>();
    query.get_many([a, b]).map(drop).unwrap();
}

fn batches_of_one_query(world: &mut World) {
    let mut query = world.query_mut::<&mut A>();
    let batches: Vec<_> = query.reborrow().batches(8).collect();
    query.iter_mut().for_each(|a| a.0 += 1);
    drop(batches);
}

fn sorted_items(world: &mut World) {
    let sorted = world.query_mut::<&mut A>().into_iter().sort_by_key(|a| a.0);
    world.clear();
    sorted.for_each(drop);
}

fn entities(world: &mut World) {
    let entities: Vec<EntityRef> = world.query::<EntityRef>().iter().collect();
    world.clear();
    drop(entities);
}

fn columns(world: &mut World) {
    let columns: Vec<_> = world.query_mut::<WithTable<Entity>>().chunks().filter_map(|(_, t)| t.column::<A>()).collect();
    world.clear();
    drop(columns);
}

fn columns_outside_of_tables(world: &World) {
    world.query::<WithTable<Entity>>().chunks().for_each(|(_, table)| drop(table.column::<Pool>()));
}

fn chunks_of_entities(world: &World) {
    world.query::<EntityRef>().chunks().for_each(drop);
}

fn entries(world: &mut World, e: Entity) {
    let mut entity = world.entity_mut(e).unwrap();
    let value = entity.entry::<A>().or_insert(A(1));
    entity.despawn();
    value.0 += 1;
}

fn main() {}
