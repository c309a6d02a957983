//! Rows of plain bytes, and what must be written to have them as they were.
//!
//! # Invariants
//!
//! An [`Array`] has whole rows, all of them initialised. An [`Undo`] belongs to the array it was made of, as that is after the
//! change: its runs are disjoint, ascending and below its number of rows, and `bytes` has exactly their bytes. Before the
//! change is made, `bytes` may be empty, with room for the new rows: then the two are exchanged.
#![allow(unsafe_code)]

use crate::alloc::{try_reserve, try_vec};
use crate::world::Location;
use core::ops::Range;
use phalanx_store::raw::Lane;
use phalanx_store::{AllocError, EntityPool};

/// Rows of bytes.
#[derive(Debug)]
pub(super) struct Array {
    data: Vec<u8>,
    row: usize,
}

/// Where the rows of an array come from.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) rows: u32,
    pub(super) row: usize,
    pub(super) from: From<'a>,
}

#[derive(Clone, Copy)]
pub(super) enum From<'a> {
    /// SparseStorage by side, all initialised and without padding.
    Flat(*const u8),
    /// The words of slots.
    Words(&'a EntityPool<Location>),
    /// SparseStorage by side; only those that are picked are initialised. The others count as zeros.
    Picked(*const u8, &'a dyn Fn(u32) -> bool),
}

/// Which chunks may differ from a copy that was made before.
#[derive(Clone, Copy, Debug)]
pub(super) enum Dirty<'a> {
    /// Those with a bit in either list.
    Marked(&'a [u64], &'a [u64]),
    /// Any: they are to be compared.
    Any,
}

impl Dirty<'_> {
    pub(super) fn is_clean(&self) -> bool {
        match self {
            Dirty::Marked(a, b) => a.iter().chain(*b).all(|word| *word == 0),
            Dirty::Any => false,
        }
    }

    /// The chunks to be looked at, among so many.
    fn chunks(&self, count: u32) -> impl Iterator<Item = u32> + '_ {
        let word = move |at: usize| match self {
            Dirty::Marked(a, b) => a.get(at).copied().unwrap_or(0) | b.get(at).copied().unwrap_or(0),
            Dirty::Any => u64::MAX,
        };
        (0..count.div_ceil(64))
            .flat_map(move |at| {
                let mut bits = word(at as usize);
                core::iter::from_fn(move || {
                    let bit = bits.trailing_zeros();
                    (bits != 0).then(|| {
                        bits &= bits - 1;
                        at * 64 + bit
                    })
                })
            })
            .take_while(move |chunk| *chunk < count)
    }
}

impl Source<'_> {
    /// Writes the bytes of some rows.
    fn read(&self, rows: Range<u32>, out: &mut [u8]) {
        let (start, len) = (rows.start as usize * self.row, rows.len() * self.row);
        debug_assert!(rows.end <= self.rows && out.len() == len);
        if len == 0 {
            return;
        }
        match self.from {
            // SAFETY: so many rows are initialised there.
            From::Flat(ptr) => unsafe { core::ptr::copy_nonoverlapping(ptr.add(start), out.as_mut_ptr(), len) },
            From::Words(pool) => {
                for (word, out) in pool.words_in(rows).zip(out.chunks_exact_mut(4)) {
                    out.copy_from_slice(&word.to_ne_bytes());
                }
            }
            From::Picked(ptr, has) => {
                for (row, out) in rows.zip(out.chunks_exact_mut(self.row)) {
                    match has(row) {
                        // SAFETY: the row is initialised.
                        true => unsafe {
                            let from = ptr.add(row as usize * self.row);
                            core::ptr::copy_nonoverlapping(from, out.as_mut_ptr(), self.row);
                        },
                        false => out.fill(0),
                    }
                }
            }
        }
    }

    /// Whether some rows are these bytes.
    fn is_same(&self, rows: Range<u32>, bytes: &[u8], scratch: &mut [u8]) -> bool {
        match self.from {
            // SAFETY: so many rows are initialised there, none of their bytes is padding, and nobody writes them meanwhile.
            From::Flat(ptr) => unsafe {
                core::slice::from_raw_parts(ptr.add(rows.start as usize * self.row), bytes.len()) == bytes
            },
            _ => {
                let scratch = &mut scratch[..bytes.len()];
                self.read(rows, scratch);
                scratch == bytes
            }
        }
    }
}

/// What an array was before a change, where it is another now.
#[derive(Debug)]
pub(super) struct Undo {
    rows: u32,
    runs: Vec<Range<u32>>,
    bytes: Vec<u8>,
}

impl Undo {
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity() + self.runs.capacity() * size_of::<Range<u32>>()
    }
}

