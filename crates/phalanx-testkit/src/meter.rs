//! What a thread has allocated, and which of its allocations shall fail.
//!
//! Plain thread-local cells without destructors: reading them never allocates and works while a
//! thread ends, which the allocator needs.

use core::cell::Cell;
use core::hint::black_box;

use crate::{allocator, panics};

struct Meter {
    allocations: Cell<u64>,
    bytes_allocated: Cell<u64>,
    bytes_live: Cell<i64>,
    blocks_live: Cell<i64>,
    peak: Cell<i64>,
    largest: Cell<usize>,
    /// Allocations until one is refused; zero when none is.
    refuse_in: Cell<u64>,
    /// Whether every allocation after the refused one is refused too.
    refuse_on: Cell<bool>,
    refused: Cell<u64>,
}

thread_local! {
    static METER: Meter = const {
        Meter {
            allocations: Cell::new(0),
            bytes_allocated: Cell::new(0),
            bytes_live: Cell::new(0),
            blocks_live: Cell::new(0),
            peak: Cell::new(0),
            largest: Cell::new(0),
            refuse_in: Cell::new(0),
            refuse_on: Cell::new(false),
            refused: Cell::new(0),
        }
    };
}

pub(crate) fn allocated(size: usize) {
    METER.with(|m| {
        m.allocations.set(m.allocations.get() + 1);
        m.bytes_allocated.set(m.bytes_allocated.get() + size as u64);
        m.bytes_live.set(m.bytes_live.get() + size as i64);
        m.blocks_live.set(m.blocks_live.get() + 1);
        m.peak.set(m.peak.get().max(m.bytes_live.get()));
        m.largest.set(m.largest.get().max(size));
    });
}

pub(crate) fn freed(size: usize) {
    METER.with(|m| {
        m.bytes_live.set(m.bytes_live.get() - size as i64);
        m.blocks_live.set(m.blocks_live.get() - 1);
    });
}

/// Whether the allocation about to be made shall fail. Counts it.
pub(crate) fn refuses() -> bool {
    METER.with(|m| {
        let left = m.refuse_in.get();
        if left == 0 {
            return false;
        }
        if left > 1 {
            m.refuse_in.set(left - 1);
            return false;
        }
        if !m.refuse_on.get() {
            m.refuse_in.set(0);
        }
        m.refused.set(m.refused.get() + 1);
        true
    })
}

/// What one thread allocated during a call of [`measure`].
///
/// A block freed by another thread than its allocator's is counted where it is freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Successful allocations; a successful `realloc` counts as one.
    pub allocations: u64,
    /// The sum of the sizes of those allocations.
    pub bytes_allocated: u64,
    /// Bytes live at the end less bytes live at the start.
    pub bytes_live_delta: i64,
    /// Blocks live at the end less blocks live at the start.
    pub blocks_live_delta: i64,
    /// The most bytes that were live at once, above those live at the start.
    pub peak_bytes: u64,
    /// The largest single allocation, in bytes.
    pub largest: usize,
}

/// Runs `f` and returns what it allocated on this thread.
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();
///
/// let (values, usage) = phalanx_testkit::measure(|| vec![0_u8; 100]);
/// assert_eq!((usage.allocations, usage.bytes_live_delta, usage.largest), (1, 100, 100));
/// # drop(values);
/// ```
///
/// An optimised build may leave out an allocation whose block is never looked at; pass the value
/// through `std::hint::black_box` where the count matters.
///
/// # Panics
/// Panics if the binary has not installed [`Allocator`](crate::Allocator): all counts would be zero and
/// every check built on them would pass.
pub fn measure<R>(f: impl FnOnce() -> R) -> (R, Usage) {
    struct Restore {
        peak: i64,
        largest: usize,
    }
    impl Drop for Restore {
        fn drop(&mut self) {
            METER.with(|m| {
                m.peak.set(m.peak.get().max(self.peak));
                m.largest.set(m.largest.get().max(self.largest));
            });
        }
    }

    assert_installed();
    // Installing the hook allocates once per process; that must not fall into a measured span.
    panics::install_hook();
    METER.with(|m| {
        let restore = Restore { peak: m.peak.get(), largest: m.largest.get() };
        let (allocations, bytes_allocated) = (m.allocations.get(), m.bytes_allocated.get());
        let (bytes, blocks) = (m.bytes_live.get(), m.blocks_live.get());
        m.peak.set(bytes);
        m.largest.set(0);
        let result = f();
        allocator::check_quarantine();
        let usage = Usage {
            allocations: m.allocations.get() - allocations,
            bytes_allocated: m.bytes_allocated.get() - bytes_allocated,
            bytes_live_delta: m.bytes_live.get() - bytes,
            blocks_live_delta: m.blocks_live.get() - blocks,
            peak_bytes: (m.peak.get() - bytes) as u64,
            largest: m.largest.get(),
        };
        drop(restore);
        (result, usage)
    })
}

/// Runs `f` and asserts that it freed every block it allocated.
///
/// # Panics
/// Panics if bytes or blocks are left, if more were freed than allocated, or if no
/// [`Allocator`](crate::Allocator) is installed.
#[track_caller]
pub fn assert_balanced<R>(f: impl FnOnce() -> R) -> R {
    let (result, usage) = measure(f);
    assert!(
        usage.bytes_live_delta == 0 && usage.blocks_live_delta == 0,
        "out of balance by {} bytes in {} blocks",
        usage.bytes_live_delta,
        usage.blocks_live_delta
    );
    result
}

/// Runs `f` with its `n`-th allocation on this thread failing, and returns whether there was one.
///
/// The first allocation is `n = 1`. Growing a block counts, shrinking one does not. Nested calls
/// replace the outer order for their duration.
///
/// # Panics
/// Panics if `n` is zero or no [`Allocator`](crate::Allocator) is installed.
pub fn fail_nth<R>(n: u64, f: impl FnOnce() -> R) -> (R, bool) {
    refusing(n, false, f)
}

/// Like [`fail_nth`], but every later allocation inside `f` fails too.
///
/// # Panics
/// Panics if `n` is zero or no [`Allocator`](crate::Allocator) is installed.
pub fn fail_from<R>(n: u64, f: impl FnOnce() -> R) -> (R, bool) {
    refusing(n, true, f)
}

fn refusing<R>(n: u64, on: bool, f: impl FnOnce() -> R) -> (R, bool) {
    struct Disarm(u64, bool);
    impl Drop for Disarm {
        fn drop(&mut self) {
            METER.with(|m| {
                m.refuse_in.set(self.0);
                m.refuse_on.set(self.1);
            });
        }
    }

    assert!(n > 0, "the first allocation is number 1");
    assert_installed();
    METER.with(|m| {
        let disarm = Disarm(m.refuse_in.replace(n), m.refuse_on.replace(on));
        let before = m.refused.get();
        let result = f();
        drop(disarm);
        (result, m.refused.get() > before)
    })
}

/// Ends an order to fail on this thread, if there is one.
pub(crate) fn stop_refusing() {
    METER.with(|m| m.refuse_in.set(0));
}

fn assert_installed() {
    // The probe must neither use up an order to fail nor fall victim to it.
    let refuse_in = METER.with(|m| m.refuse_in.replace(0));
    let before = METER.with(|m| m.allocations.get());
    drop(black_box(Box::new(black_box(0_u8))));
    let after = METER.with(|m| m.allocations.get());
    METER.with(|m| m.refuse_in.set(refuse_in));
    assert!(
        after > before,
        "this binary has not installed the allocator: \
         `#[global_allocator] static A: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();`"
    );
}
