//! [`ByteArray`]: rows of plain bytes, copied from a world, and the way back to an earlier state of them.
//!
//! # Invariants
//!
//! A [`ByteArray`] has whole rows, all of them initialised. A [`ByteUndo`] belongs to the array that it was made of, in the
//! state after the change. Its runs are disjoint, ascending and below its number of rows, and `bytes` has exactly their bytes.
//! Before the change is committed, `bytes` may be empty, with capacity for all new rows: the commit then swaps the two.
//!
//! A run begins with a chunk, and ends with one or with the last row. If the number of rows changes, the chunks in which
//! either number ends are in a run, as far as they are below the earlier number. So a chunk that is in no run had the same
//! rows before.
//!
//! # Restoring
//!
//! An earlier state is restored from several undo records, the oldest first. The first that has an array has its number of
//! rows, and the first that has a chunk has its rows. `restored` has a bit for each such chunk.
#![allow(unsafe_code)]

use super::chunk_sums::ChunkSums;
use super::dirty::{Dirty, set_bits};
use crate::alloc::{try_reserve, try_reserve_at, try_vec};
use crate::storage::Location;
use core::ops::Range;
use phalanx_store::raw::Lane;
use phalanx_store::{AllocError, EntityPool};

/// Rows of bytes.
#[derive(Debug)]
pub(in crate::timeline) struct ByteArray {
    data: Vec<u8>,
    row_size: usize,
    /// The sums of its chunks, if they are kept.
    sums: Option<ChunkSums>,
    /// Whether an undo record has restored the number of rows.
    is_restored: bool,
    /// A bit for each chunk that an undo record has restored.
    restored: Vec<u64>,
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

