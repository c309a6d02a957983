//! Change detection: which values were added or changed since a query last ran.
//!
//! A component is tracked if it asks for it. Untracked components have neither memory nor code for it.
//!
//! | `#[component(…)]` | stored ticks | item of `&mut C` | filters and terms |
//! |---|---|---|---|
//! | without `track` | none | that of the layout | none: naming one does not compile |
//! | `track = "column"` | one for each column of a table, and for each sparse storage | that of the layout | [`Changed`](crate::Changed) and [`Ref`], for whole columns |
//! | `track = "row"` | two for each value (8 bytes): when it was added and changed | a [`Mut`], which records a change when it is dereferenced mutably | [`Added`](crate::Added), [`Changed`](crate::Changed), [`Ref`] |
//!
//! The filters pass what is new. The term [`Ref`] yields every value and tells whether it is new. Resources are always
//! tracked: see [`Res`](crate::system::Res).
//!
//! # Ticks and runs
//!
//! The clock of a world counts *ticks* ([`World::change_tick`](crate::World::change_tick)). A change records the current tick beside the value. A
//! *run* of a query matches values whose tick is newer than its previous run:
//!
//! - A [`QueryState`](crate::QueryState) remembers its last run (`iter`, `query` and the like; `get`, `len` and `is_empty` do not
//!   count as a run). In its first run everything is new. A run does not report its own writes in the next run of the same state;
//!   other states see them.
//! - [`World::query`](crate::World::query) and [`World::query_mut`](crate::World::query_mut) have no memory. To them everything is new
//!   that happened since [`World::clear_trackers`](crate::World::clear_trackers).
//!
//! ```
//! use phalanx::{Added, Changed, Component, Entity, QueryState, World};
//!
//! #[derive(Component)]
//! #[component(track = "row")]
//! struct Health(i32);
//!
//! let mut world = World::new();
//! let [ann, bob] = [world.spawn(Health(10)), world.spawn(Health(10))];
//!
//! let mut hurt = QueryState::<Entity, Changed<Health>>::new();
//! assert!(hurt.iter(&world).eq([ann, bob])); // the first run
//! assert!(hurt.is_empty(&world));
//!
//! world.get_mut::<Health>(bob).unwrap().0 -= 1;
//! assert!(hurt.iter(&world).eq([bob]));
//! assert!(hurt.is_empty(&world));
//!
//! // Without a state:
//! assert_eq!(world.query_filtered::<&Health, Added<Health>>().len(), 2);
//! world.clear_trackers();
//! assert_eq!(world.query_filtered::<&Health, Added<Health>>().len(), 0);
//! ```
//!
//! # What counts as a change
//!
//! With row ticks:
//!
//! - A value that is inserted is added and changed. A value that replaces another one of the same entity is only changed.
//! - A value keeps its ticks when its entity moves to another table. In another world it is new.
//! - Dereferencing a [`Mut`] mutably is a change, whatever is written. Reading through it is not.
//!
//! With column ticks, each of these changes the column, and so all its rows:
//!
//! - inserting, removing or replacing a value,
//! - `get_mut` and the like,
//! - each run of a query with `&mut C`, whether it writes or not.
//!
//! [`Mut::set_if_neq`] compares first. [`Mut::map_unchanged`] returns a part of the value without recording a change.
//!
//! Tracked components have no [`World::pool_mut`](crate::World::pool_mut). A query that filters by row ticks has no chunks. Of two
//! queries at once, neither may filter by what the other writes.
//!
//! A [clone](crate::World::try_clone) of a world has the same ticks and clock, and so has a world that was saved and loaded.
//!
//! # Tracking is chosen at compile time
//!
//! Tracking cannot be enabled at run time, for three reasons:
//!
//! - It decides what `&mut C` yields: `&mut C`, or a [`Mut`] that records. If each could be either, every write of every
//!   untracked component would test which one it is.
//! - It decides how many columns a component has. To enable it, all tables with the component would have to be built again, and
//!   snapshots, deltas and checkpoints of both forms would have to be told apart.
//! - A filter by changes that are not tracked would match nothing. As it is, it does not compile.
//!
//! What can be chosen at run time: connect a [listener or collector](crate::signal), which costs nothing until then and sees
//! insertions, replacements, removals and [`patch`](crate::World::patch). Or declare two components of the same data, of which
//! one is tracked, and insert the one or the other.
//!
//! # Wrapping
//!
//! A tick has 32 bits. Each run of a query that writes or filters by a tracked component takes two ticks. Ticks are compared by
//! age, so nothing happens when the number wraps. A value that was not changed in 2³¹ runs is then as old as a new one, and is
//! reported once more. A state that did not run during 2³¹ runs may miss changes.
#![allow(unsafe_code)]

