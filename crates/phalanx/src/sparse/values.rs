//! [`Values`]: the values of one sparse component, as rows of bytes.
#![allow(unsafe_code)]

use crate::alloc::try_vec;
use crate::change_detection::{
    Clock, ComponentTicks, RunTicks, Tick, TicksRef, Track, column_tick, set_column_tick, tick_lanes, ticks_at,
};
use crate::component::{Cloning, ComponentInfo, DropFn};
use crate::storage::table::ALIGNED_FOR_ALL;
use core::alloc::Layout;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::ptr::copy_nonoverlapping;
use phalanx_store::AllocError;
use phalanx_store::raw::{Lane, Rows, copy_row, drop_all, row_ptr, swap_row};

/// The lanes of a component: none if it is zero-sized and untracked.
///
/// The first lane has the values. Change ticks are in the last lanes, if the component is tracked.
#[derive(Debug)]
pub(crate) struct Values {
    /// Boxed, so that pointers to them stay valid while the owner moves.
    lanes: Box<[Lane]>,
    /// The least capacity of the lanes.
    capacity: u32,
    layout: Option<Layout>,
    drop: Option<DropFn>,
    clone: Option<Cloning>,
    track: Track,
}

/// Returns the number of rows that every lane has capacity for.
fn least_capacity(lanes: &[Lane]) -> u32 {
    lanes.iter().map(Lane::capacity).min().unwrap_or(u32::MAX)
}

/// Calls `each` with every lane. Most components have one: only the loop over several is a call.
#[inline(always)]
fn for_each_lane(lanes: &[Lane], each: impl Fn(&Lane)) {
    #[inline(never)]
    fn for_several(lanes: &[Lane], each: impl Fn(&Lane)) {
        lanes.iter().for_each(each);
    }
    if let [lane] = lanes { each(lane) } else { for_several(lanes, each) }
}

impl Values {
    /// Creates the lanes of a component, without rows.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails.
    pub(crate) fn try_new(info: &ComponentInfo) -> Result<Values, AllocError> {
        let new = Values {
            layout: info.value_layout(),
            drop: info.drop,
            clone: info.clone,
            track: info.track,
            ..Values::empty()
        };
        new.try_with_lanes(info.lanes.iter().copied())
    }

    /// Creates the lanes of the same component, without rows.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails.
    pub(super) fn try_new_like(&self) -> Result<Values, AllocError> {
        let new =
            Values { layout: self.layout, drop: self.drop, clone: self.clone, track: self.track, ..Values::empty() };
        new.try_with_lanes(self.lanes.iter().map(Lane::row_layout))
    }

    fn try_with_lanes(self, rows: impl ExactSizeIterator<Item = Layout>) -> Result<Values, AllocError> {
        let mut lanes = try_vec(rows.len())?;
        lanes.extend(rows.map(Lane::new));
        Ok(Values { capacity: least_capacity(&lanes), lanes: lanes.into_boxed_slice(), ..self })
    }

    /// Returns the way to clone a value, if there is one.
    pub(super) fn cloning(&self) -> Option<Cloning> {
        self.clone
    }

    /// Grows the capacity to `rows` rows. Does nothing if it is not less.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails.
    pub(crate) fn try_reserve_exact(&mut self, rows: u32) -> Result<(), AllocError> {
        let grown = self.lanes.iter_mut().try_for_each(|lane| lane.try_reserve_exact(rows));
        self.capacity = least_capacity(&self.lanes);
        grown
    }

    /// Creates values without lanes, of no component.
    pub(crate) fn empty() -> Values {
        let (layout, drop, clone) = (None, None, None);
        Values { lanes: Box::default(), capacity: u32::MAX, layout, drop, clone, track: Track::None }
    }

    /// Returns a pointer to the first lane. Without lanes it is dangling.
    #[inline(always)]
    pub(crate) fn lane(&self) -> *mut Lane {
        self.lanes.as_ptr().cast_mut()
    }

    /// Returns a pointer to the first lane, for writing its header too.
    #[cfg(feature = "snapshot")]
    pub(crate) fn lane_mut(&mut self) -> *mut Lane {
        self.lanes.as_mut_ptr()
    }

    /// Returns the lanes.
    pub(crate) fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// Returns the lanes, to track them.
    ///
    /// # Safety
    ///
    /// The lanes are not replaced or resized.
    pub(crate) unsafe fn lanes_mut(&mut self) -> &mut [Lane] {
        &mut self.lanes
    }

    /// Returns the layout of a value in the first lane, or `None` if it is zero-sized.
    pub(crate) fn layout(&self) -> Option<Layout> {
        self.layout
    }

