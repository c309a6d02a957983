//! [`MemberIter`]: the members of a group, taken from both ends.

use super::{GroupSpec, Members, Parts};
use crate::bundle::Bundle as _;
use core::ops::Range;

/// The positions of members. Each comes with where its values are, and with whether they are all at the member's position.
///
/// Members are often in the order of a sparse set that the group does not own, or begin so. Members at the same positions there
/// need no look-up. From the front this is tested in blocks, until one differs. From the back all members are looked up.
pub(super) struct MemberIter<'w, S: GroupSpec> {
    /// The values and the members, without a test.
    parts: Parts<'w, S>,
    /// Where the values of the block at the front are.
    block: Parts<'w, S>,
    next: usize,
    /// The end of the block, which is not after that of the members to come.
    block_end: usize,
    end: usize,
}

impl<'w, S: GroupSpec> MemberIter<'w, S> {
    /// Whether there are sparse sets that the group does not own.
    const HAS_BLOCKS: bool = S::Observed::LEN > 0;
    /// In smaller groups a test costs more than it saves.
    const LEAST: usize = 256;
    /// The greatest length of a block. A test has at most as many members as were visited, or 64.
    const MOST: usize = 1024;

    #[inline(always)]
    pub(super) fn new(parts: Parts<'w, S>) -> Self {
        let end = parts.slots.len();
        let block_end = if Self::HAS_BLOCKS && end >= Self::LEAST { 0 } else { end };
        MemberIter { parts, block: parts, next: 0, block_end, end }
    }

    /// Begins the next block. Returns `false` if there is none.
    #[inline(always)]
    fn begin_block(&mut self) -> bool {
        if !Self::HAS_BLOCKS || self.next == self.end {
            return false;
        }
        self.block_end = self.end.min(self.next + self.next.clamp(64, Self::MOST));
        self.block.observed = align::<S>(self.block, self.next, self.block_end);
        if !S::Observed::is_aligned::<false>(self.block.observed) {
            self.block_end = self.end;
        }
        true
    }
}

/// Tests the members of a block.
// Out of line, and called with a copy: so a loop over members keeps the iterator in registers.
#[inline(never)]
fn align<'w, S: GroupSpec>(parts: Parts<'w, S>, first: usize, end: usize) -> <S::Observed as Members>::Found<'w> {
    S::Observed::align(parts.observed, &parts.slots[first..end], first)
}

impl<'w, S: GroupSpec> Iterator for MemberIter<'w, S> {
    type Item = (Parts<'w, S>, usize, bool);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.next == self.block_end && !self.begin_block() {
            return None;
        }
        self.next += 1;
        Some((self.block, self.next - 1, !Self::HAS_BLOCKS))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.end - self.next, Some(self.end - self.next))
    }

    #[inline(always)]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(mut self, init: B, mut f: F) -> B {
        if !Self::HAS_BLOCKS {
            return (self.next..self.end).fold(init, |acc, at| f(acc, (self.parts, at, true)));
        }
        let mut acc = init;
        loop {
            acc = fold_block(self.block, self.next..self.block_end, acc, &mut f);
            self.next = self.block_end;
            if !self.begin_block() {
                return acc;
            }
        }
    }
}

/// Calls `f` with the members of a block.
// Out of line, so that the loop has all registers, and the compiler makes one for each way to find the values.
#[inline(never)]
fn fold_block<'w, S: GroupSpec, B>(
    block: Parts<'w, S>,
    members: Range<usize>,
    init: B,
    f: &mut impl FnMut(B, (Parts<'w, S>, usize, bool)) -> B,
) -> B {
    match S::Observed::is_aligned::<true>(block.observed) {
        true => members.fold(init, |acc, at| f(acc, (block, at, true))),
        false => members.fold(init, |acc, at| f(acc, (block, at, false))),
    }
}

impl<S: GroupSpec> DoubleEndedIterator for MemberIter<'_, S> {
    #[inline(always)]
    fn next_back(&mut self) -> Option<Self::Item> {
        self.end = (self.next < self.end).then(|| self.end - 1)?;
        self.block_end = self.block_end.min(self.end);
        Some((self.parts, self.end, !Self::HAS_BLOCKS))
    }
}

impl<S: GroupSpec> ExactSizeIterator for MemberIter<'_, S> {}
