//! Recordings: exact, readable, and whole after a crash.

mod crash;
mod exact;
mod failing;
mod model;
