//! [`ChunkSums`]: the checksums of the chunks of an array.

use crate::alloc::try_reserve;
use core::ops::Range;
use phalanx_store::AllocError;
use phalanx_store::raw::Lane;
use twox_hash::XxHash3_64;

/// A checksum for each chunk of 128 rows of an array. It depends on the bytes, the key and the number of the chunk.
#[derive(Debug)]
pub(super) struct ChunkSums {
    key: u64,
    /// Whether rows are keys of a sparse set, of which holes count as zeros.
    has_holes: bool,
    list: Vec<u64>,
    /// The wrapping sum of the list.
    total: u64,
}

/// Scatters the bits of a number.
pub(in crate::timeline) const fn scatter(mut n: u64) -> u64 {
    n = (n ^ n >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    n = (n ^ n >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    n ^ n >> 31
}

/// Returns the sum of a chunk of an array with this key. If `has_holes` is set, rows are keys of a sparse set.
pub(in crate::timeline) fn chunk_sum(key: u64, has_holes: bool, chunk: u32, bytes: &[u8]) -> u64 {
    let hash = if has_holes { hash_keys(bytes) } else { XxHash3_64::oneshot(bytes) };
    scatter(hash ^ scatter(key.wrapping_add(scatter(u64::from(chunk) + 1))))
}

impl ChunkSums {
    pub(super) fn new(key: u64, has_holes: bool) -> ChunkSums {
        ChunkSums { key, has_holes, list: Vec::new(), total: 0 }
    }

    /// Reserves capacity for the sums of `chunks` chunks.
    pub(super) fn try_reserve(&mut self, chunks: u32) -> Result<(), AllocError> {
        let more = (chunks as usize).saturating_sub(self.list.len());
        try_reserve(&mut self.list, more)
    }

    /// Returns the sum of all chunks.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Returns the sums of some chunks.
    pub(super) fn of(&self, chunks: Range<u32>) -> &[u64] {
        &self.list[chunks.start as usize..chunks.end as usize]
    }

    /// Sets the number of chunks. Capacity is reserved.
    pub(super) fn resize(&mut self, chunks: u32) {
        self.truncate(chunks);
        self.list.resize(chunks as usize, 0);
    }

    /// Removes the chunks from a number on.
    pub(super) fn truncate(&mut self, chunks: u32) {
        let removed = self.list.drain((chunks as usize).min(self.list.len())..);
        self.total = removed.fold(self.total, u64::wrapping_sub);
    }

    /// Exchanges the list for an empty one.
    pub(super) fn swap(&mut self, list: &mut Vec<u64>) {
        core::mem::swap(&mut self.list, list);
        self.total = self.list.iter().fold(0, |sum, chunk| sum.wrapping_add(*chunk));
    }

    /// Sets the sum of a chunk, which may be the next one.
    pub(super) fn put(&mut self, chunk: u32, sum: u64) {
        if chunk as usize == self.list.len() {
            self.list.push(0);
        }
        let was = core::mem::replace(&mut self.list[chunk as usize], sum);
        self.total = self.total.wrapping_sub(was).wrapping_add(sum);
    }

    /// Computes the sum of a chunk from its bytes.
    pub(super) fn set(&mut self, chunk: u32, bytes: &[u8]) {
        self.put(chunk, self.sum_of(chunk, bytes));
    }

    fn sum_of(&self, chunk: u32, bytes: &[u8]) -> u64 {
        chunk_sum(self.key, self.has_holes, chunk, bytes)
    }

    /// Returns `true` if the sums are those of an array with this number of chunks.
    pub(super) fn is_valid<'a>(&self, chunks: u32, bytes: impl Fn(u32) -> &'a [u8]) -> bool {
        let sum = |chunk: u32| self.sum_of(chunk, bytes(chunk));
        let total = self.list.iter().fold(0, |total: u64, sum| total.wrapping_add(*sum));
        self.list.iter().copied().eq((0..chunks).map(sum)) && total == self.total
    }

    pub(super) fn memory(&self) -> usize {
        self.list.capacity() * size_of::<u64>()
    }
}

/// Returns the hash of the keys of a chunk, in which holes count as zeros.
fn hash_keys(bytes: &[u8]) -> u64 {
    let mut keys = [[0; 8]; Lane::CHUNK as usize];
    for (to, from) in keys.iter_mut().zip(bytes.as_chunks::<8>().0) {
        // The generation, in the second half, has its highest bit set.
        let generation = u32::from_ne_bytes([from[4], from[5], from[6], from[7]]);
        if generation & super::DEAD == 0 {
            *to = *from;
        }
    }
    XxHash3_64::oneshot(&keys.as_flattened()[..bytes.len()])
}
