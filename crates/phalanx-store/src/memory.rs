//! Memory of containers: the bytes that one has allocated ([`Usage`]), and those that each layout would need ([`Model`]).
//!
//! A layout is chosen before there is anything to measure. The model needs three facts about the values: their size, the
//! number of indices, and the share of the indices that has a value.
//!
//! ```
//! use phalanx_store::memory::{Layout, Model};
//!
//! // A component of 24 bytes that 30 % of 10,000 entities have.
//! let model = Model::new(24, 10_000, 0.3).unwrap();
//! assert!(model.bytes(Layout::Sparse) < model.bytes(Layout::Linear));
//! // The same component on nearly all of them.
//! let model = Model::new(24, 10_000, 0.95).unwrap();
//! assert!(model.bytes(Layout::Linear) < model.bytes(Layout::Sparse));
//! ```

use core::fmt;
use core::ops::Add;

#[cfg(test)]
mod tests;

/// The bytes that a container has allocated, by purpose.
///
/// They are exact: they follow capacities rather than lengths, and do not count the container's own header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes for values.
    pub values: usize,
    /// Bytes for keys and generations.
    pub keys: usize,
    /// Bytes for finding values and free slots: index arrays, pages, presence words.
    pub index: usize,
}

impl Usage {
    /// Returns the sum of all bytes.
    #[inline]
    pub const fn total(self) -> usize {
        self.values + self.keys + self.index
    }
}

impl Add for Usage {
    type Output = Usage;

    fn add(self, other: Usage) -> Usage {
        Usage { values: self.values + other.values, keys: self.keys + other.keys, index: self.index + other.index }
    }
}

/// The four layouts, each that of one container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layout {
    /// [`PackedStore`](crate::PackedStore): own handles, contiguous values.
    Packed,
    /// [`SlotStore`](crate::SlotStore): own handles, values at their slot.
    Slot,
    /// [`SparseSet`](crate::SparseSet): keyed from elsewhere, contiguous values.
    Sparse,
    /// [`LinearStore`](crate::LinearStore): keyed from elsewhere, values at their index.
    Linear,
}

impl Layout {
    /// All layouts, in the order in which ties are broken.
    pub const ALL: [Layout; 4] = [Layout::Packed, Layout::Slot, Layout::Sparse, Layout::Linear];

    /// Returns the name in lower case: `packed`, `slot`, `sparse`, `linear`.
    pub const fn name(self) -> &'static str {
        match self {
            Layout::Packed => "packed",
            Layout::Slot => "slot",
            Layout::Sparse => "sparse",
            Layout::Linear => "linear",
        }
    }

    /// Returns the type name of the container with this layout.
    pub const fn container(self) -> &'static str {
        match self {
            Layout::Packed => "PackedStore",
            Layout::Slot => "SlotStore",
            Layout::Sparse => "SparseSet",
            Layout::Linear => "LinearStore",
        }
    }

    /// Returns `true` if the container issues the handles of its values. The others are keyed from elsewhere, such as by
    /// entities.
    pub const fn is_primary(self) -> bool {
        matches!(self, Layout::Packed | Layout::Slot)
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The reason why a [`Model`] cannot be made.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ModelError {
    /// The utilisation is not a number from 0 to 1.
    Utilisation(f64),
    /// There are more entities than indices.
    Entities(u64),
    /// The values have more bytes than can be addressed.
    TooLarge {
        /// The size of one value.
        size: u64,
        /// The number of values.
        entities: u64,
    },
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelError::Utilisation(found) => write!(f, "utilisation is a share from 0 to 1, not {found}"),
            ModelError::Entities(found) => {
                write!(f, "entities are numbered by 32-bit indices: at most {MAX_ENTITIES}, not {found}")
            }
            ModelError::TooLarge { size, entities } => {
                write!(f, "{entities} values of {size} bytes are more than can be addressed")
            }
        }
    }
}

impl core::error::Error for ModelError {}

/// The number of indices; the model does not follow the narrow test builds.
const MAX_ENTITIES: u64 = u32::MAX as u64;

/// An upper bound of the bytes that any layout keeps beside each index, for the check against overflow. It covers one
/// page and its directories too.
const MOST_OVERHEAD: u64 = 64;

/// The bytes of values of one size, spread evenly over a range of indices, in each layout.
///
/// *Entities* is the length of the range, *utilisation* the share of it that has a value: the last index of each of that
/// many equal shares. [`Model::bytes`] is what the containers of this crate allocate at exact capacity. The `textbook_`
/// methods are the formulas of a first estimate on paper, with four-byte indices and no generations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    size: u64,
    entities: u64,
    utilisation: f64,
}

impl Model {
    /// Creates the model of values of `size` bytes that a share `utilisation` of `entities` indices has.
    ///
    /// # Errors
    ///
    /// Returns [`ModelError::Utilisation`] if the utilisation is not within 0 to 1. Returns [`ModelError::Entities`] if there
    /// are more entities than 32-bit indices. Returns [`ModelError::TooLarge`] if the values do not fit into an address space.
    ///
    /// ```
    /// use phalanx_store::memory::Model;
    ///
    /// let error = Model::new(8, 1_000, 1.5).unwrap_err();
    /// assert_eq!(error.to_string(), "utilisation is a share from 0 to 1, not 1.5");
    /// ```
    pub fn new(size: u64, entities: u64, utilisation: f64) -> Result<Model, ModelError> {
        // Not `< 0 || > 1`: a NaN is neither.
        if !(0.0..=1.0).contains(&utilisation) {
            return Err(ModelError::Utilisation(utilisation));
        }
        if entities > MAX_ENTITIES {
            return Err(ModelError::Entities(entities));
        }
        let bytes = size.checked_add(MOST_OVERHEAD).and_then(|each| each.checked_mul(entities));
        if bytes.is_none_or(|bytes| bytes > i64::MAX as u64) {
            return Err(ModelError::TooLarge { size, entities });
        }
        Ok(Model { size, entities, utilisation })
    }

