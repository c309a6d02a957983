//! [`Column`]: a copy of the values of one component in one table or sparse storage.
//!
//! # Invariants
//!
//! The lanes of a [`ColumnRef`] are those of its component, with capacity for its rows. The rows that `has` accepts, or all,
//! have a value, which is not written while the reference exists.
//!
//! A [`Column`] has plain bytes, an array for each lane, or clones. [`Clones`] own the values in the rows whose bit is set, and
//! drop them.
#![allow(unsafe_code)]

use super::byte_array::{ByteArray, ByteSource, ByteUndo};
use super::dirty::Dirty;
use crate::alloc::try_vec;
use crate::change_detection::{ComponentTicks, Tick, Track};
use crate::component::{Cloning, ComponentInfo, Components};
use crate::plain::Bytes;
use crate::sparse::{SparseStorage, Store, Values};
use crate::storage::table::{ALIGNED_FOR_ALL, Table};
use phalanx_store::AllocError;
use phalanx_store::raw::{Lane, Rows as _, drop_all, row_ptr};

/// The values of a component in a table or sparse storage of a world.
#[derive(Clone, Copy)]
pub(super) struct ColumnRef<'a> {
    info: &'a ComponentInfo,
    pub(super) lanes: &'a [Lane],
    rows: u32,
    /// Which rows have a value, if not all do.
    has: Option<&'a dyn Fn(u32) -> bool>,
}

impl<'a> ColumnRef<'a> {
    /// Returns the values of a column of a table, given by its position.
    pub(super) fn of_table(table: &'a Table, at: usize, components: &'a Components) -> ColumnRef<'a> {
        let column = &table.columns[at];
        let lanes = &table.lane_list()[column.first as usize..][..column.lanes as usize];
        ColumnRef { info: components.info(column.id), lanes, rows: table.len, has: None }
    }

    /// Calls a function with the values of a sparse storage.
    pub(super) fn with_sparse<R>(
        storage: &SparseStorage,
        components: &Components,
        f: impl FnOnce(ColumnRef<'_>) -> R,
    ) -> R {
        let (info, lanes) = (components.info(storage.id), storage.values().lanes());
        match &storage.store {
            Store::Pool(pool) => {
                let has = |at: u32| pool.dense.key_at(at).is_some();
                let has: Option<&dyn Fn(u32) -> bool> = if pool.dense.holes() > 0 { Some(&has) } else { None };
                f(ColumnRef { info, lanes, rows: pool.dense.positions(), has })
            }
            Store::Linear(linear) => {
                let has = |slot: u32| linear.has(slot);
                f(ColumnRef { info, lanes, rows: linear.used_words() * 64, has: Some(&has) })
            }
        }
    }

    /// Returns the first lane, which has the dirty bits of the column.
    pub(super) fn first_lane(&self) -> Option<&'a Lane> {
        self.lanes.first()
    }

    /// Returns the change tick of the column, or 0 if it is not tracked as a whole. It is the version of the last lane.
    pub(super) fn tick(&self) -> u64 {
        match (self.info.track, self.lanes.last()) {
            (Track::Column, Some(lane)) => lane.version(),
            _ => 0,
        }
    }

    /// Returns `true` if the column has no dirty bits although its rows have change ticks: the first lane has no memory.
    pub(super) fn lacks_dirty_bits(&self) -> bool {
        self.info.track == Track::Row && self.lanes.first().is_some_and(|lane| lane.row_size() == 0)
    }

    /// Returns a bit for each row that has a value.
    pub(super) fn try_present(&self) -> Result<Vec<u64>, AllocError> {
        let mut bits = try_vec(self.rows.div_ceil(64) as usize)?;
        bits.resize(self.rows.div_ceil(64) as usize, 0);
        (0..self.rows).filter(|row| self.has(*row)).for_each(|row| bits[row as usize / 64] |= 1 << (row % 64));
        Ok(bits)
    }

    /// Returns the rows of a lane of the column, whose values are plain.
    pub(super) fn source(&self, lane: &'a Lane) -> ByteSource<'a> {
        let (ptr, size) = (lane.ptr().as_ptr().cast_const(), lane.row_size());
        match self.has {
            // SAFETY: all rows have a value, by the invariant of the type. Plain values and change ticks have no padding.
            None => ByteSource::packed(unsafe { core::slice::from_raw_parts(ptr, self.rows as usize * size) }, size),
            // SAFETY: the rows that `has` accepts have a value, by the invariant of the type.
            Some(has) => unsafe { ByteSource::sparse(ptr, self.rows, size, has) },
        }
    }

    fn has(&self, row: u32) -> bool {
        self.has.is_none_or(|has| has(row))
    }
}

