//! Phalanx, slotmap and thunderdome.

use super::{Container, Second, Value};
use phalanx::store::{Handle, LinearStore, PackedStore, SlotStore, SparseSet};
use slotmap::{DefaultKey, DenseSlotMap, SecondaryMap, SlotMap, SparseSecondaryMap};
use thunderdome::{Arena, Index};

macro_rules! container {
    ($name:ident($inner:ty), $label:literal, $key:ty, $each:ident($value:pat => $of:expr)) => {
        #[derive(Clone)]
        pub struct $name<V>($inner);

        impl<V> Default for $name<V> {
            fn default() -> Self {
                $name(Default::default())
            }
        }

        impl<V: Value> Container<V> for $name<V> {
            const NAME: &'static str = $label;
            type Key = $key;
            #[inline]
            fn insert(&mut self, value: V) -> $key {
                self.0.insert(value)
            }
            #[inline]
            fn remove(&mut self, key: $key) -> Option<V> {
                self.0.remove(key)
            }
            #[inline]
            fn get(&self, key: $key) -> Option<&V> {
                self.0.get(key)
            }
            #[inline]
            fn for_each(&mut self, mut f: impl FnMut(&mut V)) {
                self.0.$each().for_each(|$value| f($of));
            }
            #[inline]
            fn retain(&mut self, mut keep: impl FnMut(&mut V) -> bool) {
                self.0.retain(|_, value| keep(value));
            }
            #[inline]
            fn drain(&mut self, mut f: impl FnMut(V)) {
                for (_, value) in self.0.drain() {
                    f(value);
                }
            }
            #[inline]
            fn clear(&mut self) {
                self.0.clear();
            }
        }
    };
}

container!(Packed(PackedStore<V>), "phalanx PackedStore", Handle<V>, values_mut(value => value));
container!(Slot(SlotStore<V>), "phalanx SlotStore", Handle<V>, values_mut(value => value));
container!(SlotMapOf(SlotMap<DefaultKey, V>), "slotmap::SlotMap", DefaultKey, values_mut(value => value));
container!(Dense(DenseSlotMap<DefaultKey, V>), "slotmap::DenseSlotMap", DefaultKey, values_mut(value => value));
container!(Thunderdome(Arena<V>), "thunderdome", Index, iter_mut((_, value) => value));

macro_rules! second {
    ($name:ident($inner:ty), $label:literal, $first:ident, $key:ty) => {
        pub struct $name<V>($inner);

        impl<V> Default for $name<V> {
            fn default() -> Self {
                $name(Default::default())
            }
        }

        impl<V: Value> Second<V> for $name<V> {
            const NAME: &'static str = $label;
            type First = $first<V>;
            #[inline]
            fn insert(&mut self, key: $key, value: V) {
                self.0.insert(key, value);
            }
            #[inline]
            fn remove(&mut self, key: $key) -> Option<V> {
                self.0.remove(key)
            }
            #[inline]
            fn get(&self, key: $key) -> Option<&V> {
                self.0.get(key)
            }
        }
    };
}

second!(Linear(LinearStore<Handle<V>, V>), "phalanx LinearStore", Slot, Handle<V>);
second!(Sparse(SparseSet<Handle<V>, V>), "phalanx SparseSet", Slot, Handle<V>);
second!(Secondary(SecondaryMap<DefaultKey, V>), "slotmap::SecondaryMap", SlotMapOf, DefaultKey);
second!(SparseSecondary(SparseSecondaryMap<DefaultKey, V>), "slotmap::SparseSecondaryMap", SlotMapOf, DefaultKey);
