//! Commands: a buffer does what its commands would do one by one, or nothing; and every payload ends once.

use phalanx::{ChangeError, CommandError, CommandQueue, Commands, Component, DuplicateComponent, Entity, World};
use phalanx_testkit::{AllocationSweep, Counted, Dial, PanicSweep, Rng, Site, Tally};
use phalanx_testkit::{catch, for_every_failing_allocation, for_every_panic};
use std::sync::Arc;

#[path = "commands/threads.rs"]
mod threads;

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Small(u8);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Wide([u64; 5]);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Flag;
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
struct Aligned(u32);
#[derive(Component, Debug)]
struct Value(Counted);
#[derive(Component, Debug)]
struct Other(Counted);

/// A row as it is seen: the entity and all that it has.
type Row = (Entity, Option<u8>, Option<[u64; 5]>, bool, Option<u32>, Option<u32>, Option<u32>);

/// All rows in the order of iteration.
fn rows(world: &World) -> Vec<Row> {
    let mut rows = Vec::new();
    for e in world.query::<Entity>().iter() {
        rows.push((
            e,
            world.get::<Small>(e).ok().map(|c| c.0),
            world.get::<Wide>(e).ok().map(|c| c.0),
            world.has::<Flag>(e),
            world.get::<Aligned>(e).ok().map(|c| c.0),
            world.get::<Value>(e).ok().map(|c| c.0.key()),
            world.get::<Other>(e).ok().map(|c| c.0.key()),
        ));
    }
    rows
}

/// A world in which every table and edge that the tests use is known: what is left to allocate is reserved.
fn warm() -> World {
    let mut world = World::new();
    let tally = Tally::new();
    let e = world.spawn_empty();
    for at in 0..4 {
        let start = |world: &mut World| match at {
            0 => {}
            1 => world.insert(e, Small(0)).unwrap(),
            2 => world.insert(e, Value(tally.value(0))).unwrap(),
            _ => world.insert(e, (Small(0), Value(tally.value(0)))).unwrap(),
        };
        let clear = |world: &mut World| world.remove::<(Small, Value, Wide)>(e).unwrap();
        start(&mut world);
        world.insert(e, Small(1)).unwrap();
        clear(&mut world);
        start(&mut world);
        world.insert(e, Value(tally.value(0))).unwrap();
        clear(&mut world);
        start(&mut world);
        world.insert(e, (Wide([0; 5]), Value(tally.value(0)))).unwrap();
        world.insert(e, Value(tally.value(0))).unwrap();
        world.remove::<Value>(e).unwrap();
        clear(&mut world);
        start(&mut world);
        world.remove::<Value>(e).unwrap();
        clear(&mut world);
        start(&mut world);
        world.insert(e, (Small(1), Value(tally.value(0)))).unwrap();
        clear(&mut world);
    }
    world.despawn(e).unwrap();
    world
}

#[test]
fn commands_can_change_threads() {
    fn check<T: Send + Sync>() {}
    check::<Commands>();
    check::<CommandQueue<u32>>();
}

#[test]
fn a_buffer_does_what_was_recorded() {
    let mut world = World::new();
    let a = world.spawn((Small(1), Flag));
    let mut commands = Commands::new();
    let b = commands.spawn(&world, (Small(2), Aligned(7)));
    commands.insert(a, Wide([3; 5]));
    commands.insert(b, Small(4));
    commands.remove::<(Flag, Aligned)>(a);
    commands.add(move |world| world.insert(b, Flag).unwrap());
    commands.spawn_later(Aligned(9));
    commands.despawn(a);
    assert_eq!(commands.len(), 7);
    assert!(format!("{commands:?}").starts_with("[Spawn("), "{commands:?}");
    commands.apply(&mut world).unwrap();
    assert!(commands.is_empty());
    let all = rows(&world);
    assert_eq!(all.len(), 2);
    assert!(all.contains(&(b, Some(4), None, true, Some(7), None, None)));
    assert!(all.iter().any(|row| row.4 == Some(9)));
    world.validate().unwrap();
}