    /// Returns the number of rows.
    pub(super) fn rows(&self) -> u32 {
        self.rows
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

    /// Returns `true` if the rows of the source are packed, and some of them are equal to those of an array.
    fn is_same_packed(&self, rows: Range<u32>, array: &ByteArray) -> bool {
        match self.data {
            SourceData::Packed(data) => data[byte_range(&rows, self.row_size)] == *array.run(&rows),
            _ => false,
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
    /// The sums of the chunks in the runs, if they are kept.
    sums: Vec<u64>,
}

impl ByteUndo {
    /// Returns the number of bytes that are allocated.
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity() + self.runs.capacity() * size_of::<Range<u32>>() + self.sums.capacity() * size_of::<u64>()
    }
}

/// Returns the chunks of some rows.
fn chunks_of(rows: &Range<u32>) -> Range<u32> {
    rows.start / Lane::CHUNK..rows.end.div_ceil(Lane::CHUNK)
}

/// Returns the rows of a chunk in an array of `rows` rows.
fn rows_of(chunk: u32, rows: u32) -> Range<u32> {
    chunk * Lane::CHUNK..(chunk + 1).saturating_mul(Lane::CHUNK).min(rows)
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
        Ok(ByteArray { data, ..ByteArray::empty(source.row_size) })
    }

    /// Returns a copy, without what an undo record has restored.
    pub(super) fn try_clone(&self) -> Result<ByteArray, AllocError> {
        ByteArray::try_from_bytes(&self.data, self.row_size)
    }

    /// Returns the number of bytes that are allocated.
    pub(super) fn memory(&self) -> usize {
        let sums = self.sums.as_ref().map_or(0, ChunkSums::memory);
        self.data.capacity() + self.restored.capacity() * size_of::<u64>() + sums
    }

    /// Computes the sums of all chunks, and keeps them from now on. Equal arrays with equal keys have equal sums.
    pub(super) fn try_keep_sums(&mut self, key: u64, has_holes: bool) -> Result<(), AllocError> {
        if self.sums.is_none() && self.row_size > 0 {
            let mut sums = ChunkSums::new(key, has_holes);
            let chunks = self.rows().div_ceil(Lane::CHUNK);
            sums.try_reserve(chunks)?;
            self.sums = Some(sums);
            self.sum_chunks(0..chunks);
        }
        Ok(())
    }

    /// Returns the sum of all chunks, or 0 if sums are not kept.
    pub(super) fn sum(&self) -> u64 {
        self.sums.as_ref().map_or(0, ChunkSums::total)
    }

    /// Returns `true` if the sums are those of the present bytes, or are not kept.
    pub(super) fn has_valid_sums(&self) -> bool {
        let bytes = |chunk: u32| &self.data[byte_range(&rows_of(chunk, self.rows()), self.row_size)];
        self.sums.as_ref().is_none_or(|sums| sums.is_valid(self.rows().div_ceil(Lane::CHUNK), bytes))
    }

    /// Computes the sums of some chunks again. There is capacity for those of all chunks.
    fn sum_chunks(&mut self, chunks: Range<u32>) {
        let rows = self.rows();
        if let Some(sums) = &mut self.sums {
            for chunk in chunks {
                sums.set(chunk, &self.data[byte_range(&rows_of(chunk, rows), self.row_size)]);
            }
        }
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
        if old != new {
            // The chunk in which either number ends, and those beyond the new number.
            let (start, done) = (old.min(new) / Lane::CHUNK * Lane::CHUNK, runs.last().map_or(0, |run| run.end));
            if old > start.max(done) {
                try_push_run(&mut runs, start.max(done)..old)?;
            }
        }
        if old == new && runs.is_empty() {
            return Ok(None);
        }
        let count = runs.iter().map(|run| run.len()).sum::<usize>();
        let new_chunks = new.div_ceil(Lane::CHUNK);
        if count > 0 && count >= old as usize / 8 * 7 {
            // Nearly all rows differ: the undo takes over the present block, and the new rows get another one.
            runs.clear();
            runs.push(0..old);
            let bytes = try_vec(new as usize * self.row_size)?;
            let sums = try_vec(if self.sums.is_some() { new_chunks as usize } else { 0 })?;
            return Ok(Some(ByteUndo { rows: old, runs, bytes, sums }));
        }
        let mut bytes = try_vec(count * self.row_size)?;
        for run in &runs {
            bytes.extend_from_slice(self.run(run));
        }
        let mut old_sums = Vec::new();
        if let Some(sums) = &mut self.sums {
            old_sums = try_vec(runs.iter().map(|run| chunks_of(run).len()).sum())?;
            runs.iter().for_each(|run| old_sums.extend_from_slice(sums.of(chunks_of(run))));
            sums.try_reserve(new_chunks)?;
        }
        try_reserve(&mut self.data, (new.saturating_sub(old)) as usize * self.row_size)?;
        Ok(Some(ByteUndo { rows: old, runs, bytes, sums: old_sums }))
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
        let chunks = source.rows.div_ceil(Lane::CHUNK);
        if undo.bytes.is_empty() && !undo.runs.is_empty() {
            core::mem::swap(&mut self.data, &mut undo.bytes);
            source.append_to(&mut self.data);
            if let Some(sums) = &mut self.sums {
                sums.swap(&mut undo.sums);
                self.sum_chunks(0..chunks);
            }
            return;
        }
        // The capacity was reserved by `try_diff`.
        self.data.resize(source.rows as usize * self.row_size, 0);
        let added = undo.rows.min(source.rows)..source.rows;
        let changed = undo.runs.iter().map(|run| run.start..run.end.min(source.rows)).filter(|run| !run.is_empty());
        for rows in changed.clone().chain([added.clone()]) {
            let bytes = byte_range(&rows, self.row_size);
            source.read(rows, &mut self.data[bytes]);
        }
        if let Some(sums) = &mut self.sums {
            sums.truncate(chunks);
            // The chunk in which new rows begin is in a run, if it has earlier rows.
            changed.for_each(|run| self.sum_chunks(chunks_of(&run)));
            self.sum_chunks(chunks_of(&added));
        }
    }
}

/// # Restoring
impl ByteArray {
    /// Forgets which chunks were restored.
    pub(super) fn begin_restore(&mut self) {
        self.is_restored = false;
        self.restored.clear();
    }

    /// Reserves what [`restore`](ByteArray::restore) needs, if `undo` is the first record for this array.
    pub(super) fn try_reserve_restore(&mut self, undo: &ByteUndo) -> Result<(), AllocError> {
        if !core::mem::replace(&mut self.is_restored, true) {
            let bytes = undo.rows as usize * self.row_size;
            let more = bytes.saturating_sub(self.data.len());
            try_reserve(&mut self.data, more)?;
            let chunks = undo.rows.div_ceil(Lane::CHUNK);
            try_reserve_at(&mut self.restored, chunks as usize / 64)?;
            self.sums.as_mut().map_or(Ok(()), |sums| sums.try_reserve(chunks))?;
        }
        Ok(())
    }

    /// Restores the chunks of a record that no earlier one has restored.
    ///
    /// [`try_reserve_restore`](ByteArray::try_reserve_restore) was called with all records in the same order, and
    /// [`begin_restore`](ByteArray::begin_restore) afterwards.
    pub(super) fn restore(&mut self, undo: &ByteUndo) {
        if !core::mem::replace(&mut self.is_restored, true) {
            self.data.resize(undo.rows as usize * self.row_size, 0);
            let chunks = undo.rows.div_ceil(Lane::CHUNK);
            self.restored.resize(chunks.div_ceil(64) as usize, 0);
            if let Some(sums) = &mut self.sums {
                sums.resize(chunks);
            }
        }
        let (rows, mut bytes, mut sums) = (self.rows(), &undo.bytes[..], &undo.sums[..]);
        for run in &undo.runs {
            for chunk in chunks_of(run) {
                let from = rows_of(chunk, run.end);
                let (saved, rest) = bytes.split_at(from.len() * self.row_size);
                bytes = rest;
                let sum = sums.split_off_first().copied();
                let to = rows_of(chunk, rows);
                if to.start >= rows || self.is_chunk_restored(chunk) {
                    continue;
                }
                self.restored[chunk as usize / 64] |= 1 << (chunk % 64);
                // A chunk with fewer rows than this one is in an older record.
                let to = byte_range(&(to.start..to.end.min(from.end)), self.row_size);
                self.data[to.clone()].copy_from_slice(&saved[..to.len()]);
                if let (Some(sums), Some(sum)) = (&mut self.sums, sum) {
                    sums.put(chunk, sum);
                }
            }
        }
    }

