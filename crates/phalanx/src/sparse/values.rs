//! The values of one component, as rows of bytes: what a pool keeps beside its keys, and a linear store at its slots.
#![allow(unsafe_code)]

use crate::alloc::try_vec;
use crate::change_detection::{Clock, ComponentTicks, Track, set_column_tick, ticks_at};
use crate::component::{ComponentInfo, DropFn};
use crate::storage::table::{ALIGNED_FOR_ALL, copy_row, row_ptr, swap_row};
use core::alloc::Layout;
use core::mem::MaybeUninit;
use core::ops::Range;
use phalanx_store::AllocError;
use phalanx_store::raw::{Lane, Rows};

/// The lanes of a component: none if it has no data.
#[derive(Debug)]
pub(crate) struct Values {
    /// In a block that does not move.
    lanes: Box<[Lane]>,
    /// How many rows all of them have room for.
    room: u32,
    layout: Option<Layout>,
    drop: Option<DropFn>,
    track: Track,
}

/// How many rows all lanes have room for.
fn least(lanes: &[Lane]) -> u32 {
    lanes.iter().map(Lane::capacity).min().unwrap_or(u32::MAX)
}

impl Values {
    pub(crate) fn try_new(info: &ComponentInfo) -> Result<Values, AllocError> {
        let mut lanes = try_vec(info.lanes.len())?;
        lanes.extend(info.lanes.iter().map(|row| Lane::new(*row)));
        let (lanes, layout) = (lanes.into_boxed_slice(), info.value_layout());
        let room = least(&lanes);
        Ok(Values { lanes, room, layout, drop: info.drop, track: info.track })
    }

    /// No lanes, of no component.
    pub(crate) fn empty() -> Values {
        Values { lanes: Box::default(), room: u32::MAX, layout: None, drop: None, track: Track::None }
    }

    /// The first lane; without data, an address of none.
    #[inline(always)]
    pub(crate) fn lane(&self) -> *mut Lane {
        self.lanes.as_ptr().cast_mut()
    }

    /// The first lane, whose header may be changed too.
    #[cfg(feature = "snapshot")]
    pub(crate) fn lane_mut(&mut self) -> *mut Lane {
        self.lanes.as_mut_ptr()
    }

    /// The lanes, to be looked at.
    pub(crate) fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// The lanes, to be tracked and written.
    pub(crate) fn lanes_mut(&mut self) -> &mut [Lane] {
        &mut self.lanes
    }

    /// The layout of a value in the first lane; `None` if it has no size.
    pub(crate) fn layout(&self) -> Option<Layout> {
        self.layout
    }

    /// The address of a value: of its row in the first lane, or any that is aligned if it has no data.
    ///
    /// # Safety
    ///
    /// The row is within the capacity.
    #[inline(always)]
    pub(crate) unsafe fn at(&self, row: u32) -> *mut u8 {
        match self.lanes.first() {
            // SAFETY: the caller's promise.
            Some(lane) => unsafe { row_ptr(lane, row) },
            None => core::ptr::without_provenance_mut(ALIGNED_FOR_ALL.get()),
        }
    }

    /// Notes, where it is asked for, that a row was written.
    ///
    /// # Safety
    ///
    /// The row is within the capacity, and the values are borrowed exclusively.
    #[inline(always)]
    pub(crate) unsafe fn mark(&self, row: u32) {
        if let Some(lane) = self.lanes.first() {
            // SAFETY: the caller's promise.
            unsafe { lane.mark(row) };
        }
    }

    /// Marks the values as wholes, if they are tracked so: one has come or gone.
    #[inline(always)]
    pub(crate) fn set_column_tick(&self, clock: &Clock) {
        if self.track == Track::Column
            && let Some(lane) = self.lanes.last()
        {
            set_column_tick(lane, clock.now());
        }
    }

    /// Marks the value of a row as new.
    ///
    /// # Safety
    ///
    /// The row is within the capacity.
    pub(crate) unsafe fn mark_new(&self, row: u32, clock: &Clock) {
        self.set_column_tick(clock);
        if self.track == Track::Row {
            // SAFETY: the last lane is that of the marks; and the caller's promise.
            unsafe { ticks_at(&self.lanes[1], row as usize).write(ComponentTicks::new(clock.now())) };
        }
    }

    /// Gives a value that replaces another the mark of the other's coming.
    ///
    /// # Safety
    ///
    /// There are values in both rows.
    #[inline(always)]
    pub(crate) unsafe fn keep_added(&self, row: u32, old: u32) {
        if self.track == Track::Row {
            // SAFETY: as above.
            unsafe {
                let lane = &self.lanes[1];
                (*ticks_at(lane, row as usize)).added = (*ticks_at(lane, old as usize)).added;
            }
        }
    }

