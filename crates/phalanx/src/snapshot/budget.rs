//! [`Budget`]: bounds what values may take beyond their bytes.

use core::cell::Cell;

/// Bounds the parts of values that take no bytes of the input.
///
/// A list of a billion units is a few bytes in a snapshot. So is a list of large values whose fields are all skipped. Such parts
/// take time and memory that the size of the input does not account for. One budget counts them for all values of a load: each
/// part costs its size in memory, at least 1. A load may spend 1 MiB, and 64 bytes for each byte that its values take.
///
/// A [`Codec`](super::Codec) that calls another one passes its budget. See
/// [`Codec::decode_within`](super::Codec::decode_within).
#[derive(Debug)]
pub struct Budget {
    start: u64,
    taken: Cell<u64>,
    spent: Cell<u64>,
}

/// The initial budget of a load.
const LOAD: u64 = 1 << 20;
/// The initial budget of a value that is decoded without a load.
const ALONE: u64 = 1 << 12;
/// The amount that each byte of the input adds.
const RATE: u64 = 64;

impl Budget {
    /// Returns the budget of a load.
    pub(super) fn of_load() -> Budget {
        Budget { start: LOAD, taken: Cell::new(0), spent: Cell::new(0) }
    }

    /// Returns the budget of one value that is decoded without a load.
    pub(super) fn of_value() -> Budget {
        Budget { start: ALONE, ..Budget::of_load() }
    }

    /// Returns the number of bytes of the input that were taken.
    pub(super) fn taken(&self) -> u64 {
        self.taken.get()
    }

    /// Records that bytes of the input were taken.
    pub(super) fn take(&self, bytes: usize) {
        self.taken.set(self.taken.get().saturating_add(bytes as u64));
    }

    /// Spends an amount. Returns `true` if the budget was sufficient.
    pub(super) fn spend(&self, cost: u64) -> bool {
        self.spent.set(self.spent.get().saturating_add(cost));
        !self.is_overdrawn()
    }

    /// Returns `true` if more was spent than available.
    pub(super) fn is_overdrawn(&self) -> bool {
        self.spent.get() > self.start.saturating_add(self.taken.get().saturating_mul(RATE))
    }
}
