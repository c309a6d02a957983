//! [`TableOrder`]: the order in which tables are iterated.

use crate::alloc::{try_clone_slice, try_reserve};
use phalanx_store::AllocError;

/// No table.
const NONE: u32 = u32::MAX;

/// The neighbours of a table.
#[derive(Clone, Copy, Debug)]
struct Link {
    prev: u32,
    next: u32,
}

/// The order in which tables are iterated: the order in which they got their first row.
///
/// A table that has lost all rows becomes the last when it gets one again. So the order depends only on the tables that have
/// rows, and not on tables that were there before.
///
/// It is a linked list of table numbers. Tables without rows stay in it until they get a row again; iteration skips them.
#[derive(Debug)]
pub(crate) struct TableOrder {
    links: Vec<Link>,
    first: u32,
    last: u32,
    /// The number of times that a table got its first row.
    stamp: u64,
}

impl TableOrder {
    /// Creates an order without tables.
    pub(crate) const fn new() -> TableOrder {
        TableOrder { links: Vec::new(), first: NONE, last: NONE, stamp: 0 }
    }

    /// Returns a copy.
    pub(crate) fn try_clone(&self) -> Result<TableOrder, AllocError> {
        Ok(TableOrder { links: try_clone_slice(&self.links)?, ..*self })
    }

    /// Reserves capacity for another table.
    pub(crate) fn try_reserve(&mut self) -> Result<(), AllocError> {
        try_reserve(&mut self.links, 1)
    }

    /// Adds a table without rows, which is not in the list yet.
    pub(crate) fn add(&mut self) {
        self.links.push(Link { prev: NONE, next: NONE });
    }

    /// Replaces all tables by `tables` tables without rows. Stamps continue.
    pub(crate) fn reset(&mut self, tables: usize) {
        self.links.clear();
        (self.first, self.last) = (NONE, NONE);
        self.links.resize(tables, Link { prev: NONE, next: NONE });
        self.links.shrink_to_fit();
    }

    /// Moves a table that gets its first row to the end. `is_listed` says whether it is in the list. Returns its stamp, which is
    /// higher than all others.
    #[cold]
    #[inline(never)]
    pub(crate) fn activate(&mut self, number: u32, is_listed: bool) -> u64 {
        if is_listed {
            let Link { prev, next } = self.links[number as usize];
            *self.next_of(prev) = next;
            *self.prev_of(next) = prev;
        }
        let last = self.last;
        self.links[number as usize] = Link { prev: last, next: NONE };
        *self.next_of(last) = number;
        self.last = number;
        self.stamp += 1;
        self.stamp
    }

    /// Continues the stamps after this one, if it is higher than all others.
    pub(crate) fn raise_stamp(&mut self, stamp: u64) {
        self.stamp = self.stamp.max(stamp);
    }

    /// Replaces the list by these tables, in their order. Their stamps are those that they had. Stamps continue.
    pub(crate) fn relink(&mut self, order: impl Iterator<Item = u32>) {
        (self.first, self.last) = (NONE, NONE);
        self.links.fill(Link { prev: NONE, next: NONE });
        for number in order {
            let last = self.last;
            self.links[number as usize] = Link { prev: last, next: NONE };
            *self.next_of(last) = number;
            self.last = number;
        }
    }

    /// Returns the link that leads from a table to the next.
    fn next_of(&mut self, number: u32) -> &mut u32 {
        if number == NONE { &mut self.first } else { &mut self.links[number as usize].next }
    }

    /// Returns the link that leads from a table to the one before.
    fn prev_of(&mut self, number: u32) -> &mut u32 {
        if number == NONE { &mut self.last } else { &mut self.links[number as usize].prev }
    }

    /// Returns the first table of the list, or the one after another.
    pub(crate) fn next(&self, after: Option<u32>) -> Option<u32> {
        let next = after.map_or(self.first, |number| self.links[number as usize].next);
        (next != NONE).then_some(next)
    }

    /// Returns the last table of the list, or the one before another.
    pub(crate) fn previous(&self, before: Option<u32>) -> Option<u32> {
        let previous = before.map_or(self.last, |number| self.links[number as usize].prev);
        (previous != NONE).then_some(previous)
    }

    /// Returns the tables of the list.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + Clone + '_ {
        core::iter::successors(self.next(None), |number| self.next(Some(*number)))
    }

    /// Checks that the list has each table that has a stamp once, in the order of the stamps.
    pub(crate) fn validate(&self, stamps: impl ExactSizeIterator<Item = u64> + Clone) -> Result<(), &'static str> {
        let stamp = |number: u32| stamps.clone().nth(number as usize).unwrap_or(0);
        let listed = stamps.clone().filter(|stamp| *stamp != 0).count();
        if self.links.len() != stamps.len() || self.iter().take(listed + 1).count() != listed {
            return Err("a table that is not in the order of tables, or is twice");
        }
        let in_order = self.iter().map(stamp).is_sorted_by(|a, b| a < b);
        match in_order && self.iter().all(|number| (1..=self.stamp).contains(&stamp(number))) {
            true => Ok(()),
            false => Err("tables that are not in the order in which they got their rows"),
        }
    }
}
