//! The ends of generations and indices, in a build where they can be reached: 8 bits of generation, 10 bits of index.
//!
//! ```sh
//! RUSTFLAGS="--cfg phalanx_narrow" cargo test -p phalanx-store --test narrow --target-dir target/narrow
//! ```
#![cfg(phalanx_narrow)]
#![allow(unsafe_code)]

use phalanx_store::{
    AllocError, Entity, EntityPool, Handle, Key, LinearStore, PackedStore, Rejection, SlotState, SlotStore, SparseSet,
};
use phalanx_testkit::Rng;
use std::collections::HashSet;

const GENERATIONS: u32 = 1 << 8;
const SLOTS: u32 = 1 << 10;

/// Every key that was ever issued.
struct Ledger<K>(HashSet<K>);

impl<K: Key> Ledger<K> {
    fn new() -> Self {
        Ledger(HashSet::new())
    }

    fn note(&mut self, key: K) -> K {
        assert!(key.generation() < GENERATIONS && key.index() < SLOTS, "{key:?} is out of bounds");
        assert!(self.0.insert(key), "{key:?} was issued twice");
        key
    }
}

#[test]
fn bits_that_no_pool_issues_are_no_entity() {
    assert!(Entity::from_bits(u64::from(SLOTS - 1)).is_some() && Entity::from_bits(u64::from(SLOTS)).is_none());
    assert!(Entity::from_bits(255 << 32).is_some() && Entity::from_bits(256 << 32).is_none());
}

#[test]
fn a_slot_of_the_pool_is_retired_after_its_last_generation() {
    let (mut pool, mut ledger) = (EntityPool::new(), Ledger::new());
    let bystander = ledger.note(pool.alloc());
    for generation in 0..GENERATIONS {
        let entity = ledger.note(pool.alloc());
        assert_eq!((entity.index(), entity.generation()), (1, generation));
        assert!(pool.release(entity) && !pool.contains(entity));
        pool.validate().unwrap();
    }
    assert_eq!((pool.slot_state(1), pool.next_free(), pool.get(1)), (Some(SlotState::Retired), None, None));
    assert_eq!(ledger.note(pool.alloc()).index(), 2);
    pool.clear();
    assert_eq!(pool.slot_state(1), Some(SlotState::Retired), "cleared is not revived");
    assert!(!pool.contains(bystander));
    assert_eq!(pool.clone().alloc_many(3).map(|entity| entity.index()).collect::<Vec<_>>(), [0, 2, 3]);
    pool.validate().unwrap();
}

#[test]
fn clearing_the_pool_retires_slots_too() {
    let (mut pool, mut ledger) = (EntityPool::new(), Ledger::new());
    for _ in 0..GENERATIONS {
        pool.alloc_many(5).for_each(|entity| _ = ledger.note(entity));
        pool.clear();
        pool.validate().unwrap();
    }
    assert!((0..5).all(|index| pool.slot_state(index) == Some(SlotState::Retired)));
    assert_eq!((ledger.0.len(), pool.alloc().index()), (5 * 256, 5));
}

#[test]
fn the_pool_errs_at_the_last_index_and_stays_whole() {
    let mut pool = EntityPool::new();
    let all: Vec<Entity> = pool.alloc_many(SLOTS as usize - 2).collect();
    assert_eq!(pool.try_alloc_many(3).map(drop), Err(AllocError::CapacityOverflow));
    assert_eq!((pool.len(), pool.slot_count()), (all.len(), all.len()), "nothing changed");
    let last = [pool.alloc(), pool.alloc()];
    assert_eq!(last.map(|entity| entity.index()), [SLOTS - 2, SLOTS - 1]);
    assert_eq!(pool.try_alloc(), Err(AllocError::CapacityOverflow));
    assert_eq!(pool.try_reserve_entity(), Err(AllocError::CapacityOverflow));
    assert_eq!(pool.try_reserve(1), Err(AllocError::CapacityOverflow));
    assert_eq!(pool.reserved_count(), 0);
    pool.validate().unwrap();
    assert!(pool.release(all[7]));
    assert_eq!(pool.try_alloc().map(Entity::index), Ok(7));
    pool.validate().unwrap();
}

