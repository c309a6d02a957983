//! [`RowTracked`]: the layout of components with two ticks for each value, and their slices.
//!
//! # Invariants
//!
//! - Each value has ticks in the same row of the next two lanes. They are written with the value.
//! - Code with exclusive access to a value has exclusive access to writing its ticks.
//! - No thread reads a tick while another sets it. What filters read is part of the [access](crate::query::Access) of a query.
//!   A filter of a user conflicts with all that writes tracked components, as it may read ticks of any.
#![allow(unsafe_code)]

use super::column_tracked::as_untracked;
use super::{ComponentTicks, Mut, RunTicks, Tick, TicksMut, TicksRef, Track, TracksAdditions, TracksChanges};
use crate::layout::{Kind, Layout, Linear, Pool, Table};
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr::NonNull;
use core::sync::atomic::AtomicU32;
use phalanx_store::raw::Lane;

/// The layout of components with `track = "row"`: values are stored as in `L`, with two lanes of ticks after them.
#[derive(Debug)]
pub struct RowTracked<L>(PhantomData<fn() -> L>);

impl<L> crate::layout::sealed::Sealed for RowTracked<L> {}

/// The pointers to the values and ticks of a row-tracked component, with the ticks of the run.
#[derive(Clone, Copy, Debug)]
pub struct RowTrackedPtr<P> {
    values: P,
    added: NonNull<AtomicU32>,
    changed: NonNull<AtomicU32>,
    run: RunTicks,
}

impl<P> RowTrackedPtr<P> {
    /// Returns the ticks of a row.
    ///
    /// # Safety
    ///
    /// The row is in use for `'a`.
    #[inline(always)]
    unsafe fn ticks<'a>(&self, row: usize) -> TicksRef<'a> {
        // SAFETY: there are as many ticks as values, and the row is in use, by the caller's contract.
        unsafe { TicksRef { added: self.added.add(row).as_ref(), changed: self.changed.add(row).as_ref() } }
    }

    /// Returns the ticks of a row, for writing.
    ///
    /// # Safety
    ///
    /// The row is in use for `'a`, and no other code uses it.
    #[inline(always)]
    unsafe fn ticks_mut<'a>(&self, row: usize) -> TicksMut<'a> {
        // SAFETY: the row is in use, by the caller's contract. No thread reads ticks that another may set, by the invariants of
        // the module.
        unsafe { TicksMut::new(self.ticks(row)) }
    }
}

/// Mutable access to the values of a row-tracked component in a table.
///
/// A slice cannot record which values are written, so [`all`](SliceMut::all) sets the change tick of all. [`get_mut`](SliceMut::get_mut)
/// and [`iter_mut`](SliceMut::iter_mut) yield [`Mut`]s, which record changes one by one.
// There are as many ticks as values. While it lives, no other code uses them.
pub struct SliceMut<'a, C> {
    values: &'a mut [C],
    added: &'a [AtomicU32],
    changed: &'a [AtomicU32],
    run: RunTicks,
}

impl<'a, C> SliceMut<'a, C> {
    /// Returns all values mutably, and sets the change tick of each.
    pub fn all(&mut self) -> &mut [C] {
        for (added, changed) in self.added.iter().zip(self.changed) {
            // SAFETY: no other code uses the ticks, by the invariant of the type.
            unsafe { TicksMut::new(TicksRef { added, changed }) }.set_changed(self.run.now);
        }
        self.values
    }

    /// Returns all values mutably, without recording changes.
    pub fn bypass_change_detection(&mut self) -> &mut [C] {
        self.values
    }

    /// Returns the value at a row mutably.
    pub fn get_mut(&mut self, row: usize) -> Option<Mut<'_, C>> {
        let ticks = TicksRef { added: self.added.get(row)?, changed: self.changed.get(row)? };
        // SAFETY: no other code uses the ticks, by the invariant of the type, and the handle borrows the slice.
        Some(Mut::new(self.values.get_mut(row)?, unsafe { TicksMut::new(ticks) }, self.run))
    }

    /// Returns an iterator over the values, mutably.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = Mut<'_, C>> {
        let run = self.run;
        let ticks = self.added.iter().zip(self.changed).map(|(added, changed)| TicksRef { added, changed });
        // SAFETY: no other code uses the ticks, by the invariant of the type. Each gets one handle, which borrows the slice.
        let ticks = ticks.map(|ticks| unsafe { TicksMut::new(ticks) });
        self.values.iter_mut().zip(ticks).map(move |(value, ticks)| Mut::new(value, ticks, run))
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