    fn is_chunk_restored(&self, chunk: u32) -> bool {
        self.restored.get(chunk as usize / 64).is_some_and(|word| word & 1 << (chunk % 64) != 0)
    }

    /// Returns the runs of rows to be copied to the rows of a world, so that these equal the array.
    ///
    /// `dirty` says which chunks may differ from the array as it was before records were restored.
    pub(super) fn try_rewrites(&self, world: ByteSource<'_>, dirty: Dirty<'_>) -> Result<Vec<Range<u32>>, AllocError> {
        let mut runs = Vec::new();
        let (rows, row_size) = (self.rows(), self.row_size);
        // Whole chunks that the world has. Rows beyond may have any value.
        let known = world.rows.min(rows) / Lane::CHUNK;
        let known = if world.rows >= rows { rows.div_ceil(Lane::CHUNK) } else { known };
        let (chunks, mut scratch) = (rows.div_ceil(Lane::CHUNK), Vec::new());
        let dirty_word = |at: u32| dirty.word(at);
        if matches!(dirty, Dirty::Any) && !matches!(world.data, SourceData::Packed(_)) {
            scratch = try_vec(Lane::CHUNK as usize * row_size)?;
            scratch.resize(scratch.capacity(), 0);
        }
        for first in (0..chunks).step_by(64) {
            let end = chunks.min(first + 64);
            let restored = self.restored.get(first as usize / 64).copied().unwrap_or(0);
            let beyond = if known >= end { 0 } else { u64::MAX << (known.max(first) - first) };
            let mut word = restored | beyond;
            match dirty_word(first / 64) {
                Some(bits) => word |= bits,
                None if word == 0 && world.is_same_packed(first * Lane::CHUNK..rows_of(end - 1, rows).end, self) => {}
                None => {
                    for chunk in first..end {
                        if word & 1 << (chunk - first) == 0 {
                            let rows = rows_of(chunk, rows);
                            if !world.is_same(rows.clone(), self.run(&rows), &mut scratch) {
                                word |= 1 << (chunk - first);
                            }
                        }
                    }
                }
            }
            for bit in set_bits(word).take_while(|bit| first + bit < chunks) {
                try_push_run(&mut runs, rows_of(first + bit, rows))?;
            }
        }
        Ok(runs)
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
        ByteArray { data: Vec::new(), row_size, sums: None, is_restored: false, restored: Vec::new() }
    }

    /// Creates an array of zeros.
    pub(in crate::timeline) fn try_zeros(rows: u32, row_size: usize) -> Result<ByteArray, AllocError> {
        let len = try_len(rows, row_size)?;
        let mut data = try_vec(len)?;
        data.resize(len, 0);
        Ok(ByteArray { data, ..ByteArray::empty(row_size) })
    }

    /// Copies bytes, which are whole rows.
    pub(in crate::timeline) fn try_from_bytes(bytes: &[u8], row_size: usize) -> Result<ByteArray, AllocError> {
        let mut data = try_vec(bytes.len())?;
        data.extend_from_slice(bytes);
        Ok(ByteArray { data, ..ByteArray::empty(row_size) })
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

    /// Returns the number at a position, where the contents are numbers of 32 bits.
    pub(in crate::timeline) fn number(&self, at: u32) -> Option<u32> {
        self.data.as_chunks::<4>().0.get(at as usize).map(|bytes| u32::from_ne_bytes(*bytes))
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

    /// Returns the runs of rows in which `other` differs from this array, which was restored from a copy of `other`.
    pub(in crate::timeline) fn try_differing_restored(&self, other: &ByteArray) -> Result<Vec<Range<u32>>, AllocError> {
        let source = ByteSource::packed(&other.data, other.row_size);
        let mut runs = Vec::new();
        for run in self.try_runs(source, Dirty::Chunks(&self.restored, &[]))? {
            for chunk in chunks_of(&run) {
                let rows = rows_of(chunk, run.end);
                if self.run(&rows) != other.run(&rows) {
                    try_push_run(&mut runs, rows)?;
                }
            }
        }
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
        Ok(ByteArray { data, ..ByteArray::empty(self.row_size) })
    }
}
