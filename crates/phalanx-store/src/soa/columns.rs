//! [`ColumnsError`]: the error of appending whole columns.

use super::row::SoaRow;
use crate::{AllocError, TryInsertError};
use core::fmt;

/// The reason why columns could not be appended. The array is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnsError {
    /// A column is longer or shorter than the first.
    UnequalLengths {
        /// The length of the first column.
        first: usize,
        /// The number of the column among the lanes; those of nested rows count one by one.
        lane: usize,
        /// The length of that column.
        found: usize,
        /// The name of the row type.
        row: &'static str,
    },
    /// An allocation failed.
    Alloc(AllocError),
}

impl ColumnsError {
    /// Panics or aborts if an allocation failed; returns any other result.
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

/// Returns the common length of all lanes, which `visit` reports one by one. It is 0 if there are none.
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
