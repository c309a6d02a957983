//! Structural changes: everything that creates, moves or removes rows, or replaces values.
//!
//! Every operation of a world has five phases:
//!
//! 1. *Resolve*: find the bundle, the edge and the rows that the operation is about. Entities may be missing, and tables and edges
//!    are created, so this phase may fail.
//! 2. [*Reserve*](reserve): allocate everything the operation needs. This is the last phase that may fail. It returns a
//!    [`Reserved`].
//! 3. *Commit*: change the storage, by one of the commits below. A commit allocates nothing, runs no user code and does not
//!    panic. The exception is `set_value` of a soa component, which splits the value first.
//! 4. *Dispatch*: call listeners with the events that the commit has recorded.
//! 5. *Drop*: run the destructors of [displaced](displaced) values.
//!
//! | commit | what it does |
//! |---|---|
//! | [`spawn_row`](crate::storage::Storage::spawn_row) | adds a row for a new slot, or an extra row |
//! | [`move_row`](crate::storage::Storage::move_row) | moves a row along an edge to another archetype, or replaces its values |
//! | [`remove_row`](crate::storage::Storage::remove_row) | removes a row and releases its slot |
//! | [`set_value`](crate::storage::Storage::set_value) | replaces one value |
//! | [`link`](crate::storage::Storage::link), [`unlink`](crate::storage::Storage::unlink) | links two entities, or unlinks them |
//!
//! Commits keep everything that depends on structure: locations, sparse storages and their groups, change ticks, dirty bits,
//! statistics, the epoch, and the journal of events. Code that fills or empties whole storages (restoring a snapshot or a timeline,
//! `clear`, transferring a whole world) and the [typed fast path](crate::sparse) of one sparse component do the same on their own.
//!
//! New values are written beyond the last row of a table, or in spare positions of sparse storages, before the commit: splitting
//! a soa value is code of its type and may panic. Such values count only after the commit. Values of required components are created
//! there too, or in an operation of several commits, [before the first](made_required).

pub(crate) mod arena;
mod change_links;
pub(crate) mod despawn_set;
pub(crate) mod displaced;
mod edge;
pub(crate) mod link_overlay;
mod link_plan;
mod made_required;
mod move_row;
mod remove_row;
mod reserve;
mod set_value;
mod spawn_row;
pub(crate) mod stash;

pub(crate) use change_links::DoomedList;
pub(crate) use displaced::{InPlace, MovedOut, MovedTo, RemovedRows, Unrecorded};
pub(crate) use link_plan::LinkPlan;
pub use link_plan::Position;
pub(crate) use made_required::{Made, MadeRequired};
pub(crate) use reserve::Reserved;
