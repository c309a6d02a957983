//! The words of slots, as they are written, and what they say when they are read.

use super::Refused;
use super::list::List;
use crate::generation::{self, MAX_GENERATION, RETIRED, ROW};
use alloc::vec::Vec;

/// A word in its written form: the dead bit in the lowest place, so that small generations are small numbers. The word
/// of a retired slot, all ones, is the same in both forms.
pub(super) fn written(word: u32) -> u32 {
    word.rotate_left(1)
}

/// Reads the words of at most `most` slots.
pub(super) fn list(most: u32) -> List<u32> {
    List::at_most(most as usize, "more slots than there can be")
}

/// The words as they are in memory.
pub(super) fn read(mut written: Vec<u32>) -> Vec<u32> {
    written.iter_mut().for_each(|word| *word = word.rotate_right(1));
    written
}

/// As many values as there are live slots among these written words; as many as there can be if they are not known yet.
pub(super) fn live(written: Option<&Vec<u32>>) -> usize {
    written.map_or(u32::MAX as usize, |words| words.iter().filter(|word| **word & 1 == 0).count())
}

/// What a word says of its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Live,
    Free,
    Retired,
}

impl State {
    /// The state of a slot with this word, which is one that a slot can have.
    pub(crate) fn of(word: u32) -> State {
        match word {
            RETIRED => State::Retired,
            _ if generation::is_dead(word) => State::Free,
            _ => State::Live,
        }
    }
}

/// How many slots are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Census {
    pub(crate) live: u32,
    pub(crate) free: u32,
    pub(crate) rows: u32,
}

impl Census {
    /// Counts the slots with these words, of which there are at most `most`, and checks each.
    pub(crate) fn of(words: &[u32], most: u32) -> Result<Census, Refused> {
        Census::count(words, most, 0)
    }

    /// As [`of`](Census::of), where a slot may be a row.
    pub(crate) fn with_rows(words: &[u32], most: u32) -> Result<Census, Refused> {
        Census::count(words, most, ROW)
    }

    /// The bit `row` is allowed in live words, and marks rows.
    fn count(words: &[u32], most: u32, row: u32) -> Result<Census, Refused> {
        if words.len() > most as usize {
            return Err(Refused::Whole("more slots than there can be"));
        }
        // Without branches: several words at a time. Who is wrong is found out afterwards.
        let (mut census, mut wrong) = (Census::default(), false);
        for &word in words {
            let (dead, retired) = (generation::is_dead(word), word == RETIRED);
            let is_row = !dead & (word & row != 0);
            census.live += u32::from(!dead & !is_row);
            census.rows += u32::from(is_row);
            census.free += u32::from(dead & !retired);
            wrong |= is_never_issued(word, row);
        }
        if wrong {
            let slot = words.iter().position(|word| is_never_issued(*word, row)).unwrap_or(0) as u32;
            return Err(Refused::Slot { slot, what: "has a generation that is never issued" });
        }
        Ok(census)
    }
}

/// Whether no slot has this word. The bit `row` is allowed in live words.
#[inline(always)]
fn is_never_issued(word: u32, row: u32) -> bool {
    let allowed = if generation::is_dead(word) { 0 } else { row };
    (word != RETIRED) & (generation::generation(word) & !allowed > MAX_GENERATION)
}
