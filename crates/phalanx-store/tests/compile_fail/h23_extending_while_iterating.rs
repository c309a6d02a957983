//! An iterator over a store cannot be given to that store.

use phalanx_store::{Entity, LinearStore, PackedStore, SlotStore, SparseSet};

fn packed(mut store: PackedStore<u32>) {
    store.extend(store.values().copied());
}

fn slots(mut store: SlotStore<u32>) {
    store.extend(store.values().copied());
}

fn sparse(mut store: SparseSet<Entity, u32>) {
    store.extend(store.iter().map(|(key, value)| (key, *value)));
}

fn linear(mut store: LinearStore<Entity, u32>) {
    store.extend(store.iter().map(|(key, value)| (key, *value)));
}

fn main() {}
