//! [`NameKey`]: a parent and a name, and their hash.

use super::Name;
use crate::seeded::Seeded;
use core::hash::{BuildHasher, Hash, Hasher};

/// A parent and the name of one of its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NameKey {
    /// The slot of the parent, or [`NONE`](crate::links::NONE).
    pub(crate) parent: u32,
    pub(crate) name: Name,
}

impl Hash for NameKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        write_key(state, self.parent, &self.name);
    }
}

/// Passes a parent and a text to a hasher, as 32-bit numbers. The text has at most [`Name::MAX_LEN`] bytes.
#[inline]
fn write_key(state: &mut impl Hasher, parent: u32, text: &str) {
    state.write_u32(parent);
    state.write_u32(text.len() as u32);
    let (words, rest) = text.as_bytes().as_chunks::<4>();
    words.iter().for_each(|word| state.write_u32(u32::from_le_bytes(*word)));
    if !rest.is_empty() {
        state.write_u32(rest.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte)));
    }
}

/// Returns the hash of a parent and a text of at most [`Name::MAX_LEN`] bytes.
#[inline]
pub(super) fn hash_key(seeded: Seeded, parent: u32, text: &str) -> u32 {
    let mut hasher = seeded.build_hasher();
    write_key(&mut hasher, parent, text);
    // The hash is a linear function of the words. Mixed, names that are counted up do not fall into a pattern.
    let mut hash = hasher.finish() as u32;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

#[cfg(test)]
mod tests {
    use super::{Name, hash_key};
    use crate::seeded::Seeded;

    #[test]
    fn the_hash_depends_on_parent_text_and_length() {
        let names = ["a", "b", "a\0", "aaaa", "aaaaa", "aaaab", &"x".repeat(63)].map(|text| Name::new(text).unwrap());
        let of = |name: &Name| [0, 1, u32::MAX].map(|parent| hash_key(Seeded::default(), parent, name));
        let mut hashes: Vec<u32> = names.iter().flat_map(of).collect();
        hashes.sort_unstable();
        hashes.dedup();
        // Two of 21 collide in one of twenty million runs.
        assert_eq!(hashes.len(), 21);
    }
}
