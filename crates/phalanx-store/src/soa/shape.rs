//! [`Shape`]: the lanes of a row type, as a tree.
//!
//! # Invariants
//!
//! - [`Shape`] is sealed: its implementations are the ones in this file, in `pair.rs` and in `nested.rs`, so the container
//!   may rely on them. The trait that a user (or the derive) implements, [`SoaRow`], is safe: it can only name shapes from
//!   here.
//! - `Ptrs` holds one pointer per lane, in lane order, each aligned for its element. That they point to memory is not
//!   an invariant of the type; every function that dereferences them asks for it.
//! - Only [`Shape::drop_rows`] and the methods of [`CloneLanes`] run user code.
#![allow(unsafe_code)]

use super::row::SoaRow;
use crate::raw::clone_to;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::marker::PhantomData;
use core::mem;
use core::ptr::{self, NonNull};
use core::slice;

mod sealed {
    pub trait Sealed {}
    impl Sealed for () {}
    impl<V> Sealed for super::Leaf<V> {}
    impl<R: super::SoaRow> Sealed for super::Nested<R> {}
    impl<A: super::Shape, B: super::Shape> Sealed for (A, B) {}
}

/// The shape of one lane of values of type `V`.
#[derive(Debug)]
pub struct Leaf<V>(PhantomData<V>);

/// The shape of a field with `#[soa(nested)]`: the lanes of the row type `R`.
#[derive(Debug)]
pub struct Nested<R>(PhantomData<R>);

/// The lanes of a row type, as a tree: [`Leaf`], [`Nested`], a pair of shapes, or `()` for no lanes at all.
///
/// The derive prints the fields as a balanced tree of pairs. So the depth of the type grows with the logarithm of the
/// number of fields. All code that dereferences lane pointers is written here, once. The shapes themselves can only be
/// combined, not implemented.
///
/// # Safety
///
/// It cannot be implemented outside of this crate. An implementation visits its lanes in one fixed order, and has pointers
/// for all of them in `Ptrs`. It touches exactly the rows that its functions name.
pub unsafe trait Shape: sealed::Sealed {
    /// A row, split: the same tree with a value at each leaf.
    type Values;
    /// One pointer per lane.
    type Ptrs: Copy;
    /// A reference per lane.
    type Ref<'a>
    where
        Self: 'a;
    /// A mutable reference per lane.
    type Mut<'a>
    where
        Self: 'a;
    /// A slice per lane.
    type Lanes<'a>: Copy
    where
        Self: 'a;
    /// A mutable slice per lane.
    type LanesMut<'a>
    where
        Self: 'a;
    /// A `Vec` per lane.
    type Columns;

    /// The number of lanes.
    const LANES: usize;
    /// The number of fields of the row itself; a nested row is one.
    const FIELDS: usize;
    /// The size of one row in bytes, over all lanes.
    const ROW: usize;
    /// The size of the widest element in bytes.
    const WIDEST: usize;
    /// The strictest alignment of an element.
    const ALIGN: usize;
    /// Dangling, aligned pointers, for no rows and for zero-sized rows.
    const DANGLING: Self::Ptrs;

    /// Assigns the pointers one by one. An assignment of the whole is a copy of bytes, through which the compiler does not follow
    /// them into registers.
    fn set_pointers(to: &mut Self::Ptrs, from: &Self::Ptrs);

    /// Calls `each` with the layout of an element of each lane, in lane order.
    fn layouts<F: FnMut(Layout)>(each: &mut F);

    /// Calls `each` for each lane, in lane order. The arguments say whether its elements are scalars, without padding, and
    /// whether they are numbers, for which all bytes are valid.
    fn scalars(each: &mut dyn FnMut(bool, bool));

    /// Takes one pointer per lane from `next`, in lane order.
    ///
    /// # Safety
    ///
    /// Each pointer is aligned for the layout `next` was called with.
    unsafe fn pointers<F: FnMut(Layout) -> NonNull<u8>>(next: &mut F) -> Self::Ptrs;

    /// Writes a row, without dropping what was there.
    ///
    /// # Safety
    ///
    /// In each lane, element `row` is within the allocation and may be written.
    unsafe fn write(ptrs: Self::Ptrs, row: usize, values: Self::Values);

    /// Moves a row out.
    ///
    /// # Safety
    ///
    /// In each lane, element `row` is initialised; the caller no longer treats it as a value afterwards.
    unsafe fn read(ptrs: Self::Ptrs, row: usize) -> Self::Values;

