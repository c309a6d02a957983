//! Values that were displaced and have not ended yet.
//!
//! # What must stay true
//!
//! A stash has room for every value that the steps of a segment displace, in their order, before the first is carried out:
//! it does not move while it holds values. Each of `values` is owned by the stash, in its arena or, for the payloads of
//! skipped commands, where they were recorded, until an [`Ending`] takes it.
#![allow(unsafe_code)]

use super::buffer::{Arena, place_after};
use crate::component::DropFn;
use crate::table::{ALIGNED_FOR_ALL, Column, Table, copy_row, row_ptr};
use crate::world::World;
use core::alloc::Layout;
use phalanx_store::AllocError;

/// Values that were displaced and have not ended yet.
#[derive(Debug, Default)]
pub(super) struct Stash {
    values: Vec<(DropFn, *mut u8)>,
    arena: Arena,
    /// Counted while resolving: values, bytes, the greatest alignment.
    count: usize,
    bytes: usize,
    align: usize,
}

impl Stash {
    /// Bytes that it holds from the allocator.
    pub(super) fn held(&self) -> usize {
        self.values.capacity() * size_of::<(DropFn, *mut u8)>() + self.arena.bytes()
    }

    /// Starts to count.
    pub(super) fn begin(&mut self) {
        (self.count, self.bytes, self.align) = (0, 0, 1);
    }

    /// Makes room for what was counted.
    pub(super) fn try_reserve(&mut self) -> Result<(), AllocError> {
        crate::room::try_room(&mut self.values, self.count)?;
        self.arena.try_reserve(self.bytes, self.align)
    }

    /// Takes over the payload of a command that is skipped, where it lies.
    ///
    /// # Safety
    ///
    /// It is initialised, stays where it is, and nobody else ends it; it was [expected](Stash::expect).
    pub(super) unsafe fn take_payload(&mut self, drop: DropFn, payload: *mut u8) {
        debug_assert!(self.values.len() < self.values.capacity());
        self.values.push((drop, payload));
    }

    /// Counts a value that will be displaced; without a layout, one that needs no room.
    pub(super) fn expect(&mut self, layout: Option<Layout>) -> Result<(), AllocError> {
        self.count += 1;
        if let Some(layout) = layout {
            self.bytes = place_after(self.bytes, layout)?.1;
            self.align = self.align.max(layout.align());
        }
        Ok(())
    }

    /// Takes over the values of a row in these columns, which count as moved out.
    ///
    /// # Safety
    ///
    /// The row is initialised there, and the values were [expected](Stash::expect), in this order.
    pub(super) unsafe fn take(&mut self, world: &World, table: &Table, row: u32, columns: &[Column]) {
        for column in columns {
            let Some(drop) = column.drop else { continue };
            debug_assert!(self.values.len() < self.values.capacity());
            let layout = world.components.info(column.id).lanes.first().copied();
            let to = match layout {
                // A value without a size is anywhere.
                None => core::ptr::without_provenance_mut(ALIGNED_FOR_ALL.get()),
                Some(layout) => {
                    let end = place_after(self.arena.len(), layout).map_or(usize::MAX, |(_, end)| end);
                    debug_assert!(end <= self.arena.bytes() && layout.align() <= self.arena.align());
                    let Ok(offset) = self.arena.try_place(layout) else { unreachable!("reserved") };
                    // SAFETY: the place was made just now. A column that needs an end has one lane, whose rows have this
                    // layout; the row is initialised.
                    unsafe {
                        let to = self.arena.at(offset, layout);
                        let lane = &*table.lanes().add(column.first as usize);
                        copy_row(row_ptr(lane, row), to, layout.size());
                        to
                    }
                }
            };
            self.values.push((drop, to));
        }
    }
}

/// Ends what is in a stash, in order, all of it, even if one panics; a second panic aborts.
pub(super) struct Ending<'a> {
    stash: &'a mut Stash,
    next: usize,
}

impl<'a> Ending<'a> {
    pub(super) fn of(stash: &'a mut Stash) -> Ending<'a> {
        Ending { stash, next: 0 }
    }

    /// What is to be ended, to be added to.
    pub(super) fn stash(&mut self) -> &mut Stash {
        self.stash
    }

    pub(super) fn run(&mut self) {
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
        self.stash.arena.clear();
    }
}
