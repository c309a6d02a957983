//! [`Lane`]: the one array type.
//!
//! # Invariants
//!
//! - `ptr` is aligned to `align`. With `size * cap > 0` it is the start of a block that this lane alone owns, allocated
//!   with exactly [`Lane::layout`] of `cap`; otherwise it dangles and nothing is allocated.
//! - A lane of zero-sized rows has the capacity `u32::MAX` and never allocates.
//! - `dirty`, when not null, is a block of exactly `dirty_words(cap)` initialised words that this lane owns. It is null
//!   when the lane is not `tracked`, or has no capacity, or has zero-sized rows.
//! - A lane has no length and never drops rows. The container that keeps the length does.
#![allow(unsafe_code)]

use super::cold_path;
use crate::AllocError;
use alloc::alloc::{alloc, alloc_zeroed, dealloc, realloc};
use core::alloc::Layout;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicU32, Ordering};

#[cfg(target_has_atomic = "64")]
type Version = core::sync::atomic::AtomicU64;
/// Where 64-bit atomics are missing, the version wraps after 2³² changes.
#[cfg(not(target_has_atomic = "64"))]
type Version = AtomicU32;

/// Memory for rows of one size and alignment.
///
/// A lane knows its capacity and not its length; its rows are moved as bytes. It also serves incremental copies. A
/// [version](Lane::version) changes when the whole lane is opened for writing. While the lane is
/// [tracked](Lane::try_track), a bitmap has a dirty bit for each chunk of 128 rows, set by [`set_dirty`](Lane::set_dirty).
pub struct Lane {
    ptr: NonNull<u8>,
    size: u32,
    align: u32,
    cap: u32,
    tracked: bool,
    version: Version,
    dirty: *mut u64,
}

// SAFETY: a lane owns its blocks and hands out nothing but raw pointers. The code that dereferences them decides what may
// be done with the rows from which thread (`LaneOf<T>` follows `T`).
unsafe impl Send for Lane {}
// SAFETY: as above. Behind a shared reference only the atomic version and the dirty bits change: the latter by
// `mark_shared`, which is atomic, and by `mark`, which asks its callers for exclusive access.
unsafe impl Sync for Lane {}

impl Lane {
    /// The number of rows in one chunk of the dirty bitmap.
    pub const CHUNK: u32 = 128;

    /// Creates a lane for rows of this layout. Its capacity is 0, or `u32::MAX` if the rows are zero-sized.
    ///
    /// # Panics
    ///
    /// Panics if a row has 4 GiB or more, or its size is not a multiple of its alignment.
    #[track_caller]
    pub const fn new(row: Layout) -> Lane {
        assert!(row.size() <= u32::MAX as usize && row.align() <= 1 << 31, "a row of a lane is below 4 GiB");
        assert!(row.size().is_multiple_of(row.align()), "the size of a row is a multiple of its alignment");
        let Some(align) = core::num::NonZeroUsize::new(row.align()) else { panic!("an alignment is never zero") };
        Lane {
            ptr: NonNull::without_provenance(align),
            size: row.size() as u32,
            align: row.align() as u32,
            cap: if row.size() == 0 { u32::MAX } else { 0 },
            tracked: false,
            version: Version::new(0),
            dirty: ptr::null_mut(),
        }
    }

    /// Returns a pointer to the first row.
    #[inline(always)]
    pub const fn ptr(&self) -> NonNull<u8> {
        self.ptr
    }

    /// Returns the size of a row in bytes.
    #[inline(always)]
    pub const fn row_size(&self) -> usize {
        self.size as usize
    }

    /// Returns the layout of a row.
    pub const fn row_layout(&self) -> Layout {
        match Layout::from_size_align(self.size as usize, self.align as usize) {
            Ok(layout) => layout,
            Err(_) => unreachable!(),
        }
    }

    /// Returns a pointer to a row, initialised or not.
    ///
    /// # Panics
    ///
    /// Panics if the row is above the capacity.
    #[inline]
    #[track_caller]
    pub const fn row(&self, row: u32) -> *mut u8 {
        assert!(row <= self.cap, "a row above the capacity");
        // SAFETY: within the lane's block or one past its end; for zero-sized rows the offset is zero.
        unsafe { self.ptr.as_ptr().add(row as usize * self.size as usize) }
    }

    /// Returns the capacity in rows: `u32::MAX` if they are zero-sized.
    #[inline(always)]
    pub const fn capacity(&self) -> u32 {
        self.cap
    }

