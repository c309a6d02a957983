//! A pool that carries something beside the word of each slot.
#![allow(unsafe_code)]

use phalanx_store::{Entity, EntityPool};
use phalanx_testkit::Rng;
use std::collections::HashMap;

#[test]
fn what_is_carried_is_found_while_its_entity_is_alive_and_only_then() {
    let mut pool = EntityPool::<(u32, u32)>::carrying();
    let (mut alive, mut dead) = (HashMap::<Entity, (u32, u32)>::new(), Vec::new());
    let mut rng = Rng::new(3);
    for step in 0..5000 {
        if rng.below(3) > 0 || alive.is_empty() {
            let entity = pool.alloc();
            let value = (step, step ^ 7);
            // SAFETY: the slot exists.
            unsafe { pool.places().at(entity.index()).write(value) };
            alive.insert(entity, value);
        } else {
            let mut entities: Vec<Entity> = alive.keys().copied().collect();
            entities.sort();
            let entity = entities[rng.below(entities.len())];
            assert!(pool.release(entity));
            alive.remove(&entity);
            dead.push(entity);
        }
        if step % 97 == 0 {
            pool.shrink_to_fit();
            pool = pool.clone();
            pool.validate().unwrap();
            // SAFETY: something was written for every entity, and the pool has not changed since.
            unsafe {
                assert!(alive.iter().all(|(entity, value)| pool.places().find(*entity) == Some(*value)));
                assert!(dead.iter().all(|entity| pool.places().find(*entity).is_none()));
                let beyond = Entity::from_bits(u64::from(u32::MAX - 1)).unwrap();
                assert_eq!(pool.places().find(beyond), None);
            }
        }
    }
}

#[test]
fn carrying_nothing_costs_nothing() {
    let mut pool = EntityPool::new();
    let mut carrying = EntityPool::<[u32; 2]>::carrying();
    pool.reserve(64);
    carrying.reserve(64);
    assert_eq!(pool.memory().keys, pool.capacity() * 4);
    assert_eq!(carrying.memory().keys, carrying.capacity() * 12);
}
