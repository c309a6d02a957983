//! [`Layout`]: the storage of a component's values, and the types of references to them.
//!
//! A component names its layout ([`Component::Layout`]), and the layout owns the item types. The item of `&C` is a reference for
//! most layouts. For a soa component it is the value itself, joined from its lanes.
//!
//! | layout | storage | use it for a component that |
//! |---|---|---|
//! | [`Table`] (the default) | a column in the table of the archetype | is iterated together with others |
//! | [`Soa`] | a column for each field in that table | is iterated field by field |
//! | [`Pool`] | a sparse set | is often inserted and removed, or is rare |
//! | [`Linear`] | an array indexed by slot | nearly all entities have, and that is looked up by entity |
//!
//! [`RowTracked`] and [`ColumnTracked`] add [change detection](crate::change_detection) to one of these.
//!
//! A *lane* is an untyped array of equal rows ([`phalanx_store::raw::Lane`]). A column is one lane; a soa component has a lane for
//! each field. The last lanes of a tracked component are for its change ticks: one if it is tracked by column, two by row.
#![allow(unsafe_code)]

use crate::change_detection::{Clock, Tick};
pub use crate::change_detection::{ColumnTracked, RowTracked, Track, TracksAdditions, TracksChanges, TracksColumns};
#[doc(hidden)]
pub use crate::change_detection::{ColumnTrackedPtr, RowTrackedPtr, RunTicks};
use crate::component::{Cloning, Component, DropFn};
use crate::plain::{ByteInfo, Bytes};
pub use crate::plain::{PlainLayout, PlainShape};
use core::marker::PhantomData;
use core::ptr::NonNull;
use phalanx_store::Entity;
use phalanx_store::raw::Lane;
use phalanx_store::soa::{self, Shape, SoaRow};

