//! Stores written by hand. Which of them is the limit depends on the workload: values that never move are quickest to
//! find, values side by side quickest to walk over.

use super::{Body, Store};
use crate::harness::{HAND_PACKED, LIMIT};

/// Values at their slots, which never move, and a stack of free ones. No generations.
#[derive(Default)]
pub struct Slots {
    values: Vec<Body>,
    free: Vec<u32>,
}

impl Store for Slots {
    const NAME: &'static str = LIMIT;
    type Key = u32;

    #[inline]
    fn insert(&mut self, value: Body) -> u32 {
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
    fn remove(&mut self, key: u32) -> Option<Body> {
        self.free.push(key);
        self.values.get(key as usize).copied()
    }

    #[inline]
    fn get(&self, key: u32) -> Option<&Body> {
        self.values.get(key as usize)
    }

    #[inline]
    fn get_mut(&mut self, key: u32) -> Option<&mut Body> {
        self.values.get_mut(key as usize)
    }

    /// All slots, when all are in use, as they are whenever this is timed; otherwise it finds out which.
    fn for_each_mut(&mut self, mut f: impl FnMut(&mut Body)) {
        if self.free.is_empty() {
            return self.values.iter_mut().for_each(f);
        }
        let mut dead = vec![false; self.values.len()];
        self.free.iter().for_each(|key| dead[*key as usize] = true);
        self.values.iter_mut().zip(dead).filter(|(_, dead)| !dead).for_each(|(value, _)| f(value));
    }
}

/// Values side by side, the slot of each row, the row of each slot, a stack of free slots; removal swaps the last row
/// in. No generations.
#[derive(Default)]
pub struct Packed<const IS_LIMIT: bool> {
    values: Vec<Body>,
    slot: Vec<u32>,
    row: Vec<u32>,
    free: Vec<u32>,
}

impl<const IS_LIMIT: bool> Store for Packed<IS_LIMIT> {
    const NAME: &'static str = if IS_LIMIT { LIMIT } else { HAND_PACKED };
    type Key = u32;

    #[inline]
    fn insert(&mut self, value: Body) -> u32 {
        let row = self.values.len() as u32;
        self.values.push(value);
        let slot = match self.free.pop() {
            Some(slot) => {
                self.row[slot as usize] = row;
                slot
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
    fn remove(&mut self, key: u32) -> Option<Body> {
        let row = self.row[key as usize] as usize;
        let value = self.values.swap_remove(row);
        self.slot.swap_remove(row);
        if let Some(&moved) = self.slot.get(row) {
            self.row[moved as usize] = row as u32;
        }
        self.free.push(key);
        Some(value)
    }

    #[inline]
    fn get(&self, key: u32) -> Option<&Body> {
        self.values.get(*self.row.get(key as usize)? as usize)
    }

    #[inline]
    fn get_mut(&mut self, key: u32) -> Option<&mut Body> {
        self.values.get_mut(*self.row.get(key as usize)? as usize)
    }

    #[inline]
    fn for_each_mut(&mut self, f: impl FnMut(&mut Body)) {
        self.values.iter_mut().for_each(f);
    }
}
