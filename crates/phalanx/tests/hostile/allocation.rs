//! Failing allocations: each allocation of each operation fails in turn.
//!
//! What a world knows of bundles and tables is made beforehand here: the operations that find it out for the first time
//! are in a test of their own.

use crate::kit::{A, B, C, D, Position, Spin, Tag, Velocity, structure};
use phalanx::query::QueryState;
use phalanx::store::AllocError;
use phalanx::{Entity, StructuralError, World};
use phalanx_testkit::{AllocationSweep, Tally, fail_nth};

type Act = (&'static str, fn(&mut World, Entity, &Tally) -> Result<(), StructuralError>);

/// Every operation that has an error to give.
const ACTS: [Act; 8] = [
    ("try_spawn", |world, _, tally| world.try_spawn((A::new(tally, 7), Position(1.0), Tag)).map(drop)),
    ("try_spawn of nothing", |world, _, _| world.try_spawn(()).map(drop)),
    ("try_insert, moving", |world, e, tally| world.try_insert(e, (B::new(tally, 7), Velocity(2.0)))),
    ("try_insert, in place", |world, e, tally| world.try_insert(e, A::new(tally, 7))),
    ("try_insert, overlapping", |world, e, tally| world.try_insert(e, (A::new(tally, 7), B::new(tally, 8), Tag))),
    ("try_remove", |world, e, _| world.try_remove::<(A, Spin)>(e).map(drop)),
    ("try_remove of a tag", |world, e, _| world.try_remove::<Tag>(e).map(drop)),
    ("take", |world, e, _| world.take::<(Position, A)>(e).map(drop)),
];

/// A world whose tables, pool and locations are full, and in which every operation has been done once.
fn full(tally: &Tally) -> (World, Entity) {
    let mut world = World::new();
    // Once, with one entity that ends in between, so that everything is known and every table is there.
    for (_, act) in ACTS {
        let e = world.spawn((A::new(tally, 0), Position(0.0), Spin { axis: 1, speed: 2.0 }, Tag));
        act(&mut world, e, tally).unwrap();
        world.clear();
    }
    let mut spawn = |n: u32| world.spawn((A::new(tally, n), Position(n as f32), Spin { axis: 1, speed: 2.0 }, Tag));
    let e = spawn(1);
    (2..=64).for_each(|n| drop(spawn(n)));
    (world, e)
}

/// Fills up the tables that the operations lead to.
fn fill(world: &mut World, act: Act, tally: &Tally, extra: u32) {
    for n in 0..extra {
        let e = world.spawn((A::new(tally, n), Position(0.0), Spin { axis: 1, speed: 2.0 }, Tag));
        (act.1)(world, e, tally).unwrap();
    }
}

fn contents(world: &World) -> Vec<(Entity, Option<u32>, Option<u32>, Option<f32>)> {
    let query = world.query::<(Entity, Option<&A>, Option<&B>, Option<&Position>)>();
    query.iter().map(|(e, a, b, p)| (e, a.map(|a| a.0.id()), b.map(|b| b.0.id()), p.map(|p| p.0))).collect()
}

#[test]
fn h60_every_failing_allocation_is_an_error() {
    let mut points = 0;
    for act in ACTS {
        // For each lane of the target, the pool and the locations, one of these numbers of rows fills it.
        for extra in [0, 1, 31, 63, 64, 127, 128] {
            for sweep in [AllocationSweep::new(), AllocationSweep::new().persistent()] {
                let tally = Tally::new();
                points += sweep.run(
                    || {
                        let (mut world, e) = full(&tally);
                        fill(&mut world, act, &tally, extra);
                        let before = (structure(&world), contents(&world));
                        // The state sees the lanes as they are before, and must see where they went.
                        let mut held = QueryState::<(Entity, &mut Position)>::new();
                        let _ = held.iter_mut(&mut world).count();
                        (world, e, before, held)
                    },
                    |(world, e, _, _)| (act.1)(world, *e, &tally),
                    |(world, _, before, held), outcome| {
                        world.validate().unwrap();
                        let rows = held.iter_mut(world).map(|(e, p)| (e, p.0)).collect::<Vec<_>>();
                        assert!(world.query::<(Entity, &Position)>().iter().map(|(e, p)| (e, p.0)).eq(rows));
                        if let Err(error) = outcome {
                            assert!(matches!(error, StructuralError::Alloc(_)), "{}", act.0);
                            assert_eq!((structure(world), contents(world)), *before, "{}: nothing happened", act.0);
                        }
                        // The world is usable, and has capacity for the locations of further entities.
                        for n in 0..70 {
                            world.spawn((A::new(&tally, n), Position(0.0), Tag));
                        }
                        world.validate().unwrap();
                    },
                );
                tally.assert_no_leaks();
            }
        }
    }
    assert!(points > 60, "{points} allocations failed");
}

#[test]
fn h60_a_pool_that_cannot_grow_makes_no_entity() {
    // The table has capacity and the pool is full. One lane of the pool grows, the other does not. The next spawn must
    // detect that.
    let mut fired = 0;
    for n in 1..=2 {
        let mut world = World::new();
        world.spawner::<Position>().reserve(4096);
        world.spawn_empty();
        for _ in 0..6000 {
            let (outcome, failed) = fail_nth(n, || world.try_spawn(Position(1.0)));
            if failed {
                assert!(outcome.is_err());
                world.validate().unwrap();
                let heirs: Vec<Entity> = (0..100).map(|_| world.spawn(Position(2.0))).collect();
                assert!(heirs.iter().all(|e| world.get::<Position>(*e) == Ok(&Position(2.0))));
                world.validate().unwrap();
                fired += 1;
                break;
            }
            world.despawn(outcome.unwrap()).unwrap();
            world.spawn_empty();
        }
    }
    assert_eq!(fired, 2, "two lanes of the pool");
}

#[test]
fn h60_reserved_entities_without_memory_stay_reserved() {
    let sweep = AllocationSweep::new().run(
        || {
            let mut world = World::new();
            world.spawn_batch((0..64).map(|n| (Position(n as f32), Tag)));
            let e = world.spawn_empty();
            world.insert(e, (Position(0.0), Tag)).unwrap();
            let reserved: Vec<Entity> = (0..200).map(|_| world.reserve_entity()).collect();
            (world, reserved)
        },
        |(world, reserved)| world.try_insert(reserved[7], (Position(0.0), Tag)),
        |(world, reserved), _| {
            world.validate().unwrap();
            world.insert(reserved[9], Position(2.0)).unwrap();
            assert!(reserved.iter().all(|e| world.contains(*e)));
            world.validate().unwrap();
        },
    );
    assert!(sweep > 2);
}

#[test]
fn h61_failed_growth_leaves_all_columns_alike() {
    for column in 1..=6 {
        let tally = Tally::new();
        let bundle =
            |n| (A::new(&tally, n), B::new(&tally, n), C::new(&tally, n), D::new(&tally, n), Position(n as f32));
        let mut world = World::new();
        // The entities have capacity, and the bundle is known: the first allocation in the loop is the table's growth.
        world.spawner::<()>().reserve(1000);
        world.spawn(bundle(0));
        let mut n = 1;
        let failure = loop {
            let (outcome, fired) = fail_nth(column, || world.try_spawn(bundle(n)));
            if fired {
                break outcome.unwrap_err();
            }
            n += 1;
            assert!(n < 1000, "a table has {column} lanes");
        };
        assert!(matches!(failure, StructuralError::Alloc(AllocError::OutOfMemory { .. })));
        world.validate().unwrap();
        assert_eq!(world.query::<&A>().len(), n as usize);
        for (a, b, c, d, p) in world.query::<(&A, &B, &C, &D, &Position)>().iter() {
            let key = a.0.key();
            assert_eq!((b.0.key(), c.0.key(), d.0.key(), p.0), (key, key, key, key as f32));
        }
        // With memory it goes on.
        for more in 0..100 {
            world.spawn(bundle(more));
        }
        world.validate().unwrap();
        drop(world);
        tally.assert_no_leaks();
    }
}
