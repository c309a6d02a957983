//! Change tracking: which values came or may have changed since somebody last looked.
//!
//! A component is tracked if it says so, and pays for it by itself; the others have neither memory nor code for it.
//!
//! | `#[component(…)]` | what is kept | `&mut C` yields | filters |
//! |---|---|---|---|
//! | nothing | nothing | what the layout yields | none: naming one does not compile |
//! | `track = "column"` | one tick for each column: of a table, of a pool, of a linear store | what the layout yields | [`Changed`](crate::Changed), for whole columns |
//! | `track = "row"` | 8 bytes for each value: when it was added, and when it was changed | a [`Mut`], which notes a change when it is written through | [`Added`](crate::Added), [`Changed`](crate::Changed) |
//!
//! # Since when
//!
//! Time is counted in *ticks*. What changes is marked with the tick of the world at that moment, and whoever looks asks for
//! marks that are newer than his last look:
//!
//! - A held [`QueryState`](crate::QueryState) remembers when it ran last (`iter`, `query` and the like; `get`, `len` and
//!   `is_empty` look without counting as a look). In its first run everything is new. What it writes itself, through the items
//!   of a run, is news to others and not to its own next run.
//! - [`World::query`](crate::World::query) and [`World::query_mut`](crate::World::query_mut) remember nothing. For them everything is
//!   new since [`World::clear_trackers`](crate::World::clear_trackers), which says: all of this has been seen.
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
//! assert!(hurt.iter(&world).eq([ann, bob])); // never looked before
//! assert!(hurt.is_empty(&world));
//!
//! world.get_mut::<Health>(bob).unwrap().0 -= 1;
//! assert!(hurt.iter(&world).eq([bob]));
//! assert!(hurt.is_empty(&world));
//!
//! // Without a state: since the world was settled.
//! assert_eq!(world.query_filtered::<&Health, Added<Health>>().len(), 2);
//! world.clear_trackers();
//! assert_eq!(world.query_filtered::<&Health, Added<Health>>().len(), 0);
//! ```
//!
//! # What counts
//!
//! With rows: a value that comes is added and changed; one that takes the place of another of the same entity is changed. One
//! that goes along when its entity moves to another table keeps its marks. Writing through a [`Mut`] is a change, whatever is
//! written; looking through it is not. In another world, values are new.
//!
//! With columns: a value that comes, goes or is replaced, `get_mut` and the like, and every run of a query that asks for `&mut
//! C`, whether it writes or not. Then all rows of the table, or of the store, count as changed.
//!
//! What is not there for tracked components: [`World::pool_mut`](crate::World::pool_mut), and chunks of a query that filters by
//! marks of rows. A filter may stand beside other terms; but of two queries at once, none may filter by what the other writes.
//!
//! A [clone](crate::World::try_clone) of a world has its marks and its clock, and so has a world that was saved and loaded.
//!
//! # For ever
//!
//! A tick has 32 bits, and each run of a query that writes or filters by a tracked component takes two. Marks are compared by their age, so nothing
//! happens when the number wraps. A value that was not changed in 2³¹ runs is as old as a fresh one then, and is reported once
//! more; a state that slept through 2³¹ runs may miss what happened meanwhile.
#![allow(unsafe_code)]

mod column;
mod row;

#[cfg(feature = "snapshot")]
pub(crate) use column::column_mark;
pub(crate) use column::mark_column;
pub use column::{Watched, WatchedPtr};
pub(crate) use row::{Marks, marks};
pub use row::{Mut, SliceMut, Tracked, TrackedPtr};

use crate::component::Component;
use crate::layout::Layout;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use phalanx_store::raw::Lane;

/// A moment in the life of a world: [`World::change_tick`](crate::World::change_tick).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Tick(pub(crate) u32);

impl Tick {
    /// The number, which wraps after the last.
    pub fn number(self) -> u32 {
        self.0
    }

    /// Whether it is not after another.
    fn is_until(self, other: Tick) -> bool {
        other.0.wrapping_sub(self.0) < 1 << 31
    }
}

/// How changes of a component are tracked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Track {
    /// Not at all.
    #[default]
    None,
    /// A tick for each column.
    Column,
    /// Two ticks for each value.
    Row,
}

