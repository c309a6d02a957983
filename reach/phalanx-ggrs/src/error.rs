//! [`NetcodeError`].

use ggrs::GgrsError;
use phalanx::snapshot::{LoadError, SaveError};
use phalanx_rollback::RollbackError;
use std::fmt;

/// An error of a [`Driver`](crate::Driver), a [`Spectator`](crate::Spectator) or of [`Joining`](crate::Joining) a game.
#[derive(Debug)]
#[non_exhaustive]
pub enum NetcodeError {
    /// A frame could not be captured or restored.
    Rollback(RollbackError),
    /// ggrs has refused a call.
    Ggrs(GgrsError),
    /// A request of ggrs is about another frame than the present one.
    OtherFrame {
        /// The frame of the request.
        asked: u64,
        /// The present frame.
        present: u64,
    },
    /// A world could not be saved.
    Save(SaveError),
    /// The snapshot of a peer could not be loaded.
    Load(Box<LoadError>),
    /// The loaded world is not the one that was saved.
    OtherSum {
        /// The frame of the snapshot.
        frame: u64,
        /// The sum that the peer has told.
        told: u64,
        /// The sum of the loaded world.
        loaded: u64,
    },
    /// The peer does not let the program take part.
    Refused,
    /// The call needs a registry, and the driver has none.
    NoRegistry,
    /// Another player decides who takes part, or one is joining already.
    NotNow,
    /// A message of a peer does not make sense.
    Message {
        /// What is wrong.
        what: &'static str,
    },
}

impl fmt::Display for NetcodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NetcodeError::Rollback(error) => error.fmt(f),
            NetcodeError::Ggrs(error) => error.fmt(f),
            NetcodeError::OtherFrame { asked, present } => {
                write!(f, "a request for frame {asked}, but the present frame is {present}")
            }
            NetcodeError::Save(error) => error.fmt(f),
            NetcodeError::Load(error) => error.fmt(f),
            NetcodeError::OtherSum { frame, told, loaded } => {
                write!(f, "the snapshot of frame {frame} has the sum {loaded:016x}, and not {told:016x}")
            }
            NetcodeError::Refused => write!(f, "the peer does not let the program take part"),
            NetcodeError::NoRegistry => write!(f, "the driver has no registry"),
            NetcodeError::NotNow => write!(f, "only the player with the lowest number admits others, one at a time"),
            NetcodeError::Message { what } => write!(f, "a message of a peer: {what}"),
        }
    }
}

impl std::error::Error for NetcodeError {}

impl From<RollbackError> for NetcodeError {
    fn from(error: RollbackError) -> Self {
        NetcodeError::Rollback(error)
    }
}

impl From<GgrsError> for NetcodeError {
    fn from(error: GgrsError) -> Self {
        NetcodeError::Ggrs(error)
    }
}

impl From<SaveError> for NetcodeError {
    fn from(error: SaveError) -> Self {
        NetcodeError::Save(error)
    }
}

impl From<LoadError> for NetcodeError {
    fn from(error: LoadError) -> Self {
        NetcodeError::Load(Box::new(error))
    }
}
