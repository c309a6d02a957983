//! Why a world could not be copied or brought back.

use crate::error::NoSuchResource;
use crate::sparse::RegroupError;
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
    /// A [kept](crate::World::keep_resource) resource is taken out by a scope.
    Resource(NoSuchResource),
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
            TimelineError::Resource(error) => error.fmt(f),
            TimelineError::Alloc(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for TimelineError {}

impl From<NoSuchResource> for TimelineError {
    fn from(error: NoSuchResource) -> Self {
        TimelineError::Resource(error)
    }
}

impl From<AllocError> for TimelineError {
    fn from(error: AllocError) -> Self {
        TimelineError::Alloc(error)
    }
}

/// Why no delta could be made, or a delta not be applied. Nothing happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeltaError {
    /// A component is not `#[component(plain)]`.
    NotPlain {
        /// The component.
        component: &'static str,
    },
    /// Bytes are not a value of their component.
    InvalidValue {
        /// The component.
        component: &'static str,
    },
    /// There is more of something than bytes are believed.
    TooMany {
        /// Of what.
        what: &'static str,
    },
    /// The two states are of different worlds.
    Foreign,
    /// The world is not in the state that the delta leads from.
    OtherBase,
    /// The world knows other components, or under other ids.
    OtherComponents,
    /// The bytes are no delta, or damaged.
    Damaged {
        /// What is wrong.
        what: &'static str,
    },
    /// A [kept](crate::World::keep_resource) resource is taken out by a scope.
    Resource(NoSuchResource),
    /// There is no memory for it.
    Alloc(AllocError),
}

impl fmt::Display for DeltaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeltaError::NotPlain { component } => write!(f, "{component} is not plain data"),
            DeltaError::InvalidValue { component } => write!(f, "bytes that are not a value of {component}"),
            DeltaError::TooMany { what } => write!(f, "too many {what} for a delta"),
            DeltaError::Foreign => write!(f, "the states are of different worlds"),
            DeltaError::OtherBase => write!(f, "the world is not in the state that the delta leads from"),
            DeltaError::OtherComponents => write!(f, "the world has other components, or under other ids"),
            DeltaError::Damaged { what } => write!(f, "damaged: {what}"),
            DeltaError::Resource(error) => error.fmt(f),
            DeltaError::Alloc(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for DeltaError {}

impl From<AllocError> for DeltaError {
    fn from(error: AllocError) -> Self {
        DeltaError::Alloc(error)
    }
}

impl From<TimelineError> for DeltaError {
    fn from(error: TimelineError) -> Self {
        match error {
            TimelineError::Resource(error) => DeltaError::Resource(error),
            TimelineError::Alloc(error) => DeltaError::Alloc(error),
            TimelineError::NotClone { component } => DeltaError::NotPlain { component },
            TimelineError::Foreign | TimelineError::NoSuchFrame { .. } => DeltaError::Foreign,
        }
    }
}

impl From<RegroupError> for DeltaError {
    fn from(error: RegroupError) -> Self {
        match error {
            RegroupError::Invalid(what) => DeltaError::Damaged { what },
            RegroupError::Alloc(error) => DeltaError::Alloc(error),
        }
    }
}
