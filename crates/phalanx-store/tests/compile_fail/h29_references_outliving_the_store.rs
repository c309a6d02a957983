//! No reference that a store hands out outlives the store or its borrow.

use phalanx_store::{Entity, EntityPool, LinearStore, PackedStore, SlotStore, SparseSet};

fn packed(mut store: PackedStore<String>) -> String {
    let first = store.values().next();
    store.clear();
    format!("{first:?}")
}

fn slots(mut store: SlotStore<String>) -> String {
    let first = store.iter_mut().next();
    store.clear();
    format!("{first:?}")
}

fn sparse(mut store: SparseSet<Entity, String>) -> String {
    let first = store.runs_mut().next();
    store.compact();
    format!("{first:?}")
}

fn keys(mut store: SparseSet<Entity, String>) -> String {
    let keys = store.key_slice();
    store.clear();
    format!("{keys:?}")
}

fn linear(key: Entity) -> Option<&'static String> {
    let store: LinearStore<Entity, String> = LinearStore::new();
    store.get(key)
}

fn slice() -> &'static [String] {
    let store: PackedStore<String> = PackedStore::new();
    store.as_slice()
}

fn runs(mut store: PackedStore<String>) -> usize {
    let runs = store.runs();
    store.compact();
    runs.count()
}

fn disjoint(mut store: PackedStore<String>, handle: phalanx_store::Handle<String>) -> usize {
    let [one] = store.get_disjoint_mut([handle]).unwrap();
    store.clear();
    one.len()
}

fn entities() -> phalanx_store::Entities<'static> {
    let mut pool = EntityPool::new();
    pool.alloc_many(3)
}

fn main() {}
