//! The values of one component in one table or side.
//!
//! # Invariants
//!
//! A column is of plain bytes, an array for each lane, or of clones. [`Clones`] own the values in the rows that have a bit,
//! and end them.
#![allow(unsafe_code)]

use super::array::{Array, Dirty, From, Source, Undo};
use crate::alloc::try_vec;
use crate::change_detection::{Marks, Tick, Track};
use crate::component::{Cloning, ComponentInfo};
use crate::plain::Bytes;
use crate::sparse::Values;
use crate::storage::table::{ALIGNED_FOR_ALL, row_ptr};
use phalanx_store::AllocError;
use phalanx_store::raw::{Lane, Rows as _};

/// Where the values of a column lie in a world: the lanes, and which rows have a value.
#[derive(Clone, Copy)]
pub(super) struct BundlePtr<'a> {
    pub(super) info: &'a ComponentInfo,
    pub(super) lanes: &'a [Lane],
    pub(super) rows: u32,
    /// Where not all rows have a value, those that do.
    pub(super) has: Option<&'a dyn Fn(u32) -> bool>,
}

impl<'a> BundlePtr<'a> {
    /// The tick of the column, if it is tracked as a whole: the version of its last lane.
    pub(super) fn tick(&self) -> u64 {
        match (self.info.track, self.lanes.last()) {
            (Track::Column, Some(lane)) => lane.version(),
            _ => 0,
        }
    }

    /// Whether marks of rows are lost: they are kept in the first lane, and it has no memory.
    pub(super) fn is_blind(&self) -> bool {
        self.info.track == Track::Row && self.lanes.first().is_some_and(|lane| lane.row_size() == 0)
    }

    fn source(&self, lane: &Lane) -> Source<'a> {
        let ptr = lane.ptr().as_ptr().cast_const();
        let from = match self.has {
            None => From::Flat(ptr),
            Some(has) => From::Picked(ptr, has),
        };
        Source { rows: self.rows, row: lane.row_size(), from }
    }

    fn has(&self, row: u32) -> bool {
        self.has.is_none_or(|has| has(row))
    }
}

/// The values of a component as they were.
#[derive(Debug)]
pub(super) enum Column {
    Plain(Vec<Array>),
    Cloned(Clones),
}

/// What a column was before a change.
#[derive(Debug)]
pub(super) enum ColumnUndo {
    Plain(Vec<Option<Undo>>),
    /// The clones to be taken over; afterwards those that were there.
    Cloned(Clones),
}

impl ColumnUndo {
    pub(super) fn memory(&self) -> usize {
        match self {
            ColumnUndo::Plain(lanes) => {
                let undos = lanes.iter().flatten().map(Undo::memory).sum::<usize>();
                undos + lanes.capacity() * size_of::<Option<Undo>>()
            }
            ColumnUndo::Cloned(clones) => clones.memory(),
        }
    }
}

impl Column {
    /// A copy of the values, which can be copied.
    pub(super) fn try_new(place: BundlePtr<'_>) -> Result<Column, AllocError> {
        if place.info.bytes.bytes == Bytes::Unknown {
            return Ok(Column::Cloned(Clones::try_new(place)?));
        }
        let mut arrays = try_vec(place.lanes.len())?;
        for lane in place.lanes {
            arrays.push(Array::try_new(place.source(lane))?);
        }
        Ok(Column::Plain(arrays))
    }

    /// Returns the arrays of the lanes; none of clones.
    pub(super) fn arrays(&self) -> &[Array] {
        match self {
            Column::Plain(arrays) => arrays,
            Column::Cloned(_) => &[],
        }
    }

    /// Returns the marks of a row of a component that is tracked row by row. They are in the last lane.
    pub(super) fn marks(&self, row: u32) -> Option<Marks> {
        let [added, changed] = self.arrays().last()?.pair(row)?.map(Tick);
        Some(Marks { added, changed })
    }

    pub(super) fn memory(&self) -> usize {
        match self {
            Column::Plain(arrays) => arrays.iter().map(Array::memory).sum(),
            Column::Cloned(clones) => clones.memory(),
        }
    }

    /// What must be kept to come back from the values at a place, if they may differ. Nothing changes yet. `moved` says
    /// whether other rows have values, or there are more or fewer.
    pub(super) fn try_diff(
        &mut self,
        place: BundlePtr<'_>,
        dirty: Dirty<'_>,
        moved: bool,
    ) -> Result<Option<ColumnUndo>, AllocError> {
        match self {
            Column::Plain(arrays) => {
                if arrays.is_empty() || dirty.is_clean() && !moved {
                    return Ok(None);
                }
                let mut undos = try_vec(arrays.len())?;
                for (array, lane) in arrays.iter_mut().zip(place.lanes) {
                    undos.push(array.try_diff(place.source(lane), dirty)?);
                }
                Ok(undos.iter().any(Option::is_some).then_some(ColumnUndo::Plain(undos)))
            }
            Column::Cloned(_) if dirty.is_clean() && !moved => Ok(None),
            Column::Cloned(_) => Ok(Some(ColumnUndo::Cloned(Clones::try_new(place)?))),
        }
    }

    /// Takes over the values at a place. The other is the way back then.
    pub(super) fn commit(&mut self, place: BundlePtr<'_>, undo: &mut ColumnUndo) {
        match (self, undo) {
            (Column::Plain(arrays), ColumnUndo::Plain(undos)) => {
                for ((array, lane), undo) in arrays.iter_mut().zip(place.lanes).zip(undos) {
                    if let Some(undo) = undo {
                        array.commit(place.source(lane), undo);
                    }
                }
            }
            (Column::Cloned(clones), ColumnUndo::Cloned(other)) => core::mem::swap(clones, other),
            _ => unreachable!("a column is of one kind"),
        }
    }

