//! Recorded changes of extra rows.

use super::{Aligned, Flag, Other, Small, Value, Wide};
use phalanx::{CommandBuffer, ComponentId, Entity, Key, Role, RowError, StructuralError, World};
use phalanx_testkit::{AllocationSweep, Counted, PanicSweep, Rng, Site, Tally};

fn key(entity: Entity, role: u32) -> Key {
    Key::main(entity).with_role(Role(role))
}

/// All that can be seen of a row, but for its handle.
type Seen = (Key, Option<u8>, Option<u32>, Option<u32>, Option<u32>, bool);

/// All rows, in the order of iteration; then those of each entity, in the order of their making.
fn all_rows(world: &World) -> (Vec<Seen>, Vec<(Key, phalanx::Row)>) {
    type All<'a> =
        (Key, Option<&'a Small>, Option<&'a Aligned>, Option<&'a Value>, Option<&'a Other>, phalanx::Has<Flag>);
    let query = world.query::<All<'_>>();
    let seen = query.iter().map(|(key, small, aligned, value, other, flag)| {
        let counted = (value.map(|v| v.0.key()), other.map(|v| v.0.key()));
        (key, small.map(|c| c.0), aligned.map(|c| c.0), counted.0, counted.1, flag)
    });
    (seen.collect(), world.iter().flat_map(|e| world.rows(e).unwrap()).collect())
}

/// A world whose entities have rows in several tables, two of one entity in one table among them; and a dead entity.
fn populated(tally: &Tally) -> (World, Vec<Entity>, ComponentId) {
    let mut world = World::new();
    let about = world.register_component::<Wide>();
    let mut known: Vec<Entity> = (0..4).map(|n| world.spawn((Small(n), Value(tally.value(n.into()))))).collect();
    for (n, e) in (0..).zip(&known[..3]) {
        world.add_row(key(*e, 1), (Small(n), Value(tally.value(10)))).unwrap();
        world.add_row(key(*e, 1).with_component(about), (Small(n), Value(tally.value(11)))).unwrap();
        world.add_row(key(*e, 2), (Aligned(7), Other(tally.value(12)))).unwrap();
    }
    known.push(world.spawn_empty());
    let dead = world.spawn_empty();
    world.despawn(dead).unwrap();
    known.push(dead);
    (world, known, about)
}

#[test]
fn a_buffer_knows_the_rows_that_it_makes() {
    let mut world = World::new();
    let mut commands = CommandBuffer::new();
    let e = commands.spawn_with(&world, Small(1));
    commands.add_row(key(e, 1), Small(2));
    commands.insert_into_row(key(e, 1), Aligned(3));
    commands.add_row(key(e, 2), (Small(4), Flag));
    commands.remove_from_row::<Flag>(key(e, 2));
    commands.insert_into_row(Key::main(e), Flag);
    commands.remove_row(key(e, 1));
    commands.add_row(key(e, 1), Aligned(5));
    assert!(format!("{commands:?}").contains("AddRow(0v0 role 1)"), "{commands:?}");
    commands.try_apply(&mut world).unwrap();
    world.validate().unwrap();
    let roles: Vec<u32> = world.rows(e).unwrap().map(|(key, _)| key.role.0).collect();
    assert_eq!(roles, [0, 2, 1], "spawned again, a row is the last");
    assert!(world.has::<Flag>(e));
    assert_eq!(world.row(key(e, 2)).and_then(|row| row.get::<Small>()), Ok(&Small(4)));
    assert_eq!(world.row(key(e, 1)).and_then(|row| row.get::<Aligned>()), Ok(&Aligned(5)));
    assert!(
        world.row(key(e, 1)).and_then(|row| row.get::<Small>()).is_err()
            && world.row(key(e, 2)).and_then(|row| row.get::<Flag>()).is_err()
    );
}