/// A copy of the values of a component.
#[derive(Debug)]
pub(in crate::timeline) enum Column {
    Plain(Vec<ByteArray>),
    Cloned(Clones),
}

/// The earlier state of the values of a column.
#[derive(Debug)]
pub(super) enum ValuesUndo {
    Plain(Vec<Option<ByteUndo>>),
    /// Before the commit the new clones, afterwards the earlier ones.
    Cloned(Clones),
}

impl ValuesUndo {
    pub(super) fn memory(&self) -> usize {
        match self {
            ValuesUndo::Plain(lanes) => {
                let undos = lanes.iter().flatten().map(ByteUndo::memory).sum::<usize>();
                undos + lanes.capacity() * size_of::<Option<ByteUndo>>()
            }
            ValuesUndo::Cloned(clones) => clones.memory(),
        }
    }
}

impl Column {
    /// Copies the values, which are plain or can be cloned.
    pub(super) fn try_new(from: ColumnRef<'_>) -> Result<Column, AllocError> {
        if from.info.bytes.bytes == Bytes::Unknown {
            return Ok(Column::Cloned(Clones::try_new(from)?));
        }
        let mut arrays = try_vec(from.lanes.len())?;
        for lane in from.lanes {
            arrays.push(ByteArray::try_new(from.source(lane))?);
        }
        Ok(Column::Plain(arrays))
    }

    /// Creates a column without rows.
    pub(in crate::timeline) fn try_empty(info: &ComponentInfo) -> Result<Column, AllocError> {
        if info.bytes.bytes == Bytes::Unknown {
            return Ok(Column::Cloned(Clones { values: Values::try_new(info)?, has: Vec::new() }));
        }
        let mut arrays = try_vec(info.lanes.len())?;
        arrays.extend(info.lanes.iter().map(|lane| ByteArray::empty(lane.size())));
        Ok(Column::Plain(arrays))
    }

    /// Returns the arrays of the lanes. There are none if the values are clones.
    pub(in crate::timeline) fn arrays(&self) -> &[ByteArray] {
        match self {
            Column::Plain(arrays) => arrays,
            Column::Cloned(_) => &[],
        }
    }

    /// Returns the arrays of the lanes, for writing.
    pub(super) fn arrays_mut(&mut self) -> &mut [ByteArray] {
        match self {
            Column::Plain(arrays) => arrays,
            Column::Cloned(_) => &mut [],
        }
    }

    /// Returns the change ticks of a row of a component that is tracked by row. They are in the last two lanes.
    pub(in crate::timeline) fn marks(&self, row: u32) -> Option<ComponentTicks> {
        let [.., added, changed] = self.arrays() else { return None };
        Some(ComponentTicks { added: Tick(added.number(row)?), changed: Tick(changed.number(row)?) })
    }

    pub(super) fn memory(&self) -> usize {
        match self {
            Column::Plain(arrays) => {
                arrays.iter().map(ByteArray::memory).sum::<usize>() + arrays.capacity() * size_of::<ByteArray>()
            }
            Column::Cloned(clones) => clones.memory(),
        }
    }

