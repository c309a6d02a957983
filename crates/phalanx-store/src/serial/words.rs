//! The written form of the words of slots.

use super::list::List;
use alloc::vec::Vec;

/// Returns the written form of a word: the dead bit is the lowest, so that small generations are small numbers.
///
/// The word of a retired slot, all ones, is the same in both forms.
pub(super) fn written(word: u32) -> u32 {
    word.rotate_left(1)
}

/// Reads the words of at most `most` slots.
pub(super) fn list(most: u32) -> List<u32> {
    List::at_most(most as usize, "more slots than there can be")
}

/// Returns the words in their form in memory.
pub(super) fn read(mut written: Vec<u32>) -> Vec<u32> {
    written.iter_mut().for_each(|word| *word = word.rotate_right(1));
    written
}

/// Returns the number of live slots among these written words, or the largest number if they are not known yet.
pub(super) fn live(written: Option<&Vec<u32>>) -> usize {
    written.map_or(u32::MAX as usize, |words| words.iter().filter(|word| **word & 1 == 0).count())
}
