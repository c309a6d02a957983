//! Kinds of handles are types: of the values, or whatever the store was given.

use phalanx_store::{Entity, EntityPool, Handle, LinearStore, PackedStore, SlotStore, SparseSet};

enum Left {}
enum Right {}

fn main() {
    let mut packed: PackedStore<u32, Left> = PackedStore::default();
    let mut slots: SlotStore<u32, Right> = SlotStore::default();
    let mut sparse: SparseSet<Handle<Right>, u32> = SparseSet::new();
    let mut linear: LinearStore<Entity, u32> = LinearStore::new();
    let mut pool = EntityPool::new();
    let left: Handle<Left> = packed.insert(1);
    slots.get(left);
    slots.remove(left);
    sparse.insert(left, 1);
    linear.insert(left, 1);
    pool.release(left);
    packed.get(pool.alloc());
}
