//! [`NameIndex`]: where entities with a name may be found.

use super::Name;
use crate::alloc::{try_clone_map, try_clone_slice, try_reserve, try_reserve_map};
use crate::links::NONE;
use crate::seeded::{NumberMap, Seeded};
use core::hash::{BuildHasher, Hasher};
use phalanx_store::AllocError;

/// Returns the hash of a parent and a name, for [`NameIndex`].
#[inline]
pub(crate) fn hash_name(parent: u32, name: &Name) -> u32 {
    let mut hasher = Seeded::default().build_hasher();
    hasher.write_u32(parent);
    hasher.write_u32(name.byte_len());
    name.words().for_each(|word| hasher.write_u32(word));
    hasher.finish() as u32
}

/// Slots by the hash of their parent and their name. See [the invariants](super).
#[derive(Debug)]
pub(crate) struct NameIndex {
    /// The position of the first slot of each hash.
    heads: NumberMap<u32, u32>,
    slots: Vec<Candidate>,
    /// The first position that is not in use.
    free: u32,
}

/// A slot, and the position of the next one with the same hash, or of the next one that is not in use.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    slot: u32,
    next: u32,
}

impl Default for NameIndex {
    fn default() -> NameIndex {
        NameIndex { heads: NumberMap::default(), slots: Vec::new(), free: NONE }
    }
}

impl NameIndex {
    /// Copies the index.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails.
    pub(crate) fn try_clone(&self) -> Result<NameIndex, AllocError> {
        Ok(NameIndex { heads: try_clone_map(&self.heads)?, slots: try_clone_slice(&self.slots)?, free: self.free })
    }

    /// Returns the bytes held from the allocator.
    pub(crate) fn bytes(&self) -> usize {
        self.heads.capacity() * size_of::<(u32, u32)>() + self.slots.capacity() * size_of::<Candidate>()
    }

    /// Returns the number of slots, of which some may be in vain.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Removes all slots.
    pub(crate) fn clear(&mut self) {
        self.heads.clear();
        self.slots.clear();
        self.free = NONE;
    }

    /// Reserves capacity for more slots.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails.
    pub(crate) fn try_reserve(&mut self, count: usize) -> Result<(), AllocError> {
        try_reserve(&mut self.slots, count)?;
        try_reserve_map(&mut self.heads, count)
    }

    /// Returns the slots that may have a parent and a name with this hash.
    #[inline]
    pub(crate) fn candidates(&self, hash: u32) -> impl Iterator<Item = u32> {
        let mut next = self.heads.get(&hash).copied().unwrap_or(NONE);
        core::iter::from_fn(move || {
            let Candidate { slot, next: after } = *self.slots.get(next as usize)?;
            next = after;
            Some(slot)
        })
    }

    /// Adds a slot under a hash. Slots there of which `is_current` returns `false` are removed. Capacity is reserved before.
    pub(crate) fn add(&mut self, hash: u32, slot: u32, is_current: impl Fn(u32) -> bool) {
        let mut head = NONE;
        let mut next = self.heads.get(&hash).copied().unwrap_or(NONE);
        while let Some(candidate) = self.slots.get_mut(next as usize) {
            let (at, after) = (next, candidate.next);
            let list = if candidate.slot != slot && is_current(candidate.slot) { &mut head } else { &mut self.free };
            (candidate.next, *list, next) = (*list, at, after);
        }
        let candidate = Candidate { slot, next: head };
        let at = match self.slots.get_mut(self.free as usize) {
            Some(free) => {
                let at = self.free;
                self.free = free.next;
                *free = candidate;
                at
            }
            None => {
                self.slots.push(candidate);
                self.slots.len() as u32 - 1
            }
        };
        self.heads.insert(hash, at);
    }
}

#[cfg(test)]
mod tests {
    use super::{Name, NameIndex, hash_name};

    #[test]
    fn slots_that_are_in_vain_are_removed_when_another_is_added() {
        let mut index = NameIndex::default();
        index.try_reserve(4).unwrap();
        for slot in 0..100 {
            index.add(7, slot, |other| other == 0);
        }
        assert!(index.candidates(7).eq([99, 0]));
        assert!(index.len() <= 3, "{}", index.len());
        index.add(7, 99, |_| true);
        let mut found: Vec<u32> = index.candidates(7).collect();
        found.sort_unstable();
        assert_eq!(found, [0, 99]);
        assert_eq!(index.candidates(8).next(), None);
        assert!(index.try_clone().unwrap().candidates(7).eq(index.candidates(7)));
    }

    #[test]
    fn the_hash_depends_on_parent_text_and_length() {
        let names = ["a", "b", "a\0", "aaaa", "aaaaa", "aaaab", &"x".repeat(63)].map(|text| Name::new(text).unwrap());
        let mut hashes: Vec<u32> =
            names.iter().flat_map(|name| [0, 1, u32::MAX].map(|parent| hash_name(parent, name))).collect();
        hashes.sort_unstable();
        hashes.dedup();
        // Two of 21 collide in one of twenty million runs.
        assert_eq!(hashes.len(), 21);
    }
}
