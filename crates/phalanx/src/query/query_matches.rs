//! What a query found in a world.
#![allow(unsafe_code)]

use super::driver::{Driver, plan_driver};
use super::iter::Run;
use super::side_runs::push_side_runs;
use super::table_ref::{columns_match, matches_table};
use super::{QueryData, QueryFilter};
use crate::change_detection::{RunHistory, RunTicks, Tick};
use crate::storage::table::Epoch;
use crate::world::World;

/// The matches of a query of data `D` and a filter `F`.
pub(super) type MatchesOf<D, F> =
    QueryMatches<(<D as QueryData>::State, <F as QueryFilter>::State), <D as QueryData>::Fetch>;

/// The tables, or the driver, that a query found in a world, resolved.
///
/// It is generic over the state and the fetch of a query and not over the query, so that a reference to it does not need
/// `D: 's`. Both types are `'static`, so functions that are generic over a query need no lifetime bounds.
pub(super) struct QueryMatches<S, T> {
    /// The world and the epoch that the runs are of.
    seen: Option<(u64, Option<Epoch>)>,
    /// The number of tables of that world that have been matched.
    tables_seen: usize,
    components_seen: usize,
    state: Option<S>,
    /// The matching tables.
    pub(super) tables: Vec<u32>,
    pub(super) runs: Vec<Run<T>>,
    /// The last runs, of a query that tracks changes.
    history: RunHistory,
    /// The tick of the run before that, if there was one and it was not undone.
    since: Option<Tick>,
    /// The driver and the number of its rows, if its rows must be tested one by one.
    pub(super) driver: Option<(Driver, u64)>,
}

impl<S: 'static, T: Copy + 'static> QueryMatches<S, T> {
    /// Returns matches of no world.
    pub(super) const fn new() -> Self {
        QueryMatches {
            seen: None,
            tables_seen: 0,
            components_seen: 0,
            state: None,
            tables: Vec::new(),
            runs: Vec::new(),
            history: RunHistory::new(),
            since: None,
            driver: None,
        }
    }

    /// Returns the state that was found last.
    #[inline(always)]
    pub(super) fn state(&self) -> &S {
        match &self.state {
            Some(state) => state,
            None => unreachable!("matches that were updated have a state"),
        }
    }

    /// Updates the matches to a world, for a run without a predecessor.
    #[inline(always)]
    pub(super) fn update<Q: QueryData<State = S, Fetch = T>>(&mut self, world: &World) {
        if Q::TRACKS_CHANGES {
            self.update_slow::<Q>(world, Some(world.storage.sparse.clock.start_run()), true);
        } else if self.seen != Some((world.id(), Some(world.storage.epoch()))) {
            self.update_slow::<Q>(world, None, false);
        }
    }

    /// Updates the matches to a world, for a run that follows the last one.
    #[inline(always)]
    pub(super) fn begin_run<Q: QueryData<State = S, Fetch = T>>(&mut self, world: &World) {
        if Q::TRACKS_CHANGES {
            self.begin_run_at::<Q>(world, world.storage.sparse.clock.take());
        } else {
            self.update::<Q>(world);
        }
    }

    /// Updates the matches to a world, for a run that follows the last one and has a tick. No other run that touches the same
    /// tracked components has this tick.
    #[inline(always)]
    pub(super) fn begin_run_at<Q: QueryData<State = S, Fetch = T>>(&mut self, world: &World, now: Tick) {
        if Q::TRACKS_CHANGES {
            let clock = &world.storage.sparse.clock;
            // A system may ask for a query several times in one run, if it is in a set.
            if !self.history.is_last(clock, now) {
                self.since = self.history.since(clock);
                self.history.record(clock, now);
            }
            self.update_slow::<Q>(world, Some(RunTicks { now, since: self.since, own: true }), true);
        } else {
            self.update::<Q>(world);
        }
    }

    /// Updates the matches to a world, to count rows. This is not a run, and no row may be written.
    pub(super) fn begin_peek<Q: QueryData<State = S, Fetch = T>>(&mut self, world: &World) {
        if Q::TRACKS_CHANGES {
            self.update_slow::<Q>(world, Some(self.peek_ticks(world)), false);
        } else {
            self.update::<Q>(world);
        }
    }

