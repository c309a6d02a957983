//! Components whose columns are tracked.
#![allow(unsafe_code)]

use super::{RunTicks, Tick, Track, TracksChanges};
use crate::layout::sealed::Untracked;
use crate::layout::{Kind, Layout};
use core::marker::PhantomData;
use phalanx_store::raw::Lane;

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
pub(crate) fn column_mark(lane: &Lane, look: RunTicks) -> Tick {
    let (last, before) = (lane.version() as u32, (lane.version() >> 32) as u32);
    // None before: it is not known, or there was none.
    Tick(if look.own && last == look.now.0 && before != 0 { before } else { last })
}

/// The layout of components with `track = "column"`: values lie as `L` says, and each column has a tick.
///
/// `L` is [`Table`](crate::layout::Table), [`Soa`](crate::layout::Soa), [`Pool`](crate::layout::Pool) or
/// [`Linear`](crate::layout::Linear). The tick is kept as the version of a lane without memory, after those of `L`.
#[derive(Debug)]
pub struct Watched<L>(PhantomData<fn() -> L>);

impl<L> crate::layout::sealed::Sealed for Watched<L> {}

/// Where the values of a column-tracked component begin, with the lane that has its tick.
#[derive(Clone, Copy, Debug)]
pub struct WatchedPtr<P> {
    values: P,
    lane: *const Lane,
    now: Tick,
}

// SAFETY: the lanes of `L`, whose functions look at nothing else, and one more without memory. `L` keeps no marks of its own:
// the constants, and the default `replace`, would not keep them.
unsafe impl<C: 'static, L: Layout<C> + Untracked> Layout<C> for Watched<L> {
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

    fn bytes(each: &mut dyn FnMut(bool, bool)) {
        L::bytes(each);
    }

    fn lanes(each: &mut dyn FnMut(core::alloc::Layout)) {
        L::lanes(each);
        // Aligned as the values are: where they have no size, it is the first.
        each(core::alloc::Layout::new::<[C; 0]>());
    }

    #[inline(always)]
    unsafe fn ptr(lanes: *const Lane, look: RunTicks) -> Self::Ptr {
        // SAFETY: the caller's promise: the lanes of `L`, and one more.
        unsafe { WatchedPtr { values: L::ptr(lanes, look), lane: lanes.add(L::LANES), now: look.now } }
    }

    unsafe fn get_in<'a>(block: *const u8) -> L::Ref<'a>
    where
        C: 'a,
    {
        // SAFETY: the caller's promise; the lane of the tick has no size.
        unsafe { L::get_in(block) }
    }

    fn show(value: &C) -> L::Ref<'_> {
        L::show(value)
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
unsafe impl<C: 'static, L: Layout<C> + Untracked> TracksChanges<C> for Watched<L> {
    #[inline(always)]
    unsafe fn changed(lanes: *const Lane, _: usize, look: RunTicks) -> Tick {
        // SAFETY: the caller's promise.
        column_mark(unsafe { &*lanes.add(L::LANES) }, look)
    }
}
