//! All that a slot has, gone with the slot: the short way, where nobody looks on.
//!
//! A value is *plain* if nothing has to be known of its going: no group names its component, it needs no end, it is not
//! tracked as a whole, and its pool closes gaps by swapping. The last value of the pool is copied over it then; it is
//! neither kept nor listed. The others are taken the usual way.
#![allow(unsafe_code)]

use super::{Removal, SparseStorage, SparseStorages, Store};
use crate::prefetch::prefetch;
use phalanx_store::Entity;

impl SparseStorage {
    /// Whether values go without anything having to be known of it.
    pub(super) fn finds_plain(&self) -> bool {
        let by_swap = match &self.store {
            Store::Pool(pool) => pool.removal == Removal::Swap,
            Store::Linear(_) => true,
        };
        by_swap && self.is_alone() && !self.watched && !self.values().needs_drop()
    }

    /// Finds out whether they do: to be called when groups that name the side, or the way of removal, have changed.
    pub(super) fn settle(&mut self) {
        self.plain = self.finds_plain();
    }
}

/// From so many slots on the indices of pools are not expected to lie in a near cache.
pub(super) const FAR: u32 = 1 << 16;

impl SparseStorages {
    /// Changes the way of removal of a pool.
    pub(crate) fn set_removal(&mut self, side: u32, removal: Removal) {
        let side = &mut *self.list[side as usize];
        side.pool_mut().removal = removal;
        side.settle();
    }

    /// Announces to the processor what [`end_all`](SparseStorages::end_all) is going to read. Which pools that is, is known when the mask
    /// was read: here it is guessed, so that the wait for the mask and for the indices of pools is one.
    #[inline(always)]
    pub(crate) fn prefetch_despawn(&self, slot: u32) {
        if self.covered >= FAR {
            self.announce_far(slot);
        }
    }

    #[inline]
    fn announce_far(&self, slot: u32) {
        prefetch(self.masks.ptr().wrapping_add((slot as usize).wrapping_mul(self.stride as usize)));
        let mut bits = self.likely;
        while bits != 0 {
            if let Store::Pool(pool) = &self.get(self.pool_of_bit(bits.trailing_zeros())).store {
                let (index, marks) = (pool.dense.index(), pool.dense.keys());
                prefetch(index.address(slot));
                // The one that is going to be moved.
                if let Some(last) = marks.and_then(<[Entity]>::last) {
                    prefetch(index.address(last.index()));
                }
            }
            bits &= bits - 1;
        }
    }

    /// As [`take_all`](SparseStorages::take_all), where nobody is to see what was taken: only values that need an end are sure to be
    /// listed in `displaced_values`.
    #[inline]
    pub(crate) fn end_all(&mut self, slot: Entity) {
        let start = self.displaced_values.len();
        if !self.linear.is_empty() {
            self.end_linear(slot);
        }
        let index = slot.index();
        if index >= self.covered {
            return self.sort_retired(start);
        }
        for word in 0..self.stride {
            // Copied: taking values the usual way changes the word.
            // SAFETY: the word is less than the stride.
            let mut bits = unsafe { self.word(index, word) };
            if bits == 0 {
                continue;
            }
            if word == 0 {
                self.likely = bits;
            }
            while bits != 0 {
                let number = self.by_bit[(word * 64 + bits.trailing_zeros()) as usize];
                bits &= bits - 1;
                let side = &mut *self.list[number as usize];
                if side.plain
                    && let Store::Pool(pool) = &mut side.store
                    // SAFETY: the slot is in the pool, as its mask says; the pool closes gaps by swapping, and its values
                    // need no end.
                    && unsafe { pool.forget(slot) }
                {
                    side.gone[1] += 1;
                } else {
                    self.take_usual(slot, number);
                }
            }
            // What is plain concerns no group, so that nobody has asked for these bits since.
            // SAFETY: covered slots have their words.
            unsafe { self.masks.at(index * self.stride + word).write(0) };
        }
        self.sort_retired(start);
    }

    /// By itself: it would be in the way of what is plain.
    #[inline(never)]
    fn take_usual(&mut self, slot: Entity, number: u32) {
        self.take(slot, number, true);
    }

    /// As [`end_all`](SparseStorages::end_all), of linear stores.
    #[inline(never)]
    fn end_linear(&mut self, slot: Entity) {
        for at in 0..self.linear.len() {
            let number = self.linear[at];
            let side = &mut *self.list[number as usize];
            if !side.plain {
                self.take(slot, number, true);
                continue;
            }
            if let Store::Linear(linear) = &mut side.store
                && linear.take(slot).is_some()
            {
                side.gone[1] += 1;
            }
        }
    }
}