    /// Returns a pointer to the value in a row of the first lane. Without lanes it is dangling, and aligned for any
    /// type.
    ///
    /// # Safety
    ///
    /// The row is below the capacity.
    #[inline(always)]
    pub(crate) unsafe fn at(&self, row: u32) -> *mut u8 {
        match self.lanes.first() {
            // SAFETY: the row is below the capacity of every lane, by the caller's contract.
            Some(lane) => unsafe { row_ptr(lane, row) },
            None => core::ptr::without_provenance_mut(ALIGNED_FOR_ALL.get()),
        }
    }

    /// Sets the dirty bit of a row, if dirty bits are kept.
    ///
    /// # Safety
    ///
    /// The row is below the capacity, and the values are borrowed exclusively.
    #[inline(always)]
    pub(crate) unsafe fn mark_dirty(&self, row: u32) {
        if let Some(lane) = self.lanes.first() {
            // SAFETY: the row is below the capacity, and no other thread uses the lane, by the caller's contract.
            unsafe { lane.set_dirty(row) };
        }
    }

    /// Sets the change tick of the column, if the component is tracked by columns. Called when a value is added or
    /// removed.
    #[inline(always)]
    pub(crate) fn set_column_tick(&self, clock: &Clock) {
        if self.track == Track::Column
            && let Some(lane) = self.lanes.last()
        {
            set_column_tick(lane, clock.now());
        }
    }

    /// Returns the change tick of the column, if the component is tracked by columns.
    pub(crate) fn column_tick(&self) -> Option<Tick> {
        let lane = self.lanes.last().filter(|_| self.track == Track::Column)?;
        Some(column_tick(lane, RunTicks::READ))
    }

    /// Returns the change ticks of a row, if the component is tracked by rows.
    ///
    /// # Safety
    ///
    /// The row is initialised.
    #[inline(always)]
    unsafe fn row_ticks(&self, row: u32) -> Option<TicksRef<'_>> {
        // SAFETY: these are the lanes of the component. The row is initialised, by the caller's contract.
        (self.track == Track::Row).then(|| unsafe { ticks_at(&self.lanes, row as usize) })
    }

    /// Sets the change ticks of a row to those of a new value.
    ///
    /// # Safety
    ///
    /// The row is initialised.
    pub(crate) unsafe fn set_added_ticks(&self, row: u32, clock: &Clock) {
        self.set_column_tick(clock);
        // SAFETY: the row is initialised, by the caller's contract.
        unsafe { self.row_ticks(row) }.inspect(|ticks| ticks.set(ComponentTicks::new(clock.now())));
    }

    /// Copies the tick of addition to a row from the row of the value that it replaces.
    ///
    /// # Safety
    ///
    /// Both rows are initialised.
    #[inline(always)]
    pub(crate) unsafe fn keep_added(&self, row: u32, old: u32) {
        // SAFETY: both rows are initialised, by the caller's contract.
        unsafe {
            if let (Some(ticks), Some(old)) = (self.row_ticks(row), self.row_ticks(old)) {
                ticks.set_added(old.added());
            }
        }
    }

    /// Copies the change tick of the column, if the component is tracked by columns.
    pub(super) fn copy_column_tick(&self, from: &Values) {
        if let (Track::Column, Some(to), Some(from)) = (self.track, self.lanes.last(), from.lanes.last()) {
            to.set_version(from.version());
        }
    }

    /// Copies the change ticks of a row, or of the column, from other values of the same component.
    ///
    /// # Safety
    ///
    /// `from_row` is initialised in `from`, and `row` is below the capacity here.
    pub(crate) unsafe fn copy_ticks(&self, row: u32, from: &Values, from_row: u32) {
        self.copy_column_tick(from);
        if self.track == Track::Row {
            for (to, from) in tick_lanes(&self.lanes).into_iter().zip(tick_lanes(&from.lanes)) {
                // SAFETY: the one row is initialised and the other below the capacity, by the caller's contract.
                unsafe { copy_row(row_ptr(from, from_row), row_ptr(to, row), to.row_size()) };
            }
        }
    }

    /// Copies the bytes of rows, and their change ticks, from the same rows of other values of the same component.
    ///
    /// # Safety
    ///
    /// The rows are below the capacity of both, and what is there is not in use.
    pub(super) unsafe fn copy_rows(&self, rows: Range<u32>, from: &Values) {
        for (to, from) in self.lanes.iter().zip(&from.lanes) {
            let bytes = rows.len() * to.row_size();
            // SAFETY: the rows are below the capacity of both, by the caller's contract. Bytes that are not initialised are
            // copied as such, and two lanes share no memory.
            unsafe { copy_nonoverlapping(row_ptr(from, rows.start), row_ptr(to, rows.start), bytes) };
        }
    }

    /// Returns `true` if values need to be dropped.
    #[inline(always)]
    pub(crate) fn needs_drop(&self) -> bool {
        self.drop.is_some()
    }

    /// Returns the function that drops a value, if it needs one.
    pub(crate) fn drop_fn(&self) -> Option<DropFn> {
        self.drop
    }

    /// Drops the value in a row.
    ///
    /// # Safety
    ///
    /// The row is initialised, and counts as moved out from then on.
    #[inline]
    pub(crate) unsafe fn drop_value(&self, row: u32) {
        if let Some(drop) = self.drop {
            // SAFETY: the row is initialised and is not used again, by the caller's contract.
            unsafe { drop(self.at(row)) };
        }
    }

    /// Drops the values in these rows, all of them, even if one panics. A second panic aborts.
    ///
    /// # Safety
    ///
    /// The rows are initialised and differ, and count as moved out from then on.
    pub(crate) unsafe fn drop_values(&self, rows: impl Iterator<Item = u32>) {
        if self.needs_drop() {
            // SAFETY: each row is initialised and comes once, by the caller's contract.
            drop_all(rows, |row| unsafe { self.drop_value(row) });
        }
    }
}

