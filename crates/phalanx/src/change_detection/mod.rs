//! Change detection: which values were added or changed since a query last ran.
//!
//! A component is tracked if it asks for it. Untracked components have neither memory nor code for it.
//!
//! | `#[component(…)]` | stored ticks | item of `&mut C` | filters |
//! |---|---|---|---|
//! | without `track` | none | that of the layout | none: naming one does not compile |
//! | `track = "column"` | one for each column of a table, and for each sparse storage | that of the layout | [`Changed`](crate::Changed), for whole columns |
//! | `track = "row"` | two for each value (8 bytes): when it was added and changed | a [`Mut`], which records a change when it is dereferenced mutably | [`Added`](crate::Added), [`Changed`](crate::Changed) |
//!
//! # Ticks and runs
//!
//! The clock of a world counts *ticks* ([`World::tick`](crate::World::tick)). A change records the current tick beside the value. A
//! *run* of a query matches values whose tick is newer than its previous run:
//!
//! - A [`QueryState`](crate::QueryState) remembers its last run (`iter`, `query` and the like; `get`, `len` and `is_empty` do not
//!   count as a run). In its first run everything is new. A run does not report its own writes in the next run of the same state;
//!   other states see them.
//! - [`World::query`](crate::World::query) and [`World::query_mut`](crate::World::query_mut) have no memory. To them everything is new
//!   that happened since [`World::settle_changes`](crate::World::settle_changes).
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
//! world.settle_changes();
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
//! Tracked components have no [`World::pool_mut`](crate::World::pool_mut). A query that filters by row ticks has no chunks. Of two
//! queries at once, neither may filter by what the other writes.
//!
//! A [clone](crate::World::try_clone) of a world has the same ticks and clock, and so has a world that was saved and loaded.
//!
//! # Wrapping
//!
//! A tick has 32 bits. Each run of a query that writes or filters by a tracked component takes two ticks. Ticks are compared by
//! age, so nothing happens when the number wraps. A value that was not changed in 2³¹ runs is then as old as a new one, and is
//! reported once more. A state that did not run during 2³¹ runs may miss changes.
#![allow(unsafe_code)]

mod column;
mod row;

pub use column::Watched;
#[doc(hidden)]
pub use column::WatchedPtr;
#[cfg(feature = "snapshot")]
pub(crate) use column::column_mark;
pub(crate) use column::mark_column;
#[doc(hidden)]
pub use row::TrackedPtr;
pub(crate) use row::{Marks, marks};
pub use row::{Mut, SliceMut, Tracked};

use crate::component::Component;
use crate::layout::Layout;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use phalanx_store::raw::Lane;

/// A time of the clock of a world: [`World::tick`](crate::World::tick).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Tick(pub(crate) u32);

impl Tick {
    /// Returns the number, which wraps around.
    pub fn number(self) -> u32 {
        self.0
    }

    /// Returns `true` if the tick is not after `other`.
    fn is_until(self, other: Tick) -> bool {
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
        let age = |tick: Tick| self.now.0.wrapping_sub(tick.0);
        self.since.is_none_or(|since| age(changed) < age(since))
    }
}

/// The clock of a world: its current tick, and the identity of its time.
///
/// A rollback sets the clock back. Then it gets another id, because the ticks that follow mean another time than before. The
/// clock remembers its last ids, so that states and reservations from before the rollback stay valid if they were not undone.
#[derive(Debug)]
pub(crate) struct Clock {
    tick: AtomicU32,
    /// The previous run of queries without a state.
    settled: Option<Tick>,
    /// Differs between worlds, and changes when the clock is set back. It stays when the world gets another number.
    pub(crate) id: u64,
    /// The number of the next image of the world under this id, from one on.
    images: AtomicU64,
    /// The first image number whose time is part of the current state.
    first: u64,
    past: ClockHistory,
}

/// The ids that a clock had before it was set back, the latest first. Ids that are too old are not kept.
///
/// Each has the last tick that was not undone, and the first and last image number whose time is part of the current state.
#[derive(Clone, Copy, Debug, Default)]
struct ClockHistory([Option<(u64, Tick, [u64; 2])>; 8]);

/// A time in the history of a world: between two images, under one id of its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    id: u64,
    images: u64,
}

/// The state of a clock in an image of a world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Time {
    pub(crate) tick: Tick,
    pub(crate) settled: Option<Tick>,
    /// Runs up to this tick have seen all changes up to it.
    known: Tick,
    id: u64,
    /// The number of the image.
    images: u64,
    /// The first image number whose time is part of the state in the image.
    first: u64,
    past: ClockHistory,
}

impl Clock {
    /// Creates a clock at tick 1.
    pub(crate) const fn new() -> Clock {
        let (tick, images) = (AtomicU32::new(1), AtomicU64::new(1));
        Clock { tick, settled: None, id: 0, images, first: 1, past: ClockHistory([None; 8]) }
    }

    /// Returns a clock with the same time, for another world.
    pub(crate) fn copy(&self, id: u64) -> Clock {
        let (tick, images) = (AtomicU32::new(self.now().0), AtomicU64::new(1));
        Clock { tick, settled: self.settled, id, images, first: 1, past: ClockHistory::default() }
    }