impl Array {
    /// A copy of all rows.
    pub(super) fn try_new(source: Source<'_>) -> Result<Array, AllocError> {
        let len = (source.rows as usize).checked_mul(source.row).ok_or(AllocError::CapacityOverflow)?;
        let mut array = Array { data: try_vec(len)?, row: source.row };
        match source.from {
            From::Flat(ptr) if len > 0 => {
                // SAFETY: so many bytes are initialised there.
                array.data.extend_from_slice(unsafe { core::slice::from_raw_parts(ptr, len) })
            }
            _ => {
                array.data.resize(len, 0);
                source.read(0..source.rows, &mut array.data);
            }
        }
        Ok(array)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.data
    }

    pub(super) fn rows(&self) -> u32 {
        self.data.len().checked_div(self.row).map_or(0, |rows| rows as u32)
    }

    pub(super) fn memory(&self) -> usize {
        self.data.capacity()
    }

    /// The rows as numbers of 32 bits.
    pub(super) fn words(&self) -> impl ExactSizeIterator<Item = u32> + Clone + '_ {
        debug_assert_eq!(self.row, 4);
        self.data.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]]))
    }

    fn bytes_of(&self, rows: &Range<u32>) -> &[u8] {
        &self.data[rows.start as usize * self.row..rows.end as usize * self.row]
    }

    /// What must be kept to come back from the rows of `source`, if they differ; and room for them. Nothing changes yet.
    pub(super) fn try_diff(&mut self, source: Source<'_>, dirty: Dirty<'_>) -> Result<Option<Undo>, AllocError> {
        if self.row == 0 {
            return Ok(None);
        }
        let (old, new) = (self.rows(), source.rows);
        let mut undo = Undo { rows: old, runs: Vec::new(), bytes: Vec::new() };
        self.try_runs(source, dirty, &mut undo)?;
        if old > new {
            undo.try_push(new..old)?;
        }
        if old == new && undo.runs.is_empty() {
            return Ok(None);
        }
        let count = undo.runs.iter().map(|run| run.len()).sum::<usize>();
        if count > 0 && count >= old as usize / 8 * 7 {
            // Nearly all of it: the rows themselves are kept, and the new ones come to lie in another block.
            undo.runs.clear();
            undo.runs.push(0..old);
            undo.bytes = try_vec(new as usize * self.row)?;
            return Ok(Some(undo));
        }
        undo.bytes = try_vec(count * self.row)?;
        for run in &undo.runs {
            undo.bytes.extend_from_slice(self.bytes_of(run));
        }
        try_reserve(&mut self.data, (new.saturating_sub(old)) as usize * self.row)?;
        Ok(Some(undo))
    }

    /// Finds the runs of rows that may differ, among those that both have.
    fn try_runs(&self, source: Source<'_>, dirty: Dirty<'_>, undo: &mut Undo) -> Result<(), AllocError> {
        /// Chunks that are compared at once: most are the same, and long comparisons are fast.
        const BLOCK: u32 = 32;
        let common = self.rows().min(source.rows);
        let rows_of = |first: u32, count: u32| first * Lane::CHUNK..((first + count) * Lane::CHUNK).min(common);
        let chunks = common.div_ceil(Lane::CHUNK);
        if let Dirty::Marked(..) = dirty {
            return dirty.chunks(chunks).try_for_each(|chunk| undo.try_push(rows_of(chunk, 1)));
        }
        let mut scratch = Vec::new();
        if !matches!(source.from, From::Flat(_)) {
            scratch = try_vec((BLOCK * Lane::CHUNK) as usize * self.row)?;
            scratch.resize(scratch.capacity(), 0);
        }
        let mut same = |rows: Range<u32>| source.is_same(rows.clone(), self.bytes_of(&rows), &mut scratch);
        for block in (0..chunks).step_by(BLOCK as usize) {
            if same(rows_of(block, BLOCK)) {
                continue;
            }
            for chunk in block..(block + BLOCK).min(chunks) {
                if !same(rows_of(chunk, 1)) {
                    undo.try_push(rows_of(chunk, 1))?;
                }
            }
        }
        Ok(())
    }

    /// Takes over the rows of `source`, from which the other is the way back.
    pub(super) fn commit(&mut self, source: Source<'_>, undo: &mut Undo) {
        // There is room.
        let len = source.rows as usize * self.row;
        if undo.bytes.is_empty() && !undo.runs.is_empty() {
            core::mem::swap(&mut self.data, &mut undo.bytes);
            match source.from {
                From::Flat(ptr) if len > 0 => {
                    // SAFETY: so many bytes are initialised there.
                    self.data.extend_from_slice(unsafe { core::slice::from_raw_parts(ptr, len) });
                }
                _ => {
                    self.data.resize(len, 0);
                    source.read(0..source.rows, &mut self.data);
                }
            }
            return;
        }
        self.data.resize(len, 0);
        if undo.rows < source.rows {
            source.read(undo.rows..source.rows, &mut self.data[undo.rows as usize * self.row..]);
        }
        for run in &undo.runs {
            let run = run.start..run.end.min(source.rows);
            if !run.is_empty() {
                source.read(run.clone(), &mut self.data[run.start as usize * self.row..run.end as usize * self.row]);
            }
        }
    }

    /// Goes back.
    pub(super) fn undo(&mut self, undo: &mut Undo) {
        if let [whole] = &undo.runs[..]
            && whole.len() * self.row == undo.bytes.len()
            && whole.len() == undo.rows as usize
        {
            core::mem::swap(&mut self.data, &mut undo.bytes);
            return;
        }
        // There is room: an array keeps the room that it had, and is exchanged only with one that it was.
        self.data.resize(undo.rows as usize * self.row, 0);
        let mut bytes = &undo.bytes[..];
        for run in &undo.runs {
            let (now, rest) = bytes.split_at(run.len() * self.row);
            self.data[run.start as usize * self.row..run.end as usize * self.row].copy_from_slice(now);
            bytes = rest;
        }
    }
}

