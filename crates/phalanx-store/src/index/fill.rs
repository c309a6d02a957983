//! Inserts many keys at once into an empty container.
#![allow(unsafe_code)]

use super::sparse::{DenseKey, Entry, Sparse};
use crate::raw::{Dense, DenseIndex, Rows};
use crate::{AllocError, Key};

impl<K: Key> Sparse<K> {
    /// Links the `live` keys among these dense keys to their positions, in an empty index. Holes are skipped.
    ///
    /// Returns a key whose index came before, if there is one. The index must not be used then.
    ///
    /// # Safety
    ///
    /// No key has an index above `last`.
    unsafe fn try_link_all(
        &mut self,
        dense_keys: &[DenseKey<K>],
        last: u32,
        live: u32,
    ) -> Result<Option<K>, AllocError> {
        let keys = dense_keys.iter().zip(0..).filter(|(dense_key, _)| !<Self as DenseIndex>::is_hole(**dense_key));
        let keys = keys.map(|(dense_key, position)| (dense_key.0, position));
        // If the window takes in the last index for all keys, it takes in all of them.
        self.try_prepare_slow(last, live.saturating_sub(1), 0)?;
        if last < self.window_len {
            let window = self.window.ptr();
            for (key, position) in keys {
                // SAFETY: no index is above `last`, and `window_len` entries are initialised, that of `last` among them.
                let entry = unsafe { &mut *window.add(key.index() as usize) };
                if !entry.is_vacant() {
                    return Ok(Some(key));
                }
                *entry = Entry { position, word: key.generation() };
            }
            return Ok(None);
        }
        for ((key, position), before) in keys.zip(0..) {
            self.try_prepare(key.index(), before)?;
            if !self.entry(key.index()).is_vacant() {
                return Ok(Some(key));
            }
            self.link(key, position);
        }
        Ok(None)
    }
}

impl<K: Key, R: Rows> Dense<Sparse<K>, R> {
    /// Inserts these keys into an empty container, in their order. `None` leaves a hole.
    ///
    /// The rows of the keys are in use from then on. Holes at the end are left out, as the last position is never one.
    ///
    /// # Errors
    ///
    /// Returns the first error of the iterator, `twice(key)` for a key whose index came before, or an [`AllocError`] if
    /// allocation fails. The container is empty then.
    ///
    /// # Panics
    ///
    /// Panics if the container is not empty.
    ///
    /// # Safety
    ///
    /// The rows at the positions of all keys are initialised.
    #[track_caller]
    pub unsafe fn try_admit_all<E: From<AllocError>>(
        &mut self,
        keys: impl ExactSizeIterator<Item = Result<Option<K>, E>>,
        twice: impl FnOnce(K) -> E,
    ) -> Result<(), E> {
        assert_eq!(self.len, 0, "keys for a container that has some");
        let count = u32::try_from(keys.len()).map_err(|_| AllocError::CapacityOverflow)?;
        self.try_reserve(count)?;
        let lane = self.keys.ptr();
        let (mut last, mut len, mut holes, mut low) = (0, 0, 0, 0);
        for (at, key) in (0..count).zip(keys) {
            let Some(key) = key? else { continue };
            if len < at {
                low = if holes == 0 { len } else { low };
                holes += at - len;
                for hole in len..at {
                    // SAFETY: there is capacity for `count` dense keys, and the hole is below `at`.
                    unsafe { lane.add(hole as usize).write(<Sparse<K> as DenseIndex>::hole(DenseKey(key))) };
                }
            }
            // SAFETY: there is capacity for `count` dense keys, and `at` is below `count`.
            unsafe { lane.add(at as usize).write(DenseKey(key)) };
            (last, len) = (last.max(key.index()), at + 1);
        }
        if len == 0 {
            return Ok(());
        }
        // SAFETY: `len` dense keys were just written, and `last` is the highest index of them.
        let linked = unsafe { self.index.try_link_all(self.keys.slice(len), last, len - holes) };
        if !matches!(linked, Ok(None)) {
            self.index = Sparse::new();
        }
        if let Some(key) = linked? {
            return Err(twice(key));
        }
        // SAFETY: the positions are within the capacity, and the container is borrowed exclusively.
        unsafe { self.keys.set_dirty_rows(0..len) };
        (self.len, self.holes, self.low, self.gap) = (len, holes, low, 0..0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Entity;
    use crate::raw::LaneOf;
    use alloc::vec::Vec;

    #[derive(Debug, PartialEq)]
    enum No {
        Alloc,
        Dead(u32),
        Twice(u32),
    }
    impl From<AllocError> for No {
        fn from(_: AllocError) -> No {
            No::Alloc
        }
    }

    /// A container of these indices; a hole is `u32::MAX`, and 13 is dead.
    fn filled(indices: &[u32]) -> (Dense<Sparse<Entity>, LaneOf<u32>>, Result<(), No>) {
        let mut dense = Dense::new(Sparse::new(), LaneOf::new());
        let keys = indices.iter().map(|index| match *index {
            u32::MAX => Ok(None),
            13 => Err(No::Dead(13)),
            index => Ok(Some(Entity::new(index, index % 3))),
        });
        // SAFETY: numbers without a meaning have no need to be written, and are not read.
        let done = unsafe { dense.try_admit_all(keys, |key| No::Twice(key.index())) };
        dense.validate().unwrap();
        (dense, done)
    }

    #[test]
    fn keys_that_come_at_once_are_found_at_their_positions() {
        let far: Vec<u32> = (0..100).map(|i| i * 900 % 977 * 5000).collect();
        let near: Vec<u32> = (0..9000).rev().filter(|i| *i != 13).collect();
        for list in [&far[..], &near, &[], &[0], &[7, u32::MAX, u32::MAX, 3, u32::MAX, 5]] {
            let (dense, done) = filled(list);
            assert_eq!(done, Ok(()));
            assert_eq!(dense.positions() as usize, list.len());
            for (at, index) in (0..).zip(list) {
                let key = (*index != u32::MAX).then(|| Entity::new(*index, *index % 3));
                assert_eq!(dense.key_at(at), key);
                assert_eq!(key.and_then(|key| dense.index().position(key)), key.map(|_| at));
            }
        }
    }

    #[test]
    fn a_key_that_is_none_or_comes_twice_leaves_the_container_empty() {
        let cases = [
            (&[1, 2, 13, 2][..], No::Dead(13)),
            (&[1, 2, 3, 2], No::Twice(2)),
            (&[9_000_000, 2, u32::MAX, 3, 9_000_000], No::Twice(9_000_000)),
        ];
        for (list, error) in cases {
            let (dense, done) = filled(list);
            assert_eq!(done, Err(error));
            assert_eq!((dense.positions(), dense.live()), (0, 0));
            assert!(list.iter().all(|index| dense.index().occupant(*index).is_none()));
        }
    }

    #[test]
    fn holes_after_the_last_key_are_left_out() {
        let (dense, done) = filled(&[4, u32::MAX, 6, u32::MAX]);
        assert_eq!(done, Ok(()));
        assert_eq!((dense.positions(), dense.holes()), (3, 1));
        assert_eq!(filled(&[u32::MAX]).0.positions(), 0);
    }
}
