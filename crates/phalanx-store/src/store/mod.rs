//! The containers.

mod dense;
mod dense_sort;
mod disjoint;
mod entry;
mod linear;
mod packed;
mod slot;
mod slotted;
mod sparse_set;
mod traits;

pub use dense::{DenseStore, Runs, RunsMut};
pub use disjoint::DisjointError;
pub use entry::{Entry, OccupiedEntry, VacantEntry};
pub use linear::{Keyed, LinearStore};
pub use packed::PackedStore;
pub use slot::{Minted, SlotStore};
pub use slotted::SlottedStore;
pub use sparse_set::SparseSet;
pub use traits::{KeyedStore, MintingStore, Rejected, Rejection, StaleKey, Store};
