//! Test support for Phalanx: failing allocators, panicking values, lying iterators.
//!
//! Only tests depend on this crate. Everything is deterministic, and every count belongs to one
//! thread or one [`Tally`], so the tests of a binary run in parallel.
//!
//! | item | purpose |
//! |---|---|
//! | [`Allocator`] | a global allocator that checks its callers, counts and fails on demand |
//! | [`measure`], [`assert_balanced`] | what a closure allocates |
//! | [`AllocationSweep`] | fails each allocation of an operation in turn |
//! | [`PanicSweep`], [`Tally`] | panics in user code at each call in turn; finds leaks and double drops |
//! | [`Aligned`], [`Zst`] | counted values that are over-aligned or zero-sized |
//! | [`Liar`], [`Fickle`] | iterators and conversions that give wrong answers |
//! | [`Rng`] | a seeded random number generator |
//! | [`mod@bench`] | interleaved sampling for benchmarks |
//! | [`instructions`] | instructions of workloads, counted by callgrind |
//!
//! ```
//! use phalanx_testkit::{PanicSweep, Site};
//!
//! #[global_allocator]
//! static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();
//!
//! // A destructor panics at the first, second, … value that `truncate` drops.
//! let points = PanicSweep::new(Site::Drop).run(
//!     |tally| (0..5).map(|key| tally.value(key)).collect::<Vec<_>>(),
//!     |values, _| values.truncate(2),
//!     |values, _, _| assert_eq!(values.len(), 2),
//! );
//! assert_eq!(points, 3);
//!
//! // Each allocation of an operation fails in turn; a failure it hides would be reported.
//! let points = phalanx_testkit::for_every_failing_allocation(
//!     || Vec::<u32>::new(),
//!     |values| values.try_reserve(10),
//!     |values, outcome| assert_eq!(values.capacity() >= 10, outcome.is_ok()),
//! );
//! assert_eq!(points, 1);
//! ```

mod aligned;
mod allocator;
pub mod bench;
mod child;
mod dial;
mod fickle;
pub mod instructions;
mod liar;
mod meter;
mod panics;
mod rng;
mod sweep;
mod tally;

pub use aligned::{Align1, Align64, Align4096, Aligned, Zst, ZstUsage, measure_zst};
pub use allocator::{Allocator, Misuse, check_quarantine, detect};
pub use child::in_child;
pub use dial::Dial;
pub use fickle::Fickle;
pub use liar::{Liar, Lie};
pub use meter::{Usage, assert_balanced, fail_from, fail_nth, measure};
pub use panics::{Caught, Injected, catch, panics_here, quiet_panics};
pub use rng::Rng;
pub use sweep::{AllocationSweep, PanicSweep, for_every_failing_allocation, for_every_panic};
pub use tally::{Counted, Site, Tally};

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
#[derive(Debug)]
pub struct Readme;
