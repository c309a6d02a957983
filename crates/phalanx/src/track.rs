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
//! - A held [`QueryState`](crate::QueryState) remembers when it ran last (`iter`, `of`, `chunks` and the like; `get`, `len` and
//!   `is_empty` look without counting as a look). In its first run everything is new. What it writes itself, through the items
//!   of a run, is news to others and not to its own next run.
//! - [`World::query`](crate::World::query) and [`World::query_mut`](crate::World::query_mut) remember nothing. For them everything is
//!   new since [`World::settle_changes`](crate::World::settle_changes), which says: all of this has been seen.
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
//! assert_eq!(world.query::<&Health>().filter::<Added<Health>>().len(), 2);
//! world.settle_changes();
//! assert_eq!(world.query::<&Health>().filter::<Added<Health>>().len(), 0);
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
//! # For ever
//!
//! A tick has 32 bits, and each run of a query that writes or filters by a tracked component takes two. Marks are compared by their age, so nothing
//! happens when the number wraps. A value that was not changed in 2³¹ runs is as old as a fresh one then, and is reported once
//! more; a state that slept through 2³¹ runs may miss what happened meanwhile.
#![allow(unsafe_code)]

use crate::component::Component;
use crate::layout::{Kind, Layout, Linear, Pool, Table};
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};
use phalanx_store::raw::Lane;

/// A moment in the life of a world: [`World::tick`](crate::World::tick).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tick(pub(crate) u32);