// SAFETY: three lanes, that of the values, which exists even if they have no size, and those of their ticks. The first has the
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
    const LANES: usize = 3;
    const TRACK: Track = Track::Row;
    const DROP: Option<crate::component::DropFn> = L::DROP;
    const COPY: bool = false;
    const WHOLE: bool = false;

    fn lanes(each: &mut dyn FnMut(core::alloc::Layout)) {
        each(core::alloc::Layout::new::<C>());
        each(core::alloc::Layout::new::<AtomicU32>());
        each(core::alloc::Layout::new::<AtomicU32>());
    }

    #[inline(always)]
    unsafe fn ptr(lanes: *const Lane, run: RunTicks) -> Self::Ptr {
        // SAFETY: there are three lanes of this component, by the caller's contract.
        unsafe {
            let (added, changed) = ((*lanes.add(1)).ptr().cast(), (*lanes.add(2)).ptr().cast());
            RowTrackedPtr { values: (*lanes).ptr().cast(), added, changed, run }
        }
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
        // SAFETY: the row is initialised and not used otherwise for `'a`, by the caller's contract.
        unsafe { Mut::new(L::get_mut(ptr.values, row), ptr.ticks_mut(row), ptr.run) }
    }

    #[inline(always)]
    unsafe fn slice_mut<'a>(ptr: Self::Ptr, len: usize) -> SliceMut<'a, C> {
        // SAFETY: the rows are initialised and not used otherwise for `'a`, by the caller's contract.
        unsafe {
            let ticks = |first: NonNull<AtomicU32>| core::slice::from_raw_parts(first.as_ptr(), len);
            let (added, changed) = (ticks(ptr.added), ticks(ptr.changed));
            SliceMut { values: L::slice_mut(ptr.values, len), added, changed, run: ptr.run }
        }
    }

    #[inline(always)]
    unsafe fn write(ptr: Self::Ptr, row: usize, value: C) {
        // SAFETY: the row is within the capacity of all lanes and no value is there, by the caller's contract.
        unsafe {
            L::write(ptr.values, row, value);
            ptr.added.add(row).write(AtomicU32::new(ptr.run.now.0));
            ptr.changed.add(row).write(AtomicU32::new(ptr.run.now.0));
        }
    }

    #[inline(always)]
    unsafe fn replace(ptr: Self::Ptr, row: usize, value: C) -> C {
        // SAFETY: the row is initialised, and no other code uses it or its ticks, by the caller's contract.
        unsafe {
            ptr.ticks_mut(row).set_changed(ptr.run.now);
            L::replace(ptr.values, row, value)
        }
    }
}

// SAFETY: it reads only the lanes of ticks.
unsafe impl<C: 'static, L> TracksChanges<C> for RowTracked<L>
where
    RowTracked<L>: Layout<C, Ptr = RowTrackedPtr<NonNull<C>>>,
{
    #[inline(always)]
    unsafe fn changed(lanes: *const Lane, row: usize, _: RunTicks) -> Tick {
        // SAFETY: the lanes are the component's, the row is in use, and no other thread sets its ticks, by the caller's contract.
        Tick(unsafe { (*lanes.add(2)).ptr().cast::<u32>().add(row).read() })
    }

    #[inline(always)]
    unsafe fn ticks(ptr: Self::Ptr, row: usize) -> (ComponentTicks, RunTicks) {
        // SAFETY: the row is in use, and no other thread sets its ticks, by the caller's contract.
        (unsafe { ptr.ticks(row) }.get(), ptr.run)
    }
}

// SAFETY: it reads only the lane of the ticks of additions.
unsafe impl<C: 'static, L> TracksAdditions<C> for RowTracked<L>
where
    RowTracked<L>: Layout<C, Ptr = RowTrackedPtr<NonNull<C>>>,
{
    #[inline(always)]
    unsafe fn added(lanes: *const Lane, row: usize, _: RunTicks) -> Tick {
        // SAFETY: the lanes are the component's, the row is in use, and no other thread sets its ticks, by the caller's contract.
        Tick(unsafe { (*lanes.add(1)).ptr().cast::<u32>().add(row).read() })
    }
}
