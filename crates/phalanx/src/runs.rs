//! [`Runs`]: rows of a column, as runs of contiguous rows.

use core::ops::Range;

/// Some rows of a column.
#[derive(Clone, Copy)]
pub(crate) enum Runs<'a> {
    /// The rows below a number.
    All(u32),
    /// One row.
    One(u32),
    /// The rows whose bits are set.
    Bits(&'a [u64]),
}

impl<'a> Runs<'a> {
    /// Iterates over the runs of contiguous rows.
    pub(crate) fn iter(self) -> impl Iterator<Item = Range<u32>> + 'a {
        let (all, words) = match self {
            Runs::All(0) => (None, &[][..]),
            Runs::All(len) => (Some(0..len), &[][..]),
            Runs::One(row) => (Some(row..row + 1), &[][..]),
            Runs::Bits(words) => (None, words),
        };
        all.into_iter().chain(BitRuns { words, at: 0 })
    }

    /// Iterates over the rows.
    pub(crate) fn rows(self) -> impl Iterator<Item = u32> + 'a {
        self.iter().flatten()
    }

    /// Returns the first row from `start` on.
    pub(crate) fn next_row(self, start: u32) -> Option<u32> {
        let (row, end) = match self {
            Runs::All(len) => (start, len),
            Runs::One(row) => (start.max(row), row + 1),
            Runs::Bits(words) => (BitRuns { words, at: start }.seek(start, true), words.len() as u32 * 64),
        };
        (row < end).then_some(row)
    }

    /// Returns the row after the last.
    pub(crate) fn end(self) -> u32 {
        match self {
            Runs::All(len) => len,
            Runs::One(row) => row + 1,
            Runs::Bits(words) => match words.iter().rposition(|word| *word != 0) {
                None => 0,
                Some(at) => (at as u32 + 1) * 64 - words[at].leading_zeros(),
            },
        }
    }

    /// Returns the number of rows.
    pub(crate) fn len(self) -> u32 {
        match self {
            Runs::All(len) => len,
            Runs::One(_) => 1,
            Runs::Bits(words) => words.iter().map(|word| word.count_ones()).sum(),
        }
    }
}

/// Iterates over the runs of bits that are set.
struct BitRuns<'a> {
    words: &'a [u64],
    at: u32,
}

impl BitRuns<'_> {
    /// Returns the first row from `at` on whose bit equals `set`, or the end.
    fn seek(&self, mut at: u32, set: bool) -> u32 {
        let end = self.words.len() as u32 * 64;
        while at < end {
            let word = self.words[at as usize / 64];
            let word = if set { word } else { !word } >> (at % 64);
            if word != 0 {
                return at + word.trailing_zeros();
            }
            at = (at / 64 + 1) * 64;
        }
        end
    }
}

impl Iterator for BitRuns<'_> {
    type Item = Range<u32>;

    fn next(&mut self) -> Option<Range<u32>> {
        let start = self.seek(self.at, true);
        if start >= self.words.len() as u32 * 64 {
            return None;
        }
        self.at = self.seek(start, false);
        Some(start..self.at)
    }
}
