//! [`SystemMatches`]: what a query of a system found.
#![allow(unsafe_code)]

use super::query_matches::QueryMatches;
use super::{Filtered, Query, QueryData, QueryFilter};
use crate::change_detection::Tick;
use crate::world::World;
use core::fmt;

/// What a query of a system found in a world, kept between runs of the system.
#[doc(hidden)]
pub struct SystemMatches<S, T>(QueryMatches<S, T>);

impl<S: 'static, T: Copy + 'static> Default for SystemMatches<S, T> {
    fn default() -> Self {
        SystemMatches(QueryMatches::new())
    }
}

impl<S, T> fmt::Debug for SystemMatches<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SystemMatches({} tables)", self.0.tables.len())
    }
}

impl<'w, 's, D: QueryData, F: QueryFilter> Query<'w, 's, D, F> {
    /// Returns the query of a system, in a run with this change tick.
    ///
    /// # Safety
    ///
    /// - For `'w` nothing else touches what the query writes, or writes what it touches, in rows that the query visits.
    /// - The query does not alias.
    #[inline(always)]
    pub(crate) unsafe fn of_system(
        world: &'w World,
        matches: &'s mut SystemMatches<(D::State, F::State), D::Fetch>,
        tick: Tick,
    ) -> Self {
        matches.0.begin_run_at::<Filtered<D, F>>(world, tick);
        // SAFETY: the matches were updated to this world. The rest is the caller's contract.
        unsafe { Query::with_matches(world, &matches.0) }
    }
}