    /// Returns references to a row.
    ///
    /// # Safety
    ///
    /// In each lane, element `row` is initialised, and for `'a` it is neither written nor freed.
    unsafe fn row<'a>(ptrs: Self::Ptrs, row: usize) -> Self::Ref<'a>
    where
        Self: 'a;

    /// Returns mutable references to a row.
    ///
    /// # Safety
    ///
    /// In each lane, element `row` is initialised, and for `'a` it is reached through the result alone.
    unsafe fn row_mut<'a>(ptrs: Self::Ptrs, row: usize) -> Self::Mut<'a>
    where
        Self: 'a;

    /// Returns slices of the rows `start..start + len`.
    ///
    /// # Safety
    ///
    /// In each lane, the rows are initialised, and for `'a` they are neither written nor freed.
    unsafe fn lanes<'a>(ptrs: Self::Ptrs, start: usize, len: usize) -> Self::Lanes<'a>
    where
        Self: 'a;

    /// Returns mutable slices of the rows `start..start + len`.
    ///
    /// # Safety
    ///
    /// In each lane, the rows are initialised, and for `'a` they are reached through the result alone.
    unsafe fn lanes_mut<'a>(ptrs: Self::Ptrs, start: usize, len: usize) -> Self::LanesMut<'a>
    where
        Self: 'a;

    /// Moves `count` rows as bytes, from row `from` of `src` to row `to` of `dst`, the last lane first; the two may
    /// overlap within a lane.
    ///
    /// # Safety
    ///
    /// In each lane, the source rows may be read and the target rows written; the write of a lane does not touch source
    /// rows of a lane before it.
    unsafe fn copy(src: Self::Ptrs, from: usize, dst: Self::Ptrs, to: usize, count: usize);

    /// Exchanges two rows.
    ///
    /// # Safety
    ///
    /// In each lane, both elements are within the allocation and initialised.
    unsafe fn swap(ptrs: Self::Ptrs, a: usize, b: usize);

    /// Drops the rows `start..start + len` in place, lane by lane, even if a destructor panics. A second panic aborts.
    ///
    /// # Safety
    ///
    /// In each lane, the rows are initialised, and no code regards them as values any more: user code runs.
    unsafe fn drop_rows(ptrs: Self::Ptrs, start: usize, len: usize);

    /// Moves row `order(i)` to row `i`, for each `i` below `len`, by way of `scratch`.
    ///
    /// # Safety
    ///
    /// In each lane, the first `len` rows are initialised; `order` is a permutation of them that neither panics nor
    /// touches the lanes; `scratch` is aligned to `ALIGN` and has a size of at least `len * WIDEST` bytes.
    unsafe fn permute<F: Fn(usize) -> usize>(ptrs: Self::Ptrs, len: usize, order: &F, scratch: NonNull<u8>);

    /// Calls `each` with the length of each slice, in lane order.
    fn lane_lens<'a>(lanes: Self::Lanes<'a>, each: &mut dyn FnMut(usize))
    where
        Self: 'a;

    /// Calls `each` with the length of each column, in lane order.
    fn column_lens(columns: &Self::Columns, each: &mut dyn FnMut(usize));

    /// Moves the values of the columns to the rows from `at` on.
    ///
    /// # Safety
    ///
    /// In each lane, as many elements from `at` on as the column has are within the allocation and may be written.
    unsafe fn adopt(columns: Self::Columns, ptrs: Self::Ptrs, at: usize);
}

/// A shape whose values can be cloned: every field is `Clone`.
///
/// # Safety
///
/// It cannot be implemented outside of this crate. When `clone_rows` returns, the rows that it names are initialised; when
/// it panics, none of them is.
#[diagnostic::on_unimplemented(message = "not every field of this row is `Clone`")]
pub unsafe trait CloneLanes: Shape {
    /// Clones one row.
    fn clone_row<'a>(row: Self::Ref<'a>) -> Self::Values
    where
        Self: 'a;

    /// Clones the slices to the rows from `at` on. When a `Clone` panics, the clones are dropped.
    ///
    /// # Safety
    ///
    /// The slices have one length. In each lane, as many elements from `at` on as the slice has are within the allocation and
    /// may be written. They are not part of the slices. User code runs.
    unsafe fn clone_rows<'a>(lanes: Self::Lanes<'a>, ptrs: Self::Ptrs, at: usize)
    where
        Self: 'a;
}

