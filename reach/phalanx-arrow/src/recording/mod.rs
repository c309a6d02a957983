//! Recordings: Parquet files and exact snapshots, written while a simulation runs.

mod capture;
mod change_log;
mod entity_lists;
mod entity_log;
mod error;
mod files;
mod frames;
mod part_writer;
mod recorder;
mod recording_reader;
mod run_file;
mod writer_thread;

pub use error::RecordError;
pub use recorder::{Full, Recorder, RecorderBuilder};
pub use recording_reader::Recording;
pub use run_file::{DeltaPart, Keyframe, Part, RunFile};