mod clock;
mod column_tracked;
mod handles;
mod row_tracked;
mod run_history;
mod ticks_ref;

pub(crate) use clock::{Clock, Moment, Time};
pub use column_tracked::ColumnTracked;
#[doc(hidden)]
pub use column_tracked::ColumnTrackedPtr;
pub(crate) use column_tracked::{column_tick, set_column_tick};
pub use handles::{Mut, Ref};
pub(crate) use handles::{reads_ticks, sets_ticks};
#[doc(hidden)]
pub use row_tracked::RowTrackedPtr;
pub use row_tracked::{RowTracked, SliceMut};
pub(crate) use run_history::RunHistory;
#[doc(hidden)]
pub use ticks_ref::ComponentTicks;
pub(crate) use ticks_ref::{
    AtomicTicks, TicksMut, TicksRef, read_ticks, set_all_ticks, tick_lanes, ticks_at, ticks_of, write_ticks,
};

use crate::component::Component;
use crate::layout::Layout;
use phalanx_store::raw::Lane;

/// A time of the clock of a world: [`World::change_tick`](crate::World::change_tick).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Tick(pub(crate) u32);

impl Tick {
    /// Returns the number, which wraps around.
    pub fn number(self) -> u32 {
        self.0
    }

    /// Returns how long ago an earlier tick was.
    #[inline(always)]
    pub(crate) fn age_of(self, earlier: Tick) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }

    /// Returns `true` if the tick is not after `other`.
    pub(crate) fn is_until(self, other: Tick) -> bool {
        other.0.wrapping_sub(self.0) < 1 << 31
    }
}

/// How changes of a component are tracked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Track {
    /// Changes are not tracked.
    #[default]
    None,
    /// Each column has a change tick.
    Column,
    /// Each value has two ticks, added and changed.
    Row,
}

impl Track {
    /// Returns the number of lanes for ticks, which come after those of values.
    pub(crate) const fn lanes(self) -> usize {
        match self {
            Track::None => 0,
            Track::Column => 1,
            Track::Row => 2,
        }
    }
}

/// The ticks of a run of a query: its own, and that of the previous run.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunTicks {
    /// The tick that writes of this run record.
    pub(crate) now: Tick,
    /// The tick of the previous run. `None` in the first run, in which everything is new.
    pub(crate) since: Option<Tick>,
    /// Whether no other run has the tick `now`. Then a value with this tick was written by this run.
    pub(crate) own: bool,
}

impl RunTicks {
    /// The ticks of code that does not write and does not compare ticks.
    pub(crate) const READ: RunTicks = RunTicks { now: Tick(0), since: None, own: false };

    /// Returns the ticks of code that writes `C` and has no previous run. The clock is read only if `C` is tracked.
    ///
    /// # Safety
    ///
    /// `clock` points to a clock, which is not written during the call.
    #[inline(always)]
    pub(crate) unsafe fn of<C: Component>(clock: *const Clock) -> RunTicks {
        match C::Layout::TRACK {
            Track::None => RunTicks::READ,
            // SAFETY: there is a clock to read, by the caller's contract.
            Track::Column | Track::Row => unsafe { (*clock).run_ticks() },
        }
    }

    /// Returns `true` if a tick is newer than the previous run.
    #[inline(always)]
    pub(crate) fn is_new(self, changed: Tick) -> bool {
        self.since.is_none_or(|since| self.now.age_of(changed) < self.now.age_of(since))
    }

    /// Returns which of at most 64 ticks are newer than the previous run: a bit for each.
    // Not generic, so that it is compiled once.
    pub(crate) fn which_are_new(self, ticks: &[Tick]) -> u64 {
        const GROUP: usize = 16;
        let Some(since) = self.since else { return u64::MAX };
        // The age is less than that of the previous run. The numbers are moved so that they compare as signed ones, for which
        // there are instructions on vectors everywhere.
        let first = since.0.wrapping_add(1 + (1 << 31));
        let limit = (self.now.age_of(since) ^ 1 << 31) as i32;
        let is_new = |tick: &Tick| (tick.0.wrapping_sub(first) as i32) < limit;
        let any = |ticks: &[Tick]| ticks.iter().fold(false, |any, tick| any | is_new(tick));
        // Most blocks have none. The length is a constant, so that there is no loop for a rest.
        if <&[Tick; 64]>::try_from(ticks).is_ok_and(|ticks| !any(ticks)) {
            return 0;
        }
        let mut bits = 0;
        for (group, at) in ticks.chunks(GROUP).zip((0..).step_by(GROUP)) {
            if <&[Tick; GROUP]>::try_from(group).is_ok_and(|group| !any(group)) {
                continue;
            }
            bits |= group.iter().rev().fold(0, |bits, tick| bits << 1 | u64::from(is_new(tick))) << at;
        }
        bits
    }
}

