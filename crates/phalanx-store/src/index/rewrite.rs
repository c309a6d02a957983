//! Rewriting the keys of a dense container in place, where they differ from those of an earlier state.
#![allow(unsafe_code)]

use super::sparse::{DenseKey, Sparse};
use crate::raw::{Dense, DenseIndex, Rows};
use crate::{AllocError, Key};
use core::ops::Range;

/// Returns a dense key of a list of bytes.
///
/// # Safety
///
/// The bytes are those of dense keys, and the position is below their number.
unsafe fn dense_key<K: Key>(keys: &[u8], at: u32) -> DenseKey<K> {
    debug_assert!((at as usize + 1) * size_of::<K>() <= keys.len());
    // SAFETY: the position is within the list, by the caller's contract. The bytes need not be aligned.
    unsafe { keys.as_ptr().cast::<DenseKey<K>>().add(at as usize).read_unaligned() }
}

/// Returns `true` if two dense keys are the same key, or the same hole.
fn is_same<K: Key>(a: DenseKey<K>, b: DenseKey<K>) -> bool {
    a.0.index() == b.0.index() && a.0.generation() == b.0.generation()
}

/// # Rewriting
impl<K: Key, R: Rows> Dense<Sparse<K>, R> {
    /// Reserves everything that [`rewrite_keys`](Dense::rewrite_keys) needs, but no capacity for rows.
    ///
    /// No empty page of the index is freed until `rewrite_keys`, or [`Sparse::hold_pages`].
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails. No row or key changes.
    ///
    /// # Safety
    ///
    /// `keys` are the bytes of the [dense keys](Dense::dense_keys) of such a container. The ranges end within them.
    pub unsafe fn try_reserve_keys(
        &mut self,
        keys: &[u8],
        changed: impl Iterator<Item = Range<u32>>,
    ) -> Result<(), AllocError> {
        self.keys.try_grow((keys.len() / size_of::<K>()) as u32)?;
        self.index.hold_pages(true);
        for at in changed.flatten() {
            // SAFETY: the position is within the list, by the caller's contract.
            let key = unsafe { dense_key::<K>(keys, at) };
            if !Sparse::<K>::is_hole(key) {
                self.index.try_prepare(key.0.index(), self.live())?;
            }
        }
        Ok(())
    }

    /// Replaces the keys in `changed` by those of `keys`, and removes the positions beyond. Calls `each` for every key that is
    /// removed, with `false`, and afterwards for every key that is new, with `true`.
    ///
    /// # Panics
    ///
    /// Panics if `each` does. The container is unusable then, and must be forgotten.
    ///
    /// # Safety
    ///
    /// - [`try_reserve_keys`](Dense::try_reserve_keys) succeeded for the same keys and ranges, and nothing changed since.
    /// - The keys differ from those of the container in the ranges only, which include all new positions.
    /// - Before anything else happens, the rows get capacity for all positions, and are initialised at all that are not
    ///   holes. No value is dropped by this method.
    pub unsafe fn rewrite_keys(
        &mut self,
        keys: &[u8],
        changed: impl Iterator<Item = Range<u32>> + Clone,
        mut each: impl FnMut(K, bool),
    ) {
        let (old, len) = (self.len, (keys.len() / size_of::<K>()) as u32);
        let removed = changed.clone().flatten().filter(|at| *at < old).chain(len.min(old)..old);
        for at in removed {
            // SAFETY: positions below the old length have keys. Those below the new one are within the list.
            let (was, is_kept) = unsafe {
                let was = *self.keys.at(at);
                (was, at < len && is_same(was, dense_key(keys, at)))
            };
            if is_kept {
                continue;
            }
            if Sparse::<K>::is_hole(was) {
                self.holes -= 1;
                continue;
            }
            // SAFETY: a dense key in use that is not a hole is alive.
            unsafe { self.index.release(was) };
            each(was.0, false);
        }
        for at in changed.flatten() {
            // SAFETY: the position is within the list and below the capacity, which was reserved.
            unsafe {
                let key = dense_key::<K>(keys, at);
                if at < old && is_same(*self.keys.at(at), key) {
                    continue;
                }
                self.keys.at(at).write(key);
                if Sparse::<K>::is_hole(key) {
                    self.holes += 1;
                    continue;
                }
                self.index.link(key.0, at);
                each(key.0, true);
            }
        }
        (self.len, self.gap, self.low) = (len, 0..0, 0);
        self.index.hold_pages(false);
    }
}
