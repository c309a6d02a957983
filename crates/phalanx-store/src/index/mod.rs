//! The two indices of dense stores: [`Slots`] mints handles, [`Sparse`] follows keys that were made elsewhere.

mod fill;
mod slots;
mod sparse;

pub use slots::Slots;
pub use sparse::{Mark, Sparse};
