//! Where a component's values are kept, and what a reader or writer of them sees.
//!
//! A component names its layout ([`Component::Layout`]), and the layout owns the item types: a `&Position` of a table
//! component is a reference, that of a soa component the value itself, put together from its lanes.
#![allow(unsafe_code)]

use crate::change_detection::{Clock, Tick};
pub use crate::change_detection::{
    RunTicks, Track, Tracked, TrackedPtr, TracksAdditions, TracksChanges, TracksColumns, Watched, WatchedPtr,
};
use crate::component::{Cloning, Component, DropFn};
use crate::plain::{ByteInfo, Bytes};
pub use crate::plain::{PlainLayout, PlainShape};
use core::ptr::NonNull;
use phalanx_store::Entity;
use phalanx_store::raw::Lane;
use phalanx_store::soa::{self, Shape, SoaRow};

/// How a component's values lie in memory. Sealed: [`Table`], [`Soa`], [`Pool`] and [`Linear`], and [`Tracked`] and [`Watched`]
/// with one of these.
///
/// # Safety
///
/// The lanes are those that [`lanes`](Layout::lanes) lists, in that order, and the other functions touch nothing but the
/// rows they are told of.
pub unsafe trait Layout<C>: sealed::Sealed + Sized + 'static {
    /// What `&C` yields.
    type Ref<'a>
    where
        C: 'a;
    /// What `&mut C` yields.
    type Mut<'a>
    where
        C: 'a;
    /// The values of a table.
    type Slice<'a>
    where
        C: 'a;
    /// The values of a table, for writing.
    type SliceMut<'a>
    where
        C: 'a;
    /// Where the values of a table begin.
    type Ptr: Copy + 'static;
    /// Where the values are kept.
    const KIND: Kind;
    /// How many lanes there are: none for a component without data.
    const LANES: usize;
    /// How a value is dropped, given its row in the first lane.
    const DROP: Option<DropFn>;

    /// The layouts of a row of each lane.
    fn lanes(each: &mut dyn FnMut(core::alloc::Layout));

    /// How changes are tracked.
    const TRACK: Track = Track::None;

    /// The pointers into the lanes that begin at `lanes`, for somebody who looks at them so.
    ///
    /// # Safety
    ///
    /// They are `LANES` lanes of this component.
    unsafe fn ptr(lanes: *const Lane, look: RunTicks) -> Self::Ptr;

    /// Notes that a value may be written, where that is noted for a whole column.
    ///
    /// # Safety
    ///
    /// They are `LANES` lanes of this component.
    #[inline(always)]
    unsafe fn touch(_lanes: *const Lane, _now: Tick) {}

    /// Moves a value out and another in.
    ///
    /// # Safety
    ///
    /// The row is initialised, and nobody else uses it.
    #[inline(always)]
    unsafe fn replace(ptr: Self::Ptr, row: usize, value: C) -> C {
        // SAFETY: the caller's promise.
        unsafe {
            let old = Self::read(ptr, row);
            Self::write(ptr, row, value);
            old
        }
    }

    /// The value in a block that has a row of each of its lanes, one after another, each as it is aligned.
    ///
    /// # Safety
    ///
    /// There is one, which is not written while the item lives; the block is aligned as the lanes ask for.
    unsafe fn get_in<'a>(block: *const u8) -> Self::Ref<'a>
    where
        C: 'a;

    /// What `&C` yields of a value that is in no lane.
    fn show(value: &C) -> Self::Ref<'_>;

    /// The value at a row.
    ///
    /// # Safety
    ///
    /// The row is initialised, and not written while the item lives.
    unsafe fn get<'a>(ptr: Self::Ptr, row: usize) -> Self::Ref<'a>
    where
        C: 'a;

    /// The value at a row, for writing.
    ///
    /// # Safety
    ///
    /// The row is initialised, and not used otherwise while the item lives.
    unsafe fn get_mut<'a>(ptr: Self::Ptr, row: usize) -> Self::Mut<'a>
    where
        C: 'a;

    /// The first `len` values.
    ///
    /// # Safety
    ///
    /// The rows are initialised, and not written while the slice lives.
    unsafe fn slice<'a>(ptr: Self::Ptr, len: usize) -> Self::Slice<'a>
    where
        C: 'a;

    /// The first `len` values, for writing.
    ///
    /// # Safety
    ///
    /// The rows are initialised, and not used otherwise while the slice lives.
    unsafe fn slice_mut<'a>(ptr: Self::Ptr, len: usize) -> Self::SliceMut<'a>
    where
        C: 'a;

    /// Writes a row.
    ///
    /// # Safety
    ///
    /// The row is within the lanes' capacity, and nothing lives there.
    unsafe fn write(ptr: Self::Ptr, row: usize, value: C);

    /// Moves a value out.
    ///
    /// # Safety
    ///
    /// The row is initialised, and counts as moved out from now on.
    unsafe fn read(ptr: Self::Ptr, row: usize) -> C;

    /// Whether values can be copied lane by lane.
    const COPY: bool;

    /// What the lanes tell of the bytes of a value: calls the function for each lane with whether it is known that none is
    /// padding, and that any are a value.
    #[doc(hidden)]
    fn bytes(_: &mut dyn FnMut(bool, bool)) {}

    /// Whether the one lane is an array of `C`, so that a vector's block can become it.
    const WHOLE: bool;

    /// Moves `len` values in, which count as moved out of where they were.
    ///
    /// # Safety
    ///
    /// The values are initialised; the rows are within the lanes' capacity, and nothing lives there.
    unsafe fn write_many(ptr: Self::Ptr, row: usize, values: *const C, len: usize) {
        for at in 0..len {
            // SAFETY: the caller's promise.
            unsafe { Self::write(ptr, row + at, values.add(at).read()) };
        }
    }
}

