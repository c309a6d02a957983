//! Sorting packed keys by their digits.
//!
//! A packed key has the number to sort by in its upper 32 bits and the row in the lower ones. Rows are packed in
//! ascending order and every pass is stable, so the lower bits need no pass of their own.

use super::sort::try_vec;
use crate::AllocError;
use alloc::vec::Vec;
use core::mem;

/// The number of bits per digit. Wider digits need fewer passes, but with thousands of buckets every write would miss the
/// address cache.
const BITS: u32 = 8;
const BUCKETS: usize = 1 << BITS;
const SHIFTS: [u32; 4] = [32, 32 + BITS, 32 + 2 * BITS, 32 + 3 * BITS];

/// Below this many entries, comparing is faster than counting.
const SMALL: usize = 2048;

/// Sorts entries that were packed in the order of their rows.
pub(super) fn sort_packed(entries: &mut Vec<u64>) -> Result<(), AllocError> {
    if entries.len() < SMALL || entries.is_sorted() {
        entries.sort_unstable();
        return Ok(());
    }
    let digit = |entry: u64, shift: u32| (entry >> shift) as usize % BUCKETS;
    let mut counts = [[0u32; BUCKETS]; SHIFTS.len()];
    for entry in &*entries {
        for (counts, shift) in counts.iter_mut().zip(SHIFTS) {
            counts[digit(*entry, shift)] += 1;
        }
    }
    let mut spare = try_vec(entries.len())?;
    spare.resize(entries.len(), 0);
    for (counts, shift) in counts.iter_mut().zip(SHIFTS) {
        // A digit that all entries share orders nothing.
        if counts[digit(entries[0], shift)] as usize == entries.len() {
            continue;
        }
        let mut next = 0;
        for count in &mut *counts {
            next += mem::replace(count, next);
        }
        for entry in &*entries {
            let place = &mut counts[digit(*entry, shift)];
            spare[*place as usize] = *entry;
            *place += 1;
        }
        mem::swap(entries, &mut spare);
    }
    Ok(())
}
