//! Inserts many keys at once.
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

    /// Reserves the window for `live` keys whose indices are below `end`, in an empty index, if a window of that size is
    /// allowed. Otherwise it grows when they are linked.
    fn try_reserve_window(&mut self, end: u32, live: u32) -> Result<(), AllocError> {
        if let (Some(last), Some(others)) = (end.checked_sub(1), live.checked_sub(1))
            && u64::from(end) <= Self::window_limit(others)
        {
            self.try_prepare_slow(last, others, 0)?;
        }
        Ok(())
    }

    /// Links the keys among these dense keys of a container to their positions, in an empty index. Returns the number of
    /// holes.
    ///
    /// The indices of the keys are expected to be below `slots`. If there is a key for half of these, the window covers them
    /// all, and the highest index is not searched for.
    pub(super) fn try_relink(&mut self, dense_keys: &[DenseKey<K>], slots: u32) -> Result<u32, AllocError> {
        let is_hole = |dense_key: &DenseKey<K>| <Self as DenseIndex>::is_hole(*dense_key);
        let holes: u32 = dense_keys.iter().map(|dense_key| u32::from(is_hole(dense_key))).sum();
        let live = dense_keys.len() as u32 - holes;
        let keys = dense_keys.iter().zip(0..).filter(|(dense_key, _)| holes == 0 || !is_hole(dense_key));
        // The search is a chain of dependent steps, which takes as long as linking.
        let end = match slots / 2 <= live {
            true => slots,
            false => keys.clone().map(|(DenseKey(key), _)| key.position()).max().unwrap_or(0),
        };
        self.try_reserve_window(end, live)?;
        let mut window = self.window();
        for ((DenseKey(key), position), linked) in keys.zip(0..) {
            // SAFETY: the window is that of the index. The keys of a container differ.
            unsafe { self.try_link::<true>(&mut window, *key, position, linked)? };
        }
        Ok(holes)
    }
}

/// How keys were written to an empty container.
struct Written {
    len: u32,
    holes: u32,
    /// The first hole.
    low: u32,
    /// One more than the highest index.
    end: u32,
}

impl<K: Key, R: Rows, const TRACKED: bool> Dense<Sparse<K>, R, TRACKED> {
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
    pub unsafe fn try_admit_all<N, E: From<AllocError> + From<N>>(
        &mut self,
        keys: impl ExactSizeIterator<Item = Result<Option<K>, N>>,
        twice: impl FnOnce(K) -> E,
    ) -> Result<(), E> {
        assert_eq!(self.len, 0, "keys for a container that has some");
        let count = u32::try_from(keys.len()).map_err(|_| AllocError::CapacityOverflow)?;
        self.try_reserve(count)?;
        let written = self.write_keys(count, keys)?;
        let linked = self.try_link_keys(&written);
        if !matches!(linked, Ok(None)) {
            self.index = Sparse::new();
        }
        if let Some(key) = linked? {
            return Err(twice(key));
        }
        let Written { len, holes, low, .. } = written;
        // SAFETY: the positions are within the capacity, and the container is borrowed exclusively.
        unsafe { self.keys.set_dirty_rows(0..len) };
        (self.len, self.holes, self.low, self.gap) = (len, holes, low, 0..0);
        Ok(())
    }

    /// Reserves capacity for rows of keys with these indices, and makes an entry for each, so that
    /// [`admit_all`](Dense::admit_all) cannot fail. No empty page of the index is freed until [`hold_pages`](Dense::hold_pages).
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; no row or key changes.
    pub fn try_ready_all(&mut self, indices: &[u32]) -> Result<(), AllocError> {
        self.try_reserve(u32::try_from(indices.len()).map_err(|_| AllocError::CapacityOverflow)?)?;
        self.hold_pages(true);
        let live = self.live();
        (live..).zip(indices).try_for_each(|(live, index)| self.index.try_prepare(*index, live))
    }

    /// Appends positions for keys, in their order. The rows there are in use from then on.
    ///
    /// # Safety
    ///
    /// - The indices of the keys differ, and [have no occupant](Sparse::occupant).
    /// - They were [made ready](Dense::try_ready_all). Since then nothing was inserted, and pages are [held](Dense::hold_pages).
    /// - The rows are written.
    pub unsafe fn admit_all(&mut self, keys: &[K]) {
        let (first, lane, window) = (self.len, self.keys.ptr(), self.index.window());
        for (position, key) in (first..).zip(keys) {
            match key.index() < window.len {
                // SAFETY: the window has `len` initialised entries, and the index is borrowed exclusively.
                true => unsafe {
                    *window.entries.add(key.index() as usize) = Entry { position, word: key.generation() };
                },
                false => self.index.link(*key, position),
            }
            // SAFETY: there is capacity for a dense key at each of these positions, by the caller's contract.
            unsafe { lane.add(position as usize).write(DenseKey(*key)) };
        }
        self.len = first + keys.len() as u32;
        if TRACKED {
            // SAFETY: the positions are within the capacity, and the container is borrowed exclusively.
            unsafe { self.keys.set_dirty_rows(first..self.len) };
        }
    }

