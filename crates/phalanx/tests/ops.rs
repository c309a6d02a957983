//! Operations beyond the plain ones: columns, exact entities, exchanges, batches, handles.

use phalanx::{Component, ComponentError, Entity, StructuralError, With, Without, World};
use phalanx_testkit::{Counted, PanicSweep, Site, Tally, for_every_failing_allocation};

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Position(f32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Velocity(f32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Enemy;
#[derive(Component, Clone)]
struct Value(Counted);
#[derive(Component, Clone)]
struct Other(Counted);

#[derive(phalanx::store::Soa, Component, Clone, Copy, Debug, PartialEq)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa")]
struct Spin {
    axis: f32,
    speed: f64,
}

#[test]
fn columns_are_adopted_then_copied() {
    let tally = Tally::new();
    let mut world = World::new();
    for round in 0..3 {
        let mut values = Vec::with_capacity(150);
        values.extend((0..100).map(|n| Value(tally.value(round * 100 + n))));
        let first = values.as_ptr();
        let spins = (0..100).map(|n| Spin { axis: n as f32, speed: f64::from(round) }).collect::<Vec<_>>();
        let made = world.spawn_columns((values, vec![Enemy; 100], spins)).unwrap().to_vec();
        assert_eq!(made.len(), 100);
        world.validate().unwrap();
        for (n, e) in (0..).zip(&made) {
            assert_eq!(world.get::<Value>(*e).unwrap().0.key(), round * 100 + n);
            assert_eq!(world.get::<Spin>(*e).unwrap(), Spin { axis: n as f32, speed: f64::from(round) });
            assert!(world.has::<Enemy>(*e));
        }
        if round == 0 {
            assert!(core::ptr::eq(first, world.get::<Value>(made[0]).unwrap()));
        }
    }
    assert_eq!(world.query_mut::<&Value>().len(), 300);
    world.spawn((Value(tally.value(0)), Enemy, Spin { axis: 0.0, speed: 0.0 }));
    assert_eq!(tally.live(), 301);
    assert!(world.spawn_columns(Vec::<Value>::new()).unwrap().is_empty());
    drop(world);
    tally.assert_no_leaks();
}

#[test]
fn unequal_columns_are_named_and_dropped() {
    let tally = Tally::new();
    let mut world = World::new();
    let columns = (vec![Position(0.0); 2], (vec![Enemy; 2], tally.values(3).map(Value).collect::<Vec<_>>()));
    let Err(StructuralError::UnequalColumns(error)) = world.spawn_columns(columns) else { panic!("they are unequal") };
    assert!(error.first.0.ends_with("Position") && error.other.0.ends_with("Value"));
    assert_eq!((error.first.1, error.other.1), (2, 3));
    assert!(world.is_empty());
    tally.assert_no_leaks();
    world.validate().unwrap();
}

#[test]
fn columns_come_whole_or_not_at_all() {
    for rows in [0, 3] {
        let tally = Tally::new();
        let failed = for_every_failing_allocation(
            || {
                let mut world = World::new();
                world.spawn_batch((0..rows).map(|n| (Value(tally.value(n)), Spin { axis: 0.0, speed: 0.0 })));
                world.spawner::<(Value, Spin)>();
                let values = tally.values(200).map(Value).collect::<Vec<_>>();
                (world, Some((values, vec![Spin { axis: 1.0, speed: 1.0 }; 200])))
            },
            |(world, columns)| world.spawn_columns(columns.take().unwrap()).map(drop),
            |(world, _), outcome| {
                world.validate().unwrap();
                assert_eq!(world.len(), rows as usize + if outcome.is_ok() { 200 } else { 0 });
                assert_eq!(world.query_mut::<(&Value, &Spin)>().iter().count(), world.len());
            },
        );
        assert!(failed > 3);
        tally.assert_no_leaks();
    }
}

#[test]
fn an_exact_entity_is_made_once() {
    let mut world = World::new();
    let far = Entity::from_bits(7 << 32 | 9).unwrap();
    world.spawn_at(far, Position(1.0)).unwrap();
    world.validate().unwrap();
    assert_eq!(world.get::<Position>(far), Ok(&Position(1.0)));
    assert_eq!(world.spawn_at(far, Position(2.0)), Err(StructuralError::SlotOccupied { entity: far, by: Some(far) }));
    let past = Entity::from_bits(6 << 32 | 9).unwrap();
    assert_eq!(world.spawn_at(past, Enemy), Err(StructuralError::SlotOccupied { entity: past, by: Some(far) }));
    world.despawn(far).unwrap();
    assert_eq!(world.spawn_at(far, Enemy), Err(StructuralError::SlotOccupied { entity: far, by: None }));
    let next = Entity::from_bits(8 << 32 | 9).unwrap();
    world.spawn_at(next, Enemy).unwrap();
    // The slots in between are used one after another, and beyond.
    let all: Vec<_> = (0..40).map(|n| world.spawn(Position(n as f32)).index()).collect();
    assert_eq!(all[..9], [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    let reserved = world.reserve_entity();
    world.spawn_at(reserved, Velocity(3.0)).unwrap();
    assert_eq!(world.get::<Velocity>(reserved), Ok(&Velocity(3.0)));
    world.validate().unwrap();
}

#[test]
fn closures_run_before_anything_changes() {
    PanicSweep::new(Site::Callback).run(
        |tally| {
            let mut world = World::new();
            let e = world.spawn((Value(tally.value(1)), Position(0.0)));
            (world, e)
        },
        |(world, e), tally| {
            let bundle = || {
                tally.callback();
                (Value(tally.value(2)), Enemy)
            };
            world.entity_mut(*e).unwrap().insert(bundle());
        },
        |(world, e), _, panicked| {
            world.validate().unwrap();
            assert_eq!(
                (world.get::<Value>(*e).unwrap().0.key(), world.has::<Enemy>(*e)),
                if panicked { (1, false) } else { (2, true) }
            );
        },
    );
}

#[test]
fn an_exchange_is_one_move() {
    let tally = Tally::new();
    let mut world = World::new();
    let e = world.spawn((Value(tally.value(1)), Position(1.0)));
    let f = world.spawn((Value(tally.value(2)), Position(2.0)));
    world.exchange::<(Value, Velocity), _>(e, (Other(tally.value(3)), Enemy)).unwrap();
    assert_eq!(tally.live(), 2);
    assert!(!world.has::<Value>(e) && world.has::<Enemy>(e) && world.get::<Other>(e).unwrap().0.key() == 3);
    // Nothing to take away, all to be replaced; and a component that is both.
    world.exchange::<Velocity, _>(f, Value(tally.value(4))).unwrap();
    world.exchange::<(Value, Position), _>(f, Value(tally.value(5))).unwrap();
    assert_eq!((world.get::<Value>(f).unwrap().0.key(), world.has::<Position>(f), tally.live()), (5, false, 2));
    world.exchange::<Value, ()>(f, ()).unwrap();
    assert_eq!(world.entity(f).unwrap().component_names().count(), 0);
    world.despawn(f).unwrap();
    assert!(world.exchange::<Value, _>(f, Other(tally.value(9))).is_err());
    world.validate().unwrap();
    drop(world);
    tally.assert_no_leaks();
}

#[test]
fn a_set_of_ids_is_removed() {
    let tally = Tally::new();
    let mut world = World::new();
    let e = world.spawn((Value(tally.value(1)), Position(1.0), Enemy));
    let ids = [world.component_id::<Value>().unwrap(), world.component_id::<Enemy>().unwrap()];
    assert_eq!(world.entity_mut(e).map(|mut entity| entity.remove_by_ids(&[ids[0], ids[1], ids[0]])), Ok(true));
    assert_eq!(world.entity_mut(e).map(|mut entity| entity.remove_by_ids(&ids)), Ok(false));
    assert_eq!(
        world.entity_mut(e).map(|mut entity| entity.remove_by_ids(&[phalanx::ComponentId::from_index(4000)])),
        Ok(false)
    );
    assert_eq!(tally.live(), 0);
    assert_eq!(world.get::<Position>(e), Ok(&Position(1.0)));
    world.validate().unwrap();
}

#[test]
fn several_at_once_are_different_ones() {
    let mut world = World::new();
    let [a, b] = [world.spawn(Position(1.0)), world.spawn((Position(2.0), Enemy))];
    let none = world.spawn(Enemy);
    let mut positions = world.component_mut::<Position>();
    let [x, y] = positions.get_many_mut([a, b]).unwrap();
    std::mem::swap(x, y);
    assert_eq!(world.get::<Position>(a), Ok(&Position(2.0)));
    assert_eq!(
        world.component_mut::<Position>().get_many_mut([a, b, a]).unwrap_err(),
        ComponentError::DuplicateEntity { entity: a }
    );
    assert!(
        matches!(world.component_mut::<Position>().get_many_mut([a, none]), Err(ComponentError::MissingComponent { entity, .. }) if entity == none)
    );
    world.despawn(b).unwrap();
    assert!(matches!(world.component_mut::<Position>().get_many_mut([a, b]), Err(ComponentError::NoSuchEntity(_))));
    assert_eq!(
        world.patch::<Position, _>(a, |p| {
            p.0 += 1.0;
            p.0
        }),
        Ok(3.0)
    );
}

fn mixed(tally: &Tally) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let mut all = Vec::new();
    for n in 0..10 {
        all.push(world.spawn(Position(n as f32)));
        all.push(world.spawn((Position(n as f32), Value(tally.value(n)))));
        all.push(world.spawn((Position(n as f32), Value(tally.value(n)), Other(tally.value(n)))));
        all.push(world.spawn((Value(tally.value(n)), Velocity(1.0))));
    }
    (world, all)
}

#[test]
fn batches_change_whole_tables() {
    let tally = Tally::new();
    let (mut world, all) = mixed(&tally);
    let before = tally.live();
    assert_eq!(world.insert_where::<With<Position>, _>((Value(tally.value(77)), Other(tally.value(78)), Enemy)), 30);
    world.validate().unwrap();
    for (n, e) in all.iter().enumerate() {
        assert_eq!(world.get::<Value>(*e).unwrap().0.key() == 77, n % 4 < 3);
        assert_eq!(world.has::<Enemy>(*e), n % 4 < 3);
        assert_eq!(world.get::<Position>(*e).ok().map(|p| p.0), (n % 4 < 3).then_some((n / 4) as f32));
    }
    assert_eq!(tally.live(), 10 + 60);
    assert_eq!(world.remove_where::<Without<Velocity>, (Value, Enemy)>(), 30);
    assert_eq!(world.remove_where::<Without<Velocity>, (Value, Enemy)>(), 0);
    world.validate().unwrap();
    assert_eq!(tally.live(), 10 + 30);
    assert!(before > 0);
    drop(world);
    tally.assert_no_leaks();
}

#[test]
fn a_panic_in_a_batch_is_before_or_after() {
    for site in [Site::Clone, Site::Drop] {
        PanicSweep::new(site).run(
            mixed,
            |(world, _), tally| {
                world.insert_where::<With<Position>, _>((Value(tally.value(77)), Other(tally.value(78)), Enemy));
            },
            |(world, all), _, panicked| {
                world.validate().unwrap();
                let done = site == Site::Drop || !panicked;
                let changed = all.iter().filter(|e| world.has::<Enemy>(**e)).count();
                assert_eq!(changed, if done { 30 } else { 0 });
            },
        );
    }
    PanicSweep::new(Site::Drop).run(
        mixed,
        |(world, _), _| assert_eq!(world.remove_where::<With<Position>, Value>(), 20),
        |(world, _), _, _| {
            world.validate().unwrap();
            assert_eq!(world.query_mut::<&Value>().len(), 10);
        },
    );
}

#[test]
fn a_batch_without_memory_does_not_happen() {
    let tally = Tally::new();
    for_every_failing_allocation(
        || {
            let (mut world, all) = mixed(&tally);
            world.insert_where::<With<Position>, _>(Velocity(2.0));
            world.remove_where::<With<Position>, Velocity>();
            (world, all)
        },
        |(world, _)| world.try_insert_where::<With<Position>, _>(Velocity(2.0)),
        |(world, _), outcome| {
            world.validate().unwrap();
            assert_eq!(world.query_mut::<&Velocity>().len(), if outcome.is_ok() { 40 } else { 10 });
        },
    );
    tally.assert_no_leaks();
}

#[test]
fn handles_look_and_change() {
    let mut world = World::new();
    let e = world.spawn((Position(1.0), Enemy));
    let handle = world.entity(e).unwrap();
    assert_eq!((handle.id(), handle.get::<Position>(), handle.has::<Velocity>()), (e, Ok(&Position(1.0)), false));
    assert!(handle.component_names().any(|name| name.ends_with("Enemy")));
    assert!(format!("{handle:?}").starts_with("0v0 {") && format!("{handle:?}").contains("Position"));
    let mut handle = world.entity_mut(e).unwrap();
    handle.insert(Velocity(2.0)).insert(Position(3.0));
    handle.get_mut::<Velocity>().unwrap().0 += 1.0;
    assert_eq!(handle.take::<(Velocity, Position)>().unwrap(), (Velocity(3.0), Position(3.0)));
    assert!(handle.remove::<Enemy>() && !handle.remove::<Enemy>() && handle.component_names().count() == 0);
    handle.despawn();
    assert!(world.entity(e).is_err() && world.entity_mut(e).is_err());
    world.validate().unwrap();
}

#[test]
fn lanes_that_grow_for_a_replacement_are_found_by_queries() {
    let mut world = World::new();
    let first = world.spawn(Position(0.0));
    for n in 1..64 {
        world.spawn(Position(n as f32));
    }
    // The table is full: replacing a value, or reserving capacity, moves its lanes.
    assert_eq!(world.query_mut::<&Position>().iter().count(), 64);
    world.insert(first, Position(5.0)).unwrap();
    assert_eq!(world.query_mut::<&Position>().iter().next(), Some(&Position(5.0)));
    world.spawner::<Position>().reserve(10_000);
    assert_eq!(world.query_mut::<&Position>().iter().next(), Some(&Position(5.0)));
}

#[test]
fn a_batch_gives_each_table_as_many_values_as_it_has_rows() {
    #[derive(Component)]
    struct First;
    #[derive(Component)]
    struct Second;
    #[derive(Component)]
    struct Third;
    #[derive(Component, Clone)]
    struct Given(Box<u32>);
    let mut world = World::new();
    // One table leads to the next, whose values are replaced, and another comes after both.
    world.spawn_batch((0..3).map(|_| (First, Second)));
    world.spawn_batch((0..2).map(|n| (First, Second, Given(Box::new(n)))));
    world.spawn_batch((0..4).map(|_| (First, Third)));
    assert_eq!(world.insert_where::<phalanx::With<First>, _>(Given(Box::new(9))), 9);
    assert!(world.query::<&Given>().iter().map(|given| *given.0).eq([9; 9]));
    world.validate().unwrap();
}
