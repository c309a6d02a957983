//! The entity pool: handles, reservations, and failing allocations.

use phalanx_store::{AllocError, Entity, EntityPool};
use phalanx_testkit::{AllocationSweep, Rng, assert_balanced};
use std::collections::HashSet;

#[test]
fn h01_old_entities_stay_dead() {
    let mut pool = EntityPool::new();
    let bystander = pool.alloc();
    let mut old = Vec::new();
    for reuse in 0..=1000 {
        let entity = pool.alloc();
        assert_eq!((entity.index(), entity.generation()), (1, reuse));
        for dead in &old {
            assert!(!pool.contains(*dead) && !pool.release(*dead) && pool.get(1) == Some(entity));
        }
        assert!(pool.release(entity));
        assert!(!pool.release(entity));
        old.push(entity);
    }
    assert!(pool.contains(bystander));
    pool.validate().unwrap();
}

#[test]
fn h03_clear_repeats_no_entity() {
    let mut pool = EntityPool::new();
    let mut seen = HashSet::new();
    for round in 0..60 {
        let mut all: Vec<Entity> = pool.alloc_many(1 + round % 9).collect();
        assert_eq!(pool.release_many(all.iter().copied().take(round % 3)), (round % 3).min(all.len()));
        all.extend((0..round % 4).map(|_| pool.reserve_entity()));
        assert!(all.iter().all(|entity| seen.insert(*entity)), "an entity came twice");
        pool.clear();
        assert!(pool.is_empty() && pool.reserved_count() == 0);
        assert!(all.iter().all(|entity| !pool.contains(*entity)));
        pool.validate().unwrap();
    }
}

/// Whatever is done in whatever order, no entity comes twice, none is lost, and reservations become what they were
/// promised to be.
#[test]
fn h03_reservations_mixed_with_everything_repeat_no_entity() {
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let mut pool = EntityPool::new();
        let (mut alive, mut reserved, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
        for _ in 0..300 {
            let flushed = match rng.below(10) {
                0..=2 => {
                    let entity = pool.reserve_entity();
                    assert!(!pool.contains(entity) && seen.insert(entity), "{entity} came twice");
                    reserved.push(entity);
                    false
                }
                3 | 4 => {
                    let entity = pool.alloc();
                    assert!(seen.insert(entity), "{entity} came twice");
                    alive.push(entity);
                    true
                }
                5 => {
                    let new: Vec<_> = pool.alloc_many(rng.below(5)).collect();
                    assert!(new.iter().all(|entity| seen.insert(*entity)));
                    let some = !new.is_empty() || pool.reserved_count() == 0;
                    alive.extend(new);
                    some
                }
                6 | 7 if !alive.is_empty() => {
                    let entity = alive.swap_remove(rng.below(alive.len()));
                    assert!(pool.release(entity) && !pool.contains(entity));
                    false
                }
                8 => {
                    let made: HashSet<_> = pool.flush().collect();
                    assert!(made.iter().all(|entity| reserved.contains(entity)));
                    true
                }
                9 if rng.chance(1, 6) => {
                    pool.clear();
                    alive.clear();
                    reserved.clear();
                    true
                }
                _ => {
                    pool.shrink_to_fit();
                    let copy = pool.clone();
                    copy.validate().unwrap();
                    assert!(copy.iter().eq(pool.iter()) && copy.reserved_count() == pool.reserved_count());
                    false
                }
            };
            if flushed {
                assert_eq!(pool.reserved_count(), 0);
                alive.append(&mut reserved);
            }
            // A release makes those alive that need no memory.
            reserved.retain(|entity| {
                let now = pool.contains(*entity);
                if now {
                    alive.push(*entity);
                }
                !now
            });
            pool.validate().unwrap();
            assert_eq!((pool.len(), pool.reserved_count()), (alive.len(), reserved.len()));
            assert!(alive.iter().all(|entity| pool.contains(*entity)));
        }
    }
}

/// Every operation of the pool that allocates.
const ALLOCATIONS: [(&str, fn(&mut EntityPool) -> Result<(), AllocError>); 8] = [
    ("try_alloc", |pool| pool.try_alloc().map(drop)),
    ("try_alloc_many", |pool| pool.try_alloc_many(40).map(drop)),
    ("try_alloc_many, few", |pool| pool.try_alloc_many(3).map(drop)),
    ("try_flush", |pool| pool.try_flush().map(drop)),
    ("try_reserve", |pool| pool.try_reserve(100)),
    ("try_clear", |pool| pool.try_clear()),
    ("try_clone", |pool| pool.try_clone().map(drop)),
    ("try_reserve_entity", |pool| pool.try_reserve_entity().map(drop)),
];