    /// Returns a clock for a state that replaces the current one. No earlier time is part of that state.
    pub(crate) fn carry(&self) -> Clock {
        let (tick, first) = (AtomicU32::new(self.now().0), self.images.load(Ordering::Relaxed) + 1);
        let past = ClockHistory(self.past.0.map(|was| was.map(|(id, until, _)| (id, until, [1, 0]))));
        Clock { tick, settled: self.settled, id: self.id, images: AtomicU64::new(first), first, past }
    }

    /// Returns the current tick.
    #[inline(always)]
    pub(crate) fn now(&self) -> Tick {
        Tick(self.tick.load(Ordering::Relaxed))
    }

    /// Returns a tick that no other code gets, and advances the clock beyond it.
    pub(crate) fn take(&self) -> Tick {
        Tick(self.tick.fetch_add(2, Ordering::Relaxed).wrapping_add(1))
    }

    /// Returns the ticks of code without a state, which writes with the current tick.
    pub(crate) fn run_ticks(&self) -> RunTicks {
        RunTicks { now: self.now(), since: self.settled, own: false }
    }

    /// Returns the ticks of a run without a state, which gets a tick of its own.
    pub(crate) fn start_run(&self) -> RunTicks {
        RunTicks { now: self.take(), since: self.settled, own: true }
    }

    /// Sets the previous run of queries without a state to now.
    pub(crate) fn settle(&mut self) {
        self.settled = Some(self.take());
    }

    /// Sets the current tick.
    pub(crate) fn set(&mut self, tick: Tick) {
        *self.tick.get_mut() = tick.0;
    }

    /// Returns the state of the clock for an image, and counts the image.
    pub(crate) fn time(&self) -> Time {
        let (images, first) = (self.images.fetch_add(1, Ordering::Relaxed), self.first);
        Time { tick: self.now(), settled: self.settled, known: self.now(), id: self.id, images, first, past: self.past }
    }

    /// Returns the current time.
    ///
    /// Relaxed is enough. If nothing orders the call and an image on another thread, the time may be before or after the image.
    pub(crate) fn moment(&self) -> Moment {
        Moment { id: self.id, images: self.images.load(Ordering::Relaxed) }
    }

    /// Returns `true` if changes at a time are part of the current state, that is, were not undone by a rollback.
    ///
    /// Times before the last eight rollbacks count as undone.
    pub(crate) fn includes(&self, moment: Moment) -> bool {
        let is_past = |(was, _, [first, last]): &(u64, Tick, [u64; 2])| {
            *was == moment.id && (*first..=*last).contains(&moment.images)
        };
        let is_present = moment.id == self.id && moment.images >= self.first;
        is_present || self.past.0.iter().flatten().any(is_past)
    }

    /// Returns numbers that change whenever a time stops being part of the current state.
    pub(crate) fn state(&self) -> [u64; 2] {
        [self.id, self.first]
    }

    /// Returns a clock that continues from an image, with another id.
    pub(crate) fn resumed(time: Time, id: u64) -> Clock {
        let mut past = time.past;
        past.0.rotate_right(1);
        past.0[0] = Some((time.id, time.known, [time.first, time.images]));
        for (_, until, _) in past.0.iter_mut().flatten().filter(|(_, until, _)| !until.is_until(time.known)) {
            *until = time.known;
        }
        let (tick, images) = (AtomicU32::new(time.tick.0), AtomicU64::new(1));
        Clock { tick, settled: time.settled, id, images, first: 1, past }
    }

    /// Returns the tick of a previous run, if the clock has its id, or had it and the run was not undone.
    pub(crate) fn since(&self, (id, tick): (u64, Tick)) -> Option<Tick> {
        let is_past = |(was, until, _): &(u64, Tick, [u64; 2])| *was == id && tick.is_until(*until);
        (id == self.id || self.past.0.iter().flatten().any(is_past)).then_some(tick)
    }

    /// Returns the previous run of queries without a state.
    #[cfg(feature = "snapshot")]
    pub(crate) fn settled(&self) -> Option<Tick> {
        self.settled
    }

    /// Sets the clock to a saved time.
    #[cfg(feature = "snapshot")]
    pub(crate) fn restore(&mut self, now: Tick, settled: Option<Tick>) {
        self.set(now);
        self.settled = settled;
    }
}

/// A layout with change ticks: [`Tracked`] or [`Watched`].
///
/// # Safety
///
/// `changed` reads only change ticks.
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
    /// The lanes are the component's, and the row is in use.
    #[doc(hidden)]
    unsafe fn changed(lanes: *const Lane, row: usize, ticks: RunTicks) -> Tick;
}

/// A layout with a change tick for each column, but none for its values: [`Watched`].
#[diagnostic::on_unimplemented(
    message = "changes of `{C}` are tracked row by row, so a filter by them has no chunks",
    label = "changes of `{C}` are tracked row by row",
    note = "use `iter` or `for_each`, or track the component with `#[component(track = \"column\")]`"
)]
pub trait TracksColumns<C>: TracksChanges<C> {}

impl<C, L> TracksColumns<C> for Watched<L> where Watched<L>: TracksChanges<C> {}

/// A layout that records when values were added: [`Tracked`].
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
    /// The lanes are the component's, and the row is in use.
    #[doc(hidden)]
    unsafe fn added(lanes: *const Lane, row: usize, ticks: RunTicks) -> Tick;
}
