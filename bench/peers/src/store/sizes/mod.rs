//! The same containers with values of 4, 16, 32 and 128 bytes, at three counts, and the operations on a whole container:
//! `retain`, `drain`, `clear`, `clone`. A second container is looked up by the keys of a first.
//!
//! A library is an `impl` of [`Container`], and of [`Second`] if it has a container that follows keys.

mod libraries;
mod limit;
mod workloads;

pub use workloads::all;

/// A value that is told apart by a number.
pub trait Value: Copy + 'static {
    fn new(i: usize) -> Self;
    fn number(&self) -> u64;
}

impl Value for u32 {
    #[inline(always)]
    fn new(i: usize) -> u32 {
        i as u32
    }

    #[inline(always)]
    fn number(&self) -> u64 {
        u64::from(*self)
    }
}

impl<const N: usize> Value for [u64; N] {
    #[inline(always)]
    fn new(i: usize) -> [u64; N] {
        [i as u64; N]
    }

    #[inline(always)]
    fn number(&self) -> u64 {
        self[0]
    }
}

/// One container, empty and without capacity at first.
pub trait Container<V: Value>: Default + Clone + 'static {
    const NAME: &'static str;
    type Key: Copy + 'static;
    fn insert(&mut self, value: V) -> Self::Key;
    fn remove(&mut self, key: Self::Key) -> Option<V>;
    fn get(&self, key: Self::Key) -> Option<&V>;
    fn for_each(&mut self, f: impl FnMut(&mut V));
    fn retain(&mut self, keep: impl FnMut(&mut V) -> bool);
    /// Removes all values, one after the other.
    fn drain(&mut self, f: impl FnMut(V));
    fn clear(&mut self);
}

/// A container whose keys are made by another one.
pub trait Second<V: Value>: Default + 'static {
    const NAME: &'static str;
    type First: Container<V>;
    fn insert(&mut self, key: <Self::First as Container<V>>::Key, value: V);
    fn remove(&mut self, key: <Self::First as Container<V>>::Key) -> Option<V>;
    fn get(&self, key: <Self::First as Container<V>>::Key) -> Option<&V>;
}
