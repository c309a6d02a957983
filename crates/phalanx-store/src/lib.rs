//! Containers for large numbers of small things, found by handle and kept side by side: `no_std`, with `alloc`.
//!
//! Not an entity component system (that is the crate `phalanx`, built on this one), not a map (keys are small indices
//! that a container or an [`EntityPool`] hands out), and not for values that must never move.
//!
//! In this order, the crate means to be
//!
//! 1. sound: a stale handle finds nothing, ever; whatever panics or cannot be allocated, every value is dropped at most
//!    once and the container stays whole;
//! 2. fast: dense containers iterate as a slice does, and an insertion is a few stores;
//! 3. predictable: the same operations give the same order and the same handles, memory is what [`memory`] says;
//! 4. small: one array type, one dense core, each iterator written once.
//!
//! ```
//! use phalanx_store::{EntityPool, LinearStore, PackedStore, SparseSet};
//!
//! // A store that makes its own handles:
//! let mut meshes = PackedStore::new();
//! let cube = meshes.insert("cube");
//!
//! // Entities, and what some or all of them have:
//! let mut entities = EntityPool::new();
//! let (crate_, ghost) = (entities.alloc(), entities.alloc());
//! let mut position = LinearStore::from_iter([(crate_, (0, 0)), (ghost, (3, 4))]);
//! let shape = SparseSet::from_iter([(crate_, cube)]);
//!
//! position[ghost].0 += 1;
//! for (entity, mesh) in &shape {
//!     assert_eq!((meshes[*mesh], position[entity]), ("cube", (0, 0)));
//! }
//!
//! // A dead entity stays dead, also when its slot is used again.
//! entities.release(ghost);
//! let heir = entities.alloc();
//! assert_eq!(heir.index(), ghost.index());
//! assert!(!entities.contains(ghost));
//! position.insert(heir, (7, 7));
//! assert_eq!(position.get(ghost), None);
//! ```
//!
//! # Which one?
//!
//! | container | keyed by | values | best at | bytes beyond the value |
//! |---|---|---|---|---|
//! | [`PackedStore`] | its own handles | dense | walking over all | 12 |
//! | [`SlotStore`] | its own handles | at the slot | reading by handle, coming and going | 4.1 |
//! | [`SparseSet`] | entities, or another store's handles | dense | walking over all, rare values, coming and going | 8, and 8 an index |
//! | [`LinearStore`] | the same | at the index | reading, and what nearly all have | 4.1 an index |
//!
//! # Features
//!
//! `std` (default) only makes the crate link the standard library. `serde` lets every container and handle be serialised
//! and loaded: the same values under the same handles in the same order, dead handles dead, and the same handles to come.
//! The `Serialize` impls say in which form, the `Deserialize` impls what is refused and what loading costs. Bytes from a
//! stranger are an error where they contradict themselves, never a panic. `derive` adds `derive(Soa)`.

#![cfg_attr(not(feature = "std"), no_std)]
extern crate alloc;

mod cursor;
mod entity;
mod error;
mod generation;
pub mod index;
pub mod iter;
pub mod memory;
mod pool;
pub mod raw;
#[cfg(feature = "serde")]
mod serial;
pub mod soa;
mod store;
mod sync;

pub use entity::{Entity, Handle, Key};
pub use error::AllocError;
#[cfg(feature = "derive")]
pub use phalanx_derive::{Flat, Soa};
#[cfg(feature = "serde")]
pub use pool::RestoreError;
pub use pool::{Entities, EntityPool, Places, SlotState};
pub use soa::{Flat, Soa};
pub use store::{
    DenseStore, DisjointError, Entry, Keyed, KeyedStore, LinearStore, Minted, MintingStore, OccupiedEntry, PackedStore,
    Rejected, Rejection, Runs, RunsMut, SlotStore, SlottedStore, SparseSet, StaleKey, Store, VacantEntry,
};