pub(crate) mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Table {}
    impl Sealed for super::Soa {}
    impl Sealed for super::Pool {}
    impl Sealed for super::Linear {}

    /// A layout without marks of changes: what those with marks are built of.
    ///
    /// Code that looks for marks expects them in the last lane, and only there.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot be tracked by columns",
        label = "not one of `Table`, `Soa`, `Pool` and `Linear`"
    )]
    pub trait Untracked: Sealed {}
    impl Untracked for super::Table {}
    impl Untracked for super::Soa {}
    impl Untracked for super::Pool {}
    impl Untracked for super::Linear {}
}

/// A layout that stores values in tables: [`Table`] and [`Soa`], tracked or not.
#[diagnostic::on_unimplemented(
    message = "`{C}` is not stored in tables, and only tables have chunks",
    label = "`{C}` is not stored in tables",
    note = "use `iter` or `for_each`; `World::pool` and `World::pool_mut` have the values of a pool as a slice"
)]
pub trait TableLayout<C>: Layout<C> {}

impl<C> TableLayout<C> for Table where Table: Layout<C> {}
impl<C> TableLayout<C> for Soa where Soa: Layout<C> {}
impl<C, L: TableLayout<C>> TableLayout<C> for Tracked<L> where Tracked<L>: Layout<C> {}
impl<C, L: TableLayout<C>> TableLayout<C> for Watched<L> where Watched<L>: Layout<C> {}

/// Where the values of a component are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// In the table of the entity's signature, of which the component is part.
    Table,
    /// In a sparse set of the component's own, side by side.
    Pool,
    /// In an array of the component's own, at the entity's index.
    Linear,
}

/// One lane of values, in the table of the entity's signature.
#[derive(Debug)]
pub enum Table {}

/// One lane for each field, in the table of the entity's signature. For `Copy` structs with `derive(Soa)`.
#[derive(Debug)]
pub enum Soa {}

/// A sparse set of the component's own: adding and removing it moves nothing else and makes no table.
#[derive(Debug)]
pub enum Pool {}

/// An array of the component's own, with a place for every entity and a bit that says whether it has the component.
#[derive(Debug)]
pub enum Linear {}

unsafe fn drop_value<C>(value: *mut u8) {
    // SAFETY: the caller has a value of `C` there, which it gives up.
    unsafe { value.cast::<C>().drop_in_place() };
}