#[test]
fn reservations_stop_at_the_last_index() {
    let mut pool = EntityPool::new();
    let [a, _] = [(); 2].map(|()| pool.alloc());
    pool.release(a);
    let mut ledger = Ledger::new();
    // One recycled, the others new.
    for _ in 0..SLOTS - 1 {
        ledger.note(pool.reserve_entity());
    }
    assert_eq!(pool.try_reserve_entity(), Err(AllocError::CapacityOverflow));
    assert_eq!(pool.try_alloc(), Err(AllocError::CapacityOverflow), "what is reserved is taken");
    pool.validate().unwrap();
    assert_eq!(pool.flush().len(), SLOTS as usize - 1, "the failed allocation changed nothing");
    assert!(ledger.0.iter().all(|entity| pool.contains(*entity)));
    assert_eq!(pool.len(), SLOTS as usize);
}

#[test]
fn reservations_that_were_settled_count_against_the_limit() {
    let mut pool = EntityPool::new();
    let keep = pool.alloc();
    let reserved: Vec<Entity> = (0..SLOTS - 1).map(|_| pool.reserve_entity()).collect();
    // Settles the reservations without making them alive: they need memory.
    assert!(pool.release(keep));
    assert_eq!((pool.reserved_count(), pool.len()), (SLOTS as usize - 1, 0));
    let again = pool.try_reserve_entity();
    assert_eq!(again.map(|entity| (entity.index(), entity.generation())), Ok((0, 1)), "the one that was released");
    assert_eq!(pool.try_reserve_entity(), Err(AllocError::CapacityOverflow));
    pool.validate().unwrap();
    assert!(pool.flush().eq(again.into_iter().chain(reserved)));
    pool.validate().unwrap();
}

#[test]
fn a_pool_whose_slots_are_all_retired_errs_for_ever() {
    let mut pool = EntityPool::new();
    for _ in 0..GENERATIONS {
        assert_eq!(pool.alloc_many(SLOTS as usize).len(), SLOTS as usize);
        pool.clear();
    }
    pool.validate().unwrap();
    assert_eq!((pool.len(), pool.next_free()), (0, None));
    assert_eq!(pool.try_alloc(), Err(AllocError::CapacityOverflow));
    assert_eq!(pool.try_alloc_many(1).map(drop), Err(AllocError::CapacityOverflow));
    assert_eq!(pool.try_reserve_entity(), Err(AllocError::CapacityOverflow));
    assert_eq!(pool.flush().len(), 0);
    pool.clear();
    pool.shrink_to_fit();
    assert_eq!(pool.try_alloc(), Err(AllocError::CapacityOverflow));
    pool.validate().unwrap();
}