// SAFETY: there are no lanes.
#[allow(clippy::unused_unit)]
unsafe impl Shape for () {
    type Values = ();
    type Ptrs = ();
    type Ref<'a> = ();
    type Mut<'a> = ();
    type Lanes<'a> = ();
    type LanesMut<'a> = ();
    type Columns = ();
    const LANES: usize = 0;
    const FIELDS: usize = 0;
    const ROW: usize = 0;
    const WIDEST: usize = 0;
    const ALIGN: usize = 1;
    const DANGLING: () = ();
    fn set_pointers(_: &mut (), _: &()) {}

    fn layouts<F: FnMut(Layout)>(_: &mut F) {}
    fn scalars(_: &mut dyn FnMut(bool, bool)) {}
    unsafe fn pointers<F: FnMut(Layout) -> NonNull<u8>>(_: &mut F) -> () {}
    unsafe fn write((): (), _: usize, (): ()) {}
    unsafe fn read((): (), _: usize) -> () {}
    unsafe fn row<'a>((): (), _: usize) -> ()
    where
        Self: 'a,
    {
    }
    unsafe fn row_mut<'a>((): (), _: usize) -> ()
    where
        Self: 'a,
    {
    }
    unsafe fn lanes<'a>((): (), _: usize, _: usize) -> ()
    where
        Self: 'a,
    {
    }
    unsafe fn lanes_mut<'a>((): (), _: usize, _: usize) -> ()
    where
        Self: 'a,
    {
    }
    unsafe fn copy((): (), _: usize, (): (), _: usize, _: usize) {}
    unsafe fn swap((): (), _: usize, _: usize) {}
    unsafe fn drop_rows((): (), _: usize, _: usize) {}
    unsafe fn permute<F: Fn(usize) -> usize>((): (), _: usize, _: &F, _: NonNull<u8>) {}
    fn lane_lens<'a>((): (), _: &mut dyn FnMut(usize))
    where
        Self: 'a,
    {
    }
    fn column_lens((): &(), _: &mut dyn FnMut(usize)) {}
    unsafe fn adopt((): (), (): (), _: usize) {}
}

// SAFETY: there are no rows to clone.
unsafe impl CloneLanes for () {
    fn clone_row<'a>((): ())
    where
        Self: 'a,
    {
    }
    unsafe fn clone_rows<'a>((): (), (): (), _: usize)
    where
        Self: 'a,
    {
    }
}

// SAFETY: the one lane is visited by each function, at the rows named.
unsafe impl<V> Shape for Leaf<V> {
    type Values = V;
    type Ptrs = NonNull<V>;
    type Ref<'a>
        = &'a V
    where
        Self: 'a;
    type Mut<'a>
        = &'a mut V
    where
        Self: 'a;
    type Lanes<'a>
        = &'a [V]
    where
        Self: 'a;
    type LanesMut<'a>
        = &'a mut [V]
    where
        Self: 'a;
    type Columns = Vec<V>;
    const LANES: usize = 1;
    const FIELDS: usize = 1;
    const ROW: usize = size_of::<V>();
    const WIDEST: usize = size_of::<V>();
    const ALIGN: usize = align_of::<V>();
    const DANGLING: NonNull<V> = NonNull::dangling();
    #[inline(always)]
    fn set_pointers(to: &mut NonNull<V>, from: &NonNull<V>) {
        *to = *from;
    }

    #[inline]
    fn layouts<F: FnMut(Layout)>(each: &mut F) {
        each(Layout::new::<V>());
    }

    fn scalars(each: &mut dyn FnMut(bool, bool)) {
        let (scalar, number) = super::scalar::known::<V>();
        each(scalar, number);
    }

    #[inline]
    unsafe fn pointers<F: FnMut(Layout) -> NonNull<u8>>(next: &mut F) -> NonNull<V> {
        next(Layout::new::<V>()).cast()
    }

    #[inline(always)]
    unsafe fn write(ptr: NonNull<V>, row: usize, value: V) {
        // SAFETY: element `row` is within the allocation and may be written.
        unsafe { ptr.add(row).write(value) };
    }

    #[inline(always)]
    unsafe fn read(ptr: NonNull<V>, row: usize) -> V {
        // SAFETY: element `row` is initialised, and the caller treats it as moved out.
        unsafe { ptr.add(row).read() }
    }

    #[inline(always)]
    unsafe fn row<'a>(ptr: NonNull<V>, row: usize) -> &'a V
    where
        Self: 'a,
    {
        // SAFETY: element `row` is initialised, and for `'a` neither written nor freed.
        unsafe { ptr.add(row).as_ref() }
    }

