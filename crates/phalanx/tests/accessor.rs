//! One component held over a loop: the same as the plain operations, for every layout.

use phalanx::{Component, Entity, NoSuchEntity, World};
use phalanx_testkit::{Counted, Rng, Tally, for_every_failing_allocation};

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Name(u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Team(u8);
#[derive(Component, Debug)]
struct Value(Counted);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Marked;
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Number(u32);

#[derive(phalanx::store::Soa, Component, Clone, Copy, Debug, PartialEq)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa")]
struct Spin {
    axis: f32,
    speed: f64,
}

/// Two worlds with the same entities, in tables of three kinds.
fn twins() -> [(World, Vec<Entity>); 2] {
    [(); 2].map(|()| {
        let mut world = World::new();
        let entities = (0..60)
            .map(|n| match n % 3 {
                0 => world.spawn(Name(n)),
                1 => world.spawn((Name(n), Team(n as u8))),
                _ => world.spawn_empty(),
            })
            .collect();
        (world, entities)
    })
}

/// Does the same by the accessor in one world and by plain operations in the other.
fn agrees<C: Component>(value: impl Fn(u32) -> C, key: impl Fn(&World, Entity) -> Option<u32>, of: impl Fn(C) -> u32) {
    let [(mut world, entities), (mut plain, others)] = twins();
    assert_eq!(entities, others);
    let mut rng = Rng::new(11);
    for round in 0..40 {
        let mut access = world.component_mut::<C>();
        for step in 0..25 {
            let (entity, number) = (entities[rng.below(entities.len())], round * 25 + step);
            if rng.below(9) == 0 && plain.contains(entity) && round % 4 == 3 {
                world.despawn(entity).unwrap();
                plain.despawn(entity).unwrap();
                access = world.component_mut::<C>();
            }
            let had = key(&plain, entity);
            if rng.below(2) == 0 {
                let outcome = access.insert(entity, value(number)).map(|old| old.map(&of));
                assert_eq!(outcome, plain.insert(entity, value(number)).map(|()| had));
            } else {
                let outcome = access.remove(entity).map(|old| old.map(&of));
                assert_eq!(outcome, plain.remove::<C>(entity).map(|_| had));
            }
            assert_eq!(access.has(entity), plain.has::<C>(entity));
            assert_eq!(access.get(entity).is_ok(), plain.has::<C>(entity));
            assert_eq!(access.get_mut(entity).map(drop), plain.get_mut::<C>(entity).map(drop));
        }
        world.validate().unwrap();
        for entity in &entities {
            assert_eq!(key(&world, *entity), key(&plain, *entity));
            assert_eq!(world.get::<Name>(*entity).ok(), plain.get::<Name>(*entity).ok());
        }
    }
    assert_eq!(format!("{world:?}"), format!("{plain:?}"));
}

#[test]
fn it_agrees_with_plain_operations_on_table_components() {
    agrees(Number, |w, e| w.get::<Number>(e).ok().map(|n| n.0), |n| n.0);
}

#[derive(Component, Clone, Debug, PartialEq)]
#[component(layout = "pool")]
struct Pooled(String);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(layout = "pool")]
struct Flagged;
#[derive(Component, Clone, Debug, PartialEq)]
#[component(layout = "linear")]
struct Lined(String);

fn number(text: &str) -> u32 {
    text.parse().unwrap()
}

#[test]
fn it_agrees_with_plain_operations_on_components_beside_tables() {
    agrees(|n| Pooled(n.to_string()), |w, e| w.get::<Pooled>(e).ok().map(|p| number(&p.0)), |p| number(&p.0));
    agrees(|n| Lined(n.to_string()), |w, e| w.get::<Lined>(e).ok().map(|l| number(&l.0)), |l| number(&l.0));
    agrees(|_| Flagged, |w, e| w.has::<Flagged>(e).then_some(0), |_| 0);
}

#[test]
fn it_keeps_groups_and_tells_listeners() {
    use phalanx::group::Owned;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI32, Ordering};
    let mut world = World::new();
    let all: Vec<_> = (0..20).map(|n| world.spawn(Pooled(n.to_string()))).collect();
    let group = world.create_group::<Owned<(Pooled, Flagged)>>().unwrap();
    for (n, e) in all.iter().enumerate() {
        let mut access = world.component_mut::<Flagged>();
        if n % 3 > 0 {
            access.insert(*e, Flagged).unwrap();
        }
        if n % 3 == 2 {
            assert_eq!(access.remove(*e), Ok(Some(Flagged)));
        }
        world.validate().unwrap();
    }
    assert!(group.entities(&world).eq(all.iter().copied().skip(1).step_by(3)));
    world.remove_group(group);
    let heard = Arc::new(AtomicI32::new(0));
    let (added, removed) = (heard.clone(), heard.clone());
    world.on_add::<Flagged>(move |_, _, _| {
        added.fetch_add(1, Ordering::Relaxed);
    });
    world.on_remove::<Flagged>(move |_, _, _| {
        removed.fetch_add(100, Ordering::Relaxed);
    });
    let mut access = world.component_mut::<Flagged>();
    access.insert(all[0], Flagged).unwrap();
    access.remove(all[0]).unwrap();
    access.remove(all[0]).unwrap();
    assert_eq!(heard.load(Ordering::Relaxed), 101);
}

