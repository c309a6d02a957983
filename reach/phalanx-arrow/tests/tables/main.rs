//! Worlds as record batches and back: every scalar, layout and kind of row.

mod errors;
mod round_trip;

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();
