//! Structural changes: everything that creates, moves or removes rows, or replaces values.
//!
//! Every operation of a world has five phases:
//!
//! 1. *Resolve*: find the bundle, the edge and the rows that the operation is about.
//! 2. [*Reserve*](reserve): allocate everything the operation needs. This is the only phase that fails.
//! 3. [*Commit*](commit): change the storage. A commit allocates nothing, runs no user code and does not panic.
//! 4. *Dispatch*: call listeners with the events that the commit has recorded.
//! 5. *Drop*: run the destructors of [displaced](displaced) values.
//!
//! New values are written beyond the last row of a table, or in spare positions of sparse storages, before the commit: splitting
//! a soa value is code of its type and may panic. Such values count only after the commit.

pub(crate) mod arena;
mod commit;
pub(crate) mod displaced;
mod edge;
mod reserve;
pub(crate) mod stash;

pub(crate) use displaced::{InPlace, MovedOut, RemovedRows};
