//! Hash maps, whose keys are serial numbers.

use super::{Body, Store};

macro_rules! map {
    ($name:ident($map:ty), $label:literal, $remove:ident) => {
        #[derive(Default)]
        pub struct $name($map, u64);

        impl Store for $name {
            const NAME: &'static str = $label;
            type Key = u64;
            #[inline]
            fn insert(&mut self, value: Body) -> u64 {
                self.1 += 1;
                self.0.insert(self.1, value);
                self.1
            }
            #[inline]
            fn remove(&mut self, key: u64) -> Option<Body> {
                self.0.$remove(&key)
            }
            #[inline]
            fn get(&self, key: u64) -> Option<&Body> {
                self.0.get(&key)
            }
            #[inline]
            fn get_mut(&mut self, key: u64) -> Option<&mut Body> {
                self.0.get_mut(&key)
            }
            #[inline]
            fn for_each_mut(&mut self, f: impl FnMut(&mut Body)) {
                self.0.values_mut().for_each(f);
            }
        }
    };
}

map!(Std(std::collections::HashMap<u64, Body>), "std HashMap", remove);
map!(Fx(rustc_hash::FxHashMap<u64, Body>), "FxHashMap", remove);
map!(Brown(hashbrown::HashMap<u64, Body>), "hashbrown (foldhash)", remove);
map!(Index(indexmap::IndexMap<u64, Body, rustc_hash::FxBuildHasher>), "IndexMap (Fx)", swap_remove);
