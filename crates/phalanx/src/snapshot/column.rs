//! Columns of values without their types: where rows are touched.
//!
//! # Invariants
//!
//! A [`ColumnBuilder`] counts the values that were read into rows that nobody counts yet. Whoever reads holds one, and it ends them
//! if anything goes wrong; when all is there, it is forgotten and the rows are counted by their owner.
#![allow(unsafe_code)]

use super::codec::{Codec, try_extend};
use super::coded::read_blocks;
use super::error::{CodecError, INVALID, LoadError, NotDecoded, Problem, SaveError};
use super::format::{FRAME, PIECE};
use super::reader::Reader;
pub(super) use super::runs::Runs;
use super::writer::Writer;
use crate::alloc::try_vec;
use crate::change_detection::{Marks, RunTicks, Tick, marks};
use crate::component::{Component, ComponentInfo, DropFn};
use crate::layout::{Layout, PlainLayout, Track};
use crate::storage::table::{ALIGNED_FOR_ALL, row_ptr};
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use phalanx_store::AllocError;
use phalanx_store::raw::Lane;

/// Values that are read and not counted, and where the next ones go.
pub(super) struct ColumnBuilder<'a> {
    lanes: *mut Lane,
    lane_count: usize,
    drop: Option<DropFn>,
    runs: Runs<'a>,
    /// Values of the runs that are there, in their order; plain data of types, which needs no end, is not counted.
    count: u32,
}

impl<'a> ColumnBuilder<'a> {
    /// No values yet.
    ///
    /// # Safety
    ///
    /// The lanes are those of a component with this destructor; they stay where they are, and nothing lives in these rows.
    /// Nobody else uses the lanes. Where the rows are set bits, there is room for all of them.
    pub(super) unsafe fn new(lanes: *mut Lane, info: &ComponentInfo, runs: Runs<'a>) -> ColumnBuilder<'a> {
        ColumnBuilder { lanes, lane_count: info.lanes.len(), drop: info.drop, runs, count: 0 }
    }

    /// All values are there and have an owner.
    pub(super) fn keep(self) {
        core::mem::forget(self);
    }

    /// The first lane.
    pub(super) fn lane(&self) -> *const Lane {
        self.lanes
    }

    /// All values are there, and end if they find no owner.
    ///
    /// # Safety
    ///
    /// They are, in all rows.
    pub(super) unsafe fn all_there(&mut self) {
        self.count = self.runs.len();
    }

    /// How many values there are to be.
    pub(super) fn wanted(&self) -> u32 {
        self.runs.len()
    }

    fn lanes(&mut self) -> &mut [Lane] {
        match self.lane_count {
            0 => &mut [],
            // SAFETY: so many lanes are there, and nobody else uses them.
            count => unsafe { core::slice::from_raw_parts_mut(self.lanes, count) },
        }
    }

    /// Makes room up to a row.
    fn try_cover(&mut self, rows: u32) -> Result<(), AllocError> {
        let Runs::All(total) = self.runs else { return Ok(()) };
        for lane in self.lanes() {
            if lane.capacity() < rows {
                let room = believed(lane.capacity(), total, lane.row_size()).max(rows);
                // SAFETY: the lane grows; `&mut self` ends the use of older pointers.
                unsafe { lane.try_resize(room)? };
            }
        }
        Ok(())
    }

    /// Makes room for the marks of all values, and marks them.
    pub(super) fn try_mark(&mut self, track: Track, now: Tick) -> Result<(), AllocError> {
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
                    // SAFETY: the last lane is that of the marks, with room for these rows, which nobody else uses.
                    unsafe { marks(lane, row as usize).write(Marks::new(now)) };
                }
            }
        }
        Ok(())
    }

    /// The rows at which values are to be written.
    pub(super) fn places(&self) -> impl Iterator<Item = u32> + use<'a> {
        self.runs.rows()
    }
}

impl Drop for ColumnBuilder<'_> {
    fn drop(&mut self) {
        let Some(drop) = self.drop else { return };
        struct Rest<I: Iterator<Item = *mut u8>>(I, DropFn);
        impl<I: Iterator<Item = *mut u8>> Rest<I> {
            fn run(&mut self) {
                for value in self.0.by_ref() {
                    // SAFETY: the value was written, and nobody else owns it; it ends once.
                    unsafe { self.1(value) };
                }
            }
        }
        impl<I: Iterator<Item = *mut u8>> Drop for Rest<I> {
            fn drop(&mut self) {
                self.run();
            }
        }
        let (lanes, count) = (self.lanes, self.lane_count);
        let values = self.runs.rows().take(self.count as usize).map(|row| match count {
            0 => core::ptr::without_provenance_mut(ALIGNED_FOR_ALL.get()),
            // SAFETY: the row is in use in the component's lane.
            _ => unsafe { row_ptr(&*lanes, row) },
        });
        Rest(values, drop).run();
    }
}

