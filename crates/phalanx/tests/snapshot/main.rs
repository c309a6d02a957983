//! Worlds as bytes, and back.
#![cfg(feature = "snapshot")]

mod codecs;
mod forge;
mod golden;
mod hostile;
mod kit;
mod merge;
mod parts;
mod pools;
mod readable;
mod round;

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();