/// Records a command drawn at random, the same for the same state of the generator.
fn draw(rng: &mut Rng, known: &[Entity], tally: &Tally, commands: &mut Commands) {
    let e = *rng.pick(known).unwrap();
    let key = rng.below(1000) as u32;
    match rng.below(14) {
        0 => commands.insert(e, Small(key as u8)),
        1 => commands.insert(e, (Value(tally.value(key)), Flag)),
        2 => commands.insert(e, (Aligned(key), Wide([key.into(); 5]))),
        3 => commands.insert(e, (Other(tally.value(key)), Value(tally.value(key + 1)))),
        4 => commands.remove::<Value>(e),
        5 => commands.remove::<(Small, Other, Aligned)>(e),
        6 => commands.remove::<(Flag, Wide)>(e),
        7 => commands.insert(e, ()),
        8 if rng.chance(1, 3) => commands.despawn(e),
        9 => commands.spawn_later((Value(tally.value(key)), Small(1))),
        10 => commands.spawn_later(()),
        11 if rng.chance(1, 4) => commands.add(move |world| {
            let _ = world.insert(e, Small(key as u8));
        }),
        _ => commands.insert(e, (Small(key as u8), Other(tally.value(key)))),
    }
}

/// A world with some rows in several tables.
fn populated(tally: &Tally) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let mut known: Vec<Entity> = (0..6).map(|n| world.spawn((Small(n), Value(tally.value(n.into()))))).collect();
    known.extend((0..3).map(|n| world.spawn((Flag, Aligned(n)))));
    known.push(world.spawn_empty());
    let dead = world.spawn_empty();
    world.despawn(dead).unwrap();
    known.push(dead);
    (world, known)
}

#[test]
fn a_buffer_is_as_its_commands_one_by_one() {
    for seed in 0..400 {
        let tally = Tally::new();
        let (mut whole, known) = populated(&tally);
        let (mut single, _) = populated(&tally);
        let count = 1 + (seed as usize % 40);
        let (mut a, mut b) = (Rng::new(seed), Rng::new(seed));
        let mut commands = Commands::new();
        (0..count).for_each(|_| draw(&mut a, &known, &tally, &mut commands));
        let mut refused = Vec::new();
        commands.apply_lossy(&mut whole, |error| refused.push(error));
        for position in 0..count {
            let mut one = Commands::new();
            draw(&mut b, &known, &tally, &mut one);
            if let Err(CommandError { error, .. }) = one.apply(&mut single) {
                assert!(refused.contains(&CommandError { position, error }), "seed {seed}");
                refused.retain(|error| error.position != position);
            }
        }
        assert_eq!(refused, [], "seed {seed}");
        assert_eq!(rows(&whole), rows(&single), "seed {seed}");
        whole.validate().unwrap();
        single.validate().unwrap();
        let next = |world: &mut World| [(); 4].map(|()| world.spawn_empty());
        assert_eq!(next(&mut whole), next(&mut single), "seed {seed}");
        drop((whole, single, commands));
        tally.assert_no_leaks();
    }
}

#[test]
fn a_stale_handle_at_any_command_leaves_the_world_alone() {
    for k in 0..12 {
        let tally = Tally::new();
        let (mut world, known) = populated(&tally);
        let before = rows(&world);
        let stale = *known.last().unwrap();
        let mut commands = Commands::new();
        let promised = commands.spawn(&world, Value(tally.value(50)));
        for n in 1..12 {
            let target = if n == k { stale } else { known[n % 8] };
            match n % 3 {
                _ if k == 0 && n == 1 => commands.despawn(stale),
                0 => commands.insert(target, (Value(tally.value(n as u32)), Wide([1; 5]))),
                1 => commands.remove::<(Small, Flag)>(target),
                _ => commands.insert(target, Aligned(4)),
            }
        }
        commands.despawn(known[0]);
        let error = commands.apply(&mut world).unwrap_err();
        assert_eq!(error.position, k.max(1));
        assert!(matches!(error.error, ChangeError::NoSuchEntity(e) if e.entity == stale), "{error}");
        assert!(error.to_string().starts_with(&format!("command {}: ", k.max(1))));
        assert_eq!(rows(&world), before);
        assert!(!world.contains(promised), "what was promised and not made ends");
        assert!(commands.is_empty());
        world.validate().unwrap();
        drop((world, commands));
        tally.assert_no_leaks();
    }
}

#[test]
fn entities_are_followed_within_a_segment() {
    let mut world = World::new();
    let [a, b] = [world.spawn(Small(0)), world.spawn(Small(1))];
    let mut commands = Commands::new();
    commands.despawn(a);
    commands.spawn_later(Small(2));
    commands.insert(b, Flag);
    commands.insert(a, Flag);
    assert_eq!(commands.apply(&mut world).unwrap_err().position, 3);
    assert!(world.contains(a) && !world.has::<Flag>(b));
    // A closure ends the segment: what was before it stands.
    commands.insert(b, Flag);
    commands.add(move |world| world.despawn(a).unwrap());
    commands.remove::<Flag>(b);
    commands.insert(a, Flag);
    assert_eq!(commands.apply(&mut world).unwrap_err().position, 3);
    assert!(!world.contains(a) && world.has::<Flag>(b));
    world.validate().unwrap();
}

