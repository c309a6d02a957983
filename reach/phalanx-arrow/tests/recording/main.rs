//! Recordings: exact, readable, and whole after a crash.

mod changes;
mod crash;
mod exact;
mod failing;
mod model;
