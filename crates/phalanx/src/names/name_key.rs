//! [`NameKey`] and [`PathName`]: names below a parent, and their hashes.

use super::Name;
use crate::seeded::Seeded;
use core::hash::{Hash, Hasher};

/// A parent and the name of one of its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NameKey {
    /// The slot of the parent, or [`NONE`](crate::links::NONE).
    pub(crate) parent: u32,
    pub(crate) name: Name,
}

impl Hash for NameKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u32(PathName::whole(Seeded::default(), self.parent, &self.name).hash);
    }
}

/// A name in a path, below a parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathName<'a> {
    pub(crate) text: &'a [u8],
    /// The hash of the parent and the text.
    pub(crate) hash: u32,
    /// The position of the next name in the path, if there is one.
    pub(crate) next: Option<usize>,
}

/// A one in each byte.
const ONES: u64 = u64::MAX / 0xff;

impl<'a> PathName<'a> {
    /// Returns the name of a path that begins at a position. Returns `None` if it is longer than a name can be.
    ///
    /// The hash is that of [`Seeded`] for the parent, the length, and the halves of the words of the text.
    #[inline]
    pub(crate) fn new(seeded: Seeded, parent: u32, path: &'a [u8], start: usize) -> Option<PathName<'a>> {
        let (sum, [of_parent, of_len, factors @ ..]) = seeded.parts();
        let mut sum = sum.wrapping_add(of_parent.wrapping_mul(parent.into()));
        let mut at = start;
        for [low, high] in factors.as_chunks::<2>().0 {
            let (word, left) = word_at(path, at);
            // The lowest byte that is a slash has its highest bit set.
            let differing = word ^ (ONES * u64::from(b'/'));
            let slashes = differing.wrapping_sub(ONES) & !differing & (ONES << 7);
            let count = (slashes.trailing_zeros() as usize / 8).min(left);
            let word = if count < 8 { word & !(u64::MAX << (count * 8)) } else { word };
            sum = sum.wrapping_add(low.wrapping_mul(word & 0xffff_ffff)).wrapping_add(high.wrapping_mul(word >> 32));
            at += count;
            if count < 8 {
                let text = path.get(start..at)?;
                sum = sum.wrapping_add(of_len.wrapping_mul(text.len() as u64));
                let next = (at < path.len()).then_some(at + 1);
                return Some(PathName { text, hash: mix((sum >> 32) as u32), next });
            }
        }
        None
    }

    /// Returns a name that is a whole path.
    pub(crate) fn whole(seeded: Seeded, parent: u32, name: &'a Name) -> PathName<'a> {
        let Some(name) = PathName::new(seeded, parent, name.as_bytes(), 0) else {
            unreachable!("a name is no longer than a name can be")
        };
        name
    }
}

/// Mixes a hash that is a linear function of words, so that names that are counted up do not fall into a pattern.
#[inline]
fn mix(hash: u32) -> u32 {
    let hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    let hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

/// Returns the word at a position of a text, with zeros behind the end, and how many of its bytes are in the text.
#[inline]
fn word_at(text: &[u8], at: usize) -> (u64, usize) {
    let rest = text.get(at..).unwrap_or(&[]);
    if let Some(word) = rest.first_chunk() {
        return (u64::from_le_bytes(*word), 8);
    }
    let word = match text.last_chunk() {
        _ if rest.is_empty() => 0,
        // The last bytes of the text, without those before.
        Some(last) => u64::from_le_bytes(*last) >> (64 - rest.len() * 8),
        None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    (word, rest.len())
}

#[cfg(test)]
mod tests {
    use super::{Name, PathName};
    use crate::seeded::Seeded;

    /// Splits a path as the library does, with a parent for each name.
    fn split(path: &str) -> Option<Vec<PathName<'_>>> {
        let (mut names, mut next) = (Vec::new(), Some(0));
        while let Some(start) = next {
            let name = PathName::new(Seeded::default(), names.len() as u32, path.as_bytes(), start)?;
            next = name.next;
            names.push(name);
        }
        Some(names)
    }

    #[test]
    fn a_path_is_split_at_slashes_and_each_name_has_its_hash() {
        let texts = ["a", "gun", "seven b", "eight by", "nine byte", "ü", "\0", "0", ".", "\u{af}", &"x".repeat(63)];
        for first in texts {
            for second in texts {
                for path in [first.to_string(), format!("{first}/{second}"), format!("{second}/{first}/{second}")] {
                    let names: Vec<Name> = path.split('/').map(|text| Name::new(text).unwrap()).collect();
                    let found = split(&path).unwrap();
                    assert!(
                        found.iter().map(|name| name.text).eq(names.iter().map(|name| name.as_bytes())),
                        "{path:?}"
                    );
                    let hash = |(at, name)| PathName::whole(Seeded::default(), at, name).hash;
                    assert!(found.iter().map(|name| name.hash).eq((0..).zip(&names).map(hash)), "{path:?}");
                }
            }
        }
        for path in ["", "/", "a/", "/a", "a//b"] {
            assert!(split(path).unwrap().iter().map(|name| name.text).eq(path.split('/').map(str::as_bytes)));
        }
        for long in [64, 65, 200] {
            assert_eq!(split(&"x".repeat(long)), None);
            assert_eq!(split(&format!("a/{}/b", "x".repeat(long))), None);
        }
    }

    #[test]
    fn the_hash_depends_on_parent_text_and_length() {
        let names = ["a", "b", "a\0", "aaaa", "aaaaa", "aaaab", &"x".repeat(63)].map(|text| Name::new(text).unwrap());
        let of = |name: &Name| [0, 1, u32::MAX].map(|parent| PathName::whole(Seeded::default(), parent, name).hash);
        let mut hashes: Vec<u32> = names.iter().flat_map(of).collect();
        hashes.sort_unstable();
        hashes.dedup();
        // Two of 21 collide in one of twenty million runs.
        assert_eq!(hashes.len(), 21);
    }
}
