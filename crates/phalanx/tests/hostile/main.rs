//! What a user may do to a world, or have done to it, without harm: the cases of `tests/hostile.md`.
//!
//! What cannot be written at all is in `tests/compile_fail`.

// Lists of functions are what the tests are made of.
#![allow(clippy::type_complexity)]
// In a list of things to do, `drop` is how their results end.
#![allow(dropping_copy_types, clippy::drop_non_drop)]

mod aliasing;
mod allocation;
mod callbacks;
mod compile;
mod drops;
mod first_use;
mod handles;
mod kit;
mod layout;
mod names;
mod relations;
mod threads;

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();
