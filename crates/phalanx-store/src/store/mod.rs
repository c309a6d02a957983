//! The containers.

mod dense;
mod dense_sort;
mod disjoint;
mod entry;
mod linear;
mod packed;
mod primary;
mod runs;
mod secondary;
mod slot;
mod slotted;
mod slotted_bulk;
mod sparse_set;
mod traits;
mod try_insert_error;

pub use dense::DenseStore;
pub use disjoint::DisjointError;
pub(crate) use disjoint::distinct;
pub use entry::{Entry, OccupiedEntry, VacantEntry};
pub use linear::{LinearStore, Secondary};
pub use packed::PackedStore;
pub use runs::{Runs, RunsMut};
pub use slot::{Primary, SlotStore};
pub use slotted::SlottedStore;
pub use sparse_set::SparseSet;
pub use traits::{PrimaryStore, SecondaryStore, Store};
pub use try_insert_error::{Rejection, StaleKey, TryInsertError};
