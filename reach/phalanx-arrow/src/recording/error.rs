//! [`RecordError`]: why a recording is not written or read.

use crate::error::TableError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why a recording is not written or read. It can be cloned, because the thread that writes and the one that records both report it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RecordError {
    /// The file system refused an operation.
    File {
        /// What was done, such as "write".
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        error: Arc<io::Error>,
    },
    /// A file is not what it should be.
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// There is a recording in the folder already.
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// The state of a frame was not recorded exactly.
    NoSuchFrame {
        /// The frame.
        frame: u64,
        /// The last frame before it that was, if there is one.
        nearest: Option<u64>,
    },
    /// The world cannot be recorded.
    World {
        /// The frame.
        frame: u64,
        /// The cause.
        problem: String,
    },
    /// The settings exclude each other.
    Settings {
        /// What excludes what.
        problem: &'static str,
    },
    /// The thread that writes has panicked.
    Panicked,
}

impl RecordError {
    pub(super) fn file(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> RecordError {
        let path = path.to_owned();
        move |error| RecordError::File { operation, path, error: Arc::new(error) }
    }

    pub(super) fn damaged(path: &Path, problem: impl fmt::Display) -> RecordError {
        RecordError::Damaged { path: path.to_owned(), problem: problem.to_string() }
    }

    pub(super) fn table(frame: u64) -> impl Fn(TableError) -> RecordError {
        move |error| RecordError::World { frame, problem: error.to_string() }
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordError::File { operation, path, error } => write!(f, "cannot {operation} {}: {error}", path.display()),
            RecordError::Damaged { path, problem } => write!(f, "{} is damaged: {problem}", path.display()),
            RecordError::Exists { path } => write!(f, "there is a recording in {} already", path.display()),
            RecordError::NoSuchFrame { frame, nearest: None } => write!(f, "no exact state of frame {frame}"),
            RecordError::NoSuchFrame { frame, nearest: Some(nearest) } => {
                write!(f, "no exact state of frame {frame}: the last one before it is {nearest}")
            }
            RecordError::World { frame, problem } => write!(f, "frame {frame} cannot be recorded: {problem}"),
            RecordError::Settings { problem } => f.write_str(problem),
            RecordError::Panicked => f.write_str("the thread that writes the recording has panicked"),
        }
    }
}

impl std::error::Error for RecordError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            RecordError::File { error, .. } => Some(error.as_ref()),
            _ => None,
        }
    }
}
