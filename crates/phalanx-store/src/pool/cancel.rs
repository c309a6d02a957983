//! Cancels reservations. The representation is described in the parent module.
#![allow(unsafe_code)]

use super::{EntityPool, Slot};
use crate::AllocError;
use crate::generation::{self, MAX_SLOTS};
use alloc::vec::Vec;
use core::ops::Range;

impl<P: Copy> EntityPool<P> {
    /// Reserves several entities through a shared reference, and returns their numbers. No entities are reserved before.
    ///
    /// The entity with the number `n` is [`nth_entity(n)`](EntityPool::nth_entity). There are fewer numbers than `count` if not
    /// as many indices are left.
    pub fn reserve_numbers(&self, count: u32) -> Range<u32> {
        let limit = self.free_len.saturating_add(MAX_SLOTS - self.slots - self.pending);
        let count = count.min(limit.saturating_sub(self.reserved.now()));
        let start = self.reserved.raise(count, limit).unwrap_or(limit);
        start..start.saturating_add(count).min(limit)
    }

    /// Cancels reservations by their numbers, which are ascending and do not overlap. The others stay reserved.
    ///
    /// The first reservation since the last [flush](EntityPool::flush) has the number 0. A slot whose reservation is canceled
    /// is free as before, in the same order. New slots below one that stays reserved become free.
    ///
    /// ```
    /// use phalanx_store::EntityPool;
    ///
    /// let mut pool = EntityPool::new();
    /// let reserved: Vec<_> = (0..4).map(|_| pool.reserve_entity()).collect();
    /// pool.try_cancel(&[1..3]).unwrap();
    /// assert!(pool.flush().eq([reserved[0], reserved[3]]));
    /// assert_eq!([pool.alloc(), pool.alloc()], [reserved[1], reserved[2]]);
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::OutOfMemory`] if memory for new slots cannot be allocated. All entities stay reserved then.
    ///
    /// # Panics
    ///
    /// Panics if the numbers are not ascending, or if as many entities are not reserved.
    pub fn try_cancel(&mut self, canceled: &[Range<u32>]) -> Result<(), AllocError> {
        let reserved = self.reserved.get();
        let starts = canceled.iter().map(|range| range.start).skip(1).chain([reserved]);
        assert!(
            self.pending == 0
                && canceled.iter().zip(starts).all(|(range, next)| range.start <= range.end && range.end <= next),
            "numbers that are not ascending, or not reserved"
        );
        let count: u32 = canceled.iter().map(|range| range.end - range.start).sum();
        let kept = reserved - count;
        // The number after the last that stays reserved.
        let end = canceled.iter().rev().fold(reserved, |end, range| if range.end == end { range.start } else { end });
        if end == kept {
            self.reserved.set(kept);
            return Ok(());
        }
        // Slots up to the last that stays reserved are created. Then all reserved slots are in the free list.
        let fresh = end.saturating_sub(self.free_len);
        let mut order: Vec<u32> = Vec::new();
        let memory = AllocError::OutOfMemory { bytes: end as usize * size_of::<u32>(), align: align_of::<u32>() };
        order.try_reserve_exact(end as usize).map_err(|_| memory)?;
        self.try_grow(fresh)?;
        self.touch();
        let index_of = |number| match self.nth_index(number) {
            Some(index) => index,
            None => unreachable!("reserved numbers have indices"),
        };
        let mut next = 0;
        for range in canceled.iter().chain([&(end..end)]).take_while(|range| range.start <= end) {
            order.extend((next..range.start).map(index_of));
            next = range.end;
        }
        order.extend(canceled.iter().cloned().flatten().take_while(|number| *number < end).map(index_of));
        for index in self.slots..self.slots + fresh {
            // SAFETY: the pool has grown by `fresh` slots.
            unsafe { self.words.at(index).write(Slot { word: generation::DEAD, payload: self.default }) };
        }
        self.slots += fresh;
        self.free_len += fresh;
        for (number, index) in (0..end).zip(order) {
            // SAFETY: the free list has capacity for all slots, and `end` is at most its new length. Each slot among the first
            // `end` numbers is written once.
            unsafe { self.free.at(self.free_len - 1 - number).write(index) };
        }
        self.reserved.set(kept);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Entity;

    /// Canceling against a pool in which only the kept entities are reserved, one by one.
    #[test]
    fn canceled_slots_are_free_in_the_same_order() {
        for (free, fresh) in [(0, 3), (5, 0), (5, 4), (12, 9)] {
            for pattern in 0..1u32 << 10 {
                let mut pool = EntityPool::new();
                let all: Vec<Entity> = pool.alloc_many(free + 3).collect();
                pool.release_many(all[3..].iter().copied());
                let expected: Vec<Entity> = (0..40).filter_map(|n| pool.nth_entity(n)).collect();
                let count = (free + fresh).min(10) as u32;
                let handles: Vec<Entity> = (0..count).map(|_| pool.reserve_entity()).collect();
                assert_eq!(handles, expected[..count as usize]);
                let canceled: Vec<Range<u32>> =
                    (0..count).filter(|n| pattern >> n & 1 == 1).map(|n| n..n + 1).collect();
                pool.try_cancel(&canceled).unwrap();
                pool.validate().unwrap();
                let is_kept = |n: &usize| *n >= 10 || pattern >> n & 1 == 0;
                let kept: Vec<Entity> = (0..count as usize).filter(is_kept).map(|n| expected[n]).collect();
                let mut alive: Vec<Entity> = pool.flush().collect();
                alive.sort_by_key(|entity| expected.iter().position(|other| other == entity));
                assert_eq!(alive, kept);
                pool.validate().unwrap();
                let rest: Vec<Entity> = expected.iter().copied().filter(|entity| !kept.contains(entity)).collect();
                let next: Vec<Entity> = (0..rest.len()).map(|_| pool.alloc()).collect();
                assert_eq!(next, rest, "free {free} fresh {fresh} pattern {pattern:b}");
            }
        }
    }

    #[test]
    fn numbers_are_those_of_reservations() {
        let mut pool = EntityPool::new();
        let all: Vec<Entity> = pool.alloc_many(4).collect();
        pool.release(all[1]);
        assert_eq!(pool.reserve_numbers(3), 0..3);
        let expected = pool.nth_entity(3).unwrap();
        assert_eq!(pool.reserve_entity(), expected);
        pool.try_cancel(&[0..1, 2..3]).unwrap();
        assert_eq!(pool.flush().count(), 2);
        assert!(pool.contains(expected));
        pool.validate().unwrap();
    }
}
