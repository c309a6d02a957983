//! [`BitSet`]: a set of small numbers.

/// A set of small numbers, as bits.
#[derive(Clone, Debug, Default)]
pub(crate) struct BitSet {
    words: Vec<u64>,
}

impl BitSet {
    /// Creates an empty set for numbers below `len`.
    pub(crate) fn with_len(len: usize) -> BitSet {
        BitSet { words: vec![0; len.div_ceil(64)] }
    }

    /// Inserts a number. The set grows if need be.
    pub(crate) fn insert(&mut self, number: usize) {
        if self.words.len() <= number / 64 {
            self.words.resize(number / 64 + 1, 0);
        }
        self.words[number / 64] |= 1 << (number % 64);
    }

    /// Returns `true` if the set has the number.
    pub(crate) fn contains(&self, number: usize) -> bool {
        self.words.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Inserts all numbers of another set.
    pub(crate) fn union(&mut self, other: &BitSet) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
    }
}
