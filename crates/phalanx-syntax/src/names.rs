//! [`Names`]: every text once.

use crate::tree::{Full, Name};

/// Interned texts: equal texts have equal [`Name`]s, and a name takes 4 bytes.
///
/// All texts are in one buffer. Names are numbered in order of first appearance, so the same source gives the same
/// names.
///
/// ```
/// use phalanx_syntax::Names;
///
/// let mut names = Names::new();
/// let a = names.intern("apple")?;
/// let b = names.intern("pear")?;
/// assert_eq!(names.intern("apple")?, a);
/// assert_ne!(a, b);
/// assert_eq!(names.get(b), Some("pear"));
/// assert_eq!(names.find("plum"), None);
/// # Ok::<(), phalanx_syntax::Full>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Names {
    text: String,
    /// Where each text ends, and its hash.
    entries: Vec<(u32, u32)>,
    /// The word of a name at its hash, or after it; 0 where there is none. A power of two, at most half full.
    table: Vec<u32>,
}

/// The parts of a 64-bit product that the low bits alone would lose.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let wide = u128::from(a) * u128::from(b);
    wide as u64 ^ (wide >> 64) as u64
}

const K0: u64 = 0x9e37_79b9_7f4a_7c15;
const K1: u64 = 0xd6e8_feb8_6659_fd93;

/// The same on every machine and in every run. It does not resist a crafted source; probing then costs time, not
/// correctness.
#[inline]
fn hash(text: &[u8]) -> u32 {
    let mut state = text.len() as u64 ^ K0;
    let mut rest = text;
    while let Some((chunk, after)) = rest.split_first_chunk::<8>() {
        state = fold(state ^ u64::from_le_bytes(*chunk), K1);
        rest = after;
    }
    let mut last = 0;
    if let Some((chunk, after)) = rest.split_first_chunk::<4>() {
        last = u64::from(u32::from_le_bytes(*chunk));
        rest = after;
    }
    for &byte in rest {
        last = last << 8 | u64::from(byte);
    }
    let wide = fold(state ^ last, K1);
    (wide ^ wide >> 32) as u32
}

impl Names {
    /// Creates an empty table.
    pub const fn new() -> Names {
        Names { text: String::new(), entries: Vec::new(), table: Vec::new() }
    }

    /// Returns the number of texts.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns `true` if there are no texts.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the bytes of texts and tables, without spare capacity.
    pub fn bytes(&self) -> usize {
        self.text.len() + size_of_val(&self.entries[..]) + size_of_val(&self.table[..])
    }

    #[inline]
    fn text_at(&self, index: usize) -> Option<&str> {
        let end = self.entries.get(index)?.0 as usize;
        let start = index.checked_sub(1).map_or(0, |before| self.entries[before].0 as usize);
        self.text.get(start..end)
    }

    /// Returns the text of a name, or `None` if the name is not in this table.
    #[inline]
    pub fn get(&self, name: Name) -> Option<&str> {
        self.text_at(name.index())
    }

    /// Returns an iterator over all names and their texts, in order of first appearance.
    pub fn iter(&self) -> impl Iterator<Item = (Name, &str)> {
        (0..self.len()).filter_map(|index| Some((Name::new(index as u32)?, self.text_at(index)?)))
    }

    /// Returns the name of a text, or the vacant entry where it belongs.
    #[inline]
    fn probe(&self, text: &str, hash: u32) -> Result<Name, usize> {
        let mask = self.table.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            match Name::from_word(self.table[at]) {
                None => return Err(at),
                Some(name) if self.entries[name.index()].1 == hash && self.get(name) == Some(text) => return Ok(name),
                Some(_) => at = (at + 1) & mask,
            }
        }
    }

    /// Returns the name of a text, if it has one.
    pub fn find(&self, text: &str) -> Option<Name> {
        if self.table.is_empty() {
            return None;
        }
        self.probe(text, hash(text.as_bytes())).ok()
    }

    /// Returns the name of a text, and adds the text if it has none.
    ///
    /// # Errors
    ///
    /// Returns [`Full::Memory`] if allocation fails, and [`Full::Names`] if there are too many names or more than 4 GiB of
    /// text. The table is unchanged.
    #[inline]
    pub fn intern(&mut self, text: &str) -> Result<Name, Full> {
        let hash = hash(text.as_bytes());
        if self.table.len() < 2 * (self.entries.len() + 1) {
            self.grow()?;
        }
        match self.probe(text, hash) {
            Ok(name) => Ok(name),
            Err(vacancy) => self.add(text, hash, vacancy),
        }
    }

    #[inline(never)]
    fn add(&mut self, text: &str, hash: u32, vacancy: usize) -> Result<Name, Full> {
        let end = u32::try_from(self.text.len() + text.len()).map_err(|_| Full::Names)?;
        let name = u32::try_from(self.entries.len()).ok().and_then(Name::new).ok_or(Full::Names)?;
        self.text.try_reserve(text.len()).map_err(|_| Full::Memory)?;
        self.entries.try_reserve(1).map_err(|_| Full::Memory)?;
        self.text.push_str(text);
        self.entries.push((end, hash));
        self.table[vacancy] = name.word();
        Ok(name)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> Result<(), Full> {
        let size = (2 * self.table.len()).max(64);
        let mut table = Vec::new();
        table.try_reserve_exact(size).map_err(|_| Full::Memory)?;
        table.resize(size, 0);
        for (index, &(_, hash)) in self.entries.iter().enumerate() {
            let mut at = hash as usize & (size - 1);
            while table[at] != 0 {
                at = (at + 1) & (size - 1);
            }
            table[at] = index as u32 + 1;
        }
        self.table = table;
        Ok(())
    }
}

/// As a list of texts, in the order of their numbers.
#[cfg(feature = "serde")]
impl serde::Serialize for Names {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(|(_, text)| text))
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Names {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Names, D::Error> {
        use serde::de::Error;
        let texts = Vec::<String>::deserialize(deserializer)?;
        let mut names = Names::new();
        for text in &texts {
            names.intern(text).map_err(D::Error::custom)?;
        }
        // A text that is there twice would have moved the numbers of those after it.
        if names.len() == texts.len() { Ok(names) } else { Err(D::Error::custom("a text is there twice")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_texts_are_found_again() {
        let mut names = Names::new();
        let made: Vec<Name> = (0..5_000).map(|n| names.intern(&format!("name{n}")).unwrap()).collect();
        for (n, &name) in made.iter().enumerate() {
            assert_eq!(names.get(name), Some(&*format!("name{n}")));
            assert_eq!(names.intern(&format!("name{n}")), Ok(name));
        }
        assert_eq!(names.len(), 5_000);
        assert_eq!(names.iter().count(), 5_000);
    }

    #[test]
    fn the_empty_text_is_a_text() {
        let mut names = Names::new();
        assert_eq!(names.find(""), None);
        let empty = names.intern("").unwrap();
        names.intern("x").unwrap();
        assert_eq!(names.find(""), Some(empty));
        assert_eq!(names.get(empty), Some(""));
        assert_eq!(names.get(Name::new(2).unwrap()), None);
    }
}