/// Lanes of a component outside a world.
pub(super) struct Scratch {
    pub(super) lanes: Box<[Lane]>,
}

impl Scratch {
    pub(super) fn try_new<C: Component>() -> Result<Scratch, AllocError> {
        let mut lanes = try_vec(C::Layout::LANES)?;
        C::Layout::lanes(&mut |lane| lanes.push(Lane::new(lane)));
        Ok(Scratch { lanes: lanes.into_boxed_slice() })
    }
}

/// Rows of lanes that are written one after another.
#[derive(Clone, Copy)]
pub(super) struct ColumnRows<'a> {
    pub(super) lanes: *const Lane,
    pub(super) runs: Runs<'a>,
}

/// The columns of one component: how they are written and read.
pub(super) trait Column: Send + Sync {
    /// The name of the codec.
    fn codec(&self) -> &'static str;

    /// Whether equal values are equal bytes.
    fn is_canonical(&self) -> bool;

    /// Whether what lies in memory is what is written, so that it must be laid out the same.
    fn is_plain(&self) -> bool;

    /// Writes the values of these rows.
    ///
    /// # Safety
    ///
    /// The lanes are the component's; the rows are in use, and not written meanwhile.
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
    /// The lanes are the component's; the row is in use, and not written meanwhile.
    unsafe fn encode(&self, lanes: *const Lane, row: u32, bytes: &mut Vec<u8>) -> Result<(), CodecError>;

    /// Reads the values of all rows of `builder`, which counts them. Lanes grow where it says so.
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

/// How many lanes of a component have values: all but that of the marks.
pub(super) const fn value_lanes<C: Component>() -> usize {
    C::Layout::LANES - if matches!(C::Layout::TRACK, Track::None) { 0 } else { 1 }
}

/// Values as they are in memory, lane by lane.
pub(super) struct Plain<C>(pub(super) PhantomData<fn() -> C>);

/// Writes rows as bytes.
///
/// # Safety
///
/// The rows are in use, have no padding, and are not written meanwhile.
unsafe fn write_lane(lane: &Lane, runs: Runs<'_>, out: &mut Writer<'_>) -> Result<(), SaveError> {
    for run in runs.iter() {
        let bytes = run.len() * lane.row_size();
        // SAFETY: the caller's promise.
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
        // SAFETY: the caller's promise; the rows have no padding.
        unsafe { write_lanes(value_lanes::<C>(), sources, out) }
    }

    unsafe fn encode(&self, lanes: *const Lane, row: u32, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
        // SAFETY: as above.
        unsafe { extend_by_row(value_lanes::<C>(), lanes, row, bytes) }
    }

    unsafe fn read(
        &self,
        name: &'static str,
        builder: &mut ColumnBuilder<'_>,
        input: &mut Reader<'_>,
    ) -> Result<(), LoadError> {
        read_lanes(value_lanes::<C>(), builder, input)?;
        // The constant is evaluated in any case: it may be what checks that there is no padding.
        if <C::Layout as PlainLayout<C>>::ANY_BYTES {
            return Ok(());
        }
        // SAFETY: the rows of so many lanes were read just now.
        match unsafe { find_invalid(value_lanes::<C>(), builder, <C::Layout as PlainLayout<C>>::are_valid) } {
            None => Ok(()),
            Some(row) => Err(input.error(Problem::Value { name, row, error: INVALID })),
        }
    }
}

/// The number of the first value, in the order of the runs, one of whose lanes has bytes that are not valid.
///
/// # Safety
///
/// There are so many lanes, whose rows are initialised.
unsafe fn find_invalid(
    count: usize,
    builder: &mut ColumnBuilder<'_>,
    are_valid: fn(usize, &[u8]) -> bool,
) -> Option<u32> {
    let runs = builder.runs;
    let mut first: Option<u32> = None;
    for (at, lane) in builder.lanes()[..count].iter().enumerate() {
        // SAFETY: the caller's promise: the row is initialised, and nobody else uses it.
        let row = |row: u32| unsafe { core::slice::from_raw_parts(row_ptr(lane, row), lane.row_size()) };
        let mut before = 0;
        for run in runs.iter() {
            // SAFETY: as above; rows lie side by side.
            let bytes = unsafe { core::slice::from_raw_parts(row_ptr(lane, run.start), run.len() * lane.row_size()) };
            if !are_valid(at, bytes) {
                let found = run.clone().position(|at_row| !are_valid(at, row(at_row))).unwrap_or(0) as u32 + before;
                first = Some(first.map_or(found, |first| first.min(found)));
                break;
            }
            before += run.len() as u32;
        }
    }
    first
}

/// Writes the first lanes as bytes, one after another.
///
/// # Safety
///
/// There are so many, whose rows are in use, have no padding, and are not written meanwhile.
pub(super) unsafe fn write_lanes(
    count: usize,
    sources: &[ColumnRows<'_>],
    out: &mut Writer<'_>,
) -> Result<(), SaveError> {
    for lane in 0..count {
        for source in sources {
            // SAFETY: the caller's promise.
            unsafe { write_lane(&*source.lanes.add(lane), source.runs, out)? };
        }
    }
    Ok(())
}

/// Appends a row of the first lanes.
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
        // SAFETY: the caller's promise.
        let value = unsafe {
            let lane = &*lanes.add(lane);
            core::slice::from_raw_parts(row_ptr(lane, row), lane.row_size())
        };
        try_extend(bytes, value)?;
    }
    Ok(())
}

