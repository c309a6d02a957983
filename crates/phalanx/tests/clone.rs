//! Copies of entities and of worlds.

use phalanx::{Component, Entity, Key, Role, StructuralError, World};
use phalanx_testkit::{Counted, PanicSweep, Site, Tally, for_every_failing_allocation};

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(clone)]
struct Position(f32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(clone)]
struct Enemy;
#[derive(Component, Clone)]
#[component(clone)]
struct Value(Counted);
#[derive(Component, Clone)]
#[component(clone)]
struct Other(Counted);
#[derive(Component, Debug)]
struct Soul;
#[derive(phalanx::store::Soa, Component, Clone, Copy, Debug, PartialEq)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa")]
struct Spin {
    axis: f32,
    speed: f64,
}

fn mixed(tally: &Tally) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let mut all = Vec::new();
    for n in 0..5 {
        all.push(world.spawn((Value(tally.value(n)), Other(tally.value(n)), Enemy)));
        all.push(world.spawn((Position(n as f32), Value(tally.value(n)), Spin { axis: n as f32, speed: 0.0 })));
        all.push(world.spawn_empty());
    }
    world.despawn(all[4]).unwrap();
    world.despawn(all[0]).unwrap();
    all.retain(|e| world.contains(*e));
    (world, all)
}

#[test]
fn a_clone_has_the_same_components() {
    let tally = Tally::new();
    let (mut world, all) = mixed(&tally);
    let (live, count) = (tally.live(), world.len());
    for e in &all {
        let twin = world.entity_mut(*e).unwrap().clone_entity().unwrap();
        world.validate().unwrap();
        assert!(
            twin != *e && world.entity(twin).unwrap().component_names().eq(world.entity(*e).unwrap().component_names())
        );
        assert_eq!(world.get::<Value>(twin).ok().map(|v| v.0.key()), world.get::<Value>(*e).ok().map(|v| v.0.key()));
        assert_eq!(world.get::<Other>(twin).ok().map(|v| v.0.key()), world.get::<Other>(*e).ok().map(|v| v.0.key()));
        assert_eq!(world.get::<Spin>(twin).ok(), world.get::<Spin>(*e).ok());
    }
    assert_eq!((tally.live(), world.len()), (2 * live, 2 * count));
    world.insert(all[1], Soul).unwrap();
    let error = world.entity_mut(all[1]).unwrap().clone_entity().unwrap_err();
    assert!(matches!(error, StructuralError::NotClone { component } if component.ends_with("Soul")));
    assert!(world.try_clone().is_err());
    drop(world);
    tally.assert_no_leaks();
}

#[test]
fn a_world_and_its_copy_have_the_same_future() {
    let tally = Tally::new();
    let (mut world, all) = mixed(&tally);
    let reserved = world.reserve_entity();
    let mut copy = world.try_clone().unwrap();
    copy.validate().unwrap();
    assert_eq!(tally.live() % 2, 0);
    for e in &all {
        assert_eq!(world.get::<Spin>(*e).ok(), copy.get::<Spin>(*e).ok());
        assert_eq!(world.get::<Value>(*e).ok().map(|v| v.0.key()), copy.get::<Value>(*e).ok().map(|v| v.0.key()));
    }
    assert!(world.query::<Entity>().iter().eq(copy.query::<Entity>().iter()));
    assert_eq!(world.spawn(Enemy), copy.spawn(Enemy));
    assert!(world.contains(reserved) && copy.contains(reserved));
    world.clear();
    copy.validate().unwrap();
    assert_eq!(copy.len(), all.len() + 2);
    drop((world, copy));
    tally.assert_no_leaks();
}

/// An entity with rows: two in one table, one in another, one without components; and another's between them.
fn with_rows(tally: &Tally) -> (World, Entity) {
    let mut world = World::new();
    let about = world.register_component::<Position>();
    let [by, e] = [0, 1].map(|n| world.spawn((Value(tally.value(n)), Enemy)));
    for n in 1..=2 {
        world.add_row(key(e, n), (Value(tally.value(10 + n)), Other(tally.value(20 + n)))).unwrap();
        world.add_row(key(by, n), (Value(tally.value(30 + n)), Other(tally.value(40 + n)))).unwrap();
    }
    world.add_row(key(e, 1).with_component(about), (Value(tally.value(13)), Position(1.0))).unwrap();
    world.add_row(key(e, 4), ()).unwrap();
    world.remove_row(key(e, 1)).unwrap();
    world.add_row(key(e, 1), (Value(tally.value(14)), Other(tally.value(24)))).unwrap();
    (world, e)
}

