//! [`NameIndex`]: where entities with a name may be found.

use crate::alloc::{try_clone_slice, try_vec};
use crate::links::NONE;
use crate::seeded::Seeded;
use phalanx_store::AllocError;

/// Slots by the hash of their parent and their name: a hash table with linear probing. See [the invariants](super).
#[derive(Debug)]
pub(crate) struct NameIndex {
    /// As many as a power of two, at least [`LEAST`].
    entries: Vec<Entry>,
    /// The number of entries in use. At least a quarter is free.
    used: usize,
    seeded: Seeded,
}

/// A slot and the hash of its parent and its name.
#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u32,
    /// [`NONE`] if the entry is free.
    slot: u32,
}

/// The fewest entries.
const LEAST: usize = 8;

impl Entry {
    const FREE: Entry = Entry { hash: 0, slot: NONE };
}

impl NameIndex {
    /// Creates an empty index for a number of names.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails.
    pub(crate) fn try_new(names: usize) -> Result<NameIndex, AllocError> {
        let len = NameIndex::len_for(names)?;
        let mut entries = try_vec(len)?;
        entries.resize(len, Entry::FREE);
        Ok(NameIndex { entries, used: 0, seeded: Seeded::default() })
    }

    /// Returns the number of entries for a number of names.
    fn len_for(names: usize) -> Result<usize, AllocError> {
        let twice = names.checked_mul(2).and_then(usize::checked_next_power_of_two);
        twice.map(|len| len.max(LEAST)).ok_or(AllocError::CapacityOverflow)
    }

    /// Returns `true` if an index for a number of names has fewer entries than this one.
    pub(crate) fn is_too_large_for(&self, names: usize) -> bool {
        NameIndex::len_for(names).is_ok_and(|len| len < self.entries.len())
    }

    /// Copies the index.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails.
    pub(crate) fn try_clone(&self) -> Result<NameIndex, AllocError> {
        Ok(NameIndex { entries: try_clone_slice(&self.entries)?, ..*self })
    }

    /// Returns the bytes held from the allocator.
    pub(crate) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>()
    }

    /// Returns the number of names that there is capacity for.
    pub(crate) fn capacity(&self) -> usize {
        self.entries.len() / 2
    }

    /// Removes all slots.
    pub(crate) fn clear(&mut self) {
        self.entries.fill(Entry::FREE);
        self.used = 0;
    }

    /// Returns the seed of hashes.
    #[inline]
    pub(crate) fn seeded(&self) -> Seeded {
        self.seeded
    }

    /// Returns the slots that may have a parent and a name with this hash.
    #[inline]
    pub(crate) fn candidates(&self, hash: u32) -> impl Iterator<Item = u32> {
        let (mask, mut at) = (self.entries.len() - 1, hash as usize);
        // At least one entry is free.
        core::iter::from_fn(move || {
            loop {
                let entry = *self.entries.get(at & mask)?;
                at = at.wrapping_add(1);
                if entry.slot == NONE {
                    return None;
                }
                if entry.hash == hash {
                    return Some(entry.slot);
                }
            }
        })
    }

    /// Returns all positions, in the order in which a hash is searched.
    #[inline]
    fn positions(&self, hash: u32) -> impl Iterator<Item = usize> + use<> {
        let mask = self.entries.len() - 1;
        (0..self.entries.len()).map(move |step| (hash as usize).wrapping_add(step) & mask)
    }

    /// Adds a slot under a hash, in the place of one there of which `is_current` returns `false`, if there is one. Returns
    /// `false` if the index is full.
    pub(crate) fn add(&mut self, hash: u32, slot: u32, is_current: impl Fn(u32) -> bool) -> bool {
        let is_full = self.used == self.entries.len() / 4 * 3;
        for at in self.positions(hash) {
            let entry = &mut self.entries[at];
            if entry.slot == NONE {
                if !is_full {
                    *entry = Entry { hash, slot };
                    self.used += 1;
                }
                return !is_full;
            }
            if entry.hash == hash && (entry.slot == slot || !is_current(entry.slot)) {
                entry.slot = slot;
                return true;
            }
        }
        false
    }

    /// Checks the counts.
    pub(crate) fn validate(&self, names: usize) -> Result<(), &'static str> {
        let used = self.entries.iter().filter(|entry| entry.slot != NONE).count();
        if used != self.used || used > self.entries.len() / 4 * 3 {
            return Err("an index of names that is miscounted, or has too few free entries");
        }
        if self.capacity() < names { Err("an index of names without capacity for all of them") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::NameIndex;

    #[test]
    fn slots_that_are_in_vain_are_replaced() {
        let mut index = NameIndex::try_new(4).unwrap();
        for slot in 0..100 {
            assert!(index.add(7, slot, |other| other == 0));
        }
        assert!(index.candidates(7).eq([0, 99]));
        assert!(index.add(7, 99, |_| true) && index.add(15, 3, |_| true));
        assert!(index.candidates(7).eq([0, 99]));
        assert!(index.candidates(15).eq([3]));
        assert_eq!(index.candidates(8).next(), None);
        assert!(index.try_clone().unwrap().candidates(7).eq(index.candidates(7)));
        assert_eq!(index.validate(4), Ok(()));
        assert!(index.validate(5).is_err());
    }

    #[test]
    fn an_index_that_is_full_says_so_and_can_be_filled_again() {
        let mut index = NameIndex::try_new(4).unwrap();
        let added = (0..20).take_while(|slot| index.add(*slot * 3, *slot, |_| true)).count();
        assert_eq!((added, index.validate(4)), (6, Ok(())));
        index.clear();
        assert!((0..4).all(|slot| index.add(slot * 3, slot, |_| true)));
        assert!(!index.is_too_large_for(1) && !index.is_too_large_for(4));
        assert!(NameIndex::try_new(5).unwrap().is_too_large_for(4));
    }
}
