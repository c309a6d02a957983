//! Components that are tracked row by row.
//!
//! # What must stay true
//!
//! Each value has marks in the same row of the lane after its own, written when it is. Whoever has a value for writing has its
//! marks. They are reached by raw pointers only: filters of the same query look at them.
#![allow(unsafe_code)]

use super::{RunTicks, Tick, Track, TracksAdditions, TracksChanges};
use crate::layout::{Kind, Layout, Linear, Pool, Table};
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};
use phalanx_store::raw::Lane;

/// When a value was added, and when it was changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    pub(crate) added: Tick,
    pub(crate) changed: Tick,
}

impl Marks {
    /// Notes a change. Atomic, as is [`changed`](Marks::changed): a filter may look at marks of values that are lent for
    /// writing, on another thread.
    ///
    /// # Safety
    ///
    /// The marks are there, and written in no other way meanwhile.
    #[inline(always)]
    unsafe fn set_changed(marks: *mut Marks, now: Tick) {
        // SAFETY: the caller's promise; a tick is a number of 32 bits.
        unsafe { AtomicU32::from_ptr((&raw mut (*marks).changed).cast()).store(now.0, Ordering::Relaxed) };
    }

    /// When the value was changed.
    ///
    /// # Safety
    ///
    /// The marks are there.
    #[inline(always)]
    unsafe fn changed(marks: *mut Marks) -> Tick {
        // SAFETY: the caller's promise; a tick is a number of 32 bits.
        Tick(unsafe { AtomicU32::from_ptr((&raw mut (*marks).changed).cast()).load(Ordering::Relaxed) })
    }

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

/// The layout of components with `track = "row"`: a lane of marks beside the values, which lie as `L` says.
#[derive(Debug)]
pub struct Tracked<L>(PhantomData<fn() -> L>);

impl<L> crate::layout::sealed::Sealed for Tracked<L> {}

/// Where the values and the marks of a row-tracked component begin, and who looks.
#[derive(Clone, Copy, Debug)]
pub struct TrackedPtr<P> {
    values: P,
    marks: NonNull<Marks>,
    look: RunTicks,
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
/// world.clear_trackers();
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
    look: RunTicks,
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
    /// [settled](crate::World::clear_trackers).
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
        unsafe { Marks::set_changed(self.marks.as_ptr(), self.look.now) };
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
    look: RunTicks,
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
            unsafe { Marks::set_changed(self.marks.add(row).as_ptr(), self.look.now) };
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
    unsafe fn ptr(lanes: *const Lane, look: RunTicks) -> Self::Ptr {
        // SAFETY: the caller's promise: two lanes of this component.
        unsafe { TrackedPtr { values: (*lanes).ptr().cast(), marks: (*lanes.add(1)).ptr().cast(), look } }
    }

    unsafe fn get_in<'a>(block: *const u8) -> &'a C {
        // SAFETY: the caller's promise; the value's lane comes first.
        unsafe { L::get_in(block) }
    }

    fn show(value: &C) -> &C {
        value
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
            Marks::set_changed(ptr.marks.add(row).as_ptr(), ptr.look.now);
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
    unsafe fn changed(lanes: *const Lane, row: usize, _: RunTicks) -> Tick {
        // SAFETY: the caller's promise; the second lane is that of the marks. Raw, since items of the same query may be about
        // to write them.
        unsafe { Marks::changed(marks(&*lanes.add(1), row)) }
    }
}

// SAFETY: reads the lane of marks.
unsafe impl<C: 'static, L> TracksAdditions<C> for Tracked<L>
where
    Tracked<L>: Layout<C>,
{
    #[inline(always)]
    unsafe fn added(lanes: *const Lane, row: usize, _: RunTicks) -> Tick {
        // SAFETY: as above.
        unsafe { (*marks(&*lanes.add(1), row)).added }
    }
}
