//! Chunks of what is not stored in tables are refused by `cargo check`, in the caller's line.

use phalanx::{Added, Changed, Component, Entity, Has, QueryData, QueryState, With, World};

#[derive(Component)]
struct Position(f32);

#[derive(Component)]
#[component(layout = "pool")]
struct Burning(f32);

#[derive(Component)]
#[component(layout = "linear")]
struct Name(u32);

#[derive(Component)]
#[component(track = "row")]
struct Health(u32);

#[derive(QueryData)]
struct Hot<'a> {
    position: &'a Position,
    burning: Option<&'a Burning>,
}

fn pool(world: &mut World) {
    world.query_mut::<&mut Burning>().chunks();
}

fn linear(world: &World) {
    world.query::<(Entity, &Name)>().chunks();
}

fn optional(world: &mut World) {
    world.query_mut::<(&mut Position, Option<&Burning>)>().chunks();
}

fn has(world: &World) {
    world.query::<(&Position, Has<Burning>)>().chunks();
}

fn derived(world: &World) {
    world.query::<Hot>().chunks();
}

fn filter(world: &mut World) {
    world.query_filtered_mut::<&mut Position, With<Burning>>().chunks();
}

fn added(world: &World) {
    world.query_filtered::<&Position, Added<Health>>().chunks();
}

fn changed(world: &World) {
    world.query_filtered::<&Position, Changed<Health>>().chunks();
}

fn state(world: &World) {
    QueryState::<&Burning>::new().query(world).chunks();
}

fn state_mut(world: &mut World) {
    QueryState::<&mut Burning>::new().query_mut(world).chunks();
}

fn several(world: &mut World) {
    let (burning, _) = world.queries_mut::<(&mut Burning, &Position)>();
    burning.chunks();
}

fn generic<Q: QueryData>(world: &mut World) {
    world.query_mut::<Q>().chunks();
}

fn main() {}