    /// Returns the way back from the values of `from`, if they may differ. Changes nothing but capacities. `moved` is `true`
    /// if other rows have values, or more or fewer rows.
    pub(super) fn try_diff(
        &mut self,
        from: ColumnRef<'_>,
        dirty: Dirty<'_>,
        moved: bool,
    ) -> Result<Option<ValuesUndo>, AllocError> {
        match self {
            Column::Plain(arrays) => {
                if arrays.is_empty() || dirty.is_clean() && !moved {
                    return Ok(None);
                }
                let mut undos = try_vec(arrays.len())?;
                for (array, lane) in arrays.iter_mut().zip(from.lanes) {
                    undos.push(array.try_diff(from.source(lane), dirty)?);
                }
                Ok(undos.iter().any(Option::is_some).then_some(ValuesUndo::Plain(undos)))
            }
            Column::Cloned(_) if dirty.is_clean() && !moved => Ok(None),
            Column::Cloned(_) => Ok(Some(ValuesUndo::Cloned(Clones::try_new(from)?))),
        }
    }

    /// Copies the values of `from` that differ. `undo` is the result of [`try_diff`](Column::try_diff) for them.
    pub(super) fn commit(&mut self, from: ColumnRef<'_>, undo: &mut ValuesUndo) {
        match (self, undo) {
            (Column::Plain(arrays), ValuesUndo::Plain(undos)) => {
                for ((array, lane), undo) in arrays.iter_mut().zip(from.lanes).zip(undos) {
                    if let Some(undo) = undo {
                        array.commit(from.source(lane), undo);
                    }
                }
            }
            (Column::Cloned(clones), ValuesUndo::Cloned(other)) => core::mem::swap(clones, other),
            _ => unreachable!("a column stays plain or cloned"),
        }
    }

    /// Restores what a record has and no earlier one had: chunks of arrays, or clones.
    pub(super) fn restore(&mut self, undo: &mut ValuesUndo, is_restored: &mut bool) {
        match (self, undo) {
            (Column::Plain(arrays), ValuesUndo::Plain(undos)) => {
                for (array, undo) in arrays.iter_mut().zip(undos) {
                    if let Some(undo) = undo {
                        array.restore(undo);
                    }
                }
            }
            (Column::Cloned(clones), ValuesUndo::Cloned(other)) => {
                if !core::mem::replace(is_restored, true) {
                    core::mem::swap(clones, other);
                }
            }
            _ => unreachable!("a column stays plain or cloned"),
        }
    }

    /// Returns copies of the values in lanes with capacity for `capacity` rows.
    pub(super) fn try_clone_values(&self, info: &ComponentInfo, capacity: u32) -> Result<Clones, AllocError> {
        match self {
            Column::Cloned(clones) => clones.try_clone(info, capacity),
            Column::Plain(arrays) => {
                let mut values = Values::try_new(info)?;
                values.try_reserve_exact(capacity)?;
                // SAFETY: the lanes are those of the component, and none of their rows is in use.
                unsafe { copy_arrays(arrays, values.lanes()) };
                Ok(Clones { values, has: Vec::new() })
            }
        }
    }
}

/// Clones of values, in their rows.
#[derive(Debug)]
pub(in crate::timeline) struct Clones {
    values: Values,
    /// A bit for each row whose value is to be dropped.
    has: Vec<u64>,
}

/// Copies arrays to the start of lanes.
///
/// # Safety
///
/// The lanes are those of the component that the arrays were copied from. Their rows are not in use.
///
/// # Panics
///
/// If a lane has too little capacity.
pub(super) unsafe fn copy_arrays(arrays: &[ByteArray], lanes: &[Lane]) {
    for (array, lane) in arrays.iter().zip(lanes) {
        let bytes = array.bytes();
        assert!(bytes.len() <= lane.capacity() as usize * lane.row_size(), "a lane has too little capacity");
        // SAFETY: the lane has the capacity, and its rows are not in use, by the caller's contract.
        unsafe { bytes.as_ptr().copy_to_nonoverlapping(lane.ptr().as_ptr(), bytes.len()) };
    }
}

