//! Counts that an input declares: none of them is trusted.
//!
//! A count that must equal another is compared before it is used. A list grows with the bytes that were read, and not with its
//! declared count. So a short input cannot ask for much memory.

use super::error::{LoadError, Problem};
use super::format::FRAME;
use super::reader::Reader;
use crate::alloc::try_reserve;

impl Reader<'_> {
    /// Checks a declared count against the greatest that is possible.
    ///
    /// # Errors
    ///
    /// Returns [`Problem::Count`] if it is greater.
    pub(super) fn check_at_most(&self, what: &'static str, found: u64, most: u64) -> Result<(), LoadError> {
        if found <= most { Ok(()) } else { Err(self.error(Problem::Count { what, found, expected: most })) }
    }

    /// Checks a declared count against the only one that is possible.
    ///
    /// # Errors
    ///
    /// Returns [`Problem::Count`] if they differ.
    pub(super) fn check_equal(&self, what: &'static str, found: u64, expected: u64) -> Result<(), LoadError> {
        if found == expected { Ok(()) } else { Err(self.error(Problem::Count { what, found, expected })) }
    }

    /// Appends `count` bytes to a list.
    pub(super) fn read_bytes(&mut self, list: &mut Vec<u8>, count: usize) -> Result<(), LoadError> {
        let mut left = count;
        while left > 0 {
            // Frame by frame: capacity is reserved for bytes of which those before were there.
            let (len, now) = (list.len(), left.min(FRAME));
            try_reserve(list, now).map_err(|error| self.error(error))?;
            list.resize(len + now, 0);
            self.take(&mut list[len..])?;
            left -= now;
        }
        Ok(())
    }

    /// Reads a list of `count` numbers. Capacity is reserved for those whose bytes were there.
    pub(super) fn read_numbers(&mut self, count: u32) -> Result<Vec<u32>, LoadError> {
        let (mut list, mut left) = (Vec::new(), count as usize);
        while left > 0 {
            let numbers = self.buffered().as_chunks::<4>().0;
            let now = numbers.len().min(left);
            try_reserve(&mut list, now.max(1)).map_err(|error| self.error(error))?;
            if now == 0 {
                // It buffers a frame.
                list.push(self.u32()?);
                left -= 1;
                continue;
            }
            list.extend(numbers[..now].iter().map(|bytes| u32::from_le_bytes(*bytes)));
            self.consume(now * 4);
            left -= now;
        }
        Ok(list)
    }
}

/// Returns the capacity to reserve when `rows` rows were read and the input declares `total`.
///
/// Each declared row has shown a key or slot of 4 bytes already. The result is 16 times these bytes, or twice what was read,
/// or some frames.
pub(super) fn trusted_capacity(rows: u32, total: u32, size: usize) -> u32 {
    let size = size.max(1);
    let bytes = (total as usize).saturating_mul(64).max(4 * FRAME);
    let more = u32::try_from(bytes / size).unwrap_or(u32::MAX).max(1);
    rows.saturating_mul(2).max(more).max(rows.saturating_add(1)).min(total)
}
