//! Walking over what a container holds: positions in order, and the key of each.
//!
//! A cursor knows nothing of values; the iterators of [`iter`](crate::iter) put the two together, once for all
//! containers.
#![allow(unsafe_code)]

use crate::Key;
use crate::raw::DenseIndex;
use core::marker::PhantomData;
use core::ops::Range;

/// A walk over the occupied positions of a container. Sealed.
///
/// # Safety
///
/// Every position is occupied, and none is returned twice.
pub unsafe trait Cursor: Clone + sealed::Sealed {
    /// What names a position.
    type Key: Key;
    /// The next position.
    fn next(&mut self) -> Option<u32>;
    /// The last position that was not returned.
    fn next_back(&mut self) -> Option<u32>;
    /// How many are left.
    fn remaining(&self) -> usize;
    /// The key of a position.
    ///
    /// # Safety
    ///
    /// This cursor returned the position.
    unsafe fn key(&self, position: u32) -> Self::Key;
    /// All that are left, in a loop without tests where the container has none to make.
    fn fold<B>(self, init: B, f: impl FnMut(B, u32) -> B) -> B;
}

mod sealed {
    pub trait Sealed {}
    impl<X: crate::raw::DenseIndex> Sealed for super::DenseCursor<'_, X> {}
    impl<K> Sealed for super::BitCursor<'_, K> {}
}

/// Over the positions of a dense container: runs between holes, one run where there are none.
#[derive(Debug)]
pub struct DenseCursor<'a, X: DenseIndex> {
    index: &'a X,
    marks: &'a [X::Mark],
    /// Positions known to be no holes.
    run: Range<u32>,
    /// Positions not yet looked at, above the run.
    rest: Range<u32>,
    left: u32,
}

impl<'a, X: DenseIndex> DenseCursor<'a, X> {
    pub(crate) fn new(index: &'a X, marks: &'a [X::Mark], holes: u32) -> Self {
        let len = marks.len() as u32;
        let (run, rest) = if holes == 0 { (0..len, len..len) } else { (0..0, 0..len) };
        DenseCursor { index, marks, run, rest, left: len - holes }
    }

    /// Finds the next run; false if there is none.
    pub(crate) fn advance(&mut self) -> bool {
        let marks = &self.marks[self.rest.start as usize..self.rest.end as usize];
        let Some(skip) = marks.iter().position(|m| !X::is_hole(*m)) else {
            self.rest.start = self.rest.end;
            return false;
        };
        let marks = &marks[skip..];
        let len = marks.iter().position(|m| X::is_hole(*m)).unwrap_or(marks.len());
        let start = self.rest.start + skip as u32;
        self.run = start..start + len as u32;
        self.rest.start = self.run.end;
        true
    }

    /// The next run of positions without a hole, taken whole.
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

// SAFETY: positions come from ranges that are handed out once, and holes are left out.
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
            if !X::is_hole(self.marks[self.rest.end as usize]) {
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
        // SAFETY: a position of this cursor is below the number of marks and no hole, so its mark is alive in the index.
        unsafe { self.index.key(*self.marks.get_unchecked(position as usize)) }
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

/// Over the set bits of a bitmask, 64 at a time.
#[derive(Debug)]
pub struct BitCursor<'a, K> {
    bits: &'a [u64],
    words: &'a [u32],
    front: usize,
    /// What is left of `bits[front]` from the front.
    front_bits: u64,
    /// The last word that is not yet exhausted from the back.
    back: usize,
    back_bits: u64,
    left: u32,
    keys: PhantomData<fn() -> K>,
}

impl<'a, K> BitCursor<'a, K> {
    /// Over these bits, of which `left` are set; `words` are the generations.
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
                // A run of full words is one loop, as over a slice.
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
