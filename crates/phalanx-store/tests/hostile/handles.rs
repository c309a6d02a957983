//! Handles that are old, foreign, forged or null, asked of every method that takes one.

use crate::cases::{Container, for_each_store};
use phalanx_store::{DisjointError, Entity, EntityPool, Key, LinearStore, PackedStore, SlotStore, SparseSet};
use phalanx_testkit::{Rng, catch};
use std::collections::HashSet;

/// Asks every method for a key that names nothing: all say so, and nothing changes.
fn assert_dead<S: Container<Value = u64>>(store: &mut S, dead: S::Key) {
    let before: Vec<(S::Key, u64)> = store.iter().map(|(key, value)| (key, *value)).collect();
    assert!(!store.contains(dead), "{}: {dead:?} is contained", S::NAME);
    assert_eq!(store.get(dead), None);
    assert_eq!(store.get_mut(dead), None);
    assert_eq!(store.remove(dead), None);
    assert_eq!(store.replace(dead, 1), None);
    assert!(!store.leave_hole(dead));
    assert_eq!(store.disjoint([dead]), Err(DisjointError::Absent(0)));
    if let Some((alive, _)) = before.first() {
        assert_eq!(store.disjoint([*alive, dead]), Err(DisjointError::Absent(1)));
    }
    if !S::KEYED {
        assert!(!store.put_by_entry(dead, 1));
    }
    assert!(store.keys().all(|key| key != dead));
    let after: Vec<(S::Key, u64)> = store.iter().map(|(key, value)| (key, *value)).collect();
    assert_eq!(before, after, "{}: something changed", S::NAME);
    store.validate().unwrap();
}

/// The methods that only dense stores have.
fn assert_dead_in_dense(store: &mut PackedStore<u64>, dead: phalanx_store::Handle<u64>) {
    assert_eq!(store.swap_remove(dead), None);
    assert_eq!(store.shift_remove(dead), None);
    assert_eq!(store.position(dead), None);
    assert!(!store.swap_keys(dead, dead));
    assert!(catch(|| store[dead]).is_err());
    assert!(catch(|| store[dead] = 1).is_err());
}

#[test]
fn h01_old_handles_stay_dead() {
    fn run<S: Container<Value = u64>>() {
        let mut store = S::default();
        let bystander = store.put(1, 77);
        let mut old = Vec::new();
        for reuse in 0..=1000_u64 {
            let key = store.put(reuse << 32, reuse);
            assert_eq!(key.index(), if S::KEYED { 0 } else { 1 });
            assert!(!old.contains(&key), "{}: {key:?} came twice", S::NAME);
            if [1, 2, 1000].contains(&reuse) {
                old.iter().for_each(|dead| assert_dead(&mut store, *dead));
            }
            assert_eq!(store.remove(key), Some(reuse));
            assert_dead(&mut store, key);
            old.push(key);
        }
        assert_eq!(store.get(bystander), Some(&77));
    }
    for_each_store!(run::<u64>());
    let mut packed = PackedStore::new();
    let dead = packed.insert(1);
    packed.remove(dead);
    packed.insert(2);
    assert_dead_in_dense(&mut packed, dead);
}

#[test]
fn h01_a_later_key_takes_the_place_over_and_the_older_is_dead() {
    fn run<S: Container<Value = u64>>() {
        if !S::KEYED {
            return;
        }
        let mut store = S::default();
        let mut keys = Vec::new();
        for generation in 0..10_u64 {
            keys.push(store.put(generation << 32 | 5, generation));
            keys[..generation as usize].iter().for_each(|dead| assert_dead(&mut store, *dead));
            if generation > 0 {
                let refused = store.try_put((generation - 1) << 32 | 5, 99).unwrap_err();
                assert_eq!(refused.value, 99, "a stale key displaced a value");
            }
            assert_eq!(store.get(keys[generation as usize]), Some(&generation));
        }
        assert_eq!(store.len(), 1);
    }
    for_each_store!(run::<u64>());
}

#[test]
fn h03_clear_repeats_no_handle() {
    fn run<S: Container<Value = u64>>() {
        if S::KEYED {
            return;
        }
        let mut store = S::default();
        let mut seen = HashSet::new();
        for round in 0..50 {
            let keys: Vec<_> = (0..1 + round % 7).map(|n| store.put(0, n)).collect();
            assert!(keys.iter().all(|key| seen.insert(*key)), "{}: a handle came twice", S::NAME);
            if round % 3 == 0 {
                store.leave_hole(keys[0]);
            }
            match round % 4 {
                0 => store.clear(),
                1 => drop(store.drain()),
                2 => store.retain(|_, _| false),
                _ => keys.iter().for_each(|key| assert!(store.remove(*key).is_some() || round % 3 == 0)),
            }
            assert!(store.is_empty());
            store.validate().unwrap();
            keys.iter().for_each(|key| assert_dead(&mut store, *key));
        }
    }
    for_each_store!(run::<u64>());
}

