//! The names of entities, and how they are found.
//!
//! The name of an entity is a hidden component, [`NameOf`]. So despawns, clones, timelines, snapshots and deltas treat it like
//! any other value. Only [`NameIndex`] is kept beside it, and it is made again where a world is restored.
//!
//! # Invariants
//!
//! - Two entities with the same parent, or two without a parent, have different names. What would break this is refused before
//!   anything changes: a name, a link, an unlink, a transfer, a file.
//! - For each entity with a name, the index has its slot under the hash of its parent and its name.
//! - The index has capacity for twice as many slots as there are names. What adds names reserves it.
//!
//! The index may have other slots too. It is asked for candidates, whose names and parents are compared then. So nothing has
//! to be told when an entity loses its name or its place. When the index is full, the slots that it needs are added again,
//! which takes no memory. So a link or an unlink reserves nothing for it.

mod name;
mod name_index;
mod name_key;
mod name_of;

pub use name::Name;
pub(crate) use name_index::NameIndex;
pub(crate) use name_key::{NameKey, PathName};
pub(crate) use name_of::NameOf;