impl Tick {
    /// The number, which wraps after the last.
    pub fn number(self) -> u32 {
        self.0
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
pub struct Look {
    pub(crate) now: Tick,
    /// None before the first: then everything is new.
    pub(crate) since: Option<Tick>,
    /// Whether nobody else has this tick: what is marked with it was written by the one who looks.
    pub(crate) own: bool,
}

impl Look {
    /// For those who only read.
    pub(crate) const READ: Look = Look { now: Tick(0), since: None, own: false };

    /// Of somebody who writes a component and does not remember when he looked last. Where it is not tracked, the clock is not
    /// looked at.
    ///
    /// # Safety
    ///
    /// The clock is there.
    #[inline(always)]
    pub(crate) unsafe fn of<C: Component>(clock: *const Clock) -> Look {
        match C::Layout::TRACK {
            Track::None => Look::READ,
            // SAFETY: the caller's promise.
            Track::Column | Track::Row => unsafe { (*clock).look() },
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
    /// Tells it from the clocks of other worlds. It stays when the world gets another number.
    pub(crate) id: u64,
}

impl Clock {
    pub(crate) const fn new() -> Clock {
        Clock { tick: AtomicU32::new(1), settled: None, id: 0 }
    }

    /// The same time on a clock of another world.
    pub(crate) fn copy(&self, id: u64) -> Clock {
        Clock { tick: AtomicU32::new(self.now().0), settled: self.settled, id }
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
    pub(crate) fn look(&self) -> Look {
        Look { now: self.now(), since: self.settled, own: false }
    }

    /// As [`look`](Clock::look), for a run that writes.
    pub(crate) fn look_to_run(&self) -> Look {
        Look { now: self.take(), since: self.settled, own: true }
    }

    pub(crate) fn settle(&mut self) {
        self.settled = Some(self.take());
    }

    pub(crate) fn set(&mut self, tick: Tick) {
        *self.tick.get_mut() = tick.0;
    }
}

/// When a value was added, and when it was changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    pub(crate) added: Tick,
    pub(crate) changed: Tick,
}

impl Marks {
    #[inline(always)]
    pub(crate) fn new(now: Tick) -> Marks {
        Marks { added: now, changed: now }
    }
}

/// The marks of a row, given the lane after the value's.
///
/// # Safety
///
/// It is a lane of marks, and the row within its capacity.
#[inline(always)]
pub(crate) unsafe fn marks(lane: &Lane, row: usize) -> *mut Marks {
    // SAFETY: the caller's promise.
    unsafe { lane.ptr().cast::<Marks>().as_ptr().add(row) }
}

/// Marks a column, given its last lane. The mark before it is kept beside it: a run that writes marks its columns first, and
/// then asks whether they were changed by others.
#[inline(always)]
pub(crate) fn mark_column(lane: &Lane, now: Tick) {
    let marked = lane.version();
    if marked as u32 != now.0 {
        lane.set_version(marked << 32 | u64::from(now.0));
    }
}

/// When a column was changed by others than the one who looks, given its last lane.
#[inline(always)]
pub(crate) fn column_mark(lane: &Lane, look: Look) -> Tick {
    let (last, before) = (lane.version() as u32, (lane.version() >> 32) as u32);
    // None before: it is not known, or there was none.
    Tick(if look.own && last == look.now.0 && before != 0 { before } else { last })
}

/// The layout of components with `track = "row"`: a lane of marks beside the values, which lie as `L` says.
#[derive(Debug)]
pub struct Tracked<L>(PhantomData<fn() -> L>);

/// The layout of components with `track = "column"`: values lie as `L` says, and each column has a tick.
///
/// The tick is kept as the version of a lane without memory, after those of `L`.
#[derive(Debug)]
pub struct Watched<L>(PhantomData<fn() -> L>);

impl<L> crate::layout::sealed::Sealed for Tracked<L> {}
impl<L> crate::layout::sealed::Sealed for Watched<L> {}

/// Where the values and the marks of a row-tracked component begin, and who looks.
#[derive(Clone, Copy, Debug)]
pub struct TrackedPtr<P> {
    values: P,
    marks: NonNull<Marks>,
    look: Look,
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
    unsafe fn changed(lanes: *const Lane, row: usize, look: Look) -> Tick;
}

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
    unsafe fn added(lanes: *const Lane, row: usize, look: Look) -> Tick;
}

/// A value for writing, of a component that is tracked row by row. Writing through it marks the value as changed.
///
/// ```
/// use phalanx::{Component, World};
///
/// #[derive(Component)]
/// #[component(track = "row")]
/// struct Health(i32);
///
/// let mut world = World::new();
/// let e = world.spawn(Health(10));
/// world.settle_changes();
/// let mut health = world.get_mut::<Health>(e).unwrap();
/// health.bypass().0 = 9; // nobody is told
/// assert!(health.0 == 9 && !health.is_changed());
/// health.0 = 8;
/// assert!(health.is_changed() && !health.is_added());
/// ```
pub struct Mut<'a, C> {
    value: &'a mut C,
    /// By a raw pointer: filters of the same query look at it.
    marks: NonNull<Marks>,
    look: Look,
}

// SAFETY: whoever has the value for writing has its marks too, and nobody else.
unsafe impl<C: Send> Send for Mut<'_, C> {}
// SAFETY: behind a shared reference they are only read.
unsafe impl<C: Sync> Sync for Mut<'_, C> {}

impl<C> Mut<'_, C> {
    fn marks(&self) -> Marks {
        // SAFETY: the marks are there while the value is, and nobody else writes them.
        unsafe { self.marks.read() }
    }

    /// Whether the value was added since the last look: of the query's state, or since the world was
    /// [settled](crate::World::settle_changes).
    pub fn is_added(&self) -> bool {
        self.look.is_new(self.marks().added)
    }

    /// Whether the value was changed since the last look, or through this.
    pub fn is_changed(&self) -> bool {
        self.look.is_new(self.marks().changed)
    }

    /// Marks the value as changed.
    #[inline(always)]
    pub fn set_changed(&mut self) {
        // SAFETY: as above.
        unsafe { (*self.marks.as_ptr()).changed = self.look.now };
    }

    /// The value, for writing that is not to be noticed.
    #[inline(always)]
    pub fn bypass(&mut self) -> &mut C {
        self.value
    }
}

impl<C> Deref for Mut<'_, C> {
    type Target = C;
    #[inline(always)]
    fn deref(&self) -> &C {
        self.value
    }
}

impl<C> DerefMut for Mut<'_, C> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut C {
        self.set_changed();
        self.value
    }
}

impl<C: fmt::Debug> fmt::Debug for Mut<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

/// The values of a table for writing, of a component that is tracked row by row.
///
/// A slice cannot know what is written through it: [`all`](SliceMut::all) marks all rows as changed, [`get_mut`](SliceMut::get_mut) and
/// [`iter_mut`](SliceMut::iter_mut) give [`Mut`]s, which mark what they write.
pub struct SliceMut<'a, C> {
    values: &'a mut [C],
    marks: NonNull<Marks>,
    look: Look,
}

// SAFETY: whoever has the values for writing has their marks too, and nobody else.
unsafe impl<C: Send> Send for SliceMut<'_, C> {}
// SAFETY: behind a shared reference they are only read.
unsafe impl<C: Sync> Sync for SliceMut<'_, C> {}

impl<'a, C> SliceMut<'a, C> {
    /// All values, for writing. All are marked as changed.
    pub fn all(&mut self) -> &mut [C] {
        for row in 0..self.values.len() {
            // SAFETY: there are as many marks as values, and they are nobody else's.
            unsafe { (*self.marks.add(row).as_ptr()).changed = self.look.now };
        }
        self.values
    }

    /// All values, for writing that is not to be noticed.
    pub fn bypass(&mut self) -> &mut [C] {
        self.values
    }