#[test]
fn h04_half_drained_store_is_valid() {
    fn run<S: Container<Value = u64>>(taken: usize, leak: bool) {
        let mut store = S::default();
        let keys: Vec<_> = (0..9).map(|n| store.put(n, n)).collect();
        store.leave_hole(keys[2]);
        let mut drain = store.drain();
        let out: Vec<_> = drain.by_ref().take(taken).collect();
        assert_eq!(drain.len(), 8 - taken);
        if leak {
            std::mem::forget(drain);
        } else {
            drop(drain);
        }
        store.validate().unwrap();
        assert_eq!(store.len(), if leak { 8 - taken } else { 0 });
        for (key, value) in out {
            assert_eq!(key, keys[value as usize]);
            assert_dead(&mut store, key);
        }
        let new: Vec<_> = (0..9).map(|n| store.put(n | 1 << 32, n + 100)).collect();
        store.validate().unwrap();
        for (at, key) in new.iter().enumerate() {
            assert!(S::KEYED || !keys.contains(key));
            assert_eq!(store.get(*key), Some(&(at as u64 + 100)));
        }
    }
    for taken in 0..=8 {
        for leak in [false, true] {
            for_each_store!(run::<u64>(taken, leak));
        }
    }
}

#[test]
fn h05_shrinking_leaves_no_dangling_handle() {
    fn run<S: Container<Value = u64>>() {
        for keep in [0, 3, 15_u64] {
            let mut store = S::default();
            let keys: Vec<_> = (0..200).map(|n| store.put(n, n)).collect();
            store.retain(|_, value| *value % 16 == keep && *value < 100);
            let probe = |store: &mut S| {
                store.validate().unwrap();
                for (n, key) in (0..).zip(&keys) {
                    match n % 16 == keep && n < 100 {
                        true => assert_eq!(store.get(*key), Some(&n)),
                        false => assert_dead(store, *key),
                    }
                }
            };
            store.shrink();
            probe(&mut store);
            store.shrink();
            for n in 0..200 {
                store.put(n | 1 << 32, n | 1 << 40);
            }
            store.validate().unwrap();
            store.retain(|_, value| *value < 1 << 40);
            store.shrink();
            if S::KEYED {
                store.validate().unwrap();
            } else {
                probe(&mut store);
            }
        }
    }
    for_each_store!(run::<u64>());
}

#[test]
fn h06_foreign_handles_are_harmless() {
    // Of two stores of one kind, a handle is an index and a generation: it finds what the other has there, or nothing.
    fn run<S: Container<Value = u64>>() {
        let mut own = S::default();
        let mut other = S::default();
        let foreign: Vec<_> = (0..100).map(|n| other.put(n, n)).collect();
        for n in 0..10 {
            own.put(n, 1000 + n);
        }
        for (n, key) in (0_u64..).zip(&foreign) {
            assert_eq!(own.get(*key).copied(), (n < 10).then_some(1000 + n), "{}", S::NAME);
            if n >= 10 {
                assert_dead(&mut own, *key);
            }
        }
        assert_eq!(own.remove(foreign[3]), Some(1003));
        assert_dead(&mut own, foreign[3]);
        assert_eq!(other.get(foreign[3]), Some(&3));
        assert_eq!(own.disjoint([foreign[1], foreign[50]]), Err(DisjointError::Absent(1)));
    }
    for_each_store!(run::<u64>());
    let (mut pool, mut other) = (EntityPool::new(), EntityPool::new());
    let foreign: Vec<_> = other.alloc_many(5).collect();
    let own = pool.alloc();
    assert_eq!(foreign.iter().filter(|entity| pool.contains(**entity)).count(), 1);
    assert_eq!(pool.release_many(foreign), 1);
    assert!(!pool.contains(own) && other.len() == 5);
    pool.validate().unwrap();
}

#[test]
fn h06_indexing_with_a_dead_handle_panics() {
    macro_rules! panics {
        ($store:expr, $key:expr) => {
            assert!(catch(|| $store[$key]).unwrap_err().message().starts_with("no value under the key"));
            assert!(catch(|| $store[$key] = 1).unwrap_err().message().starts_with("no value under the key"));
        };
    }
    let nobody = Entity::from_bits(3).unwrap();
    let nothing = phalanx_store::Handle::from_bits(3).unwrap();
    panics!(PackedStore::<u64>::new(), nothing);
    panics!(SlotStore::<u64>::new(), nothing);
    panics!(SparseSet::<Entity, u64>::new(), nobody);
    panics!(LinearStore::<Entity, u64>::new(), nobody);
}