    /// Returns the size of one value in bytes.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Returns the number of indices.
    pub const fn entities(&self) -> u64 {
        self.entities
    }

    /// Returns the share of the indices that has a value.
    pub const fn utilisation(&self) -> f64 {
        self.utilisation
    }

    /// Returns the number of values.
    pub fn live(&self) -> u64 {
        round(self.entities as f64 * self.utilisation)
    }

    /// Returns the bytes of a value at every index and a presence bit for each: `C·N + ceil(N / 8)`.
    pub fn textbook_linear(&self) -> u64 {
        self.size * self.entities + self.entities.div_ceil(8)
    }

    /// Returns the bytes of a value at every index and a presence byte for each: `(C + 1)·N`.
    pub fn textbook_linear_bytes(&self) -> u64 {
        (self.size + 1) * self.entities
    }

    /// Returns the bytes of two four-byte indices for every entity and contiguous values: `2·4·N + C·N·U`.
    pub fn textbook_sparse(&self) -> u64 {
        2 * 4 * self.entities + round((self.size * self.entities) as f64 * self.utilisation)
    }

    /// Returns the bytes that the container of this layout allocates at exact capacity.
    pub fn bytes(&self, layout: Layout) -> u64 {
        let (size, entities, live) = (self.size, self.entities, self.live());
        match layout {
            // Beside the value its slot; for each slot a generation and the row.
            Layout::Packed => live * (size + 12),
            // A generation and a presence bit for each slot, and two levels of words that find a vacant one.
            Layout::Slot => cells(live, size) + presence(live) + vacant_slots(live),
            // Beside the value its key.
            Layout::Sparse => live * (size + 8) + sparse_side(entities, live),
            // A generation and a presence bit for each index, used or not.
            Layout::Linear => cells(entities, size) + presence(entities),
        }
    }

    /// Returns the layout with the fewest [`bytes`](Model::bytes). Of equal ones, it is the first in [`Layout::ALL`].
    pub fn best(&self) -> Layout {
        self.best_of(&Layout::ALL).unwrap_or(Layout::Packed)
    }

    /// Returns the layout with the fewest bytes among `layouts`, the first of equal ones. Returns `None` if there are none.
    ///
    /// ```
    /// use phalanx_store::memory::{Layout, Model};
    ///
    /// let model = Model::new(4, 1_000, 1.0).unwrap();
    /// assert_eq!(model.best_of(&[Layout::Sparse, Layout::Linear]), Some(Layout::Linear));
    /// ```
    pub fn best_of(&self, layouts: &[Layout]) -> Option<Layout> {
        layouts.iter().copied().min_by_key(|&layout| self.bytes(layout))
    }
}

/// Returns the bytes of a value of `size` bytes and a generation for each of `slots`. The generations are aligned.
fn cells(slots: u64, size: u64) -> u64 {
    (slots * size).next_multiple_of(4) + slots * 4
}

/// Returns the bytes of a bit for each of `slots`, in whole words.
fn presence(slots: u64) -> u64 {
    8 * slots.div_ceil(64)
}

/// Returns the bytes of the words that find a vacant slot: a bit for each presence word, and for each word of these.
fn vacant_slots(slots: u64) -> u64 {
    8 * (slots.div_ceil(64 * 64) + slots.div_ceil(64 * 64 * 64))
}

/// Bytes of an entry of a sparse side: the row and the generation.
const ENTRY: u64 = 8;
/// Entries in a page.
const PAGE: u64 = 4096;
/// Pages in a branch.
const BRANCH: u64 = 512;
/// Bytes of a pointer.
const POINTER: u64 = size_of::<usize>() as u64;

/// Returns the bytes of a sparse index when `live` of `entities` indices, evenly spread, have a value: the last index of
/// each of `live` equal shares.
fn sparse_side(entities: u64, live: u64) -> u64 {
    if live == 0 {
        return 0;
    }
    // The flat window takes in a share while a quarter of it is in use, and in any case while it is no larger than a page.
    // That is all of them, or those before the surplus over four indices a share adds up to one more.
    let quarter = match entities.saturating_sub(4 * live) {
        0 => live,
        surplus => (live - 1) / surplus,
    };
    let within = quarter.max(((PAGE + 1) * live - 1) / entities).min(live);
    let window = ENTRY * (within * entities / live);
    if within == live {
        return window;
    }
    // The number of pieces of `each` indices: all from the first share outside the window on, or one piece a share.
    let first = (within + 1) * entities / live - 1;
    let pieces = |each: u64| ((entities - 1) / each - first / each + 1).min(live - within);
    let reach = (entities - 1) / (PAGE * BRANCH) + 1;
    // A branch has for each page a pointer and a count, and a count of the pages.
    let branch = (BRANCH * (POINTER + 2) + 2).next_multiple_of(POINTER);
    window + ENTRY * PAGE * pieces(PAGE) + branch * pieces(PAGE * BRANCH) + POINTER * reach
}

/// Rounds a number that is not negative to the nearest integer; `f64::round` needs std.
fn round(value: f64) -> u64 {
    (value + 0.5) as u64
}
