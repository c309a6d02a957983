//! Pools restored from saved words and free slots.
#![allow(unsafe_code)]

use super::{EntityPool, Slot};
use crate::AllocError;
use crate::generation::MAX_SLOTS;
use crate::restore::{Census, Refused, State, counted};
use core::fmt;

/// The reason why words and free slots are not a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreError {
    /// Something is wrong with one slot.
    Slot {
        /// The slot.
        slot: u32,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Something is wrong with the whole.
    Whole(&'static str),
    /// An allocation failed.
    Alloc(AllocError),
}

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RestoreError::Slot { slot, what } => write!(f, "slot {slot} {what}"),
            RestoreError::Whole(what) => f.write_str(what),
            RestoreError::Alloc(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for RestoreError {}

impl From<Refused> for RestoreError {
    fn from(refused: Refused) -> RestoreError {
        match refused {
            Refused::Slot { slot, what } => RestoreError::Slot { slot, what },
            Refused::Count { .. } => RestoreError::Whole("there are more or fewer free slots listed than there are"),
            Refused::Whole(what) => RestoreError::Whole(what),
            Refused::Alloc(error) => RestoreError::Alloc(error),
        }
    }
}

#[cfg(feature = "serde")]
impl EntityPool {
    /// Creates a pool of slots with these words, without rows. `free` lists the free slots, the next to be used first.
    pub(crate) fn try_restore(words: &[u32], free: &[u32]) -> Result<Self, Refused> {
        EntityPool::try_restore_from(words, free, (), Census::of(words, MAX_SLOTS)?)
    }

    /// Clones the pool and makes the reserved entities of the copy alive.
    pub(crate) fn try_flushed(&self) -> Result<Self, AllocError> {
        let mut copy = self.try_clone()?;
        copy.try_flush()?;
        Ok(copy)
    }
}

impl<P: Copy> EntityPool<P> {
    /// Iterates over the words of all slots, for layers that save a pool.
    ///
    /// A word is the generation, with bit 30 set for a row and bit 31 for a dead slot. It is `u32::MAX` for a retired one.
    pub fn each_word(&self) -> impl ExactSizeIterator<Item = u32> + Clone + '_ {
        self.words().iter().map(|slot| slot.word)
    }

    /// Creates a pool of slots with these [words](EntityPool::each_word), which may include rows.
    ///
    /// `free` lists the free slots, the next to be used first. `payload` becomes the payload of each slot, and the default.
    ///
    /// # Errors
    ///
    /// Returns [`RestoreError::Slot`] if a word is one that no slot can have, or a slot in `free` is repeated or not free.
    /// Returns [`RestoreError::Whole`] if there are too many words, or `free` does not list every free slot. Returns
    /// [`RestoreError::Alloc`] if allocation fails.
    ///
    /// # Safety
    ///
    /// As for [`alloc_row`](EntityPool::alloc_row), the caller hands the names of rows to no code outside.
    pub unsafe fn try_restore_with_rows(words: &[u32], free: &[u32], payload: P) -> Result<Self, RestoreError> {
        Self::try_restore_from(words, free, payload, Census::with_rows(words, MAX_SLOTS)?).map_err(RestoreError::from)
    }

    fn try_restore_from(words: &[u32], free: &[u32], payload: P, census: Census) -> Result<Self, Refused> {
        /// The bit that marks a slot of `free` as seen. The words of free slots do not have it.
        const SEEN: u32 = 1 << 30;
        counted("free slots", free.len(), census.free as usize)?;
        let mut pool = EntityPool::with_payload(payload);
        pool.try_grow(words.len() as u32)?;
        // SAFETY: there is capacity for all slots, which are written before they are counted.
        let slots = unsafe {
            let first = pool.words.ptr();
            for (at, &word) in words.iter().enumerate() {
                first.add(at).write(Slot { word, payload });
            }
            pool.words.slice_mut(words.len() as u32)
        };
        for &slot in free {
            let what = match slots.get_mut(slot as usize).map(|slot| &mut slot.word) {
                None => "is among the free ones and does not exist",
                Some(word) if State::of(*word) != State::Free => "is among the free ones and is not free",
                Some(word) if *word & SEEN != 0 => "is among the free ones twice",
                Some(word) => {
                    *word |= SEEN;
                    continue;
                }
            };
            return Err(Refused::Slot { slot, what });
        }
        for (&slot, at) in free.iter().rev().zip(0..) {
            slots[slot as usize].word &= !SEEN;
            // SAFETY: no slot is repeated, so there are no more than slots, for which the free list has capacity.
            unsafe { pool.free.at(at).write(slot) };
        }
        (pool.slots, pool.free_len) = (words.len() as u32, free.len() as u32);
        (pool.live, pool.rows) = (census.live, census.rows);
        Ok(pool)
    }
}
