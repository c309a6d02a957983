//! SQL over the worlds and recordings of [`phalanx`].
//!
//! A [`Session`] has a table for each component, and answers queries by [DataFusion](datafusion).

#[cfg(feature = "cluster")]
pub mod cluster;
mod error;
mod nearest;
mod output;
mod recorded_table;
mod recordings;
mod row_stream;
mod rows;
mod scan;
mod session;
mod tables;
mod world;

pub use datafusion;
pub use error::SqlError;
pub use output::{Format, RowWriter, UnknownFormat};
pub use row_stream::RowStream;
pub use rows::Rows;
pub use session::Session;
pub use tables::Broken;
