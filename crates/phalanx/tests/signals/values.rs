//! Collectors that keep the past values of components.

use crate::parts::{Plain, Void};
use phalanx::signal::Change;
use phalanx::{CommandBuffer, Component, Entity, StructuralError, World};
use phalanx_testkit::{Counted, PanicSweep, Site, Tally, catch, for_every_failing_allocation};
use std::sync::{Arc, Mutex};

#[derive(Component, Clone)]
#[component(clone)]
struct InTable(#[allow(dead_code)] Counted);
#[derive(Component, Clone)]
#[component(layout = "pool", clone)]
struct InPool(#[allow(dead_code)] Counted);

#[derive(Component, Clone, Debug, PartialEq)]
struct Name(String);

fn name(text: &str) -> Name {
    Name(text.into())
}

#[test]
fn values_are_kept_for_each_event_in_order_until_they_are_drained() {
    let mut world = World::new();
    let past = world.collector().set::<Name>().removed::<Name>().keep_values::<Name>();
    let only_void = world.collector().removed::<Name>().with::<Void>().keep_values::<Name>();
    let [a, b] = [world.spawn((name("a"), Void)), world.spawn(name("b"))];
    let mut commands = CommandBuffer::new();
    commands.insert(a, name("a1"));
    commands.remove::<Name>(b);
    commands.insert(a, name("a2"));
    commands.remove::<Name>(a);
    commands.insert(a, name("a3"));
    commands.apply(&mut world);
    assert_eq!(world.replace(a, name("a4")), Ok(name("a3")));
    assert_eq!(world.take::<Name>(a).unwrap(), name("a4"));
    let seen = |values: Vec<phalanx::signal::PastValue<Name>>| -> Vec<(phalanx::Entity, Change, String)> {
        values.into_iter().map(|past| (past.entity, past.change, past.value.0)).collect()
    };
    let (set, removed) = (Change::Set, Change::Removed);
    assert_eq!(
        seen(past.drain(&mut world)),
        [(a, set, "a"), (b, removed, "b"), (a, set, "a1"), (a, removed, "a2"), (a, set, "a3"), (a, removed, "a4")]
            .map(|(e, change, text)| (e, change, text.to_string()))
    );
    assert_eq!(past.drain(&mut world), []);
    assert_eq!(seen(only_void.drain(&mut world)), [(a, removed, "a2".to_string()), (a, removed, "a4".to_string())]);
    // An entity that goes to another world.
    world.insert(b, name("gone")).unwrap();
    let mut other = World::new();
    world.entity_mut(b).unwrap().transfer(&mut other).unwrap();
    assert_eq!(seen(past.drain(&mut world)), [(b, removed, "gone".to_string())]);
    assert!(past.remove(&mut world) && !past.remove(&mut world) && only_void.remove(&mut world));
    assert_eq!(world.memory().signals, 0);
    assert_eq!(past.drain(&mut world), []);
}

#[test]
fn collectors_of_values_want_conditions_about_their_component() {
    let mut world = World::new();
    assert!(catch(|| world.collector().keep_values::<Name>()).is_err());
    assert!(catch(|| world.collector().added::<Name>().keep_values::<Name>()).is_err());
    assert!(catch(|| world.collector().set::<Name>().removed::<Plain>().keep_values::<Name>()).is_err());
    let error = catch(|| world.collector().despawned().keep_values::<Name>()).unwrap_err();
    assert!(error.message().contains("removed::<"), "{}", error.message());
    assert_eq!(world.memory().signals, 0);
}

#[test]
fn values_that_were_kept_in_a_time_that_is_undone_are_dropped() {
    let mut world = World::new();
    let past = world.collector().set::<Name>().keep_values::<Name>();
    let e = world.spawn(name("0"));
    // A name cannot be cloned by the world, so that a checkpoint must be without one.
    world.remove::<Name>(e).unwrap();
    world.insert(e, name("1")).unwrap();
    world.insert(e, name("2")).unwrap();
    let values = |world: &mut World| past.drain(world).into_iter().map(|past| past.value.0).collect::<Vec<_>>();
    world.insert(e, name("3")).unwrap();
    assert_eq!(values(&mut world), ["1", "2"]);
    world.insert(e, name("4")).unwrap();
    world.remove::<Name>(e).unwrap();
    let before = world.checkpoint().unwrap();
    world.insert(e, name("5")).unwrap();
    world.insert(e, name("6")).unwrap();
    world.remove::<Name>(e).unwrap();
    world.rollback(&before).unwrap();
    assert_eq!(values(&mut world), ["3"]);
}

#[test]
fn h17_a_clone_that_panics_loses_its_own_value_and_no_other() {
    for tables in [true, false] {
        let points = PanicSweep::new(Site::Clone).run(
            |tally| {
                let mut world = World::new();
                let entities = world.spawn_batch((0..3).map(|n| (InTable(tally.value(n)), InPool(tally.value(n)))));
                let table = world.collector().removed::<InTable>().keep_values::<InTable>();
                let pool = world.collector().removed::<InPool>().keep_values::<InPool>();
                let calls = Arc::new(Mutex::new(0));
                let count = calls.clone();
                world.on_remove::<InTable>(move |_, _, _| *count.lock().unwrap() += 1);
                (world, entities, table, pool, calls)
            },
            |(world, entities, ..), _| match tables {
                true => drop(world.despawn_batch(entities.iter().copied())),
                false => {
                    let mut commands = CommandBuffer::new();
                    entities.iter().for_each(|e| commands.remove::<(InPool, InTable)>(*e));
                    commands.apply(world);
                }
            },
            |(world, _, table, pool, calls), _, panicked| {
                let kept = table.drain(world).len() + pool.drain(world).len();
                assert_eq!((kept, *calls.lock().unwrap()), if panicked { (5, 0) } else { (6, 3) });
                world.validate().unwrap();
            },
        );
        assert_eq!(points, 6);
    }
}

#[test]
fn h15_values_whose_drop_panics_leave_a_valid_world_wherever_they_are_dropped() {
    type Drops = fn(&mut World, phalanx::signal::ValueCollector<InTable>);
    let ways: [(Drops, u64); 3] = [
        (|world, past| drop(past.drain(world)), 2),
        (|world, past| assert!(past.remove(world)), 2),
        (
            |world, _| {
                let mut empty = World::new();
                core::mem::swap(world, &mut empty);
            },
            2,
        ),
    ];
    for (drops, expected) in ways {
        let points = PanicSweep::new(Site::Drop).run(
            |tally| {
                let mut world = World::new();
                let past = world.collector().removed::<InTable>().keep_values::<InTable>();
                let entities = world.spawn_batch((0..2).map(|n| InTable(tally.value(n))));
                world.despawn_batch(entities);
                (world, past)
            },
            |(world, past), _| drops(world, *past),
            |(world, ..), _, _| {
                world.validate().unwrap();
                world.spawn(Plain(0));
            },
        );
        assert_eq!(points, expected);
    }
}

#[test]
fn h15_undone_values_whose_drop_panics_are_dropped_when_the_rollback_is_complete() {
    let points = PanicSweep::new(Site::Drop).run(
        |tally| {
            let mut world = World::new();
            let past = world.collector().removed::<InTable>().keep_values::<InTable>();
            let before = world.checkpoint().unwrap();
            let entities = world.spawn_batch((0..3).map(|n| InTable(tally.value(n))));
            world.despawn_batch(entities);
            (world, past, before)
        },
        |(world, _, before), _| world.rollback(before).unwrap(),
        |(world, past, _), _, _| {
            assert!(past.drain(world).is_empty());
            world.validate().unwrap();
            assert!(world.spawn(Plain(0)).index() == 0);
        },
    );
    assert_eq!(points, 3);
}

#[test]
fn a_patch_that_panics_keeps_nothing() {
    let mut world = World::new();
    let past = world.collector().set::<Name>().keep_values::<Name>();
    let e = world.spawn(name("a"));
    assert!(catch(|| world.patch::<Name, ()>(e, |_| panic!("no change"))).is_err());
    assert_eq!(past.drain(&mut world), []);
    world.patch::<Name, _>(e, |name| name.0.push('b')).unwrap();
    world.insert(e, name("c")).unwrap();
    let texts: Vec<String> = past.drain(&mut world).into_iter().map(|past| past.value.0).collect();
    assert_eq!(texts, ["a", "ab"]);
}

#[test]
fn no_failing_allocation_of_an_operation_loses_a_value() {
    let tally = Tally::new();
    // The one component goes to its pool by type, and needs capacity for its event. With another it takes the general path.
    let changes: [fn(&mut World, Entity, InPool) -> Result<(), StructuralError>; 2] =
        [|world, e, value| world.try_insert(e, value), |world, e, value| world.try_insert(e, (value, Plain(0)))];
    for change in changes {
        let points = for_every_failing_allocation(
            || {
                let mut world = World::new();
                let e = world.spawn(InPool(tally.value(1)));
                let past = world.collector().set::<InPool>().removed::<InPool>().keep_values::<InPool>();
                (world, e, past)
            },
            |(world, e, _)| change(world, *e, InPool(tally.value(2))),
            |(world, _, past), outcome| {
                assert_eq!(past.drain(world).len(), usize::from(outcome.is_ok()));
                world.validate().unwrap();
            },
        );
        assert!(points > 0);
    }
}
