//! The values that the containers are filled with: counted, large, zero-sized, plain.

use core::fmt::Debug;
use phalanx_testkit::{Align64, Counted, Tally, Zst};

/// A value that stands for a number.
pub trait Item: Clone + Debug + 'static {
    /// Whether the tally counts it.
    const COUNTED: bool = true;
    fn make(tally: &Tally, n: u32) -> Self;
    /// The number that it stands for.
    fn n(&self) -> u32;
    fn set(&mut self, n: u32);
    /// What is left of a number in such a value.
    fn seen(n: u32) -> u32 {
        n
    }
}

impl Item for Counted {
    fn make(tally: &Tally, n: u32) -> Self {
        tally.value(n)
    }
    fn n(&self) -> u32 {
        self.key()
    }
    fn set(&mut self, n: u32) {
        self.set_key(n);
    }
}

/// More than four cache lines, the number in every word.
#[derive(Clone, Debug)]
pub struct Large {
    words: [u64; 37],
    value: Counted,
}

impl Item for Large {
    fn make(tally: &Tally, n: u32) -> Self {
        Large { words: [n.into(); 37], value: tally.value(n) }
    }
    fn n(&self) -> u32 {
        let n = self.value.key();
        assert!(self.words.iter().all(|word| *word == u64::from(n)), "a value was torn: {:?}", self.words);
        n
    }
    fn set(&mut self, n: u32) {
        self.words = [n.into(); 37];
        self.value.set_key(n);
    }
}

/// Nothing at an address that must be aligned. The thread counts them.
impl Item for Zst<Align64> {
    const COUNTED: bool = false;
    fn make(_: &Tally, _: u32) -> Self {
        Zst::new()
    }
    fn n(&self) -> u32 {
        self.touch();
        0
    }
    fn set(&mut self, _: u32) {
        self.touch();
    }
    fn seen(_: u32) -> u32 {
        0
    }
}

/// A byte, which needs no drop.
impl Item for u8 {
    const COUNTED: bool = false;
    fn make(_: &Tally, n: u32) -> Self {
        n as u8
    }
    fn n(&self) -> u32 {
        (*self).into()
    }
    fn set(&mut self, n: u32) {
        *self = n as u8;
    }
    fn seen(n: u32) -> u32 {
        n & 0xff
    }
}
