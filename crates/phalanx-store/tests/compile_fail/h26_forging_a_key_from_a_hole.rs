//! A hole of a sparse index is not a key: as one, it would find what a dead slot has left.

use phalanx_store::{Handle, SlotStore, index::Sparse, raw::DenseIndex};

fn main() {
    let mut store: SlotStore<String> = SlotStore::new();
    let handle = store.insert("on the heap".into());
    store.remove(handle);
    let next: Handle<String> = Handle::from_bits(1 << 32).unwrap();
    let forged = <Sparse<Handle<String>> as DenseIndex>::hole(next);
    store.get(forged);
}