    #[inline(always)]
    unsafe fn row_mut<'a>(ptr: NonNull<V>, row: usize) -> &'a mut V
    where
        Self: 'a,
    {
        // SAFETY: element `row` is initialised, and for `'a` reached through the result alone.
        unsafe { ptr.add(row).as_mut() }
    }

    #[inline(always)]
    unsafe fn lanes<'a>(ptr: NonNull<V>, start: usize, len: usize) -> &'a [V]
    where
        Self: 'a,
    {
        // SAFETY: the rows are initialised, in one allocation (or zero-sized, at an aligned address), and not written for `'a`.
        // A lane's bytes fit `isize` because its block's do.
        unsafe { slice::from_raw_parts(ptr.add(start).as_ptr(), len) }
    }

    #[inline(always)]
    unsafe fn lanes_mut<'a>(ptr: NonNull<V>, start: usize, len: usize) -> &'a mut [V]
    where
        Self: 'a,
    {
        // SAFETY: as in `lanes`, and reached through the result alone.
        unsafe { slice::from_raw_parts_mut(ptr.add(start).as_ptr(), len) }
    }

    #[inline]
    unsafe fn copy(src: NonNull<V>, from: usize, dst: NonNull<V>, to: usize, count: usize) {
        // SAFETY: the source rows may be read and the target rows written; `ptr::copy` allows overlap.
        unsafe { ptr::copy(src.add(from).as_ptr(), dst.add(to).as_ptr(), count) };
    }

    #[inline]
    unsafe fn swap(ptr: NonNull<V>, a: usize, b: usize) {
        // SAFETY: both are initialised elements; `ptr::swap` allows them to be the same.
        unsafe { ptr::swap(ptr.add(a).as_ptr(), ptr.add(b).as_ptr()) };
    }

    #[inline]
    unsafe fn drop_rows(ptr: NonNull<V>, start: usize, len: usize) {
        if mem::needs_drop::<V>() {
            // SAFETY: the elements are initialised, and the caller gives them up. Dropping a slice goes on after a panic.
            unsafe { ptr::slice_from_raw_parts_mut(ptr.add(start).as_ptr(), len).drop_in_place() };
        }
    }

    unsafe fn permute<F: Fn(usize) -> usize>(ptr: NonNull<V>, len: usize, order: &F, scratch: NonNull<u8>) {
        if size_of::<V>() == 0 {
            return;
        }
        let scratch = scratch.cast::<V>();
        for i in 0..len {
            // SAFETY: `order(i)` is one of the `len` initialised rows. The scratch has capacity for `len` elements at
            // an address aligned for them.
            unsafe { scratch.add(i).copy_from_nonoverlapping(ptr.add(order(i)), 1) };
        }
        // SAFETY: the scratch holds each of the `len` elements once, and is a block of its own.
        unsafe { ptr.copy_from_nonoverlapping(scratch, len) };
    }

    #[inline]
    fn lane_lens<'a>(lane: &'a [V], each: &mut dyn FnMut(usize))
    where
        Self: 'a,
    {
        each(lane.len());
    }

    #[inline]
    fn column_lens(column: &Vec<V>, each: &mut dyn FnMut(usize)) {
        each(column.len());
    }

    #[inline]
    unsafe fn adopt(mut column: Vec<V>, ptr: NonNull<V>, at: usize) {
        // SAFETY: the column's elements are initialised, and the target rows are within the allocation and may be written. A
        // `Vec` shares no memory with it, and gives up its elements at once.
        unsafe {
            ptr::copy_nonoverlapping(column.as_ptr(), ptr.add(at).as_ptr(), column.len());
            column.set_len(0);
        }
    }
}

// SAFETY: `clone_to` fills all elements, or drops those it filled and panics.
unsafe impl<V: Clone> CloneLanes for Leaf<V> {
    #[inline(always)]
    fn clone_row<'a>(value: &'a V) -> V
    where
        Self: 'a,
    {
        value.clone()
    }

    #[inline]
    unsafe fn clone_rows<'a>(lane: &'a [V], ptr: NonNull<V>, at: usize)
    where
        Self: 'a,
    {
        // SAFETY: `lane.len()` elements from `at` on are within the allocation, may be written and are not part of `lane`.
        unsafe { clone_to(lane, ptr.add(at).as_ptr()) };
    }
}
