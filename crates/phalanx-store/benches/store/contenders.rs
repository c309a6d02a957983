//! The containers, each behind one trait.

use phalanx_store::{Entity, EntityPool, Handle, LinearStore, PackedStore, SlotStore, SparseSet};
use std::collections::HashMap;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Body {
    pub x: f64,
    pub y: f64,
    pub vx: f64,
    pub vy: f64,
}

impl Body {
    #[inline(always)]
    pub fn new(i: usize) -> Body {
        Body { x: i as f64, y: 1.0, vx: 0.5, vy: 0.25 }
    }

    #[inline(always)]
    pub fn step(&mut self) {
        self.x += self.vx;
        self.y += self.vy;
    }
}

pub trait Contender: Default + 'static {
    const NAME: &'static str;
    type Key: Copy + 'static;
    fn insert(&mut self, v: Body) -> Self::Key;
    fn remove(&mut self, k: Self::Key) -> Option<Body>;
    fn get(&self, k: Self::Key) -> Option<&Body>;
    fn get_mut(&mut self, k: Self::Key) -> Option<&mut Body>;
    fn for_each_mut(&mut self, f: impl FnMut(&mut Body));
}

macro_rules! contender {
    ($name:ident($inner:ty), $label:literal, $key:ty, |$s:ident, $f:ident| $each:expr) => {
        #[derive(Default)]
        pub struct $name($inner);

        impl Contender for $name {
            const NAME: &'static str = $label;
            type Key = $key;
            #[inline]
            fn insert(&mut self, v: Body) -> $key {
                self.0.insert(v)
            }
            #[inline]
            fn remove(&mut self, k: $key) -> Option<Body> {
                self.0.remove(k)
            }
            #[inline]
            fn get(&self, k: $key) -> Option<&Body> {
                self.0.get(k)
            }
            #[inline]
            fn get_mut(&mut self, k: $key) -> Option<&mut Body> {
                self.0.get_mut(k)
            }
            #[inline]
            #[allow(unused_mut)]
            fn for_each_mut(&mut self, mut $f: impl FnMut(&mut Body)) {
                let $s = &mut self.0;
                $each
            }
        }
    };
}

contender!(Packed(PackedStore<Body>), "PackedStore", Handle<Body>, |s, f| s.as_mut_slice().iter_mut().for_each(f));
contender!(PackedValues(PackedStore<Body>), "PackedStore values", Handle<Body>, |s, f| s.values_mut().for_each(f));
contender!(Slot(SlotStore<Body>), "SlotStore", Handle<Body>, |s, f| s.values_mut().for_each(f));
contender!(SlotMap(slotmap::SlotMap<slotmap::DefaultKey, Body>), "SlotMap", slotmap::DefaultKey, |s, f| {
    s.values_mut().for_each(f)
});
// Its value slice is faster to iterate than its `values_mut`, which walks the keys alongside.
contender!(
    DenseSlotMap(slotmap::DenseSlotMap<slotmap::DefaultKey, Body>),
    "DenseSlotMap",
    slotmap::DefaultKey,
    |s, f| s.values_as_mut_slice().iter_mut().for_each(f)
);
contender!(Thunderdome(thunderdome::Arena<Body>), "thunderdome", thunderdome::Index, |s, f| {
    s.iter_mut().for_each(|(_, b)| f(b))
});

/// A keyed store together with the pool that makes its keys.
macro_rules! keyed {
    ($name:ident, $label:literal, $store:ident, |$s:ident, $f:ident| $each:expr) => {
        #[derive(Default)]
        pub struct $name {
            pool: EntityPool,
            store: $store<Entity, Body>,
        }

        impl Contender for $name {
            const NAME: &'static str = $label;
            type Key = Entity;
            #[inline]
            fn insert(&mut self, v: Body) -> Entity {
                let e = self.pool.alloc();
                self.store.insert(e, v);
                e
            }
            #[inline]
            fn remove(&mut self, k: Entity) -> Option<Body> {
                self.pool.release(k);
                self.store.remove(k)
            }
            #[inline]
            fn get(&self, k: Entity) -> Option<&Body> {
                self.store.get(k)
            }
            #[inline]
            fn get_mut(&mut self, k: Entity) -> Option<&mut Body> {
                self.store.get_mut(k)
            }
            #[inline]
            fn for_each_mut(&mut self, $f: impl FnMut(&mut Body)) {
                let $s = &mut self.store;
                $each
            }
        }
    };
}
keyed!(Sparse, "SparseSet", SparseSet, |s, f| s.as_mut_slice().iter_mut().for_each(f));
keyed!(SparseValues, "SparseSet values", SparseSet, |s, f| s.values_mut().for_each(f));
keyed!(Linear, "LinearStore", LinearStore, |s, f| s.values_mut().for_each(f));

/// Keys are serial numbers.
#[derive(Default)]
pub struct Map(HashMap<u64, Body>, u64);

impl Contender for Map {
    const NAME: &'static str = "HashMap";
    type Key = u64;
    #[inline]
    fn insert(&mut self, v: Body) -> u64 {
        self.1 += 1;
        self.0.insert(self.1, v);
        self.1
    }
    #[inline]
    fn remove(&mut self, k: u64) -> Option<Body> {
        self.0.remove(&k)
    }
    #[inline]
    fn get(&self, k: u64) -> Option<&Body> {
        self.0.get(&k)
    }
    #[inline]
    fn get_mut(&mut self, k: u64) -> Option<&mut Body> {
        self.0.get_mut(&k)
    }
    #[inline]
    fn for_each_mut(&mut self, f: impl FnMut(&mut Body)) {
        self.0.values_mut().for_each(f);
    }
}

/// The price of packing itself: values, the slot of each row, the row of each slot, a stack of free slots. No
/// generations. Its values are the plain `Vec<T>` that iteration is measured against.
#[derive(Default)]
pub struct HandPacked {
    values: Vec<Body>,
    slot: Vec<u32>,
    row: Vec<u32>,
    free: Vec<u32>,
}

impl Contender for HandPacked {
    const NAME: &'static str = "hand-packed";
    type Key = u32;
    #[inline]
    fn insert(&mut self, v: Body) -> u32 {
        let row = self.values.len() as u32;
        self.values.push(v);
        let slot = match self.free.pop() {
            Some(s) => {
                self.row[s as usize] = row;
                s
            }
            None => {
                self.row.push(row);
                self.row.len() as u32 - 1
            }
        };
        self.slot.push(slot);
        slot
    }
    #[inline]
    fn remove(&mut self, k: u32) -> Option<Body> {
        let r = self.row[k as usize] as usize;
        let v = self.values.swap_remove(r);
        self.slot.swap_remove(r);
        if let Some(&moved) = self.slot.get(r) {
            self.row[moved as usize] = r as u32;
        }
        self.free.push(k);
        Some(v)
    }
    #[inline]
    fn get(&self, k: u32) -> Option<&Body> {
        self.values.get(*self.row.get(k as usize)? as usize)
    }
    #[inline]
    fn get_mut(&mut self, k: u32) -> Option<&mut Body> {
        self.values.get_mut(*self.row.get(k as usize)? as usize)
    }
    #[inline]
    fn for_each_mut(&mut self, f: impl FnMut(&mut Body)) {
        self.values.iter_mut().for_each(f);
    }
}
