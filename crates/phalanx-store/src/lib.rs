//! Containers for large numbers of small things.

#![cfg_attr(not(feature = "std"), no_std)]
extern crate alloc;

mod entity;
mod error;
mod generation;
pub mod soa;

pub use entity::{Entity, Handle, Key};
pub use error::AllocError;
#[cfg(feature = "derive")]
pub use phalanx_derive::{Flat, Soa};
pub use soa::{Flat, Soa};
