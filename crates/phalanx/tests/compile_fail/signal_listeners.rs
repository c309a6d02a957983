//! What listeners and collectors of values must not do.

use phalanx::{Component, World};
use std::rc::Rc;

#[derive(Component)]
struct Handle(u32);

fn keeps_what_cannot_be_cloned(world: &mut World) {
    world.collector().removed::<Handle>().keep_values::<Handle>();
}

fn is_bound_to_a_thread(world: &mut World) {
    let rc = Rc::new(1);
    world.listen().once().on_add::<Handle>(move |_, _, _| drop(rc.clone()));
}

fn changes_the_world(world: &mut World) {
    world.listen().on_replace::<Handle>(|replaced, world, _| {
        world.despawn(replaced.entity);
    });
}

fn keeps_a_value_beyond_the_call(world: &mut World) {
    let mut kept = None;
    world.listen().components::<Handle>().call(move |event, _, _| kept = event.old_value::<Handle>());
}

fn main() {}