    /// Returns the number of bytes allocated, without the dirty bitmap.
    pub const fn bytes(&self) -> usize {
        self.size as usize * if self.size == 0 { 0 } else { self.cap as usize }
    }

    /// The layout of a block of `cap` rows.
    fn layout(&self, cap: u32) -> Result<Layout, AllocError> {
        let bytes = (self.size as usize).checked_mul(cap as usize).ok_or(AllocError::CapacityOverflow)?;
        Layout::from_size_align(bytes, self.align as usize).map_err(|_| AllocError::CapacityOverflow)
    }

    /// Checks that a block of `cap` rows can exist at all. Ask all lanes that grow together before the first one grows.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::CapacityOverflow`] if the block would have more than `isize::MAX` bytes.
    pub fn countable(&self, cap: u32) -> Result<(), AllocError> {
        self.layout(cap).map(drop)
    }

    /// Sets the capacity to `cap` rows. Does nothing if the rows are zero-sized.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::CapacityOverflow`] if the block would have more than `isize::MAX` bytes. Returns
    /// [`AllocError::OutOfMemory`] if the block or a tracked lane's new bitmap cannot be allocated. The lane is unchanged
    /// then.
    ///
    /// # Safety
    ///
    /// No row at or above `cap` is in use, and no pointer into the lane is used afterwards.
    pub unsafe fn try_resize(&mut self, cap: u32) -> Result<(), AllocError> {
        if self.size == 0 || cap == self.cap {
            return Ok(());
        }
        let (old, new) = (self.layout(self.cap)?, self.layout(cap)?);
        let dirty = if self.tracked { self.resized_dirty(cap)? } else { ptr::null_mut() };
        let block = if new.size() == 0 {
            // SAFETY: `size > 0` and `cap != 0` (it differs from the new capacity, 0), so there is a block of
            // `layout(cap)`, by the type's invariant.
            unsafe { dealloc(self.ptr.as_ptr(), old) };
            NonNull::new(ptr::without_provenance_mut(self.align as usize))
        } else if old.size() == 0 {
            // SAFETY: the size is not zero.
            NonNull::new(unsafe { alloc(new) })
        } else {
            // SAFETY: the block was allocated with `old`; the new size is not zero and, with the alignment of `new`,
            // within `isize::MAX`, because `new` is a layout.
            NonNull::new(unsafe { realloc(self.ptr.as_ptr(), old, new.size()) })
        };
        let Some(block) = block else {
            // SAFETY: made by `resized_dirty(cap)` just now, or null.
            unsafe { free_dirty(dirty, cap) };
            return Err(AllocError::of(new));
        };
        // SAFETY: the present bitmap belongs to the present capacity, by the type's invariant.
        unsafe { free_dirty(self.dirty, self.cap) };
        (self.ptr, self.cap, self.dirty) = (block, cap, dirty);
        Ok(())
    }

    /// Grows the capacity to at least `needed` rows, at least doubling it.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] as [`Lane::try_resize`] does; the lane is unchanged then.
    pub fn try_grow(&mut self, needed: u32) -> Result<(), AllocError> {
        if needed <= self.cap {
            return Ok(());
        }
        // SAFETY: the capacity grows, so no row in use is cut off; `&mut self` ends the use of older pointers.
        unsafe { self.try_resize(amortised(self.cap, needed, self.size as usize)) }
    }

    /// Grows the capacity to `cap` rows. Does nothing if it is not less.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] as [`Lane::try_resize`] does; the lane is unchanged then.
    pub fn try_reserve_exact(&mut self, cap: u32) -> Result<(), AllocError> {
        if cap <= self.cap {
            return Ok(());
        }
        // SAFETY: the capacity grows, so no row in use is cut off; `&mut self` ends the use of older pointers.
        unsafe { self.try_resize(cap) }
    }

    /// Replaces the lane's block by `block`, which has capacity for `cap` rows. The old block is freed.
    ///
    /// # Panics
    ///
    /// Panics if the rows are zero-sized, or the lane is tracked.
    ///
    /// # Safety
    ///
    /// The block was allocated by the global allocator for `cap` rows of this lane's size and alignment. The lane becomes its
    /// only owner. If `cap` is 0, the pointer dangles, aligned. No row of this lane is in use, and no pointer into it is used
    /// afterwards.
    #[track_caller]
    pub unsafe fn adopt(&mut self, block: NonNull<u8>, cap: u32) {
        assert!(self.size > 0 && !self.tracked, "a lane without rows of a size, or with a bitmap, adopts no block");
        if let (true, Ok(layout)) = (self.bytes() > 0, self.layout(self.cap)) {
            // SAFETY: with bytes there is a block, allocated with this layout, by the type's invariant.
            unsafe { dealloc(self.ptr.as_ptr(), layout) };
        }
        (self.ptr, self.cap) = (block, cap);
    }

