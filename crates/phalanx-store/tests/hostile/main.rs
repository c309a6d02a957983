//! What a user may do to a container, or have done to it, without harm: the cases of `tests/hostile.md`.
//!
//! The containers are driven through one list of operations ([`cases`]); what cannot be written at all is in
//! `tests/compile_fail`.

// Lists of functions are what the tests are made of.
#![allow(clippy::type_complexity)]
// Forgetting or dropping a view is the case under test, whether or not it has a destructor today.
#![allow(clippy::forget_non_drop, clippy::drop_non_drop)]

mod aliasing;
mod allocation;
mod callbacks;
mod cases;
mod compare;
mod compile;
mod drops;
mod handles;
mod layout;
mod mixes;
mod pool;

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();
