//! The world step by step: what entities have, where rows go, what ends when.

use phalanx::layout::Soa as SoaLayout;
use phalanx::{Component, ComponentError, Entity, Has, NoSuchEntity, StructuralError, With, Without, World};
use phalanx_testkit::{Allocator, Counted, Tally, for_every_failing_allocation};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator::new();

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Position(f32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Velocity(f32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Enemy;
#[derive(Component, Debug)]
struct Value(Counted);

#[derive(phalanx::store::Soa, Clone, Copy, Debug, PartialEq)]
#[soa(crate = "phalanx::store")]
struct Spin {
    axis: f32,
    speed: f64,
}
impl Component for Spin {
    type Layout = SoaLayout;
}

#[test]
fn an_entity_lives_on_after_its_last_component_is_gone() {
    let mut world = World::new();
    let e = world.spawn((Position(1.0), Enemy));
    assert_eq!(world.remove::<(Position, Enemy)>(e), Ok(true));
    assert!(world.contains(e));
    assert_eq!(world.entity(e).unwrap().component_names().count(), 0);
    assert_eq!(world.remove::<Position>(e), Ok(false));
    world.validate().unwrap();
}

#[test]
fn the_last_row_takes_the_place_of_one_that_goes() {
    let mut world = World::new();
    let [a, b, c] = [1.0, 2.0, 3.0].map(|x| world.spawn(Position(x)));
    world.insert(a, Velocity(9.0)).unwrap();
    let order: Vec<Entity> = world.query_filtered::<Entity, Without<Velocity>>().iter().collect();
    assert_eq!(order, [c, b]);
    world.despawn(c).unwrap();
    assert_eq!([a, b].map(|e| world.get::<Position>(e).unwrap().0), [1.0, 2.0]);
    world.validate().unwrap();
}

#[test]
fn replaced_and_removed_values_end_once() {
    let tally = Tally::new();
    let mut world = World::new();
    let e = world.spawn((Value(tally.value(1)), Position(0.0)));
    world.insert(e, Value(tally.value(2))).unwrap();
    assert_eq!((tally.live(), world.get::<Value>(e).unwrap().0.key()), (1, 2));
    world.insert(e, (Value(tally.value(3)), Velocity(1.0))).unwrap();
    assert_eq!((tally.live(), world.get::<Value>(e).unwrap().0.key()), (1, 3));
    let taken = world.take::<(Velocity, Value)>(e).unwrap();
    assert_eq!((taken.0, taken.1.0.key(), tally.live()), (Velocity(1.0), 3, 1));
    drop(taken);
    world.insert(e, Value(tally.value(4))).unwrap();
    world.remove::<Value>(e).unwrap();
    world.insert(e, Value(tally.value(5))).unwrap();
    world.despawn(e).unwrap();
    assert_eq!(tally.live(), 0);
    world.spawn_batch((0..10).map(|n| Value(tally.value(n))));
    world.clear();
    assert_eq!((tally.live(), world.len()), (0, 0));
    world.spawn_batch((0..10).map(|n| Value(tally.value(n))));
    drop(world);
    tally.assert_sound();
    assert_eq!(tally.live(), 0);
}

#[test]
fn errors_name_the_entity_and_the_component() {
    let mut world = World::new();
    let [e, dead] = [world.spawn(Position(1.0)), world.spawn_empty()];
    world.despawn(dead).unwrap();
    let heir = world.spawn_empty();
    assert_eq!(heir.index(), dead.index());
    assert_eq!(world.get::<Position>(dead), Err(NoSuchEntity { entity: dead }.into()));
    assert_eq!(world.insert(dead, Enemy), Err(NoSuchEntity { entity: dead }));
    assert_eq!(world.despawn(dead), Err(NoSuchEntity { entity: dead }));
    let error = world.get::<Velocity>(e).unwrap_err();
    assert!(matches!(error, ComponentError::MissingComponent { entity, .. } if entity == e));
    assert!(error.to_string().contains("0v0") && error.to_string().contains("Velocity"));
    assert!(matches!(world.take::<Velocity>(e), Err(StructuralError::Missing { .. })));
    assert!(matches!(world.try_spawn((Enemy, Enemy)), Err(StructuralError::Duplicate(_))));
    world.validate().unwrap();
}

#[test]
#[should_panic(expected = "would alias")]
fn a_query_that_would_alias_is_refused() {
    let mut world = World::new();
    world.spawn(Position(0.0));
    world.query_mut::<(&mut Position, &Position)>().for_each(drop);
}

#[test]
fn terms_and_filters_say_what_they_match() {
    let mut world = World::new();
    let a = world.spawn((Position(1.0), Velocity(10.0)));
    let b = world.spawn((Position(2.0), Enemy));
    world.spawn(Velocity(5.0));
    let all: Vec<_> = world.query::<(Entity, &Position, Option<&Velocity>, Has<Enemy>)>().iter().collect();
    assert_eq!(all, [(a, &Position(1.0), Some(&Velocity(10.0)), false), (b, &Position(2.0), None, true)]);
    assert_eq!(world.query_filtered_mut::<&Position, With<Enemy>>().len(), 1);
    assert_eq!(world.query_filtered_mut::<&Position, Without<Enemy>>().iter().count(), 1);
    assert_eq!(world.query_mut::<(&mut Position, &Velocity)>().get_mut(a).unwrap().1, &Velocity(10.0));
    assert!(world.query_mut::<(&mut Position, &Velocity)>().get_mut(b).is_err());
}

#[test]
fn soa_components_are_read_by_value_and_written_by_field() {
    let mut world = World::new();
    let e = world.spawn((Spin { axis: 1.0, speed: 2.0 }, Position(0.0)));
    for _ in 0..100 {
        world.spawn((Spin { axis: 0.5, speed: 1.0 }, Position(0.0)));
    }
    world.query_mut::<&mut Spin>().for_each(|spin| *spin.speed *= 2.0);
    assert_eq!(world.get::<Spin>(e), Ok(Spin { axis: 1.0, speed: 4.0 }));
    let lanes: Vec<f32> = world.query::<&Spin>().chunks().flat_map(|lanes| lanes.axis.to_vec()).collect();
    assert_eq!(lanes.len(), 101);
    world.insert(e, Velocity(1.0)).unwrap();
    assert_eq!(world.take::<Spin>(e).unwrap(), Spin { axis: 1.0, speed: 4.0 });
    world.validate().unwrap();
}

#[test]
fn reserved_entities_become_alive_with_every_change_of_a_component() {
    #[derive(Component, Debug, PartialEq)]
    #[component(layout = "pool")]
    struct Burning(u32);
    type Act = fn(&mut World, phalanx::Entity);
    let acts: [(&str, Act); 8] = [
        ("replace", |world, e| assert_eq!(world.replace(e, Position(2.0)), Ok(Position(1.0)))),
        ("replace in a pool", |world, e| assert_eq!(world.replace(e, Burning(2)), Ok(Burning(1)))),
        ("patch", |world, e| world.patch::<Position, _>(e, |position| position.0 = 2.0).unwrap()),
        ("insert", |world, e| world.insert(e, Position(2.0)).unwrap()),
        ("insert in a pool", |world, e| world.insert(e, Burning(2)).unwrap()),
        ("accessor", |world, e| assert!(world.component_mut::<Position>().insert(e, Position(2.0)).unwrap().is_some())),
        ("accessor of a pool", |world, e| {
            assert!(world.component_mut::<Burning>().insert(e, Burning(2)).unwrap().is_some())
        }),
        ("remove", |world, e| assert_eq!(world.remove::<Burning>(e), Ok(true))),
    ];
    for (name, act) in acts {
        let mut world = World::new();
        let e = world.spawn((Position(1.0), Burning(1)));
        let reserved = world.reserve_entity();
        act(&mut world, e);
        assert!(world.contains(reserved), "{name}");
        world.validate().unwrap();
    }
}

#[test]
fn reserved_entities_become_alive_with_the_next_change() {
    let mut world = World::new();
    let reserved = world.reserve_entity();
    assert!(!world.contains(reserved));
    world.insert(reserved, Position(4.0)).unwrap();
    assert_eq!(world.get::<Position>(reserved), Ok(&Position(4.0)));
    world.validate().unwrap();
}

#[test]
fn a_state_used_with_another_world_finds_its_way() {
    let mut state = phalanx::query::QueryState::<&Position>::new();
    let (mut one, mut two) = (World::new(), World::new());
    two.spawn(Velocity(0.0));
    one.spawn(Position(1.0));
    two.spawn((Velocity(0.0), Position(2.0)));
    for _ in 0..2 {
        assert_eq!(state.iter(&one).map(|p| p.0).sum::<f32>(), 1.0);
        assert_eq!(state.iter_mut(&mut two).map(|p| p.0).sum::<f32>(), 2.0);
    }
}

/// Replacing a value needs a row after the last, and that may move the lanes although no row came or went.
#[test]
fn a_replacement_that_moves_lanes_is_seen_by_queries() {
    let mut world = World::new();
    let first = world.spawn(Position(0.0));
    let mut state = phalanx::query::QueryState::<&mut Position>::new();
    for n in 1..200 {
        world.spawn(Position(n as f32));
        assert_eq!(state.iter_mut(&mut world).count(), n + 1);
        world.insert(first, Position(n as f32)).unwrap();
        let sum: f32 = state.iter_mut(&mut world).map(|p| p.0).sum();
        assert_eq!(sum as usize, n * (n + 1) / 2 + n);
        assert_eq!(world.query_mut::<&Position>().iter().count(), n + 1);
    }
    let mut spawner = world.spawner::<Position>();
    spawner.reserve(10_000);
    assert_eq!(state.iter_mut(&mut world).count(), 200);
}

#[test]
fn a_spawn_without_memory_changes_nothing() {
    let fill = || {
        let mut world = World::new();
        for n in 0..64 {
            world.spawn((Position(n as f32), Enemy));
        }
        world
    };
    let points = for_every_failing_allocation(
        fill,
        |world| world.try_spawn((Position(9.0), Enemy)).map(drop),
        |world, outcome| {
            world.validate().unwrap();
            assert_eq!(world.len(), 64 + usize::from(outcome.is_ok()));
            for _ in 0..100 {
                world.spawn((Position(1.0), Enemy));
            }
            world.validate().unwrap();
        },
    );
    assert!(points > 0);
}
