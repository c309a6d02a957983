//! Fields of components by name, single values, storages to look at, and text queries.
#![cfg(feature = "reflect")]

mod edits;
mod shapes;
mod storages;
mod text_errors;
mod text_memory;
mod text_model;
mod text_scan;
mod values;

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();
