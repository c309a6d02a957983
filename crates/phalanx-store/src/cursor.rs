//! Cursors: the occupied positions of a container, in order, and the key of each.
//!
//! A cursor knows nothing of values. The iterators of [`iter`](crate::iter) put the two together, once for all
//! containers.
#![allow(unsafe_code)]

use crate::Key;
use crate::raw::DenseIndex;
use core::marker::PhantomData;
use core::ops::Range;

/// An iterator over the occupied positions of a container. Sealed.
///
/// # Safety
///
/// Every position is occupied, and none is returned twice.
pub unsafe trait Cursor: Clone + sealed::Sealed {
    /// The key that names a position.
    type Key: Key;
    /// Returns the next position.
    fn next(&mut self) -> Option<u32>;
    /// Returns the last position that was not returned.
    fn next_back(&mut self) -> Option<u32>;
    /// Returns the number of positions that are left.
    fn remaining(&self) -> usize;
    /// Returns the key of a position.
    ///
    /// # Safety
    ///
    /// This cursor returned the position.
    unsafe fn key(&self, position: u32) -> Self::Key;
    /// Folds all positions that are left, in a loop without tests where the container has no gaps.
    fn fold<B>(self, init: B, f: impl FnMut(B, u32) -> B) -> B;
}

mod sealed {
    pub trait Sealed {}
    impl<X: crate::raw::DenseIndex> Sealed for super::DenseCursor<'_, X> {}
    impl<K> Sealed for super::BitCursor<'_, K> {}
}

/// A cursor over a dense container, by runs between holes.
#[derive(Debug)]
pub struct DenseCursor<'a, X: DenseIndex> {
    index: &'a X,
    dense_keys: &'a [X::DenseKey],
    /// Positions known not to be holes.
    run: Range<u32>,
    /// Positions above the run, not tested yet.
    rest: Range<u32>,
    left: u32,
}

impl<'a, X: DenseIndex> DenseCursor<'a, X> {
    pub(crate) fn new(index: &'a X, dense_keys: &'a [X::DenseKey], holes: u32) -> Self {
        let len = dense_keys.len() as u32;
        let (run, rest) = if holes == 0 { (0..len, len..len) } else { (0..0, 0..len) };
        DenseCursor { index, dense_keys, run, rest, left: len - holes }
    }

    /// Finds the next run. Returns `false` if there is none.
    pub(crate) fn advance(&mut self) -> bool {
        let dense_keys = &self.dense_keys[self.rest.start as usize..self.rest.end as usize];
        let Some(skip) = dense_keys.iter().position(|m| !X::is_hole(*m)) else {
            self.rest.start = self.rest.end;
            return false;
        };
        let dense_keys = &dense_keys[skip..];
        let len = dense_keys.iter().position(|m| X::is_hole(*m)).unwrap_or(dense_keys.len());
        let start = self.rest.start + skip as u32;
        self.run = start..start + len as u32;
        self.rest.start = self.run.end;
        true
    }

    /// Returns the next whole run of positions between holes.
    pub(crate) fn next_run(&mut self) -> Option<Range<u32>> {
        if self.run.is_empty() && !self.advance() {
            return None;
        }
        let run = core::mem::replace(&mut self.run, 0..0);
        self.left -= run.end - run.start;
        Some(run)
    }
}

impl<X: DenseIndex> Clone for DenseCursor<'_, X> {
    fn clone(&self) -> Self {
        DenseCursor { run: self.run.clone(), rest: self.rest.clone(), ..*self }
    }
}

// SAFETY: each position is in one range, which is returned once, and holes are left out.
unsafe impl<X: DenseIndex> Cursor for DenseCursor<'_, X> {
    type Key = X::Key;

    #[inline(always)]
    fn next(&mut self) -> Option<u32> {
        if self.run.start >= self.run.end && !self.advance() {
            return None;
        }
        let at = self.run.start;
        self.run.start = at + 1;
        self.left -= 1;
        Some(at)
    }

    fn next_back(&mut self) -> Option<u32> {
        while self.rest.start < self.rest.end {
            self.rest.end -= 1;
            if !X::is_hole(self.dense_keys[self.rest.end as usize]) {
                self.left -= 1;
                return Some(self.rest.end);
            }
        }
        if self.run.is_empty() {
            return None;
        }
        self.run.end -= 1;
        self.left -= 1;
        Some(self.run.end)
    }

    #[inline(always)]
    fn remaining(&self) -> usize {
        self.left as usize
    }

    #[inline(always)]
    unsafe fn key(&self, position: u32) -> X::Key {
        // SAFETY: a position of this cursor is below the number of keys and not a hole, so its key is alive in the index.
        unsafe { self.index.key(*self.dense_keys.get_unchecked(position as usize)) }
    }

    #[inline(always)]
    fn fold<B>(mut self, init: B, mut f: impl FnMut(B, u32) -> B) -> B {
        let mut acc = init;
        loop {
            for at in self.run.clone() {
                acc = f(acc, at);
            }
            if self.rest.is_empty() || !self.advance() {
                return acc;
            }
        }
    }
}

