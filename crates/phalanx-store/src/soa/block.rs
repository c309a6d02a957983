//! [`Block`]: the one allocation under a [`Soa`](super::Soa).
//!
//! # Invariants
//!
//! - With `S::ROW == 0` nothing is allocated, the capacity is `usize::MAX` and the pointers dangle, aligned. With a
//!   capacity of 0 the same, save for the capacity.
//! - Otherwise `base` is a block of exactly `Plan::of(capacity).layout()`, owned by this value alone, and `ptrs` are what
//!   `place` computes from `base` and `capacity`. Each lane that is not zero-sized begins at a multiple of `LANE_ALIGN`
//!   and of its own alignment. It has capacity for `capacity` elements. Lanes do not overlap and stand in lane order.
//! - A block knows no length and never drops rows. The array that keeps the length does.
#![allow(unsafe_code)]

use super::shape::Shape;
use crate::AllocError;
use crate::error::infallible;
use alloc::alloc::{alloc, dealloc, realloc};
use core::alloc::Layout;
use core::mem::ManuallyDrop;
use core::num::NonZero;
use core::ptr::NonNull;

/// The alignment of lanes: a cache line and the widest vector register.
pub const LANE_ALIGN: usize = 64;

/// The alignment of blocks. The system allocator extends a block in place, or moves its pages without copying, only up to
/// this alignment. The lanes are aligned inside the block.
const BLOCK_ALIGN: usize = 16;

/// The size from which a block is grown by `realloc`. Below it, copying once into a fresh block is cheaper than letting
/// `realloc` copy before the lanes are moved apart.
const REALLOC_FROM: usize = 128 * 1024;

/// The sizes between which a block grows fourfold: the lanes move half as often, and are spaced for the next doubling. Lanes
/// are pages long there, so what is not used yet is not touched either. A larger block grows twofold, as elsewhere.
const FOURFOLD: core::ops::Range<usize> = REALLOC_FROM..32 << 20;

/// A lane that begins this far into the block is offset by a cache line. Otherwise, with a capacity that is a power of
/// two, equal rows of the lanes would compete for one set of the cache.
const PAGE: usize = 4096;

/// The offsets of lanes, computed one after the other.
struct Plan {
    capacity: usize,
    end: usize,
}

impl Plan {
    /// Returns the extent of all lanes of `S`, or `None` on overflow.
    fn of<S: Shape>(capacity: usize) -> Option<Plan> {
        let mut plan = Some(Plan { capacity, end: 0 });
        S::layouts(&mut |element| plan = plan.take().and_then(|mut plan| plan.place(element).map(|_| plan)));
        plan
    }

    /// Returns the offset of the next lane, or `None` on overflow.
    fn place(&mut self, element: Layout) -> Option<usize> {
        if element.size() == 0 {
            return Some(0);
        }
        let apart = if self.end >= PAGE { LANE_ALIGN } else { 0 };
        // Alignments are powers of two, and a mask is faster than the division of `next_multiple_of`.
        let align = element.align().max(LANE_ALIGN);
        let start = self.end.checked_add(apart + align - 1)? & !(align - 1);
        self.end = start.checked_add(element.size().checked_mul(self.capacity)?)?;
        Some(start)
    }
}

/// Memory for `capacity` rows.
pub(super) struct Block<S: Shape> {
    ptrs: S::Ptrs,
    base: NonNull<u8>,
    capacity: usize,
}

// SAFETY: a block owns its memory, and the values that may be in it are those of `S::Values`: sending the block sends
// them at most.
unsafe impl<S: Shape> Send for Block<S> where S::Values: Send {}
// SAFETY: a shared block gives out pointers; the values they lead to are those of `S::Values`.
unsafe impl<S: Shape> Sync for Block<S> where S::Values: Sync {}

impl<S: Shape> Block<S> {
    /// The alignment of the first lane.
    const ALIGN: usize = if S::ALIGN > LANE_ALIGN { S::ALIGN } else { LANE_ALIGN };
    /// The most that is skipped at the start of a block to get there.
    const SLACK: usize = Self::ALIGN - BLOCK_ALIGN;

    pub(super) const fn new() -> Block<S> {
        let capacity = if S::ROW == 0 { usize::MAX } else { 0 };
        Block { ptrs: S::DANGLING, base: NonNull::dangling(), capacity }
    }

    pub(super) fn try_with_capacity(capacity: usize) -> Result<Block<S>, AllocError> {
        let mut block = Block::new();
        if capacity > block.capacity {
            let layout = Self::layout(capacity)?;
            // SAFETY: the size is not zero: `S::ROW` is not, else the capacity would not have been exceeded, nor is
            // `capacity`.
            block.base = NonNull::new(unsafe { alloc(layout) }).ok_or(AllocError::of(layout))?;
            // SAFETY: just allocated for `capacity` rows.
            block.ptrs = unsafe { Self::place(block.base, Self::skip(block.base), capacity) };
            block.capacity = capacity;
        }
        Ok(block)
    }

