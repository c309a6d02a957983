//! Two shapes side by side: every function is called for both.
//!
//! # Invariants
//!
//! - The two halves have no lane in common. Where user code may panic in one half, a guard drops the other.
#![allow(unsafe_code)]

use super::shape::{CloneLanes, Shape};
use crate::raw::DropGuard;
use core::alloc::Layout;
use core::ptr::NonNull;

// SAFETY: both halves are visited by each function, the first one first except where the order is said.
unsafe impl<A: Shape, B: Shape> Shape for (A, B) {
    type Values = (A::Values, B::Values);
    type Ptrs = (A::Ptrs, B::Ptrs);
    type Ref<'a>
        = (A::Ref<'a>, B::Ref<'a>)
    where
        Self: 'a;
    type Mut<'a>
        = (A::Mut<'a>, B::Mut<'a>)
    where
        Self: 'a;
    type Lanes<'a>
        = (A::Lanes<'a>, B::Lanes<'a>)
    where
        Self: 'a;
    type LanesMut<'a>
        = (A::LanesMut<'a>, B::LanesMut<'a>)
    where
        Self: 'a;
    type Columns = (A::Columns, B::Columns);
    const LANES: usize = A::LANES + B::LANES;
    const FIELDS: usize = A::FIELDS + B::FIELDS;
    const ROW: usize = A::ROW + B::ROW;
    const WIDEST: usize = if A::WIDEST > B::WIDEST { A::WIDEST } else { B::WIDEST };
    const ALIGN: usize = if A::ALIGN > B::ALIGN { A::ALIGN } else { B::ALIGN };
    const DANGLING: Self::Ptrs = (A::DANGLING, B::DANGLING);
    #[inline(always)]
    fn set_pointers(to: &mut Self::Ptrs, from: &Self::Ptrs) {
        A::set_pointers(&mut to.0, &from.0);
        B::set_pointers(&mut to.1, &from.1);
    }

    #[inline]
    fn layouts<F: FnMut(Layout)>(each: &mut F) {
        A::layouts(each);
        B::layouts(each);
    }

    fn scalars(each: &mut dyn FnMut(bool, bool)) {
        A::scalars(each);
        B::scalars(each);
    }

    #[inline]
    unsafe fn pointers<F: FnMut(Layout) -> NonNull<u8>>(next: &mut F) -> Self::Ptrs {
        // SAFETY: in the lanes of both halves, each pointer is aligned for its layout.
        unsafe { (A::pointers(next), B::pointers(next)) }
    }

    #[inline(always)]
    unsafe fn write((a, b): Self::Ptrs, row: usize, (x, y): Self::Values) {
        // SAFETY: in the lanes of both halves, element `row` is within the allocation and may be written.
        unsafe {
            A::write(a, row, x);
            B::write(b, row, y);
        }
    }

    #[inline(always)]
    unsafe fn read((a, b): Self::Ptrs, row: usize) -> Self::Values {
        // SAFETY: in the lanes of both halves, element `row` is initialised and counts as moved out.
        unsafe { (A::read(a, row), B::read(b, row)) }
    }

    #[inline(always)]
    unsafe fn row<'a>((a, b): Self::Ptrs, row: usize) -> Self::Ref<'a>
    where
        Self: 'a,
    {
        // SAFETY: in the lanes of both halves, element `row` is initialised, and for `'a` neither written nor freed.
        unsafe { (A::row(a, row), B::row(b, row)) }
    }

    #[inline(always)]
    unsafe fn row_mut<'a>((a, b): Self::Ptrs, row: usize) -> Self::Mut<'a>
    where
        Self: 'a,
    {
        // SAFETY: in the lanes of both halves, which are disjoint, element `row` is initialised, and for `'a` reached through
        // the result alone.
        unsafe { (A::row_mut(a, row), B::row_mut(b, row)) }
    }

    #[inline(always)]
    unsafe fn lanes<'a>((a, b): Self::Ptrs, start: usize, len: usize) -> Self::Lanes<'a>
    where
        Self: 'a,
    {
        // SAFETY: in the lanes of both halves, the rows are initialised, and for `'a` neither written nor freed.
        unsafe { (A::lanes(a, start, len), B::lanes(b, start, len)) }
    }

