//! Reservations from several threads, in every order that the memory model allows.
//!
//! ```sh
//! RUSTFLAGS="--cfg loom" cargo test -p phalanx-store --test loom --release --target-dir target/loom
//! ```
#![cfg(loom)]

use loom::sync::Arc;
use loom::thread;
use phalanx_store::{AllocError, Entity, EntityPool};
use std::collections::BTreeSet;

/// Lets `threads` threads reserve `each` entities, the main thread one of them, and returns pool and reservations.
fn reserve(pool: EntityPool, threads: usize, each: usize) -> (EntityPool, Vec<Vec<Entity>>) {
    let pool = Arc::new(pool);
    let some = move |pool: &EntityPool| (0..each).map(|_| pool.reserve_entity()).collect::<Vec<_>>();
    let others: Vec<_> = (1..threads)
        .map(|_| {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                let all = some(&pool);
                drop(pool);
                all
            })
        })
        .collect();
    let mut all = vec![some(&pool)];
    all.extend(others.into_iter().map(|thread| thread.join().unwrap()));
    (Arc::try_unwrap(pool).unwrap_or_else(|_| panic!("all other threads have ended")), all)
}

/// No entity was given to two, and flushing makes alive exactly those that were given.
fn settle(mut pool: EntityPool, reserved: &[Vec<Entity>]) {
    let given: Vec<Entity> = reserved.iter().flatten().copied().collect();
    let unique: BTreeSet<Entity> = given.iter().copied().collect();
    assert_eq!(unique.len(), given.len(), "an entity was given to two: {reserved:?}");
    assert_eq!(pool.reserved_count(), given.len());
    assert!(given.iter().all(|entity| !pool.contains(*entity)), "reserved is not alive");
    let before = pool.len();
    let flushed: Vec<Entity> = pool.flush().collect();
    assert_eq!(flushed.iter().copied().collect::<BTreeSet<_>>(), unique, "flushed what was given, nothing lost");
    assert_eq!(flushed.len(), given.len());
    assert_eq!((pool.len(), pool.reserved_count()), (before + given.len(), 0));
    assert!(given.iter().all(|entity| pool.contains(*entity)));
    pool.validate().unwrap();
}

/// A pool with `live` entities alive and `free` slots to be used again.
fn pool(live: usize, free: usize) -> EntityPool {
    let mut pool = EntityPool::new();
    let all: Vec<Entity> = pool.alloc_many(live + free).collect();
    pool.release_many(all.into_iter().take(free));
    pool
}

/// Threads reserve, then an entity is released, then threads reserve again, before anything is flushed.
#[test]
fn h10_reserved_handles_are_unique() {
    loom::model(|| {
        let start = pool(1, 1);
        let alive = start.iter().next().unwrap();
        let (mut pool, mut all) = reserve(start, 2, 1);
        // Freeing settles the first round: one of it is in a recycled slot and comes alive, one waits for memory.
        assert!(pool.release(alive));
        assert_eq!((pool.len(), pool.reserved_count()), (1, 1));
        let (mut pool, more) = reserve(pool, 2, 1);
        all.extend(more);
        let given: BTreeSet<Entity> = all.iter().flatten().copied().collect();
        assert_eq!(given.len(), 4, "an entity was given to two: {all:?}");
        assert_eq!(pool.flush().len(), 3);
        assert!(pool.iter().eq(given), "what was given is alive, nothing else is, and nothing is lost");
        pool.validate().unwrap();
    });
}

#[test]
fn reservations_of_new_slots_are_unique() {
    loom::model(|| {
        let (pool, reserved) = reserve(EntityPool::new(), 3, 1);
        settle(pool, &reserved);
    });
}

#[test]
fn reservations_pass_from_recycled_slots_to_new_ones() {
    loom::model(|| {
        // There are four reservations and three slots in the free list, so one reservation gets a new slot.
        let (pool, reserved) = reserve(pool(1, 3), 2, 2);
        assert_eq!(reserved.iter().flatten().filter(|entity| entity.index() == 4).count(), 1);
        settle(pool, &reserved);
    });
}

#[test]
fn reservations_of_recycled_slots_by_three() {
    loom::model(|| {
        let (pool, reserved) = reserve(pool(0, 2), 3, 1);
        settle(pool, &reserved);
    });
}

#[test]
fn each_thread_gets_its_own_in_the_order_of_the_stack() {
    loom::model(|| {
        let (pool, reserved) = reserve(pool(0, 4), 2, 2);
        // The stack's top is the slot that was released last; a thread's later reservation lies deeper.
        for mine in &reserved {
            assert!(mine[0].index() > mine[1].index(), "{mine:?}");
        }
        settle(pool, &reserved);
    });
}

#[test]
fn readers_see_a_pool_that_does_not_change() {
    loom::model(|| {
        let pool = Arc::new(pool(1, 1));
        let alive = pool.iter().next().unwrap();
        let reader = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                let count = pool.reserved_count();
                assert!(count <= 2 && pool.contains(alive) && pool.len() == 1 && pool.next_free() == Some(0));
                // A copy has the reservations that were seen, and can be used at once.
                let mut copy = EntityPool::clone(&pool);
                let seen = copy.reserved_count();
                assert_eq!(copy.flush().len(), seen);
                copy.validate().unwrap();
            })
        };
        let (a, b) = (pool.reserve_entity(), pool.reserve_entity());
        reader.join().unwrap();
        let pool = Arc::try_unwrap(pool).unwrap_or_else(|_| panic!("the reader has ended"));
        settle(pool, &[vec![a, b]]);
    });
}

/// Two indices are left and three are asked for: exactly one request is refused, whichever is last. (In this build, as
/// in the narrow one, there are 1024.)
#[test]
fn the_last_index_is_given_once() {
    loom::model(|| {
        let mut full = EntityPool::new();
        full.alloc_many(1022);
        let pool = Arc::new(full);
        let others: Vec<_> = (0..2)
            .map(|_| {
                let pool = Arc::clone(&pool);
                thread::spawn(move || pool.try_reserve_entity())
            })
            .collect();
        let mut all = vec![pool.try_reserve_entity()];
        all.extend(others.into_iter().map(|thread| thread.join().unwrap()));
        let refused = all.iter().filter(|one| **one == Err(AllocError::CapacityOverflow)).count();
        assert_eq!(refused, 1, "{all:?}");
        let given: Vec<Entity> = all.into_iter().flatten().collect();
        let pool = Arc::try_unwrap(pool).unwrap_or_else(|_| panic!("the others have ended"));
        settle(pool, &[given]);
    });
}

/// The same with a recycled slot among the last two.
#[test]
fn the_last_index_is_given_once_beside_a_recycled_one() {
    loom::model(|| {
        let mut full = EntityPool::new();
        let first = full.alloc_many(1023).next().unwrap();
        full.release(first);
        let pool = Arc::new(full);
        let other = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || [pool.try_reserve_entity(), pool.try_reserve_entity()])
        };
        let mine = pool.try_reserve_entity();
        let all: Vec<_> = other.join().unwrap().into_iter().chain([mine]).collect();
        let given: Vec<Entity> = all.iter().copied().flatten().collect();
        let indices: BTreeSet<u32> = given.iter().map(|entity| entity.index()).collect();
        assert_eq!((given.len(), indices), (2, BTreeSet::from([0, 1023])), "{all:?}");
        let pool = Arc::try_unwrap(pool).unwrap_or_else(|_| panic!("the other has ended"));
        settle(pool, &[given]);
    });
}
