//! Closures that a store calls cannot reach the store.

use phalanx_store::{EntityPool, PackedStore, SlotStore};

fn packed(mut store: PackedStore<u32>) {
    store.retain(|_, _| store.is_empty());
    store.insert_with_key(|_| store.len() as u32);
    store.sort_by(|_, _| {
        store.clear();
        std::cmp::Ordering::Equal
    });
}

fn slots(mut store: SlotStore<u32>) {
    store.retain(|_, _| {
        store.clear();
        true
    });
    for value in store.values_mut() {
        store.insert(*value);
    }
}

fn pool(mut pool: EntityPool) {
    pool.release_many(pool.iter());
    for entity in pool.alloc_many(3) {
        pool.release(entity);
    }
}

fn main() {}
