//! [`ColumnTracked`]: the layout of components with a change tick for each column.
#![allow(unsafe_code)]

use super::{ComponentTicks, RunTicks, Tick, Track, TracksChanges};
use crate::layout::sealed::Untracked;
use crate::layout::{Kind, Layout};
use core::marker::PhantomData;
use phalanx_store::raw::Lane;

/// Sets the change tick of a column, given its last lane.
///
/// The previous tick is kept beside it. A run that writes sets the tick of its columns first, and tests filters later.
#[inline(always)]
pub(crate) fn set_column_tick(lane: &Lane, now: Tick) {
    let ticks = lane.version();
    if ticks as u32 != now.0 {
        lane.set_version(ticks << 32 | u64::from(now.0));
    }
}

/// Returns the tick at which a column was last changed by another run, given its last lane.
#[inline(always)]
pub(crate) fn column_tick(lane: &Lane, ticks: RunTicks) -> Tick {
    let (last, before) = (lane.version() as u32, (lane.version() >> 32) as u32);
    // Zero: there was no previous tick.
    Tick(if ticks.own && last == ticks.now.0 && before != 0 { before } else { last })
}

/// The layout of components with `track = "column"`: values are stored as in `L`, and each column has a change tick.
///
/// `L` is [`Table`](crate::layout::Table), [`Soa`](crate::layout::Soa), [`Pool`](crate::layout::Pool) or
/// [`Linear`](crate::layout::Linear). The tick is the version of a lane without memory, after the lanes of `L`.
#[derive(Debug)]
pub struct ColumnTracked<L>(PhantomData<fn() -> L>);

impl<L> crate::layout::sealed::Sealed for ColumnTracked<L> {}

/// Implements functions of a tracked layout by those of the layout of its values, `L`.
macro_rules! as_untracked {
    ($(fn $name:ident$(<$a:lifetime>)?($at:ident) -> $out:ty;)*) => {$(
        #[inline(always)]
        unsafe fn $name$(<$a>)?(ptr: Self::Ptr, $at: usize) -> $out
        $(where C: $a)?
        {
            // SAFETY: the values are in the lanes of `L`, and the contract is that of the same function of `L`.
            unsafe { L::$name(ptr.values, $at) }
        }
    )*};
}
pub(super) use as_untracked;

/// The pointers to the values of a column-tracked component, and to the lane with its change tick.
#[derive(Clone, Copy, Debug)]
pub struct ColumnTrackedPtr<P> {
    values: P,
    lane: *const Lane,
    run: RunTicks,
}

// SAFETY: the lanes are those of `L`, whose functions access nothing else, and one more without memory. `L` is untracked: the
// constants and the default `replace` would not preserve its ticks.
unsafe impl<C: 'static, L: Layout<C> + Untracked> Layout<C> for ColumnTracked<L> {
    type Ref<'a> = L::Ref<'a>;
    type Mut<'a> = L::Mut<'a>;
    type Slice<'a> = L::Slice<'a>;
    type SliceMut<'a> = L::SliceMut<'a>;
    type Ptr = ColumnTrackedPtr<L::Ptr>;
    const KIND: Kind = L::KIND;
    const LANES: usize = L::LANES + 1;
    const TRACK: Track = Track::Column;
    const DROP: Option<crate::component::DropFn> = L::DROP;
    const COPY: bool = L::COPY;
    const WHOLE: bool = false;

    fn bytes(each: &mut dyn FnMut(bool, bool)) {
        L::bytes(each);
    }

    fn lanes(each: &mut dyn FnMut(core::alloc::Layout)) {
        L::lanes(each);
        // It has the alignment of the values, because it is the first lane if they have no size.
        each(core::alloc::Layout::new::<[C; 0]>());
    }

    #[inline(always)]
    unsafe fn ptr(lanes: *const Lane, ticks: RunTicks) -> Self::Ptr {
        // SAFETY: there are the lanes of `L` and one more, by the caller's contract.
        unsafe { ColumnTrackedPtr { values: L::ptr(lanes, ticks), lane: lanes.add(L::LANES), run: ticks } }
    }

    unsafe fn get_in<'a>(block: *const u8) -> L::Ref<'a>
    where
        C: 'a,
    {
        // SAFETY: the block holds a value, by the caller's contract; the lane of the tick has no size.
        unsafe { L::get_in(block) }
    }

    fn show(value: &C) -> L::Ref<'_> {
        L::show(value)
    }

    as_untracked! {
        fn get<'a>(row) -> L::Ref<'a>;
        fn get_mut<'a>(row) -> L::Mut<'a>;
        fn slice<'a>(len) -> L::Slice<'a>;
        fn slice_mut<'a>(len) -> L::SliceMut<'a>;
        fn read(row) -> C;
    }

    #[inline(always)]
    unsafe fn write(ptr: Self::Ptr, row: usize, value: C) {
        // SAFETY: the row is within the capacity and no value is there, by the caller's contract. The lane of the tick lives as
        // long as the others.
        unsafe {
            L::write(ptr.values, row, value);
            set_column_tick(&*ptr.lane, ptr.run.now);
        }
    }

    unsafe fn write_many(ptr: Self::Ptr, row: usize, values: *const C, len: usize) {
        // SAFETY: the values are initialised, the rows are within the capacity, and no values are there, by the caller's
        // contract. The lane of the tick lives as long as the others.
        unsafe {
            L::write_many(ptr.values, row, values, len);
            set_column_tick(&*ptr.lane, ptr.run.now);
        }
    }

    #[inline(always)]
    unsafe fn touch(lanes: *const Lane, now: Tick) {
        // SAFETY: there are the lanes of `L` and one more, by the caller's contract.
        set_column_tick(unsafe { &*lanes.add(L::LANES) }, now);
    }
}

// SAFETY: it reads only the version of a lane, which is the change tick.
unsafe impl<C: 'static, L: Layout<C> + Untracked> TracksChanges<C> for ColumnTracked<L> {
    #[inline(always)]
    unsafe fn changed(lanes: *const Lane, _: usize, ticks: RunTicks) -> Tick {
        // SAFETY: there are the lanes of `L` and one more, by the caller's contract.
        column_tick(unsafe { &*lanes.add(L::LANES) }, ticks)
    }

    #[inline(always)]
    unsafe fn ticks(ptr: Self::Ptr, _: usize) -> (ComponentTicks, RunTicks) {
        // SAFETY: the lane of the tick lives as long as the others.
        let changed = column_tick(unsafe { &*ptr.lane }, ptr.run);
        (ComponentTicks { added: changed, changed }, ptr.run)
    }
}
