//! A block of memory for values of any type, one after another.
//!
//! # Representation
//!
//! `base` is a block of `cap` bytes aligned to `align`, or dangles while `cap` is zero. Bytes `0..len` are given out. The offset
//! of a payload is a multiple of its alignment, and `align` is at least the alignment of every payload. The block may move when it
//! grows: payloads are known by offset, and moving their bytes moves the values.
//!
//! An arena does not know what is in it and drops nothing. The code that places a payload drops it, or moves it out, once.
#![allow(unsafe_code)]

use core::alloc::Layout;
use core::ptr::NonNull;
use phalanx_store::AllocError;
use std::alloc::{alloc, dealloc, realloc};

/// A block that grows, for values of any type.
#[derive(Debug)]
pub(crate) struct Arena {
    base: NonNull<u8>,
    cap: usize,
    align: usize,
    len: usize,
}

// SAFETY: an arena is a block of bytes. The values in it are those of a command buffer, which sees to it that they may
// change threads.
unsafe impl Send for Arena {}
// SAFETY: behind a shared reference nothing is reached.
unsafe impl Sync for Arena {}

impl Arena {
    /// Creates an arena without a block.
    pub(crate) const fn new() -> Arena {
        Arena { base: NonNull::dangling(), cap: 0, align: 1, len: 0 }
    }

    /// Returns the number of bytes that are given out.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns the alignment of the block.
    pub(crate) fn align(&self) -> usize {
        self.align
    }

    /// Returns the size of the block.
    pub(crate) fn bytes(&self) -> usize {
        self.cap
    }

    /// Gives up all payloads without dropping them.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Gives up all payloads from an offset on, without dropping them.
    pub(crate) fn truncate(&mut self, offset: usize) {
        self.len = self.len.min(offset);
    }

    /// Returns a pointer to the payload at an offset. For a zero-sized payload it is any aligned address.
    ///
    /// # Safety
    ///
    /// [`try_place`](Arena::try_place) returned the offset for this layout, and the arena was not cleared since.
    #[inline(always)]
    pub(crate) unsafe fn at(&self, offset: usize, layout: Layout) -> *mut u8 {
        match layout.size() {
            0 => core::ptr::without_provenance_mut(layout.align()),
            _ => self.base.as_ptr().wrapping_add(offset),
        }
    }

    /// Allocates memory for a payload and returns its offset.
    #[inline]
    pub(crate) fn try_place(&mut self, layout: Layout) -> Result<usize, AllocError> {
        if layout.size() == 0 {
            return Ok(self.len);
        }
        let (offset, end) = place_after(self.len, layout)?;
        self.try_reserve(end, layout.align())?;
        self.len = end;
        Ok(offset)
    }

    /// Grows the block to at least `len` bytes in all, aligned to at least `align`. On failure nothing changes.
    #[inline]
    pub(crate) fn try_reserve(&mut self, len: usize, align: usize) -> Result<(), AllocError> {
        if len <= self.cap && (align <= self.align || len == 0) { Ok(()) } else { self.try_grow(len, align) }
    }

    #[cold]
    #[inline(never)]
    fn try_grow(&mut self, len: usize, align: usize) -> Result<(), AllocError> {
        let align = self.align.max(align);
        let cap = if len > self.cap { len.max(self.cap.saturating_mul(2)).max(256) } else { self.cap };
        let layout = Layout::from_size_align(cap, align).map_err(|_| AllocError::CapacityOverflow)?;
        // SAFETY: the size is not zero. The old block has the layout that it was allocated with. The bytes that were given out
        // are copied, and the old block is freed once.
        let base = unsafe {
            if self.cap > 0 && align == self.align {
                realloc(self.base.as_ptr(), self.layout(), cap)
            } else {
                let new = alloc(layout);
                if self.cap > 0 && !new.is_null() {
                    core::ptr::copy_nonoverlapping(self.base.as_ptr(), new, self.len);
                    dealloc(self.base.as_ptr(), self.layout());
                }
                new
            }
        };
        self.base = NonNull::new(base).ok_or(AllocError::OutOfMemory { bytes: cap, align })?;
        (self.cap, self.align) = (cap, align);
        Ok(())
    }

    /// Moves the payloads of `other` to the end of this arena. Returns the number to add to their offsets.
    pub(crate) fn try_append(&mut self, other: &mut Arena) -> Result<usize, AllocError> {
        let layout = Layout::from_size_align(other.len, other.align).map_err(|_| AllocError::CapacityOverflow)?;
        if other.len == 0 {
            return Ok(0);
        }
        let start = self.try_place(layout)?;
        // SAFETY: `try_place` has allocated this many bytes, and the blocks are different. The start is aligned as the block of
        // the other arena, so the offsets keep their alignment.
        unsafe { core::ptr::copy_nonoverlapping(other.base.as_ptr(), self.base.as_ptr().add(start), other.len) };
        other.clear();
        Ok(start)
    }

    fn layout(&self) -> Layout {
        match Layout::from_size_align(self.cap, self.align) {
            Ok(layout) => layout,
            Err(_) => unreachable!("the layout of a block that was allocated"),
        }
    }
}

/// Returns the offsets at which a payload starts and ends that is placed after `len` bytes.
pub(crate) fn place_after(len: usize, layout: Layout) -> Result<(usize, usize), AllocError> {
    let offset = len.checked_next_multiple_of(layout.align()).ok_or(AllocError::CapacityOverflow)?;
    let end = offset.checked_add(layout.size()).ok_or(AllocError::CapacityOverflow)?;
    Ok((offset, end))
}

impl Drop for Arena {
    fn drop(&mut self) {
        if self.cap > 0 {
            // SAFETY: the block was allocated with this layout, and is freed once.
            unsafe { dealloc(self.base.as_ptr(), self.layout()) };
        }
    }
}
