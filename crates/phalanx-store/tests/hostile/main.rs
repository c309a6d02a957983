//! What a user may do to a container, or have done to it, without harm: the cases of `tests/hostile.md`.
//!
//! The containers are driven through one list of operations ([`cases`]); what cannot be written at all is in
//! `tests/compile_fail`.

mod aliasing;
mod allocation;
mod callbacks;
mod cases;
mod compile;
mod drops;
mod handles;
mod layout;
mod pool;

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();
