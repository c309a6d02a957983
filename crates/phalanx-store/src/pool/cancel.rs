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
        let mut freed: Vec<u32> = Vec::new();
        let memory =
            AllocError::OutOfMemory { bytes: (end - kept) as usize * size_of::<u32>(), align: align_of::<u32>() };
        freed.try_reserve_exact((end - kept) as usize).map_err(|_| memory)?;
        self.try_grow(fresh)?;
        self.touch();
        if fresh > 0 {
            self.add_free(fresh);
        }
        // SAFETY: `free_len` entries are initialised.
        let list = unsafe { self.free.slice_mut(self.free_len) };
        let first = list.len() - end as usize;
        let list = &mut list[first..];
        // Entries with higher numbers come first. Those that stay reserved go to the end, the others before them.
        let at = |number: u32| (end - number) as usize;
        let (mut next, mut top) = (0, list.len());
        for range in canceled.iter().take_while(|range| range.start < end).chain([&(end..end)]) {
            let stays = at(range.start)..at(next);
            top -= stays.len();
            freed.extend(list[at(range.end)..stays.start].iter().rev());
            list.copy_within(stays, top);
            next = range.end;
        }
        list[..top].iter_mut().rev().zip(freed).for_each(|(entry, index)| *entry = index);
        self.reserved.set(kept);
        Ok(())
    }

    /// Adds new slots to the free list, to be used when all others are. The pool has capacity for them.
    fn add_free(&mut self, count: u32) {
        assert!(self.slots + count <= self.capacity() as u32, "the pool has grown");
        // SAFETY: there is capacity for the slots, also in the free list, of which `free_len` entries are initialised.
        unsafe {
            let list = self.free.at(0);
            core::ptr::copy(list, list.add(count as usize), self.free_len as usize);
            for number in 0..count {
                let index = self.slots + number;
                self.words.at(index).write(Slot { word: generation::DEAD, payload: self.default });
                self.free.at(count - 1 - number).write(index);
            }
        }
        self.slots += count;
        self.free_len += count;
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
