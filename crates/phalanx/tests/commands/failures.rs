//! Commands that meet failing allocations, or destructors and closures that panic.

use super::{Flag, Other, Small, Value, Wide, populated, rows};
use phalanx::commands::CommandKind;
use phalanx::{CommandBuffer, Entity, Key, StructuralError, With, World};
use phalanx_testkit::{AllocationSweep, Counted, Dial, PanicSweep, Site, Tally, catch, fail_from, for_every_panic};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

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
            let g = commands.spawn_with(&world, Value(tally.value(2)));
            for n in 0..70 {
                commands.spawn((Small(n), Value(tally.value(3))));
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
            commands.try_apply(world)
        },
        |(state, before, tally), outcome| {
            let (world, commands) = state.take().unwrap();
            world.validate().unwrap();
            assert!(commands.is_empty());
            match outcome {
                Ok(()) => assert_eq!(world.len(), 72),
                Err(error) => {
                    assert!(matches!(error.error, StructuralError::Alloc(_)));
                    let mut after = rows(&world);
                    // Without memory to make them alive, reserved entities stay reserved or empty.
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

/// Returns a world whose listener records a command for each of its 64 entities when their `Small` is set. The buffers
/// have capacity for 64 commands.
fn answering(tally: &Tally) -> World {
    let mut world = World::new();
    let values: Vec<Counted> = (0..64).map(|key| tally.value(key)).collect();
    let mut values = values.into_iter();
    world.spawn_batch((0..64).map(|_| Small(0)));
    world.on_set::<Small>(move |set, _, commands| match set.new.0 {
        1 => commands.insert(set.entity, Other(values.next().unwrap())),
        _ => commands.insert(set.entity, Wide([0; 5])),
    });
    for n in 2..6 {
        world.insert_where::<With<Small>, _>(Small(n));
    }
    world
}

#[test]
fn what_listeners_record_is_skipped_and_reported_where_allocation_fails() {
    // If one allocation fails, the commands are executed one by one, and all of them are.
    for (sweep, skips) in [(AllocationSweep::new(), false), (AllocationSweep::new().persistent(), true)] {
        let mut most = 0;
        sweep.allow_swallowed().run(
            || {
                let tally = Tally::new();
                let world = answering(&tally);
                (Some(world), tally)
            },
            |(world, _)| world.as_mut().unwrap().try_insert_where::<With<Small>, _>(Small(1)).map(drop),
            |(world, tally), outcome| {
                let mut world = world.take().unwrap();
                world.validate().unwrap();
                let (errors, more) = world.take_signal_errors();
                assert!(errors.iter().all(|error| matches!(error.error, StructuralError::Alloc(_))));
                assert!(errors.iter().all(|error| error.command == CommandKind::Insert && error.entity.is_some()));
                let recorded = if outcome.is_ok() { 64 } else { 0 };
                assert_eq!(world.query_mut::<&Other>().len() + errors.len() + more, recorded);
                most = most.max(errors.len());
                drop(world);
                tally.assert_no_leaks();
            },
        );
        assert_eq!(most > 0, skips);
    }
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
    commands.queue(move |world| {
        armed.tick_or_panic("callback");
        drop(kept);
        world.spawn(Value(also));
    });
    commands.remove::<Value>(known[2]);
    commands.despawn(known[3]);
    commands.spawn_with(&world, (Value(tally.value(15)), Other(tally.value(16))));
    commands.despawn(known[8]);
    let kept = tally.value(17);
    let armed = dial.clone();
    commands.queue(move |_| {
        armed.tick_or_panic("callback");
        drop(kept);
    });
    commands.spawn(Other(tally.value(18)));
    commands.despawn(known[4]);
    (world, commands)
}

#[test]
fn destructors_that_panic_end_each_value_once() {
    let points = PanicSweep::new(Site::Drop).run(
        |tally| Some(eventful(tally, &Arc::default())),
        |state, _| {
            let (world, commands) = state.as_mut().unwrap();
            commands.try_apply(world).unwrap();
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
        let outcome = catch(|| commands.try_apply(&mut world).unwrap());
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
fn payloads_of_skipped_commands_are_dropped_once_whichever_panics() {
    let points = PanicSweep::new(Site::Drop).run(
        |tally| {
            let (world, mut commands) = eventful(tally, &Arc::default());
            let stale = *populated(tally).1.last().unwrap();
            commands.insert(stale, Value(tally.value(30)));
            commands.queue(|_| ());
            commands.insert(stale, (Other(tally.value(31)), Value(tally.value(32))));
            commands.spawn((Flag, Value(tally.value(33)), Flag));
            commands.add_row(Key::main(stale), Value(tally.value(34)));
            Some((world, commands))
        },
        |state, _| {
            let (world, commands) = state.as_mut().unwrap();
            assert_eq!(commands.apply(world).skipped().len(), 4);
        },
        |state, _, _| {
            let (world, commands) = state.as_ref().unwrap();
            world.validate().unwrap();
            assert!(commands.is_empty());
        },
    );
    assert_eq!(points, 8 + 5);
}

#[test]
fn a_command_that_is_skipped_without_memory_leaves_no_entity_without_a_row() {
    let mut skipped = 0;
    for n in 1..60 {
        let tally = Tally::new();
        let mut world = World::new();
        let old: Vec<_> = (0..40).map(|key| world.spawn(Value(tally.value(key)))).collect();
        old.iter().for_each(|e| world.despawn(*e).unwrap());
        let values: Vec<Counted> = (0..5).map(|_| tally.value(7)).collect();
        let mut values = values.into_iter();
        let reserved = Arc::new(AtomicU64::new(0));
        let sink = reserved.clone();
        world.on_add::<Flag>(move |_, world, commands| {
            commands.queue(|world| {
                for _ in 0..60 {
                    world.reserve_entity();
                }
            });
            let e = commands.spawn_with(world, Value(values.next().unwrap()));
            sink.store(e.to_bits(), Ordering::Relaxed);
        });
        // Afterwards the buffers, which are used in turn, have capacity.
        for _ in 0..4 {
            world.spawn(Flag);
        }
        let _ = fail_from(n, || world.try_spawn(Flag));
        skipped += world.take_signal_errors().0.len();
        // Reservations that are not made real yet are, by the next change.
        let _ = world.spawn_empty();
        world.validate().unwrap();
        let reserved = Entity::from_bits(reserved.load(Ordering::Relaxed)).unwrap();
        assert!(world.get::<Value>(reserved).is_err() || world.get::<Value>(reserved).unwrap().0.key() == 7);
        drop(world);
        tally.assert_no_leaks();
    }
    assert!(skipped > 0, "no command was skipped");
}
