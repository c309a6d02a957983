//! The tests of the crate. They are one program, because each program with DataFusion takes long to link.

mod changes;
#[cfg(feature = "cluster")]
mod cluster;
mod hostile;
mod program;
mod recordings;
mod runs;
mod world;
mod world_model;
