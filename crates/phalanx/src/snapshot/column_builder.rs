//! [`ColumnBuilder`]: reads values into a column whose rows are not in use yet.
//!
//! # Invariants
//!
//! - The lanes are those of the component, and nothing else uses them while the builder exists.
//! - The first `count` rows, in the order of the runs, have values, which belong to the builder.
//! - If the rows are given by bits, the lanes have capacity for all of them.
#![allow(unsafe_code)]

use super::column::value_lanes;
use super::column_rows::{ColumnRows, Identity};
use super::declared_count::trusted_capacity;
use super::error::{CodecError, INVALID, LoadError, NotDecoded, Problem};
use super::format::PIECE;
use super::reader::Reader;
use crate::alloc::try_reserve;
use crate::change_detection::{RunTicks, Tick, write_ticks};
use crate::component::{Component, ComponentInfo};
use crate::layout::{Layout, PlainLayout, Track};
use crate::runs::Runs;
use crate::storage::table::ALIGNED_FOR_ALL;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use phalanx_store::AllocError;
use phalanx_store::raw::{Lane, as_uninit, drop_all};

/// A column that is being read. It owns the values that were read, and drops them unless it is [finished](Self::finish).
pub(super) struct ColumnBuilder<'a> {
    lanes: *mut Lane,
    lane_count: usize,
    component: Identity,
    runs: Runs<'a>,
    /// The number of values that were read, in the order of the runs.
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
        let (lane_count, component) = (info.lanes.len(), Identity::of(info));
        ColumnBuilder { lanes, lane_count, component, runs, count: 0, cursor: 0 }
    }

    /// Creates a builder of a component, in lanes of its own.
    pub(super) fn try_of(
        lanes: &'a mut Vec<Lane>,
        info: &ComponentInfo,
        rows: u32,
    ) -> Result<ColumnBuilder<'a>, AllocError> {
        let new = |each: &mut dyn FnMut(core::alloc::Layout)| info.lanes.iter().for_each(|lane| each(*lane));
        ColumnBuilder::try_in(lanes, Identity::of(info), new, rows)
    }

    /// Creates a builder of a component's type, in lanes of its own.
    pub(super) fn try_of_type<C: Component>(
        lanes: &'a mut Vec<Lane>,
        rows: u32,
    ) -> Result<ColumnBuilder<'a>, AllocError> {
        ColumnBuilder::try_in(lanes, Identity::of_type::<C>(), |each| C::Layout::lanes(each), rows)
    }

    fn try_in(
        lanes: &'a mut Vec<Lane>,
        component: Identity,
        each: impl FnOnce(&mut dyn FnMut(core::alloc::Layout)),
        rows: u32,
    ) -> Result<ColumnBuilder<'a>, AllocError> {
        lanes.clear();
        let mut reserved = Ok(());
        each(&mut |row| {
            reserved = reserved.and_then(|()| try_reserve(lanes, 1));
            if reserved.is_ok() {
                lanes.push(Lane::new(row));
            }
        });
        reserved?;
        let (lanes, lane_count) = (lanes.as_mut_ptr(), lanes.len());
        Ok(ColumnBuilder { lanes, lane_count, component, runs: Runs::All(rows), count: 0, cursor: 0 })
    }

    /// Gives up the values, which have another owner now.
    pub(super) fn finish(self) {
        core::mem::forget(self);
    }

    /// Returns the values that were read.
    ///
    /// # Panics
    ///
    /// Panics if not all values were read, and the rows are given by bits.
    pub(super) fn rows(&mut self) -> ColumnRows<'_> {
        let (component, runs) = match self.runs {
            Runs::All(_) => (self.component.untracked(), Runs::All(self.count)),
            runs => (self.component.untracked(), runs),
        };
        assert!(self.count == runs.len(), "values that were not read");
        // SAFETY: the lanes are those of the component, whose rows have values. The builder is borrowed.
        unsafe { ColumnRows::new(self.lanes(), component, runs) }
    }

    /// Returns the builder of a component's type.
    ///
    /// # Panics
    ///
    /// Panics if it is of another component.
    pub(super) fn of_type<C: Component>(&mut self) -> TypedBuilder<'_, 'a, C> {
        self.component.check_type::<C>();
        TypedBuilder { builder: self, component: PhantomData }
    }

    /// Returns the builder of a run-time component.
    ///
    /// # Panics
    ///
    /// Panics if it is of another component.
    pub(super) fn of_run_time(&mut self, info: &ComponentInfo) -> RunTimeBuilder<'_, 'a> {
        let component = self.component;
        component.check_run_time(self.lanes(), info);
        RunTimeBuilder(self)
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
                    lane.try_reserve_exact(capacity)?;
                }
            }
        }
        self.cursor = row + 1;
        Ok(row)
    }

    /// Returns the address of the value in a row.
    fn value_ptr(&mut self, row: u32) -> *mut u8 {
        match self.lanes().first() {
            None => core::ptr::without_provenance_mut(ALIGNED_FOR_ALL.get()),
            Some(lane) => lane.row(row),
        }
    }

    /// Sets the change ticks of all values.
    pub(super) fn try_set_ticks(&mut self, now: Tick) -> Result<(), AllocError> {
        let (runs, track) = (self.runs, self.component.track);
        let lanes = self.lanes();
        let values = lanes.len() - track.lanes();
        match track {
            Track::None => {}
            Track::Column => lanes[values].set_version(now.number().into()),
            Track::Row => {
                if let Runs::All(rows) = runs {
                    lanes[values..].iter_mut().try_for_each(|lane| lane.try_reserve_exact(rows))?;
                }
                for row in runs.rows() {
                    // SAFETY: they are the lanes of the component. The row is within the capacity of those of ticks, and not used
                    // otherwise.
                    unsafe { write_ticks(lanes, row as usize, now) };
                }
            }
        }
        Ok(())
    }

    /// Reads the first `count` lanes. Their bytes need not be values, so that the values are not counted.
    fn read_lanes(&mut self, count: usize, input: &mut Reader<'_>) -> Result<(), LoadError> {
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
                        input.check(lane.try_reserve_exact(capacity))?;
                    }
                    let end = run.end.min(lane.capacity());
                    let bytes = (end - row) as usize * lane.row_size();
                    // SAFETY: the lane has the capacity for these rows, which are not in use. They are bytes until they are
                    // counted.
                    fill(unsafe { core::slice::from_raw_parts_mut(lane.row(row).cast(), bytes) }, input)?;
                    row = end;
                }
            }
        }
        Ok(())
    }
}

