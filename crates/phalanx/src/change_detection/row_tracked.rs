//! [`RowTracked`]: the layout of components with two ticks for each value, and [`Mut`], which sets them.
//!
//! # Invariants
//!
//! - Each value has ticks in the same row of the next lane. They are written with the value.
//! - Code with exclusive access to a value has exclusive access to writing its ticks.
//! - Ticks are accessed by raw pointers only, because filters of the same query read them.
#![allow(unsafe_code)]

use super::{RunTicks, Tick, Track, TracksAdditions, TracksChanges};
use crate::layout::{Kind, Layout, Linear, Pool, Table};
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};
use phalanx_store::raw::Lane;

/// The ticks at which a value was added and changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ComponentTicks {
    pub(crate) added: Tick,
    pub(crate) changed: Tick,
}

impl ComponentTicks {
    /// Sets the change tick.
    ///
    /// This is atomic, and so is reading it: a filter may read the ticks of a value that another thread writes.
    ///
    /// # Safety
    ///
    /// The pointer is valid, and no other code writes the ticks during the call.
    #[inline(always)]
    unsafe fn set_changed(ticks: *mut ComponentTicks, now: Tick) {
        // SAFETY: the pointer is valid, by the caller's contract, and a tick has the layout of a `u32`.
        unsafe { AtomicU32::from_ptr((&raw mut (*ticks).changed).cast()).store(now.0, Ordering::Relaxed) };
    }

    /// Returns the change tick.
    ///
    /// # Safety
    ///
    /// The pointer is valid.
    #[inline(always)]
    unsafe fn changed(ticks: *mut ComponentTicks) -> Tick {
        // SAFETY: the pointer is valid, by the caller's contract, and a tick has the layout of a `u32`.
        Tick(unsafe { AtomicU32::from_ptr((&raw mut (*ticks).changed).cast()).load(Ordering::Relaxed) })
    }

    /// Returns the ticks of a value that is added now.
    #[inline(always)]
    pub(crate) fn new(now: Tick) -> ComponentTicks {
        ComponentTicks { added: now, changed: now }
    }
}

/// Returns the address of the ticks of a row, given the lane of ticks.
///
/// # Safety
///
/// It is a lane of ticks, and the row is within its capacity.
#[inline(always)]
pub(crate) unsafe fn ticks_at(lane: &Lane, row: usize) -> *mut ComponentTicks {
    // SAFETY: the lane has rows of ticks, and the row is within its capacity, by the caller's contract.
    unsafe { lane.ptr().cast::<ComponentTicks>().as_ptr().add(row) }
}

/// The layout of components with `track = "row"`: values are stored as in `L`, with a lane of ticks after them.
#[derive(Debug)]
pub struct RowTracked<L>(PhantomData<fn() -> L>);

impl<L> crate::layout::sealed::Sealed for RowTracked<L> {}

/// The pointers to the values and ticks of a row-tracked component, with the ticks of the run.
#[derive(Clone, Copy, Debug)]
pub struct RowTrackedPtr<P> {
    values: P,
    ticks: NonNull<ComponentTicks>,
    run: RunTicks,
}

/// Mutable access to a value of a row-tracked component. Dereferencing it mutably sets the change tick of the value.
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
/// health.bypass_change_detection().0 = 9; // no change is recorded
/// assert!(health.0 == 9 && !health.is_changed());
/// health.0 = 8;
/// assert!(health.is_changed() && !health.is_added());
/// ```
pub struct Mut<'a, C> {
    value: &'a mut C,
    /// A raw pointer, because filters of the same query read the ticks.
    ticks: NonNull<ComponentTicks>,
    run: RunTicks,
}

// SAFETY: exclusive access to the value includes writing its ticks, so a `Mut` is like a `&mut C`.
unsafe impl<C: Send> Send for Mut<'_, C> {}
// SAFETY: a shared `Mut` only reads the value and its ticks.
unsafe impl<C: Sync> Sync for Mut<'_, C> {}

impl<C> Mut<'_, C> {
    fn ticks(&self) -> ComponentTicks {
        // SAFETY: the ticks live as long as the value, and only this `Mut` writes them.
        unsafe { self.ticks.read() }
    }

    /// Returns `true` if the value was added since the previous run of the query's state.
    ///
    /// Without a state it is `true` for values that were added since [`World::clear_trackers`](crate::World::clear_trackers).
    pub fn is_added(&self) -> bool {
        self.run.is_new(self.ticks().added)
    }

    /// Returns `true` if the value was changed since the previous run of the query's state, or through this `Mut`.
    pub fn is_changed(&self) -> bool {
        self.run.is_new(self.ticks().changed)
    }

    /// Sets the change tick of the value.
    #[inline(always)]
    pub fn set_changed(&mut self) {
        // SAFETY: the ticks live as long as the value, and only this `Mut` writes them.
        unsafe { ComponentTicks::set_changed(self.ticks.as_ptr(), self.run.now) };
    }

    /// Returns the value mutably, without recording a change.
    #[inline(always)]
    pub fn bypass_change_detection(&mut self) -> &mut C {
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

/// Mutable access to the values of a row-tracked component in a table.
///
/// A slice cannot record which values are written, so [`all`](SliceMut::all) sets the change tick of all. [`get_mut`](SliceMut::get_mut)
/// and [`iter_mut`](SliceMut::iter_mut) yield [`Mut`]s, which record changes one by one.
pub struct SliceMut<'a, C> {
    values: &'a mut [C],
    ticks: NonNull<ComponentTicks>,
    run: RunTicks,
}

