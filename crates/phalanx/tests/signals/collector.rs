//! Collectors: what they wait for, and that they miss nothing.

use crate::parts::*;
use phalanx::{CommandBuffer, Key, Role, World};
use phalanx_testkit::catch;

#[test]
fn conditions_choose_what_is_collected() {
    let mut world = World::new();
    let added = world.collector().added::<Pooled>().build();
    let set = world.collector().set::<Plain>().with::<Lined>().without::<Void>().build();
    let removed = world.collector().removed::<Split>().build();
    let spawned = world.collector().spawned().build();
    let despawned = world.collector().despawned().build();
    let either = world.collector().added::<Void>().removed::<Void>().build();
    let a = world.spawn((Plain(0), Pooled(0), Lined(0)));
    let b = world.spawn((Plain(0), Split::of(0)));
    let c = world.spawn((Plain(0), Lined(0), Void));
    for e in [c, b, a, a] {
        world.insert(e, Plain(1)).unwrap();
    }
    world.remove::<(Split, Pooled)>(b).unwrap();
    world.remove::<Void>(c).unwrap();
    world.despawn(c).unwrap();
    assert_eq!(added.drain(&mut world), [a]);
    assert_eq!(set.drain(&mut world), [a]);
    assert_eq!(removed.drain(&mut world), [b]);
    assert_eq!(spawned.drain(&mut world), [a, b, c]);
    assert_eq!(despawned.drain(&mut world), [c]);
    assert_eq!(either.drain(&mut world), [c]);
    assert_eq!(either.drain(&mut world), []);
    world.patch::<Plain, _>(a, |plain| plain.0 = 2).unwrap();
    assert_eq!(set.drain(&mut world), [a]);
}

#[test]
fn entities_are_collected_once_in_the_order_of_what_happened_first() {
    let mut world = World::new();
    let changed = world.collector().set::<Pooled>().build();
    let [a, b] = [world.spawn(Pooled(0)), world.spawn(Pooled(0))];
    let mut commands = CommandBuffer::new();
    for e in [b, a, b, a] {
        commands.insert(e, Pooled(1));
    }
    commands.try_apply(&mut world).unwrap();
    world.despawn(b).unwrap();
    assert_eq!(changed.drain(&mut world), [b, a]);
    assert!(!world.contains(b));
}

#[test]
fn changes_of_extra_rows_count_for_their_entity() {
    let mut world = World::new();
    let changed = world.collector().added::<Plain>().with::<Lined>().build();
    let e = world.spawn(Lined(0));
    let key = Key::main(e).with_role(Role(1));
    world.add_row(key, Plain(0)).unwrap();
    assert_eq!(changed.drain(&mut world), []);
    world.remove_row(key).unwrap();
    world.add_row(key, (Plain(0), Lined(0))).unwrap();
    assert_eq!(changed.drain(&mut world), [e]);
}

#[test]
fn collectors_miss_nothing_when_a_listener_panics() {
    let mut world = World::new();
    let (added, despawned) = (world.collector().added::<Plain>().build(), world.collector().despawned().build());
    let first = world.on_add::<Plain>(|_, _, _| panic!("at the first"));
    assert!(catch(|| world.spawn_batch((0..5).map(Plain))).is_err());
    let all: Vec<_> = world.iter().collect();
    assert_eq!(all.len(), 5);
    assert_eq!(added.drain(&mut world), all);
    world.disconnect(first);
    world.on_despawn(|_, _, _| panic!("at the first"));
    assert!(catch(|| world.clear()).is_err());
    assert_eq!(despawned.drain(&mut world), all);
    world.validate().unwrap();
}

#[test]
fn handles_of_collectors_are_good_for_one_world_and_until_they_are_dropped() {
    let (mut world, mut other) = (World::new(), World::new());
    let mine = world.collector().spawned().build();
    let theirs = other.collector().spawned().build();
    world.spawn_empty();
    assert_eq!((theirs.drain(&mut world), mine.drain(&mut other)), (vec![], vec![]));
    assert!(mine.remove(&mut world) && !mine.remove(&mut world));
    assert_eq!(mine.drain(&mut world), []);
}
