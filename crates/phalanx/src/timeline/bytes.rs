//! Arrays and columns as bytes, against those of another state.

use super::array::Array;
use super::column::{BundlePtr, Column};
use super::error::DeltaError;
use super::image::{Known, is_plain};
use crate::alloc::{try_reserve, try_vec};
use crate::change_detection::Track;
use crate::component::ComponentId;
use crate::world::World;
use core::ops::Range;
use phalanx_store::AllocError;

pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Result<(), AllocError> {
        try_reserve(&mut self.0, bytes.len())?;
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    pub(super) fn number(&mut self, number: u32) -> Result<(), AllocError> {
        self.bytes(&number.to_le_bytes())
    }

    pub(super) fn long(&mut self, number: u64) -> Result<(), AllocError> {
        self.bytes(&number.to_le_bytes())
    }

    pub(super) fn numbers(&mut self, numbers: &[u32]) -> Result<(), AllocError> {
        self.number(numbers.len() as u32)?;
        numbers.iter().try_for_each(|number| self.number(*number))
    }

    pub(super) fn array(&mut self, old: &Array, new: &Array) -> Result<(), AllocError> {
        let runs = old.try_differing(new)?;
        self.number(new.rows())?;
        self.number(runs.len() as u32)?;
        for run in &runs {
            self.number(run.start)?;
            self.number(run.end)?;
            self.bytes(new.run(run))?;
        }
        Ok(())
    }

    /// Writes the values of a column, without marks. Those of components that are not plain have no rows.
    pub(super) fn column(&mut self, known: &Known, old: Option<&Column>, new: &Column) -> Result<(), AllocError> {
        let (Column::Plain(arrays), true) = (new, known.is_plain) else { return Ok(()) };
        let lanes = arrays.iter().take(known.lanes).enumerate();
        for (at, array) in lanes.filter(|(_, array)| array.row_size() > 0) {
            match old {
                Some(Column::Plain(old)) => self.array(&old[at], array)?,
                _ => self.array(&Array::empty(array.row_size()), array)?,
            }
        }
        Ok(())
    }
}

pub(super) struct Reader<'a>(pub(super) &'a [u8]);

pub(super) const SHORT: DeltaError = DeltaError::Damaged { what: "the bytes end too early" };

impl<'a> Reader<'a> {
    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], DeltaError> {
        let (now, rest) = self.0.split_at_checked(count).ok_or(SHORT)?;
        self.0 = rest;
        Ok(now)
    }

    pub(super) fn number(&mut self) -> Result<u32, DeltaError> {
        let bytes = self.bytes(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    pub(super) fn long(&mut self) -> Result<u64, DeltaError> {
        Ok(u64::from(self.number()?) | u64::from(self.number()?) << 32)
    }

    pub(super) fn flag(&mut self) -> Result<bool, DeltaError> {
        match self.number()? {
            number @ 0..2 => Ok(number == 1),
            _ => Err(DeltaError::Damaged { what: "neither yes nor no" }),
        }
    }

    /// How many things follow, of at least so many bytes each.
    pub(super) fn count(&mut self, size: usize) -> Result<usize, DeltaError> {
        let count = self.number()? as usize;
        if count > self.0.len() / size { Err(SHORT) } else { Ok(count) }
    }

    pub(super) fn numbers(&mut self) -> Result<Vec<u32>, DeltaError> {
        let count = self.count(4)?;
        let mut list = try_vec(count)?;
        for _ in 0..count {
            list.push(self.number()?);
        }
        Ok(list)
    }

    pub(super) fn array(&mut self, old: &Array) -> Result<Array, DeltaError> {
        let (rows, row) = (self.number()?, old.row_size());
        let count = self.count(8)?;
        let mut runs: Vec<(Range<u32>, &[u8])> = try_vec(count)?;
        // Rows up to here are known.
        let (mut known, mut last) = (old.rows(), 0);
        for _ in 0..count {
            let run = self.number()?..self.number()?;
            if run.start < last || run.start >= run.end || run.end > rows {
                return Err(DeltaError::Damaged { what: "runs of rows that are no runs, or out of order" });
            }
            let bytes = self.bytes(run.len().checked_mul(row).ok_or(SHORT)?)?;
            last = run.end;
            if run.start <= known {
                known = known.max(run.end);
            }
            runs.push((run, bytes));
        }
        if rows > known {
            return Err(DeltaError::Damaged { what: "rows without bytes" });
        }
        Ok(old.try_patched(rows, &runs)?)
    }

    /// Returns the arrays of a column: as many as the component has lanes, without that of the marks of rows, of so many rows.
    pub(super) fn column(
        &mut self,
        old: Option<&Column>,
        world: &World,
        id: ComponentId,
        rows: u32,
    ) -> Result<Column, DeltaError> {
        let info = world.storage.components.info(id);
        if !is_plain(id, info) {
            return match rows {
                0 => empty_column(world, id),
                _ => Err(DeltaError::NotPlain { component: info.name() }),
            };
        }
        let lanes = if info.track == Track::Row { info.value_layouts() } else { &info.lanes };
        let mut arrays = try_vec(info.lanes.len())?;
        for (at, lane) in lanes.iter().enumerate() {
            let array = match old {
                _ if lane.size() == 0 => Array::empty(0),
                Some(Column::Plain(old)) => self.array(&old[at])?,
                _ => self.array(&Array::empty(lane.size()))?,
            };
            if lane.size() > 0 && array.rows() != rows {
                return Err(DeltaError::Damaged { what: "columns of different lengths" });
            }
            arrays.push(array);
        }
        Ok(Column::Plain(arrays))
    }
}

/// The column of a component without values.
fn empty_column(world: &World, id: ComponentId) -> Result<Column, DeltaError> {
    let info = world.storage.components.info(id);
    let mut lanes = try_vec(info.lanes.len())?;
    lanes.extend(info.lanes.iter().map(|row| phalanx_store::raw::Lane::new(*row)));
    Ok(Column::try_new(BundlePtr { info, lanes: &lanes, rows: 0, has: None })?)
}