/// How values of a component are cloned.
pub(crate) fn cloning<C: Component>() -> Option<Cloning> {
    match C::Layout::COPY {
        true => Some(Cloning::Bytes),
        false if C::PLAIN.and_then(|plain| plain.of(false, C::FIELDS)).is_some() => Some(Cloning::Bytes),
        false => C::CLONE.map(|_| Cloning::Value(clone_value::<C>)),
    }
}

/// What is known of the bytes of a component's values. Those of marks, in a lane beside them, may be any.
pub(crate) fn bytes<C: Component>() -> ByteInfo {
    if let Some(known) = C::PLAIN.and_then(|plain| plain.of(C::Layout::COPY, C::FIELDS)) {
        return known;
    }
    if !C::Layout::COPY {
        return ByteInfo::new(Bytes::Unknown, C::FIELDS);
    }
    let mut known = Bytes::Any;
    C::Layout::bytes(&mut |whole, any| {
        known = known.min(match (whole, any) {
            (false, _) => Bytes::Unknown,
            (true, false) => Bytes::Whole,
            (true, true) => Bytes::Any,
        });
    });
    ByteInfo::new(known, C::FIELDS)
}

/// Clones a value.
///
/// # Safety
///
/// The first is a value of `C`, the second a place for one.
unsafe fn clone_value<C: Component>(from: *const u8, to: *mut u8) {
    let Some(clone) = C::CLONE else { unreachable!("named for components that can be cloned") };
    // SAFETY: the caller's promise.
    unsafe { to.cast::<C>().write(clone(&*from.cast::<C>())) };
}

/// Notes, where it is asked for, that a row is written.
///
/// # Safety
///
/// The lanes are the component's, the row is within their capacity, and nobody else writes any of their rows, or looks at
/// their marks, meanwhile.
#[inline(always)]
pub(crate) unsafe fn mark_row<C: Component>(lane: *const Lane, row: usize) {
    if C::Layout::LANES > 0 {
        // SAFETY: the caller's promise.
        unsafe { (*lane).mark(row as u32) };
    }
}

/// Like [`mark_row`], but other threads may mark rows of the same lanes at the same time, in this way.
///
/// # Safety
///
/// The lanes are the component's, and the row is within their capacity. Meanwhile nobody looks at their marks, or sets them
/// in another way.
#[inline]
pub(crate) unsafe fn mark_row_shared<C: Component>(lane: *const Lane, row: usize) {
    if C::Layout::LANES > 0 {
        // SAFETY: the caller's promise.
        unsafe { (*lane).mark_shared(row as u32) };
    }
}

/// Moves a value into a row of its lanes.
///
/// # Safety
///
/// There is a value of `C`, which counts as moved out; the lanes are the component's, and nothing lives at the row,
/// which is within their capacity. The clock is there.
pub(crate) unsafe fn put_value<C: Component>(lanes: *mut Lane, row: usize, value: *const u8, clock: *const Clock) {
    // SAFETY: the caller's promise.
    unsafe { C::Layout::write(C::Layout::ptr(lanes, RunTicks::of::<C>(clock)), row, value.cast::<C>().read()) };
}

/// Shows the entities in a value.
///
/// # Safety
///
/// The lanes are the component's, the row is in use, and nobody else uses it meanwhile.
pub(crate) unsafe fn visit_value<C: Component>(lanes: *mut Lane, row: usize, each: &mut dyn FnMut(&mut Entity)) {
    let Some(visit) = C::ENTITIES else { return };
    // SAFETY: the caller's promise. A value that lies in one lane, or nowhere, is changed in place; one in several lanes is
    // `Copy`, and so can be read without being moved out.
    unsafe {
        if !C::Layout::COPY {
            let lane =
                if size_of::<C>() == 0 { NonNull::<C>::dangling().as_ptr() } else { (*lanes).ptr().as_ptr().cast() };
            return visit(&mut *lane.add(row), each);
        }
        let ptr = C::Layout::ptr(lanes, RunTicks::READ);
        let mut value = C::Layout::read(ptr, row);
        visit(&mut value, each);
        C::Layout::write(ptr, row, value);
    }
}

