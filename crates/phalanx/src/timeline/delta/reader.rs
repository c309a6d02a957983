//! [`Reader`] and [`StateReader`]: read a delta.

use super::DeltaError;
use super::canonical::Canonical;
use super::numbering::Numbering;
use super::past_ticks::{PastTicks, apply_change};
use crate::alloc::{try_reserve, try_vec};
use crate::change_detection::{ComponentTicks, Tick, Track};
use crate::component::{ComponentId, Components};
use crate::layout::Kind;
use crate::resources::ResourceBytes;
use crate::signature::Signature;
use crate::sort::sort_short;
use crate::sparse::{Removal, SparseSetState, SparseStorages};
use crate::timeline::image::{ByteArray, Column, ColumnImage, Image, SparseImage, SparseState, TableImage, is_plain};
use core::ops::Range;
use phalanx_store::Entity;

fn damaged<T>(what: &'static str) -> Result<T, DeltaError> {
    Err(DeltaError::Damaged { what })
}

pub(super) const TRUNCATED: DeltaError = DeltaError::Damaged { what: "the delta is truncated" };

/// Reads the parts of a delta from the front of some bytes.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], DeltaError> {
        let (now, rest) = self.0.split_at_checked(count).ok_or(TRUNCATED)?;
        self.0 = rest;
        Ok(now)
    }

    fn chunk<const N: usize>(&mut self) -> Result<[u8; N], DeltaError> {
        let (now, rest) = self.0.split_first_chunk::<N>().ok_or(TRUNCATED)?;
        self.0 = rest;
        Ok(*now)
    }

    pub(super) fn u32(&mut self) -> Result<u32, DeltaError> {
        Ok(u32::from_le_bytes(self.chunk()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64, DeltaError> {
        Ok(u64::from_le_bytes(self.chunk()?))
    }

    pub(super) fn flag(&mut self) -> Result<bool, DeltaError> {
        match self.u32()? {
            number @ 0..2 => Ok(number == 1),
            _ => damaged("a flag that is neither 0 nor 1"),
        }
    }

    /// Reads the number of items that follow, each of which has at least `size` bytes.
    pub(super) fn count(&mut self, size: usize) -> Result<usize, DeltaError> {
        let count = self.u32()? as usize;
        if count > self.0.len() / size { Err(TRUNCATED) } else { Ok(count) }
    }

    /// Reads a list of numbers with its length.
    pub(super) fn u32s(&mut self) -> Result<Vec<u32>, DeltaError> {
        let count = self.count(4)?;
        let mut list = try_vec(count)?;
        for _ in 0..count {
            list.push(self.u32()?);
        }
        Ok(list)
    }

    /// Reads the resources that differ, each by its fingerprint, with its bytes if it is there.
    pub(super) fn resources(&mut self) -> Result<Vec<ResourceBytes<&'a [u8]>>, DeltaError> {
        let count = self.count(12)?;
        let mut list: Vec<ResourceBytes<&[u8]>> = try_vec(count)?;
        for _ in 0..count {
            let (fingerprint, is_there) = (self.u64()?, self.flag()?);
            if list.last().is_some_and(|(last, _)| *last >= fingerprint) {
                return damaged("resources that are out of order");
            }
            let bytes = match is_there {
                true => {
                    let count = self.u64()?;
                    Some(self.bytes(usize::try_from(count).map_err(|_| TRUNCATED)?)?)
                }
                false => None,
            };
            list.push((fingerprint, bytes));
        }
        Ok(list)
    }

    /// Reads an array, given the array of the first state, or none.
    fn array(&mut self, old: Option<&ByteArray>, row_size: usize) -> Result<ByteArray, DeltaError> {
        let empty = ByteArray::empty(row_size);
        let old = old.unwrap_or(&empty);
        let rows = self.u32()?;
        let count = self.count(8)?;
        let mut runs: Vec<(Range<u32>, &[u8])> = try_vec(count)?;
        // The rows before `known` are in the old array or in a run.
        let (mut known, mut last) = (old.rows(), 0);
        for _ in 0..count {
            let run = self.u32()?..self.u32()?;
            if run.start < last || run.start >= run.end || run.end > rows {
                return damaged("runs of rows that are empty, too long or out of order");
            }
            let bytes = self.bytes(run.len().checked_mul(row_size).ok_or(TRUNCATED)?)?;
            last = run.end;
            if run.start <= known {
                known = known.max(run.end);
            }
            runs.push((run, bytes));
        }
        match rows > known {
            true => damaged("rows without bytes"),
            false => Ok(old.try_patched(rows, &runs)?),
        }
    }
}

/// What happened to the values of a column.
struct Changes {
    /// The change tick of the column, or 0.
    tick: u64,
    /// The change of each row, if the component is tracked by row.
    rows: Option<ByteArray>,
}

/// Reads the second state of a delta, given the first.
pub(super) struct StateReader<'a, 'i> {
    pub(super) components: &'a Components,
    pub(super) numbering: &'a Numbering,
    pub(super) old: &'a Canonical<'a>,
    pub(super) past: &'a PastTicks<'a>,
    /// The tick at which the changes happen.
    pub(super) now: Tick,
    pub(super) input: &'a mut Reader<'i>,
}

impl StateReader<'_, '_> {
    /// Reads the second state without its groups. It is checked for lengths and orders only.
    pub(super) fn read(&mut self) -> Result<Image, DeltaError> {
        let base = self.old.image;
        let mut image = Image {
            words: self.input.array(Some(&base.words), base.words.row_size())?,
            free_list: self.input.array(Some(&base.free_list), base.free_list.row_size())?,
            reserved: [self.input.u32()?, self.input.u32()?],
            tables: Vec::new(),
            sparse: Vec::new(),
            groups: SparseStorages::new(0).try_group_image()?,
            components: Vec::new(),
            time: base.time.try_clone()?,
            ..*base
        };
        let count = self.input.count(12)?;
        let mut seen = try_vec(count)?;
        for stamp in 1..=count as u64 {
            let (is_extra, numbers) = (self.input.flag()?, self.input.u32s()?);
            let table = self.read_table(is_extra, &numbers, stamp)?;
            seen.push((is_extra, numbers));
            try_reserve(&mut image.tables, 1)?;
            image.tables.push(table);
        }
        sort_short(&mut seen);
        if seen.windows(2).any(|pair| pair[0] == pair[1]) {
            return damaged("two tables with the same components");
        }
        let mut last = None;
        for _ in 0..self.input.count(12)? {
            let number = self.input.u32()?;
            let Some(id) = self.numbering.id(number) else { return damaged("a storage of an unknown component") };
            if last.is_some_and(|last| last >= number) {
                return damaged("storages that are not in canonical order");
            }
            last = Some(number);
            let mut sparse = self.read_sparse(number, id)?;
            sparse.count_rows(&image.words);
            try_reserve(&mut image.sparse, 1)?;
            image.sparse.push(sparse);
        }
        Ok(image)
    }

    fn read_table(&mut self, is_extra: bool, numbers: &[u32], stamp: u64) -> Result<TableImage, DeltaError> {
        let mut signature = Signature::EMPTY;
        if is_extra {
            signature.try_insert(ComponentId::ROW)?;
        }
        if numbers.windows(2).any(|pair| pair[0] >= pair[1]) {
            return damaged("components of a table that are not in canonical order");
        }
        let mut ids = try_vec(numbers.len())?;
        for &number in numbers {
            let Some(id) = self.numbering.id(number) else { return damaged("a table with an unknown component") };
            if self.components.info(id).kind() != Kind::Table {
                return damaged("a table with a sparse component");
            }
            signature.try_insert(id)?;
            ids.push(id);
        }
        let was = self.old.table(is_extra, numbers);
        let slots = self.input.array(was.map(|was| &was.image.slots), size_of::<Entity>())?;
        let rows = slots.rows();
        if rows == 0 {
            return damaged("a table without rows");
        }
        let mut columns = try_vec(signature.len())?;
        if is_extra {
            let column = self.read_row_column(was.and_then(|was| was.row_arrays()), rows)?;
            columns.push(ColumnImage { restored: Default::default(), id: ComponentId::ROW, column, seen: 0, tick: 0 });
        }
        let first = usize::from(is_extra);
        for (at, (&number, &id)) in numbers.iter().zip(&ids).enumerate() {
            let was = was.map(|was| &was.image.columns[first + at]);
            let changes = self.read_changes(id, was.map(|was| was.tick), rows)?;
            let mut column = self.read_column(was.map(|was| &was.column), id, rows)?;
            if let Some(changes) = &changes.rows {
                let before = slots.pairs().map(|slot| self.past.of_table(slot, number));
                let ticks = before.zip(changes.bytes()).map(|(before, change)| apply_change(before, *change, self.now));
                self.push_ticks(&mut column, id, rows, (0..).zip(ticks))?;
            }
            columns.push(ColumnImage { restored: Default::default(), id, column, seen: 0, tick: changes.tick });
        }
        Ok(TableImage { is_restored: false, signature, slots, seen: 0, columns, stamp })
    }

    /// Reads the lanes of the reserved component of extra rows.
    fn read_row_column(&mut self, was: Option<[&ByteArray; 3]>, rows: u32) -> Result<Column, DeltaError> {
        let mut arrays = try_vec(3)?;
        for at in 0..3 {
            arrays.push(self.input.array(was.map(|was| was[at]), 8)?);
        }
        if arrays.iter().any(|array| array.rows() != rows) {
            return damaged("columns of different lengths");
        }
        let Some(labels) = self.numbering.try_resolve_labels(&arrays[1])? else {
            return damaged("an extra row whose key names an unknown component");
        };
        arrays[1] = labels;
        Ok(Column::Plain(arrays))
    }

    fn read_sparse(&mut self, number: u32, id: ComponentId) -> Result<SparseImage, DeltaError> {
        let was = self.old.sparse(number);
        let (state, row_size) = match self.components.info(id).kind() {
            Kind::Table => return damaged("a sparse storage for a table component"),
            Kind::Linear => (SparseState::Linear { rows: 0 }, size_of::<u64>()),
            Kind::Pool => {
                let removal = match self.input.u32()? {
                    0 => Removal::Swap,
                    1 => Removal::Ordered,
                    2 => Removal::Deferred,
                    _ => return damaged("an unknown removal policy"),
                };
                (SparseState::Pool(SparseSetState { removal, extra_rows: 0 }), size_of::<Entity>())
            }
        };
        let keys = self.input.array(was.map(|was| &was.keys), row_size)?;
        let rows = state.rows(&keys).ok_or(TRUNCATED)?;
        let changes = self.read_changes(id, was.map(|was| was.image.tick), rows)?;
        let mut column = self.read_column(was.map(|was| &was.image.column), id, rows)?;
        if let Some(changes) = &changes.rows {
            let past = self.past.try_of_sparse(number)?;
            let mut ticks: Vec<(u32, ComponentTicks)> = try_vec(rows as usize)?;
            state.for_each_value(&keys, |row, key| {
                let change = changes.bytes().get(row as usize).copied().unwrap_or(0);
                ticks.push((row, apply_change(past.get(row, key), change, self.now)));
            });
            self.push_ticks(&mut column, id, rows, ticks.into_iter())?;
        }
        Ok(SparseImage { restored: Default::default(), id, keys, column, state, tick: changes.tick, seen: [0, 0] })
    }

    /// Reads what happened to the values of a column, which had the tick `before`.
    fn read_changes(&mut self, id: ComponentId, before: Option<u64>, rows: u32) -> Result<Changes, DeltaError> {
        let none = Changes { tick: 0, rows: None };
        Ok(match self.components.info(id).track {
            Track::None => none,
            Track::Row => Changes { rows: Some(self.input.array(Some(&ByteArray::try_zeros(rows, 1)?), 1)?), ..none },
            Track::Column => {
                let is_changed = self.input.flag()?;
                let tick = match before.filter(|_| !is_changed) {
                    Some(before) => before,
                    None => before.unwrap_or(0) << 32 | u64::from(self.now.number()),
                };
                Changes { tick, ..none }
            }
        })
    }

    /// Reads the arrays of a column, without those of the change ticks of rows.
    fn read_column(&mut self, old: Option<&Column>, id: ComponentId, rows: u32) -> Result<Column, DeltaError> {
        let info = self.components.info(id);
        if !is_plain(id, info) {
            return match rows {
                0 => Ok(Column::try_empty(info)?),
                _ => Err(DeltaError::NotPlain { component: info.name() }),
            };
        }
        let lanes = if info.track == Track::Row { info.value_layouts() } else { &info.lanes };
        let mut arrays = try_vec(info.lanes.len())?;
        for (at, lane) in lanes.iter().enumerate() {
            let array = match lane.size() {
                0 => ByteArray::empty(0),
                size => self.input.array(old.and_then(|old| old.arrays().get(at)), size)?,
            };
            if lane.size() > 0 && array.rows() != rows {
                return damaged("columns of different lengths");
            }
            arrays.push(array);
        }
        Ok(Column::Plain(arrays))
    }

    /// Appends the lanes of change ticks to a column that lacks them.
    fn push_ticks(
        &self,
        column: &mut Column,
        id: ComponentId,
        rows: u32,
        ticks: impl Iterator<Item = (u32, ComponentTicks)>,
    ) -> Result<(), DeltaError> {
        let Column::Plain(arrays) = column else { return Ok(()) };
        if arrays.len() == self.components.info(id).lanes.len() {
            return Ok(());
        }
        let mut lanes = [ByteArray::try_zeros(rows, 4)?, ByteArray::try_zeros(rows, 4)?];
        for (row, ticks) in ticks {
            for (lane, tick) in lanes.iter_mut().zip([ticks.added, ticks.changed]) {
                if let Some(bytes) = lane.bytes_mut().as_chunks_mut::<4>().0.get_mut(row as usize) {
                    *bytes = tick.number().to_ne_bytes();
                }
            }
        }
        try_reserve(arrays, 2)?;
        arrays.extend(lanes);
        Ok(())
    }
}