/// The storage of a component's values.
///
/// The trait is sealed. Its implementations are [`Table`], [`Soa`], [`Pool`] and [`Linear`], and [`RowTracked`] and [`ColumnTracked`] with
/// one of these.
///
/// # Safety
///
/// The lanes of a component are those that `lanes` lists, in that order. The other functions access only the rows that they
/// are given.
pub unsafe trait Layout<C>: sealed::Sealed + Sized + 'static {
    /// The item of `&C`.
    type Ref<'a>
    where
        C: 'a;
    /// The item of `&mut C`.
    type Mut<'a>
    where
        C: 'a;
    /// The values of a table.
    type Slice<'a>
    where
        C: 'a;
    /// The values of a table, mutably.
    type SliceMut<'a>
    where
        C: 'a;
    /// The pointers to the first row of each lane.
    #[doc(hidden)]
    type Ptr: Copy + 'static;
    /// The kind of storage.
    const KIND: Kind;
    /// The number of lanes: zero for a component without data.
    #[doc(hidden)]
    const LANES: usize;
    /// Drops a value, given its address in the first lane. `None` if values need no drop.
    #[doc(hidden)]
    const DROP: Option<DropFn>;

    /// Calls `each` with the layout of a row of each lane.
    #[doc(hidden)]
    fn lanes(each: &mut dyn FnMut(core::alloc::Layout));

    /// How changes are tracked.
    const TRACK: Track = Track::None;

    /// Returns the pointers to the lanes that begin at `lanes`, for a run with these change ticks.
    ///
    /// # Safety
    ///
    /// At `lanes` there are `LANES` lanes of this component.
    #[doc(hidden)]
    unsafe fn ptr(lanes: *const Lane, ticks: RunTicks) -> Self::Ptr;

    /// Sets the change tick of the column, if the layout has one.
    ///
    /// # Safety
    ///
    /// At `lanes` there are `LANES` lanes of this component.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn touch(_lanes: *const Lane, _now: Tick) {}

    /// Replaces the value at a row and returns the old one.
    ///
    /// # Safety
    ///
    /// The row is initialised, and no other code uses it.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn replace(ptr: Self::Ptr, row: usize, value: C) -> C {
        // SAFETY: the row is initialised, by the caller's contract. After `read` it counts as moved out, so nothing is there.
        unsafe {
            let old = Self::read(ptr, row);
            Self::write(ptr, row, value);
            old
        }
    }

    /// Returns the value in a block that has a row of each lane, in sequence, each at its alignment.
    ///
    /// # Safety
    ///
    /// The block holds a value, which is not written while the item lives. The block has the alignment of the lanes.
    #[doc(hidden)]
    unsafe fn get_in<'a>(block: *const u8) -> Self::Ref<'a>
    where
        C: 'a;

    /// Returns the item of `&C` for a value that is not in a lane.
    #[doc(hidden)]
    fn show(value: &C) -> Self::Ref<'_>;

    /// Returns the value at a row.
    ///
    /// # Safety
    ///
    /// The row is initialised, and is not written while the item lives.
    #[doc(hidden)]
    unsafe fn get<'a>(ptr: Self::Ptr, row: usize) -> Self::Ref<'a>
    where
        C: 'a;

    /// Returns the value at a row, mutably.
    ///
    /// # Safety
    ///
    /// The row is initialised, and no other code uses it while the item lives.
    #[doc(hidden)]
    unsafe fn get_mut<'a>(ptr: Self::Ptr, row: usize) -> Self::Mut<'a>
    where
        C: 'a;

    /// Returns the first `len` values.
    ///
    /// # Safety
    ///
    /// The rows are initialised, and are not written while the slice lives.
    #[doc(hidden)]
    unsafe fn slice<'a>(ptr: Self::Ptr, len: usize) -> Self::Slice<'a>
    where
        C: 'a;

    /// Returns the first `len` values, mutably.
    ///
    /// # Safety
    ///
    /// The rows are initialised, and no other code uses them while the slice lives.
    #[doc(hidden)]
    unsafe fn slice_mut<'a>(ptr: Self::Ptr, len: usize) -> Self::SliceMut<'a>
    where
        C: 'a;

    /// Moves a value into a row.
    ///
    /// # Safety
    ///
    /// The row is within the lanes' capacity, and no value is there.
    #[doc(hidden)]
    unsafe fn write(ptr: Self::Ptr, row: usize, value: C);

    /// Moves a value out of a row.
    ///
    /// # Safety
    ///
    /// The row is initialised, and counts as moved out from now on.
    #[doc(hidden)]
    unsafe fn read(ptr: Self::Ptr, row: usize) -> C;

    /// Whether values can be copied lane by lane.
    #[doc(hidden)]
    const COPY: bool;

    /// Calls the function for each lane of a `COPY` layout, with two facts about its bytes.
    ///
    /// The first is `true` if it is known that no byte is padding, the second if any bytes are a valid value.
    #[doc(hidden)]
    fn bytes(_: &mut dyn FnMut(bool, bool)) {}

    /// Whether the only lane is an array of `C`, so that it can take over the block of a vector.
    #[doc(hidden)]
    const WHOLE: bool;

    /// Moves `len` values into the rows from `row` on.
    ///
    /// # Safety
    ///
    /// The values are initialised, and count as moved out from now on. The rows are within the lanes' capacity, and no values
    /// are there.
    #[doc(hidden)]
    unsafe fn write_many(ptr: Self::Ptr, row: usize, values: *const C, len: usize) {
        for at in 0..len {
            // SAFETY: the value is initialised and moved out once. The row is within the capacity, and no value is there. Both
            // by the caller's contract.
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

    /// A layout without change ticks, which a tracked layout can contain.
    ///
    /// Code that reads change ticks expects them in the last lanes, and only there.
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
impl<C, L: TableLayout<C>> TableLayout<C> for RowTracked<L> where RowTracked<L>: Layout<C> {}
impl<C, L: TableLayout<C>> TableLayout<C> for ColumnTracked<L> where ColumnTracked<L>: Layout<C> {}

/// The kind of storage of a component.
#[doc(alias = "StorageType")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The table of the entity's archetype, which the component is part of.
    Table,
    /// A sparse set: contiguous values, and an index from slots to positions.
    Pool,
    /// An array that is indexed by slot.
    Linear,
}

/// One lane of values, in the table of the entity's archetype.
#[derive(Debug)]
pub enum Table {}

/// One lane for each field, in the table of the entity's archetype. For `Copy` structs with `derive(Soa)`.
#[derive(Debug)]
pub enum Soa {}

/// A sparse set. Inserting or removing the component moves no other component, and creates no table.
#[doc(alias = "SparseSet")]
#[derive(Debug)]
pub enum Pool {}

/// An array with a row for every slot, and a presence bit for each.
#[derive(Debug)]
pub enum Linear {}

/// Drops the value at an address.
///
/// # Safety
///
/// A value of `C` is there, which counts as moved out from now on.
unsafe fn drop_value<C>(value: *mut u8) {
    // SAFETY: the value is initialised and is not used again, by the caller's contract.
    unsafe { value.cast::<C>().drop_in_place() };
}

/// Returns the way to clone values of a component, if there is one.
pub(crate) fn cloning<C: Component>() -> Option<Cloning> {
    match C::Layout::COPY {
        true => Some(Cloning::Bytes),
        false if C::PLAIN.and_then(|plain| plain.of(false, C::FIELDS)).is_some() => Some(Cloning::Bytes),
        false => C::CLONE.map(|_| Cloning::Value(clone_value::<C>)),
    }
}

/// Returns the known properties of the bytes of a component's values, without change ticks.
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

/// Writes a clone of the value at `from` to `to`.
///
/// # Safety
///
/// `from` points to a value of `C`, and `to` is valid for writing one.
unsafe fn clone_value<C: Component>(from: *const u8, to: *mut u8) {
    let Some(clone) = C::CLONE else { unreachable!("used for components that can be cloned") };
    // SAFETY: there is a value to read, and memory to write one, by the caller's contract.
    unsafe { to.cast::<C>().write(clone(&*from.cast::<C>())) };
}

/// Sets the dirty bit of a row, if dirty bits are on.
///
/// With `SHARED`, other threads may call this function with `SHARED` for rows of the same lanes at the same time.
///
/// # Safety
///
/// - The lanes are the component's, and the row is within their capacity.
/// - During the call no other code reads the dirty bits of the lanes, or sets them in another way. Without `SHARED`, no other
///   code writes a row of the lanes either.
#[inline(always)]
pub(crate) unsafe fn set_row_dirty<C: Component, const SHARED: bool>(lane: *const Lane, row: usize) {
    if C::Layout::LANES > 0 {
        // SAFETY: there is a lane, the row is within its capacity, and no other code accesses its dirty bits in another way:
        // all by the caller's contract.
        unsafe { if SHARED { (*lane).set_dirty_shared(row as u32) } else { (*lane).set_dirty(row as u32) } };
    }
}

/// A component of one row, in a world that is borrowed for `'w`: type, lanes and row tied together.
pub(crate) struct ComponentRef<'w, C> {
    lanes: *const Lane,
    row: usize,
    world: PhantomData<&'w C>,
}