    #[inline(always)]
    pub(super) const fn ptrs(&self) -> S::Ptrs {
        self.ptrs
    }

    #[inline(always)]
    pub(super) const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns `true` if there is an allocation.
    const fn is_allocated(&self) -> bool {
        S::ROW != 0 && self.capacity != 0
    }

    /// Returns the number of bytes of the rows that fit, without padding.
    const fn row_bytes(&self) -> usize {
        S::ROW.saturating_mul(self.capacity)
    }

    /// Returns the number of bytes allocated.
    pub(super) fn bytes(&self) -> usize {
        match Self::layout(self.capacity) {
            Ok(layout) if self.is_allocated() => layout.size(),
            _ => 0,
        }
    }

    /// Returns the layout of a block of `capacity` rows.
    fn layout(capacity: usize) -> Result<Layout, AllocError> {
        let bytes = Plan::of::<S>(capacity).and_then(|plan| plan.end.checked_add(Self::SLACK));
        bytes.and_then(|bytes| Layout::from_size_align(bytes, BLOCK_ALIGN).ok()).ok_or(AllocError::CapacityOverflow)
    }

    /// Returns the offset of the first lane in a block.
    fn skip(base: NonNull<u8>) -> usize {
        // `SLACK` is enough because the block itself is aligned to `BLOCK_ALIGN`.
        base.addr().get().wrapping_neg() % Self::ALIGN
    }

    /// Returns the lanes of a block that begin `skip` bytes into it.
    ///
    /// # Safety
    ///
    /// `base` is a block of `layout(capacity)` or larger, and `skip` is at most `SLACK` and makes it aligned to `ALIGN`
    /// (or the pointers are used for moving bytes alone).
    unsafe fn place(base: NonNull<u8>, skip: usize, capacity: usize) -> S::Ptrs {
        let mut plan = Plan { capacity, end: 0 };
        let mut next = |element: Layout| match plan.place(element) {
            _ if element.size() == 0 => dangling(element),
            // SAFETY: the layout of `capacity` exists, so the offset lies within the block after `skip`.
            Some(offset) => unsafe { base.add(skip + offset) },
            None => unreachable!("a block of this capacity was allocated"),
        };
        // SAFETY: offsets are multiples of the element's alignment, which divides `ALIGN`, and `base + skip` is one
        // of `ALIGN`; lanes of no size dangle at an aligned address.
        unsafe { S::pointers(&mut next) }
    }

    /// Returns the capacity to grow to when `needed` rows are needed.
    fn amortised(&self, needed: usize) -> usize {
        let first = (PAGE / S::ROW.max(1)).clamp(1, LANE_ALIGN);
        let factor = if S::LANES > 1 && FOURFOLD.contains(&self.row_bytes()) { 4 } else { 2 };
        needed.max(self.capacity.saturating_mul(factor)).max(first)
    }

