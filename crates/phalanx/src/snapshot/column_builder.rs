//! [`ColumnBuilder`]: reads values into a column whose rows are not in use yet.
#![allow(unsafe_code)]

use super::declared_count::trusted_capacity;
use super::error::{CodecError, LoadError, NotDecoded};
use super::format::PIECE;
use super::reader::Reader;
use super::runs::Runs;
use crate::change_detection::{ComponentTicks, RunTicks, Tick, ticks_at};
use crate::component::{Component, ComponentInfo, DropFn};
use crate::layout::{Layout, Track};
use crate::storage::table::{ALIGNED_FOR_ALL, row_ptr};
use phalanx_store::AllocError;
use phalanx_store::raw::{Lane, drop_all};

/// A column that is being read. It owns the values that were read, and drops them unless it is [finished](Self::finish).
pub(super) struct ColumnBuilder<'a> {
    lanes: *mut Lane,
    lane_count: usize,
    drop: Option<DropFn>,
    runs: Runs<'a>,
    /// The number of values that were read, in the order of the runs. Plain values of types need no drop and are not counted.
    count: u32,
    /// The row from which the next value's row is searched.
    cursor: u32,
}

impl<'a> ColumnBuilder<'a> {
    /// Creates a builder without values.
    ///
    /// # Safety
    ///
    /// - The lanes are those of the component, and are neither moved nor used otherwise while the builder exists.
    /// - The rows of `runs` are not in use.
    /// - If the rows are given by bits, the lanes have the capacity for all of them.
    pub(super) unsafe fn new(lanes: *mut Lane, info: &ComponentInfo, runs: Runs<'a>) -> ColumnBuilder<'a> {
        ColumnBuilder { lanes, lane_count: info.lanes.len(), drop: info.drop, runs, count: 0, cursor: 0 }
    }

    /// Creates a builder of plain values in lanes of their own, which need no drop.
    pub(super) fn of_plain(lanes: &'a mut [Lane], rows: u32) -> ColumnBuilder<'a> {
        let (lanes, lane_count) = (lanes.as_mut_ptr(), lanes.len());
        ColumnBuilder { lanes, lane_count, drop: None, runs: Runs::All(rows), count: 0, cursor: 0 }
    }

    /// Gives up the values, which have another owner now.
    pub(super) fn finish(self) {
        core::mem::forget(self);
    }

    /// Returns the first lane.
    pub(super) fn lane(&self) -> *const Lane {
        self.lanes
    }

    /// Returns the number of values to read.
    pub(super) fn len(&self) -> u32 {
        self.runs.len()
    }

    /// Takes over the values of all rows.
    ///
    /// # Safety
    ///
    /// All rows have a value.
    pub(super) unsafe fn set_complete(&mut self) {
        self.count = self.runs.len();
    }

    fn lanes(&mut self) -> &mut [Lane] {
        match self.lane_count {
            0 => &mut [],
            // SAFETY: the component has as many lanes, which are not used otherwise, by the contract of `new`.
            count => unsafe { core::slice::from_raw_parts_mut(self.lanes, count) },
        }
    }

    /// Returns the row of the next value, after all lanes have the capacity for it.
    fn try_next_row(&mut self) -> Result<u32, AllocError> {
        let Some(row) = self.runs.next_row(self.cursor) else { unreachable!("more values than rows were read") };
        if let Runs::All(total) = self.runs {
            for lane in self.lanes() {
                if lane.capacity() <= row {
                    let capacity = trusted_capacity(lane.capacity(), total, lane.row_size()).max(row + 1);
                    // SAFETY: the lane grows. `&mut self` ends the use of older pointers.
                    unsafe { lane.try_resize(capacity)? };
                }
            }
        }
        self.cursor = row + 1;
        Ok(row)
    }

    /// Writes the next value.
    ///
    /// # Safety
    ///
    /// The builder is of the component `C`.
    pub(super) unsafe fn push<C: Component>(&mut self, value: C) -> Result<(), AllocError> {
        let row = self.try_next_row()?;
        // SAFETY: the lanes are those of `C`, by the caller's contract. They have the capacity, and the row is not in use.
        unsafe { C::Layout::write(C::Layout::ptr(self.lanes, RunTicks::READ), row as usize, value) };
        self.count += 1;
        Ok(())
    }

    /// Lets a function write the next value, given its address. If the function fails, no value is added.
    ///
    /// # Safety
    ///
    /// Values of the component are in one lane, or have no size. The function writes a value of the component, unless it
    /// fails.
    pub(super) unsafe fn push_with(
        &mut self,
        write: impl FnOnce(*mut u8) -> Result<(), CodecError>,
    ) -> Result<(), NotDecoded> {
        let row = self.try_next_row()?;
        write(self.value_ptr(row))?;
        self.count += 1;
        Ok(())
    }

    /// Returns the address of the value in a row.
    fn value_ptr(&mut self, row: u32) -> *mut u8 {
        match self.lanes().first() {
            None => core::ptr::without_provenance_mut(ALIGNED_FOR_ALL.get()),
            Some(lane) => {
                assert!(row < lane.capacity(), "no value is in row {row}");
                // SAFETY: the row is below the capacity.
                unsafe { row_ptr(lane, row) }
            }
        }
    }

    /// Sets the change ticks of all values.
    pub(super) fn try_set_ticks(&mut self, track: Track, now: Tick) -> Result<(), AllocError> {
        let runs = self.runs;
        let Some(lane) = self.lanes().last_mut() else { return Ok(()) };
        match track {
            Track::None => {}
            Track::Column => lane.set_version(now.number().into()),
            Track::Row => {
                if let Runs::All(rows) = runs
                    && lane.capacity() < rows
                {
                    // SAFETY: the lane grows, and no older pointer into it is used.
                    unsafe { lane.try_resize(rows)? };
                }
                for row in runs.rows() {
                    // SAFETY: the last lane is that of the change ticks. It has the capacity, and is not used otherwise, by the
                    // contract of `new`.
                    unsafe { ticks_at(lane, row as usize).write(ComponentTicks::new(now)) };
                }
            }
        }
        Ok(())
    }

    /// Reads the first `count` lanes. Their bytes need not be values, so that the values are not counted.
    pub(super) fn read_lanes(&mut self, count: usize, input: &mut Reader<'_>) -> Result<(), LoadError> {
        let runs = self.runs;
        for at in 0..count {
            for run in runs.iter() {
                let mut row = run.start;
                while row < run.end {
                    let lane = &mut self.lanes()[at];
                    if let Runs::All(total) = runs
                        && lane.capacity() == row
                    {
                        let capacity = trusted_capacity(row, total, lane.row_size());
                        // SAFETY: the lane grows, and no older pointer into it is used.
                        input.check(unsafe { lane.try_resize(capacity) })?;
                    }
                    let end = run.end.min(lane.capacity());
                    // SAFETY: the lane has the capacity for these rows, which are not in use. They are bytes until they are
                    // counted.
                    unsafe { fill(row_ptr(lane, row), (end - row) as usize * lane.row_size(), input)? };
                    row = end;
                }
            }
        }
        Ok(())
    }

    /// Returns the number of the first value, in the order of the runs, one of whose lanes has invalid bytes.
    ///
    /// # Safety
    ///
    /// The first `count` lanes were [read](ColumnBuilder::read_lanes).
    pub(super) unsafe fn find_invalid(&mut self, count: usize, are_valid: fn(usize, &[u8]) -> bool) -> Option<u32> {
        let runs = self.runs;
        let mut first: Option<u32> = None;
        for (at, lane) in self.lanes()[..count].iter().enumerate() {
            // SAFETY: rows of a run are contiguous. They were read, by the caller's contract, and are not used otherwise.
            let bytes = |start: u32, len: usize| unsafe {
                core::slice::from_raw_parts(row_ptr(lane, start), len * lane.row_size())
            };
            let mut before = 0;
            for run in runs.iter() {
                if !are_valid(at, bytes(run.start, run.len())) {
                    let found = run.clone().position(|row| !are_valid(at, bytes(row, 1))).unwrap_or(0) as u32 + before;
                    first = Some(first.map_or(found, |first| first.min(found)));
                    break;
                }
                before += run.len() as u32;
            }
        }
        first
    }
}

impl Drop for ColumnBuilder<'_> {
    fn drop(&mut self) {
        let Some(drop) = self.drop else { return };
        drop_all(self.runs.rows().take(self.count as usize), |row| {
            let value = self.value_ptr(row);
            // SAFETY: the value was written, belongs to the builder, and is dropped once.
            unsafe { drop(value) };
        });
    }
}

/// Reads bytes into uninitialised memory.
///
/// # Safety
///
/// `target` is valid for writes of `len` bytes, which are not used otherwise.
unsafe fn fill(target: *mut u8, len: usize, input: &mut Reader<'_>) -> Result<(), LoadError> {
    let mut done = 0;
    while done < len {
        let buffered = input.buffered();
        // SAFETY: `done` is below `len`, so that it is within the memory.
        let target = unsafe { target.add(done) };
        if !buffered.is_empty() {
            let now = buffered.len().min(len - done);
            // SAFETY: the memory has `len - done` bytes left, and is not the buffer of the input.
            unsafe { buffered.as_ptr().copy_to_nonoverlapping(target, now) };
            input.consume(now);
            done += now;
            continue;
        }
        let frame = input.next_frame()?;
        let (now, mut sum) = (frame.min(len - done), input.open());
        for at in (0..now).step_by(PIECE) {
            let now = PIECE.min(now - at);
            // SAFETY: the memory has these bytes, which are zeroed before a reader sees them.
            let piece = unsafe {
                target.add(at).write_bytes(0, now);
                core::slice::from_raw_parts_mut(target.add(at), now)
            };
            input.piece(&mut sum, piece)?;
        }
        input.keep(&mut sum, frame - now)?;
        input.close(sum)?;
        done += now;
    }
    Ok(())
}
