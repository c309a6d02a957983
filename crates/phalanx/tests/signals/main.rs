//! Signals: what is told, in what order, and what becomes of it when something goes wrong.

mod collect;
mod listen;
mod memory;
mod model;
mod panics;
mod parts;
mod same;

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();
