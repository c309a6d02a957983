//! Worlds that are brought back to what they were.

mod arrays;
mod checkpoint;
mod deltas;
mod discarded;
mod exact;
mod failures;
mod frames;
mod in_place;
mod kept;
mod kit;
mod order;
mod plain;

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();