#[test]
fn refused_rows_are_named_and_nothing_of_the_segment_happens() {
    let tally = Tally::new();
    let (mut world, known, about) = populated(&tally);
    let (e, dead) = (known[0], known[5]);
    let unknown = ComponentId::from_index(900);
    let before = all_rows(&world);
    type Case<'a> = (&'a dyn Fn(&mut CommandBuffer, Value), StructuralError);
    let stale = RowError::NoSuchRow { key: key(e, 9) };
    let cases: [Case<'_>; 9] = [
        (&|c, v| c.add_row(key(e, 1), v), RowError::Exists { key: key(e, 1) }.into()),
        (&|c, v| c.add_row(Key::main(e), v), RowError::Exists { key: Key::main(e) }.into()),
        (&|c, v| c.add_row(key(e, 8), v), RowError::Exists { key: key(e, 8) }.into()),
        (
            &|c, v| c.add_row(Key::main(e).with_component(unknown), v),
            RowError::NoSuchComponent { component: unknown }.into(),
        ),
        (&|c, v| c.insert_into_row(key(e, 9), v), stale.into()),
        (&|c, _| c.remove_from_row::<Value>(key(e, 9)), stale.into()),
        (&|c, _| c.remove_row(key(e, 7)), RowError::NoSuchRow { key: key(e, 7) }.into()),
        (&|c, _| c.remove_row(Key::main(e)), RowError::MainRow { entity: e }.into()),
        (&|c, v| c.insert_into_row(key(dead, 1), v), phalanx::NoSuchEntity { entity: dead }.into()),
    ];
    for (record, error) in cases {
        let mut commands = CommandBuffer::new();
        commands.add_row(key(e, 8), Value(tally.value(1)));
        commands.add_row(key(e, 7), Value(tally.value(1)));
        commands.remove_row(key(e, 7));
        commands.insert_into_row(key(e, 1).with_component(about), Value(tally.value(1)));
        record(&mut commands, Value(tally.value(2)));
        let refused = commands.try_apply(&mut world).unwrap_err();
        assert_eq!((refused.position, refused.error), (4, error));
        assert_eq!(all_rows(&world), before);
        world.validate().unwrap();
    }
    drop(world);
    tally.assert_no_leaks();
}

/// A change drawn at random.
#[derive(Clone, Copy, Debug)]
struct Op(usize, Key, u32);

impl Op {
    fn draw(rng: &mut Rng, known: &[Entity], about: ComponentId) -> Op {
        let key = key(*rng.pick(known).unwrap(), rng.below(4) as u32);
        let key = if rng.chance(1, 4) { key.with_component(about) } else { key };
        Op(rng.below(16), key, rng.below(100) as u32)
    }

    fn record(self, tally: &Tally, commands: &mut CommandBuffer) {
        let Op(kind, key, n) = self;
        let value = || Value(tally.value(n));
        match kind {
            0..=2 => commands.add_row(key, (Aligned(n), value())),
            3 | 4 => commands.add_row(key, (Small(n as u8), Flag)),
            5 => commands.add_row(key, ()),
            6 => commands.add_row(key, (Flag, Flag)),
            7 => commands.insert_into_row(key, (Other(tally.value(n)), Aligned(n))),
            8 => commands.insert_into_row(key, value()),
            9 => commands.insert_into_row(key, (Flag, Flag)),
            10 => commands.remove_from_row::<(Value, Small)>(key),
            11 | 12 => commands.remove_row(key),
            13 => commands.despawn(key.entity),
            14 => commands.queue(move |world| _ = world.row_mut(key).and_then(|mut row| row.try_insert(Small(1)))),
            _ => commands.spawn((Value(tally.value(n)), Small(1))),
        }
    }

    fn execute(self, world: &mut World, tally: &Tally) -> Result<(), StructuralError> {
        let Op(kind, key, n) = self;
        let value = || Value(tally.value(n));
        match kind {
            0..=2 => world.try_add_row(key, (Aligned(n), value())).map(drop)?,
            3 | 4 => world.try_add_row(key, (Small(n as u8), Flag)).map(drop)?,
            5 => world.try_add_row(key, ()).map(drop)?,
            6 => world.try_add_row(key, (Flag, Flag)).map(drop)?,
            7 => world.row_mut(key)?.try_insert((Other(tally.value(n)), Aligned(n)))?,
            8 => world.row_mut(key)?.try_insert(value())?,
            9 => world.row_mut(key)?.try_insert((Flag, Flag))?,
            10 => world.row_mut(key).and_then(|mut row| row.try_remove::<(Value, Small)>()).map(drop)?,
            11 | 12 => world.remove_row(key)?,
            13 => _ = world.despawn(key.entity),
            14 => _ = world.row_mut(key).and_then(|mut row| row.try_insert(Small(1))),
            _ => drop(world.try_spawn((Value(tally.value(n)), Small(1)))?),
        }
        Ok(())
    }
}