impl Drop for ColumnBuilder<'_> {
    fn drop(&mut self) {
        let Some(drop) = self.component.drop else { return };
        drop_all(self.runs.rows().take(self.count as usize), |row| {
            let value = self.value_ptr(row);
            // SAFETY: the value was written, belongs to the builder, and is dropped once.
            unsafe { drop(value) };
        });
    }
}

/// A builder that is known to be of the component `C`.
pub(super) struct TypedBuilder<'b, 'a, C> {
    builder: &'b mut ColumnBuilder<'a>,
    component: PhantomData<C>,
}

impl<C: Component> TypedBuilder<'_, '_, C> {
    /// Returns the number of values to read.
    pub(super) fn len(&self) -> u32 {
        self.builder.runs.len()
    }

    /// Writes the next value.
    pub(super) fn push(&mut self, value: C) -> Result<(), AllocError> {
        let row = self.builder.try_next_row()?;
        // SAFETY: the lanes are those of `C`. They have the capacity, and the row is not in use.
        unsafe { C::Layout::write(C::Layout::ptr(self.builder.lanes, RunTicks::READ), row as usize, value) };
        self.builder.count += 1;
        Ok(())
    }

    /// Reads all values as they are in memory, lane by lane.
    pub(super) fn read_plain(&mut self, name: &'static str, input: &mut Reader<'_>) -> Result<(), LoadError>
    where
        C::Layout: PlainLayout<C>,
    {
        self.builder.read_lanes(value_lanes::<C>(), input)?;
        // The constant is evaluated in any case: its evaluation may check that there is no padding.
        if !<C::Layout as PlainLayout<C>>::ANY_BYTES
            && let Some(row) = self.find_invalid()
        {
            return Err(input.error(Problem::Value { name, row, error: INVALID }));
        }
        self.builder.count = self.builder.runs.len();
        Ok(())
    }