impl<'w, C: Component> ComponentRef<'w, C> {
    /// Creates a reference to the value at a row.
    ///
    /// # Safety
    ///
    /// The lanes are those of `C`, and the row is in use. For `'w` only [`get_mut`](ComponentRef::get_mut) gives access to
    /// write it.
    #[inline(always)]
    pub(crate) unsafe fn new(lanes: *const Lane, row: usize) -> ComponentRef<'w, C> {
        ComponentRef { lanes, row, world: PhantomData }
    }

    /// Returns the lanes and the row.
    #[inline(always)]
    pub(crate) fn location(self) -> (*const Lane, usize) {
        (self.lanes, self.row)
    }

    /// Returns the value.
    #[inline(always)]
    pub(crate) fn get(self) -> <C::Layout as Layout<C>>::Ref<'w> {
        // SAFETY: the lanes are those of `C`, the row is in use, and it is not written for `'w`, by the contract of `new`.
        unsafe { C::Layout::get(C::Layout::ptr(self.lanes, RunTicks::READ), self.row) }
    }

    /// Returns the value mutably. Sets its dirty bit and, if it is tracked by column, the change tick.
    ///
    /// With `SHARED`, other threads may call this function with `SHARED` for other rows at the same time.
    ///
    /// # Safety
    ///
    /// - No other code uses the value for `'w`.
    /// - During the call no other code reads the dirty bits of the lanes, or sets them in another way. Without `SHARED`, no
    ///   other code writes a row of the lanes either.
    #[inline(always)]
    pub(crate) unsafe fn get_mut<const SHARED: bool>(self, clock: &Clock) -> <C::Layout as Layout<C>>::Mut<'w> {
        // SAFETY: the lanes are those of `C` and the row is in use, by the contract of `new`. No other code uses the value, and
        // dirty bits are set only in this way, by the caller's contract. Ticks of columns are atomic, and those of a row belong
        // to its user.
        unsafe {
            set_row_dirty::<C, SHARED>(self.lanes, self.row);
            let ticks = RunTicks::of::<C>(clock);
            C::Layout::touch(self.lanes, ticks.now);
            C::Layout::get_mut(C::Layout::ptr(self.lanes, ticks), self.row)
        }
    }
}

