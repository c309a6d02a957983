//! [`Writer`]: writes a delta.

use super::canonical::{SparseForm, TableForm};
use super::past_ticks::{PastTicks, change_of};
use crate::alloc::try_reserve;
use crate::change_detection::Track;
use crate::resources::ResourceBytes;
use crate::timeline::image::{ByteArray, Column, ComponentImage, SparseState};
use phalanx_store::AllocError;

/// Appends the parts of a delta to a list of bytes. The flag says that the first state was made from the second.
pub(super) struct Writer(pub(super) Vec<u8>, pub(super) bool);

impl Writer {
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Result<(), AllocError> {
        try_reserve(&mut self.0, bytes.len())?;
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    pub(super) fn u32(&mut self, number: u32) -> Result<(), AllocError> {
        self.bytes(&number.to_le_bytes())
    }

    pub(super) fn u64(&mut self, number: u64) -> Result<(), AllocError> {
        self.bytes(&number.to_le_bytes())
    }

    /// Writes a list of numbers with its length.
    pub(super) fn u32s(&mut self, numbers: &[u32]) -> Result<(), AllocError> {
        self.u32(numbers.len() as u32)?;
        numbers.iter().try_for_each(|number| self.u32(*number))
    }

    /// Writes the resources of the second state that differ from those of the first. Both lists are sorted.
    pub(super) fn resources(
        &mut self,
        old: &[ResourceBytes<Vec<u8>>],
        new: &[ResourceBytes<Vec<u8>>],
    ) -> Result<(), AllocError> {
        let is_same = |entry: &&ResourceBytes<Vec<u8>>| {
            let found = old.binary_search_by_key(&entry.0, |(fingerprint, _)| *fingerprint);
            found.is_ok_and(|at| old[at].1 == entry.1)
        };
        self.u32(new.iter().filter(|entry| !is_same(entry)).count() as u32)?;
        for (fingerprint, bytes) in new.iter().filter(|entry| !is_same(entry)) {
            self.u64(*fingerprint)?;
            self.u32(u32::from(bytes.is_some()))?;
            if let Some(bytes) = bytes {
                self.u64(bytes.len() as u64)?;
                self.bytes(bytes)?;
            }
        }
        Ok(())
    }

    /// Writes the runs of rows in which `new` differs from `old`, or from an empty array.
    pub(super) fn array(&mut self, old: Option<&ByteArray>, new: &ByteArray) -> Result<(), AllocError> {
        let empty = ByteArray::empty(new.row_size());
        let runs = match old.filter(|_| self.1) {
            Some(old) => old.try_differing_restored(new)?,
            None => old.unwrap_or(&empty).try_differing(new)?,
        };
        self.runs(&runs, new)
    }

    /// Writes some runs of rows of an array, and its number of rows.
    fn runs(&mut self, runs: &[core::ops::Range<u32>], new: &ByteArray) -> Result<(), AllocError> {
        self.u32(new.rows())?;
        self.u32(runs.len() as u32)?;
        for run in runs {
            self.u32(run.start)?;
            self.u32(run.end)?;
            self.bytes(new.run(run))?;
        }
        Ok(())
    }

    /// Writes the values of a column, without change ticks. A column that is not plain has no rows.
    fn column(&mut self, info: &ComponentImage, old: Option<&Column>, new: &Column) -> Result<(), AllocError> {
        let (Column::Plain(arrays), true) = (new, info.is_plain) else { return Ok(()) };
        let lanes = arrays.iter().take(info.lanes).enumerate();
        for (at, array) in lanes.filter(|(_, array)| array.row_size() > 0) {
            self.array(old.and_then(|old| old.arrays().get(at)), array)?;
        }
        Ok(())
    }

    /// Writes what happened to the values of a tracked column. `fill` sets the change of each row.
    fn changes(
        &mut self,
        track: Track,
        ticks: (Option<u64>, u64),
        rows: u32,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), AllocError> {
        match track {
            Track::None => Ok(()),
            Track::Column => self.u32(u32::from(ticks.0 != Some(ticks.1))),
            Track::Row => {
                let mut changes = ByteArray::try_zeros(rows, 1)?;
                fill(changes.bytes_mut());
                let runs = ByteArray::try_zeros(rows, 1)?.try_differing(&changes)?;
                self.runs(&runs, &changes)
            }
        }
    }

    /// Writes a table.
    pub(super) fn table<'a>(
        &mut self,
        table: &TableForm<'_>,
        old: Option<&TableForm<'_>>,
        past: &PastTicks<'_>,
        info: impl Fn(u32) -> &'a ComponentImage,
    ) -> Result<(), AllocError> {
        self.u32(u32::from(table.is_extra))?;
        self.u32s(&table.components)?;
        self.array(old.map(|old| &old.image.slots), &table.image.slots)?;
        let old_arrays = old.and_then(TableForm::row_arrays);
        for (at, array) in table.row_arrays().into_iter().flatten().enumerate() {
            self.array(old_arrays.map(|arrays| arrays[at]), array)?;
        }
        let first = usize::from(table.is_extra);
        for (at, (&number, image)) in table.components.iter().zip(&table.image.columns[first..]).enumerate() {
            let (info, was) = (info(number), old.map(|old| &old.image.columns[first + at]));
            let slots = &table.image.slots;
            self.changes(info.track, (was.map(|was| was.tick), image.tick), slots.rows(), |changes| {
                for ((row, slot), change) in (0..).zip(slots.pairs()).zip(changes) {
                    if let Some(now) = image.column.marks(row) {
                        *change = change_of(past.of_table(slot, number), now);
                    }
                }
            })?;
            self.column(info, was.map(|was| &was.column), &image.column)?;
        }
        Ok(())
    }

