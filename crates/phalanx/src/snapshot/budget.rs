//! What the values of one load may take beyond their bytes.

use core::cell::Cell;

/// Bounds the parts of values that take no bytes of the input.
///
/// A list of a billion units is a few bytes in a snapshot. So is a list of large values whose fields are all skipped. Such parts
/// take time and memory that the size of the input does not account for. One budget counts them for all values of a load: each
/// part costs its size in memory, at least 1. A load may spend 1 MiB, and 64 bytes for each byte that its values take.
///
/// A [`Codec`](super::Codec) that calls another hands its budget on. See
/// [`Codec::decode_within`](super::Codec::decode_within).
#[derive(Debug)]
pub struct Budget {
    start: u64,
    taken: Cell<u64>,
    spent: Cell<u64>,
}

/// What a load may spend from the start.
const LOAD: u64 = 1 << 20;
/// What a value may spend from the start if it is decoded without a load.
const ALONE: u64 = 1 << 12;
/// What each byte of the input adds.
const RATE: u64 = 64;

impl Budget {
    /// Returns the budget of a load.
    pub(super) fn of_load() -> Budget {
        Budget { start: LOAD, taken: Cell::new(0), spent: Cell::new(0) }
    }

    /// Returns the budget of one value that is decoded for itself.
    pub(super) fn of_value() -> Budget {
        Budget { start: ALONE, ..Budget::of_load() }
    }

    /// Returns how many bytes of the input were taken so far.
    pub(super) fn taken(&self) -> u64 {
        self.taken.get()
    }

    /// Notes that bytes of the input were taken.
    pub(super) fn take(&self, bytes: usize) {
        self.taken.set(self.taken.get().saturating_add(bytes as u64));
    }

    /// Spends something, and returns whether there was so much left.
    pub(super) fn spend(&self, cost: u64) -> bool {
        self.spent.set(self.spent.get().saturating_add(cost));
        !self.is_overdrawn()
    }

    /// Returns whether more was spent than there was.
    pub(super) fn is_overdrawn(&self) -> bool {
        self.spent.get() > self.start.saturating_add(self.taken.get().saturating_mul(RATE))
    }
}
