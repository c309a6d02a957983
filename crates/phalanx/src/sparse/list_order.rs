//! [`ListOrder`]: the order that a list of entities gives to positions.

use crate::alloc::try_vec;
use core::cmp::Ordering;
use phalanx_store::AllocError;

/// The order in which a list names positions. Those that it does not name come last.
#[derive(Debug)]
pub(crate) struct ListOrder {
    /// By position: the number of positions that were named before.
    ranks: Vec<u32>,
    named: u32,
}

impl ListOrder {
    const UNNAMED: u32 = u32::MAX;

    /// Creates the order of an empty list, for `len` positions.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails.
    pub(crate) fn try_new(len: usize) -> Result<ListOrder, AllocError> {
        let mut ranks = try_vec(len)?;
        ranks.resize(len, Self::UNNAMED);
        Ok(ListOrder { ranks, named: 0 })
    }

    /// Names a position. It keeps its rank if it was named before.
    ///
    /// # Panics
    ///
    /// Panics if there are fewer positions.
    pub(crate) fn push(&mut self, position: u32) {
        let rank = &mut self.ranks[position as usize];
        if *rank == Self::UNNAMED {
            *rank = self.named;
            self.named += 1;
        }
    }

    /// Compares two positions.
    pub(crate) fn compare(&self, a: u32, b: u32) -> Ordering {
        self.ranks[a as usize].cmp(&self.ranks[b as usize])
    }
}
