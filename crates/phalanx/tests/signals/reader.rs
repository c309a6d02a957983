//! Readers of changes.

use crate::parts::*;
use phalanx::signal::ChangeReader;
use phalanx::{Entity, Key, Role, World};
use phalanx_testkit::Rng;
use std::sync::{Arc, Mutex};

#[test]
fn every_reader_sees_every_removal_once_in_order() {
    for seed in 0..10 {
        let (mut world, mut rng) = (World::new(), Rng::new(seed));
        let removals = Arc::new(Mutex::new(Vec::new()));
        let sink = removals.clone();
        world.on_remove::<Pooled>(move |removed, _, _| sink.lock().unwrap().push(removed.entity));
        let readers = |world: &mut World| -> Vec<ChangeReader> {
            (0..3).map(|_| world.collector().removed::<Pooled>().build_reader()).collect()
        };
        let mut readers = readers(&mut world);
        let mut seen: Vec<Vec<Entity>> = vec![Vec::new(); readers.len()];
        let mut entities = world.spawn_batch((0..8).map(|n| (Pooled(n), Plain(n as u32))));
        for n in 0..300 {
            let at = rng.below(entities.len());
            let e = entities[at];
            match rng.below(8) {
                0 => {
                    world.despawn(e).unwrap();
                    entities[at] = world.spawn(Pooled(n));
                }
                1 => {
                    world.despawn_batch(entities.drain(..3));
                    entities.extend(world.spawn_batch((0..3).map(Pooled)));
                }
                2 => drop(world.add_row(Key::main(e).with_role(Role(1)), Pooled(n))),
                3..6 => drop(world.remove::<Pooled>(e)),
                _ => drop(world.insert(e, Pooled(n))),
            }
            // The first reads always, the second often, the last rarely.
            for (number, (reader, seen)) in readers.iter_mut().zip(&mut seen).enumerate() {
                if rng.below(1 + number * 20) == 0 {
                    seen.extend(reader.read(&world));
                }
            }
        }
        for (reader, seen) in readers.iter_mut().zip(&mut seen) {
            seen.extend(reader.read(&world));
            assert!(reader.read(&world).is_empty());
            assert_eq!(*seen, *removals.lock().unwrap());
        }
        assert!(seen[0].len() > 100);
    }
}

#[test]
fn readers_read_through_a_shared_world_on_any_thread() {
    let mut world = World::new();
    let mut readers: Vec<_> =
        (0..4).map(|_| world.collector().removed::<Plain>().added::<Plain>().build_reader()).collect();
    let list = world.spawn_batch((0..100).map(Plain));
    world.despawn_batch(list.iter().rev().copied());
    let expected: Vec<Entity> = list.iter().chain(list.iter().rev()).copied().collect();
    std::thread::scope(|scope| {
        for reader in &mut readers {
            scope.spawn(|| assert_eq!(reader.read(&world), expected));
        }
    });
    world.spawn(Plain(0));
    assert!(readers.iter_mut().all(|reader| reader.read(&world).len() == 1));
}

#[test]
fn conditions_choose_what_is_read() {
    let mut world = World::new();
    let mut reader = world.collector().removed::<Plain>().with::<Pooled>().despawned().build_reader();
    let [a, b] = [world.spawn((Plain(1), Pooled(1))), world.spawn(Plain(2))];
    world.remove::<Plain>(a).unwrap();
    world.remove::<Plain>(b).unwrap();
    world.despawn(b).unwrap();
    assert_eq!(reader.read(&world), [a, b]);
    assert!(reader.read(&World::new()).is_empty());
}

#[test]
fn what_was_read_is_removed_and_so_are_dropped_readers() {
    let mut world = World::new();
    let before = world.memory().signals;
    let mut reader = world.collector().added::<Plain>().build_reader();
    let mut largest = 0;
    for n in 0..10_000 {
        world.spawn(Plain(n));
        assert_eq!(reader.read(&world).len(), 1);
        largest = largest.max(world.memory().signals);
    }
    assert!(largest < 2_000, "{largest} bytes for one event at a time");
    drop(reader);
    world.spawn(Plain(0));
    assert_eq!(world.memory().signals, before);
}

#[test]
fn going_back_in_time_discards_what_was_collected_since() {
    let mut world = World::new();
    let mut reader = world.collector().added::<Plain>().build_reader();
    let mut late = world.collector().added::<Plain>().build_reader();
    let a = world.spawn(Plain(1));
    assert_eq!(reader.read(&world), [a]);
    let checkpoint = world.checkpoint().unwrap();
    world.spawn_batch([Plain(2), Plain(3)]);
    assert_eq!(reader.read(&world).len(), 2);
    world.rollback(&checkpoint).unwrap();
    assert!(reader.read(&world).is_empty());
    assert_eq!(late.read(&world), [a]);
    let b = world.spawn(Plain(4));
    assert_eq!((reader.read(&world), late.read(&world)), (&[b][..], &[b][..]));
}