/// A cursor over the set bits of a bitmask, 64 at a time.
#[derive(Debug)]
pub struct BitCursor<'a, K> {
    bits: &'a [u64],
    words: &'a [u32],
    front: usize,
    /// The bits of `bits[front]` that are left from the front.
    front_bits: u64,
    /// The last word that is not yet exhausted from the back.
    back: usize,
    back_bits: u64,
    left: u32,
    keys: PhantomData<fn() -> K>,
}

impl<'a, K> BitCursor<'a, K> {
    /// Creates a cursor over these bits, of which `left` are set. `words` are the generations.
    pub(crate) fn new(bits: &'a [u64], words: &'a [u32], left: u32) -> Self {
        let bits = if bits.is_empty() { &[0] } else { bits };
        let back = bits.len() - 1;
        let (front_bits, back_bits) = (bits[0], bits[back]);
        BitCursor { bits, words, front: 0, front_bits, back, back_bits, left, keys: PhantomData }
    }
}

impl<K> Clone for BitCursor<'_, K> {
    fn clone(&self) -> Self {
        BitCursor { ..*self }
    }
}

// SAFETY: every position is a set bit, and is cleared from what is left, on the side from which it was returned; the two
// sides meet in one word, where both masks count.
unsafe impl<K: Key> Cursor for BitCursor<'_, K> {
    type Key = K;

    #[inline(always)]
    fn next(&mut self) -> Option<u32> {
        loop {
            let bits = if self.front == self.back { self.front_bits & self.back_bits } else { self.front_bits };
            if bits != 0 {
                self.front_bits = bits & (bits - 1);
                self.left -= 1;
                return Some(self.front as u32 * 64 + bits.trailing_zeros());
            }
            if self.front == self.back {
                self.front_bits = 0;
                return None;
            }
            self.front += 1;
            self.front_bits = self.bits[self.front];
        }
    }

    fn next_back(&mut self) -> Option<u32> {
        loop {
            let bits = if self.front == self.back { self.front_bits & self.back_bits } else { self.back_bits };
            if bits != 0 {
                let top = 63 - bits.leading_zeros();
                self.back_bits = bits & !(1 << top);
                self.left -= 1;
                return Some(self.back as u32 * 64 + top);
            }
            if self.front == self.back {
                self.back_bits = 0;
                return None;
            }
            self.back -= 1;
            self.back_bits = self.bits[self.back];
        }
    }

    #[inline(always)]
    fn remaining(&self) -> usize {
        self.left as usize
    }

    #[inline(always)]
    unsafe fn key(&self, position: u32) -> K {
        // SAFETY: a position of this cursor is an occupied slot, so it has a word, which is its key's generation.
        unsafe { K::from_parts(position, *self.words.get_unchecked(position as usize)) }
    }

    #[inline(always)]
    fn fold<B>(self, init: B, mut f: impl FnMut(B, u32) -> B) -> B {
        let mut acc = init;
        let mut at = self.front;
        while at <= self.back {
            let mut bits = if at == self.front { self.front_bits } else { self.bits[at] };
            if at == self.back {
                bits &= self.back_bits;
            }
            if bits == u64::MAX {
                // A run of full words is one loop, like one over a slice.
                let start = at;
                at += 1;
                while at < self.back && self.bits[at] == u64::MAX {
                    at += 1;
                }
                for position in start as u32 * 64..at as u32 * 64 {
                    acc = f(acc, position);
                }
            } else {
                while bits != 0 {
                    acc = f(acc, at as u32 * 64 + bits.trailing_zeros());
                    bits &= bits - 1;
                }
                at += 1;
            }
        }
        acc
    }
}
