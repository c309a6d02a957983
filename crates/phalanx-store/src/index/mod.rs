//! The two indices of dense stores: [`Slots`] issues handles, [`Sparse`] follows keys that were made elsewhere.

mod fill;
mod key_slot;
mod rewrite;
mod slots;
mod sparse;

pub use key_slot::KeySlot;
pub use slots::Slots;
pub use sparse::{DenseKey, Sparse, SparseLookup};