    /// Returns the number of the first value, in the order of the runs, one of whose lanes has invalid bytes. All lanes were
    /// read.
    fn find_invalid(&mut self) -> Option<u32>
    where
        C::Layout: PlainLayout<C>,
    {
        let (are_valid, runs) = (<C::Layout as PlainLayout<C>>::are_valid, self.builder.runs);
        let mut first: Option<u32> = None;
        for (at, lane) in self.builder.lanes()[..value_lanes::<C>()].iter().enumerate() {
            // SAFETY: rows of a run are contiguous. Their bytes were read, and are not used otherwise.
            let bytes =
                |start: u32, len: usize| unsafe { core::slice::from_raw_parts(lane.row(start), len * lane.row_size()) };
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

/// A builder that is known to be of a certain run-time component.
pub(super) struct RunTimeBuilder<'b, 'a>(&'b mut ColumnBuilder<'a>);

impl RunTimeBuilder<'_, '_> {
    /// Returns the number of values to read.
    pub(super) fn len(&self) -> u32 {
        self.0.runs.len()
    }

    /// Lets a function write the next value, given its address. If the function fails, no value is added.
    ///
    /// # Safety
    ///
    /// The function writes a value of the component, unless it fails.
    pub(super) unsafe fn push_with(
        &mut self,
        write: impl FnOnce(*mut u8) -> Result<(), CodecError>,
    ) -> Result<(), NotDecoded> {
        let row = self.0.try_next_row()?;
        write(self.0.value_ptr(row))?;
        self.0.count += 1;
        Ok(())
    }

    /// Reads all values as they are in memory.
    ///
    /// # Safety
    ///
    /// Any bytes are a value of the component.
    pub(super) unsafe fn read_plain(&mut self, input: &mut Reader<'_>) -> Result<(), LoadError> {
        self.0.read_lanes(self.0.lane_count, input)?;
        self.0.count = self.0.runs.len();
        Ok(())
    }
}

/// Reads bytes into uninitialised memory.
fn fill(mut target: &mut [MaybeUninit<u8>], input: &mut Reader<'_>) -> Result<(), LoadError> {
    while !target.is_empty() {
        let buffered = input.buffered();
        if !buffered.is_empty() {
            let now = buffered.len().min(target.len());
            let (part, rest) = target.split_at_mut(now);
            part.copy_from_slice(as_uninit(&buffered[..now]));
            input.consume(now);
            target = rest;
            continue;
        }
        let frame = input.next_frame()?;
        let (part, rest) = target.split_at_mut(frame.min(target.len()));
        let (now, mut sum) = (part.len(), input.open());
        for piece in part.chunks_mut(PIECE) {
            if !input.copy_piece(&mut sum, piece)? {
                piece.fill(MaybeUninit::new(0));
                // SAFETY: all bytes were set just now. A reader sees bytes that are initialised.
                let piece = unsafe { core::slice::from_raw_parts_mut(piece.as_mut_ptr().cast::<u8>(), piece.len()) };
                input.piece(&mut sum, piece)?;
            }
        }
        input.keep(&mut sum, frame - now)?;
        input.close(sum)?;
        target = rest;
    }
    Ok(())
}