    /// A value, for writing.
    pub fn get_mut(&mut self, row: usize) -> Option<Mut<'_, C>> {
        let value = self.values.get_mut(row)?;
        // SAFETY: there are as many marks as values.
        Some(Mut { value, marks: unsafe { self.marks.add(row) }, look: self.look })
    }

    /// The values one by one, for writing.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = Mut<'_, C>> {
        let (marks, look) = (self.marks, self.look);
        self.values.iter_mut().enumerate().map(move |(row, value)| {
            // SAFETY: there are as many marks as values.
            let marks = unsafe { marks.add(row) };
            Mut { value, marks, look }
        })
    }
}

impl<C> Deref for SliceMut<'_, C> {
    type Target = [C];
    fn deref(&self) -> &[C] {
        self.values
    }
}

impl<C: fmt::Debug> fmt::Debug for SliceMut<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.values.fmt(f)
    }
}

mod single {
    /// A layout with one lane of whole values.
    pub trait OneLane {}
    impl OneLane for super::Table {}
    impl OneLane for super::Pool {}
    impl OneLane for super::Linear {}
}

// SAFETY: two lanes: the values', which is there even if they have no size, and their marks. The first is laid out as `L`
// says, whose functions look at nothing else.
unsafe impl<C: 'static, L: single::OneLane> Layout<C> for Tracked<L>
where
    L: for<'a> Layout<
            C,
            Ref<'a> = &'a C,
            Mut<'a> = &'a mut C,
            Slice<'a> = &'a [C],
            SliceMut<'a> = &'a mut [C],
            Ptr = NonNull<C>,
        >,
{
    type Ref<'a> = &'a C;
    type Mut<'a> = Mut<'a, C>;
    type Slice<'a> = &'a [C];
    type SliceMut<'a> = SliceMut<'a, C>;
    type Ptr = TrackedPtr<NonNull<C>>;
    const KIND: Kind = L::KIND;
    const LANES: usize = 2;
    const TRACK: Track = Track::Row;
    const DROP: Option<crate::component::DropFn> = L::DROP;
    const COPY: bool = false;
    const WHOLE: bool = false;

    fn lanes(each: &mut dyn FnMut(core::alloc::Layout)) {
        each(core::alloc::Layout::new::<C>());
        each(core::alloc::Layout::new::<Marks>());
    }

    #[inline(always)]
    unsafe fn ptr(lanes: *const Lane, look: Look) -> Self::Ptr {
        // SAFETY: the caller's promise: two lanes of this component.
        unsafe { TrackedPtr { values: (*lanes).ptr().cast(), marks: (*lanes.add(1)).ptr().cast(), look } }
    }

    #[inline(always)]
    unsafe fn get<'a>(ptr: Self::Ptr, row: usize) -> &'a C {
        // SAFETY: the caller's promise.
        unsafe { L::get(ptr.values, row) }
    }

    #[inline(always)]
    unsafe fn get_mut<'a>(ptr: Self::Ptr, row: usize) -> Mut<'a, C> {
        // SAFETY: the caller's promise.
        unsafe { Mut { value: L::get_mut(ptr.values, row), marks: ptr.marks.add(row), look: ptr.look } }
    }

    #[inline(always)]
    unsafe fn slice<'a>(ptr: Self::Ptr, len: usize) -> &'a [C] {
        // SAFETY: the caller's promise.
        unsafe { L::slice(ptr.values, len) }
    }

    #[inline(always)]
    unsafe fn slice_mut<'a>(ptr: Self::Ptr, len: usize) -> SliceMut<'a, C> {
        // SAFETY: the caller's promise.
        unsafe { SliceMut { values: L::slice_mut(ptr.values, len), marks: ptr.marks, look: ptr.look } }
    }

    #[inline(always)]
    unsafe fn write(ptr: Self::Ptr, row: usize, value: C) {
        // SAFETY: the caller's promise; there are as many marks as values.
        unsafe {
            L::write(ptr.values, row, value);
            ptr.marks.add(row).write(Marks::new(ptr.look.now));
        }
    }

    #[inline(always)]
    unsafe fn read(ptr: Self::Ptr, row: usize) -> C {
        // SAFETY: the caller's promise.
        unsafe { L::read(ptr.values, row) }
    }

    #[inline(always)]
    unsafe fn replace(ptr: Self::Ptr, row: usize, value: C) -> C {
        // SAFETY: the caller's promise.
        unsafe {
            (*ptr.marks.add(row).as_ptr()).changed = ptr.look.now;
            L::replace(ptr.values, row, value)
        }
    }
}

