//! What happens to components, counted while a world is asked to: [`World::count_accesses`].
//!
//! What comes is not counted at all: it follows from how many there were, how many there are, and how many have gone. So
//! making entities costs nothing, and what takes rows out of tables makes one test. Values beside tables are counted by
//! their stores.

use crate::component::ComponentId;
use crate::query::{Access, QueryData};
use crate::world::World;
use core::sync::atomic::{AtomicU64, Ordering};

/// What happened to a component since counting began.
#[derive(Debug, Default)]
pub(crate) struct Tally {
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

impl Tally {
    /// All of it since a moment at which there were so many.
    pub(crate) fn begin(&mut self, before: u64) {
        *self = Tally { before, ..Tally::default() };
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

impl Clone for Tally {
    /// A copy has seen nothing yet.
    fn clone(&self) -> Tally {
        Tally::default()
    }
}

impl World {
    /// Notes that a query sets out to visit so many rows.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_visits<D: QueryData>(&self, rows: u64) {
        let Ok(access) = Access::try_of::<D>() else { return };
        let with_others = access.types().nth(1).is_some();
        for key in access.types() {
            self.note_visit(self.storage.components.id_of_type(key), rows, with_others);
        }
    }

    /// Notes that so many values of a component are about to be visited.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_visit(&self, id: ComponentId, rows: u64, with_others: bool) {
        if id != ComponentId::UNKNOWN {
            self.storage.components.info(id).tally.visit(rows, with_others);
        }
    }

    /// Notes that a query is asked for one entity.
    #[cfg(feature = "counters")]
    #[cold]
    #[inline(never)]
    pub(crate) fn note_finds<D: QueryData>(&self) {
        let Ok(access) = Access::try_of::<D>() else { return };
        for key in access.types() {
            self.note_find(self.storage.components.id_of_type(key));
        }
    }

    /// Notes that a value is looked up by entity.
    #[cfg(feature = "counters")]
    #[cold]
    #[inline(never)]
    pub(crate) fn note_find(&self, id: ComponentId) {
        if id != ComponentId::UNKNOWN {
            self.storage.components.info(id).tally.find();
        }
    }
}