// SAFETY: the lanes' memory is as large as their capacities say, and every method treats all of them alike.
unsafe impl Rows for Values {
    #[inline(always)]
    fn capacity(&self) -> u32 {
        debug_assert_eq!(self.capacity, least_capacity(&self.lanes));
        self.capacity
    }

    fn bytes(&self) -> usize {
        self.lanes.iter().map(Lane::bytes).sum()
    }

    fn countable(&self, needed: u32) -> Result<(), AllocError> {
        self.lanes.iter().try_for_each(|lane| lane.countable(needed))
    }

    fn try_grow(&mut self, needed: u32) -> Result<(), AllocError> {
        let grown = self.lanes.iter_mut().try_for_each(|lane| lane.try_grow(needed));
        self.capacity = least_capacity(&self.lanes);
        grown
    }

    unsafe fn try_resize(&mut self, cap: u32) -> Result<(), AllocError> {
        // SAFETY: no row at or above `cap` is in use, by the caller's contract.
        let resized = self.lanes.iter_mut().try_for_each(|lane| unsafe { lane.try_resize(cap) });
        self.capacity = least_capacity(&self.lanes);
        resized
    }

    #[inline(always)]
    unsafe fn swap(&mut self, a: u32, b: u32) {
        // SAFETY: both rows are below the capacity of every lane and differ, by the caller's contract.
        let swap = |lane: &Lane| unsafe { swap_row(row_ptr(lane, a), row_ptr(lane, b), lane.row_size()) };
        for_each_lane(&self.lanes, swap);
        // SAFETY: both rows are below the capacity, by the caller's contract. The values are borrowed exclusively.
        unsafe {
            self.mark_dirty(a);
            self.mark_dirty(b);
        }
    }

    #[inline(always)]
    unsafe fn shift(&mut self, from: u32, to: u32) {
        // SAFETY: both rows are below the capacity of every lane and differ, by the caller's contract.
        let shift = |lane: &Lane| unsafe { copy_row(row_ptr(lane, from), row_ptr(lane, to), lane.row_size()) };
        for_each_lane(&self.lanes, shift);
    }

    unsafe fn shift_down(&mut self, gap: u32, len: u32) {
        for lane in &self.lanes {
            let bytes = (len - gap - 1) as usize * lane.row_size();
            // SAFETY: `gap` is less than `len`, which is not above the capacity. The rows may overlap, as `copy`
            // allows.
            unsafe { core::ptr::copy(row_ptr(lane, gap + 1), row_ptr(lane, gap), bytes) };
        }
    }

    unsafe fn rotate(&mut self, first: u32, len: u32) {
        for lane in &self.lanes {
            let size = lane.row_size();
            // SAFETY: the rows are below the capacity; bytes that may be uninitialised are moved as such.
            unsafe {
                let bytes = row_ptr(lane, first).cast::<MaybeUninit<u8>>();
                core::slice::from_raw_parts_mut(bytes, (len - first) as usize * size).rotate_left(size);
            }
        }
    }

    unsafe fn drop_rows(&mut self, rows: Range<u32>) {
        // SAFETY: the rows are initialised and not used again, by the caller's contract; those of a range differ.
        unsafe { self.drop_values(rows) };
    }
}
