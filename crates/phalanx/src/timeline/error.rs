//! Why a world could not be copied or brought back.

use core::fmt;
use phalanx_store::AllocError;

/// Why a state of a world could not be kept, or the world not be brought back to one. Nothing happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimelineError {
    /// An entity has a component that can be neither cloned nor copied: it is not `#[component(clone)]`, nor
    /// `#[component(plain)]`.
    NotClone {
        /// The component.
        component: &'static str,
    },
    /// The state is another world's.
    Foreign,
    /// There is no such frame: there are fewer.
    NoSuchFrame {
        /// How many frames back was asked for.
        back: usize,
        /// How many there are before the last.
        kept: usize,
    },
    /// There is no memory for it.
    Alloc(AllocError),
}

impl fmt::Display for TimelineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimelineError::NotClone { component } => write!(f, "{component} can be neither cloned nor copied"),
            TimelineError::Foreign => write!(f, "the state is another world's"),
            TimelineError::NoSuchFrame { back, kept } => {
                write!(f, "no frame {back} back: {kept} are kept before the last")
            }
            TimelineError::Alloc(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for TimelineError {}

impl From<AllocError> for TimelineError {
    fn from(error: AllocError) -> Self {
        TimelineError::Alloc(error)
    }
}
