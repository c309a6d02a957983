//! Worlds as Arrow record batches.

mod component_table;
mod error;
mod extract;
mod frozen_world;
mod lanes;
mod names;
mod shapes;

pub use component_table::{COMPONENT_KEY, JSON_KEY, OPAQUE_KEY, PATH_KEY};
pub use error::TableError;
pub use extract::{Extract, extract, extract_with};
pub use frozen_world::{ComponentTable, FrozenWorld, StillInUse};
pub use names::{ENTITY, VALUE};
