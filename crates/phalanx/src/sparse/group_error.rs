//! Why a group or a pool could not be had as it was wanted.

use super::Removal;
use core::fmt;
use phalanx_store::AllocError;

/// Why a group could not be made. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GroupError {
    /// A component is kept in tables: a table is already what a group would be.
    Table {
        /// The group.
        group: &'static str,
        /// The component.
        component: &'static str,
    },
    /// A component that was to be owned is kept at the index of its entities, where no order can be had.
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
    /// No component is owned or observed.
    Empty {
        /// The group.
        group: &'static str,
    },
    /// Another group owns a pool that this one would own, and neither is within the other.
    Conflict {
        /// The group.
        group: &'static str,
        /// The group that is there.
        other: &'static str,
        /// A component of which both would own the pool.
        component: &'static str,
    },
    /// A pool that was to be owned does not replace what is removed by the last.
    Removal {
        /// The group.
        group: &'static str,
        /// The component.
        component: &'static str,
        /// What becomes of the places of its values.
        removal: Removal,
    },
    /// There is no memory for it.
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

/// Why a pool could not be treated so. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PoolError {
    /// A group owns the pool, and with it the order of its values.
    Owned {
        /// The component.
        component: &'static str,
        /// The group.
        group: &'static str,
    },
    /// There is no memory for it.
    Alloc(AllocError),
}

impl fmt::Display for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PoolError::Owned { component, group } => write!(f, "the group {group} owns the pool of {component}"),
            PoolError::Alloc(error) => error.fmt(f),
        }
    }
}

impl From<AllocError> for PoolError {
    fn from(error: AllocError) -> Self {
        PoolError::Alloc(error)
    }
}

impl core::error::Error for GroupError {}
impl core::error::Error for PoolError {}
