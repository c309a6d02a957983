//! Building blocks of the containers, for code that builds containers of its own.
//!
//! - [`Lane`] is the one array type: memory for rows of one size, with a capacity and no length. [`LaneOf`] is a lane
//!   whose rows are of one type.
//! - [`Words`] is a list of bits in a lane.
//! - [`Rows`] is what a dense container stores beside its keys: one typed lane here, several erased ones in a world of
//!   components.
//! - [`Dense`] is the dense core over an index ([`DenseIndex`]) and rows. Typed and erased containers share it.
//!
//! Most of it is unsafe to call: positions are not checked against lengths. The containers at the root of the crate are
//! the safe surface.

mod cells;
mod cold;
mod dense;
mod drop_guard;
mod lane;
mod prefetch;
mod row;
mod rows;
mod slices;
mod vacant;
mod words;

#[doc(hidden)]
pub use cold::cold_path;
pub use dense::{Dense, DenseIndex};
#[doc(hidden)]
pub use drop_guard::{DropGuard, drop_all};
pub use lane::{Lane, LaneOf};
#[doc(hidden)]
pub use prefetch::prefetch;
pub use row::{copy_row, row_ptr, swap_row};
pub use rows::Rows;
#[doc(hidden)]
pub use slices::as_uninit;
pub use words::Words;

pub(crate) use cells::Cells;
pub(crate) use slices::clone_to;
pub(crate) use vacant::Vacant;
