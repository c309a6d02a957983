//! The payload that a pool keeps beside the word of each slot.
#![allow(unsafe_code)]

use phalanx_store::{Entity, EntityPool};
use phalanx_testkit::Rng;
use std::collections::HashMap;

const DEFAULT: (u32, u32) = (u32::MAX, 0);

#[test]
fn a_payload_is_found_while_its_entity_is_alive_and_only_then() {
    let mut pool = EntityPool::with_payload(DEFAULT);
    let (mut alive, mut dead) = (HashMap::<Entity, (u32, u32)>::new(), Vec::new());
    let mut rng = Rng::new(3);
    for step in 0..5000 {
        let value = (step, step ^ 7);
        if rng.below(3) > 0 || alive.is_empty() {
            let (entity, payload) = match rng.below(3) {
                0 => (pool.alloc(), DEFAULT),
                1 => (pool.try_alloc_with(value).unwrap(), value),
                _ => (pool.alloc_with(value), value),
            };
            alive.insert(entity, payload);
        } else {
            let mut entities: Vec<Entity> = alive.keys().copied().collect();
            entities.sort();
            let entity = entities[rng.below(entities.len())];
            if rng.chance(1, 3) {
                assert_eq!(pool.set(entity, value), alive.insert(entity, value));
                continue;
            }
            assert!(pool.release(entity));
            alive.remove(&entity);
            assert_eq!(pool.set(entity, value), None);
            dead.push(entity);
        }
        if step % 97 == 0 {
            pool.shrink_to_fit();
            pool = pool.clone();
            pool.validate().unwrap();
            let beyond = Entity::from_bits(u64::from(u32::MAX - 1)).unwrap();
            assert!(alive.iter().all(|(entity, value)| pool.payload(*entity) == Some(*value)));
            assert!(dead.iter().chain([&beyond]).all(|entity| pool.payload(*entity).is_none()));
            let payloads = pool.payloads();
            assert!(alive.iter().all(|(entity, value)| payloads.get(*entity) == Some(*value)));
            assert!(dead.iter().chain([&beyond]).all(|entity| payloads.get(*entity).is_none()));
            assert!(alive.iter().all(|(entity, value)| pool.payload_at(entity.index()) == Some(*value)));
            assert_eq!(pool.payload_at(pool.slot_count() as u32), None);
        }
    }
}

#[test]
fn every_way_to_make_an_entity_gives_it_a_payload() {
    let mut pool = EntityPool::with_payload(DEFAULT);
    let all = |pool: &EntityPool<(u32, u32)>, payload| pool.iter().all(|entity| pool.payload(entity) == Some(payload));
    let first: Vec<Entity> = pool.alloc_many(10).collect();
    assert!(all(&pool, DEFAULT));
    for entity in &first {
        pool.set(*entity, (1, 2));
    }
    assert!(all(&pool, (1, 2)));
    // A recycled slot does not show the payload of its last entity.
    pool.release_many(first.iter().copied());
    let reserved = pool.reserve_entity();
    pool.flush();
    assert_eq!(pool.payload(reserved), Some(DEFAULT));
    let claimed = Entity::from_bits(u64::from(first[3].generation() + 5) << 32 | u64::from(first[3].index())).unwrap();
    assert_eq!(pool.try_claim(claimed), Ok(true));
    assert_eq!(pool.payload(claimed), Some(DEFAULT));
    let far = Entity::from_bits(40).unwrap();
    assert_eq!(pool.try_claim(far), Ok(true));
    // SAFETY: the name of the row does not leave this test, and all slots below the count exist.
    unsafe {
        let row = pool.try_alloc_row_with((7, 7)).unwrap();
        assert_eq!(pool.payload(row), Some((7, 7)));
        pool.release(row);
        assert!((30..40).all(|index| pool.payload_unchecked(index) == DEFAULT));
        pool.set_unchecked(far.index(), (8, 8));
    }
    assert_eq!(pool.payload(far), Some((8, 8)));
    pool.clear();
    pool.alloc_many(pool.slot_count());
    assert!(all(&pool, DEFAULT));
    pool.validate().unwrap();
}

#[test]
fn an_empty_payload_takes_no_memory() {
    let mut pool = EntityPool::new();
    let mut paired = EntityPool::with_payload([0_u32; 2]);
    pool.reserve(64);
    paired.reserve(64);
    assert_eq!(pool.memory().keys, pool.capacity() * 4);
    assert_eq!(paired.memory().keys, paired.capacity() * 12);
}

#[test]
fn entities_made_at_once_have_the_payloads_that_a_closure_returns() {
    let mut pool = EntityPool::with_payload(0);
    let old: Vec<_> = pool.alloc_many(5).collect();
    pool.release_many(old);
    let mut twin = pool.clone();
    let mut made = Vec::new();
    pool.try_alloc_many_with(9, |entity| {
        made.push(entity);
        made.len() as u32
    })
    .unwrap();
    pool.validate().unwrap();
    assert_eq!(made, twin.alloc_many(9).collect::<Vec<_>>());
    assert!(made.iter().zip(1..).all(|(entity, n)| pool.payload(*entity) == Some(n)));
}

#[test]
fn a_payload_that_panics_leaves_the_entities_before_it_alive() {
    for panics_at in [2, 7] {
        let mut pool = EntityPool::with_payload(0);
        let old: Vec<_> = pool.alloc_many(5).collect();
        pool.release_many(old);
        let mut made = Vec::new();
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            pool.try_alloc_many_with(9, |entity| {
                assert!(made.len() < panics_at);
                made.push(entity);
                made.len() as u32
            })
        }));
        assert!(result.is_err());
        pool.validate().unwrap();
        assert_eq!(pool.iter().count(), panics_at);
        assert!(made.iter().all(|entity| pool.contains(*entity)));
    }
}
