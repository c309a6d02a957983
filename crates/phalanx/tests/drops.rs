//! When values are dropped, in the less frequent operations: panicking destructors, zero-sized values, failing allocation.

use core::sync::atomic::{AtomicI32, Ordering};
use phalanx::{BundleBuilder, Component, Entity, With, World};
use phalanx_testkit::{Counted, PanicSweep, Site, Tally, for_every_failing_allocation};

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(clone)]
struct Position(f32);
#[derive(Component)]
struct Value(Counted);
#[derive(Component)]
struct Other(Counted);

/// A zero-sized value whose drops are counted.
#[derive(Component)]
#[component(clone)]
struct Token(());
static TOKENS: AtomicI32 = AtomicI32::new(0);
impl Token {
    fn new() -> Token {
        TOKENS.fetch_add(1, Ordering::SeqCst);
        Token(())
    }
}
impl Clone for Token {
    fn clone(&self) -> Token {
        Token::new()
    }
}
impl Drop for Token {
    fn drop(&mut self) {
        TOKENS.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn values_without_a_size_end_as_often_as_they_begin() {
    let live = || TOKENS.load(Ordering::SeqCst);
    let mut world = World::new();
    let all = world.spawn_columns((vec![Position(1.0); 5], (0..5).map(|_| Token::new()).collect::<Vec<_>>()));
    let all = all.unwrap().to_vec();
    assert_eq!(live(), 5);
    assert_eq!(world.insert_where::<With<Position>, _>(Token::new()), 5);
    assert_eq!(live(), 5);
    let e = world.spawn(Position(2.0));
    world.exchange::<Position, _>(e, Token::new()).unwrap();
    world.exchange::<Token, _>(e, (Token::new(), Position(3.0))).unwrap();
    assert_eq!(live(), 6);
    let twin = world.entity_mut(e).unwrap().clone_entity().unwrap();
    assert_eq!(live(), 7);
    let mut copy = world.try_clone().unwrap();
    assert_eq!(live(), 14);
    let moved = world.entity_mut(twin).unwrap().transfer(&mut copy).unwrap();
    assert_eq!((live(), copy.has::<Token>(moved)), (14, true));
    world.transfer_all(&mut copy).unwrap();
    assert_eq!((live(), world.len(), copy.len()), (14, 0, 14));
    let mut bundle = BundleBuilder::new();
    bundle.add(Token::new()).add(Token::new());
    world.spawn_at(all[0], Position(0.0)).unwrap_err();
    let f = bundle.spawn(&mut world);
    assert_eq!(live(), 15);
    let token = world.component_id::<Token>().unwrap();
    assert!(world.entity_mut(f).unwrap().remove_by_ids(&[token]));
    assert_eq!(copy.remove_where::<(), Token>(), 14);
    assert_eq!(live(), 0);
    world.validate().unwrap();
    copy.validate().unwrap();
}

#[test]
fn a_destructor_that_panics_ends_the_operation_whole() {
    let setup = |tally: &Tally| {
        let mut world = World::new();
        let all = world.spawn_batch((0..3).map(|n| (Value(tally.value(n)), Other(tally.value(n)), Position(n as f32))));
        (world, all)
    };
    let count = PanicSweep::new(Site::Drop).run(
        setup,
        |(world, all), tally| world.exchange::<Value, _>(all[0], Other(tally.value(9))).unwrap(),
        |(world, all), _, _| {
            world.validate().unwrap();
            assert!(!world.has::<Value>(all[0]) && world.get::<Other>(all[0]).unwrap().0.key() == 9);
        },
    );
    assert_eq!(count, 2);
    PanicSweep::new(Site::Drop).run(
        setup,
        |(world, all), _| {
            let ids = [world.component_id::<Value>().unwrap(), world.component_id::<Other>().unwrap()];
            world.entity_mut(all[1]).unwrap().remove_by_ids(&ids);
        },
        |(world, all), _, _| {
            world.validate().unwrap();
            assert_eq!(world.entity(all[1]).unwrap().component_names().count(), 1);
        },
    );
    PanicSweep::new(Site::Drop).run(
        setup,
        |(world, all), tally| {
            let mut bundle = BundleBuilder::new();
            bundle.add(Value(tally.value(20))).add(Other(tally.value(21)));
            bundle.insert(world, all[2]).unwrap();
        },
        |(world, all), _, _| {
            world.validate().unwrap();
            assert_eq!(world.get::<Value>(all[2]).unwrap().0.key() + world.get::<Other>(all[2]).unwrap().0.key(), 41);
        },
    );
}

#[test]
fn components_of_run_time_come_and_go_whole_or_not_at_all() {
    let tally = Tally::new();
    let setup = || {
        let mut world = World::new();
        // Both tables are exactly full.
        let full = world.spawn_batch((0..64).map(|n| (Value(tally.value(n)), Position(0.0))));
        world.spawn_batch((0..64).map(|n| Position(n as f32)));
        let mut bundle = BundleBuilder::new();
        bundle.add(Position(7.0)).add(Value(tally.value(99)));
        (world, full[5], Some(bundle))
    };
    for_every_failing_allocation(
        setup,
        |(world, e, _)| {
            let value = world.component_id::<Value>().unwrap();
            world.entity_mut(*e).unwrap().try_remove_by_ids(&[value])
        },
        |(world, e, _), outcome| {
            world.validate().unwrap();
            assert_eq!(world.has::<Value>(*e), outcome.is_err());
        },
    );
    for_every_failing_allocation(
        setup,
        |(world, e, bundle)| bundle.take().unwrap().try_insert(world, *e),
        |(world, e, _), outcome| {
            world.validate().unwrap();
            assert_eq!(world.get::<Value>(*e).unwrap().0.key(), if outcome.is_ok() { 99 } else { 5 });
        },
    );
    for_every_failing_allocation(
        setup,
        |(world, _, bundle)| bundle.take().unwrap().try_spawn(world),
        |(world, _, _), outcome| {
            world.validate().unwrap();
            assert_eq!(world.len(), if outcome.is_ok() { 129 } else { 128 });
        },
    );
    tally.assert_no_leaks();
}

#[test]
fn exact_entities_without_memory_are_not_made() {
    let tally = Tally::new();
    let far = Entity::from_bits(2 << 32 | 300).unwrap();
    let failed = for_every_failing_allocation(
        || {
            let mut world = World::new();
            world.spawn_batch((0..64).map(|n| Value(tally.value(n))));
            (world, Some(Value(tally.value(99))))
        },
        |(world, value)| world.spawn_at(far, value.take().unwrap()),
        |(world, _), outcome| {
            world.validate().unwrap();
            assert_eq!((world.len(), world.contains(far)), if outcome.is_ok() { (65, true) } else { (64, false) });
            world.spawn(Value(tally.value(1)));
            world.validate().unwrap();
        },
    );
    assert!(failed > 3);
    tally.assert_no_leaks();
}

#[test]
fn columns_use_slots_again_in_the_order_of_plain_spawns() {
    let make = || {
        let mut world = World::new();
        let all = world.spawn_batch((0..20).map(|n| Position(n as f32)));
        world.despawn_batch(all.iter().copied().step_by(3));
        world
    };
    let (mut one, mut whole) = (make(), make());
    let values: Vec<_> = (0..30).map(|n| Position(100.0 + n as f32)).collect();
    let expected: Vec<_> = values.iter().map(|p| one.spawn(*p)).collect();
    assert_eq!(whole.spawn_columns(values).unwrap(), expected);
    whole.validate().unwrap();
    assert!(expected.iter().all(|e| one.get::<Position>(*e) == whole.get::<Position>(*e)));
}

#[test]
fn a_handle_is_made_of_the_reserved_and_not_of_the_dead() {
    let mut world = World::new();
    let e = world.spawn_empty();
    world.despawn(e).unwrap();
    assert!(matches!(world.entity_mut(e), Err(error) if error.entity == e));
    let reserved = world.reserve_entity();
    world.entity_mut(reserved).unwrap().insert(Position(1.0));
    assert!(world.entity(reserved).unwrap().has::<Position>());
}