// SAFETY: exclusive access to the values includes writing their ticks, so it is like a `&mut [C]`.
unsafe impl<C: Send> Send for SliceMut<'_, C> {}
// SAFETY: a shared `SliceMut` only reads the values.
unsafe impl<C: Sync> Sync for SliceMut<'_, C> {}

impl<'a, C> SliceMut<'a, C> {
    /// Returns all values mutably, and sets the change tick of each.
    pub fn all(&mut self) -> &mut [C] {
        for row in 0..self.values.len() {
            // SAFETY: there are as many ticks as values, and only this `SliceMut` writes them.
            unsafe { ComponentTicks::set_changed(self.ticks.add(row).as_ptr(), self.run.now) };
        }
        self.values
    }

    /// Returns all values mutably, without recording changes.
    pub fn bypass_change_detection(&mut self) -> &mut [C] {
        self.values
    }

    /// Returns the value at a row mutably.
    pub fn get_mut(&mut self, row: usize) -> Option<Mut<'_, C>> {
        let value = self.values.get_mut(row)?;
        // SAFETY: the row exists, and there are as many ticks as values.
        Some(Mut { value, ticks: unsafe { self.ticks.add(row) }, run: self.run })
    }

    /// Returns an iterator over the values, mutably.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = Mut<'_, C>> {
        let (ticks, run) = (self.ticks, self.run);
        self.values.iter_mut().enumerate().map(move |(row, value)| {
            // SAFETY: the row exists, and there are as many ticks as values.
            let ticks = unsafe { ticks.add(row) };
            Mut { value, ticks, run }
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

    #[inline(always)]
    unsafe fn get<'a>(ptr: Self::Ptr, row: usize) -> &'a C {
        // SAFETY: the row is initialised and not written for `'a`, by the caller's contract.
        unsafe { L::get(ptr.values, row) }
    }

    #[inline(always)]
    unsafe fn get_mut<'a>(ptr: Self::Ptr, row: usize) -> Mut<'a, C> {
        // SAFETY: the row is initialised and not used otherwise for `'a`, by the caller's contract. There are as many ticks as
        // values.
        unsafe { Mut { value: L::get_mut(ptr.values, row), ticks: ptr.ticks.add(row), run: ptr.run } }
    }

    #[inline(always)]
    unsafe fn slice<'a>(ptr: Self::Ptr, len: usize) -> &'a [C] {
        // SAFETY: the rows are initialised and not written for `'a`, by the caller's contract.
        unsafe { L::slice(ptr.values, len) }
    }

    #[inline(always)]
    unsafe fn slice_mut<'a>(ptr: Self::Ptr, len: usize) -> SliceMut<'a, C> {
        // SAFETY: the rows are initialised and not used otherwise for `'a`, by the caller's contract.
        unsafe { SliceMut { values: L::slice_mut(ptr.values, len), ticks: ptr.ticks, run: ptr.run } }
    }

    #[inline(always)]
    unsafe fn write(ptr: Self::Ptr, row: usize, value: C) {
        // SAFETY: the row is within the capacity of both lanes and no value is there, by the caller's contract.
        unsafe {
            L::write(ptr.values, row, value);
            ptr.ticks.add(row).write(ComponentTicks::new(ptr.run.now));
        }
    }

    #[inline(always)]
    unsafe fn read(ptr: Self::Ptr, row: usize) -> C {
        // SAFETY: the row is initialised and counts as moved out, by the caller's contract.
        unsafe { L::read(ptr.values, row) }
    }

    #[inline(always)]
    unsafe fn replace(ptr: Self::Ptr, row: usize, value: C) -> C {
        // SAFETY: the row is initialised, and no other code uses it or its ticks, by the caller's contract.
        unsafe {
            ComponentTicks::set_changed(ptr.ticks.add(row).as_ptr(), ptr.run.now);
            L::replace(ptr.values, row, value)
        }
    }
}

// SAFETY: it reads only the lane of ticks.
unsafe impl<C: 'static, L> TracksChanges<C> for RowTracked<L>
where
    RowTracked<L>: Layout<C>,
{
    #[inline(always)]
    unsafe fn changed(lanes: *const Lane, row: usize, _: RunTicks) -> Tick {
        // SAFETY: the lanes are the component's and the row is in use, by the caller's contract. The second lane is that of the
        // ticks. They are read through a raw pointer, because items of the same query may write them.
        unsafe { ComponentTicks::changed(ticks_at(&*lanes.add(1), row)) }
    }
}

// SAFETY: it reads only the lane of ticks.
unsafe impl<C: 'static, L> TracksAdditions<C> for RowTracked<L>
where
    RowTracked<L>: Layout<C>,
{
    #[inline(always)]
    unsafe fn added(lanes: *const Lane, row: usize, _: RunTicks) -> Tick {
        // SAFETY: the lanes are the component's and the row is in use, by the caller's contract. The tick of an addition is
        // written only with exclusive access to the world.
        unsafe { (*ticks_at(&*lanes.add(1), row)).added }
    }
}
