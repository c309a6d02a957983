//! Values that were displaced and have not ended yet.
//!
//! # What must stay true
//!
//! A stash has room for every value that the steps of an operation displace, in whatever order, before the first is carried
//! out: it does not move while it holds values. Each of `values` is owned by the stash, in its arena or, for the payloads of
//! skipped commands, where they were recorded, until an [`Ending`] takes it.
#![allow(unsafe_code)]

use super::arena::{Arena, place_after};
use crate::component::{ComponentId, DropFn};
use crate::journal::{Journal, Spot};
use crate::sparse::{SparseStorage, SparseStorages};
use crate::storage::Storage;
use crate::storage::table::{ALIGNED_FOR_ALL, Column, Table, copy_row, row_ptr};
use core::alloc::Layout;
use phalanx_store::AllocError;

// SAFETY: the values that it owns are components, which are `Send` and `Sync`.
unsafe impl Send for Stash {}
// SAFETY: as above; nothing is reached through a shared reference.
unsafe impl Sync for Stash {}

/// Values that were displaced and have not ended yet.
#[derive(Debug, Default)]
pub(crate) struct Stash {
    values: Vec<(DropFn, *mut u8)>,
    arena: Arena,
    /// What the last step has displaced and is to be shown to listeners, and where it is.
    pub(crate) shown: Vec<(ComponentId, Spot)>,
    /// Counted while resolving: values, bytes, the greatest alignment.
    count: usize,
    bytes: usize,
    align: usize,
}

impl Stash {
    /// Bytes that it holds from the allocator.
    pub(crate) fn held(&self) -> usize {
        let lists = self.values.capacity() * size_of::<(DropFn, *mut u8)>()
            + self.shown.capacity() * size_of::<(ComponentId, Spot)>();
        lists + self.arena.bytes()
    }

    /// Starts to count.
    pub(crate) fn begin(&mut self) {
        (self.count, self.bytes, self.align) = (0, 0, 1);
    }

    /// Makes room for what was counted.
    pub(crate) fn try_reserve(&mut self, shows: bool) -> Result<(), AllocError> {
        crate::alloc::try_reserve(&mut self.values, self.count)?;
        self.shown.clear();
        crate::alloc::try_reserve(&mut self.shown, if shows { self.count } else { 0 })?;
        self.arena.try_reserve(self.bytes, self.align)
    }

    /// Takes over the payload of a command that is skipped, where it lies.
    ///
    /// # Safety
    ///
    /// It is initialised, stays where it is, and nobody else ends it; it was [expected](Stash::expect).
    pub(crate) unsafe fn take_payload(&mut self, drop: DropFn, payload: *mut u8) {
        debug_assert!(self.values.len() < self.values.capacity());
        self.values.push((drop, payload));
    }

    /// Counts a value that will be displaced; without a layout, one that needs no room.
    pub(crate) fn expect(&mut self, layout: Option<Layout>) -> Result<(), AllocError> {
        self.count += 1;
        if let Some(layout) = layout {
            // With the most that can be lost before it: the order is not known.
            let bytes = layout.size().checked_add(layout.align() - 1).ok_or(AllocError::CapacityOverflow)?;
            self.bytes = self.bytes.checked_add(bytes).ok_or(AllocError::CapacityOverflow)?;
            self.align = self.align.max(layout.align());
        }
        Ok(())
    }

    /// Counts the values of a row in these columns.
    pub(crate) fn expect_row(&mut self, storage: &Storage, columns: &[Column]) -> Result<(), AllocError> {
        for column in columns.iter().filter(|column| column.drop.is_some() || storage.journal.keeps(column.id)) {
            self.expect(block(storage.components.info(column.id).value_part())?)?;
        }
        Ok(())
    }

    /// Counts the values that a slot has in these sides.
    pub(crate) fn expect_present(&mut self, storage: &Storage, slot: u32, list: &[u32]) -> Result<(), AllocError> {
        let mut present = list.iter().map(|side| storage.sparse.get(*side)).filter(|side| side.row(slot).is_some());
        present.try_for_each(|side| self.expect_of(storage, side))
    }

    /// Counts all values that a slot has beside tables.
    pub(crate) fn expect_all(&mut self, storage: &Storage, slot: u32) -> Result<(), AllocError> {
        storage.sparse.storages_of(slot).try_for_each(|side| self.expect_of(storage, side))
    }

    /// Counts a value of each of these sides, which are put, and may be displaced themselves.
    pub(crate) fn expect_puts(&mut self, storage: &Storage, list: &[u32]) -> Result<(), AllocError> {
        list.iter().try_for_each(|side| self.expect_of(storage, storage.sparse.get(*side)))
    }

    fn expect_of(&mut self, storage: &Storage, side: &SparseStorage) -> Result<(), AllocError> {
        match side.values().needs_drop() || storage.journal.keeps(side.id) {
            true => self.expect(side.values().layout()),
            false => Ok(()),
        }
    }

