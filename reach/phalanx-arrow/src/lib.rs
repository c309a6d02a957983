//! Worlds as Arrow record batches.

mod component_table;
mod datum;
mod error;
mod extract;
mod frozen_world;
mod lanes;
mod names;
#[cfg(feature = "recording")]
mod recording;
mod shapes;
mod spawn;

pub use component_table::{COMPONENT_KEY, JSON_KEY, OPAQUE_KEY, PATH_KEY};
pub use error::TableError;
pub use extract::{Extract, extract, extract_with};
pub use frozen_world::{ComponentTable, FrozenWorld, StillInUse};
pub use names::{ENTITY, VALUE};
#[cfg(feature = "recording")]
pub use recording::{DeltaPart, Full, Keyframe, Part, RecordError, Recorder, RecorderBuilder, Recording, RunFile};
pub use spawn::{ImportError, Mapping, spawn};
