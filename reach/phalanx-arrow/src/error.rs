//! [`TableError`]: why there is no table.

use arrow_schema::ArrowError;
use phalanx::Entity;
use phalanx::reflect::TextQueryError;
use std::fmt;

/// Why a world does not become a table.
#[derive(Debug)]
#[non_exhaustive]
pub enum TableError {
    /// The world has no such component, or it is that of a relation or of names.
    NoSuchComponent {
        /// The name or the number of the component.
        component: String,
    },
    /// The table has no such column, part or row.
    OutOfRange {
        /// What does not exist.
        what: &'static str,
        /// The number that was asked for.
        at: usize,
        /// How many there are.
        len: usize,
    },
    /// The text query is wrong.
    Query(TextQueryError),
    /// The code of a type failed to serialize a value.
    Value {
        /// The component.
        component: String,
        /// The entity.
        entity: Entity,
        /// The error.
        error: String,
    },
    /// The texts of a column have more than 2 GiB. Fewer rows at a time have less.
    TooLong {
        /// The column.
        column: String,
    },
    /// Arrow refused what was built.
    Arrow(ArrowError),
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableError::NoSuchComponent { component } => write!(f, "the world has no component {component}"),
            TableError::OutOfRange { what, at, len } => write!(f, "no {what} {at}: there are {len}"),
            TableError::Query(error) => error.fmt(f),
            TableError::Value { component, entity, error } => write!(f, "{component} of {entity}: {error}"),
            TableError::TooLong { column } => write!(f, "the texts of {column} have more than 2 GiB"),
            TableError::Arrow(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TableError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            TableError::Query(error) => Some(error),
            TableError::Arrow(error) => Some(error),
            _ => None,
        }
    }
}

impl From<TextQueryError> for TableError {
    fn from(error: TextQueryError) -> Self {
        TableError::Query(error)
    }
}

impl From<ArrowError> for TableError {
    fn from(error: ArrowError) -> Self {
        TableError::Arrow(error)
    }
}