#[test]
fn it_agrees_with_plain_operations_on_soa_components() {
    let spin = |n| Spin { axis: n as f32, speed: f64::from(n) };
    agrees(spin, |w, e| w.get::<Spin>(e).ok().map(|s| s.speed as u32), |s| s.speed as u32);
}

#[test]
fn it_agrees_with_plain_operations_on_components_without_data() {
    agrees(|_| Marked, |w, e| w.has::<Marked>(e).then_some(0), |_| 0);
}

#[test]
fn every_value_ends_once() {
    let tally = Tally::new();
    agrees(
        |n| Value(tally.value(n)),
        |w, e| w.get::<Value>(e).ok().map(|v| v.0.key()),
        |v| {
            let key = v.0.key();
            drop(v);
            key
        },
    );
    tally.assert_sound();
    tally.assert_no_leaks();
}

#[test]
fn dead_entities_are_errors_and_their_values_end() {
    let tally = Tally::new();
    let mut world = World::new();
    let dead = world.spawn(Value(tally.value(0)));
    world.despawn(dead).unwrap();
    let again = world.spawn_empty();
    assert_eq!(again.index(), dead.index());
    let mut access = world.component_mut::<Value>();
    assert_eq!(access.insert(dead, Value(tally.value(1))).map(drop), Err(NoSuchEntity { entity: dead }));
    assert_eq!(access.remove(dead).map(drop), Err(NoSuchEntity { entity: dead }));
    assert!(access.get(dead).is_err() && access.get_mut(dead).is_err() && !access.has(dead));
    assert!(access.remove(again).unwrap().is_none());
    assert_eq!(tally.live(), 0);
    world.validate().unwrap();
}

#[test]
fn reserved_entities_are_alive_for_it() {
    let mut world = World::new();
    let reserved = world.reserve_entity();
    assert_eq!(world.component_mut::<Number>().insert(reserved, Number(4)), Ok(None));
    assert_eq!(world.get::<Number>(reserved).unwrap().0, 4);
    world.validate().unwrap();
}

#[test]
fn without_memory_nothing_happens() {
    let tally = Tally::new();
    let refused = for_every_failing_allocation(
        || {
            let mut world = World::new();
            let entity = world.spawn(Name(7));
            // The bundle and the edge are resolved before, and the table is full: only growing the table can fail.
            world.component_mut::<Value>().insert(entity, Value(tally.value(0))).unwrap();
            world.component_mut::<Value>().remove(entity).unwrap();
            while world.memory().tables.iter().any(|table| table.rows > 1 && table.rows < table.capacity)
                || world.len() < 3
            {
                world.spawn((Name(8), Value(tally.value(1))));
            }
            (world, entity)
        },
        |(world, entity)| world.component_mut::<Value>().try_insert(*entity, Value(tally.value(2))),
        |(world, entity), outcome| {
            world.validate().unwrap();
            assert_eq!(world.get::<Name>(*entity), Ok(&Name(7)));
            assert_eq!(world.has::<Value>(*entity), outcome.is_ok());
        },
    );
    assert!(refused > 0);
    tally.assert_no_leaks();
}

#[test]
fn every_change_makes_reserved_entities_first_whether_there_is_room_or_not() {
    #[derive(Component)]
    #[component(layout = "pool")]
    struct Pooled;
    #[derive(Component)]
    #[component(layout = "linear")]
    struct Lined;

    let changes: [fn(&mut World, Entity); 6] = [
        |world, e| world.insert(e, Pooled).unwrap(),
        |world, e| assert!(!world.remove::<Pooled>(e).unwrap()),
        |world, e| world.insert(e, (Lined,)).unwrap(),
        |world, e| assert!(!world.remove::<Lined>(e).unwrap()),
        |world, e| assert!(world.component_mut::<Pooled>().insert(e, Pooled).unwrap().is_none()),
        |world, e| assert!(world.component_mut::<Lined>().remove(e).unwrap().is_none()),
    ];
    for change in changes {
        for has_room in [false, true] {
            let mut world = World::new();
            let e = world.spawn(());
            if has_room {
                let other = world.spawn((Pooled, Lined));
                world.despawn(other).unwrap();
            }
            let reserved = world.reserve_entity();
            assert!(!world.contains(reserved));
            change(&mut world, e);
            assert!(world.contains(reserved));
            world.validate().unwrap();
        }
    }
}
