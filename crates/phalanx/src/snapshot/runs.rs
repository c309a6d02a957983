//! Rows of lanes, as runs of rows next to each other.

use core::ops::Range;

/// Which rows of lanes.
#[derive(Clone, Copy)]
pub(super) enum Runs<'a> {
    /// All of these.
    All(u32),
    /// Those whose bits are set.
    Bits(&'a [u64]),
}

impl<'a> Runs<'a> {
    /// Runs of rows next to each other.
    pub(super) fn iter(self) -> impl Iterator<Item = Range<u32>> + 'a {
        let (all, words) = match self {
            Runs::All(0) => (None, &[][..]),
            Runs::All(len) => (Some(0..len), &[][..]),
            Runs::Bits(words) => (None, words),
        };
        all.into_iter().chain(BitRuns { words, at: 0 })
    }

    pub(super) fn rows(self) -> impl Iterator<Item = u32> + 'a {
        self.iter().flatten()
    }

    pub(super) fn len(self) -> u32 {
        match self {
            Runs::All(len) => len,
            Runs::Bits(words) => words.iter().map(|word| word.count_ones()).sum(),
        }
    }
}

struct BitRuns<'a> {
    words: &'a [u64],
    at: u32,
}

impl BitRuns<'_> {
    /// The next row, from `at` on, whose bit is as asked, or the end.
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
