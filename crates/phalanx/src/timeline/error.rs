//! Errors of checkpoints, timelines and deltas.

use crate::error::NoSuchResource;
use crate::sparse::RegroupError;
use core::fmt;
use phalanx_store::AllocError;

/// An error of a checkpoint, a rollback, or an operation of a [`Timeline`](super::Timeline). The world is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimelineError {
    /// An entity has a component that can be neither cloned nor copied: it is neither `#[component(clone)]` nor
    /// `#[component(plain)]`.
    NotClone {
        /// The name of the component.
        component: &'static str,
    },
    /// The state is of another world.
    Foreign,
    /// There are fewer frames.
    NoSuchFrame {
        /// The requested number of frames back.
        back: usize,
        /// The number of frames before the last one.
        kept: usize,
    },
    /// A [kept](crate::ResourcesMut::keep) resource is taken out by a scope.
    Resource(NoSuchResource),
    /// Allocation failed.
    Alloc(AllocError),
}

impl fmt::Display for TimelineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimelineError::NotClone { component } => write!(f, "{component} can be neither cloned nor copied"),
            TimelineError::Foreign => write!(f, "the state is of another world"),
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

/// An error of making or applying a delta. The world is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeltaError {
    /// A component is not `#[component(plain)]`.
    NotPlain {
        /// The name of the component.
        component: &'static str,
    },
    /// Bytes are not a value of their component or resource.
    InvalidValue {
        /// The name of the component or resource.
        component: &'static str,
    },
    /// There are more items than a delta may have.
    TooMany {
        /// The kind of item.
        what: &'static str,
    },
    /// The two states are of different worlds.
    Foreign,
    /// The world is not in the first state of the delta.
    OtherBase,
    /// The world does not know a component, or knows two with the same name and layout.
    OtherComponents,
    /// The world does not [keep](crate::ResourcesMut::keep_plain) a resource, or does not know events, of the delta.
    OtherResources,
    /// The bytes are not a delta, or are damaged.
    Damaged {
        /// What is wrong.
        what: &'static str,
    },
    /// A [kept](crate::ResourcesMut::keep) resource is taken out by a scope.
    Resource(NoSuchResource),
    /// Allocation failed.
    Alloc(AllocError),
}

impl fmt::Display for DeltaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeltaError::NotPlain { component } => write!(f, "{component} is not plain data"),
            DeltaError::InvalidValue { component } => write!(f, "bytes that are not a value of {component}"),
            DeltaError::TooMany { what } => write!(f, "too many {what} for a delta"),
            DeltaError::Foreign => write!(f, "the states are of different worlds"),
            DeltaError::OtherBase => write!(f, "the world is not in the first state of the delta"),
            DeltaError::OtherComponents => write!(f, "the world has other components"),
            DeltaError::OtherResources => write!(f, "the world keeps other resources or events"),
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
