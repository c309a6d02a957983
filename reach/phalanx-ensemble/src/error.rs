//! [`EnsembleError`]: why an ensemble does not run.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why an ensemble does not run. A run that fails is not such an error: [`Summary::failed`](crate::Summary) lists it.
#[derive(Debug)]
#[non_exhaustive]
pub enum EnsembleError {
    /// The file system refused an operation.
    File {
        /// What was done, such as "write".
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// A file is not what it should be.
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A keyframe cannot be saved or loaded.
    Keyframe {
        /// The file.
        path: PathBuf,
        /// The cause.
        problem: String,
    },
    /// Two runs have the same parameters and seed, or such that give folders the same name.
    SameName {
        /// The name.
        name: String,
    },
}

impl EnsembleError {
    pub(crate) fn file(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> EnsembleError {
        let path = path.to_owned();
        move |error| EnsembleError::File { operation, path, error }
    }
}

impl fmt::Display for EnsembleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EnsembleError::File { operation, path, error } => {
                write!(f, "cannot {operation} {}: {error}", path.display())
            }
            EnsembleError::Damaged { path, problem } => write!(f, "{} is damaged: {problem}", path.display()),
            EnsembleError::Keyframe { path, problem } => write!(f, "keyframe {}: {problem}", path.display()),
            EnsembleError::SameName { name } => write!(f, "two runs have the name {name}"),
        }
    }
}

impl std::error::Error for EnsembleError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            EnsembleError::File { error, .. } => Some(error),
            _ => None,
        }
    }
}