    /// Returns the version: a number that differs after each [`touch`](Lane::touch).
    #[inline]
    #[allow(clippy::useless_conversion)]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed).into()
    }

    /// Raises the version: any row may be written from now on.
    #[inline]
    pub fn touch(&self) {
        self.version.fetch_add(1, Ordering::Relaxed);
    }

    /// Sets the version. Only for lanes whose versions the caller alone compares.
    #[inline]
    pub fn set_version(&self, version: u64) {
        #[allow(clippy::unnecessary_cast)]
        self.version.store(version as _, Ordering::Relaxed);
    }

    /// Starts tracking dirty chunks. All chunks are dirty at first.
    ///
    /// Does nothing if the rows are zero-sized. A lane stays tracked while its capacity is 0.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::OutOfMemory`] if the bitmap cannot be allocated; the lane is not tracked then.
    pub fn try_track(&mut self) -> Result<(), AllocError> {
        if self.size == 0 || self.tracked {
            return Ok(());
        }
        if self.cap > 0 {
            self.dirty = new_dirty(self.cap)?;
            self.dirty_mut().fill(u64::MAX);
        }
        self.tracked = true;
        Ok(())
    }

    /// Stops tracking and frees the bitmap.
    pub fn untrack(&mut self) {
        // SAFETY: a bitmap belongs to the present capacity, by the type's invariant.
        unsafe { free_dirty(self.dirty, self.cap) };
        (self.dirty, self.tracked) = (ptr::null_mut(), false);
    }

    /// Sets the dirty bit of a row's chunk. Does nothing if the lane is not tracked.
    ///
    /// # Safety
    ///
    /// `row` is below the capacity. No other thread marks rows or reads the bitmap at the same time.
    #[inline(always)]
    pub unsafe fn set_dirty(&self, row: u32) {
        if !self.dirty.is_null() {
            cold_path();
            let chunk = row / Lane::CHUNK;
            // SAFETY: the row is below the capacity, so its chunk has a bit in the bitmap, and no other thread uses the bitmap.
            unsafe { *self.dirty.add(chunk as usize / 64) |= 1 << (chunk % 64) };
        }
    }

    /// Sets the dirty bit of a row's chunk atomically, so that several threads may do so at the same time.
    ///
    /// # Safety
    ///
    /// `row` is below the capacity. Until all threads that mark rows are done, none reads the bitmap or calls
    /// [`set_dirty`](Lane::set_dirty).
    #[inline]
    pub unsafe fn set_dirty_shared(&self, row: u32) {
        if self.dirty.is_null() {
            return;
        }
        let chunk = row / Lane::CHUNK;
        // A word is marked by halves: not every target can change 64 bits atomically.
        let half = (chunk as usize / 32) ^ usize::from(cfg!(target_endian = "big"));
        let bit = 1 << (chunk % 32);
        // SAFETY: the row is below the capacity, so its chunk has a bit in the bitmap, whose words are initialised and
        // aligned for 64 bits; on a big-endian target the halves of a word change places. The caller allows no other use of the
        // bitmap meanwhile.
        let marks = unsafe { AtomicU32::from_ptr(self.dirty.cast::<u32>().add(half)) };
        // Most chunks are dirty already, and a load does not take the cache line from other threads.
        if marks.load(Ordering::Relaxed) & bit == 0 {
            marks.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// Sets the dirty bits of the chunks of these rows. Does nothing if the lane is not tracked.
    ///
    /// # Safety
    ///
    /// The rows are below the capacity. No other thread marks rows or reads the bitmap at the same time.
    #[inline]
    pub unsafe fn set_dirty_rows(&self, rows: core::ops::Range<u32>) {
        if self.dirty.is_null() || rows.is_empty() {
            return;
        }
        for chunk in rows.start / Lane::CHUNK..=(rows.end - 1) / Lane::CHUNK {
            // SAFETY: the first row of each chunk is not above the last of these.
            unsafe { self.set_dirty(chunk * Lane::CHUNK) };
        }
    }

    /// Returns `true` if the lane is [tracked](Lane::try_track).
    #[inline]
    pub const fn is_tracked(&self) -> bool {
        self.tracked
    }

    /// Returns the dirty bitmap, one bit for each chunk. It is empty if the lane is not tracked.
    pub fn dirty(&self) -> &[u64] {
        if self.dirty.is_null() {
            return &[];
        }
        // SAFETY: the bitmap is a block of that many initialised words. They change through an exclusive reference, or by
        // `mark` and `mark_shared`, whose callers promise that no other thread reads the bitmap.
        unsafe { core::slice::from_raw_parts(self.dirty, dirty_words(self.cap)) }
    }

    /// Returns the dirty bitmap for reading and resetting. It is empty if the lane is not tracked.
    pub fn dirty_mut(&mut self) -> &mut [u64] {
        if self.dirty.is_null() {
            return &mut [];
        }
        // SAFETY: the bitmap is a block of that many initialised words, owned by this lane.
        unsafe { core::slice::from_raw_parts_mut(self.dirty, dirty_words(self.cap)) }
    }

    /// Returns a bitmap for `cap` rows with the bits of the present one. Chunks with new rows are dirty.
    fn resized_dirty(&mut self, cap: u32) -> Result<*mut u64, AllocError> {
        if cap == 0 {
            return Ok(ptr::null_mut());
        }
        let known = if cap > self.cap { (self.cap / Lane::CHUNK) as usize } else { usize::MAX };
        let new = new_dirty(cap)?;
        let old = self.dirty_mut();
        for i in 0..dirty_words(cap) {
            let fresh = match known.saturating_sub(i * 64) {
                kept @ 0..64 => u64::MAX << kept,
                _ => 0,
            };
            // SAFETY: below the number of words of the new bitmap.
            unsafe { *new.add(i) = old.get(i).copied().unwrap_or(0) | fresh };
        }
        Ok(new)
    }
}

/// Returns the next capacity of an array of rows of `size` bytes that has `cap` and needs `needed`.
pub(crate) fn amortised(cap: u32, needed: u32, size: usize) -> u32 {
    let least = match size {
        0..=64 => 8,
        65..=1024 => 4,
        _ => 1,
    };
    cap.saturating_mul(2).max(needed).max(least)
}

const fn dirty_words(cap: u32) -> usize {
    cap.div_ceil(Lane::CHUNK).div_ceil(64) as usize
}

/// Allocates a zeroed bitmap for `cap` rows; `cap` is not zero.
fn new_dirty(cap: u32) -> Result<*mut u64, AllocError> {
    let layout = Layout::array::<u64>(dirty_words(cap)).map_err(|_| AllocError::CapacityOverflow)?;
    // SAFETY: `cap` is not zero, so neither is the size.
    let words = unsafe { alloc_zeroed(layout) };
    if words.is_null() { Err(AllocError::of(layout)) } else { Ok(words.cast()) }
}

/// Frees a bitmap.
///
/// # Safety
///
/// It is null, or was made for `cap` rows and is not used again.
unsafe fn free_dirty(words: *mut u64, cap: u32) {
    if let (false, Ok(layout)) = (words.is_null(), Layout::array::<u64>(dirty_words(cap))) {
        // SAFETY: allocated by `new_dirty(cap)`, with this layout.
        unsafe { dealloc(words.cast(), layout) };
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        // SAFETY: the bitmap belongs to the present capacity, by the type's invariant.
        unsafe { free_dirty(self.dirty, self.cap) };
        if let (true, Ok(layout)) = (self.bytes() > 0, self.layout(self.cap)) {
            // SAFETY: with bytes there is a block, allocated with this layout, by the type's invariant.
            unsafe { dealloc(self.ptr.as_ptr(), layout) };
        }
    }
}

impl fmt::Debug for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lane({} rows of {} bytes)", self.cap, self.size)
    }
}

