//! The clone of a shared view lives no longer than the view's borrow.

use phalanx_store::{EntityPool, PackedStore, SlotStore};

fn values() -> usize {
    let mut store: PackedStore<u32> = PackedStore::new();
    let copy = store.values().clone();
    store.clear();
    copy.count()
}

fn keys() -> usize {
    let mut store: SlotStore<u32> = SlotStore::new();
    let copy = store.keys().clone();
    store.clear();
    copy.count()
}

fn runs() -> usize {
    let mut store: PackedStore<u32> = PackedStore::new();
    let copy = store.runs().clone();
    store.clear();
    copy.count()
}

fn entities() -> usize {
    let mut pool = EntityPool::new();
    let copy = pool.alloc_many(3).clone();
    pool.clear();
    copy.count()
}

/// A view for writing is invariant: nothing shorter-lived can be put in through it.
fn smuggle(store: &mut PackedStore<&'static str>, local: &str) {
    for value in store.values_mut() {
        *value = local;
    }
}

fn main() {}
