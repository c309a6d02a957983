//! [`cold_path`], which std has in newer versions of Rust than the minimum.

/// Marks the path from which it is called as unlikely.
#[cold]
#[inline]
pub const fn cold_path() {}
