//! Worlds as bytes, and back.

// In a list of things to do, `drop` is how their results end.
#![allow(dropping_copy_types, dropping_references, clippy::drop_non_drop)]
#![cfg(feature = "snapshot")]

mod allocation;
mod bounds;
mod codecs;
mod continuous;
mod fields;
mod forge;
mod golden;
mod hostile;
mod kit;
mod links;
mod merge;
mod names;
mod parts;
mod plain;
mod pools;
mod readable;
mod round;
mod run_time;
mod ticks;
mod value;

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();
