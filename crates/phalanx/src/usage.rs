//! What happens to components, counted while a world is asked to: [`World::set_access_counting`].
//!
//! What comes is not counted at all: it follows from how many there were, how many there are, and how many have gone. So
//! making entities costs nothing, and what takes rows out of tables makes one test. Values beside tables are counted by
//! their stores.

use core::sync::atomic::{AtomicU64, Ordering};

/// What happened to a component since counting began.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    /// How many there were then.
    pub(crate) before: u64,
    /// Of those in tables: how many were taken from rows that lived on.
    pub(crate) taken: u64,
    /// Of those in tables: how many went with their rows.
    pub(crate) ended: u64,
    /// Rows of queries that name the component.
    visited: AtomicU64,
    /// Of these, the rows of queries that name others, too.
    together: AtomicU64,
    /// How often it was looked up by entity.
    #[cfg(feature = "counters")]
    found: AtomicU64,
}

impl Usage {
    /// All of it since a moment at which there were so many.
    pub(crate) fn begin(&mut self, before: u64) {
        *self = Usage { before, ..Usage::default() };
    }

    pub(crate) fn visited(&self) -> u64 {
        self.visited.load(Ordering::Relaxed)
    }

    pub(crate) fn together(&self) -> u64 {
        self.together.load(Ordering::Relaxed)
    }

    #[cfg(feature = "counters")]
    pub(crate) fn found(&self) -> u64 {
        self.found.load(Ordering::Relaxed)
    }

    pub(crate) fn visit(&self, rows: u64, with_others: bool) {
        self.visited.fetch_add(rows, Ordering::Relaxed);
        if with_others {
            self.together.fetch_add(rows, Ordering::Relaxed);
        }
    }

    #[cfg(feature = "counters")]
    pub(crate) fn find(&self) {
        self.found.fetch_add(1, Ordering::Relaxed);
    }
}

impl Clone for Usage {
    /// A copy has seen nothing yet.
    fn clone(&self) -> Usage {
        Usage::default()
    }
}
