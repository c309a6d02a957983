//! An entry or a drain borrows its store exclusively. The references that it returns do not outlive the borrow.

use phalanx_store::{Entity, LinearStore, PackedStore, SlotStore, SparseSet};

fn drain(mut store: PackedStore<String>) {
    let drain = store.drain();
    store.insert(String::new());
    drop(drain);
}

fn entry(mut store: SparseSet<Entity, String>, key: Entity) {
    let value = store.entry(key).unwrap().or_default();
    store.clear();
    value.push('x');
}

fn into_mut(mut store: LinearStore<Entity, String>, key: Entity) {
    let value = store.entry(key).unwrap().or_insert(String::new());
    drop(store);
    value.push('x');
}

fn occupied(mut store: SlotStore<String>, handle: phalanx_store::Handle<String>) {
    let mut entry = store.entry(handle).unwrap();
    let value = entry.get_mut();
    entry.remove();
    value.push('x');
}

fn main() {}
