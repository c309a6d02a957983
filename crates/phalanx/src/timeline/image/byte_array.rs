//! [`ByteArray`]: rows of plain bytes, copied from a world, and the way back to an earlier state of them.
//!
//! # Invariants
//!
//! A [`ByteArray`] has whole rows, all of them initialised. A [`ByteUndo`] belongs to the array that it was made of, in the
//! state after the change. Its runs are disjoint, ascending and below its number of rows, and `bytes` has exactly their bytes.
//! Before the change is committed, `bytes` may be empty, with capacity for all new rows: the commit then swaps the two.
#![allow(unsafe_code)]

use super::dirty::{Dirty, set_bits};
use crate::alloc::{try_reserve, try_vec};
use crate::storage::Location;
use core::ops::Range;
use phalanx_store::raw::Lane;
use phalanx_store::{AllocError, EntityPool};

/// Rows of bytes.
#[derive(Debug)]
pub(in crate::timeline) struct ByteArray {
    data: Vec<u8>,
    row_size: usize,
}

/// The rows of a world that an array is copied from.
#[derive(Clone, Copy)]
pub(super) struct ByteSource<'a> {
    rows: u32,
    row_size: usize,
    data: SourceData<'a>,
}

#[derive(Clone, Copy)]
enum SourceData<'a> {
    /// All rows, one after another.
    Packed(&'a [u8]),
    /// The word of each slot.
    Words(&'a EntityPool<Location>),
    /// Rows one after another, of which only those that the function accepts are initialised. The others count as zeros.
    Sparse(*const u8, &'a dyn Fn(u32) -> bool),
}

impl<'a> ByteSource<'a> {
    /// Creates a source of bytes that are whole rows.
    pub(super) fn packed(bytes: &'a [u8], row_size: usize) -> ByteSource<'a> {
        let rows = bytes.len().checked_div(row_size).map_or(0, |rows| rows as u32);
        ByteSource { rows, row_size, data: SourceData::Packed(bytes) }
    }

    /// Creates a source of the words of all slots.
    pub(super) fn words(entities: &'a EntityPool<Location>) -> ByteSource<'a> {
        ByteSource { rows: entities.slot_count() as u32, row_size: 4, data: SourceData::Words(entities) }
    }

    /// Creates a source of rows of which only some are initialised.
    ///
    /// # Safety
    ///
    /// The memory at `ptr` holds `rows` rows. A row that `has` accepts is initialised, and not written during `'a`.
    pub(super) unsafe fn sparse(
        ptr: *const u8,
        rows: u32,
        row_size: usize,
        has: &'a dyn Fn(u32) -> bool,
    ) -> ByteSource<'a> {
        ByteSource { rows, row_size, data: SourceData::Sparse(ptr, has) }
    }

    /// Copies some rows to `out`.
    fn read(&self, rows: Range<u32>, out: &mut [u8]) {
        let bytes = byte_range(&rows, self.row_size);
        debug_assert!(rows.end <= self.rows && out.len() == bytes.len());
        if bytes.is_empty() {
            return;
        }
        match self.data {
            SourceData::Packed(data) => out.copy_from_slice(&data[bytes]),
            SourceData::Words(entities) => {
                for (word, out) in entities.words_in(rows).zip(out.chunks_exact_mut(4)) {
                    out.copy_from_slice(&word.to_ne_bytes());
                }
            }
            SourceData::Sparse(ptr, has) => {
                for (row, out) in rows.zip(out.chunks_exact_mut(self.row_size)) {
                    match has(row) {
                        // SAFETY: the row is initialised, and `out` has the size of a row.
                        true => unsafe {
                            ptr.add(row as usize * self.row_size).copy_to_nonoverlapping(out.as_mut_ptr(), out.len());
                        },
                        false => out.fill(0),
                    }
                }
            }
        }
    }

    /// Appends all rows to `out`, which has the capacity.
    fn append_to(&self, out: &mut Vec<u8>) {
        match self.data {
            SourceData::Packed(data) => out.extend_from_slice(data),
            _ => {
                let start = out.len();
                out.resize(start + self.rows as usize * self.row_size, 0);
                self.read(0..self.rows, &mut out[start..]);
            }
        }
    }

    /// Returns `true` if some rows are equal to `bytes`.
    fn is_same(&self, rows: Range<u32>, bytes: &[u8], scratch: &mut [u8]) -> bool {
        match self.data {
            SourceData::Packed(data) => data[byte_range(&rows, self.row_size)] == *bytes,
            _ => {
                let scratch = &mut scratch[..bytes.len()];
                self.read(rows, scratch);
                scratch == bytes
            }
        }
    }
}

fn byte_range(rows: &Range<u32>, row_size: usize) -> Range<usize> {
    rows.start as usize * row_size..rows.end as usize * row_size
}

/// The earlier state of an array, where it differs.
#[derive(Debug)]
pub(super) struct ByteUndo {
    rows: u32,
    runs: Vec<Range<u32>>,
    bytes: Vec<u8>,
}

impl ByteUndo {
    /// Returns the number of bytes that are allocated.
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity() + self.runs.capacity() * size_of::<Range<u32>>()
    }
}

/// Appends rows to a list of runs whose rows are all before them.
fn try_push_run(runs: &mut Vec<Range<u32>>, rows: Range<u32>) -> Result<(), AllocError> {
    match runs.last_mut().filter(|last| last.end == rows.start) {
        Some(last) => last.end = rows.end,
        None => {
            try_reserve(runs, 1)?;
            runs.push(rows);
        }
    }
    Ok(())
}

/// # Copies of a world
impl ByteArray {
    /// Copies all rows of a source.
    pub(super) fn try_new(source: ByteSource<'_>) -> Result<ByteArray, AllocError> {
        let mut data = try_vec(try_len(source.rows, source.row_size)?)?;
        source.append_to(&mut data);
        Ok(ByteArray { data, row_size: source.row_size })
    }

    /// Returns the number of bytes that are allocated.
    pub(super) fn memory(&self) -> usize {
        self.data.capacity()
    }

    /// Returns the way back from the rows of `source`, if they differ, and reserves capacity for them. Changes nothing else.
    pub(super) fn try_diff(
        &mut self,
        source: ByteSource<'_>,
        dirty: Dirty<'_>,
    ) -> Result<Option<ByteUndo>, AllocError> {
        if self.row_size == 0 {
            return Ok(None);
        }
        let (old, new) = (self.rows(), source.rows);
        let mut runs = self.try_runs(source, dirty)?;
        if old > new {
            try_push_run(&mut runs, new..old)?;
        }
        if old == new && runs.is_empty() {
            return Ok(None);
        }
        let count = runs.iter().map(|run| run.len()).sum::<usize>();
        if count > 0 && count >= old as usize / 8 * 7 {
            // Nearly all rows differ: the undo takes over the present block, and the new rows get another one.
            runs.clear();
            runs.push(0..old);
            let bytes = try_vec(new as usize * self.row_size)?;
            return Ok(Some(ByteUndo { rows: old, runs, bytes }));
        }
        let mut bytes = try_vec(count * self.row_size)?;
        for run in &runs {
            bytes.extend_from_slice(self.run(run));
        }
        try_reserve(&mut self.data, (new.saturating_sub(old)) as usize * self.row_size)?;
        Ok(Some(ByteUndo { rows: old, runs, bytes }))
    }

    /// Returns the runs of rows that may differ, among the rows that both have.
    fn try_runs(&self, source: ByteSource<'_>, dirty: Dirty<'_>) -> Result<Vec<Range<u32>>, AllocError> {
        /// Chunks that are compared at once: most are the same, and long comparisons are fast.
        const BLOCK: u32 = 32;
        let mut runs = Vec::new();
        let common = self.rows().min(source.rows);
        let rows_of = |first: u32, count: u32| first * Lane::CHUNK..((first + count) * Lane::CHUNK).min(common);
        let chunks = common.div_ceil(Lane::CHUNK);
        if let Dirty::Chunks(..) = dirty {
            dirty.chunks(chunks).try_for_each(|chunk| try_push_run(&mut runs, rows_of(chunk, 1)))?;
            return Ok(runs);
        }
        let mut scratch = Vec::new();
        if !matches!(source.data, SourceData::Packed(_)) {
            scratch = try_vec((BLOCK * Lane::CHUNK) as usize * self.row_size)?;
            scratch.resize(scratch.capacity(), 0);
        }
        let mut same = |rows: Range<u32>| source.is_same(rows.clone(), self.run(&rows), &mut scratch);
        for block in (0..chunks).step_by(BLOCK as usize) {
            if same(rows_of(block, BLOCK)) {
                continue;
            }
            for chunk in block..(block + BLOCK).min(chunks) {
                if !same(rows_of(chunk, 1)) {
                    try_push_run(&mut runs, rows_of(chunk, 1))?;
                }
            }
        }
        Ok(runs)
    }

    /// Copies the rows of `source` that differ. `undo` is the result of [`try_diff`](ByteArray::try_diff) for it.
    pub(super) fn commit(&mut self, source: ByteSource<'_>, undo: &mut ByteUndo) {
        if undo.bytes.is_empty() && !undo.runs.is_empty() {
            core::mem::swap(&mut self.data, &mut undo.bytes);
            source.append_to(&mut self.data);
            return;
        }
        // The capacity was reserved by `try_diff`.
        self.data.resize(source.rows as usize * self.row_size, 0);
        let added = undo.rows.min(source.rows)..source.rows;
        let changed = undo.runs.iter().map(|run| run.start..run.end.min(source.rows)).filter(|run| !run.is_empty());
        for rows in changed.chain([added]) {
            let bytes = byte_range(&rows, self.row_size);
            source.read(rows, &mut self.data[bytes]);
        }
    }

    /// Restores the earlier state.
    pub(super) fn undo(&mut self, undo: &mut ByteUndo) {
        if let [whole] = &undo.runs[..]
            && whole.len() * self.row_size == undo.bytes.len()
            && whole.len() == undo.rows as usize
        {
            core::mem::swap(&mut self.data, &mut undo.bytes);
            return;
        }
        // Nothing is allocated: the array keeps its capacity, and is swapped with earlier states of itself only.
        self.data.resize(undo.rows as usize * self.row_size, 0);
        let mut bytes = &undo.bytes[..];
        for run in &undo.runs {
            let (now, rest) = bytes.split_at(run.len() * self.row_size);
            self.data[byte_range(run, self.row_size)].copy_from_slice(now);
            bytes = rest;
        }
    }
}

fn try_len(rows: u32, row_size: usize) -> Result<usize, AllocError> {
    (rows as usize).checked_mul(row_size).ok_or(AllocError::CapacityOverflow)
}

fn pair(bytes: &[u8; 8]) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = *bytes;
    [u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h])]
}

