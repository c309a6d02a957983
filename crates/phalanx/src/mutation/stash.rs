//! [`Stash`]: values that were displaced and are dropped at the end of an operation.
//!
//! # Invariants
//!
//! A stash has capacity for every value that the steps of an operation displace, in any order, before the first step is
//! committed. So its arena does not move while it has values. The stash owns each of `values` until it is dropped: in its arena,
//! or, for the payload of a skipped command, where the payload was recorded.
#![allow(unsafe_code)]

use super::arena::{Arena, place_after};
use crate::component::{ComponentId, DropFn};
use crate::journal::{Journal, MovedValues, ValuePtr};
use crate::sparse::{SparseStorage, SparseStorages};
use crate::storage::Storage;
use crate::storage::table::{ALIGNED_FOR_ALL, Column, Table};
use core::alloc::Layout;
use phalanx_store::AllocError;
use phalanx_store::raw::{copy_row, row_ptr};

// SAFETY: the values that it owns are components, which are `Send` and `Sync`.
unsafe impl Send for Stash {}
// SAFETY: the values are `Sync`, and a shared reference does not reach them.
unsafe impl Sync for Stash {}

/// Values that were displaced and are dropped at the end of an operation.
#[derive(Debug, Default)]
pub(crate) struct Stash {
    values: Vec<(DropFn, *mut u8)>,
    arena: Arena,
    /// What the last step has displaced and is to be shown to listeners, and where it is.
    pub(crate) shown: MovedValues,
    /// Counted while resolving: values, values that are shown, bytes, the greatest alignment.
    count: usize,
    shown_count: usize,
    bytes: usize,
    align: usize,
}

impl Stash {
    /// Returns the bytes held from the allocator.
    pub(crate) fn held(&self) -> usize {
        let lists = self.values.capacity() * size_of::<(DropFn, *mut u8)>()
            + self.shown.capacity() * size_of::<(ComponentId, ValuePtr)>();
        lists + self.arena.bytes()
    }

    /// Starts to count expected values.
    pub(crate) fn begin(&mut self) {
        (self.count, self.shown_count, self.bytes, self.align) = (0, 0, 0, 1);
    }

    /// Reserves capacity for the expected values.
    pub(crate) fn try_reserve(&mut self) -> Result<(), AllocError> {
        crate::alloc::try_reserve(&mut self.values, self.count)?;
        self.shown.clear();
        crate::alloc::try_reserve(&mut self.shown, self.shown_count)?;
        self.arena.try_reserve(self.bytes, self.align)
    }

    /// Takes ownership of the payload of a skipped command, which stays where it is.
    ///
    /// # Safety
    ///
    /// The payload is initialised, does not move, is not dropped elsewhere, and was [expected](Stash::expect).
    pub(crate) unsafe fn take_payload(&mut self, drop: DropFn, payload: *mut u8) {
        debug_assert!(self.values.len() < self.values.capacity());
        self.values.push((drop, payload));
    }

    /// Counts a value that will be displaced. Without a layout, the value needs no memory.
    pub(crate) fn expect(&mut self, layout: Option<Layout>) -> Result<(), AllocError> {
        self.count += 1;
        if let Some(layout) = layout {
            // With the largest possible padding before it, because the order is not known.
            let bytes = layout.size().checked_add(layout.align() - 1).ok_or(AllocError::CapacityOverflow)?;
            self.bytes = self.bytes.checked_add(bytes).ok_or(AllocError::CapacityOverflow)?;
            self.align = self.align.max(layout.align());
        }
        Ok(())
    }

    /// Counts the values of a row in these columns that are dropped or shown.
    pub(crate) fn expect_row(&mut self, storage: &Storage, columns: &[Column]) -> Result<(), AllocError> {
        for column in columns {
            let shown = storage.journal.keeps_displaced(column.id);
            if column.drop.is_some() || shown {
                self.shown_count += usize::from(shown);
                self.expect(block(storage.components.info(column.id).value_layouts())?)?;
            }
        }
        Ok(())
    }

    /// Counts the values of a slot in a table, and all of its sparse values.
    pub(crate) fn expect_removal(&mut self, storage: &Storage, slot: u32, table: u32) -> Result<(), AllocError> {
        let table = &storage.tables[table as usize];
        if table.needs_drop() || storage.journal.is_active() {
            self.expect_row(storage, &table.columns)?;
        }
        if storage.sparse.has_components() { self.expect_all(storage, slot) } else { Ok(()) }
    }

    /// Counts the values that a slot has in these sparse storages.
    pub(crate) fn expect_present(&mut self, storage: &Storage, slot: u32, list: &[u32]) -> Result<(), AllocError> {
        let mut present = list.iter().map(|side| storage.sparse.get(*side)).filter(|side| side.row(slot).is_some());
        present.try_for_each(|side| self.expect_of(storage, side))
    }

    /// Counts all sparse values of a slot.
    fn expect_all(&mut self, storage: &Storage, slot: u32) -> Result<(), AllocError> {
        storage.sparse.storages_of(slot).try_for_each(|side| self.expect_of(storage, side))
    }