    /// Returns the ticks of an access that does not count as a run.
    fn peek_ticks(&self, world: &World) -> RunTicks {
        let clock = &world.storage.sparse.clock;
        let since = self.history.since(clock);
        RunTicks { now: clock.now(), since, own: false }
    }

    #[cold]
    #[inline(never)]
    fn update_slow<Q: QueryData<State = S, Fetch = T>>(
        &mut self,
        world: &World,
        ticks: Option<RunTicks>,
        writes: bool,
    ) {
        self.update_state::<Q>(world);
        let Some(state) = &mut self.state else { unreachable!("the state was updated above") };
        if let Some(ticks) = ticks {
            Q::set_ticks(state, ticks);
        }
        let state = &*state;
        for number in self.tables_seen..world.storage.tables.len() {
            let table = &world.storage.tables[number];
            // A filter of a user may panic. Then a table that is in the list has been counted.
            let matches = matches_table::<Q>(state, &table.signature);
            self.tables_seen = number + 1;
            if matches {
                self.tables.push(number as u32);
            }
        }
        // A table that got its first row since comes after all that had rows.
        sort_tables(world, &mut self.tables);
        self.runs.clear();
        if Q::IS_DENSE {
            for &number in &self.tables {
                let len = world.storage.tables[number as usize].len;
                if len > 0 && columns_match::<Q>(state, world, number) {
                    if Q::TRACKS_CHANGES && writes {
                        Q::set_column_ticks(state, world, Some(number));
                    }
                    // SAFETY: the state is this world's, the query is dense, and the table matches.
                    self.runs.push(Run { fetch: unsafe { Q::fetch(state, world, number) }, first: 0, len });
                }
            }
        } else {
            self.driver = None;
            // SAFETY: the state is this world's.
            let plan = unsafe { plan_driver::<Q>(world, state, self.tables.iter().copied()) };
            // SAFETY: the state is this world's, and the tables match.
            let is_divided = plan.driver == Driver::Tables
                && unsafe { push_side_runs::<Q>(world, state, &self.tables, plan.len, &mut self.runs) };
            self.driver = (!is_divided && plan.is_sparse()).then_some((plan.driver, plan.len));
            self.runs.extend(plan.run);
            if Q::TRACKS_CHANGES && writes {
                let tables = self.tables.iter().filter(|number| columns_match::<Q>(state, world, **number));
                tables.for_each(|number| Q::set_column_ticks(state, world, Some(*number)));
                Q::set_column_ticks(state, world, None);
            }
        }
        self.seen = Some((world.id(), Some(world.storage.epoch())));
    }

    /// Updates the state to a world, which is all that finding one entity needs.
    #[inline]
    fn update_state<Q: QueryData<State = S, Fetch = T>>(&mut self, world: &World) {
        let same_world = self.seen.is_some_and(|(id, _)| id == world.id());
        if !same_world || self.components_seen != world.storage.components.len() {
            // A filter of a user may panic. Then these are matches of no world.
            self.seen = None;
            self.state = Some(Q::state(&world.storage.components));
            // Tables that did not match may have a component that had no id then. The runs are of no epoch.
            (self.tables_seen, self.components_seen) = (0, world.storage.components.len());
            self.tables.clear();
            self.runs.clear();
            self.driver = None;
            self.seen = Some((world.id(), None));
        }
    }

    /// Updates the state to a world, to find one entity without counting as a run. `remembers` tells whether changes are those
    /// since the last run, or those since the world's changes were settled.
    #[inline]
    pub(super) fn state_to_find<Q: QueryData<State = S, Fetch = T>>(&mut self, world: &World, remembers: bool) -> &S {
        self.update_state::<Q>(world);
        if Q::TRACKS_CHANGES {
            let ticks = if remembers { self.peek_ticks(world) } else { world.storage.run_ticks() };
            self.state.iter_mut().for_each(|state| Q::set_ticks(state, ticks));
        }
        self.state()
    }
}

/// Sorts the numbers of tables by the order of their first rows. Not generic, so that a program contains one sort for all queries.
fn sort_tables(world: &World, tables: &mut [u32]) {
    let stamp = |number: &u32| world.storage.tables[*number as usize].stamp;
    if !tables.is_sorted_by_key(stamp) {
        tables.sort_unstable_by_key(stamp);
    }
}
