//! Entities that are dead, foreign, forged or not there yet.

use crate::kit::{A, Position, Spin, Tag, Velocity};
use phalanx::{ComponentError, Entity, NoSuchEntity, StructuralError, World};
use phalanx_testkit::{Rng, Tally};
use std::collections::BTreeSet;

/// That no way in finds this entity, and none changes anything.
fn assert_dead(world: &mut World, e: Entity, tally: &Tally) {
    let (len, live) = (world.len(), tally.live());
    let dead = NoSuchEntity { entity: e };
    let unread = ComponentError::NoSuchEntity(dead);
    assert!(!world.contains(e) && !world.has::<Position>(e));
    assert_eq!(world.get::<Position>(e), Err(unread));
    assert_eq!(world.get_mut::<Position>(e), Err(unread));
    assert_eq!(world.get::<Spin>(e), Err(unread));
    assert_eq!(world.get::<Tag>(e), Err(unread));
    assert_eq!(world.component::<Position>().get(e), Err(unread));
    assert!(!world.component::<Position>().has(e));
    assert_eq!(world.component_mut::<Position>().get(e), Err(unread));
    assert_eq!(world.component_mut::<Position>().get_mut(e), Err(unread));
    assert_eq!(world.entity(e).map(|entity| entity.component_names()).err(), Some(dead));
    assert_eq!(world.query::<&Position>().get(e), Err(unread));
    assert_eq!(world.query::<Entity>().get(e), Err(unread));
    assert_eq!(world.query_mut::<(Entity, Option<&mut Position>)>().get_mut(e), Err(unread));
    assert_eq!(world.insert(e, (A::new(tally, 1), Tag)), Err(dead));
    assert_eq!(world.try_insert(e, Velocity(0.0)), Err(StructuralError::NoSuchEntity(dead)));
    assert_eq!(world.remove::<Position>(e), Err(dead));
    assert_eq!(world.try_remove::<(Tag, Position)>(e), Err(StructuralError::NoSuchEntity(dead)));
    assert!(matches!(world.take::<A>(e), Err(StructuralError::NoSuchEntity(_))));
    assert_eq!(world.replace(e, Position(9.0)), Err(unread));
    assert_eq!(world.despawn(e), Err(dead));
    assert_eq!(world.despawn_batch([e, e]), 0);
    assert!(world.iter().all(|other| other != e));
    assert_eq!((world.len(), tally.live()), (len, live), "nothing happened, and what was given ended");
}

#[test]
fn h01_old_entities_stay_dead_through_every_way_in() {
    let tally = Tally::new();
    let mut world = World::new();
    world.spawn((Position(5.0), Tag));
    let mut old = Vec::new();
    for reuse in 0..1000_u32 {
        let e = world.spawn((A::new(&tally, reuse), Position(reuse as f32), Spin { axis: 1, speed: 1.0 }, Tag));
        if let Some(last) = old.last() {
            let last: &Entity = last;
            assert_eq!(last.index(), e.index(), "the slot is used again");
        }
        if [0, 1, 2, 3, 999].contains(&reuse) {
            old.iter().for_each(|e| assert_dead(&mut world, *e, &tally));
            assert_eq!(world.get::<Position>(e).unwrap().0, reuse as f32);
        }
        world.despawn(e).unwrap();
        old.push(e);
    }
    let heir = world.spawn(Position(1.0));
    for e in old {
        assert!(world.get::<Position>(e).is_err() && world.despawn(e).is_err());
    }
    assert!(world.contains(heir));
    world.validate().unwrap();
}

#[test]
fn h03_clearing_a_world_repeats_no_entity() {
    let tally = Tally::new();
    let mut world = World::new();
    let mut seen = BTreeSet::new();
    for round in 0..6 {
        let reserved = [world.reserve_entity(), world.reserve_entity()];
        let made: Vec<Entity> = (0..20 + round).map(|n| world.spawn((A::new(&tally, n), Tag))).collect();
        for e in made.iter().chain(&reserved) {
            assert!(seen.insert(*e), "{e} comes a second time");
        }
        world.despawn(made[3]).unwrap();
        let late = world.reserve_entity();
        assert!(seen.insert(late));
        world.clear();
        assert_eq!((world.len(), tally.live()), (0, 0));
        for e in made.into_iter().chain(reserved).chain([late]) {
            assert_dead(&mut world, e, &tally);
        }
        world.validate().unwrap();
    }
}

#[test]
fn h06_entities_of_another_world_are_harmless() {
    let tally = Tally::new();
    let (mut one, mut two) = (World::new(), World::new());
    let foreign: Vec<Entity> = (0..100).map(|_| two.spawn((Position(2.0), Tag))).collect();
    one.spawn((Velocity(1.0), A::new(&tally, 1)));
    // An index and a generation, no more: the first finds what this world has under both, the others nothing.
    assert!(one.contains(foreign[0]) && one.get::<Position>(foreign[0]).is_err());
    foreign[1..].iter().for_each(|e| assert_dead(&mut one, *e, &tally));
    one.insert(foreign[0], Position(3.0)).unwrap();
    one.validate().unwrap();
    two.validate().unwrap();
}

#[test]
fn h07_any_bits_are_a_harmless_entity() {
    let tally = Tally::new();
    let mut world = World::new();
    for n in 0..50 {
        let e = world.spawn((A::new(&tally, n), Position(0.0)));
        if n % 3 == 0 {
            world.despawn(e).unwrap();
        }
    }
    let mut rng = Rng::new(7);
    let edges = [0, 1, 49, 50, 51, u32::MAX - 1, u32::MAX];
    let all = edges.into_iter().flat_map(|high| edges.map(|low| u64::from(high) << 32 | u64::from(low)));
    let random: Vec<u64> = (0..2000).map(|n| rng.next_u64() >> (n % 64)).collect();
    for bits in all.chain(random) {
        let Some(e) = Entity::from_bits(bits) else { continue };
        if world.contains(e) {
            assert!(world.iter().any(|other| other == e));
        } else {
            assert_dead(&mut world, e, &tally);
        }
    }
    world.validate().unwrap();
}

#[test]
fn h08_entities_that_are_only_reserved_are_no_entities_yet() {
    let mut world = World::new();
    world.spawn(Position(0.0));
    let reserved = world.reserve_entity();
    // Nothing through a shared world.
    assert!(!world.contains(reserved) && world.get::<Position>(reserved).is_err());
    assert!(world.query::<Entity>().get(reserved).is_err());
    assert!(world.query::<Entity>().iter().all(|e| e != reserved));
    world.validate().unwrap();
    // Alive with the next change.
    world.spawn(Tag);
    assert!(world.contains(reserved));
    assert_eq!(world.entity(reserved).unwrap().component_names().count(), 0);
    world.despawn(reserved).unwrap();
    assert!(!world.contains(reserved));
    world.validate().unwrap();
}