    /// Writes a sparse storage.
    pub(super) fn sparse(
        &mut self,
        sparse: &SparseForm<'_>,
        old: Option<&SparseForm<'_>>,
        past: &PastTicks<'_>,
        info: &ComponentImage,
    ) -> Result<(), AllocError> {
        self.u32(sparse.number)?;
        let image = sparse.image;
        if let SparseState::Pool(state) = &image.state {
            self.u32(state.removal as u32)?;
        }
        // The canonical form of keys was not restored.
        let empty = ByteArray::empty(sparse.keys.row_size());
        let runs = old.map_or(&empty, |old| &old.keys).try_differing(&sparse.keys)?;
        self.runs(&runs, &sparse.keys)?;
        let past = past.try_of_sparse(sparse.number)?;
        let rows = image.state.rows(&sparse.keys).unwrap_or(0);
        self.changes(info.track, (old.map(|old| old.image.tick), image.tick), rows, |changes| {
            image.state.for_each_value(&sparse.keys, |row, key| {
                if let (Some(now), Some(change)) = (image.column.marks(row), changes.get_mut(row as usize)) {
                    *change = change_of(past.get(row, key), now);
                }
            });
        })?;
        self.column(info, old.map(|old| &old.image.column), &image.column)
    }
}

impl SparseState {
    /// Returns the number of rows of the values, with these keys.
    pub(super) fn rows(&self, keys: &ByteArray) -> Option<u32> {
        match self {
            SparseState::Pool(_) => Some(keys.rows()),
            SparseState::Linear { .. } => keys.rows().checked_mul(64),
        }
    }

    /// Calls a function with the row of each value, and its key if this is a sparse set.
    pub(super) fn for_each_value(&self, keys: &ByteArray, mut each: impl FnMut(u32, Option<[u32; 2]>)) {
        match self {
            SparseState::Pool(_) => {
                let keys = (0..).zip(keys.pairs()).filter(|(_, key)| key[1] >> 31 == 0);
                keys.for_each(|(row, key)| each(row, Some(key)));
            }
            SparseState::Linear { .. } => keys.bits().for_each(|slot| each(slot, None)),
        }
    }
}
