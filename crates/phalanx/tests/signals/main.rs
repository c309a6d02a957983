//! Signals: which events are dispatched, in what order, and what happens on failure.

// Lists of functions are what the tests are made of.
#![allow(clippy::type_complexity)]
// In a list of things to do, `drop` is how their results end.
#![allow(dropping_copy_types, clippy::drop_non_drop)]

mod collector;
mod kinds;
mod listener;
mod memory;
mod model;
mod observer;
mod panics;
mod parts;
mod reader;
mod same;
mod values;
mod watchers;

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();
