//! [`Dirty`]: which chunks of an array may have changed.

use phalanx_store::raw::Lane;

/// Which chunks of rows may differ from an earlier copy.
#[derive(Clone, Copy, Debug)]
pub(super) enum Dirty<'a> {
    /// Those with a bit in either bitmap.
    Chunks(&'a [u64], &'a [u64]),
    /// Any: all chunks have to be compared.
    Any,
}

impl<'a> Dirty<'a> {
    /// Returns the chunks that were written since the lanes had the versions `seen`: chunks of keys, or of values.
    pub(super) fn since(keys: &'a Lane, seen: u64, values: Option<(&'a Lane, u64)>) -> Dirty<'a> {
        if keys.version() != seen || values.is_some_and(|(lane, seen)| lane.version() != seen) {
            return Dirty::Any;
        }
        Dirty::Chunks(keys.dirty(), values.map_or(&[], |(lane, _)| lane.dirty()))
    }

    /// No chunk.
    pub(super) const NONE: Dirty<'static> = Dirty::Chunks(&[], &[]);

    /// Returns the bits of 64 chunks, or `None` if all have to be compared.
    pub(super) fn word(&self, at: u32) -> Option<u64> {
        let of = |list: &[u64]| list.get(at as usize).copied().unwrap_or(0);
        match self {
            Dirty::Chunks(a, b) => Some(of(a) | of(b)),
            Dirty::Any => None,
        }
    }

    /// Returns `true` if no chunk can differ.
    pub(super) fn is_clean(&self) -> bool {
        match self {
            Dirty::Chunks(a, b) => a.iter().chain(*b).all(|word| *word == 0),
            Dirty::Any => false,
        }
    }

    /// Iterates over the dirty chunks among the first `count`.
    pub(super) fn chunks(&self, count: u32) -> impl Iterator<Item = u32> + '_ {
        let word = move |at: usize| match self {
            Dirty::Chunks(a, b) => a.get(at).copied().unwrap_or(0) | b.get(at).copied().unwrap_or(0),
            Dirty::Any => u64::MAX,
        };
        let words = (0..count.div_ceil(64)).map(move |at| (at, word(at as usize)));
        words
            .flat_map(|(at, word)| set_bits(word).map(move |bit| at * 64 + bit))
            .take_while(move |chunk| *chunk < count)
    }
}

/// Iterates over the numbers of the bits that are set, in ascending order.
pub(in crate::timeline) fn set_bits(mut word: u64) -> impl Iterator<Item = u32> {
    core::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        (word != 0).then(|| {
            word &= word - 1;
            bit
        })
    })
}
