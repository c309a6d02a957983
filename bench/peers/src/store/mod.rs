//! Stores of values under stable keys: 32 bytes each, `{ x, y, vx, vy: f64 }`; values of other sizes are in [`sizes`].
//!
//! A library is a file here with a type that implements [`Store`].

mod generational_arena;
mod limit;
mod maps;
mod phalanx;
mod sizes;
mod slab;
mod slotmap;
mod thunderdome;
mod workloads;

use crate::harness::Workload;

pub fn all() -> Vec<Workload> {
    workloads::all().into_iter().chain(sizes::all()).collect()
}

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

/// One container, empty and without room at first.
pub trait Store: Default + 'static {
    const NAME: &'static str;
    type Key: Copy + 'static;
    fn insert(&mut self, value: Body) -> Self::Key;
    fn remove(&mut self, key: Self::Key) -> Option<Body>;
    fn get(&self, key: Self::Key) -> Option<&Body>;
    fn get_mut(&mut self, key: Self::Key) -> Option<&mut Body>;
    fn for_each_mut(&mut self, f: impl FnMut(&mut Body));
}

/// A container whose functions are called as those of [`Store`], but for the name of `remove`; the closure says how to
/// walk over it.
macro_rules! store {
    ($name:ident($inner:ty), $label:expr, $key:ty, $remove:ident, |$s:ident, $f:ident| $each:expr) => {
        #[derive(Default)]
        pub struct $name($inner);

        impl crate::store::Store for $name {
            const NAME: &'static str = $label;
            type Key = $key;
            #[inline]
            fn insert(&mut self, value: crate::store::Body) -> $key {
                self.0.insert(value)
            }
            #[inline]
            fn remove(&mut self, key: $key) -> Option<crate::store::Body> {
                self.0.$remove(key)
            }
            #[inline]
            fn get(&self, key: $key) -> Option<&crate::store::Body> {
                self.0.get(key)
            }
            #[inline]
            fn get_mut(&mut self, key: $key) -> Option<&mut crate::store::Body> {
                self.0.get_mut(key)
            }
            #[inline]
            #[allow(unused_mut)]
            fn for_each_mut(&mut self, mut $f: impl FnMut(&mut crate::store::Body)) {
                let $s = &mut self.0;
                $each
            }
        }
    };
}
use store;
