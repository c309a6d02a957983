//! What the containers stand on, for those who build containers of their own.
//!
//! [`Lane`] is the one array type: memory for rows of one size, with a capacity of its own and no length.
//! [`LaneOf`] is a lane whose rows are known to be of one type. [`Rows`] is what a dense container stores beside its
//! keys: one typed lane here, several erased ones in a world of components. [`Dense`] is the dense core over an index
//! ([`DenseIndex`]) and rows: the same code under typed and erased containers.
//!
//! Everything here trusts its caller: positions are not checked against lengths. The containers at the root of the
//! crate are the safe surface.

mod cells;
mod dense;

mod lane;
mod rows;
mod vacant;

pub use dense::{Dense, DenseIndex};

pub(crate) use cells::Cells;
pub use lane::{Lane, LaneOf};
pub use rows::Rows;
pub(crate) use vacant::Vacant;
