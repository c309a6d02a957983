//! Generational containers for large numbers of small values: `no_std`, with `alloc`.
//!
//! Values are found by handle, and a stale handle finds nothing. The crate has an allocator of entities ([`EntityPool`]),
//! four containers, and structures of arrays ([`Soa`](struct@Soa)).
//!
//! It is *not* an entity component system; the crate `phalanx` is one, built on this crate. It is not a map either: keys
//! are small indices that a container or an [`EntityPool`] issues. Values may move in memory, so it is not for values
//! that must stay in place.
//!
//! ```
//! use phalanx_store::{EntityPool, LinearStore, PackedStore, SparseSet};
//!
//! // A store that issues its own handles:
//! let mut meshes = PackedStore::new();
//! let cube = meshes.insert("cube");
//!
//! // Entities, and values that some or all of them have:
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
//! // A released entity stays dead, also when its slot is used again.
//! entities.release(ghost);
//! let heir = entities.alloc();
//! assert_eq!(heir.index(), ghost.index());
//! assert!(!entities.contains(ghost));
//! position.insert(heir, (7, 7));
//! assert_eq!(position.get(ghost), None);
//! ```
//!
//! # Which container?
//!
//! | container | keyed by | values | best at | bytes beside the value |
//! |---|---|---|---|---|
//! | [`PackedStore`] | its own handles | contiguous | iterating | 12 |
//! | [`SlotStore`] | its own handles | at the slot | look-ups, inserting and removing | 4.1 |
//! | [`SparseSet`] | entities, or another store's handles | contiguous | iterating, rare values | 8, and 8 an index |
//! | [`LinearStore`] | the same | at the index | look-ups, values that nearly all have | 4.1 an index |
//!
//! The first two are [primary](PrimaryStore) stores, the others [secondary](SecondaryStore) ones, in the words of the
//! crate `slotmap`. [`Store`] is the trait of all four. The `try_` methods return an error when allocation fails; the
//! others panic or abort, as the standard collections do.
//!
//! # Standard traits
//!
//! | trait | `PackedStore`, `SparseSet` | `SlotStore`, `LinearStore` | [`Soa`](struct@Soa) and its views |
//! |---|---|---|---|
//! | `Default`, `Debug`, `Clone` (`clone_from` reuses memory) | yes | yes | yes |
//! | `PartialEq`, `Eq` | equal values under the same keys, in any order | the same | row by row; also with slices, arrays and `Vec` |
//! | `Hash` | no: the order may differ | yes | yes |
//! | `PartialOrd`, `Ord` | no | no | row by row |
//! | `From<Vec>`, `From<[_; N]>`, `FromIterator`, `Extend` | yes | yes | yes |
//! | `IntoIterator`, by value, `&` and `&mut` | yes | yes | yes |
//! | `Index`, `IndexMut` | by key | by key | no: see [`Soa::row`](soa::Soa::row) |
//!
//! All iterators are double-ended and know their length. The stores have no order, because keys are numbers that the history
//! of a program made: use [`Iterator::cmp`] of `values()`.
//!
//! # Custom allocators
//!
//! All containers use the global allocator. They have no allocator parameter, for these reasons:
//!
//! - The trait `core::alloc::Allocator` is unstable, so a crate on stable Rust cannot name it.
//! - The crate `allocator-api2` mirrors it, and would be part of the public interface. It had breaking releases in May and
//!   December 2025. Each would be one of this crate, and a program with two versions cannot pass allocators between them. Its
//!   feature `nightly`, enabled anywhere in a program, changes which trait it names.
//! - The parameter would be in every type of this crate, and in `World` of the crate `phalanx`, whose columns do not know their
//!   types. Operations that move memory between containers (`append`, `swap`, transfers) would have to compare allocators.
//! - `const fn new` would be for the global allocator only.
//!
//! It will be reconsidered when the trait is stable. Until then: a `#[global_allocator]` decides for the whole program. The
//! `try_` methods survive its failures. `with_capacity`, `clear` and `clone_from` keep memory in use, so that a frame allocates
//! nothing. [`memory`] tells the bytes of each container in advance.
//!
//! # Goals
//!
//! 1. Sound: a stale handle never finds a value. After a panic or a failed allocation each container is valid, and every
//!    value is dropped at most once.
//! 2. Fast: dense containers iterate like a slice, and an insertion is a few stores.
//! 3. Predictable: the same operations give the same order and the same handles, and [`memory`] counts every byte.
//! 4. Small: one array type, one dense core, each iterator written once.
//!
//! # Modules
//!
//! | module | content |
//! |---|---|
//! | the root | [`Entity`], [`Handle`], [`EntityPool`], the containers, their traits and errors |
//! | [`soa`] | structure of arrays: [`Soa`](struct@Soa), its views and iterators |
//! | [`iter`] | the iterators of the containers |
//! | [`memory`] | the bytes that a container has allocated, and a model of those that it would |
//! | [`index`] | the indices of dense containers |
//! | [`raw`] | building blocks for containers of your own, mostly unsafe |
//!
//! # Features
//!
//! - `std` (default) links the standard library, and has no other effect.
//! - `derive` adds `derive(Soa)` and `derive(Flat)`.
//! - `serde` implements `Serialize` and `Deserialize` for every container and handle. Loading restores the same values
//!   under the same handles in the same order. Dead handles stay dead, and the next handles are the same. The
//!   `Serialize` impls describe the form, the `Deserialize` impls the errors and the cost. Malformed input is an error,
//!   never a panic.

#![cfg_attr(docsrs, feature(doc_cfg))]
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
mod restore;
#[cfg(feature = "serde")]
mod serial;
pub mod soa;
mod store;
mod sync;

pub use entity::{Entity, Handle, Key};
pub use error::AllocError;
#[cfg(feature = "derive")]
pub use phalanx_derive::{Flat, Soa};
pub use pool::{Entities, EntityPool, FreeListError, Occupants, OccupantsMut, Payloads, RestoreError, SlotState};
pub use soa::{Flat, Soa};
pub use store::{
    DenseStore, DisjointError, Entry, LinearStore, OccupiedEntry, PackedStore, Primary, PrimaryStore, Rejection, Runs,
    RunsMut, Secondary, SecondaryStore, SlotStore, SlottedStore, SparseSet, StaleKey, Store, TryInsertError,
    VacantEntry,
};

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
