//! [`RowTracked`]: the layout of components with two ticks for each value, and their slices.
//!
//! # Invariants
//!
//! - Each value has ticks in the same row of the next lane. They are written with the value.
//! - Code with exclusive access to a value has exclusive access to writing its ticks.
//! - Ticks of rows in use are accessed as [`AtomicTicks`] only, because filters of the same query read them.
#![allow(unsafe_code)]

use super::column_tracked::as_untracked;
use super::{Mut, RunTicks, Tick, Track, TracksAdditions, TracksChanges};
use crate::layout::{Kind, Layout, Linear, Pool, Table};
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};
use phalanx_store::raw::Lane;

/// The ticks at which a value was added and changed.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComponentTicks {
    pub(crate) added: Tick,
    pub(crate) changed: Tick,
}

impl ComponentTicks {
    /// Returns the ticks of a value that is added now.
    #[inline(always)]
    pub(crate) fn new(now: Tick) -> ComponentTicks {
        ComponentTicks { added: now, changed: now }
    }
}

/// The ticks of a value in their lane.
///
/// They are atomic: a filter may read the ticks of a value that another thread writes.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct AtomicTicks {
    added: AtomicU32,
    changed: AtomicU32,
}

const _: () = assert!(size_of::<AtomicTicks>() == size_of::<ComponentTicks>());

impl AtomicTicks {
    /// Creates the ticks of a value that is added now.
    #[inline(always)]
    pub(crate) fn new(now: Tick) -> AtomicTicks {
        AtomicTicks { added: AtomicU32::new(now.0), changed: AtomicU32::new(now.0) }
    }

    /// Returns the tick at which the value was added.
    #[inline(always)]
    pub(crate) fn added(&self) -> Tick {
        Tick(self.added.load(Ordering::Relaxed))
    }

    /// Returns the change tick.
    #[inline(always)]
    pub(crate) fn changed(&self) -> Tick {
        Tick(self.changed.load(Ordering::Relaxed))
    }

    /// Sets the tick at which the value was added.
    #[inline(always)]
    pub(crate) fn set_added(&self, added: Tick) {
        self.added.store(added.0, Ordering::Relaxed);
    }

    /// Sets the change tick.
    #[inline(always)]
    pub(crate) fn set_changed(&self, now: Tick) {
        self.changed.store(now.0, Ordering::Relaxed);
    }

    /// Returns both ticks.
    #[inline(always)]
    pub(crate) fn get(&self) -> ComponentTicks {
        ComponentTicks { added: self.added(), changed: self.changed() }
    }

    /// Sets the ticks of a value that is inserted now, in place of another one or not.
    pub(crate) fn set_inserted(&self, replaces: bool, now: Tick) {
        if !replaces {
            self.set_added(now);
        }
        self.set_changed(now);
    }

    /// Sets both ticks.
    #[inline(always)]
    pub(crate) fn set(&self, ticks: ComponentTicks) {
        self.set_added(ticks.added);
        self.set_changed(ticks.changed);
    }
}

impl From<ComponentTicks> for AtomicTicks {
    fn from(ticks: ComponentTicks) -> AtomicTicks {
        AtomicTicks { added: AtomicU32::new(ticks.added.0), changed: AtomicU32::new(ticks.changed.0) }
    }
}

/// Returns the ticks of the first `len` rows, given the lane of ticks.
///
/// # Safety
///
/// It is a lane of ticks. The rows are initialised, and only read and written as [`AtomicTicks`] while the slice lives.
#[inline(always)]
pub(crate) unsafe fn ticks_of(lane: &Lane, len: usize) -> &[AtomicTicks] {
    // SAFETY: the lane has rows of ticks, and these are initialised, by the caller's contract.
    unsafe { core::slice::from_raw_parts(lane.ptr().cast().as_ptr(), len) }
}

/// Returns the ticks of a row, given the lane of ticks.
///
/// # Safety
///
/// It is a lane of ticks. The row is initialised, and only read and written as [`AtomicTicks`] while the reference lives.
#[inline(always)]
pub(crate) unsafe fn ticks_at(lane: &Lane, row: usize) -> &AtomicTicks {
    // SAFETY: the lane has rows of ticks, and this one is initialised, by the caller's contract.
    unsafe { lane.ptr().cast::<AtomicTicks>().add(row).as_ref() }
}

/// The layout of components with `track = "row"`: values are stored as in `L`, with a lane of ticks after them.
#[derive(Debug)]
pub struct RowTracked<L>(PhantomData<fn() -> L>);

impl<L> crate::layout::sealed::Sealed for RowTracked<L> {}

/// The pointers to the values and ticks of a row-tracked component, with the ticks of the run.
#[derive(Clone, Copy, Debug)]
pub struct RowTrackedPtr<P> {
    values: P,
    ticks: NonNull<AtomicTicks>,
    run: RunTicks,
}

/// Mutable access to the values of a row-tracked component in a table.
///
/// A slice cannot record which values are written, so [`all`](SliceMut::all) sets the change tick of all. [`get_mut`](SliceMut::get_mut)
/// and [`iter_mut`](SliceMut::iter_mut) yield [`Mut`]s, which record changes one by one.
pub struct SliceMut<'a, C> {
    values: &'a mut [C],
    ticks: &'a [AtomicTicks],
    run: RunTicks,
}