/// A look at a world: when it is, and when the last one was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunTicks {
    pub(crate) now: Tick,
    /// None before the first: then everything is new.
    pub(crate) since: Option<Tick>,
    /// Whether nobody else has this tick: what is marked with it was written by the one who looks.
    pub(crate) own: bool,
}

impl RunTicks {
    /// For those who only read.
    pub(crate) const READ: RunTicks = RunTicks { now: Tick(0), since: None, own: false };

    /// Of somebody who writes a component and does not remember when he looked last. Where it is not tracked, the clock is not
    /// looked at.
    ///
    /// # Safety
    ///
    /// The clock is there.
    #[inline(always)]
    pub(crate) unsafe fn of<C: Component>(clock: *const Clock) -> RunTicks {
        match C::Layout::TRACK {
            Track::None => RunTicks::READ,
            // SAFETY: the caller's promise.
            Track::Column | Track::Row => unsafe { (*clock).run_ticks() },
        }
    }

    /// Whether a mark is newer than the last look.
    #[inline(always)]
    pub(crate) fn is_new(self, mark: Tick) -> bool {
        let age = |tick: Tick| self.now.0.wrapping_sub(tick.0);
        self.since.is_none_or(|since| age(mark) < age(since))
    }
}

/// The time of a world.
#[derive(Debug)]
pub(crate) struct Clock {
    tick: AtomicU32,
    /// What counts as seen by those who do not remember.
    settled: Option<Tick>,
    /// Tells it from the clocks of other worlds, and from what it was before it was set back. It stays when the world gets
    /// another number.
    pub(crate) id: u64,
    /// Counts the images that were made of the world under this number, from one on.
    images: AtomicU64,
    /// The first image whose moments are part of the present state.
    first: u64,
    past: Past,
}

/// Numbers that a clock had before it was set back, each with the last tick under it that was not undone: who looked until
/// then remembers what still holds. The last is the first; those that are too old are forgotten. The last numbers are
/// those of the first and the last image whose moments are part of the present state.
#[derive(Clone, Copy, Debug, Default)]
struct Past([Option<(u64, Tick, [u64; 2])>; 8]);

/// A moment in the time of a world: between two images, under one number of its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    id: u64,
    images: u64,
}

/// What a clock shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Time {
    pub(crate) tick: Tick,
    pub(crate) settled: Option<Tick>,
    /// Who looked until then knows what is marked until then.
    known: Tick,
    id: u64,
    /// The number of the image, and of the first whose moments are part of the state that it shows.
    images: u64,
    first: u64,
    past: Past,
}

impl Clock {
    pub(crate) const fn new() -> Clock {
        let (tick, images) = (AtomicU32::new(1), AtomicU64::new(1));
        Clock { tick, settled: None, id: 0, images, first: 1, past: Past([None; 8]) }
    }

    /// The same time on a clock of another world.
    pub(crate) fn copy(&self, id: u64) -> Clock {
        let (tick, images) = (AtomicU32::new(self.now().0), AtomicU64::new(1));
        Clock { tick, settled: self.settled, id, images, first: 1, past: Past::default() }
    }

    /// Returns the same clock for a state that follows the present one, of which no moment is part of it.
    pub(crate) fn carry(&self) -> Clock {
        let (tick, first) = (AtomicU32::new(self.now().0), self.images.load(Ordering::Relaxed) + 1);
        let past = Past(self.past.0.map(|was| was.map(|(id, until, _)| (id, until, [1, 0]))));
        Clock { tick, settled: self.settled, id: self.id, images: AtomicU64::new(first), first, past }
    }

    #[inline(always)]
    pub(crate) fn now(&self) -> Tick {
        Tick(self.tick.load(Ordering::Relaxed))
    }

    /// The next tick, which nobody else gets: from now on it is the one after it.
    pub(crate) fn take(&self) -> Tick {
        Tick(self.tick.fetch_add(2, Ordering::Relaxed).wrapping_add(1))
    }

    /// The look of those who do not remember.
    pub(crate) fn run_ticks(&self) -> RunTicks {
        RunTicks { now: self.now(), since: self.settled, own: false }
    }

    /// As [`look`](Clock::look), for a run that writes.
    pub(crate) fn look_to_run(&self) -> RunTicks {
        RunTicks { now: self.take(), since: self.settled, own: true }
    }

