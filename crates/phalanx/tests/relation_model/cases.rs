//! Single cases that random programs, or a close look, have found.

use crate::kit::{Id, PartOf, ReportsTo};
use phalanx::relation::ChildOf;
use phalanx::timeline::Timeline;
use phalanx::{CommandBuffer, Entity, World};
use phalanx_testkit::for_every_failing_allocation;
use std::sync::{Arc, Mutex};

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

#[test]
fn links_that_move_from_one_despawned_target_to_the_next_are_all_recorded() {
    let mut world = World::new();
    let chain: Vec<Entity> = (0..8).map(|n| world.spawn(Id(n))).collect();
    let mut staff = world.relations_mut::<ReportsTo>();
    chain.windows(2).for_each(|pair| staff.link(pair[1], pair[0]).unwrap());
    let leaves: Vec<Entity> = (0..50).map(|n| staff.spawn(chain[7], Id(n)).unwrap()).collect();
    let counts = Arc::new(Mutex::new([0, 0]));
    let [linked, unlinked] = [counts.clone(), counts.clone()];
    staff.on_link(move |_, _, _| linked.lock().unwrap()[0] += 1);
    staff.on_unlink(move |_, _, _| unlinked.lock().unwrap()[1] += 1);
    // From the last to the second: each of them gets the leaves of the one before it.
    assert_eq!(world.despawn_batch(chain[1..].iter().rev().copied()), 7);
    world.validate().unwrap();
    assert!(world.relations::<ReportsTo>().children(chain[0]).eq(leaves));
    assert_eq!(*counts.lock().unwrap(), [7 * 50, 7 * 50 + 7]);
}
