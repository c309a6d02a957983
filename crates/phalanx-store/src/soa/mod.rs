//! Structure of arrays: [`Soa`], an array of structs that keeps each field in a lane of its own.
//!
//! `derive(Soa)` (feature `derive`) makes a struct a row type and prints five structs beside it. For `Velocity`:
//!
//! | struct | a field `x: f32` becomes | from |
//! |---|---|---|
//! | `VelocityRef<'a>` | `&'a f32` | [`Soa::get`], [`Soa::iter`], closures |
//! | `VelocityMut<'a>` | `&'a mut f32` | [`Soa::get_mut`], [`Soa::iter_mut`] |
//! | `VelocityLanes<'a>` | `&'a [f32]` | [`Soa::lanes`] |
//! | `VelocityLanesMut<'a>` | `&'a mut [f32]` | [`Soa::lanes_mut`] |
//! | `VelocityColumns` | `Vec<f32>` | the caller of [`Soa::extend_columns`] |
//!
//! Their names, their visibility and that of their fields follow the struct. The derive prints safe code. Memory is handled
//! in this module, over the [`Shape`] that the derive names.

mod array;
mod block;
mod bulk;
mod chunks;
mod columns;
mod compare;
mod convert;
mod iter;
mod nested;
mod pair;
mod radix;
mod row;
mod scalar;
#[cfg(feature = "serde")]
mod serde;
mod shape;
mod slice;
mod sort;
mod traits;

pub use array::Soa;
pub use block::LANE_ALIGN;
pub use bulk::Drain;
pub use chunks::{Chunks, ChunksExact, ChunksExactMut, ChunksMut};
pub use columns::ColumnsError;
pub use iter::{IntoIter, Iter, IterMut};
pub use row::{Lanes, LanesMut, Mut, Ref, SoaRow, Views};
pub use scalar::{Flat, Scalar, flat, flat_mut};
pub use shape::{CloneLanes, Leaf, Nested, Shape};
pub use slice::{SoaSlice, SoaSliceMut};

/// Items for the output of the derive, which its user may not have in scope.
#[doc(hidden)]
pub mod private {
    pub use alloc::vec::Vec;
}