#[test]
fn a_buffer_of_rows_is_as_its_commands_one_by_one() {
    for seed in 0..400 {
        let tally = Tally::new();
        let (mut whole, known, about) = populated(&tally);
        let (mut single, ..) = populated(&tally);
        let mut rng = Rng::new(seed);
        let ops: Vec<Op> = (0..1 + seed as usize % 60).map(|_| Op::draw(&mut rng, &known, about)).collect();
        let mut commands = CommandBuffer::new();
        ops.iter().for_each(|op| op.record(&tally, &mut commands));
        let mut expected = Vec::new();
        let report = commands.apply(&mut whole);
        let refused: Vec<_> = report.skipped().iter().map(|error| (error.position, error.error)).collect();
        for (position, op) in ops.iter().enumerate() {
            if let Err(error) = op.execute(&mut single, &tally) {
                expected.push((position, error));
            }
            single.validate().unwrap();
        }
        assert_eq!(refused, expected, "seed {seed}");
        assert_eq!(all_rows(&whole), all_rows(&single), "seed {seed}");
        whole.validate().unwrap();
        let next = |world: &mut World| [(); 4].map(|()| world.spawn_empty());
        assert_eq!(next(&mut whole), next(&mut single), "seed {seed}");
        drop((whole, single, commands));
        tally.assert_no_leaks();
    }
}

#[test]
fn a_reserved_entity_with_other_rows_stays_when_its_spawn_is_skipped() {
    let mut world = World::new();
    let (mut commands, mut before) = (CommandBuffer::new(), CommandBuffer::new());
    let e = commands.spawn_with(&world, (Flag, Flag));
    commands.insert_into_row(key(e, 1), Small(2));
    commands.insert(e, Small(3));
    before.add_row(key(e, 1), Small(1));
    before.append(&mut commands);
    let skipped = |report: phalanx::commands::ApplyReport| {
        report.skipped().iter().map(|error| error.position).collect::<Vec<_>>()
    };
    let report = before.apply(&mut world);
    world.validate().unwrap();
    assert_eq!(skipped(report), [1]);
    assert_eq!(
        (world.get::<Small>(e), world.row(key(e, 1)).and_then(|row| row.get::<Small>())),
        (Ok(&Small(3)), Ok(&Small(2)))
    );
    // Had its row ended before, it would end.
    let e = commands.spawn_with(&world, (Flag, Flag));
    commands.insert(e, Small(3));
    before.add_row(key(e, 1), Small(1));
    before.remove_row(key(e, 1));
    before.append(&mut commands);
    let report = before.apply(&mut world);
    world.validate().unwrap();
    assert_eq!((skipped(report), world.contains(e)), (vec![2, 3], false));
}