    /// Writes at most `count` keys, for which there is capacity and which are not in use yet.
    fn write_keys<N>(&mut self, count: u32, keys: impl Iterator<Item = Result<Option<K>, N>>) -> Result<Written, N> {
        debug_assert!(count <= self.keys.capacity());
        let lane = self.keys.ptr();
        let mut written = Written { len: 0, holes: 0, low: 0, end: 0 };
        for (at, key) in (0..count).zip(keys) {
            let Some(key) = key? else { continue };
            if written.len < at {
                written.low = if written.holes == 0 { written.len } else { written.low };
                written.holes += at - written.len;
                for hole in written.len..at {
                    // SAFETY: there is capacity for `count` dense keys, and the hole is below `at`.
                    unsafe { lane.add(hole as usize).write(<Sparse<K> as DenseIndex>::hole(DenseKey(key))) };
                }
            }
            // SAFETY: there is capacity for `count` dense keys, and `at` is below `count`.
            unsafe { lane.add(at as usize).write(DenseKey(key)) };
            written.len = at + 1;
            written.end = written.end.max(key.position());
        }
        Ok(written)
    }

    /// Links keys that were written. Returns the first one whose index came before.
    fn try_link_keys(&mut self, written: &Written) -> Result<Option<K>, AllocError> {
        // SAFETY: as many dense keys were written.
        let dense_keys = unsafe { self.keys.slice(written.len) };
        self.index.try_reserve_window(written.end, written.len - written.holes)?;
        let mut window = self.index.window();
        if written.holes == 0 && written.end <= window.len {
            for (DenseKey(key), position) in dense_keys.iter().zip(0..) {
                // SAFETY: `end` is above all indices, and the window has at least as many entries. The index is borrowed
                // exclusively.
                let entry = unsafe { &mut *window.entries.add(key.index() as usize) };
                if !entry.is_vacant() {
                    return Ok(Some(*key));
                }
                *entry = Entry { position, word: key.generation() };
            }
            return Ok(None);
        }
        let mut linked = 0;
        for (dense_key, position) in dense_keys.iter().zip(0..) {
            if !<Sparse<K> as DenseIndex>::is_hole(*dense_key) {
                // SAFETY: the window is that of the index.
                if !unsafe { self.index.try_link::<false>(&mut window, dense_key.0, position, linked)? } {
                    return Ok(Some(dense_key.0));
                }
                linked += 1;
            }
        }
        Ok(None)
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

    #[test]
    fn keys_that_are_admitted_together_are_those_admitted_one_by_one() {
        let near: Vec<u32> = (0..9000).rev().collect();
        for list in [&[7, 3, 5_000_000, 90_000][..], &near, &[]] {
            let [mut single, mut all] = [(); 2].map(|()| filled(&[9_000_000, 10_000]).0);
            let keys: Vec<Entity> = list.iter().map(|index| Entity::new(*index, index % 3)).collect();
            // SAFETY: the indices differ from those in use, and numbers without a meaning have no need to be written.
            unsafe {
                keys.iter().for_each(|key| assert!(single.try_admit(*key).is_ok()));
                all.try_ready_all(list).unwrap();
                all.admit_all(&keys);
            }
            all.hold_pages(false);
            all.validate().unwrap();
            assert_eq!(all.keys(), single.keys());
            assert_eq!(all.index().bytes(), single.index().bytes());
        }
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
        let near: Vec<u32> = (0..9000).rev().filter(|i| i % 7 > 2).collect();
        for list in [&[7, u32::MAX, u32::MAX, 3, u32::MAX, 5][..], &[9_000_000, 2, u32::MAX, 3], &[], &near] {
            let (dense, _) = filled(list);
            let keys = dense.dense_keys();
            for slots in [0, 8, 9000, 10_000_000, u32::MAX] {
                // SAFETY: the bytes are those of dense keys, and numbers without a meaning need not be written.
                let mut again = unsafe {
                    let (rows, first) = (LaneOf::<u32>::new(), keys.as_ptr().cast());
                    Dense::<Sparse<Entity>, _>::try_rebuild(rows, first, keys.len() as u32, slots).unwrap()
                };
                again.rows.try_grow(again.len).unwrap();
                again.validate().unwrap();
                assert_eq!((again.positions(), again.holes()), (dense.positions(), dense.holes()));
                for &index in list {
                    assert_eq!(again.index().position_at(index), dense.index().position_at(index));
                }
            }
        }
    }
}