/// Moves a value of a component of run time into a row of its lane.
///
/// # Safety
///
/// As for [`put_value`]; a component without data has no lane, and nothing is moved.
pub(crate) unsafe fn put_bytes(lanes: *mut Lane, row: usize, value: *const u8, _: *const Clock) {
    // SAFETY: the caller's promise.
    unsafe {
        let size = (*lanes).row_size();
        core::ptr::copy_nonoverlapping(value, (*lanes).ptr().as_ptr().add(row * size), size);
    }
}

/// In the place of [`put_bytes`] for components without data.
///
/// # Safety
///
/// None is needed.
pub(crate) unsafe fn put_nothing(_: *mut Lane, _: usize, _: *const u8, _: *const Clock) {}

macro_rules! one_lane {
    ($($layout:ident)*) => {$(
        // SAFETY: one lane of `C`, or none where `C` has no size: then the pointer dangles, as references to such values do.
        unsafe impl<C: 'static> Layout<C> for $layout {
            type Ref<'a> = &'a C;
            type Mut<'a> = &'a mut C;
            type Slice<'a> = &'a [C];
            type SliceMut<'a> = &'a mut [C];
            type Ptr = NonNull<C>;
            const KIND: Kind = Kind::$layout;
            const LANES: usize = if size_of::<C>() == 0 { 0 } else { 1 };
            const DROP: Option<DropFn> = if core::mem::needs_drop::<C>() { Some(drop_value::<C>) } else { None };

            fn lanes(each: &mut dyn FnMut(core::alloc::Layout)) {
                if <Self as Layout<C>>::LANES > 0 {
                    each(core::alloc::Layout::new::<C>());
                }
            }

            #[inline(always)]
            unsafe fn ptr(lanes: *const Lane, _: RunTicks) -> NonNull<C> {
                if size_of::<C>() == 0 {
                    return NonNull::dangling();
                }
                // SAFETY: a lane of this component.
                unsafe { (*lanes).ptr().cast() }
            }

            unsafe fn get_in<'a>(block: *const u8) -> &'a C {
                if size_of::<C>() == 0 {
                    // SAFETY: a value without a size is anywhere.
                    return unsafe { NonNull::dangling().as_ref() };
                }
                // SAFETY: the caller's promise.
                unsafe { &*block.cast() }
            }

            fn show(value: &C) -> &C {
                value
            }

            #[inline(always)]
            unsafe fn get<'a>(ptr: NonNull<C>, row: usize) -> &'a C {
                // SAFETY: the caller's promise.
                unsafe { ptr.add(row).as_ref() }
            }

            #[inline(always)]
            unsafe fn get_mut<'a>(ptr: NonNull<C>, row: usize) -> &'a mut C {
                // SAFETY: the caller's promise.
                unsafe { ptr.add(row).as_mut() }
            }

            #[inline(always)]
            unsafe fn slice<'a>(ptr: NonNull<C>, len: usize) -> &'a [C] {
                // SAFETY: the caller's promise.
                unsafe { core::slice::from_raw_parts(ptr.as_ptr(), len) }
            }

            #[inline(always)]
            unsafe fn slice_mut<'a>(ptr: NonNull<C>, len: usize) -> &'a mut [C] {
                // SAFETY: the caller's promise.
                unsafe { core::slice::from_raw_parts_mut(ptr.as_ptr(), len) }
            }

            #[inline(always)]
            unsafe fn write(ptr: NonNull<C>, row: usize, value: C) {
                // SAFETY: the caller's promise.
                unsafe { ptr.add(row).write(value) };
            }

            #[inline(always)]
            unsafe fn read(ptr: NonNull<C>, row: usize) -> C {
                // SAFETY: the caller's promise.
                unsafe { ptr.add(row).read() }
            }

            const COPY: bool = false;
            const WHOLE: bool = size_of::<C>() > 0;

            #[inline]
            unsafe fn write_many(ptr: NonNull<C>, row: usize, values: *const C, len: usize) {
                // SAFETY: the caller's promise; the lane is not where the values come from.
                unsafe { core::ptr::copy_nonoverlapping(values, ptr.add(row).as_ptr(), len) };
            }
        }
    )*};
}
one_lane!(Table Pool Linear);

