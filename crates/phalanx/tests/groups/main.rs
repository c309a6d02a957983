//! Groups, sorted pools, removal from pools.

mod hostile;
mod kit;
mod model;
mod pools;
mod refused;
mod retained;
mod sorted;
mod visited;
mod walkthrough;
mod ways;

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();
