//! Commands that meet a lack of memory, or destructors, closures and reports that panic.

use super::{Flag, Other, Small, Value, Wide, populated, rows};
use phalanx::{ChangeError, CommandBuffer, Entity, World};
use phalanx_testkit::{AllocationSweep, Dial, PanicSweep, Site, Tally, catch, fail_from, for_every_panic};
use std::sync::Arc;

#[test]
fn a_failing_allocation_leaves_the_world_alone() {
    without_memory(AllocationSweep::new());
}

#[test]
fn memory_that_stays_exhausted_leaves_the_world_alone() {
    without_memory(AllocationSweep::new().persistent());
}

fn without_memory(sweep: AllocationSweep) {
    let points = sweep.run(
        || {
            let tally = Tally::new();
            let mut world = World::new();
            let e = world.spawn((Small(1), Value(tally.value(1))));
            let f = world.spawn(Small(2));
            let mut commands = CommandBuffer::new();
            let g = commands.spawn(&world, Value(tally.value(2)));
            for n in 0..70 {
                commands.spawn_later((Small(n), Value(tally.value(3))));
            }
            commands.insert(g, (Wide([0; 5]), Value(tally.value(4))));
            commands.insert(e, (Small(3), Value(tally.value(5))));
            commands.remove::<Value>(e);
            commands.insert(f, Value(tally.value(6)));
            commands.despawn(f);
            let before = rows(&world);
            (Some((world, commands)), before, tally)
        },
        |(state, ..)| {
            let (world, commands) = state.as_mut().unwrap();
            commands.apply(world)
        },
        |(state, before, tally), outcome| {
            let (world, commands) = state.take().unwrap();
            world.validate().unwrap();
            assert!(commands.is_empty());
            match outcome {
                Ok(()) => assert_eq!(world.len(), 72),
                Err(error) => {
                    assert!(matches!(error.error, ChangeError::Alloc(_)));
                    let mut after = rows(&world);
                    // Without memory to make them alive, promised entities stay reserved or empty.
                    after.retain(|row| before.contains(row) || row.1.is_some() || row.5.is_some());
                    assert_eq!(after, *before);
                }
            }
            drop((world, commands));
            tally.assert_no_leaks();
        },
    );
    assert!(points >= 6, "{points}");
}

#[test]
fn what_finds_no_memory_is_skipped_by_the_lossy_form() {
    AllocationSweep::new().allow_swallowed().run(
        || {
            let tally = Tally::new();
            let mut world = World::new();
            let entities: Vec<Entity> = (0..64).map(|_| world.spawn(Small(0))).collect();
            let mut commands = CommandBuffer::new();
            for e in &entities {
                commands.insert(*e, Value(tally.value(1)));
            }
            (Some((world, commands)), Vec::with_capacity(100), tally)
        },
        |(state, refused, _)| {
            let (world, commands) = state.as_mut().unwrap();
            commands.apply_lossy(world, |error| refused.push(error));
            Ok::<(), ()>(())
        },
        |(state, refused, tally), _| {
            let (mut world, commands) = state.take().unwrap();
            world.validate().unwrap();
            assert_eq!(world.query_mut::<&Value>().len() + refused.len(), 64);
            drop((world, commands));
            tally.assert_no_leaks();
        },
    );
}

/// A buffer that displaces, closes and spawns, in three segments.
fn eventful(tally: &Tally, dial: &Arc<Dial>) -> (World, CommandBuffer) {
    let (world, known) = populated(tally);
    let mut commands = CommandBuffer::new();
    commands.insert(known[0], Value(tally.value(10)));
    commands.insert(known[1], (Value(tally.value(11)), Wide([0; 5])));
    commands.insert(known[1], (Value(tally.value(12)), Flag));
    let (kept, also) = (tally.value(13), tally.value(14));
    let armed = dial.clone();
    commands.add(move |world| {
        armed.tick_or_panic("callback");
        drop(kept);
        world.spawn(Value(also));
    });
    commands.remove::<Value>(known[2]);
    commands.despawn(known[3]);
    commands.spawn(&world, (Value(tally.value(15)), Other(tally.value(16))));
    commands.despawn(known[8]);
    let kept = tally.value(17);
    let armed = dial.clone();
    commands.add(move |_| {
        armed.tick_or_panic("callback");
        drop(kept);
    });
    commands.spawn_later(Other(tally.value(18)));
    commands.despawn(known[4]);
    (world, commands)
}

#[test]
fn destructors_that_panic_end_each_value_once() {
    let points = PanicSweep::new(Site::Drop).run(
        |tally| Some(eventful(tally, &Arc::default())),
        |state, _| {
            let (world, commands) = state.as_mut().unwrap();
            commands.apply(world).unwrap();
        },
        |state, _, _| {
            let (world, commands) = state.as_ref().unwrap();
            world.validate().unwrap();
            assert!(commands.is_empty());
        },
    );
    assert_eq!(points, 8);
}

#[test]
fn closures_that_panic_end_each_value_once() {
    let points = for_every_panic(|k| {
        let (tally, dial) = (Tally::new(), Arc::new(Dial::at(k)));
        let (mut world, mut commands) = eventful(&tally, &dial);
        let outcome = catch(|| commands.apply(&mut world).unwrap());
        assert_eq!(outcome.is_err(), dial.fired());
        world.validate().unwrap();
        assert!(commands.is_empty());
        assert_eq!(rows(&world).iter().filter(|row| row.2.is_some()).count(), 1, "the first segment stands");
        drop((world, commands));
        tally.assert_no_leaks();
        dial.fired()
    });
    assert_eq!(points, 2);
}

#[test]
fn a_buffer_that_is_dropped_ends_each_payload_once() {
    let points = PanicSweep::new(Site::Drop).run(
        |tally| Some(eventful(tally, &Arc::default())),
        |state, _| drop(std::mem::take(&mut state.as_mut().unwrap().1)),
        |_, _, _| (),
    );
    assert_eq!(points, 9);
}

#[test]
fn a_report_that_panics_loses_nothing() {
    let tally = Tally::new();
    let (mut world, known) = populated(&tally);
    let mut commands = CommandBuffer::new();
    commands.insert(known[0], Value(tally.value(20)));
    commands.insert(*known.last().unwrap(), Value(tally.value(21)));
    commands.add(|_| unreachable!("after the panic"));
    commands.insert(known[0], Value(tally.value(22)));
    assert!(catch(|| commands.apply_lossy(&mut world, |error| panic!("{error}"))).is_err());
    assert_eq!(world.get::<Value>(known[0]).unwrap().0.key(), 20);
    world.validate().unwrap();
    drop((world, commands));
    tally.assert_no_leaks();
}

#[test]
fn a_command_that_is_skipped_without_memory_leaves_no_entity_without_a_row() {
    for n in 1..60 {
        let tally = Tally::new();
        let mut world = World::new();
        let old: Vec<_> = (0..40).map(|key| world.spawn(Value(tally.value(key)))).collect();
        old.iter().for_each(|e| world.despawn(*e).unwrap());
        let mut commands = CommandBuffer::new();
        commands.add(|world| {
            for _ in 0..60 {
                world.reserve_entity();
            }
        });
        let promised = commands.spawn(&world, Value(tally.value(7)));
        fail_from(n, || commands.apply_lossy(&mut world, |_| {}));
        // Reservations that are not made real yet are, by the next change.
        let _ = world.spawn_empty();
        world.validate().unwrap();
        assert!(world.get::<Value>(promised).is_err() || world.get::<Value>(promised).unwrap().0.key() == 7);
        drop((world, commands));
        tally.assert_no_leaks();
    }
}
