//! What can be wrong with whole columns.

use super::row::SoaRow;
use crate::{AllocError, TryInsertError};
use core::fmt;

/// Columns could not be appended; nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnsError {
    /// A column is longer or shorter than the first.
    UnequalLengths {
        /// The length of the first column.
        first: usize,
        /// Which column differs: its number among the lanes, those of nested rows counted one by one.
        lane: usize,
        /// Its length.
        found: usize,
        /// The name of the row type.
        row: &'static str,
    },
    /// Memory could not be had.
    Alloc(AllocError),
}

impl ColumnsError {
    /// For the forms that do not report failed allocations.
    #[track_caller]
    pub(super) fn raise(result: Result<(), ColumnsError>) -> Result<(), ColumnsError> {
        match result {
            Err(ColumnsError::Alloc(error)) => error.raise(),
            other => other,
        }
    }
}

impl<C> From<TryInsertError<C, ColumnsError>> for ColumnsError {
    fn from(rejected: TryInsertError<C, ColumnsError>) -> Self {
        rejected.reason
    }
}

impl fmt::Display for ColumnsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ColumnsError::UnequalLengths { first, lane, found, row } => {
                write!(f, "columns of {row} differ in length: lane 0 has {first} values, lane {lane} has {found}")
            }
            ColumnsError::Alloc(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ColumnsError {}

impl From<AllocError> for ColumnsError {
    fn from(error: AllocError) -> ColumnsError {
        ColumnsError::Alloc(error)
    }
}

/// The one length of all lanes, which `visit` reports one by one; 0 if there are none.
pub(super) fn common_len<T: SoaRow>(visit: impl FnOnce(&mut dyn FnMut(usize))) -> Result<usize, ColumnsError> {
    let (mut first, mut lane, mut odd) = (None, 0, None);
    visit(&mut |found| {
        let first = *first.get_or_insert(found);
        if found != first && odd.is_none() {
            odd = Some(ColumnsError::UnequalLengths { first, lane, found, row: T::NAME });
        }
        lane += 1;
    });
    match odd {
        Some(error) => Err(error),
        None => Ok(first.unwrap_or(0)),
    }
}
