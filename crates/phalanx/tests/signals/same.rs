//! A world with listeners is changed as one without.

use crate::parts::*;
use phalanx::{CommandBuffer, Entity, Key, With, World};
use phalanx_testkit::Rng;

/// What can be seen of a world: all rows in order, and the entities that come next.
fn seen(world: &World) -> (Vec<(Key, Vec<Option<u32>>)>, Vec<Entity>) {
    let look_all = |key| (0..PARTS).map(|part| value_of(world, key, part)).collect();
    let rows = world.query::<Key>().iter().map(|key| (key, look_all(key))).collect();
    let mut next = world.try_clone().unwrap();
    (rows, (0..20).map(|_| next.spawn_empty()).collect())
}

fn step(world: &mut World, rng: &mut Rng, n: u32) {
    let entities: Vec<Entity> = world.iter().collect();
    let pick = |rng: &mut Rng| entities.get(rng.below(entities.len().max(1))).copied();
    match (rng.below(14), pick(rng)) {
        (0 | 1, _) => drop(world.spawn_batch((n..n + 3).map(B::of))),
        (2, _) => drop(world.spawn_batch((n..n + 3).map(E::of))),
        (3, Some(e)) => world.insert(e, C::of(n)).unwrap(),
        (4, Some(e)) => world.insert(e, A::of(n)).unwrap(),
        (5, Some(e)) => drop(world.remove::<B>(e)),
        (6, Some(e)) => world.exchange::<E, D>(e, D::of(n)).unwrap(),
        (7, Some(e)) => world.despawn(e).unwrap(),
        (8, _) => {
            let list: Vec<_> = (0..4).filter_map(|_| pick(rng)).collect();
            world.despawn_batch(list);
        }
        (9, _) if rng.below(6) == 0 => world.clear(),
        (10, _) => drop(world.insert_where::<With<Plain>, _>(E::of(n))),
        (11, _) => drop(world.remove_where::<With<Plain>, B>()),
        (12, _) => {
            let mut commands = CommandBuffer::new();
            commands.spawn_with(world, F::of(n));
            for _ in 0..4 {
                let Some(e) = pick(rng) else { break };
                match rng.below(3) {
                    0 => commands.insert(e, B::of(n)),
                    1 => commands.remove::<E>(e),
                    _ => commands.despawn(e),
                }
            }
            commands.apply(world);
        }
        (13, Some(e)) => drop(world.entity_mut(e).map(|mut entity| entity.clone_entity())),
        _ => {}
    }
}

#[test]
fn listeners_change_nothing_about_what_operations_do() {
    for seed in 0..if cfg!(miri) { 1 } else { 20 } {
        let mut worlds = [World::new(), World::new()];
        register(&mut worlds[0]);
        record(&mut worlds[1], &Log::default());
        let mut rngs = [Rng::new(seed), Rng::new(seed)];
        for n in 0..100 {
            for (world, rng) in worlds.iter_mut().zip(&mut rngs) {
                step(world, rng, n * 10);
                world.validate().unwrap();
            }
            assert_eq!(seen(&worlds[0]), seen(&worlds[1]), "seed {seed}, step {n}");
        }
    }
}
