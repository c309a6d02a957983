//! [`AllocError`]: the error of a failed allocation.

use core::fmt;

/// An allocation failed. The container is unchanged.
///
/// Every `try_` method returns it. The methods without `try_` panic or abort instead, as the standard collections do.
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
    /// More elements were requested than there are indices, or more than `isize::MAX` bytes.
    CapacityOverflow,
    /// The allocator failed to allocate a block of `bytes` bytes aligned to `align`.
    OutOfMemory {
        /// The size of the block.
        bytes: usize,
        /// The alignment of the block.
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

    /// Aborts through the allocation error hook, or panics on an overflow, as `Vec` does.
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

/// Unwraps the result of a `try_` method; panics or aborts on an error.
#[inline]
#[track_caller]
pub(crate) fn infallible<T>(result: Result<T, AllocError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => error.raise(),
    }
}
