//! A row inside a row: every function is that of the inner shape.
#![allow(unsafe_code)]

use super::row::SoaRow;
use super::shape::{CloneLanes, Nested, Shape};
use core::alloc::Layout;
use core::ptr::NonNull;

// SAFETY: the inner shape upholds the contract, and nothing is added.
unsafe impl<R: SoaRow> Shape for Nested<R> {
    type Values = <R::Shape as Shape>::Values;
    type Ptrs = <R::Shape as Shape>::Ptrs;
    type Ref<'a>
        = <R::Shape as Shape>::Ref<'a>
    where
        Self: 'a;
    type Mut<'a>
        = <R::Shape as Shape>::Mut<'a>
    where
        Self: 'a;
    type Lanes<'a>
        = <R::Shape as Shape>::Lanes<'a>
    where
        Self: 'a;
    type LanesMut<'a>
        = <R::Shape as Shape>::LanesMut<'a>
    where
        Self: 'a;
    type Columns = <R::Shape as Shape>::Columns;
    const LANES: usize = R::Shape::LANES;
    const FIELDS: usize = 1;
    const ROW: usize = R::Shape::ROW;
    const WIDEST: usize = R::Shape::WIDEST;
    const ALIGN: usize = R::Shape::ALIGN;
    const DANGLING: Self::Ptrs = R::Shape::DANGLING;
    #[inline(always)]
    fn set_pointers(to: &mut Self::Ptrs, from: &Self::Ptrs) {
        R::Shape::set_pointers(to, from);
    }

    #[inline]
    fn layouts<F: FnMut(Layout)>(each: &mut F) {
        R::Shape::layouts(each);
    }

    fn scalars(each: &mut dyn FnMut(bool, bool)) {
        R::Shape::scalars(each);
    }

    #[inline]
    unsafe fn pointers<F: FnMut(Layout) -> NonNull<u8>>(next: &mut F) -> Self::Ptrs {
        // SAFETY: each pointer is aligned for its layout, as this function asks for too.
        unsafe { R::Shape::pointers(next) }
    }

    #[inline(always)]
    unsafe fn write(ptrs: Self::Ptrs, row: usize, values: Self::Values) {
        // SAFETY: element `row` is within the allocation of each lane and may be written, as this function asks for too.
        unsafe { R::Shape::write(ptrs, row, values) };
    }

    #[inline(always)]
    unsafe fn read(ptrs: Self::Ptrs, row: usize) -> Self::Values {
        // SAFETY: element `row` of each lane is initialised and counts as moved out, as this function asks for too.
        unsafe { R::Shape::read(ptrs, row) }
    }

    #[inline(always)]
    unsafe fn row<'a>(ptrs: Self::Ptrs, row: usize) -> Self::Ref<'a>
    where
        Self: 'a,
    {
        // SAFETY: element `row` of each lane is initialised, and for `'a` neither written nor freed, as this function asks for too.
        unsafe { R::Shape::row(ptrs, row) }
    }

    #[inline(always)]
    unsafe fn row_mut<'a>(ptrs: Self::Ptrs, row: usize) -> Self::Mut<'a>
    where
        Self: 'a,
    {
        // SAFETY: element `row` of each lane is initialised, and for `'a` reached through the result alone, as this function asks for too.
        unsafe { R::Shape::row_mut(ptrs, row) }
    }

    #[inline(always)]
    unsafe fn lanes<'a>(ptrs: Self::Ptrs, start: usize, len: usize) -> Self::Lanes<'a>
    where
        Self: 'a,
    {
        // SAFETY: the rows are initialised in each lane, and for `'a` neither written nor freed, as this function asks for too.
        unsafe { R::Shape::lanes(ptrs, start, len) }
    }

    #[inline(always)]
    unsafe fn lanes_mut<'a>(ptrs: Self::Ptrs, start: usize, len: usize) -> Self::LanesMut<'a>
    where
        Self: 'a,
    {
        // SAFETY: the rows are initialised in each lane, and for `'a` reached through the result alone, as this function asks for too.
        unsafe { R::Shape::lanes_mut(ptrs, start, len) }
    }

    #[inline]
    unsafe fn copy(src: Self::Ptrs, from: usize, dst: Self::Ptrs, to: usize, count: usize) {
        // SAFETY: the source rows may be read and the target rows written, in an order that loses none, as this function asks for too.
        unsafe { R::Shape::copy(src, from, dst, to, count) };
    }

    #[inline]
    unsafe fn swap(ptrs: Self::Ptrs, a: usize, b: usize) {
        // SAFETY: both elements of each lane are within the allocation and initialised, as this function asks for too.
        unsafe { R::Shape::swap(ptrs, a, b) };
    }

    #[inline]
    unsafe fn drop_rows(ptrs: Self::Ptrs, start: usize, len: usize) {
        // SAFETY: the rows are initialised in each lane, and the caller gives them up, as this function asks for too.
        unsafe { R::Shape::drop_rows(ptrs, start, len) };
    }

    unsafe fn permute<F: Fn(usize) -> usize>(ptrs: Self::Ptrs, len: usize, order: &F, scratch: NonNull<u8>) {
        // SAFETY: the rows are initialised, `order` is a permutation of them, and `scratch` is large and aligned enough, as this function asks for too.
        unsafe { R::Shape::permute(ptrs, len, order, scratch) };
    }

    #[inline]
    fn lane_lens<'a>(lanes: Self::Lanes<'a>, each: &mut dyn FnMut(usize))
    where
        Self: 'a,
    {
        R::Shape::lane_lens(lanes, each);
    }

    #[inline]
    fn column_lens(columns: &Self::Columns, each: &mut dyn FnMut(usize)) {
        R::Shape::column_lens(columns, each);
    }

    #[inline]
    unsafe fn adopt(columns: Self::Columns, ptrs: Self::Ptrs, at: usize) {
        // SAFETY: the rows from `at` on are within the allocation of each lane and may be written, as this function asks for too.
        unsafe { R::Shape::adopt(columns, ptrs, at) };
    }
}

// SAFETY: as for the inner shape.
unsafe impl<R: SoaRow> CloneLanes for Nested<R>
where
    R::Shape: CloneLanes,
{
    #[inline(always)]
    fn clone_row<'a>(row: Self::Ref<'a>) -> Self::Values
    where
        Self: 'a,
    {
        R::Shape::clone_row(row)
    }

    #[inline]
    unsafe fn clone_rows<'a>(lanes: Self::Lanes<'a>, ptrs: Self::Ptrs, at: usize)
    where
        Self: 'a,
    {
        // SAFETY: the slices have one length, and the rows from `at` on may be written and are not part of them, as this function asks for too.
        unsafe { R::Shape::clone_rows(lanes, ptrs, at) };
    }
}
