//! Stores written by hand, without generations: values at their slots with a stack of free ones, and a plain vector for
//! what is done to all values.

use super::{Container, Second, Value};
use crate::harness::LIMIT;

#[derive(Clone)]
pub struct Slots<V> {
    values: Vec<V>,
    free: Vec<u32>,
}

impl<V> Default for Slots<V> {
    fn default() -> Self {
        Slots { values: Vec::new(), free: Vec::new() }
    }
}

impl<V: Value> Slots<V> {
    #[inline]
    fn all(&mut self) -> &mut [V] {
        assert!(self.free.is_empty(), "only timed while all slots are in use");
        &mut self.values
    }
}

impl<V: Value> Container<V> for Slots<V> {
    const NAME: &'static str = LIMIT;
    type Key = u32;

    #[inline]
    fn insert(&mut self, value: V) -> u32 {
        match self.free.pop() {
            Some(key) => {
                self.values[key as usize] = value;
                key
            }
            None => {
                self.values.push(value);
                self.values.len() as u32 - 1
            }
        }
    }

    #[inline]
    fn remove(&mut self, key: u32) -> Option<V> {
        self.free.push(key);
        self.values.get(key as usize).copied()
    }

    #[inline]
    fn get(&self, key: u32) -> Option<&V> {
        self.values.get(key as usize)
    }

    #[inline]
    fn for_each(&mut self, f: impl FnMut(&mut V)) {
        self.all().iter_mut().for_each(f);
    }

    /// As a vector does, which has no keys to keep.
    #[inline]
    fn retain(&mut self, keep: impl FnMut(&mut V) -> bool) {
        self.values.retain_mut(keep);
    }

    #[inline]
    fn drain(&mut self, mut f: impl FnMut(V)) {
        for value in self.values.drain(..) {
            f(value);
        }
    }

    #[inline]
    fn clear(&mut self) {
        self.values.clear();
    }
}

/// A vector by slot.
pub struct Following<V>(Vec<Option<V>>);

impl<V> Default for Following<V> {
    fn default() -> Self {
        Following(Vec::new())
    }
}

impl<V: Value> Second<V> for Following<V> {
    const NAME: &'static str = LIMIT;
    type First = Slots<V>;

    #[inline]
    fn insert(&mut self, key: u32, value: V) {
        let key = key as usize;
        if key >= self.0.len() {
            self.0.resize(key + 1, None);
        }
        self.0[key] = Some(value);
    }

    #[inline]
    fn remove(&mut self, key: u32) -> Option<V> {
        self.0.get_mut(key as usize)?.take()
    }

    #[inline]
    fn get(&self, key: u32) -> Option<&V> {
        self.0.get(key as usize)?.as_ref()
    }
}
