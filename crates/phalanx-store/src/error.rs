//! The errors that allocating can end in.

use core::fmt;

/// Memory for an operation could not be had; nothing was changed.
///
/// Returned by every `try_` method. The plain forms abort instead, as the standard collections do, and they do so
/// before anything was changed.
///
/// ```
/// use phalanx_store::{AllocError, PackedStore};
///
/// let mut store: PackedStore<u64> = PackedStore::new();
/// assert_eq!(store.try_reserve(usize::MAX), Err(AllocError::CapacityOverflow));
/// assert!(store.is_empty());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AllocError {
    /// More elements were asked for than indices or bytes can count.
    CapacityOverflow,
    /// The allocator returned nothing for a block of `bytes` bytes aligned to `align`.
    OutOfMemory {
        /// The size of the block that was refused.
        bytes: usize,
        /// Its alignment.
        align: usize,
    },
}

impl fmt::Display for AllocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AllocError::CapacityOverflow => f.write_str("capacity overflow: more elements than indices can count"),
            AllocError::OutOfMemory { bytes, align } => {
                write!(f, "out of memory: no block of {bytes} bytes aligned to {align}")
            }
        }
    }
}

impl core::error::Error for AllocError {}

impl AllocError {
    pub(crate) fn of(layout: core::alloc::Layout) -> AllocError {
        AllocError::OutOfMemory { bytes: layout.size(), align: layout.align() }
    }

    /// What the plain forms do with an error: abort through the allocation error hook, or panic on an overflow, as
    /// `Vec` does.
    #[cold]
    #[inline(never)]
    #[track_caller]
    pub(crate) fn raise(self) -> ! {
        match self {
            AllocError::CapacityOverflow => panic!("{self}"),
            AllocError::OutOfMemory { bytes, align } => match core::alloc::Layout::from_size_align(bytes, align) {
                Ok(layout) => alloc::alloc::handle_alloc_error(layout),
                Err(_) => panic!("{self}"),
            },
        }
    }
}

/// Unwraps the result of a `try_` form in its plain form.
#[inline]
#[track_caller]
pub(crate) fn infallible<T>(result: Result<T, AllocError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => error.raise(),
    }
}
