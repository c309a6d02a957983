//! Keys cannot be made from parts outside the crate, not even through the trait that all of them implement: with the
//! dead bit in its generation a key would find a value that was moved out.

use phalanx_store::{Handle, Key, SlotStore};

fn forge<K: Key>(index: u32, generation: u32) -> K {
    K::from_parts(index, generation)
}

fn main() {
    let mut store: SlotStore<String> = SlotStore::new();
    let handle = store.insert("moved out".into());
    drop(store.remove(handle));
    let dead: Handle<String> = forge(0, 1 << 31 | 1);
    println!("{:?}", store.get(dead));
}
