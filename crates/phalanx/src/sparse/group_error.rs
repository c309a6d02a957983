//! [`GroupError`] and [`PoolError`].

use super::Removal;
use crate::error::ComponentError;
use core::fmt;
use phalanx_store::AllocError;

/// The error of creating a group. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GroupError {
    /// A component is stored in tables. Tables have the entities of an archetype together already.
    Table {
        /// The group.
        group: &'static str,
        /// The component.
        component: &'static str,
    },
    /// An owned component is stored in a linear storage, whose order cannot change.
    Linear {
        /// The group.
        group: &'static str,
        /// The component.
        component: &'static str,
    },
    /// A component is named twice.
    Duplicate {
        /// The group.
        group: &'static str,
        /// The component.
        component: &'static str,
    },
    /// The group requires no component.
    Empty {
        /// The group.
        group: &'static str,
    },
    /// Another group owns a sparse set that this one would own, and neither is within the other.
    Conflict {
        /// The group.
        group: &'static str,
        /// The other group.
        other: &'static str,
        /// A component that both would own.
        component: &'static str,
    },
    /// The sparse set of an owned component does not have [`Removal::Swap`].
    Removal {
        /// The group.
        group: &'static str,
        /// The component.
        component: &'static str,
        /// Its removal policy.
        removal: Removal,
    },
    /// Allocation failed.
    Alloc(AllocError),
}

impl fmt::Display for GroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GroupError::Table { group, component } => {
                write!(f, "{component} is kept in tables, and a table is that already: no group {group}")
            }
            GroupError::Linear { group, component } => {
                write!(f, "{component} is kept at the index of its entities and cannot be owned by the group {group}")
            }
            GroupError::Duplicate { group, component } => write!(f, "the group {group} names {component} twice"),
            GroupError::Empty { group } => write!(f, "the group {group} requires no component"),
            GroupError::Conflict { group, other, component } => {
                write!(f, "the group {group} would own the pool of {component}, which the group {other} owns")
            }
            GroupError::Removal { group, component, removal } => {
                write!(f, "removal from the pool of {component} is {removal:?}: the group {group} cannot own it")
            }
            GroupError::Alloc(error) => error.fmt(f),
        }
    }
}

impl From<AllocError> for GroupError {
    fn from(error: AllocError) -> Self {
        GroupError::Alloc(error)
    }
}

/// The error of reordering or filtering a sparse set, or of changing its removal policy. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PoolError {
    /// A group owns the sparse set, and determines the order of its values.
    Owned {
        /// The component.
        component: &'static str,
        /// The group.
        group: &'static str,
    },
    /// An entity is not alive, or does not have the component.
    Component(ComponentError),
    /// Allocation failed.
    Alloc(AllocError),
}

impl fmt::Display for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PoolError::Owned { component, group } => write!(f, "the group {group} owns the pool of {component}"),
            PoolError::Component(error) => error.fmt(f),
            PoolError::Alloc(error) => error.fmt(f),
        }
    }
}

impl From<AllocError> for PoolError {
    fn from(error: AllocError) -> Self {
        PoolError::Alloc(error)
    }
}

impl From<ComponentError> for PoolError {
    fn from(error: ComponentError) -> Self {
        PoolError::Component(error)
    }
}

impl core::error::Error for GroupError {}
impl core::error::Error for PoolError {}