// SAFETY: reads the lane of marks.
unsafe impl<C: 'static, L> TracksChanges<C> for Tracked<L>
where
    Tracked<L>: Layout<C>,
{
    #[inline(always)]
    unsafe fn changed(lanes: *const Lane, row: usize, _: Look) -> Tick {
        // SAFETY: the caller's promise; the second lane is that of the marks. Raw, since items of the same query may be about
        // to write them.
        unsafe { (*marks(&*lanes.add(1), row)).changed }
    }
}

// SAFETY: reads the lane of marks.
unsafe impl<C: 'static, L> TracksAdditions<C> for Tracked<L>
where
    Tracked<L>: Layout<C>,
{
    #[inline(always)]
    unsafe fn added(lanes: *const Lane, row: usize, _: Look) -> Tick {
        // SAFETY: as above.
        unsafe { (*marks(&*lanes.add(1), row)).added }
    }
}

/// Where the values of a column-tracked component begin, with the lane that has its tick.
#[derive(Clone, Copy, Debug)]
pub struct WatchedPtr<P> {
    values: P,
    lane: *const Lane,
    now: Tick,
}

// SAFETY: the lanes of `L`, whose functions look at nothing else, and one more without memory.
unsafe impl<C: 'static, L: Layout<C>> Layout<C> for Watched<L> {
    type Ref<'a> = L::Ref<'a>;
    type Mut<'a> = L::Mut<'a>;
    type Slice<'a> = L::Slice<'a>;
    type SliceMut<'a> = L::SliceMut<'a>;
    type Ptr = WatchedPtr<L::Ptr>;
    const KIND: Kind = L::KIND;
    const LANES: usize = L::LANES + 1;
    const TRACK: Track = Track::Column;
    const DROP: Option<crate::component::DropFn> = L::DROP;
    const COPY: bool = L::COPY;
    const WHOLE: bool = false;

    fn lanes(each: &mut dyn FnMut(core::alloc::Layout)) {
        L::lanes(each);
        // Aligned as the values are: where they have no size, it is the first.
        each(core::alloc::Layout::new::<[C; 0]>());
    }

    #[inline(always)]
    unsafe fn ptr(lanes: *const Lane, look: Look) -> Self::Ptr {
        // SAFETY: the caller's promise: the lanes of `L`, and one more.
        unsafe { WatchedPtr { values: L::ptr(lanes, look), lane: lanes.add(L::LANES), now: look.now } }
    }

    #[inline(always)]
    unsafe fn get<'a>(ptr: Self::Ptr, row: usize) -> L::Ref<'a>
    where
        C: 'a,
    {
        // SAFETY: the caller's promise.
        unsafe { L::get(ptr.values, row) }
    }

    #[inline(always)]
    unsafe fn get_mut<'a>(ptr: Self::Ptr, row: usize) -> L::Mut<'a>
    where
        C: 'a,
    {
        // SAFETY: the caller's promise.
        unsafe { L::get_mut(ptr.values, row) }
    }

    #[inline(always)]
    unsafe fn slice<'a>(ptr: Self::Ptr, len: usize) -> L::Slice<'a>
    where
        C: 'a,
    {
        // SAFETY: the caller's promise.
        unsafe { L::slice(ptr.values, len) }
    }

    #[inline(always)]
    unsafe fn slice_mut<'a>(ptr: Self::Ptr, len: usize) -> L::SliceMut<'a>
    where
        C: 'a,
    {
        // SAFETY: the caller's promise.
        unsafe { L::slice_mut(ptr.values, len) }
    }

    #[inline(always)]
    unsafe fn write(ptr: Self::Ptr, row: usize, value: C) {
        // SAFETY: the caller's promise; the lane is there while the others are.
        unsafe {
            L::write(ptr.values, row, value);
            mark_column(&*ptr.lane, ptr.now);
        }
    }

    #[inline(always)]
    unsafe fn read(ptr: Self::Ptr, row: usize) -> C {
        // SAFETY: the caller's promise.
        unsafe { L::read(ptr.values, row) }
    }

    unsafe fn write_many(ptr: Self::Ptr, row: usize, values: *const C, len: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            L::write_many(ptr.values, row, values, len);
            mark_column(&*ptr.lane, ptr.now);
        }
    }

    #[inline(always)]
    unsafe fn touch(lanes: *const Lane, now: Tick) {
        // SAFETY: the caller's promise.
        mark_column(unsafe { &*lanes.add(L::LANES) }, now);
    }
}

// SAFETY: reads the version of a lane.
unsafe impl<C: 'static, L: Layout<C>> TracksChanges<C> for Watched<L> {
    #[inline(always)]
    unsafe fn changed(lanes: *const Lane, _: usize, look: Look) -> Tick {
        // SAFETY: the caller's promise.
        column_mark(unsafe { &*lanes.add(L::LANES) }, look)
    }
}