/// The ways in which a value leaves a minting store.
type Way<S> = (&'static str, fn(&mut S, Handle<u32>));

fn packed_ways() -> Vec<Way<PackedStore<u32>>> {
    vec![
        ("swap_remove", |s, h| assert!(s.swap_remove(h).is_some())),
        ("shift_remove", |s, h| assert!(s.shift_remove(h).is_some())),
        ("remove_in_place", |s, h| {
            assert!(s.remove_in_place(h));
            if s.holes() > 4 {
                s.compact_step(3);
            }
        }),
        ("remove_in_place and compact", |s, h| {
            assert!(s.remove_in_place(h));
            s.compact();
        }),
        ("retain", |s, h| s.retain(|handle, _| handle != h)),
        ("drain", |s, _| assert!(s.drain().next().is_some())),
        ("clear", |s, _| s.clear()),
        ("entry", |s, h| assert!(s.entry(h).map(|entry| entry.remove()).is_some())),
    ]
}

fn slot_ways() -> Vec<Way<SlotStore<u32>>> {
    vec![
        ("remove", |s, h| assert!(s.remove(h).is_some())),
        ("retain", |s, h| s.retain(|handle, _| handle != h)),
        ("drain", |s, _| assert!(s.drain().next().is_some())),
        ("clear", |s, _| s.clear()),
    ]
}

/// For each way out: values come and go in few slots until many generations are used up, and no handle comes twice.
macro_rules! wears_out {
    ($store:ty, $ways:expr) => {
        for (name, leave) in $ways {
            let (mut store, mut ledger) = (<$store>::new(), Ledger::new());
            let mut other = <$store>::new();
            for n in 0..600 {
                let handle = other.insert(n);
                other.remove(handle);
            }
            let mut live: Vec<Handle<u32>> = Vec::new();
            for n in 0..2000 {
                while live.len() < 3 {
                    live.push(ledger.note(store.insert(n)));
                }
                let handle = live.remove(n as usize % 2);
                leave(&mut store, handle);
                assert!(!store.contains(handle), "{name}");
                live.retain(|handle| store.contains(*handle));
                assert_eq!(store.len(), live.len(), "{name}");
                if n % 50 == 0 {
                    store.validate().unwrap_or_else(|error| panic!("{name}: {error}"));
                    store = store.clone();
                    // In the memory of another store, which has retired slots of its own.
                    other.clone_from(&store);
                    other.validate().unwrap_or_else(|error| panic!("{name}: {error}"));
                    core::mem::swap(&mut other, &mut store);
                    store.shrink_to_fit();
                }
            }
            store.validate().unwrap();
            assert!(ledger.0.len() >= 2000, "{name}");
            let slots = ledger.0.iter().map(|handle| handle.index()).max().unwrap() + 1;
            let worn = ledger.0.iter().filter(|handle| handle.generation() == GENERATIONS - 1).count();
            assert!(worn >= 4, "{name}: {worn} of {slots} slots came to their end");
            assert!(ledger.0.iter().filter(|handle| store.contains(**handle)).count() == store.len());
        }
    };
}

#[test]
fn h02_used_up_slots_retire_for_ever() {
    wears_out!(PackedStore<u32>, packed_ways());
    wears_out!(SlotStore<u32>, slot_ways());
}

/// At the limit of indices: an error that gives the value back, and a store that goes on working.
macro_rules! limited {
    ($store:ty) => {
        let mut store: $store = (0..SLOTS).collect();
        let rejected = store.try_insert(77).unwrap_err();
        assert_eq!((rejected.value, rejected.reason), (77, Rejection::Alloc(AllocError::CapacityOverflow)));
        assert_eq!(store.try_reserve(1), Err(AllocError::CapacityOverflow));
        assert!(store.try_insert_with_key(|_| panic!("not called")).is_err());
        assert_eq!(store.len(), SLOTS as usize);
        store.validate().unwrap();
        let some = store.keys().nth(500).unwrap();
        assert_eq!(store.remove(some), Some(500));
        let again = store.try_insert(1).unwrap();
        assert_eq!((again.index(), again.generation()), (some.index(), 1));
        store.validate().unwrap();
        // Until everything is retired: the slot that was reused comes to its end before the others.
        for _ in 1..GENERATIONS {
            store.clear();
            (0..SLOTS).for_each(|n| _ = store.try_insert(n));
        }
        assert_eq!(store.len(), SLOTS as usize - 1);
        store.validate().unwrap();
        store.clear();
        assert!(store.is_empty() && store.try_insert(5).is_err());
        assert_eq!(store.try_reserve(1), Err(AllocError::CapacityOverflow));
        store.shrink_to_fit();
        assert_eq!(store.clone().try_insert(6).unwrap_err().value, 6);
        store.clear();
        store.validate().unwrap();
        assert!(store.try_insert(5).is_err());
    };
}

#[test]
fn h09_index_limit_is_an_error() {
    limited!(PackedStore<u32>);
    limited!(SlotStore<u32>);
}

/// Any mixture of ways, with holes that are retired slots, until everything is worn out.
#[test]
fn packed_store_wears_out_in_any_mixture_of_ways() {
    for seed in 0..6 {
        let (mut rng, mut ledger) = (Rng::new(seed), Ledger::new());
        let mut store: PackedStore<u32> = PackedStore::new();
        let mut live = Vec::new();
        for step in 0..30_000 {
            if live.len() < 12 && rng.chance(1, 2) {
                live.push(ledger.note(store.insert(step)));
            } else if !live.is_empty() {
                let handle = live.swap_remove(rng.below(live.len()));
                match rng.below(40) {
                    0..10 => assert!(store.swap_remove(handle).is_some()),
                    10..20 => assert!(store.shift_remove(handle).is_some()),
                    20..36 => assert!(store.remove_in_place(handle)),
                    36 => store.retain(|other, _| other != handle),
                    37 => {
                        drop(store.drain());
                        live.clear();
                    }
                    38 => {
                        live.push(handle);
                        let mut drain = store.drain();
                        drain.next();
                        std::mem::forget(drain);
                    }
                    _ => store.clear(),
                }
                store.compact_step(rng.below(3));
                live.retain(|handle| store.contains(*handle));
            }
            assert_eq!(store.len(), live.len());
            if step % 64 == 0 {
                store.validate().unwrap();
            }
        }
        store.validate().unwrap();
        assert_eq!(ledger.0.iter().filter(|handle| store.contains(**handle)).count(), live.len());
        assert!(ledger.0.iter().any(|handle| handle.generation() == GENERATIONS - 1), "some slot was worn out");
    }
}

#[test]
fn keyed_stores_hold_every_index_and_the_last_generation() {
    let key = |index: u32, generation: u32| Entity::from_bits(u64::from(generation) << 32 | u64::from(index)).unwrap();
    let mut sparse: SparseSet<Entity, u32> = (0..SLOTS).map(|i| (key(i, 0), i)).collect();
    let mut linear: LinearStore<Entity, u32> = (0..SLOTS).map(|i| (key(i, 0), i)).collect();
    for generation in 1..GENERATIONS {
        let key = key(SLOTS - 1, generation);
        assert_eq!(sparse.insert(key, generation), linear.insert(key, generation));
    }
    let last = key(SLOTS - 1, GENERATIONS - 1);
    assert_eq!((sparse.get(last), linear.get(last)), (Some(&(GENERATIONS - 1)), Some(&(GENERATIONS - 1))));
    assert!(sparse.try_insert(key(SLOTS - 1, 254), 0).is_err() && linear.try_insert(key(SLOTS - 1, 254), 0).is_err());
    assert_eq!((sparse.remove(last), linear.remove(last)), (Some(255), Some(255)));
    assert_eq!((sparse.insert(key(0, 255), 1), linear.insert(key(0, 255), 1)), (Some(0), Some(0)));
    assert_eq!(sparse.try_reserve(2), Err(AllocError::CapacityOverflow));
    assert_eq!(linear.try_reserve(SLOTS as usize + 1), Err(AllocError::CapacityOverflow));
    sparse.validate().unwrap();
    linear.validate().unwrap();
}

#[test]
fn a_slot_that_was_used_for_rows_is_retired_too() {
    let (mut pool, mut issued) = (EntityPool::new(), HashSet::new());
    for generation in 0..GENERATIONS {
        // SAFETY: no other layer sees what this test makes.
        let used = if generation % 3 == 0 { pool.alloc() } else { unsafe { pool.alloc_row() } };
        assert!(issued.insert(used), "{used:?} was issued twice");
        assert_eq!((used.index(), used.generation() & 255), (0, generation));
        match generation % 2 {
            0 => assert!(pool.release(used)),
            _ => pool.clear(),
        }
        pool.validate().unwrap();
    }
    assert_eq!((pool.slot_state(0), pool.row_count(), pool.len()), (Some(SlotState::Retired), 0, 0));
}

#[test]
fn entities_are_foretold_up_to_the_last_index() {
    let mut pool = EntityPool::new();
    let all: Vec<Entity> = pool.alloc_many(SLOTS as usize - 3).collect();
    pool.release(all[5]);
    let foretold: Vec<Entity> = (0..).map_while(|n| pool.nth_entity(n)).collect();
    assert_eq!(foretold.iter().map(|entity| entity.index()).collect::<Vec<_>>(), [5, SLOTS - 3, SLOTS - 2, SLOTS - 1]);
    assert_eq!((pool.nth_index(4), pool.nth_index(SLOTS), pool.nth_index(u32::MAX)), (None, None, None));
    assert!(pool.alloc_many(4).eq(foretold));
    assert_eq!(pool.nth_entity(0), None);
}
