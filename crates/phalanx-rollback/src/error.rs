//! [`RollbackError`].

use core::fmt;
use phalanx::timeline::TimelineError;

/// An error of a [`Rollback`](crate::Rollback). The world is unchanged, unless a simulation has changed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RollbackError {
    /// The frame is not kept: it is too old, or was not simulated yet.
    NoSuchFrame {
        /// The frame.
        frame: u64,
        /// The oldest frame that is kept.
        oldest: u64,
        /// The present frame.
        present: u64,
    },
    /// A frame could not be captured or restored.
    Timeline(TimelineError),
}

impl fmt::Display for RollbackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RollbackError::NoSuchFrame { frame, oldest, present } => {
                write!(f, "frame {frame} is not kept: the frames are {oldest} to {present}")
            }
            RollbackError::Timeline(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for RollbackError {}

impl From<TimelineError> for RollbackError {
    fn from(error: TimelineError) -> Self {
        RollbackError::Timeline(error)
    }
}