/// Reads the first lanes, whatever their bytes mean.
pub(super) fn read_lanes(
    count: usize,
    builder: &mut ColumnBuilder<'_>,
    input: &mut Reader<'_>,
) -> Result<(), LoadError> {
    let runs = builder.runs;
    for at in 0..count {
        for run in runs.iter() {
            let mut row = run.start;
            while row < run.end {
                let lane = &mut builder.lanes()[at];
                if let Runs::All(total) = runs
                    && lane.capacity() == row
                {
                    let room = believed(row, total, lane.row_size());
                    // SAFETY: the lane grows, and no older pointer into it is used.
                    input.alloc(unsafe { lane.try_resize(room) })?;
                }
                let end = run.end.min(lane.capacity());
                // SAFETY: there is room for these rows, in which nothing lives; they are bytes until somebody counts them.
                unsafe { fill(row_ptr(lane, row), (end - row) as usize * lane.row_size(), input)? };
                row = end;
            }
        }
    }
    Ok(())
}

/// How many rows to make room for when so many are there and the input says that there are `total`, each of which has
/// shown a key or slot of 4 bytes already: 16 times those, or twice of what was really read, or some frames.
fn believed(rows: u32, total: u32, size: usize) -> u32 {
    let size = size.max(1);
    let bytes = (total as usize).saturating_mul(64).max(4 * FRAME);
    let more = u32::try_from(bytes / size).unwrap_or(u32::MAX).max(1);
    rows.saturating_mul(2).max(more).max(rows.saturating_add(1)).min(total)
}

/// Reads bytes to where nothing was written yet.
///
/// # Safety
///
/// There is room for so many bytes, which nobody else uses.
unsafe fn fill(place: *mut u8, len: usize, input: &mut Reader<'_>) -> Result<(), LoadError> {
    let mut done = 0;
    while done < len {
        let buffered = input.buffered();
        // SAFETY: within the room; what a reader may look at is zeroed before.
        unsafe {
            let place = place.add(done);
            if !buffered.is_empty() {
                let now = buffered.len().min(len - done);
                core::ptr::copy_nonoverlapping(buffered.as_ptr(), place, now);
                input.consume(now);
                done += now;
            } else {
                let frame = input.next_frame()?;
                let (now, mut sum) = (frame.min(len - done), input.open());
                for at in (0..now).step_by(PIECE) {
                    let (place, now) = (place.add(at), PIECE.min(now - at));
                    place.write_bytes(0, now);
                    input.piece(&mut sum, core::slice::from_raw_parts_mut(place, now))?;
                }
                input.keep(&mut sum, frame - now)?;
                input.close(sum)?;
                done += now;
            }
        }
    }
    Ok(())
}