// SAFETY: the lanes are the leaves of the row's shape, in its order; values that are `Copy` need no drop. It is the values
// of the lanes that must be: whoever implements `SoaRow` by hand may take a `Copy` struct apart into anything.
unsafe impl<C: SoaRow + Copy + 'static> Layout<C> for Soa
where
    <C::Shape as Shape>::Values: Copy + Send + Sync + 'static,
{
    type Ref<'a> = C;
    type Mut<'a> = soa::Mut<'a, C>;
    type Slice<'a> = soa::Lanes<'a, C>;
    type SliceMut<'a> = soa::LanesMut<'a, C>;
    type Ptr = <C::Shape as Shape>::Ptrs;
    const KIND: Kind = Kind::Table;
    const LANES: usize = C::Shape::LANES;
    const DROP: Option<DropFn> = None;

    fn lanes(each: &mut dyn FnMut(core::alloc::Layout)) {
        C::Shape::layouts(&mut |lane| each(lane));
    }

    fn bytes(each: &mut dyn FnMut(bool, bool)) {
        C::Shape::scalars(each);
    }

    #[inline(always)]
    unsafe fn ptr(lanes: *const Lane, _: RunTicks) -> Self::Ptr {
        let mut at = lanes;
        // SAFETY: the lanes of this component, of which the shape asks for one after another, in the same order.
        unsafe {
            C::Shape::pointers(&mut |_| {
                let ptr = (*at).ptr();
                at = at.add(1);
                ptr
            })
        }
    }

    unsafe fn get_in<'a>(block: *const u8) -> C
    where
        C: 'a,
    {
        let mut at = 0_usize;
        // SAFETY: the block has a row of each lane, for which the shape asks one after another, in the same order; and it
        // is not at zero.
        unsafe {
            let ptr = C::Shape::pointers(&mut |lane| {
                at = at.next_multiple_of(lane.align());
                let ptr = NonNull::new_unchecked(block.cast_mut().add(at));
                at += lane.size();
                ptr
            });
            C::join(C::Shape::read(ptr, 0))
        }
    }

    fn show(value: &C) -> C {
        *value
    }

    #[inline(always)]
    unsafe fn get<'a>(ptr: Self::Ptr, row: usize) -> C
    where
        C: 'a,
    {
        // SAFETY: the caller's promise; `Copy` values can be read without being moved out.
        unsafe { C::join(C::Shape::read(ptr, row)) }
    }

    #[inline(always)]
    unsafe fn get_mut<'a>(ptr: Self::Ptr, row: usize) -> soa::Mut<'a, C>
    where
        C: 'a,
    {
        // SAFETY: the caller's promise.
        unsafe { C::row_mut(C::Shape::row_mut(ptr, row)) }
    }

    #[inline(always)]
    unsafe fn slice<'a>(ptr: Self::Ptr, len: usize) -> soa::Lanes<'a, C>
    where
        C: 'a,
    {
        // SAFETY: the caller's promise.
        unsafe { C::lanes(C::Shape::lanes(ptr, 0, len)) }
    }

    #[inline(always)]
    unsafe fn slice_mut<'a>(ptr: Self::Ptr, len: usize) -> soa::LanesMut<'a, C>
    where
        C: 'a,
    {
        // SAFETY: the caller's promise.
        unsafe { C::lanes_mut(C::Shape::lanes_mut(ptr, 0, len)) }
    }

    #[inline(always)]
    unsafe fn write(ptr: Self::Ptr, row: usize, value: C) {
        // SAFETY: the caller's promise.
        unsafe { C::Shape::write(ptr, row, value.split()) };
    }

    #[inline(always)]
    unsafe fn read(ptr: Self::Ptr, row: usize) -> C {
        // SAFETY: the caller's promise.
        unsafe { C::join(C::Shape::read(ptr, row)) }
    }

    const COPY: bool = true;
    const WHOLE: bool = false;
}
