//! [`Usage`]: counts of accesses to a component, for the layout report.
//!
//! Insertions are not counted. They follow from the number of values before and now, and the number of removals. So spawning
//! costs nothing, and removing rows from tables costs one test. Sparse storages count their own removals.

use core::sync::atomic::{AtomicU64, Ordering};

/// The accesses to a component since counting began.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    /// The number of values when counting began.
    pub(crate) before: u64,
    /// The number of values that were removed from tables, from entities that live on.
    pub(crate) removed: u64,
    /// The number of values that were removed from tables with their rows.
    pub(crate) despawned: u64,
    /// The number of rows that queries with the component visited.
    visited: AtomicU64,
    /// The number of these rows that were visited by queries with other components, too.
    together: AtomicU64,
    /// The number of look-ups by entity.
    #[cfg(feature = "counters")]
    found: AtomicU64,
}

impl Usage {
    /// Starts counting again, with `before` values.
    pub(crate) fn begin(&mut self, before: u64) {
        *self = Usage { before, ..Usage::default() };
    }

    /// Returns the number of visited rows.
    pub(crate) fn visited(&self) -> u64 {
        self.visited.load(Ordering::Relaxed)
    }

    /// Returns the number of rows that were visited together with other components.
    pub(crate) fn together(&self) -> u64 {
        self.together.load(Ordering::Relaxed)
    }

    /// Returns the number of look-ups by entity.
    #[cfg(feature = "counters")]
    pub(crate) fn found(&self) -> u64 {
        self.found.load(Ordering::Relaxed)
    }

    /// Counts visited rows.
    pub(crate) fn visit(&self, rows: u64, with_others: bool) {
        self.visited.fetch_add(rows, Ordering::Relaxed);
        if with_others {
            self.together.fetch_add(rows, Ordering::Relaxed);
        }
    }

    /// Counts a look-up by entity.
    #[cfg(feature = "counters")]
    pub(crate) fn find(&self) {
        self.found.fetch_add(1, Ordering::Relaxed);
    }
}

impl Clone for Usage {
    /// Returns zero counts.
    fn clone(&self) -> Usage {
        Usage::default()
    }
}
