//! The containers of `phalanx-store`.

use super::{Body, Store, store};
use phalanx::store::{Entity, EntityPool, Handle, LinearStore, PackedStore, SlotStore, SparseSet};

store!(Packed(PackedStore<Body>), "phalanx PackedStore", Handle<Body>, remove, |s, f| s
    .as_mut_slice()
    .iter_mut()
    .for_each(f));
store!(Slot(SlotStore<Body>), "phalanx SlotStore", Handle<Body>, remove, |s, f| s.values_mut().for_each(f));

/// A store that follows keys, together with the pool that makes them.
#[derive(Default)]
pub struct Following<S> {
    pool: EntityPool,
    store: S,
}

macro_rules! following {
    ($store:ident, $label:literal, |$s:ident| $values:expr) => {
        impl Store for Following<$store<Entity, Body>> {
            const NAME: &'static str = $label;
            type Key = Entity;
            #[inline]
            fn insert(&mut self, value: Body) -> Entity {
                let entity = self.pool.alloc();
                self.store.insert(entity, value);
                entity
            }
            #[inline]
            fn remove(&mut self, key: Entity) -> Option<Body> {
                self.pool.release(key);
                self.store.remove(key)
            }
            #[inline]
            fn get(&self, key: Entity) -> Option<&Body> {
                self.store.get(key)
            }
            #[inline]
            fn get_mut(&mut self, key: Entity) -> Option<&mut Body> {
                self.store.get_mut(key)
            }
            #[inline]
            fn for_each_mut(&mut self, f: impl FnMut(&mut Body)) {
                let $s = &mut self.store;
                $values.for_each(f);
            }
        }
    };
}
following!(SparseSet, "phalanx SparseSet", |s| s.as_mut_slice().iter_mut());
following!(LinearStore, "phalanx LinearStore", |s| s.values_mut());

pub type Sparse = Following<SparseSet<Entity, Body>>;
pub type Linear = Following<LinearStore<Entity, Body>>;
