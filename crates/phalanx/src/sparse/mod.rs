//! Storage for components outside archetype tables: a sparse set or a linear storage for each.
//!
//! # Representation
//!
//! Every sparse component has a [`SparseStorage`], numbered in order of registration. Sparse sets have a presence bit
//! in the [mask](masks) of each slot, so that a despawn visits only the sparse sets that have the slot. Linear storages
//! have presence bits of their own, and none in the masks.
//!
//! # Phases
//!
//! A change of one slot is [reserved](SparseStorages::try_reserve) first. Then it is known where each new value is
//! written: beyond the values in use. [`commit`](SparseStorages::commit) makes the written values those of the slot.
//! Values that were displaced or removed stay initialised, without an owner, until they are dropped or moved out.
//!
//! Every value is added or removed by `commit`, [`remove_all`](SparseStorages::remove_all) or
//! [`clear`](SparseStorages::clear), or by a [typed storage](typed_storage) if one component is changed by type. All of
//! them maintain [groups]. Restoring a snapshot or a timeline fills whole storages, and then restores their groups.
#![allow(unsafe_code)]

mod arrivals;
mod build_group;
mod change;
mod clone;
mod displaced_value;
mod group_data;
mod group_error;
#[cfg(any(feature = "snapshot", feature = "timeline"))]
mod group_image;
mod groups;
mod linear_storage;
mod link_records;
mod list_order;
mod masks;
#[cfg(any(feature = "snapshot", feature = "timeline"))]
mod restore;
mod sparse_inserts;
mod sparse_set;
mod sparse_storage;
mod sparse_storages;
mod spawns;
#[cfg(any(feature = "snapshot", feature = "timeline"))]
mod store_image;
mod typed_storage;
mod values;

pub(crate) use arrivals::Arrivals;
#[cfg(any(feature = "snapshot", feature = "timeline"))]
pub(crate) use build_group::max_group_steps;
pub(crate) use displaced_value::DisplacedValue;
pub(crate) use group_data::{GroupData, GroupDesc, GroupId};
pub use group_error::{GroupError, PoolError};
#[cfg(any(feature = "snapshot", feature = "timeline"))]
pub(crate) use group_image::{GroupImage, RegroupError, SavedGroup};
pub(crate) use linear_storage::LinearStorage;
pub(crate) use link_records::{LinkRecords, LinkRecordsMut};
pub(crate) use list_order::ListOrder;
#[cfg(any(feature = "snapshot", feature = "timeline"))]
pub(crate) use restore::SparseSetState;
pub(crate) use sparse_inserts::SparseInserts;
pub use sparse_set::Removal;
pub(crate) use sparse_set::SparseSet;
pub(crate) use sparse_storage::{SparseStorage, Store};
pub(crate) use sparse_storages::SparseStorages;
pub(crate) use spawns::SpawnedValues;
#[cfg(any(feature = "snapshot", feature = "timeline"))]
pub(crate) use store_image::KeyImage;
pub(crate) use typed_storage::{FastInsert, has_fast_path};
pub(crate) use values::Values;