    /// Goes back.
    pub(super) fn undo(&mut self, undo: &mut ColumnUndo) {
        match (self, undo) {
            (Column::Plain(arrays), ColumnUndo::Plain(undos)) => {
                for (array, undo) in arrays.iter_mut().zip(undos) {
                    if let Some(undo) = undo {
                        array.undo(undo);
                    }
                }
            }
            (Column::Cloned(clones), ColumnUndo::Cloned(other)) => core::mem::swap(clones, other),
            _ => unreachable!("a column is of one kind"),
        }
    }

    /// Lanes with copies of the values, room for so many rows, and what owns the values until they are taken.
    pub(super) fn try_revive(&self, info: &ComponentInfo, room: u32) -> Result<Clones, AllocError> {
        match self {
            Column::Cloned(clones) => clones.try_clone(info, room),
            Column::Plain(arrays) => {
                let mut values = Values::try_new(info)?;
                // SAFETY: nothing is in use.
                unsafe { values.try_resize(room)? };
                for (array, lane) in arrays.iter().zip(values.lanes()) {
                    // SAFETY: there is room for so many rows, and they are not where they come from.
                    unsafe {
                        core::ptr::copy_nonoverlapping(
                            array.bytes().as_ptr(),
                            lane.ptr().as_ptr(),
                            array.bytes().len(),
                        );
                    }
                }
                Ok(Clones { values, has: Vec::new() })
            }
        }
    }
}

/// Clones of values, in their rows.
#[derive(Debug)]
pub(super) struct Clones {
    values: Values,
    /// A bit for each row that has a value which must be ended.
    has: Vec<u64>,
}

/// Copies a row of all lanes but the first ones.
///
/// # Safety
///
/// It is within the capacity of both, which are of one component.
unsafe fn copy_lanes(from: &[Lane], to: &[Lane], row: u32, skip: usize) {
    for (from, to) in from.iter().zip(to).skip(skip) {
        // SAFETY: the caller's promise.
        unsafe { core::ptr::copy_nonoverlapping(row_ptr(from, row), row_ptr(to, row), from.row_size()) };
    }
}

/// The address of a value in its first lane.
///
/// # Safety
///
/// The row is within the capacity.
unsafe fn value(lanes: &[Lane], row: u32) -> *mut u8 {
    match lanes.first() {
        // SAFETY: the caller's promise.
        Some(lane) => unsafe { row_ptr(lane, row) },
        None => core::ptr::without_provenance_mut(ALIGNED_FOR_ALL.get()),
    }
}

impl Clones {
    /// Clones of the values at a place, which can be cloned.
    fn try_new(place: BundlePtr<'_>) -> Result<Clones, AllocError> {
        Clones::try_of(place, place.rows)
    }

    fn try_of(place: BundlePtr<'_>, room: u32) -> Result<Clones, AllocError> {
        let mut clones =
            Clones { values: Values::try_new(place.info)?, has: try_vec(place.rows.div_ceil(64) as usize)? };
        // SAFETY: nothing is in use.
        unsafe { clones.values.try_resize(room)? };
        clones.has.resize(clones.has.capacity().min(place.rows.div_ceil(64) as usize), 0);
        for row in (0..place.rows).filter(|row| place.has(*row)) {
            // SAFETY: there is a value, and room for another here, where nothing lives.
            unsafe {
                match place.info.clone {
                    // The lanes after it are marks.
                    Some(Cloning::Value(clone)) => {
                        clone(value(place.lanes, row), clones.values.at(row));
                        copy_lanes(place.lanes, clones.values.lanes(), row, 1);
                    }
                    _ => copy_lanes(place.lanes, clones.values.lanes(), row, 0),
                }
            }
            // It counts when it is there: a clone may panic.
            clones.has[row as usize / 64] |= 1 << (row % 64);
        }
        Ok(clones)
    }

    fn try_clone(&self, info: &ComponentInfo, room: u32) -> Result<Clones, AllocError> {
        let has = |row: u32| self.has[row as usize / 64] & 1 << (row % 64) != 0;
        let rows = (self.has.len() * 64).min(room as usize) as u32;
        Clones::try_of(BundlePtr { info, lanes: self.values.lanes(), rows, has: Some(&has) }, room)
    }

    pub(super) fn memory(&self) -> usize {
        self.values.bytes() + self.has.capacity() * 8
    }

    /// The lanes with the values, which are the caller's.
    pub(super) fn into_values(mut self) -> Values {
        self.has.clear();
        core::mem::replace(&mut self.values, Values::empty())
    }
}

impl Drop for Clones {
    fn drop(&mut self) {
        if !self.values.needs_drop() {
            return;
        }
        /// Ends the rest after a panic; a second aborts.
        struct Rest<'a>(&'a Values, &'a [u64], u32);
        impl Rest<'_> {
            fn run(&mut self) {
                while (self.2 as usize) < self.1.len() * 64 {
                    let row = self.2;
                    self.2 += 1;
                    if self.1[row as usize / 64] & 1 << (row % 64) != 0 {
                        // SAFETY: the value is there and nobody else's, and ends once.
                        unsafe { self.0.drop_value(row) };
                    }
                }
            }
        }
        impl Drop for Rest<'_> {
            fn drop(&mut self) {
                self.run();
            }
        }
        Rest(&self.values, &self.has, 0).run();
    }
}