fn key(entity: Entity, role: u32) -> Key {
    Key::main(entity).with_role(Role(role))
}

#[test]
fn a_clone_has_the_same_rows() {
    let tally = Tally::new();
    let (mut world, e) = with_rows(&tally);
    let (live, count) = (tally.live(), world.row_count());
    let twin = world.entity_mut(e).unwrap().clone_entity().unwrap();
    world.validate().unwrap();
    assert_eq!((tally.live(), world.row_count()), (live + 6, count + 5));
    for ((a, row_a), (b, row_b)) in world.rows(e).unwrap().zip(world.rows(twin).unwrap()) {
        assert_eq!(((a.component, a.role), b.entity), ((b.component, b.role), twin), "in the order of their making");
        let value = |row| world.row(row).and_then(|row| row.get::<Value>()).ok().map(|v| v.0.key());
        let other = |row| world.row(row).and_then(|row| row.get::<Other>()).ok().map(|v| v.0.key());
        assert_eq!((value(row_a), other(row_a)), (value(row_b), other(row_b)));
        assert_eq!(
            world.row(row_a).and_then(|row| row.get::<Position>()).ok(),
            world.row(row_b).and_then(|row| row.get::<Position>()).ok()
        );
    }
    world.despawn(e).unwrap();
    world.validate().unwrap();
    assert_eq!((tally.live(), world.rows(twin).unwrap().count()), (live, 5));
    world.row_mut(key(twin, 4)).unwrap().insert(Soul);
    let error = world.entity_mut(twin).unwrap().clone_entity().unwrap_err();
    assert!(matches!(error, StructuralError::NotClone { component } if component.ends_with("Soul")));
    drop(world);
    tally.assert_no_leaks();
}

#[test]
fn a_clone_of_rows_that_panics_leaves_nothing() {
    let points = PanicSweep::new(Site::Clone).run(
        |tally| (with_rows(tally), tally.live()),
        |((world, e), _), _| _ = world.entity_mut(*e).unwrap().clone_entity().unwrap(),
        |((world, e), live), tally, panicked| {
            world.validate().unwrap();
            let (values, entities) = if panicked { (0, 2) } else { (6, 3) };
            assert_eq!((tally.live(), world.rows(*e).unwrap().count(), world.len()), (*live + values, 5, entities));
        },
    );
    assert_eq!(points, 6);
}

#[test]
fn a_clone_of_rows_without_memory_does_not_happen() {
    let tally = Tally::new();
    let points = for_every_failing_allocation(
        || {
            let (mut world, e) = with_rows(&tally);
            for n in 5..70 {
                world.add_row(key(e, n), Value(tally.value(n))).unwrap();
            }
            let count = world.row_count();
            (world, e, count)
        },
        |(world, e, _)| world.entity_mut(*e).unwrap().clone_entity(),
        |(world, e, count), outcome| {
            world.validate().unwrap();
            let made = if outcome.is_ok() { world.rows(*e).unwrap().count() } else { 0 };
            assert_eq!(world.row_count(), *count + made);
        },
    );
    assert!(points > 8, "{points}");
    tally.assert_no_leaks();
}

#[test]
fn a_clone_that_panics_leaves_nothing() {
    PanicSweep::new(Site::Clone).run(
        mixed,
        |(world, all), _| {
            drop(all.iter().map(|e| world.entity_mut(*e).unwrap().clone_entity().unwrap()).collect::<Vec<_>>())
        },
        |(world, _), _, _| world.validate().unwrap(),
    );
    let count = PanicSweep::new(Site::Clone).run(
        |tally| (mixed(tally), tally.live()),
        |((world, _), _), _| drop(world.try_clone().unwrap()),
        |((world, _), live), tally, _| {
            world.validate().unwrap();
            assert_eq!(tally.live(), *live);
        },
    );
    assert_eq!(count, 12);
}

#[test]
fn a_clone_without_memory_does_not_happen() {
    let tally = Tally::new();
    for_every_failing_allocation(
        || {
            let mut world = World::new();
            let all = world.spawn_batch((0..64).map(|n| (Value(tally.value(n)), Enemy)));
            (world, all[3])
        },
        |(world, e)| world.entity_mut(*e).unwrap().clone_entity(),
        |(world, _), outcome| {
            world.validate().unwrap();
            assert_eq!(world.len(), if outcome.is_ok() { 65 } else { 64 });
        },
    );
    tally.assert_no_leaks();
}
