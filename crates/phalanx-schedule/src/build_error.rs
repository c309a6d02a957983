//! [`BuildError`]: why a schedule cannot be built.

use core::fmt;
use phalanx::system::ParamConflict;

/// Why a schedule cannot be built. It names the systems.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// The parameters of a system conflict.
    ParamConflict {
        /// The name of the system.
        system: String,
        /// The parameters.
        conflict: ParamConflict,
    },
    /// Systems wait for each other: each runs before the next, and the last before the first.
    Cycle {
        /// The names of the systems. The first is also the last.
        systems: Vec<String>,
    },
    /// An order or a set refers to systems that are not in the schedule.
    UnknownLabel {
        /// The system or the set with the order.
        system: String,
        /// What it refers to.
        label: String,
    },
    /// A condition writes something, or records commands.
    ConditionWrites {
        /// The system or the set with the condition.
        system: String,
        /// The name of the condition.
        condition: String,
    },
    /// Two systems have the same given name.
    DuplicateName {
        /// The name.
        name: String,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::ParamConflict { system, conflict } => write!(f, "the system {system} cannot run: {conflict}"),
            BuildError::Cycle { systems } => write!(f, "systems wait for each other: {}", systems.join(" before ")),
            BuildError::UnknownLabel { system, label } => {
                write!(f, "{system} refers to {label}, but no system of the schedule has that name or is in that set")
            }
            BuildError::ConditionWrites { system, condition } => {
                write!(f, "the condition {condition} of {system} writes or records commands; a condition only reads")
            }
            BuildError::DuplicateName { name } => write!(f, "two systems have the name {name}"),
        }
    }
}

impl core::error::Error for BuildError {}
