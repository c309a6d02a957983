//! [`KeySlot`], and inserting and removing keys of a [`Sparse`] index by way of it.
#![allow(unsafe_code)]

use super::sparse::{DenseKey, Entry, Sparse, VACANT};
use crate::raw::{Dense, DenseIndex, LaneOf, Rows};
use crate::{AllocError, Key};

/// The state of a key in a container; see [`Dense::key_slot`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeySlot {
    /// The key has a row, at this position.
    Occupied(u32),
    /// The key has no row, and one can be inserted without allocating.
    Vacant,
    /// Another key of the same index has a row.
    Stale,
    /// The index is beyond the window, or inserting a row may allocate.
    Unmapped,
}

/// Methods of dense containers whose keys come from elsewhere, typed or erased.
impl<K: Key, R: Rows, const TRACKED: bool> Dense<Sparse<K>, R, TRACKED> {
    /// Appends a position for `key` and returns it. The caller writes the row there.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; no row or key changes.
    ///
    /// # Safety
    ///
    /// The key's index [has no occupant](Sparse::occupant), and the row is written before anything else happens.
    #[inline(always)]
    pub unsafe fn try_admit(&mut self, key: K) -> Result<u32, AllocError> {
        self.try_ready(key.index())?;
        // SAFETY: the key's index has no occupant and was made ready just now, so there is capacity for a row. The caller
        // writes it.
        Ok(unsafe { self.admit(key) })
    }

    #[cold]
    #[inline(never)]
    fn try_grow_by_one(&mut self) -> Result<(), AllocError> {
        self.try_reserve(1)
    }

    /// Reserves capacity for one more row, and an entry for `index`, so that [`admit`](Dense::admit) cannot fail.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; no row or key changes.
    #[inline(always)]
    pub fn try_ready(&mut self, index: u32) -> Result<(), AllocError> {
        if self.len == self.keys.capacity() || self.len == self.rows.capacity() {
            self.try_grow_by_one()?;
        }
        self.index.try_prepare(index, self.live())
    }

    /// Returns `true` if [`admit`](Dense::admit) of a key with this index does not allocate.
    pub fn is_ready(&self, index: u32) -> bool {
        self.len < self.keys.capacity() && self.len < self.rows.capacity() && self.index.has_entry(index)
    }

    /// Makes an entry for `index`, whose key is admitted after `ahead` others. Capacity for rows is reserved separately,
    /// by [`try_reserve`](Dense::try_reserve).
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; no row or key changes.
    pub fn try_prepare(&mut self, index: u32, ahead: u32) -> Result<(), AllocError> {
        self.index.try_prepare(index, self.live().saturating_add(ahead))
    }

    /// Sets whether empty pages of the index are kept: [`Sparse::hold_pages`].
    pub fn hold_pages(&mut self, held: bool) {
        self.index.hold_pages(held);
    }

    /// Shrinks rows, keys and index to what is in use. The container has no holes.
    ///
    /// If an allocation fails, the larger block is kept.
    pub fn shrink_to_fit(&mut self) {
        if let Ok(index) = self.index.try_compacted(self.live()) {
            self.index = index;
        }
        // SAFETY: this index keeps no dense keys above those in use.
        let _ = unsafe { self.try_shrink(self.len) };
    }

    /// Returns `true` if [`shrink_to_fit`](Dense::shrink_to_fit) may free memory.
    pub fn is_loose(&self) -> bool {
        let spare = self.keys.capacity() > self.len || self.rows.capacity() > self.len && self.rows.bytes() > 0;
        spare || self.index.is_loose(self.live())
    }

    /// Clones keys and index over `rows`, with the same positions and holes.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; `rows` is dropped without dropping its values.
    ///
    /// # Safety
    ///
    /// `rows` has capacity for all positions, and is initialised at all that are not holes.
    pub unsafe fn try_clone_over(&self, rows: R) -> Result<Self, AllocError> {
        let mut keys = LaneOf::new();
        keys.try_grow(self.len)?;
        // SAFETY: `len` dense keys are initialised in the source, and there is capacity for them in the copy.
        unsafe { core::ptr::copy_nonoverlapping(self.keys.ptr(), keys.ptr(), self.len as usize) };
        let index = self.index.try_compacted(self.live())?;
        Ok(Dense {
            index,
            keys,
            rows,
            len: self.len,
            holes: self.holes,
            gap: self.gap.clone(),
            low: self.low,
            retired: self.retired,
        })
    }

    /// Returns the state of `key`, from the window of the index alone.
    #[inline(always)]
    pub fn key_slot(&self, key: K) -> KeySlot {
        if key.index() >= self.index.window_len {
            return KeySlot::Unmapped;
        }
        // SAFETY: `window_len` entries are initialised.
        let entry = unsafe { *self.index.window.at(key.index()) };
        if entry.word == key.generation() {
            KeySlot::Occupied(entry.position)
        } else if !entry.is_vacant() {
            KeySlot::Stale
        } else if self.len < self.keys.capacity() && self.len < self.rows.capacity() {
            KeySlot::Vacant
        } else {
            KeySlot::Unmapped
        }
    }

    /// Appends a position for `key`, like [`admit`](Dense::admit), if its slot is known to be vacant.
    ///
    /// # Safety
    ///
    /// [`key_slot`](Dense::key_slot) of the key is [`Vacant`](KeySlot::Vacant), and the row is written before anything
    /// else happens.
    #[inline(always)]
    pub unsafe fn insert_vacant(&mut self, key: K) {
        // SAFETY: the slot is vacant, so its entry is in the window, and there is capacity for a row and a key.
        unsafe {
            self.index.window.at(key.index()).write(Entry { position: self.len, word: key.generation() });
            self.push(DenseKey(key));
        }
    }