/// A layout with change ticks: [`RowTracked`] or [`ColumnTracked`].
///
/// # Safety
///
/// `changed` and `ticks` read only change ticks.
#[diagnostic::on_unimplemented(
    message = "changes of `{C}` are not tracked",
    label = "needs a component whose changes are tracked",
    note = "add `#[component(track = \"row\")]` or `#[component(track = \"column\")]` to the component"
)]
pub unsafe trait TracksChanges<C>: Layout<C> {
    /// Returns the tick at which the value at a row was last changed by another run.
    ///
    /// # Safety
    ///
    /// The lanes are the component's, and the row is in use. No other thread sets its ticks during the call.
    #[doc(hidden)]
    unsafe fn changed(lanes: *const Lane, row: usize, ticks: RunTicks) -> Tick;

    /// Returns the ticks of the value at a row, and those of the run. Where only changes of whole columns are known, `added` has
    /// no meaning.
    ///
    /// # Safety
    ///
    /// `ptr` is that of the component's lanes, and the row is in use. No other thread sets its ticks during the call.
    #[doc(hidden)]
    unsafe fn ticks(ptr: Self::Ptr, row: usize) -> (ComponentTicks, RunTicks);
}

/// A layout with a change tick for each column, but none for its values: [`ColumnTracked`].
#[diagnostic::on_unimplemented(
    message = "changes of `{C}` are tracked row by row, so a filter by them has no chunks",
    label = "changes of `{C}` are tracked row by row",
    note = "use `iter` or `for_each`, or track the component with `#[component(track = \"column\")]`"
)]
pub trait TracksColumns<C>: TracksChanges<C> {}

impl<C, L> TracksColumns<C> for ColumnTracked<L> where ColumnTracked<L>: TracksChanges<C> {}

/// A layout that records when values were added: [`RowTracked`].
///
/// # Safety
///
/// `added` reads only change ticks.
#[diagnostic::on_unimplemented(
    message = "it is not tracked when values of `{C}` are added",
    label = "needs a component that is tracked row by row",
    note = "add `#[component(track = \"row\")]` to the component: with `track = \"column\"` only the last change of a whole column \
            is known, which does not tell what was added"
)]
pub unsafe trait TracksAdditions<C>: TracksChanges<C> {
    /// Returns the tick at which the value at a row was added.
    ///
    /// # Safety
    ///
    /// The lanes are the component's, and the row is in use. No other thread sets its ticks during the call.
    #[doc(hidden)]
    unsafe fn added(lanes: *const Lane, row: usize, ticks: RunTicks) -> Tick;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_ticks_are_tested_like_single_ticks_also_where_the_clock_wraps() {
        let edges = [0, 1, 2, 5, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, u32::MAX - 1, u32::MAX];
        for now in edges.map(Tick) {
            for since in edges.map(|since| Some(Tick(since))).into_iter().chain([None]) {
                let run = RunTicks { now, since, own: true };
                let around = [now.0, since.map_or(0, |since| since.0)];
                let near = around.iter().flat_map(|tick| (0..5).map(|n| tick.wrapping_add(n).wrapping_sub(2)));
                let ticks: Vec<Tick> = near.chain(edges).cycle().take(64 + 19).map(Tick).collect();
                for (len, first) in (1..=64).zip((0..19).cycle()) {
                    let block = &ticks[first..first + len];
                    let bits = run.which_are_new(block);
                    for (at, tick) in block.iter().enumerate() {
                        assert_eq!(bits >> at & 1 == 1, run.is_new(*tick), "{tick:?} in {run:?}");
                    }
                }
            }
        }
        // Blocks and groups of which none, one or all are new.
        let run = RunTicks { now: Tick(1), since: Some(Tick(u32::MAX - 1)), own: true };
        for len in 1..=64 {
            for new in 0..len {
                let ticks: Vec<Tick> = (0..len).map(|at| Tick(if at == new { u32::MAX } else { 7 })).collect();
                assert_eq!(run.which_are_new(&ticks) & u64::MAX >> (64 - len), 1 << new);
            }
            assert_eq!(run.which_are_new(&vec![Tick(7); len]) & u64::MAX >> (64 - len), 0);
            assert_eq!(run.which_are_new(&vec![Tick(0); len]) & u64::MAX >> (64 - len), u64::MAX >> (64 - len));
        }
    }
}