/// Moves the value at an address into a row of its lanes.
///
/// # Safety
///
/// - `value` points to a value of `C`, which counts as moved out from now on.
/// - The lanes are the component's. The row is within their capacity, and no value is there.
/// - `clock` points to a clock.
pub(crate) unsafe fn write_value<C: Component>(lanes: *mut Lane, row: usize, value: *const u8, clock: *const Clock) {
    // SAFETY: the value is initialised, the lanes are those of `C` with a vacant row, and there is a clock: all by the
    // caller's contract.
    unsafe { C::Layout::write(C::Layout::ptr(lanes, RunTicks::of::<C>(clock)), row, value.cast::<C>().read()) };
}

/// Calls a function with the address of the value at a row. A value in several lanes is joined first.
///
/// # Safety
///
/// The lanes are the component's, the row is in use, and it is not written during the call.
#[cfg(feature = "reflect")]
pub(crate) unsafe fn with_value<C: Component>(lanes: *const Lane, row: usize, see: &mut dyn FnMut(*const u8)) {
    // SAFETY: the lanes are those of `C`, and the row is in use and not written, by the caller's contract. A value in several
    // lanes is `Copy`: it is read without being moved out. Any other value is in the first lane, or has no size.
    unsafe {
        if C::Layout::COPY {
            let value = C::Layout::read(C::Layout::ptr(lanes, RunTicks::READ), row);
            see((&raw const value).cast());
            core::mem::forget(value);
        } else if size_of::<C>() == 0 {
            see(NonNull::<C>::dangling().as_ptr().cast());
        } else {
            see((*lanes).ptr().as_ptr().cast::<C>().add(row).cast());
        }
    }
}

/// Visits the entities in the value at a row. Change ticks stay as they are.
///
/// # Safety
///
/// The lanes are the component's, the row is in use, and no other code uses it during the call.
pub(crate) unsafe fn visit_value<C: Component>(lanes: *mut Lane, row: usize, each: &mut dyn FnMut(&mut Entity)) {
    let Some(visit) = C::ENTITIES else { return };
    // SAFETY: the lanes are those of `C`, and the row is in use by this call alone, by the caller's contract. A value in one
    // lane, or without a size, is changed in place. A value in several lanes is `Copy`: it is read without being moved out.
    // Writing it with the change tick that its column has leaves the tick as it is.
    unsafe {
        if !C::Layout::COPY {
            let lane =
                if size_of::<C>() == 0 { NonNull::<C>::dangling().as_ptr() } else { (*lanes).ptr().as_ptr().cast() };
            return visit(&mut *lane.add(row), each);
        }
        let now = match C::Layout::TRACK {
            Track::Column => Tick((*lanes.add(C::Layout::LANES - 1)).version() as u32),
            Track::None | Track::Row => RunTicks::READ.now,
        };
        let ptr = C::Layout::ptr(lanes, RunTicks { now, ..RunTicks::READ });
        let mut value = C::Layout::read(ptr, row);
        visit(&mut value, each);
        C::Layout::write(ptr, row, value);
    }
}

/// Moves the value of a run-time component into a row of its lane.
///
/// # Safety
///
/// `value` points to a value of the component, which counts as moved out from now on. The component has one lane, which is at
/// `lanes`. The row is within its capacity, and no value is there.
pub(crate) unsafe fn write_bytes(lanes: *mut Lane, row: usize, value: *const u8, _: *const Clock) {
    // SAFETY: the value has the size of a row of the lane, and the row is within the capacity, by the caller's contract. The
    // value is not in the lane.
    unsafe {
        let size = (*lanes).row_size();
        core::ptr::copy_nonoverlapping(value, (*lanes).ptr().as_ptr().add(row * size), size);
    }
}

/// Does nothing. Used instead of [`write_bytes`] for components without data.
///
/// # Safety
///
/// There are no conditions; the function has the type of [`write_value`].
pub(crate) unsafe fn write_nothing(_: *mut Lane, _: usize, _: *const u8, _: *const Clock) {}