    pub(crate) fn settle(&mut self) {
        self.settled = Some(self.take());
    }

    pub(crate) fn set(&mut self, tick: Tick) {
        *self.tick.get_mut() = tick.0;
    }

    /// The time of an image that is made now.
    pub(crate) fn time(&self) -> Time {
        let (images, first) = (self.images.fetch_add(1, Ordering::Relaxed), self.first);
        Time { tick: self.now(), settled: self.settled, known: self.now(), id: self.id, images, first, past: self.past }
    }

    /// Returns the present moment.
    ///
    /// Relaxed is enough: where nothing orders it and an image on another thread, it may be before or after that image.
    pub(crate) fn moment(&self) -> Moment {
        Moment { id: self.id, images: self.images.load(Ordering::Relaxed) }
    }

    /// Returns `true` if what was done at a moment is part of the present state, and was not undone by setting the clock
    /// back. Moments from before more than eight such times count as undone.
    pub(crate) fn includes(&self, moment: Moment) -> bool {
        let is_past = |(was, _, [first, last]): &(u64, Tick, [u64; 2])| {
            *was == moment.id && (*first..=*last).contains(&moment.images)
        };
        let is_present = moment.id == self.id && moment.images >= self.first;
        is_present || self.past.0.iter().flatten().any(is_past)
    }

    /// Returns numbers that change whenever moments cease to be part of the present state.
    pub(crate) fn state(&self) -> [u64; 2] {
        [self.id, self.first]
    }

    /// A clock that shows a time, under a number of its own: what follows is another time than what followed then.
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

    /// The tick of a look under a number that this clock has, or had then.
    pub(crate) fn since(&self, (id, tick): (u64, Tick)) -> Option<Tick> {
        let is_past = |(was, until, _): &(u64, Tick, [u64; 2])| *was == id && tick.is_until(*until);
        (id == self.id || self.past.0.iter().flatten().any(is_past)).then_some(tick)
    }

    /// What counts as seen by those who do not remember.
    #[cfg(feature = "snapshot")]
    pub(crate) fn settled(&self) -> Option<Tick> {
        self.settled
    }

    /// Goes on from a time that was saved.
    #[cfg(feature = "snapshot")]
    pub(crate) fn restore(&mut self, now: Tick, settled: Option<Tick>) {
        self.set(now);
        self.settled = settled;
    }
}

/// A layout that knows when values were changed.
///
/// # Safety
///
/// [`changed`](TracksChanges::changed) reads nothing but marks.
#[diagnostic::on_unimplemented(
    message = "changes of `{C}` are not tracked",
    label = "needs a component whose changes are tracked",
    note = "add `#[component(track = \"row\")]` or `#[component(track = \"column\")]` to the component"
)]
pub unsafe trait TracksChanges<C>: Layout<C> {
    /// When the value at a row was changed, to one who looks so.
    ///
    /// # Safety
    ///
    /// The lanes are the component's, and the row is in use.
    unsafe fn changed(lanes: *const Lane, row: usize, look: RunTicks) -> Tick;
}

/// A layout that knows when columns were changed, but not which of their values were: [`Watched`].
#[diagnostic::on_unimplemented(
    message = "changes of `{C}` are tracked row by row, so a filter by them has no chunks",
    label = "changes of `{C}` are tracked row by row",
    note = "use `iter` or `for_each`, or track the component with `#[component(track = \"column\")]`"
)]
pub trait TracksColumns<C>: TracksChanges<C> {}

impl<C, L> TracksColumns<C> for Watched<L> where Watched<L>: TracksChanges<C> {}

/// A layout that knows when values were added.
///
/// # Safety
///
/// [`added`](TracksAdditions::added) reads nothing but marks.
#[diagnostic::on_unimplemented(
    message = "it is not tracked when values of `{C}` are added",
    label = "needs a component that is tracked row by row",
    note = "add `#[component(track = \"row\")]` to the component: with `track = \"column\"` only the last change of a whole column \
            is known, which does not tell what was added"
)]
pub unsafe trait TracksAdditions<C>: TracksChanges<C> {
    /// When the value at a row was added, to one who looks so.
    ///
    /// # Safety
    ///
    /// The lanes are the component's, and the row is in use.
    unsafe fn added(lanes: *const Lane, row: usize, look: RunTicks) -> Tick;
}
