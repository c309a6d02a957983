//! Memory given back, and where it is.

use phalanx::query::QueryState;
use phalanx::{Component, Entity, With, World};
use phalanx_testkit::{Counted, Rng, Tally, measure};

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Position([f32; 3]);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Velocity([f32; 3]);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Enemy;
#[derive(Component)]
struct Value(Counted);
#[derive(Component, Clone, Copy)]
struct Kind<const N: usize>([u64; 4]);

/// Gives each component that a bit of `bits` stands for.
fn dress(world: &mut World, e: Entity, bits: u32) {
    if bits & 1 > 0 {
        world.insert(e, Position([1.0; 3])).unwrap();
    }
    if bits & 2 > 0 {
        world.insert(e, Velocity([2.0; 3])).unwrap();
    }
    if bits & 4 > 0 {
        world.insert(e, Kind::<0>([3; 4])).unwrap();
    }
    if bits & 8 > 0 {
        world.insert(e, Kind::<1>([4; 4])).unwrap();
    }
    if bits & 16 > 0 {
        world.insert(e, (Kind::<2>([5; 4]), Enemy)).unwrap();
    }
}

#[test]
fn what_is_left_is_what_a_fresh_world_needs() {
    let fresh = || {
        let mut world = World::new();
        world.spawn_batch((0..4000).map(|_| (Position([1.0; 3]), Velocity([2.0; 3]))));
        world
    };
    let worn = || {
        let mut world = World::new();
        let all: Vec<_> = (0..4200).map(|_| world.spawn_empty()).collect();
        for (n, e) in all.iter().enumerate() {
            dress(&mut world, *e, n as u32 % 32);
        }
        assert_eq!(world.query_filtered_mut::<(&Position, Option<&Enemy>), With<Velocity>>().iter().count(), 1050);
        world.despawn_batch(all[4000..].iter().copied());
        for e in &all[..4000] {
            world.remove::<(Kind<0>, Kind<1>, Kind<2>, Enemy)>(*e).unwrap();
            world.insert(*e, (Position([1.0; 3]), Velocity([2.0; 3]))).unwrap();
        }
        world
    };
    let (fresh, new) = measure(fresh);
    let (mut worn, old) = measure(worn);
    assert!(old.bytes_live_delta > 2 * new.bytes_live_delta, "{old:?} {new:?}");
    let (_, given) = measure(|| worn.compact(usize::MAX));
    let left = old.bytes_live_delta + given.bytes_live_delta;
    assert!(
        left as f64 <= 1.1 * new.bytes_live_delta as f64,
        "{left} bytes are left, {} are needed",
        new.bytes_live_delta
    );
    assert_eq!(worn.compact(usize::MAX), 0);
    worn.validate().unwrap();
    assert_eq!(worn.memory().tables.len(), 2);
    assert_eq!((fresh.len(), worn.len()), (4000, 4000));
}

#[test]
fn compacting_a_little_at_a_time_changes_nothing_else() {
    let tally = Tally::new();
    let mut world = World::new();
    let mut held = QueryState::<(Entity, &Position)>::new();
    let mut rng = Rng::new(7);
    let mut all: Vec<Entity> = Vec::new();
    for round in 0..200 {
        for n in 0..20 {
            let e = world.spawn(Value(tally.value(n)));
            dress(&mut world, e, rng.below(32) as u32);
            all.push(e);
        }
        for _ in 0..18 {
            let e = all.swap_remove(rng.below(all.len()));
            if round % 3 > 0 {
                world.remove::<(Velocity, Kind<0>)>(e).unwrap();
            }
            world.despawn(e).unwrap();
        }
        let order: Vec<Entity> = world.query::<Entity>().iter().collect();
        let seen: Vec<Entity> = held.iter_mut(&mut world).map(|(e, _)| e).collect();
        world.compact(50);
        world.validate().unwrap();
        assert!(world.query::<Entity>().iter().eq(order.iter().copied()));
        assert!(held.iter_mut(&mut world).map(|(e, _)| e).eq(seen.iter().copied()));
        assert!(world.query_mut::<(Entity, &Position)>().iter().map(|(e, _)| e).eq(seen));
        assert!(all.iter().all(|e| world.get::<Value>(*e).is_ok_and(|value| value.0.key() < 20)));
        assert!(world.query_mut::<&Kind<1>>().iter().all(|kind| kind.0 == [4; 4]));
    }
    while world.compact(1) > 0 {
        world.validate().unwrap();
    }
    world.despawn_batch(all);
    while world.compact(10) > 0 {
        world.validate().unwrap();
    }
    let memory = world.memory();
    assert_eq!((memory.tables.len(), memory.tables[0].total()), (1, 0));
    let e = world.spawn((Value(tally.value(1)), Position([0.0; 3])));
    world.remove::<Value>(e).unwrap();
    world.validate().unwrap();
    tally.assert_no_leaks();
}

#[test]
fn the_report_adds_up() {
    let mut world = World::new();
    world.spawn_batch((0..100).map(|_| (Position([0.0; 3]), Enemy)));
    world.compact(usize::MAX);
    let memory = world.memory();
    let table = &memory.tables[1];
    assert_eq!((table.rows, table.capacity, table.entities), (100, 100, 800));
    assert_eq!(table.columns.iter().map(|c| (c.lanes.len(), c.total())).collect::<Vec<_>>(), [(0, 0), (1, 1200)]);
    assert_eq!(memory.total(), 800 + 800 + 800 + 1200);
    assert!(memory.to_string().contains("table 1: 100 rows, capacity 100"));
}