#[test]
fn rows_end_before_their_main_row_whatever_their_alignment() {
    #[derive(phalanx::Component)]
    #[repr(align(128))]
    struct Broad(#[allow(dead_code)] Counted);
    let tally = Tally::new();
    for more in 0..6 {
        let mut world = World::new();
        let e = world.spawn((Value(tally.value(0)), Other(tally.value(1))));
        world.add_row(key(e, 1), Broad(tally.value(2))).unwrap();
        let mut commands = CommandBuffer::new();
        (0..more).for_each(|n| commands.add_row(key(e, 2 + n), (Value(tally.value(3)), Broad(tally.value(4)))));
        commands.remove_row(key(e, 1));
        commands.add_row(key(e, 1), Value(tally.value(5)));
        commands.despawn(e);
        commands.try_apply(&mut world).unwrap();
        world.validate().unwrap();
        assert_eq!((world.row_count(), tally.live()), (0, 0));
    }
    tally.assert_no_leaks();
}

/// A buffer that spawns, moves and removes rows, in two segments: rows of the world and of its own, by name and with their owner.
fn eventful(tally: &Tally) -> (World, Vec<Entity>, CommandBuffer) {
    let (world, known, about) = populated(tally);
    let mut commands = CommandBuffer::new();
    let value = |n| Value(tally.value(n));
    commands.add_row(key(known[0], 3), (value(20), Aligned(1)));
    commands.insert_into_row(key(known[0], 1), (value(21), Flag));
    commands.remove_row(key(known[0], 2));
    commands.add_row(key(known[0], 2), (Aligned(2), Other(tally.value(22))));
    commands.remove_row(key(known[1], 1).with_component(about));
    commands.remove_from_row::<(Other, Aligned)>(key(known[1], 2));
    commands.despawn(known[0]);
    commands.queue(|_| ());
    commands.add_row(key(known[3], 1), value(23));
    commands.insert_into_row(key(known[3], 1), value(24));
    commands.despawn(known[2]);
    (world, known, commands)
}

#[test]
fn destructors_that_panic_end_each_value_of_rows_once() {
    let points = PanicSweep::new(Site::Drop).run(
        |tally| Some(eventful(tally)),
        |state, _| {
            let (world, _, commands) = state.as_mut().unwrap();
            commands.try_apply(world).unwrap();
        },
        |state, _, _| {
            let (world, known, commands) = state.as_ref().unwrap();
            world.validate().unwrap();
            assert!(commands.is_empty() && !world.contains(known[0]));
        },
    );
    assert!(points > 10, "{points}");
    let dropped = PanicSweep::new(Site::Drop).run(
        |tally| Some(eventful(tally)),
        |state, _| drop(std::mem::take(&mut state.as_mut().unwrap().2)),
        |_, _, _| (),
    );
    assert_eq!(dropped, 5);
}

#[test]
fn recorded_rows_without_memory_in_a_world_that_knows_nothing() {
    for sweep in [AllocationSweep::new(), AllocationSweep::new().persistent()] {
        let points = sweep.run(
            || {
                let (tally, mut world, mut commands) = (Tally::new(), World::new(), CommandBuffer::new());
                let [e, f] = [world.spawn_empty(), world.spawn_empty()];
                commands.add_row(key(e, 1), (Small(1), Value(tally.value(1))));
                commands.insert_into_row(key(e, 1), (Flag, Value(tally.value(2))));
                commands.add_row(key(f, 1), Value(tally.value(3)));
                commands.remove_from_row::<Value>(key(f, 1));
                commands.remove_row(key(e, 1));
                commands.add_row(key(e, 2), Other(tally.value(4)));
                (Some((world, commands)), e, tally)
            },
            |(state, ..)| {
                let (world, commands) = state.as_mut().unwrap();
                commands.try_apply(world)
            },
            |(state, e, tally), outcome| {
                let (world, commands) = state.take().unwrap();
                world.validate().unwrap();
                assert_eq!(world.row(key(*e, 2)).is_ok(), outcome.is_ok());
                assert_eq!(world.row_count(), if outcome.is_ok() { 4 } else { 2 });
                drop((world, commands));
                tally.assert_no_leaks();
            },
        );
        assert!(points > 20, "{points}");
    }
}

#[test]
fn a_failing_allocation_leaves_rows_alone() {
    for sweep in [AllocationSweep::new(), AllocationSweep::new().persistent()] {
        let points = sweep.run(
            || {
                let tally = Tally::new();
                // Tables, bundles and edges are caches, created before.
                let (mut world, known, mut commands) = eventful(&tally);
                commands.try_apply(&mut world).unwrap();
                let e = known[3];
                world.remove_row(key(e, 1)).unwrap();
                let more = world.spawn_batch((0..100).map(|_| Small(0)));
                (1..=60).for_each(|n| _ = world.add_row(key(e, n), Value(tally.value(n))).unwrap());
                world.row_mut(key(e, 1)).unwrap().insert(Flag);
                world.row_mut(key(e, 2)).unwrap().remove::<Value>();
                for n in 100..200 {
                    commands.add_row(key(e, n), Value(tally.value(n)));
                }
                (10..60).for_each(|n| commands.insert_into_row(key(e, n), Flag));
                more.iter().for_each(|e| commands.add_row(key(*e, 1), Value(tally.value(1))));
                more.iter().for_each(|e| commands.remove_row(key(*e, 1)));
                commands.despawn(more[0]);
                commands.remove_from_row::<Value>(key(e, 9));
                let before = all_rows(&world);
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
                    Ok(()) => assert_eq!(world.row_count(), before.1.len() + 99),
                    Err(error) => {
                        assert!(matches!(error.error, StructuralError::Alloc(_)));
                        assert_eq!(all_rows(&world), *before);
                    }
                }
                drop((world, commands));
                tally.assert_no_leaks();
            },
        );
        assert!(points >= 6, "{points}");
    }
}