macro_rules! one_lane {
    ($($layout:ident)*) => {$(
        // SAFETY: one lane of `C`, or none if `C` has no size. Then the pointer dangles, as references to such values may.
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
                // SAFETY: there is a lane of this component, by the caller's contract.
                unsafe { (*lanes).ptr().cast() }
            }

            unsafe fn get_in<'a>(block: *const u8) -> &'a C {
                let value = if size_of::<C>() == 0 { core::ptr::dangling() } else { block.cast::<C>() };
                // SAFETY: the block holds a value of `C`, aligned and not written for `'a`, by the caller's contract. A value
                // without a size can be read at any address.
                unsafe { &*value }
            }

            fn show(value: &C) -> &C {
                value
            }

            #[inline(always)]
            unsafe fn get<'a>(ptr: NonNull<C>, row: usize) -> &'a C {
                // SAFETY: the row is initialised and not written for `'a`, by the caller's contract.
                unsafe { ptr.add(row).as_ref() }
            }

            #[inline(always)]
            unsafe fn get_mut<'a>(ptr: NonNull<C>, row: usize) -> &'a mut C {
                // SAFETY: the row is initialised and not used otherwise for `'a`, by the caller's contract.
                unsafe { ptr.add(row).as_mut() }
            }

            #[inline(always)]
            unsafe fn slice<'a>(ptr: NonNull<C>, len: usize) -> &'a [C] {
                // SAFETY: the rows are initialised and not written for `'a`, by the caller's contract.
                unsafe { core::slice::from_raw_parts(ptr.as_ptr(), len) }
            }

            #[inline(always)]
            unsafe fn slice_mut<'a>(ptr: NonNull<C>, len: usize) -> &'a mut [C] {
                // SAFETY: the rows are initialised and not used otherwise for `'a`, by the caller's contract.
                unsafe { core::slice::from_raw_parts_mut(ptr.as_ptr(), len) }
            }

            #[inline(always)]
            unsafe fn write(ptr: NonNull<C>, row: usize, value: C) {
                // SAFETY: the row is within the lane's capacity, by the caller's contract.
                unsafe { ptr.add(row).write(value) };
            }

            #[inline(always)]
            unsafe fn read(ptr: NonNull<C>, row: usize) -> C {
                // SAFETY: the row is initialised and counts as moved out, by the caller's contract.
                unsafe { ptr.add(row).read() }
            }

            const COPY: bool = false;
            const WHOLE: bool = size_of::<C>() > 0;

            #[inline]
            unsafe fn write_many(ptr: NonNull<C>, row: usize, values: *const C, len: usize) {
                // SAFETY: the values are initialised, and the rows are within the lane's capacity, by the caller's contract. The
                // values are not in the lane: no values are at the rows.
                unsafe { core::ptr::copy_nonoverlapping(values, ptr.add(row).as_ptr(), len) };
            }
        }
    )*};
}
one_lane!(Table Pool Linear);

// SAFETY: the lanes are the leaves of the row's shape, in its order. Values that are `Copy` need no drop. The bound is on the
// values of the lanes, because an implementation of `SoaRow` may split a `Copy` struct into values of any type.
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
        // SAFETY: the lanes are those of this component, by the caller's contract. The shape asks for them in order.
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
        // SAFETY: the block has a row of each lane, by the caller's contract, so its address is not zero. The shape asks for
        // the lanes in order.
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
        // SAFETY: the row is initialised, by the caller's contract. Its values are `Copy`: reading does not move them out.
        unsafe { C::join(C::Shape::read(ptr, row)) }
    }

    #[inline(always)]
    unsafe fn get_mut<'a>(ptr: Self::Ptr, row: usize) -> soa::Mut<'a, C>
    where
        C: 'a,
    {
        // SAFETY: the row is initialised and not used otherwise for `'a`, by the caller's contract.
        unsafe { C::row_mut(C::Shape::row_mut(ptr, row)) }
    }

    #[inline(always)]
    unsafe fn slice<'a>(ptr: Self::Ptr, len: usize) -> soa::Lanes<'a, C>
    where
        C: 'a,
    {
        // SAFETY: the rows are initialised and not written for `'a`, by the caller's contract.
        unsafe { C::lanes(C::Shape::lanes(ptr, 0, len)) }
    }

    #[inline(always)]
    unsafe fn slice_mut<'a>(ptr: Self::Ptr, len: usize) -> soa::LanesMut<'a, C>
    where
        C: 'a,
    {
        // SAFETY: the rows are initialised and not used otherwise for `'a`, by the caller's contract.
        unsafe { C::lanes_mut(C::Shape::lanes_mut(ptr, 0, len)) }
    }

    #[inline(always)]
    unsafe fn write(ptr: Self::Ptr, row: usize, value: C) {
        // SAFETY: the row is within the lanes' capacity, by the caller's contract.
        unsafe { C::Shape::write(ptr, row, value.split()) };
    }

    #[inline(always)]
    unsafe fn read(ptr: Self::Ptr, row: usize) -> C {
        // SAFETY: the row is initialised and counts as moved out, by the caller's contract.
        unsafe { C::join(C::Shape::read(ptr, row)) }
    }

    const COPY: bool = true;
    const WHOLE: bool = false;
}
