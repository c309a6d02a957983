//! Reading and setting the free entities of a world.

use phalanx::store::FreeListError;
use phalanx::{CommandBuffer, Component, Entity, Key, Role, World};
use phalanx_testkit::Rng;

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

#[derive(Component, Debug, PartialEq, Clone)]
#[component(clone)]
struct Number(u32);

/// A world with some free slots.
fn world(seed: u64) -> World {
    let (mut rng, mut world) = (Rng::new(seed), World::new());
    for n in 0..60 {
        let all: Vec<Entity> = world.iter().collect();
        match (rng.below(5), rng.pick(&all).copied()) {
            (0 | 1, Some(e)) => world.despawn(e).unwrap(),
            (2, Some(e)) => drop(world.add_row(Key::main(e).with_role(Role(1)), Number(n))),
            _ => drop(world.spawn(Number(n))),
        }
    }
    world
}

#[test]
fn spawns_get_the_free_entities_in_their_order() {
    for seed in 0..50 {
        let mut world = world(seed);
        let (mut rng, slots) = (Rng::new(seed), world.iter().map(|e| e.index()).max().unwrap_or(0));
        let mut free: Vec<Entity> = world.free_entities().collect();
        rng.shuffle(&mut free);
        // Later generations, here and there.
        for entity in &mut free {
            let later = entity.to_bits() + ((rng.below(3) as u64) << 32);
            *entity = Entity::from_bits(later).unwrap();
        }
        world.set_free_entities(&free).unwrap();
        world.validate().unwrap();
        assert!(world.free_entities().eq(free.iter().copied()));
        let copy = world.try_clone().unwrap();
        for mut world in [copy, world] {
            let spawned: Vec<Entity> = free.iter().map(|_| world.spawn(Number(7))).collect();
            assert_eq!(spawned, free);
            assert!(world.spawn_empty().index() > slots);
            world.validate().unwrap();
        }
    }
}

#[test]
fn lists_that_are_wrong_are_refused_and_change_nothing() {
    let mut world = World::new();
    let [a, b, c] = [0, 1, 2].map(|n| world.spawn(Number(n)));
    world.despawn_batch([a, b]);
    let free: Vec<Entity> = world.free_entities().collect();
    let [first, second] = free[..] else { panic!() };
    let far = Entity::from_bits(77).unwrap();
    let cases = [
        (vec![first, c], FreeListError::Alive { entity: c }),
        (vec![second, far], FreeListError::NoSuchSlot { entity: far }),
        (vec![first, second, first], FreeListError::Repeated { entity: first }),
        (vec![second], FreeListError::Missing { entity: first }),
        (vec![], FreeListError::Missing { entity: first }),
        (vec![first, a], FreeListError::Generation { entity: a, least: 1 }),
    ];
    for (list, error) in cases {
        assert_eq!(world.set_free_entities(&list), Err(error), "{list:?}");
        world.validate().unwrap();
        assert!(world.free_entities().eq(free.iter().copied()));
        assert!(!error.to_string().is_empty());
    }
    world.set_free_entities(&[second, first]).unwrap();
    assert_eq!([world.spawn_empty(), world.spawn_empty()], [second, first]);
}

#[test]
fn reserved_entities_are_not_free() {
    let mut world = World::new();
    let all = [0, 1, 2].map(|n| world.spawn(Number(n)));
    world.despawn_batch(all);
    let free: Vec<Entity> = world.free_entities().collect();
    let mut commands = CommandBuffer::new();
    let reserved = commands.spawn_with(&world, Number(9));
    assert!(reserved == free[0] && world.free_entities().eq(free[1..].iter().copied()));
    assert_eq!(world.set_free_entities(&free), Err(FreeListError::Alive { entity: reserved }));
    world.set_free_entities(&[free[2], free[1]]).unwrap();
    commands.apply(&mut world);
    assert_eq!(world.get::<Number>(reserved), Ok(&Number(9)));
    assert_eq!(world.spawn_empty(), free[2]);
    world.validate().unwrap();
}

#[test]
fn a_rollback_restores_the_free_entities() {
    let mut world = world(3);
    let before = world.checkpoint().unwrap();
    let free: Vec<Entity> = world.free_entities().collect();
    let mut reversed = free.clone();
    reversed.reverse();
    world.set_free_entities(&reversed).unwrap();
    world.rollback(&before).unwrap();
    assert!(world.free_entities().eq(free.iter().copied()));
    world.validate().unwrap();
    world.set_free_entities(&reversed).unwrap();
    let after = world.checkpoint().unwrap();
    world.rollback(&before).unwrap();
    world.rollback(&after).unwrap();
    assert!(world.free_entities().eq(reversed));
}