    /// Ends `key`, whose row is moved out already, and lets `shift` move the last row there.
    ///
    /// `shift` gets the position of the last row and that of the removed one.
    ///
    /// # Safety
    ///
    /// [`key_slot`](Dense::key_slot) of the key is [`Occupied`](KeySlot::Occupied) at this position. Its row counts as
    /// moved out, and there are no holes.
    #[inline(always)]
    pub unsafe fn swap_remove_with(&mut self, key: K, position: u32, shift: impl FnOnce(&mut R, u32, u32)) {
        debug_assert_eq!(self.holes, 0);
        let last = self.len - 1;
        // SAFETY: the slot is occupied, so its entry is in the window. Both positions are in use and, without holes, their
        // keys alive.
        unsafe {
            self.index.window.at(key.index()).write(VACANT);
            if position != last {
                let moved = *self.keys.at(last);
                shift(&mut self.rows, last, position);
                self.set_key(position, moved);
                self.index.relocate(moved, position);
            }
        }
        self.len = last;
    }

    /// Appends a position for `key` and returns it. The row there is in use from then on.
    ///
    /// # Safety
    ///
    /// The key's index [has no occupant](Sparse::occupant) and was [made ready](Dense::try_ready). Since then no key was
    /// released, or [pages are held](Sparse::hold_pages). There is capacity for a row, which is written before anything
    /// else happens.
    #[inline(always)]
    pub unsafe fn admit(&mut self, key: K) -> u32 {
        self.index.link(key, self.len);
        // SAFETY: there is capacity for a row and a key. The key was linked to this position; the caller writes the row.
        unsafe { self.push(DenseKey(key)) }
    }

    /// Returns the keys in use as a slice, or `None` if there are holes.
    #[inline(always)]
    pub fn keys(&self) -> Option<&[K]> {
        // SAFETY: a dense key that is not a hole is its key, and the two have the same representation.
        (self.holes == 0).then(|| unsafe { core::mem::transmute::<&[DenseKey<K>], &[K]>(self.dense_keys()) })
    }

    /// Returns the keys from a position on, up to the next hole.
    pub fn keys_from(&self, position: u32) -> &[K] {
        let keys = self.dense_keys().get(position as usize..).unwrap_or_default();
        let len = keys.iter().position(|key| <Sparse<K> as DenseIndex>::is_hole(*key)).unwrap_or(keys.len());
        // SAFETY: none of these is a hole, so each is its key, and the two have the same representation.
        unsafe { core::mem::transmute::<&[DenseKey<K>], &[K]>(&keys[..len]) }
    }

    /// Returns the keys before a position, from the last hole on.
    pub fn keys_before(&self, position: u32) -> &[K] {
        let keys = self.dense_keys().get(..position as usize).unwrap_or_default();
        let first = keys.iter().rposition(|key| <Sparse<K> as DenseIndex>::is_hole(*key)).map_or(0, |hole| hole + 1);
        // SAFETY: none of these is a hole, so each is its key, and the two have the same representation.
        unsafe { core::mem::transmute::<&[DenseKey<K>], &[K]>(&keys[first..]) }
    }

    /// Returns the key at a position, or `None` if it is a hole or not in use.
    #[inline(always)]
    pub fn key_at(&self, position: u32) -> Option<K> {
        let dense_key = *self.dense_keys().get(position as usize)?;
        (!<Sparse<K> as DenseIndex>::is_hole(dense_key)).then_some(dense_key.0)
    }

    /// Replaces the key at a position by another key of the same index. The old key ends.
    ///
    /// # Safety
    ///
    /// The position is in use and not a hole, and its key has the index of `key`.
    #[inline(always)]
    pub unsafe fn replace_key(&mut self, position: u32, key: K) {
        self.index.relink(key);
        // SAFETY: the position is in use, so below the capacity.
        unsafe { self.set_key(position, DenseKey(key)) };
    }

    /// Creates a container over `rows` from the bytes of another one's dense keys, with the same positions and holes.
    ///
    /// The indices of all keys are below `slots`. A wrong number costs time or memory, at most an entry for every index up
    /// to twice the number of keys. If there is a key for half of these indices, the window covers them all.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; `rows` is dropped without dropping its values.
    ///
    /// # Safety
    ///
    /// `dense_keys` points to the bytes of `len` [dense keys](Dense::dense_keys) of such a container. Before anything else
    /// happens, the rows get capacity for all positions, and are initialised at all that are not holes.
    pub unsafe fn try_rebuild(rows: R, dense_keys: *const u8, len: u32, slots: u32) -> Result<Self, AllocError> {
        let mut dense = Dense::empty(Sparse::new(), rows);
        dense.keys.try_grow(len)?;
        let (to, bytes) = (dense.keys.ptr().cast::<u8>(), len as usize * size_of::<K>());
        // SAFETY: the caller has `len` dense keys, and there is capacity for them in the new lane.
        unsafe { core::ptr::copy_nonoverlapping(dense_keys, to, bytes) };
        // SAFETY: `len` dense keys were written just now.
        dense.holes = unsafe { dense.index.try_relink(dense.keys.slice(len), slots)? };
        dense.len = len;
        Ok(dense)
    }
}
