//! Checks of saved words, shared by all containers that are restored from them.

use crate::AllocError;
use crate::generation::{self, MAX_GENERATION, RETIRED, ROW};
use core::fmt;

/// The reason why saved data is not a container.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Refused {
    /// Two lists whose lengths must agree do not, or one is too long.
    Count { what: &'static str, found: usize, expected: usize },
    /// Something is wrong with one slot.
    Slot { slot: u32, what: &'static str },
    /// Something is wrong with the whole.
    Whole(&'static str),
    /// An allocation failed.
    Alloc(AllocError),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Count { what, found, expected } => write!(f, "{what}: {found} instead of {expected}"),
            Refused::Slot { slot, what } => write!(f, "slot {slot} {what}"),
            Refused::Whole(what) => f.write_str(what),
            Refused::Alloc(error) => error.fmt(f),
        }
    }
}

impl From<AllocError> for Refused {
    fn from(error: AllocError) -> Refused {
        Refused::Alloc(error)
    }
}

/// Checks that a list has the expected length.
pub(crate) fn counted(what: &'static str, found: usize, expected: usize) -> Result<(), Refused> {
    if found == expected { Ok(()) } else { Err(Refused::Count { what, found, expected }) }
}

/// The state of a slot, by its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Live,
    Free,
    Retired,
}

impl State {
    /// Returns the state of a slot with this word, which is one that a slot can have.
    pub(crate) fn of(word: u32) -> State {
        match word {
            RETIRED => State::Retired,
            _ if generation::is_dead(word) => State::Free,
            _ => State::Live,
        }
    }
}

/// The number of slots in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Census {
    pub(crate) live: u32,
    pub(crate) free: u32,
    pub(crate) rows: u32,
}

impl Census {
    /// Counts the slots with these words, of which there are at most `most`, and checks each.
    #[cfg(feature = "serde")]
    pub(crate) fn of(words: &[u32], most: u32) -> Result<Census, Refused> {
        Census::count(words, most, 0)
    }

    /// Counts the slots like [`of`](Census::of), but allows rows.
    pub(crate) fn with_rows(words: &[u32], most: u32) -> Result<Census, Refused> {
        Census::count(words, most, ROW)
    }

    /// Counts the slots. The bit `row` is allowed in live words, which are rows then.
    fn count(words: &[u32], most: u32, row: u32) -> Result<Census, Refused> {
        if words.len() > most as usize {
            return Err(Refused::Whole("more slots than there can be"));
        }
        // Without branches, so that several words are counted at a time. A wrong one is searched for afterwards.
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

/// Returns `true` if no slot has this word. The bit `row` is allowed in live words.
#[inline(always)]
fn is_never_issued(word: u32, row: u32) -> bool {
    let allowed = if generation::is_dead(word) { 0 } else { row };
    (word != RETIRED) & (generation::generation(word) & !allowed > MAX_GENERATION)
}