    /// Counts a value of each of these sparse storages: values that are inserted may be displaced by a later step.
    pub(crate) fn expect_inserts(&mut self, storage: &Storage, list: &[u32]) -> Result<(), AllocError> {
        list.iter().try_for_each(|side| self.expect_of(storage, storage.sparse.get(*side)))
    }

    fn expect_of(&mut self, storage: &Storage, side: &SparseStorage) -> Result<(), AllocError> {
        let shown = storage.journal.keeps_displaced(side.id);
        self.shown_count += usize::from(shown);
        match side.values().needs_drop() || shown {
            true => self.expect(side.values().layout()),
            false => Ok(()),
        }
    }

    /// Returns `true` if no value was expected.
    #[inline(always)]
    pub(crate) fn expects_none(&self) -> bool {
        self.count == 0
    }

    /// Takes ownership of the values that sparse storages list as displaced.
    ///
    /// # Safety
    ///
    /// The values were [expected](Stash::expect).
    pub(crate) unsafe fn take_sparse(&mut self, sparse: &mut SparseStorages, journal: &Journal) {
        sparse.drain_displaced(|side, row| {
            let (drop, shown) = (side.values().drop_fn(), journal.keeps_displaced(side.id));
            if drop.is_none() && !shown {
                return;
            }
            // SAFETY: sparse components have one lane, or none. The value is displaced there, and was expected.
            let value = unsafe { self.take_one(drop, side.values().layout(), side.values().at(row)) };
            if shown {
                self.shown.push((side.id, ValuePtr::Block(value)));
            }
        });
    }

    /// Takes ownership of the values of a row in these columns.
    ///
    /// # Safety
    ///
    /// The row is initialised in these columns, and the values were [expected](Stash::expect).
    pub(crate) unsafe fn take(&mut self, storage: &Storage, table: &Table, row: u32, columns: &[Column]) {
        for column in columns {
            let shown = storage.journal.keeps_displaced(column.id);
            if column.drop.is_none() && !shown {
                continue;
            }
            let lanes = storage.components.info(column.id).value_layouts();
            // SAFETY: a column that needs a drop has one lane, whose rows have this layout, or none. The row is initialised,
            // and the value was expected.
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
                self.shown.push((column.id, ValuePtr::Block(value)));
            }
        }
    }

    /// Takes ownership of a value of several lanes, which needs no drop. It is stored as the rows of the lanes in order.
    ///
    /// # Safety
    ///
    /// The row is initialised in the column, the value was [expected](Stash::expect), and the layouts are those of the lanes.
    unsafe fn take_lanes(&mut self, table: &Table, column: &Column, row: u32, lanes: &[Layout]) -> *mut u8 {
        let Ok(Some(layout)) = block(lanes) else { unreachable!("counted before") };
        let Ok(offset) = self.arena.try_place(layout) else { unreachable!("reserved") };
        // SAFETY: the arena has just given out this block. The rows of the lanes fit into it in order, as they were counted.
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

    /// Takes ownership of a value, and returns its new address.
    ///
    /// # Safety
    ///
    /// - The value is initialised and was [expected](Stash::expect).
    /// - `drop` drops values of its type, if they need it. `layout` is the layout of its type, or `None` if it is zero-sized.
    unsafe fn take_one(&mut self, drop: Option<DropFn>, layout: Option<Layout>, value: *mut u8) -> *mut u8 {
        debug_assert!(self.values.len() < self.values.capacity());
        let to = match layout {
            // A zero-sized value has any aligned address.
            None => core::ptr::without_provenance_mut(ALIGNED_FOR_ALL.get()),
            Some(layout) => {
                let end = place_after(self.arena.len(), layout).map_or(usize::MAX, |(_, end)| end);
                debug_assert!(end <= self.arena.bytes() && layout.align() <= self.arena.align());
                let Ok(offset) = self.arena.try_place(layout) else { unreachable!("reserved") };
                // SAFETY: the arena has just given out this block, and the value has this layout.
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

/// Returns the layout of the rows of several lanes in order, or `None` if there are no lanes.
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

/// Drops the values of a stash in order when it goes out of scope. Goes on after a panic; a second panic aborts.
pub(crate) struct DropStash<'a> {
    stash: &'a mut Stash,
    next: usize,
}

impl<'a> DropStash<'a> {
    /// Creates a guard of a stash.
    pub(crate) fn new(stash: &'a mut Stash) -> DropStash<'a> {
        DropStash { stash, next: 0 }
    }

    /// Returns the stash.
    pub(crate) fn stash(&mut self) -> &mut Stash {
        self.stash
    }

    /// Drops the values of the stash.
    pub(crate) fn run(&mut self) {
        while let Some(&(drop, value)) = self.stash.values.get(self.next) {
            self.next += 1;
            // SAFETY: the stash owned the value, which is dropped once.
            unsafe { drop(value) };
        }
    }
}

impl Drop for DropStash<'_> {
    fn drop(&mut self) {
        self.run();
        self.stash.values.clear();
        self.stash.shown.clear();
        self.stash.arena.clear();
    }
}