/// Copies a row of all lanes but the first `skip`.
///
/// # Safety
///
/// The row is within the capacity of both lists of lanes, which are of one component.
unsafe fn copy_lanes(from: &[Lane], to: &[Lane], row: u32, skip: usize) {
    for (from, to) in from.iter().zip(to).skip(skip) {
        // SAFETY: the row is within the capacity of both lanes, by the caller's contract.
        unsafe { core::ptr::copy_nonoverlapping(row_ptr(from, row), row_ptr(to, row), from.row_size()) };
    }
}

/// Returns the address of a value.
fn value(lanes: &[Lane], row: u32) -> *mut u8 {
    match lanes.first() {
        Some(lane) => lane.row(row),
        None => core::ptr::without_provenance_mut(ALIGNED_FOR_ALL.get()),
    }
}

impl Clones {
    /// Clones values that can be cloned.
    fn try_new(from: ColumnRef<'_>) -> Result<Clones, AllocError> {
        Clones::try_with_capacity(from, from.rows)
    }

    fn try_with_capacity(from: ColumnRef<'_>, capacity: u32) -> Result<Clones, AllocError> {
        let mut clones = Clones { values: Values::try_new(from.info)?, has: try_vec(from.rows.div_ceil(64) as usize)? };
        clones.values.try_reserve_exact(capacity)?;
        clones.has.resize(clones.has.capacity().min(from.rows.div_ceil(64) as usize), 0);
        for row in (0..from.rows).filter(|row| from.has(*row)) {
            // SAFETY: the row has a value, by the invariant of `ColumnRef`. The lanes here have the capacity, and no value in this
            // row.
            unsafe {
                match from.info.clone {
                    // The other lanes hold change ticks.
                    Some(Cloning::Value(clone)) => {
                        clone(value(from.lanes, row), clones.values.at(row));
                        copy_lanes(from.lanes, clones.values.lanes(), row, 1);
                    }
                    _ => copy_lanes(from.lanes, clones.values.lanes(), row, 0),
                }
            }
            // The bit is set last, because a clone may panic.
            clones.has[row as usize / 64] |= 1 << (row % 64);
        }
        Ok(clones)
    }

    /// Returns clones of the same values, in the same rows.
    pub(super) fn try_copy(&self, info: &ComponentInfo) -> Result<Clones, AllocError> {
        self.try_clone(info, (self.has.len() * 64) as u32)
    }

    fn try_clone(&self, info: &ComponentInfo, capacity: u32) -> Result<Clones, AllocError> {
        let has = |row: u32| self.has[row as usize / 64] & 1 << (row % 64) != 0;
        let rows = (self.has.len() * 64).min(capacity as usize) as u32;
        let from = ColumnRef { info, lanes: self.values.lanes(), rows, has: Some(&has) };
        Clones::try_with_capacity(from, capacity)
    }

    pub(super) fn memory(&self) -> usize {
        self.values.bytes() + self.has.capacity() * 8
    }

    /// Returns the lanes with the values, to exchange them together with the [rows](Clones::set_rows) that have a value.
    pub(super) fn values_mut(&mut self) -> &mut Values {
        &mut self.values
    }

    /// Sets the rows whose values are dropped.
    ///
    /// # Safety
    ///
    /// The rows have values, which the clones own from now on. The values of other rows have another owner.
    pub(super) unsafe fn set_rows(&mut self, has: Vec<u64>) {
        self.has = has;
    }

    /// Returns the lanes with the values, which the caller owns from now on.
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
        let rows = (0..self.has.len() as u32 * 64).filter(|row| self.has[*row as usize / 64] & 1 << (row % 64) != 0);
        drop_all(rows, |row| {
            // SAFETY: the row has a value, which only the clones own, and which is dropped once.
            unsafe { self.values.drop_value(row) }
        });
    }
}