impl Undo {
    /// Notes some rows, which come after those that were noted.
    fn try_push(&mut self, rows: Range<u32>) -> Result<(), AllocError> {
        match self.runs.last_mut().filter(|last| last.end == rows.start) {
            Some(last) => last.end = rows.end,
            None => {
                try_reserve(&mut self.runs, 1)?;
                self.runs.push(rows);
            }
        }
        Ok(())
    }
}

fn pair(bytes: &[u8]) -> [u32; 2] {
    let word = |bytes: &[u8]| u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    [word(bytes), word(&bytes[4..])]
}

impl Array {
    /// Where the bytes lie: as the source of another.
    pub(super) fn source(&self) -> Source<'_> {
        Source { rows: self.rows(), row: self.row, from: From::Flat(self.data.as_ptr()) }
    }

    /// Returns an array with a copy of these bytes, which are whole rows.
    pub(super) fn try_of(bytes: &[u8], row: usize) -> Result<Array, AllocError> {
        let mut data = try_vec(bytes.len())?;
        data.extend_from_slice(bytes);
        Ok(Array { data, row })
    }

    /// Returns an array of so many rows of zeros.
    pub(super) fn try_zeros(rows: u32, row: usize) -> Result<Array, AllocError> {
        let len = (rows as usize).checked_mul(row).ok_or(AllocError::CapacityOverflow)?;
        let mut data = try_vec(len)?;
        data.resize(len, 0);
        Ok(Array { data, row })
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.data
    }

    /// Returns the rows as pairs of numbers, of an array whose rows have 8 bytes.
    pub(super) fn pairs(&self) -> impl Iterator<Item = [u32; 2]> + '_ {
        self.data.chunks_exact(8).map(pair)
    }

    /// Returns a row as a pair of numbers.
    pub(super) fn pair(&self, row: u32) -> Option<[u32; 2]> {
        self.data.chunks_exact(8).nth(row as usize).map(pair)
    }

    /// Returns a copy in which the first number of each pair is what a function makes of it, if that is something.
    pub(super) fn try_mapped(&self, map: impl Fn(u32) -> Option<u32>) -> Result<Option<Array>, AllocError> {
        let mut copy = Array::try_of(&self.data, self.row)?;
        for bytes in copy.data.chunks_exact_mut(8) {
            let Some(first) = map(pair(bytes)[0]) else { return Ok(None) };
            bytes[..4].copy_from_slice(&first.to_ne_bytes());
        }
        Ok(Some(copy))
    }

    /// No rows of this size.
    pub(super) fn empty(row: usize) -> Array {
        Array { data: Vec::new(), row }
    }

    pub(super) fn row_size(&self) -> usize {
        self.row
    }

    /// The runs of rows in which another array differs from this one; what it has beyond is one of them.
    pub(super) fn try_differing(&self, other: &Array) -> Result<Vec<Range<u32>>, AllocError> {
        let mut undo = Undo { rows: 0, runs: Vec::new(), bytes: Vec::new() };
        self.try_runs(other.source(), Dirty::Any, &mut undo)?;
        if other.rows() > self.rows() {
            undo.try_push(self.rows()..other.rows())?;
        }
        Ok(undo.runs)
    }

    pub(super) fn run(&self, rows: &Range<u32>) -> &[u8] {
        self.bytes_of(rows)
    }

    /// A copy with so many rows, all of which are in the runs or there already; with the bytes of the runs.
    pub(super) fn try_patched(&self, rows: u32, runs: &[(Range<u32>, &[u8])]) -> Result<Array, AllocError> {
        let mut data = try_vec(rows as usize * self.row)?;
        data.extend_from_slice(self.bytes_of(&(0..rows.min(self.rows()))));
        data.resize(rows as usize * self.row, 0);
        for (run, bytes) in runs {
            data[run.start as usize * self.row..run.end as usize * self.row].copy_from_slice(bytes);
        }
        Ok(Array { data, row: self.row })
    }
}
