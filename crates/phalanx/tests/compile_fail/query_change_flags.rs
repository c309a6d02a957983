//! Change flags of components that are not tracked, or not row by row.

use phalanx::{Component, Ref, World};

#[derive(Component)]
struct Untracked(f32);

#[derive(Component)]
#[component(track = "column")]
struct ByColumn(f32);

fn flags_of_untracked(world: &World) {
    world.query::<Ref<Untracked>>();
}

fn handle_of_untracked(world: &World, entity: phalanx::Entity) {
    let _ = world.get_ref::<Untracked>(entity);
}

fn additions_of_columns(world: &World) -> bool {
    world.query::<Ref<ByColumn>>().iter().any(|value| value.is_added())
}

fn writes_through_a_handle(world: &World) {
    world.query::<Ref<ByColumn>>().iter().for_each(|mut value| value.0 = 1.0);
}

fn chunks_of_handles(world: &World) -> usize {
    world.query::<Ref<ByColumn>>().chunks().count()
}

fn main() {}
