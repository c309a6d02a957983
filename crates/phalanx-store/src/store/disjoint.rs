//! [`DisjointError`], and mutable references to several values at once.
#![allow(unsafe_code)]

use core::fmt;

/// The reason why values could not be borrowed together. Positions are those in the array of keys.
///
/// It is the error of `get_disjoint_mut` of all containers. The keys of a [`Soa`](struct@crate::Soa) are row numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisjointError {
    /// The key at this position names no value.
    Absent(usize),
    /// The keys at these positions name the same value.
    Repeated(usize, usize),
}

impl fmt::Display for DisjointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DisjointError::Absent(at) => write!(f, "key number {at} names no value"),
            DisjointError::Repeated(a, b) => write!(f, "keys number {a} and {b} name the same value"),
        }
    }
}

impl core::error::Error for DisjointError {}

/// Returns references to the values at the positions that `find` returns for `0..N`.
///
/// # Safety
///
/// `values` are exclusively borrowed for `'a`, and every position that `find` returns is occupied.
pub(crate) unsafe fn disjoint<'a, T, const N: usize>(
    values: *mut T,
    find: impl FnMut(usize) -> Option<u32>,
) -> Result<[&'a mut T; N], DisjointError> {
    let positions = distinct::<u32, N>(find)?;
    // SAFETY: the positions are occupied and all different, so the references do not overlap (values without a size
    // cannot).
    Ok(positions.map(|p| unsafe { &mut *values.add(p as usize) }))
}

/// Returns the positions that `find` returns for `0..N`, if there is one for each and all of them differ.
pub(crate) fn distinct<P: Copy + Default + PartialEq, const N: usize>(
    mut find: impl FnMut(usize) -> Option<P>,
) -> Result<[P; N], DisjointError> {
    let mut positions = [P::default(); N];
    for at in 0..N {
        let position = find(at).ok_or(DisjointError::Absent(at))?;
        if let Some(first) = positions[..at].iter().position(|p| *p == position) {
            return Err(DisjointError::Repeated(first, at));
        }
        positions[at] = position;
    }
    Ok(positions)
}