impl<'a, C> SliceMut<'a, C> {
    /// Returns all values mutably, and sets the change tick of each.
    pub fn all(&mut self) -> &mut [C] {
        for ticks in self.ticks {
            ticks.set_changed(self.run.now);
        }
        self.values
    }

    /// Returns all values mutably, without recording changes.
    pub fn bypass_change_detection(&mut self) -> &mut [C] {
        self.values
    }

    /// Returns the value at a row mutably.
    pub fn get_mut(&mut self, row: usize) -> Option<Mut<'_, C>> {
        Some(Mut::new(self.values.get_mut(row)?, &self.ticks[row], self.run))
    }

    /// Returns an iterator over the values, mutably.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = Mut<'_, C>> {
        let run = self.run;
        self.values.iter_mut().zip(self.ticks).map(move |(value, ticks)| Mut::new(value, ticks, run))
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

// SAFETY: two lanes, that of the values, which exists even if they have no size, and that of their ticks. The first has the
// layout of `L`, whose functions access nothing else.
unsafe impl<C: 'static, L: single::OneLane> Layout<C> for RowTracked<L>
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
    type Ptr = RowTrackedPtr<NonNull<C>>;
    const KIND: Kind = L::KIND;
    const LANES: usize = 2;
    const TRACK: Track = Track::Row;
    const DROP: Option<crate::component::DropFn> = L::DROP;
    const COPY: bool = false;
    const WHOLE: bool = false;

    fn lanes(each: &mut dyn FnMut(core::alloc::Layout)) {
        each(core::alloc::Layout::new::<C>());
        each(core::alloc::Layout::new::<ComponentTicks>());
    }

    #[inline(always)]
    unsafe fn ptr(lanes: *const Lane, run: RunTicks) -> Self::Ptr {
        // SAFETY: there are two lanes of this component, by the caller's contract.
        unsafe { RowTrackedPtr { values: (*lanes).ptr().cast(), ticks: (*lanes.add(1)).ptr().cast(), run } }
    }

    unsafe fn get_in<'a>(block: *const u8) -> &'a C {
        // SAFETY: the block holds a value, by the caller's contract; the value's lane comes first.
        unsafe { L::get_in(block) }
    }

    fn show(value: &C) -> &C {
        value
    }

    as_untracked! {
        fn get<'a>(row) -> &'a C;
        fn slice<'a>(len) -> &'a [C];
        fn read(row) -> C;
    }

    #[inline(always)]
    unsafe fn get_mut<'a>(ptr: Self::Ptr, row: usize) -> Mut<'a, C> {
        // SAFETY: the row is initialised and not used otherwise for `'a`, by the caller's contract. There are as many ticks as
        // values.
        unsafe { Mut::new(L::get_mut(ptr.values, row), ptr.ticks.add(row).as_ref(), ptr.run) }
    }

    #[inline(always)]
    unsafe fn slice_mut<'a>(ptr: Self::Ptr, len: usize) -> SliceMut<'a, C> {
        // SAFETY: the rows are initialised and not used otherwise for `'a`, by the caller's contract.
        unsafe {
            let ticks = core::slice::from_raw_parts(ptr.ticks.as_ptr(), len);
            SliceMut { values: L::slice_mut(ptr.values, len), ticks, run: ptr.run }
        }
    }

    #[inline(always)]
    unsafe fn write(ptr: Self::Ptr, row: usize, value: C) {
        // SAFETY: the row is within the capacity of both lanes and no value is there, by the caller's contract.
        unsafe {
            L::write(ptr.values, row, value);
            ptr.ticks.add(row).write(AtomicTicks::new(ptr.run.now));
        }
    }

    #[inline(always)]
    unsafe fn replace(ptr: Self::Ptr, row: usize, value: C) -> C {
        // SAFETY: the row is initialised, and no other code uses it or its ticks, by the caller's contract.
        unsafe {
            ptr.ticks.add(row).as_ref().set_changed(ptr.run.now);
            L::replace(ptr.values, row, value)
        }
    }
}

// SAFETY: it reads only the lane of ticks.
unsafe impl<C: 'static, L> TracksChanges<C> for RowTracked<L>
where
    RowTracked<L>: Layout<C, Ptr = RowTrackedPtr<NonNull<C>>>,
{
    #[inline(always)]
    unsafe fn changed(lanes: *const Lane, row: usize, _: RunTicks) -> Tick {
        // SAFETY: the lanes are the component's and the row is in use, by the caller's contract. The second lane is that of the
        // ticks, which only queries may write meanwhile.
        unsafe { ticks_at(&*lanes.add(1), row).changed() }
    }

    #[inline(always)]
    unsafe fn ticks(ptr: Self::Ptr, row: usize) -> (ComponentTicks, RunTicks) {
        // SAFETY: the row is in use, by the caller's contract, and there are as many ticks as values. Queries write them only as
        // atomics.
        (unsafe { ptr.ticks.add(row).as_ref() }.get(), ptr.run)
    }
}

// SAFETY: it reads only the lane of ticks.
unsafe impl<C: 'static, L> TracksAdditions<C> for RowTracked<L>
where
    RowTracked<L>: Layout<C, Ptr = RowTrackedPtr<NonNull<C>>>,
{
    #[inline(always)]
    unsafe fn added(lanes: *const Lane, row: usize, _: RunTicks) -> Tick {
        // SAFETY: the lanes are the component's and the row is in use, by the caller's contract. The second lane is that of the
        // ticks, which only queries may write meanwhile.
        unsafe { ticks_at(&*lanes.add(1), row).added() }
    }
}
