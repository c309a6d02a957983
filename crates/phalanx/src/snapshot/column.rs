//! [`Column`]: how the values of one component are written and read.
#![allow(unsafe_code)]

use super::codec::try_extend;
use super::column_builder::ColumnBuilder;
use super::error::{CodecError, INVALID, LoadError, Problem, SaveError};
use super::reader::Reader;
use super::runs::Runs;
use super::writer::Writer;
use crate::change_detection::RunTicks;
use crate::component::Component;
use crate::layout::{Layout, PlainLayout, Track};
use crate::storage::table::row_ptr;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use phalanx_store::raw::Lane;

/// Rows of a column that are written one after another.
#[derive(Clone, Copy)]
pub(super) struct ColumnRows<'a> {
    pub(super) lanes: *const Lane,
    pub(super) runs: Runs<'a>,
}

/// Writes and reads the columns of one component.
pub(super) trait Column: Send + Sync {
    /// Returns the name of the codec.
    fn codec(&self) -> &'static str;

    /// Returns `true` if equal values have equal bytes.
    fn is_canonical(&self) -> bool;

    /// Returns `true` if values are written as they are in memory, so that their layout must be the same when they are read.
    fn is_plain(&self) -> bool;

    /// Writes the values of some rows.
    ///
    /// # Safety
    ///
    /// The lanes are those of the component. The rows are in use, and not written meanwhile.
    unsafe fn write(
        &self,
        name: &'static str,
        sources: &[ColumnRows<'_>],
        out: &mut Writer<'_>,
    ) -> Result<(), SaveError>;

    /// Appends one value to a list of bytes.
    ///
    /// # Safety
    ///
    /// The lanes are those of the component. The row is in use, and not written meanwhile.
    unsafe fn encode(&self, lanes: *const Lane, row: u32, bytes: &mut Vec<u8>) -> Result<(), CodecError>;

    /// Reads all values of `builder`.
    ///
    /// # Safety
    ///
    /// `builder` is of this component.
    unsafe fn read(
        &self,
        name: &'static str,
        builder: &mut ColumnBuilder<'_>,
        input: &mut Reader<'_>,
    ) -> Result<(), LoadError>;
}

/// Returns the number of lanes of a component, without that of change ticks.
pub(super) const fn value_lanes<C: Component>() -> usize {
    C::Layout::LANES - if matches!(C::Layout::TRACK, Track::None) { 0 } else { 1 }
}

/// Values that are written as they are in memory, lane by lane.
pub(super) struct Plain<C>(pub(super) PhantomData<fn() -> C>);

/// Writes the rows of a lane as bytes.
///
/// # Safety
///
/// The rows are in use, have no padding, and are not written meanwhile.
unsafe fn write_lane(lane: &Lane, runs: Runs<'_>, out: &mut Writer<'_>) -> Result<(), SaveError> {
    for run in runs.iter() {
        let bytes = run.len() * lane.row_size();
        // SAFETY: the rows are in use, have no padding and are not written meanwhile, by the caller's contract.
        out.put(unsafe { core::slice::from_raw_parts(row_ptr(lane, run.start), bytes) })?;
    }
    Ok(())
}

impl<C: Component> Column for Plain<C>
where
    C::Layout: PlainLayout<C>,
{
    fn codec(&self) -> &'static str {
        "plain"
    }
    fn is_canonical(&self) -> bool {
        true
    }
    fn is_plain(&self) -> bool {
        true
    }

    unsafe fn write(&self, _: &'static str, sources: &[ColumnRows<'_>], out: &mut Writer<'_>) -> Result<(), SaveError> {
        // SAFETY: the rows are in use and not written meanwhile, by the caller's contract. Plain values have no padding.
        unsafe { write_lanes(value_lanes::<C>(), sources, out) }
    }

    unsafe fn encode(&self, lanes: *const Lane, row: u32, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
        // SAFETY: as in `write`, for one row.
        unsafe { extend_by_row(value_lanes::<C>(), lanes, row, bytes) }
    }

    unsafe fn read(
        &self,
        name: &'static str,
        builder: &mut ColumnBuilder<'_>,
        input: &mut Reader<'_>,
    ) -> Result<(), LoadError> {
        builder.read_lanes(value_lanes::<C>(), input)?;
        // The constant is evaluated in any case: its evaluation may check that there is no padding.
        if <C::Layout as PlainLayout<C>>::ANY_BYTES {
            return Ok(());
        }
        // SAFETY: the lanes were read just now.
        match unsafe { builder.find_invalid(value_lanes::<C>(), <C::Layout as PlainLayout<C>>::are_valid) } {
            None => Ok(()),
            Some(row) => Err(input.error(Problem::Value { name, row, error: INVALID })),
        }
    }
}

/// Writes the first `count` lanes as bytes, one after another.
///
/// # Safety
///
/// The columns have as many lanes. Their rows are in use, have no padding, and are not written meanwhile.
pub(super) unsafe fn write_lanes(
    count: usize,
    sources: &[ColumnRows<'_>],
    out: &mut Writer<'_>,
) -> Result<(), SaveError> {
    for lane in 0..count {
        for source in sources {
            // SAFETY: the column has the lane, and the rows are as `write_lane` asks, by the caller's contract.
            unsafe { write_lane(&*source.lanes.add(lane), source.runs, out)? };
        }
    }
    Ok(())
}

/// Appends a row of the first `count` lanes.
///
/// # Safety
///
/// As for [`write_lanes`].
pub(super) unsafe fn extend_by_row(
    count: usize,
    lanes: *const Lane,
    row: u32,
    bytes: &mut Vec<u8>,
) -> Result<(), CodecError> {
    for lane in 0..count {
        // SAFETY: the column has the lane, and the row is in use and not written, by the caller's contract.
        let value = unsafe {
            let lane = &*lanes.add(lane);
            core::slice::from_raw_parts(row_ptr(lane, row), lane.row_size())
        };
        try_extend(bytes, value)?;
    }
    Ok(())
}

/// Calls a function with the value at a row.
///
/// # Safety
///
/// The lanes are those of the component. The row is in use, and not written meanwhile.
pub(super) unsafe fn with_value<C: Component, T>(lanes: *const Lane, row: u32, see: impl FnOnce(&C) -> T) -> T {
    // SAFETY: the row is in use and not written, by the caller's contract. A value in several lanes is `Copy`, so that it can
    // be read without being moved out. Any other value is in the first lane, or has no size.
    unsafe {
        if C::Layout::COPY {
            let value = ManuallyDrop::new(C::Layout::read(C::Layout::ptr(lanes, RunTicks::READ), row as usize));
            return see(&value);
        }
        match size_of::<C>() {
            0 => see(core::ptr::NonNull::<C>::dangling().as_ref()),
            _ => see(&*row_ptr(&*lanes, row).cast::<C>()),
        }
    }
}