    /// Grows the capacity by at least one row. All `len` rows are in use. Returns `len`.
    ///
    /// A loop of pushes keeps the pointers in registers, because no call gets a reference to the block: the cold path takes
    /// a copy and returns another, whose pointers are stored one by one. It returns the length too, so that the compiler
    /// does not count it apart from the one that is stored.
    ///
    /// If it panics, nothing was changed, and the block still owns its memory. Between a successful growth and the stores
    /// below nothing can panic: until then the block points to memory that it may not own any more.
    #[inline(always)]
    #[track_caller]
    pub(super) fn grow(&mut self, len: usize) -> usize {
        let (grown, len) = Self::grown(ManuallyDrop::new(Block { ..*self }), len);
        S::set_pointers(&mut self.ptrs, &grown.ptrs);
        (self.base, self.capacity) = (grown.base, grown.capacity);
        len
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn grown(mut block: ManuallyDrop<Self>, len: usize) -> (ManuallyDrop<Self>, usize) {
        let needed = len.checked_add(1).ok_or(AllocError::CapacityOverflow);
        infallible(needed.and_then(|needed| block.try_grow(len, needed)));
        (block, len)
    }

    /// Grows the capacity to at least `needed` rows, at least doubling it. `len` rows are in use.
    #[cold]
    #[inline(never)]
    pub(super) fn try_grow(&mut self, len: usize, needed: usize) -> Result<(), AllocError> {
        match self.try_resize(len, self.amortised(needed)) {
            // An overflow is reported without calling the allocator. If only the doubled capacity overflows, `needed` is used.
            Err(AllocError::CapacityOverflow) => self.try_resize(len, needed),
            done => done,
        }
    }

    /// Sets the capacity to `capacity`. Does nothing for zero-sized rows. On an error nothing changes.
    ///
    /// The first `len` rows are in use and are moved; the others need not be initialised.
    ///
    /// # Panics
    ///
    /// Panics if `len` is above the present or the new capacity.
    pub(super) fn try_resize(&mut self, len: usize, capacity: usize) -> Result<(), AllocError> {
        assert!(len <= self.capacity && len <= capacity, "rows in use fit the block");
        if S::ROW == 0 || capacity == self.capacity {
            return Ok(());
        }
        if capacity > self.capacity && self.row_bytes() >= REALLOC_FROM {
            return self.try_extend(len, capacity);
        }
        let fresh = Block::<S>::try_with_capacity(capacity)?;
        // SAFETY: both have capacity for `len` rows, and a new block overlaps nothing.
        unsafe { S::copy(self.ptrs, 0, fresh.ptrs, 0, len) };
        // The rows in use were moved. The old block holds only bytes, and drops no rows.
        *self = fresh;
        Ok(())
    }

    /// Grows in place, or by moving pages, and then moves the lanes apart.
    fn try_extend(&mut self, len: usize, capacity: usize) -> Result<(), AllocError> {
        let (old, new) = (Self::layout(self.capacity)?, Self::layout(capacity)?);
        let old_skip = Self::skip(self.base);
        // SAFETY: the block was allocated with `old`, and the new size is not zero and part of a layout of the same
        // alignment.
        let base = NonNull::new(unsafe { realloc(self.base.as_ptr(), old, new.size()) });
        let base = base.ok_or(AllocError::of(new))?;
        let skip = Self::skip(base);
        // SAFETY:
        // - The block is now one of `new`, which is larger than `old`; its first bytes are those of the old block, where
        //   the lanes begin at `old_skip`. If the skip changed, all of them are shifted together. They fit after either
        //   skip, which is at most `SLACK`.
        // - The lanes of the larger capacity begin no earlier than those of the smaller, so moving them from the last
        //   to the first never writes to a lane that was not moved yet. Each has capacity for `len` rows.
        unsafe {
            if skip != old_skip {
                base.add(skip).copy_from(base.add(old_skip), old.size() - Self::SLACK);
            }
            let packed = Self::place(base, skip, self.capacity);
            let ptrs = Self::place(base, skip, capacity);
            S::copy(packed, 0, ptrs, 0, len);
            (self.base, self.ptrs, self.capacity) = (base, ptrs, capacity);
        }
        Ok(())
    }

    /// Checks the invariants of the representation.
    pub(super) fn validate(&self) -> Result<(), &'static str> {
        if !self.is_allocated() {
            return Ok(());
        }
        let layout = Self::layout(self.capacity).map_err(|_| "the capacity has no layout")?;
        let (skip, mut plan) = (Self::skip(self.base), Plan { capacity: self.capacity, end: 0 });
        if skip > Self::SLACK {
            return Err("the block is not aligned to what it was allocated with");
        }
        let mut result = Ok(());
        S::layouts(&mut |element| match plan.place(element) {
            Some(offset)
                if (self.base.addr().get() + skip + offset).is_multiple_of(element.align().max(LANE_ALIGN)) => {}
            _ if element.size() == 0 => {}
            _ => result = Err("a lane is not aligned"),
        });
        if skip + plan.end > layout.size() {
            return Err("the lanes exceed the block");
        }
        result
    }
}

/// Returns an aligned dangling address.
fn dangling(element: Layout) -> NonNull<u8> {
    NonZero::new(element.align()).map_or(NonNull::dangling(), NonNull::without_provenance)
}

impl<S: Shape> Drop for Block<S> {
    fn drop(&mut self) {
        if let (true, Ok(layout)) = (self.is_allocated(), Self::layout(self.capacity)) {
            // SAFETY: the block was allocated with exactly this layout, by the type's invariant.
            unsafe { dealloc(self.base.as_ptr(), layout) };
        }
    }
}

/// Temporary memory of a sort.
pub(super) struct Scratch {
    ptr: NonNull<u8>,
    layout: Layout,
}

impl Scratch {
    /// Allocates memory for `len` elements of `size` bytes, aligned to `align`.
    pub(super) fn try_new(len: usize, size: usize, align: usize) -> Result<Scratch, AllocError> {
        let bytes = len.checked_mul(size).ok_or(AllocError::CapacityOverflow)?;
        let layout = Layout::from_size_align(bytes, align).map_err(|_| AllocError::CapacityOverflow)?;
        let ptr = match bytes {
            0 => dangling(layout),
            // SAFETY: the size is not zero.
            _ => NonNull::new(unsafe { alloc(layout) }).ok_or(AllocError::of(layout))?,
        };
        Ok(Scratch { ptr, layout })
    }

    pub(super) fn ptr(&self) -> NonNull<u8> {
        self.ptr
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.layout.size() > 0 {
            // SAFETY: allocated with this layout.
            unsafe { dealloc(self.ptr.as_ptr(), self.layout) };
        }
    }
}
