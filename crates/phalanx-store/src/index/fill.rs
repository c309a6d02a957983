//! Many keys at once, for a container that has none.
#![allow(unsafe_code)]

use super::sparse::{Entry, Mark, Sparse};
use crate::raw::{Dense, DenseIndex, Rows};
use crate::{AllocError, Key};

impl<K: Key> Sparse<K> {
    /// Links the keys of these marks, holes not counted, to their positions, in an index without keys: `live` of them, whose
    /// highest index is `last`. A key whose index came before is returned; what the index knows then is of no use.
    ///
    /// # Safety
    ///
    /// No key has an index above `last`.
    unsafe fn try_link_all(&mut self, marks: &[Mark<K>], last: u32, live: u32) -> Result<Option<K>, AllocError> {
        let keys = marks.iter().zip(0..).filter(|(mark, _)| !<Self as DenseIndex>::is_hole(**mark));
        // Where the last index is in the window with all keys there, all are; and it gets no larger than they allow.
        self.try_prepare_slow(last, live.saturating_sub(1), 0)?;
        if last < self.window_len {
            let window = self.window.ptr();
            for (mark, position) in keys {
                // SAFETY: the index is not above the last, by the caller's promise, whose entry is one of those that are initialised.
                let entry = unsafe { &mut *window.add(mark.0.index() as usize) };
                if !entry.is_vacant() {
                    return Ok(Some(mark.0));
                }
                *entry = Entry { position, word: mark.0.generation() };
            }
            return Ok(None);
        }
        for ((mark, position), before) in keys.zip(0..) {
            self.try_prepare(mark.0.index(), before)?;
            if !self.entry(mark.0.index()).is_vacant() {
                return Ok(Some(mark.0));
            }
            self.link(mark.0, position);
        }
        Ok(None)
    }
}

impl<K: Key, R: Rows> Dense<Sparse<K>, R> {
    /// Takes the positions of an empty container for these keys, in their order; `None` is a hole. The rows of the keys are in
    /// use from then on. Holes at the end are left out: the last position is never one.
    ///
    /// # Errors
    ///
    /// That of the first key that is none, `twice` of one whose index came before, or that memory cannot be had; the
    /// container is empty then, and has no more than room.
    ///
    /// # Panics
    ///
    /// If the container is not empty.
    ///
    /// # Safety
    ///
    /// The rows of all keys are written.
    #[track_caller]
    pub unsafe fn try_admit_all<E: From<AllocError>>(
        &mut self,
        keys: impl ExactSizeIterator<Item = Result<Option<K>, E>>,
        twice: impl FnOnce(K) -> E,
    ) -> Result<(), E> {
        assert_eq!(self.len, 0, "keys for a container that has some");
        let count = u32::try_from(keys.len()).map_err(|_| AllocError::CapacityOverflow)?;
        self.try_reserve(count)?;
        let marks = self.marks.ptr();
        let (mut last, mut len, mut holes, mut low) = (0, 0, 0, 0);
        for (at, key) in (0..count).zip(keys) {
            let Some(key) = key? else { continue };
            if len < at {
                low = if holes == 0 { len } else { low };
                holes += at - len;
                for hole in len..at {
                    // SAFETY: there is room for so many marks.
                    unsafe { marks.add(hole as usize).write(<Sparse<K> as DenseIndex>::hole(Mark(key))) };
                }
            }
            // SAFETY: as above.
            unsafe { marks.add(at as usize).write(Mark(key)) };
            (last, len) = (last.max(key.index()), at + 1);
        }
        if len == 0 {
            return Ok(());
        }
        // SAFETY: so many marks were written just now, and `last` is the highest index of their keys.
        let linked = unsafe { self.index.try_link_all(self.marks.slice(len), last, len - holes) };
        if !matches!(linked, Ok(None)) {
            self.index = Sparse::new();
        }
        if let Some(key) = linked? {
            return Err(twice(key));
        }
        // SAFETY: the positions are within the room.
        unsafe { self.marks.mark_rows(0..len) };
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