/// Bits at every edge of index and generation, and many in between.
fn bit_patterns() -> Vec<u64> {
    let edges =
        [0, 1, 2, 63, 64, 65, 4095, 4096, 4097, 1 << 21, (1 << 30) - 1, 1 << 30, 1 << 31, u32::MAX - 1, u32::MAX];
    let mut all: Vec<u64> =
        edges.iter().flat_map(|high| edges.iter().map(move |low| u64::from(*high) << 32 | u64::from(*low))).collect();
    all.extend((0..64).map(|bit| 1_u64 << bit));
    all.extend((0..64).map(|bit| !(1_u64 << bit)));
    let mut rng = Rng::new(7);
    all.extend((0..2000).map(|_| rng.next_u64()));
    all.extend((0..2000).map(|_| rng.next_u64() & 0x8000_0003_0000_00FF));
    all
}

#[test]
fn h07_any_bits_are_a_harmless_handle() {
    fn run<S: Container<Value = u64>>(patterns: &[u64]) {
        let mut store = S::default();
        let keys: Vec<_> = (0..100).map(|n| store.put(n, n)).collect();
        for (n, key) in (0_u64..50).zip(&keys) {
            store.remove(*key);
            if n < 25 {
                store.put(n | 1 << 32, 1);
            }
        }
        assert!(keys[50..60].iter().all(|key| store.leave_hole(*key)));
        let present: Vec<_> = store.keys().collect();
        for &bits in patterns {
            let Some(key) = S::key(bits) else {
                assert!(bits as u32 == u32::MAX || bits >> 62 != 0, "{bits:#x} could be a handle");
                continue;
            };
            assert_eq!((u64::from(key.generation()) << 32) | u64::from(key.index()), bits);
            match present.contains(&key) {
                true => assert!(store.get(key).is_some() && store.disjoint([key]).is_ok()),
                false => assert!(store.get(key).is_none() && store.disjoint([key]).is_err()),
            }
        }
        patterns.iter().filter_map(|bits| S::key(*bits)).filter(|key| !present.contains(key)).take(400).for_each(
            |key| {
                assert_dead(&mut store, key);
            },
        );
    }
    let patterns = bit_patterns();
    for_each_store!(run::<u64>(&patterns));
    let mut pool = EntityPool::new();
    let all: Vec<_> = pool.alloc_many(100).collect();
    assert_eq!(pool.release_many(all[..50].iter().copied()), 50);
    for entity in patterns.iter().filter_map(|bits| Entity::from_bits(*bits)) {
        let alive = pool.iter().any(|other| other == entity);
        assert_eq!(pool.contains(entity), alive);
        assert_eq!(pool.get(entity.index()).is_some_and(|other| other == entity), alive);
        let _ = pool.slot_state(entity.index());
        assert_eq!(pool.release(entity), alive);
    }
    pool.validate().unwrap();
}

#[test]
fn h08_null_handles_are_refused() {
    // There is no null handle: the bits that could be one, and those of dead slots, are none.
    for bits in [u64::MAX, u64::from(u32::MAX), 1 << 63, 1 << 62, 1 << 63 | 1 << 32] {
        assert_eq!(Entity::from_bits(bits), None);
        assert_eq!(phalanx_store::Handle::<()>::from_bits(bits), None);
    }
    assert_eq!(size_of::<Option<Entity>>(), 8);
    // What comes nearest: past the end, in an empty store, or never issued.
    fn run<S: Container<Value = u64>>() {
        let mut store = S::default();
        for bits in [0, 1, 1 << 32, (u64::from(u32::MAX) - 1), ((1 << 30) - 1) << 32] {
            assert_dead(&mut store, S::key(bits).unwrap());
        }
        store.put(0, 1);
        for bits in [1, 1 << 32, (u64::from(u32::MAX) - 1), ((1 << 30) - 1) << 32] {
            assert_dead(&mut store, S::key(bits).unwrap());
        }
        store.clear();
        assert_dead(&mut store, S::key(0).unwrap());
    }
    for_each_store!(run::<u64>());
    let mut pool = EntityPool::new();
    for bits in [0, 1 << 32, (u64::from(u32::MAX) - 1), ((1 << 30) - 1) << 32] {
        assert!(!pool.release(Entity::from_bits(bits).unwrap()));
    }
    assert_eq!(pool.slot_count(), 0);
}
