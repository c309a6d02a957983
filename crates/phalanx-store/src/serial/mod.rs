//! The feature `serde`: containers and handles as data, and back.
//!
//! # Forms
//!
//! Each is a struct of lists, or a list; formats without field names see the fields in this order.
//!
//! | | form |
//! |---|---|
//! | `Entity`, `Handle` | the number that `to_bits` gives |
//! | `EntityPool` | `words`: one a slot; `free`: the free slots, the next to be used first |
//! | `PackedStore` | `words`; `order`: every slot once, those of the values in order, then the free ones, the next to be used first, then the retired ones; `values` |
//! | `SlotStore` | `words`; `values` in the order of their slots |
//! | `SparseSet` | a list of pairs of a key's bits and its value, in order |
//! | `LinearStore` | `present`: 64 indices to a number, the lowest in the lowest bit; `generations` and `values` of those that are present |
//!
//! A *word* is twice a generation while its value lives, so usually a small number; twice the next generation plus one
//! while the slot is free; `u32::MAX` for ever when it is retired.
//!
//! # What loading promises
//!
//! What was saved comes back whole: the same values under the same handles in the same order, dead handles dead, and
//! the same handles to come. Saving it again gives the same bytes.
//!
//! What nobody can have saved is refused with a sentence that says why, and whatever was loaded so far is dropped.
//! Nothing panics, and memory that cannot be had is an error too. A length that the input only declares reserves at most
//! [`BELIEVED`] bytes; the rest grows with what has really been read. What a stored slot, page or presence word then
//! costs is what it costs in the container; each impl names its factor.

mod key;
mod linear;
mod list;
mod packed;
mod pool;
mod record;
mod slot;
mod sparse_set;
mod words;

use crate::{AllocError, Rejection};
use core::fmt;

pub(crate) use words::{Census, State};

/// How many bytes are reserved for a list because of its declared length alone.
const BELIEVED: usize = 4096;

/// Why data is no container.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Refused {
    /// Two lists whose lengths must agree do not, or one is too long.
    Count { what: &'static str, found: usize, expected: usize },
    /// Something is wrong with one slot.
    Slot { slot: u32, what: &'static str },
    /// Something is wrong with the whole.
    Whole(&'static str),
    /// Memory could not be had.
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

impl From<Rejection> for Refused {
    fn from(reason: Rejection) -> Refused {
        match reason {
            Rejection::Alloc(error) => Refused::Alloc(error),
            Rejection::Stale(key) => Refused::Slot { slot: key.index, what: "comes twice" },
        }
    }
}

/// Checks that a list is as long as it must be.
pub(crate) fn counted(what: &'static str, found: usize, expected: usize) -> Result<(), Refused> {
    if found == expected { Ok(()) } else { Err(Refused::Count { what, found, expected }) }
}