#[test]
fn a_bundle_with_a_component_twice_is_refused_by_name() {
    let mut world = World::new();
    let mut commands = Commands::new();
    let e = commands.spawn(&world, (Flag, Flag));
    commands.insert(e, Small(1));
    let mut refused = Vec::new();
    commands.apply_lossy(&mut world, |error| refused.push((error.position, error.error)));
    let [(0, ChangeError::Duplicate(DuplicateComponent { component })), (1, ChangeError::NoSuchEntity(_))] =
        refused[..]
    else {
        panic!("{refused:?}")
    };
    assert!(component.ends_with("Flag"));
    assert!(!world.contains(e) && world.is_empty());
    world.validate().unwrap();
}

#[test]
fn a_failing_allocation_leaves_the_world_alone() {
    let points = for_every_failing_allocation(
        || {
            let tally = Tally::new();
            let mut world = warm();
            let e = world.spawn((Small(1), Value(tally.value(1))));
            let f = world.spawn(Small(2));
            let mut commands = Commands::new();
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
            let mut world = warm();
            let entities: Vec<Entity> = (0..64).map(|_| world.spawn(Small(0))).collect();
            let mut commands = Commands::new();
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

#[test]
fn recording_into_reserved_room_needs_no_memory() {
    let mut commands = Commands::new();
    commands.try_reserve(10, 10 * size_of::<Wide>()).unwrap();
    let ((), usage) = phalanx_testkit::measure(|| (0..10).for_each(|_| commands.spawn_later(Wide([0; 5]))));
    assert_eq!(usage.allocations, 0);
    assert!(commands.memory() > 10 * size_of::<Wide>());
    assert!(commands.try_reserve(usize::MAX, 0).is_err());
    assert!(commands.try_reserve(0, usize::MAX).is_err());
    assert_eq!(commands.len(), 10);
}

/// A buffer that displaces, closes and spawns, in three segments.
fn eventful(tally: &Tally, dial: &Arc<Dial>) -> (World, Commands) {
    let (world, known) = populated(tally);
    let mut commands = Commands::new();
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
    let mut commands = Commands::new();
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
fn displaced_values_end_when_the_segment_is_done() {
    struct Probe(std::sync::mpsc::Sender<u32>, u32);
    impl Drop for Probe {
        fn drop(&mut self) {
            let _ = self.0.send(self.1);
        }
    }
    #[derive(Component)]
    struct Held(#[expect(dead_code)] Probe);
    let (send, ended) = std::sync::mpsc::channel();
    let held = |n| Held(Probe(send.clone(), n));
    let mut world = World::new();
    let [a, b] = [world.spawn(held(1)), world.spawn((held(2), Flag))];
    let mut commands = Commands::new();
    commands.insert(b, (held(3), Small(0)));
    commands.remove::<Held>(a);
    commands.insert(a, held(4));
    commands.insert(a, held(5));
    commands.despawn(b);
    commands.apply(&mut world).unwrap();
    assert_eq!(ended.try_iter().collect::<Vec<_>>(), [2, 1, 4, 3]);
    drop(world);
    assert_eq!(ended.try_iter().collect::<Vec<_>>(), [5]);
}

#[test]
fn payloads_of_any_alignment_keep_their_place() {
    #[derive(Component, Clone, Copy, Debug, PartialEq)]
    #[repr(align(4096))]
    struct Page(u8);
    #[derive(Component, Clone, Copy, Debug, PartialEq)]
    #[repr(align(256))]
    struct Nothing;
    let (mut world, mut commands, mut tail) = (World::new(), Commands::new(), Commands::new());
    for n in 0..20 {
        commands.spawn_later((Small(n), Nothing));
        commands.spawn_later(Wide([n.into(); 5]));
        tail.spawn_later((Page(n), Small(n)));
    }
    commands.append(&mut tail);
    commands.spawn_later(Nothing);
    commands.apply(&mut world).unwrap();
    assert!(world.query::<&Page>().iter().map(|page| page.0).eq(0..20));
    assert!(world.query::<&Wide>().iter().map(|wide| wide.0[4]).eq(0..20));
    assert_eq!(world.query::<&Nothing>().len(), 21);
    world.validate().unwrap();
}