/// What can be seen of a pool, its future included.
fn seen(pool: &EntityPool) -> (Vec<Entity>, usize, usize, Vec<Entity>) {
    let mut copy = pool.clone();
    let mut future: Vec<Entity> = copy.flush().collect();
    future.extend(copy.alloc_many(20));
    (pool.iter().collect(), pool.reserved_count(), pool.slot_count(), future)
}

#[test]
fn h60_a_pool_without_memory_is_as_it_was() {
    let mut points = 0;
    for reservations in [0, 1, 2, 5, 9] {
        for settled in [false, true] {
            for (name, operation) in ALLOCATIONS {
                for sweep in [AllocationSweep::new(), AllocationSweep::new().persistent()] {
                    points += sweep.run(
                        || {
                            let mut pool = EntityPool::new();
                            let all: Vec<_> = pool.alloc_many(8).collect();
                            pool.release_many([all[2], all[5]]);
                            pool.shrink_to_fit();
                            for _ in 0..reservations {
                                pool.reserve_entity();
                            }
                            if settled {
                                pool.release(all[7]);
                            }
                            let before = seen(&pool);
                            (pool, before)
                        },
                        |(pool, _)| operation(pool),
                        |(pool, before), outcome| {
                            pool.validate().unwrap();
                            if outcome.is_err() {
                                assert_eq!(seen(pool), *before, "{name} with {reservations} reserved");
                            }
                        },
                    );
                }
            }
        }
    }
    assert!(points > 100);
}

#[test]
fn h60_room_made_for_entities_is_there_whatever_is_reserved() {
    let mut pool = EntityPool::new();
    let all: Vec<_> = pool.alloc_many(10).collect();
    assert_eq!(pool.release_many(all), 10);
    (0..12).for_each(|_| assert!(!pool.contains(pool.reserve_entity())));
    pool.reserve(10);
    let (made, refused) = phalanx_testkit::fail_from(1, || pool.try_alloc_many(10).map(|made| made.len()));
    assert_eq!((made, refused), (Ok(10), false));
}

#[test]
fn h61_failed_growth_leaves_both_columns_of_a_pool_alike() {
    let points = AllocationSweep::new().run(
        EntityPool::new,
        |pool| pool.try_reserve(100),
        |pool, outcome| {
            assert_eq!(pool.capacity() >= 100, outcome.is_ok());
            assert_eq!(pool.alloc_many(200).len(), 200);
            pool.validate().unwrap();
        },
    );
    assert_eq!(points, 2);
}

#[test]
fn h33_forgotten_entities_are_alive() {
    assert_balanced(|| {
        let mut pool = EntityPool::new();
        std::mem::forget(pool.alloc_many(5));
        assert_eq!(pool.len(), 5);
        pool.reserve_entity();
        std::mem::forget(pool.flush());
        assert_eq!((pool.len(), pool.reserved_count()), (6, 0));
        pool.validate().unwrap();
    });
}

#[test]
fn h41_a_pool_counts_its_indices() {
    let mut pool = EntityPool::new();
    pool.alloc();
    for count in [u32::MAX as usize, u32::MAX as usize + 1, usize::MAX] {
        assert_eq!(pool.try_alloc_many(count).err(), Some(AllocError::CapacityOverflow));
        assert_eq!(pool.try_reserve(count), Err(AllocError::CapacityOverflow));
    }
    pool.reserve_entity();
    assert_eq!(pool.try_alloc_many(u32::MAX as usize - 1).err(), Some(AllocError::CapacityOverflow));
    assert_eq!((pool.len(), pool.reserved_count()), (1, 1));
    pool.validate().unwrap();
}

#[test]
fn h41_an_entity_that_no_pool_can_make_is_not_foretold() {
    let mut pool = EntityPool::new();
    let all: Vec<Entity> = pool.alloc_many(4).collect();
    pool.release(all[1]);
    let foretold: Vec<Entity> = (0..3).filter_map(|n| pool.nth_entity(n)).collect();
    // 4 slots, of which one is free, so that `u32::MAX` is the index after 4 others at most.
    for count in [u32::MAX, u32::MAX - 1, u32::MAX - 2, u32::MAX - 3] {
        assert_eq!((pool.nth_index(count), pool.nth_entity(count)), (None, None), "after {count}");
    }
    if cfg!(not(phalanx_narrow)) {
        assert_eq!(pool.nth_index(u32::MAX - 4), Some(u32::MAX - 1), "the last index there is");
        assert!(pool.nth_entity(u32::MAX - 4).is_some_and(|entity| !pool.contains(entity)));
    }
    assert!(pool.alloc_many(3).eq(foretold));
    pool.validate().unwrap();
}
