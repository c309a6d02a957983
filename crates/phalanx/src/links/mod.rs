//! Links between entities: the records of a relation, and the changes of lists and depths that keep them consistent.
//!
//! # Representation
//!
//! Each relation has a [`Link`] for each slot that has a target or sources. It is the value of a hidden component in a linear
//! storage. The sources of one target form a doubly linked list, so that linking and unlinking change at most seven records and
//! search for nothing. Records name slots, not entities: only live entities have one.
//!
//! The functions here work on any [`LinkView`] or [`LinkStore`]: on the storage of a world, or on the overlay of a segment of commands.

mod link;
mod link_store;
mod relation_info;

pub(crate) use link::{Link, NONE};
pub(crate) use link_store::{LinkChange, LinkStore, LinkView};
pub use relation_info::{OnDespawn, RelationInfo, RelationKind};
