//! The feature `serde`: what is loaded is what was saved, and what cannot have been saved is refused.
#![cfg(feature = "serde")]
#![cfg_attr(phalanx_narrow, allow(dead_code, unused_imports))]

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

#[cfg(not(phalanx_narrow))]
mod boast;
#[cfg(not(phalanx_narrow))]
mod damage;
#[cfg(not(phalanx_narrow))]
mod failure;
#[cfg(not(phalanx_narrow))]
mod forgery;
#[cfg(phalanx_narrow)]
mod limits;
#[cfg(not(phalanx_narrow))]
mod round_trip;

use phalanx_store::{Entity, EntityPool, LinearStore, PackedStore, SlotStore, SparseSet};
use phalanx_testkit::Rng;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The written word of a live slot in its last generation.
const LAST: u32 = ((1 << 30) - 1) * 2;

fn from_json<S: DeserializeOwned>(json: &str) -> S {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"))
}

fn bytes_of<S: Serialize>(store: &S) -> Vec<u8> {
    postcard::to_allocvec(store).expect("memory for the bytes")
}

fn entity(index: u32, generation: u32) -> Entity {
    Entity::from_bits(u64::from(generation) << 32 | u64::from(index)).expect("an entity's parts")
}

/// A store with a past: values, free slots in no simple order, and two retired slots.
macro_rules! churned {
    ($name:ident, $store:ident, $start:expr) => {
        fn $name(seed: u64, steps: usize) -> ($store<u32>, Vec<phalanx_store::Handle<u32>>) {
            let mut rng = Rng::new(seed);
            let mut store: $store<u32> = from_json(&$start);
            let mut handles: Vec<_> = store.keys().collect();
            for handle in [handles[0], handles[2]] {
                assert_eq!(store.remove(handle), Some(7));
            }
            for n in 0..steps {
                let removes = rng.chance(2, 5);
                match rng.pick(&handles) {
                    Some(handle) if removes => drop(store.remove(*handle)),
                    _ => handles.push(store.insert(n as u32)),
                }
            }
            // So that some are free at the end, and not from the lowest up.
            for at in [1, 3, 2] {
                handles.iter().rev().step_by(at).nth(at).map(|handle| store.remove(*handle));
            }
            store.validate().expect("a whole store");
            (store, handles)
        }
    };
}
churned!(churned_packed, PackedStore, format!(r#"{{"words":[{LAST},0,{LAST}],"order":[2,1,0],"values":[7,8,7]}}"#));
churned!(churned_slot, SlotStore, format!(r#"{{"words":[{LAST},0,{LAST}],"values":[7,8,7]}}"#));

/// A pool with a past, and every entity it ever made.
fn churned_pool(seed: u64, steps: usize) -> (EntityPool, Vec<Entity>) {
    let mut rng = Rng::new(seed);
    let mut pool: EntityPool = from_json(&format!(r#"{{"words":[{LAST},3,{LAST}],"free":[1]}}"#));
    let mut entities: Vec<_> = pool.iter().collect();
    pool.release_many(entities.iter().copied());
    for _ in 0..steps {
        let removes = rng.chance(2, 5);
        match rng.pick(&entities) {
            Some(entity) if removes => drop(pool.release(*entity)),
            _ => entities.push(pool.alloc()),
        }
    }
    for at in [1, 3, 2] {
        entities.iter().rev().step_by(at).nth(at).map(|entity| pool.release(*entity));
    }
    pool.validate().expect("a whole pool");
    (pool, entities)
}

fn churned_sparse(seed: u64, steps: usize) -> SparseSet<Entity, u32> {
    let mut rng = Rng::new(seed);
    let mut set = SparseSet::new();
    for n in 0..steps as u32 {
        let far = if rng.chance(1, 8) { 1_000_000 } else { 0 };
        let key = entity(far + rng.below(2 * steps) as u32, n);
        if rng.chance(1, 3) {
            let at = rng.below(set.len() + 1);
            set.key_at(at).map(|key| set.remove(key));
        }
        set.insert(key, n);
    }
    set.validate().expect("a whole set");
    set
}

fn churned_linear(seed: u64, steps: usize) -> LinearStore<Entity, u32> {
    let mut store: LinearStore<Entity, u32> = churned_sparse(seed, steps)
        .iter()
        .map(|(key, value)| (entity(key.index() % 700, key.generation()), *value))
        .fold(LinearStore::new(), |mut store, (key, value)| {
            let _ = store.try_insert(key, value);
            store
        });
    let last = store.keys().next_back();
    last.map(|key| store.remove(key));
    store.validate().expect("a whole store");
    store
}
