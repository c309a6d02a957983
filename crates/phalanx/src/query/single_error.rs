//! The error of `Query::single`.

use core::fmt;

/// The error of a query that does not have exactly one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SingleError {
    /// There is no item.
    None {
        /// The type of the query.
        query: &'static str,
    },
    /// There are several items.
    Several {
        /// The type of the query.
        query: &'static str,
        /// The number of items.
        count: usize,
    },
}

impl fmt::Display for SingleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SingleError::None { query } => write!(f, "no entity matches {query}"),
            SingleError::Several { query, count } => write!(f, "{count} entities match {query}"),
        }
    }
}

impl core::error::Error for SingleError {}
