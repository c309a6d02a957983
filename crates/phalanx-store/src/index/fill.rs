//! Inserts many keys at once into an empty container.
#![allow(unsafe_code)]

use super::sparse::{DenseKey, Entry, Sparse};
use crate::raw::{Dense, DenseIndex, Rows};
use crate::{AllocError, Key};

/// The window of an index, at hand for many links. Its address is not shared, so that a loop keeps it in registers.
#[derive(Clone, Copy)]
struct Window {
    entries: *mut Entry,
    len: u32,
}

impl<K: Key> Sparse<K> {
    fn window(&self) -> Window {
        Window { entries: self.window.ptr(), len: self.window_len }
    }

    /// Links a key to a position, after `live` others. Returns `false` if the index of the key is occupied, and links nothing
    /// then. With `NEW`, it is not.
    ///
    /// # Safety
    ///
    /// The window is that of the index.
    #[inline(always)]
    unsafe fn try_link<const NEW: bool>(
        &mut self,
        window: &mut Window,
        key: K,
        position: u32,
        live: u32,
    ) -> Result<bool, AllocError> {
        if key.index() >= window.len {
            let is_vacant = self.try_link_beyond(key, position, live)?;
            *window = self.window();
            return Ok(is_vacant);
        }
        // SAFETY: the window has `len` initialised entries, and the index is borrowed exclusively.
        let entry = unsafe { &mut *window.entries.add(key.index() as usize) };
        debug_assert!(!NEW || entry.is_vacant());
        if !NEW && !entry.is_vacant() {
            return Ok(false);
        }
        *entry = Entry { position, word: key.generation() };
        Ok(true)
    }

    /// Links a key beyond the window, which may grow.
    #[cold]
    #[inline(never)]
    fn try_link_beyond(&mut self, key: K, position: u32, live: u32) -> Result<bool, AllocError> {
        self.try_prepare(key.index(), live)?;
        let is_vacant = self.entry(key.index()).is_vacant();
        if is_vacant {
            self.link(key, position);
        }
        Ok(is_vacant)
    }

    /// Links the keys among these dense keys of a container to their positions, in an empty index. Returns the number of
    /// holes.
    pub(super) fn try_relink(&mut self, dense_keys: &[DenseKey<K>]) -> Result<u32, AllocError> {
        let (mut window, mut holes) = (self.window(), 0);
        for (dense_key, position) in dense_keys.iter().zip(0..) {
            if <Self as DenseIndex>::is_hole(*dense_key) {
                holes += 1;
                continue;
            }
            // SAFETY: the window is that of the index. The keys of a container differ.
            unsafe { self.try_link::<true>(&mut window, dense_key.0, position, position - holes)? };
        }
        Ok(holes)
    }
}