    /// Copies the marks of a row, or of all, with those of another's.
    ///
    /// # Safety
    ///
    /// There is a value in that row, of the same component, and room here.
    pub(crate) unsafe fn copy_marks(&self, row: u32, from: &Values, from_row: u32) {
        match self.track {
            Track::None => {}
            Track::Column => {
                let at = self.lanes.len() - 1;
                self.lanes[at].set_version(from.lanes[at].version());
            }
            // SAFETY: the caller's promise.
            Track::Row => unsafe {
                ticks_at(&self.lanes[1], row as usize).write(ticks_at(&from.lanes[1], from_row as usize).read());
            },
        }
    }

    /// Whether values need an end.
    #[inline(always)]
    pub(crate) fn needs_drop(&self) -> bool {
        self.drop.is_some()
    }

    pub(crate) fn drop_fn(&self) -> Option<DropFn> {
        self.drop
    }

    /// Ends a value.
    ///
    /// # Safety
    ///
    /// It is there, and nobody else's.
    #[inline]
    pub(crate) unsafe fn end(&self, row: u32) {
        if let Some(drop) = self.drop {
            // SAFETY: the caller's promise.
            unsafe { drop(self.at(row)) };
        }
    }
}

// SAFETY: the lanes' memory is as large as their capacities say, and every method treats all of them alike.
unsafe impl Rows for Values {
    #[inline(always)]
    fn capacity(&self) -> u32 {
        debug_assert_eq!(self.room, least(&self.lanes));
        self.room
    }

    fn bytes(&self) -> usize {
        self.lanes.iter().map(Lane::bytes).sum()
    }

    fn countable(&self, needed: u32) -> Result<(), AllocError> {
        self.lanes.iter().try_for_each(|lane| lane.countable(needed))
    }

    fn try_grow(&mut self, needed: u32) -> Result<(), AllocError> {
        let grown = self.lanes.iter_mut().try_for_each(|lane| lane.try_grow(needed));
        self.room = least(&self.lanes);
        grown
    }

    unsafe fn try_resize(&mut self, cap: u32) -> Result<(), AllocError> {
        // SAFETY: the caller's promise.
        let resized = self.lanes.iter_mut().try_for_each(|lane| unsafe { lane.try_resize(cap) });
        self.room = least(&self.lanes);
        resized
    }

    #[inline(always)]
    unsafe fn swap(&mut self, a: u32, b: u32) {
        for lane in &self.lanes {
            // SAFETY: both rows are within the capacity, and they differ.
            unsafe { swap_row(row_ptr(lane, a), row_ptr(lane, b), lane.row_size()) };
        }
        // SAFETY: as above.
        unsafe {
            self.mark(a);
            self.mark(b);
        }
    }

    #[inline(always)]
    unsafe fn shift(&mut self, from: u32, to: u32) {
        #[inline(never)]
        unsafe fn shift_all(lanes: &[Lane], from: u32, to: u32) {
            for lane in lanes {
                // SAFETY: the caller's promise.
                unsafe { copy_row(row_ptr(lane, from), row_ptr(lane, to), lane.row_size()) };
            }
        }
        // SAFETY: both rows are within the capacity, and they differ.
        unsafe {
            match &*self.lanes {
                [lane] => copy_row(row_ptr(lane, from), row_ptr(lane, to), lane.row_size()),
                lanes => shift_all(lanes, from, to),
            }
        }
    }

    unsafe fn shift_down(&mut self, gap: u32, len: u32) {
        for lane in &self.lanes {
            let bytes = (len - gap - 1) as usize * lane.row_size();
            // SAFETY: the rows are within the capacity; they may overlap, and `copy` allows it.
            unsafe { core::ptr::copy(row_ptr(lane, gap + 1), row_ptr(lane, gap), bytes) };
        }
    }

    unsafe fn rotate(&mut self, first: u32, len: u32) {
        for lane in &self.lanes {
            let size = lane.row_size();
            // SAFETY: the rows are within the capacity, and bytes that may be uninitialised can be moved as such.
            unsafe {
                let bytes = row_ptr(lane, first).cast::<MaybeUninit<u8>>();
                core::slice::from_raw_parts_mut(bytes, (len - first) as usize * size).rotate_left(size);
            }
        }
    }

    unsafe fn drop_rows(&mut self, rows: Range<u32>) {
        if !self.needs_drop() {
            return;
        }
        /// Ends the rest after a panic; a second aborts.
        struct Rest<'a>(&'a Values, Range<u32>);
        impl Drop for Rest<'_> {
            fn drop(&mut self) {
                for row in self.1.by_ref() {
                    // SAFETY: the caller's promise; each ends once.
                    unsafe { self.0.end(row) };
                }
            }
        }
        let mut rest = Rest(self, rows);
        for row in rest.1.by_ref() {
            // SAFETY: as above.
            unsafe { self.end(row) };
        }
    }
}
