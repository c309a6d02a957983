//! Single cases that random programs, or a close look, have found.

use phalanx::{CommandBuffer, World};
use phalanx_testkit::for_every_failing_allocation;
use std::sync::{Arc, Mutex};
use crate::kit::{Id, PartOf};
use phalanx::relation::ChildOf;
use phalanx::timeline::Timeline;

#[test]
fn a_timeline_sees_that_a_link_was_cut() {
    let mut world = World::new();
    let [parent, child] = [(); 2].map(|()| world.spawn_empty());
    world.relations_mut::<ChildOf>().link(child, parent).unwrap();
    let mut timeline = Timeline::new(4);
    timeline.capture(&mut world).unwrap();
    world.relations_mut::<ChildOf>().unlink(child).unwrap();
    timeline.capture(&mut world).unwrap();
    world.relations_mut::<ChildOf>().link(child, parent).unwrap();
    timeline.rewind(&mut world, 0).unwrap();
    world.validate().unwrap();
    assert_eq!(world.relations::<ChildOf>().parent(child), None);
    timeline.rewind(&mut world, 1).unwrap();
    world.validate().unwrap();
    assert_eq!(world.relations::<ChildOf>().parent(child), Some(parent));
}

#[test]
fn links_that_nobody_listens_to_change_no_event() {
    let mut world = World::new();
    let [parent, whole, child] = [(); 3].map(|()| world.spawn_empty());
    world.relations_mut::<ChildOf>().link(child, parent).unwrap();
    world.relations_mut::<PartOf>().link(child, whole).unwrap();
    let log = Arc::new(Mutex::new(Vec::new()));
    let heard = log.clone();
    world.relations_mut::<ChildOf>().on_unlink(move |event, _, _| heard.lock().unwrap().push(event));
    world.despawn(child).unwrap();
    let heard: Vec<_> = log.lock().unwrap().iter().map(|event| (event.source, event.target)).collect();
    assert_eq!(heard, [(child, parent)]);
}

#[test]
fn commands_after_the_despawn_of_a_tree_have_memory_of_their_own() {
    for size in [14, 28, 56] {
        let setup = || {
            let mut world = World::new();
            let root = world.spawn_empty();
            for _ in 1..size {
                world.entity_mut(root).unwrap().spawn_child(());
            }
            let others = world.spawn_batch((0..20).map(Id)).to_vec();
            let mut commands = CommandBuffer::new();
            commands.despawn(root);
            others.into_iter().for_each(|other| commands.despawn(other));
            (world, commands)
        };
        for_every_failing_allocation(
            setup,
            |(world, commands)| commands.try_apply(world),
            |(world, _), outcome| {
                world.validate().unwrap();
                assert_eq!(world.len(), if outcome.is_ok() { 0 } else { size + 20 });
            },
        );
    }
}