/// Calls a function with the value at a row.
///
/// # Safety
///
/// The lanes are the component's; the row is in use, and not written meanwhile.
pub(super) unsafe fn with_value<C: Component, T>(lanes: *const Lane, row: u32, see: impl FnOnce(&C) -> T) -> T {
    // SAFETY: the caller's promise. A value that lies in one lane, or nowhere, is shown in its place; one in several lanes
    // is `Copy`, and so can be read without being moved out.
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

/// Writes the next value of a column that is being read.
///
/// # Safety
///
/// `builder` is of this component, and `row` is the next of its rows.
pub(super) unsafe fn put_next<C: Component>(
    builder: &mut ColumnBuilder<'_>,
    row: u32,
    value: C,
) -> Result<(), AllocError> {
    builder.try_cover(row + 1)?;
    // SAFETY: there is room, and nothing lives in the row.
    unsafe { C::Layout::write(C::Layout::ptr(builder.lanes, RunTicks::READ), row as usize, value) };
    builder.count += 1;
    Ok(())
}

/// Has a function write the next value of a column that is being read, to its address; if it fails, there is none.
///
/// # Safety
///
/// `row` is the next of the rows of `builder`, whose values have an address. The function writes a value of the component, unless
/// it fails.
pub(super) unsafe fn put_next_with(
    builder: &mut ColumnBuilder<'_>,
    row: u32,
    write: impl FnOnce(*mut u8) -> Result<(), CodecError>,
) -> Result<(), NotDecoded> {
    builder.try_cover(row + 1)?;
    let place = match builder.lane_count {
        0 => core::ptr::without_provenance_mut(ALIGNED_FOR_ALL.get()),
        // SAFETY: there is room.
        _ => unsafe { row_ptr(&*builder.lanes, row) },
    };
    write(place)?;
    builder.count += 1;
    Ok(())
}

/// A column of an older version, in memory as `Old` is.
pub(super) struct FromPlain<Old, C, M>(pub(super) M, pub(super) PhantomData<fn(Old) -> C>);
/// A column of an older version, by a codec.
pub(super) struct FromCoded<Old, C, K, M>(pub(super) K, pub(super) M, pub(super) PhantomData<fn(Old) -> C>);

/// Reads a column of another type, of which each value is converted.
pub(super) trait Migration: Send + Sync {
    fn codec(&self) -> &'static str;

    /// Reads all rows of `builder`.
    ///
    /// # Safety
    ///
    /// `builder` is of the component that is converted to.
    unsafe fn read(
        &self,
        name: &'static str,
        builder: &mut ColumnBuilder<'_>,
        input: &mut Reader<'_>,
    ) -> Result<(), LoadError>;
}

impl<Old: Component, C: Component, M: Fn(Old) -> C + Send + Sync> Migration for FromPlain<Old, C, M>
where
    Old::Layout: PlainLayout<Old>,
{
    fn codec(&self) -> &'static str {
        "plain"
    }

    unsafe fn read(
        &self,
        name: &'static str,
        builder: &mut ColumnBuilder<'_>,
        input: &mut Reader<'_>,
    ) -> Result<(), LoadError> {
        let mut scratch = input.alloc(Scratch::try_new::<Old>())?;
        let (lanes, lane_count) = (scratch.lanes.as_mut_ptr(), scratch.lanes.len());
        let mut old = ColumnBuilder { lanes, lane_count, drop: None, runs: Runs::All(builder.runs.len()), count: 0 };
        // SAFETY: the lanes are of `Old`. Plain data is `Copy`: reading a value moves nothing out.
        unsafe { Plain::<Old>(PhantomData).read(name, &mut old, input)? };
        for (at, row) in builder.places().enumerate() {
            // SAFETY: the value was read just now, and is read once; the next row of `C`.
            input.alloc(unsafe {
                let value = Old::Layout::read(Old::Layout::ptr(lanes, RunTicks::READ), at);
                put_next(builder, row, (self.0)(value))
            })?;
        }
        Ok(())
    }
}

impl<Old: 'static, C: Component, K: Codec<Old>, M: Fn(Old) -> C + Send + Sync> Migration for FromCoded<Old, C, K, M> {
    fn codec(&self) -> &'static str {
        self.0.name()
    }

    unsafe fn read(
        &self,
        name: &'static str,
        builder: &mut ColumnBuilder<'_>,
        input: &mut Reader<'_>,
    ) -> Result<(), LoadError> {
        let mut rows = builder.places();
        read_blocks(&self.0, name, builder.runs.len(), input, |old: Old| match rows.next() {
            // SAFETY: the next row of this component.
            Some(row) => unsafe { put_next(builder, row, (self.1)(old)) },
            None => unreachable!("no more values are read than there are rows"),
        })
    }
}