/// # Contents
impl ByteArray {
    /// Creates an array without rows.
    pub(in crate::timeline) fn empty(row_size: usize) -> ByteArray {
        ByteArray { data: Vec::new(), row_size }
    }

    /// Creates an array of zeros.
    pub(in crate::timeline) fn try_zeros(rows: u32, row_size: usize) -> Result<ByteArray, AllocError> {
        let len = try_len(rows, row_size)?;
        let mut data = try_vec(len)?;
        data.resize(len, 0);
        Ok(ByteArray { data, row_size })
    }

    /// Copies bytes, which are whole rows.
    pub(in crate::timeline) fn try_from_bytes(bytes: &[u8], row_size: usize) -> Result<ByteArray, AllocError> {
        let mut data = try_vec(bytes.len())?;
        data.extend_from_slice(bytes);
        Ok(ByteArray { data, row_size })
    }

    pub(in crate::timeline) fn bytes(&self) -> &[u8] {
        &self.data
    }

    pub(in crate::timeline) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.data
    }

    pub(in crate::timeline) fn row_size(&self) -> usize {
        self.row_size
    }

    /// Returns the number of rows. It is 0 if rows have no size.
    pub(in crate::timeline) fn rows(&self) -> u32 {
        self.data.len().checked_div(self.row_size).map_or(0, |rows| rows as u32)
    }

    /// Returns the bytes of some rows.
    pub(in crate::timeline) fn run(&self, rows: &Range<u32>) -> &[u8] {
        &self.data[byte_range(rows, self.row_size)]
    }

    /// Iterates over the contents as 32-bit numbers.
    pub(in crate::timeline) fn words(&self) -> impl DoubleEndedIterator<Item = u32> + ExactSizeIterator + Clone + '_ {
        self.data.as_chunks::<4>().0.iter().map(|word| u32::from_ne_bytes(*word))
    }

    /// Returns the 32-bit number at a position.
    pub(in crate::timeline) fn word(&self, at: u32) -> Option<u32> {
        self.data.as_chunks::<4>().0.get(at as usize).map(|word| u32::from_ne_bytes(*word))
    }

    /// Iterates over the contents as pairs of 32-bit numbers.
    pub(in crate::timeline) fn pairs(&self) -> impl Iterator<Item = [u32; 2]> + '_ {
        self.data.as_chunks::<8>().0.iter().map(pair)
    }

    /// Returns the pair at a position.
    pub(in crate::timeline) fn pair(&self, at: u32) -> Option<[u32; 2]> {
        self.data.as_chunks::<8>().0.get(at as usize).map(pair)
    }

    /// Iterates over the numbers of the bits that are set, where the contents are 64-bit words.
    pub(in crate::timeline) fn bits(&self) -> impl Iterator<Item = u32> + '_ {
        let words = (0..).zip(self.data.as_chunks::<8>().0);
        words.flat_map(|(at, word)| set_bits(u64::from_ne_bytes(*word)).map(move |bit| at * 64 + bit))
    }

    /// Returns `true` if a bit is set, where the contents are 64-bit words.
    pub(in crate::timeline) fn has_bit(&self, bit: u32) -> bool {
        let word = self.data.as_chunks::<8>().0.get(bit as usize / 64);
        word.is_some_and(|word| u64::from_ne_bytes(*word) & 1 << (bit % 64) != 0)
    }

    /// Returns a copy in which `map` has replaced the first number of each pair; `None` if `map` returns `None`.
    pub(in crate::timeline) fn try_map_first(
        &self,
        map: impl Fn(u32) -> Option<u32>,
    ) -> Result<Option<ByteArray>, AllocError> {
        let mut copy = ByteArray::try_from_bytes(&self.data, self.row_size)?;
        for bytes in copy.data.as_chunks_mut::<8>().0 {
            let Some(first) = map(pair(bytes)[0]) else { return Ok(None) };
            bytes[..4].copy_from_slice(&first.to_ne_bytes());
        }
        Ok(Some(copy))
    }

    /// Returns the runs of rows in which `other` differs from this array. Rows that only `other` has are one of them.
    pub(in crate::timeline) fn try_differing(&self, other: &ByteArray) -> Result<Vec<Range<u32>>, AllocError> {
        let mut runs = self.try_runs(ByteSource::packed(&other.data, other.row_size), Dirty::Any)?;
        if other.rows() > self.rows() {
            try_push_run(&mut runs, self.rows()..other.rows())?;
        }
        Ok(runs)
    }

    /// Returns a copy with `rows` rows and the bytes of the runs. Each row is in this array or in a run.
    pub(in crate::timeline) fn try_patched(
        &self,
        rows: u32,
        runs: &[(Range<u32>, &[u8])],
    ) -> Result<ByteArray, AllocError> {
        let mut data = try_vec(rows as usize * self.row_size)?;
        data.extend_from_slice(self.run(&(0..rows.min(self.rows()))));
        data.resize(rows as usize * self.row_size, 0);
        for (run, bytes) in runs {
            data[byte_range(run, self.row_size)].copy_from_slice(bytes);
        }
        Ok(ByteArray { data, row_size: self.row_size })
    }
}