/// A lane whose rows are of type `T`.
pub struct LaneOf<T> {
    lane: Lane,
    rows: PhantomData<T>,
}

impl<T> LaneOf<T> {
    const ROW: Layout = Layout::new::<T>();

    /// Creates a lane without allocating.
    pub const fn new() -> LaneOf<T> {
        LaneOf { lane: Lane::new(Self::ROW), rows: PhantomData }
    }

    /// Returns a pointer to the first row.
    #[inline(always)]
    pub const fn ptr(&self) -> *mut T {
        self.lane.ptr.as_ptr().cast()
    }

    /// Returns a pointer to a row, initialised or not.
    ///
    /// # Safety
    ///
    /// `row` is not above the capacity.
    #[inline(always)]
    pub const unsafe fn at(&self, row: u32) -> *mut T {
        // SAFETY: within the lane's block or one past its end; for zero-sized rows the offset is zero.
        unsafe { self.ptr().add(row as usize) }
    }

    /// Returns the capacity in rows: `u32::MAX` if they are zero-sized.
    #[inline(always)]
    pub const fn capacity(&self) -> u32 {
        self.lane.cap
    }

    /// Returns the number of bytes allocated.
    pub const fn bytes(&self) -> usize {
        self.lane.bytes()
    }

    /// Returns the lane without its type.
    ///
    /// # Safety
    ///
    /// The lane is not replaced (`mem::swap`, `mem::replace`, an assignment) by one of other rows, whose bytes would be read
    /// as `T`.
    pub const unsafe fn erased(&mut self) -> &mut Lane {
        &mut self.lane
    }