impl<K: Key, R: Rows> Dense<Sparse<K>, R> {
    /// Inserts these keys into an empty container, in their order. `None` leaves a hole. `slots` is a number that all
    /// indices of the keys are expected to be below.
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
        slots: u32,
        keys: impl ExactSizeIterator<Item = Result<Option<K>, E>>,
        twice: impl FnOnce(K) -> E,
    ) -> Result<(), E> {
        assert_eq!(self.len, 0, "keys for a container that has some");
        let admitted = self.try_write_all(slots, keys, twice);
        if admitted.is_err() {
            self.index = Sparse::new();
        }
        let (len, holes, low) = admitted?;
        // SAFETY: the positions are within the capacity, and the container is borrowed exclusively.
        unsafe { self.keys.set_dirty_rows(0..len) };
        (self.len, self.holes, self.low, self.gap) = (len, holes, low, 0..0);
        Ok(())
    }

    /// Writes and links keys that are not in use yet. Returns the number of positions, the number of holes among them, and the
    /// first hole.
    fn try_write_all<E: From<AllocError>>(
        &mut self,
        slots: u32,
        keys: impl ExactSizeIterator<Item = Result<Option<K>, E>>,
        twice: impl FnOnce(K) -> E,
    ) -> Result<(u32, u32, u32), E> {
        let count = u32::try_from(keys.len()).map_err(|_| AllocError::CapacityOverflow)?;
        self.try_reserve(count)?;
        if let (Some(last), Some(live)) = (slots.checked_sub(1), count.checked_sub(1)) {
            // If the window takes in the last index for all keys, it takes in all of them. It grows only for those that come.
            if u64::from(last) < Sparse::<K>::window_limit(live) {
                self.index.try_prepare_slow(last, live, 0)?;
            }
        }
        let lane = self.keys.ptr();
        let mut window = self.index.window();
        let index = &mut self.index;
        let (mut len, mut holes, mut low) = (0, 0, 0);
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
            len = at + 1;
            // SAFETY: the window is that of the index.
            if !unsafe { index.try_link::<false>(&mut window, key, at, at - holes)? } {
                return Err(twice(key));
            }
        }
        Ok((len, holes, low))
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
        let slots = indices.iter().filter(|index| **index != u32::MAX).max().map_or(0, |last| last + 1);
        let keys = indices.iter().map(|index| match *index {
            u32::MAX => Ok(None),
            13 => Err(No::Dead(13)),
            index => Ok(Some(Entity::new(index, index % 3))),
        });
        // SAFETY: numbers without a meaning have no need to be written, and are not read.
        let done = unsafe { dense.try_admit_all(slots, keys, |key| No::Twice(key.index())) };
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

    #[test]
    fn an_index_that_is_copied_is_the_one_that_is_rebuilt() {
        let far: Vec<u32> = (0..100).map(|i| i * 900 % 977 * 5000).collect();
        let near: Vec<u32> = (0..9000).rev().filter(|i| *i != 13).collect();
        let sparse: Vec<u32> = (0..2000).map(|i| 20 + i * 4).collect();
        for list in [&far[..], &near, &sparse, &[], &[0], &[7, 3, 5000]] {
            let (mut dense, _) = filled(list);
            // The highest index is removed, and half of the keys, until none is left.
            loop {
                let (copied, rebuilt) = (dense.index.try_compacted(dense.live()), dense.index.try_rebuilt());
                let (copied, rebuilt) = (copied.unwrap(), rebuilt.unwrap());
                assert_eq!((copied.window_len, copied.bytes()), (rebuilt.window_len, rebuilt.bytes()));
                assert!(!copied.is_loose(dense.live()));
                for &index in list {
                    assert_eq!(copied.position_at(index), dense.index.position_at(index));
                }
                let Some(last) = dense.dense_keys().iter().map(|key| key.0).max_by_key(|key| key.index()) else {
                    break;
                };
                let position = dense.index.position(last).unwrap();
                // SAFETY: the key is at this position, and numbers need no drop.
                unsafe { dense.swap_remove(position, DenseKey(last)) };
                for _ in 0..dense.live() / 2 {
                    let Some(&key) = dense.dense_keys().last() else { break };
                    // SAFETY: as above.
                    unsafe { dense.swap_remove(dense.positions() - 1, key) };
                }
                dense.validate().unwrap();
            }
        }
    }

    #[test]
    fn keys_of_another_container_are_found_at_the_same_positions() {
        for list in [&[7, u32::MAX, u32::MAX, 3, u32::MAX, 5][..], &[9_000_000, 2, u32::MAX, 3], &[]] {
            let (dense, _) = filled(list);
            let keys = dense.dense_keys();
            // SAFETY: the bytes are those of dense keys, and numbers without a meaning need not be written.
            let mut again = unsafe {
                let rows = LaneOf::<u32>::new();
                Dense::<Sparse<Entity>, _>::try_rebuild(rows, keys.as_ptr().cast(), keys.len() as u32).unwrap()
            };
            again.rows.try_grow(again.len).unwrap();
            again.validate().unwrap();
            assert_eq!((again.positions(), again.holes()), (dense.positions(), dense.holes()));
        }
    }
}