    /// Takes over the values that are retired in the sides, which count as moved out.
    ///
    /// # Safety
    ///
    /// They were [expected](Stash::expect).
    pub(crate) unsafe fn take_retired(&mut self, sparse: &mut SparseStorages, journal: &Journal) {
        sparse.drain_displaced(|side, row| {
            let (drop, shown) = (side.values().drop_fn(), journal.keeps(side.id));
            if drop.is_none() && !shown {
                return;
            }
            // SAFETY: components beside tables have one lane, or none; the value is retired there, and expected.
            let value = unsafe { self.take_one(drop, side.values().layout(), side.values().at(row)) };
            if shown {
                self.shown.push((side.id, Spot::Block(value)));
            }
        });
    }

    /// Takes over the values of a row in these columns, which count as moved out.
    ///
    /// # Safety
    ///
    /// The row is initialised there, and the values were [expected](Stash::expect), in this order.
    pub(crate) unsafe fn take(&mut self, storage: &Storage, table: &Table, row: u32, columns: &[Column]) {
        for column in columns {
            let shown = storage.journal.keeps(column.id);
            if column.drop.is_none() && !shown {
                continue;
            }
            let lanes = storage.components.info(column.id).value_part();
            // SAFETY: a column that needs an end has one lane, whose rows have this layout, or none; the row is initialised,
            // and the value expected.
            let value = unsafe {
                match lanes.len() {
                    0 => self.take_one(column.drop, None, core::ptr::without_provenance_mut(ALIGNED_FOR_ALL.get())),
                    1 => {
                        let value = row_ptr(&*table.lanes().add(column.first as usize), row);
                        self.take_one(column.drop, lanes.first().copied(), value)
                    }
                    _ => self.take_lanes(table, column, row, lanes),
                }
            };
            if shown {
                self.shown.push((column.id, Spot::Block(value)));
            }
        }
    }

    /// Takes over a value of several lanes, which needs no end: a row of each, one after another.
    ///
    /// # Safety
    ///
    /// As for [`take`](Stash::take); the lanes are those of the column.
    unsafe fn take_lanes(&mut self, table: &Table, column: &Column, row: u32, lanes: &[Layout]) -> *mut u8 {
        let Ok(Some(layout)) = block(lanes) else { unreachable!("counted before") };
        let Ok(offset) = self.arena.try_place(layout) else { unreachable!("reserved") };
        // SAFETY: the place was made just now; the rows of the lanes fit into it one after another, as they were counted.
        unsafe {
            let (to, mut at) = (self.arena.at(offset, layout), 0_usize);
            for (number, lane) in (column.first as usize..).zip(lanes) {
                at = at.next_multiple_of(lane.align());
                copy_row(row_ptr(&*table.lanes().add(number), row), to.add(at), lane.size());
                at += lane.size();
            }
            to
        }
    }

    /// Takes over a value, which counts as moved out.
    ///
    /// # Safety
    ///
    /// It is initialised, ends by `drop`, if by anything, has this layout, or none if it has no size, and was
    /// [expected](Stash::expect).
    unsafe fn take_one(&mut self, drop: Option<DropFn>, layout: Option<Layout>, value: *mut u8) -> *mut u8 {
        debug_assert!(self.values.len() < self.values.capacity());
        let to = match layout {
            // A value without a size is anywhere.
            None => core::ptr::without_provenance_mut(ALIGNED_FOR_ALL.get()),
            Some(layout) => {
                let end = place_after(self.arena.len(), layout).map_or(usize::MAX, |(_, end)| end);
                debug_assert!(end <= self.arena.bytes() && layout.align() <= self.arena.align());
                let Ok(offset) = self.arena.try_place(layout) else { unreachable!("reserved") };
                // SAFETY: the place was made just now, and the value has this layout.
                unsafe {
                    let to = self.arena.at(offset, layout);
                    copy_row(value, to, layout.size());
                    to
                }
            }
        };
        if let Some(drop) = drop {
            self.values.push((drop, to));
        }
        to
    }
}

/// The layout of a row of each of these lanes, one after another; none without lanes.
fn block(lanes: &[Layout]) -> Result<Option<Layout>, AllocError> {
    let mut all: Option<Layout> = None;
    for lane in lanes {
        let layout = match all {
            None => Ok(*lane),
            Some(before) => before.extend(*lane).map(|(layout, _)| layout),
        };
        all = Some(layout.map_err(|_| AllocError::CapacityOverflow)?);
    }
    Ok(all)
}

/// Ends what is in a stash, in order, all of it, even if one panics; a second panic aborts.
pub(crate) struct Ending<'a> {
    stash: &'a mut Stash,
    next: usize,
}

impl<'a> Ending<'a> {
    pub(crate) fn of(stash: &'a mut Stash) -> Ending<'a> {
        Ending { stash, next: 0 }
    }

    /// What is to be ended, to be added to.
    pub(crate) fn stash(&mut self) -> &mut Stash {
        self.stash
    }

    pub(crate) fn run(&mut self) {
        while let Some(&(drop, value)) = self.stash.values.get(self.next) {
            self.next += 1;
            // SAFETY: the stash owned the value, which ends here, once.
            unsafe { drop(value) };
        }
    }
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.run();
        self.stash.values.clear();
        self.stash.shown.clear();
        self.stash.arena.clear();
    }
}