    #[inline(always)]
    unsafe fn lanes_mut<'a>((a, b): Self::Ptrs, start: usize, len: usize) -> Self::LanesMut<'a>
    where
        Self: 'a,
    {
        // SAFETY: in the lanes of both halves, which are disjoint, the rows are initialised, and for `'a` reached through the
        // result alone.
        unsafe { (A::lanes_mut(a, start, len), B::lanes_mut(b, start, len)) }
    }

    #[inline]
    unsafe fn copy(src: Self::Ptrs, from: usize, dst: Self::Ptrs, to: usize, count: usize) {
        // SAFETY: in the lanes of both halves, the source rows may be read and the target rows written. The second half goes
        // first, so that no lane is overwritten before it was moved.
        unsafe {
            B::copy(src.1, from, dst.1, to, count);
            A::copy(src.0, from, dst.0, to, count);
        }
    }

    #[inline]
    unsafe fn swap(ptrs: Self::Ptrs, a: usize, b: usize) {
        // SAFETY: in the lanes of both halves, both elements are within the allocation and initialised.
        unsafe {
            A::swap(ptrs.0, a, b);
            B::swap(ptrs.1, a, b);
        }
    }

    #[inline]
    unsafe fn drop_rows((a, b): Self::Ptrs, start: usize, len: usize) {
        // SAFETY: the rows are initialised in the lanes of both halves and given up. Each half is dropped once: the guard drops
        // the second one after the first, panic or not.
        unsafe {
            let _second = DropGuard::new(b, |b| B::drop_rows(*b, start, len));
            A::drop_rows(a, start, len);
        }
    }

    unsafe fn permute<F: Fn(usize) -> usize>((a, b): Self::Ptrs, len: usize, order: &F, scratch: NonNull<u8>) {
        // SAFETY: in the lanes of both halves, the rows are initialised, and `order` is a permutation of them. The scratch
        // memory suffices for both, as `WIDEST` and `ALIGN` are the larger of the two. It is free again when the first half
        // returns.
        unsafe {
            A::permute(a, len, order, scratch);
            B::permute(b, len, order, scratch);
        }
    }

    #[inline]
    fn lane_lens<'a>((a, b): Self::Lanes<'a>, each: &mut dyn FnMut(usize))
    where
        Self: 'a,
    {
        A::lane_lens(a, each);
        B::lane_lens(b, each);
    }

    #[inline]
    fn column_lens((a, b): &Self::Columns, each: &mut dyn FnMut(usize)) {
        A::column_lens(a, each);
        B::column_lens(b, each);
    }

    #[inline]
    unsafe fn adopt((x, y): Self::Columns, (a, b): Self::Ptrs, at: usize) {
        // SAFETY: in the lanes of both halves, the rows from `at` on are within the allocation and may be written.
        unsafe {
            A::adopt(x, a, at);
            B::adopt(y, b, at);
        }
    }
}

// SAFETY: if the second half panics, its rows are not initialised, and the guard drops those of the first.
unsafe impl<A: CloneLanes, B: CloneLanes> CloneLanes for (A, B) {
    #[inline(always)]
    fn clone_row<'a>((a, b): Self::Ref<'a>) -> Self::Values
    where
        Self: 'a,
    {
        (A::clone_row(a), B::clone_row(b))
    }

    #[inline]
    unsafe fn clone_rows<'a>((x, y): Self::Lanes<'a>, (a, b): Self::Ptrs, at: usize)
    where
        Self: 'a,
    {
        let mut len = 0;
        A::lane_lens(x, &mut |n| len = n);
        // SAFETY: the slices have one length, and the rows from `at` on may be written in the lanes of both halves. If the
        // second half panics, the rows of the first are initialised, not counted by the caller, and dropped once.
        unsafe {
            A::clone_rows(x, a, at);
            let first = DropGuard::new(a, |a| A::drop_rows(*a, at, len));
            B::clone_rows(y, b, at);
            first.dismiss();
        }
    }
}