    /// Sets the dirty bit of a row's chunk: [`Lane::set_dirty`].
    ///
    /// # Safety
    ///
    /// `row` is below the capacity. No other thread marks rows or reads the bitmap at the same time.
    #[inline(always)]
    pub unsafe fn set_dirty(&self, row: u32) {
        // SAFETY: the row is below the capacity and no other thread uses the bitmap, as this method asks for too.
        unsafe { self.lane.set_dirty(row) };
    }

    /// Sets the dirty bits of the chunks of these rows: [`Lane::set_dirty_rows`].
    ///
    /// # Safety
    ///
    /// The rows are below the capacity. No other thread marks rows or reads the bitmap at the same time.
    #[inline]
    pub unsafe fn set_dirty_rows(&self, rows: core::ops::Range<u32>) {
        // SAFETY: the rows are below the capacity and no other thread uses the bitmap, as this method asks for too.
        unsafe { self.lane.set_dirty_rows(rows) };
    }

    /// Raises the version: [`Lane::touch`].
    #[inline]
    pub fn touch(&self) {
        self.lane.touch();
    }

    /// Returns the lane without its type, for reading.
    #[inline]
    pub const fn lane(&self) -> &Lane {
        &self.lane
    }

    /// Checks that a block of `cap` rows can exist at all: [`Lane::countable`].
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::CapacityOverflow`] if the block would have more than `isize::MAX` bytes.
    pub fn countable(&self, cap: u32) -> Result<(), AllocError> {
        self.lane.countable(cap)
    }

    /// Grows the capacity to at least `needed` rows: [`Lane::try_grow`].
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; the lane is unchanged then.
    pub fn try_grow(&mut self, needed: u32) -> Result<(), AllocError> {
        self.lane.try_grow(needed)
    }

    /// Sets the capacity to `cap` rows: [`Lane::try_resize`].
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails; the lane is unchanged then.
    ///
    /// # Safety
    ///
    /// No row at or above `cap` is in use, and no pointer into the lane is used afterwards.
    pub unsafe fn try_resize(&mut self, cap: u32) -> Result<(), AllocError> {
        // SAFETY: no row at or above `cap` is in use and no pointer is used afterwards, as this method asks for too.
        unsafe { self.lane.try_resize(cap) }
    }

    /// Returns the first `len` rows.
    ///
    /// # Safety
    ///
    /// They are within the capacity and initialised, and not written while the slice lives.
    #[inline(always)]
    pub const unsafe fn slice(&self, len: u32) -> &[T] {
        // SAFETY: the rows are within the capacity, initialised and not written; the pointer is aligned and not null.
        unsafe { core::slice::from_raw_parts(self.ptr(), len as usize) }
    }

    /// Returns the first `len` rows for writing.
    ///
    /// # Safety
    ///
    /// They are within the capacity and initialised.
    #[inline(always)]
    pub const unsafe fn slice_mut(&mut self, len: u32) -> &mut [T] {
        // SAFETY: the rows are within the capacity and initialised. The pointer is aligned and not null, and the lane is
        // borrowed exclusively.
        unsafe { core::slice::from_raw_parts_mut(self.ptr(), len as usize) }
    }
}

impl<T> Default for LaneOf<T> {
    fn default() -> Self {
        LaneOf::new()
    }
}

impl<T> fmt::Debug for LaneOf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lane.fmt(f)
    }
}
