//! The one array type.
//!
//! # Invariants
//!
//! - `ptr` is aligned to `align`. With `size * cap > 0` it is the start of a block that this lane alone owns, allocated
//!   with exactly [`Lane::layout`] of `cap`; otherwise it dangles and nothing is allocated.
//! - A lane of zero-sized rows has the capacity `u32::MAX` and never allocates.
//! - `dirty`, when not null, is a block of exactly `dirty_words(cap)` initialised words that this lane owns. It is null
//!   when the lane is not `tracked`, or has no room, or rows without a size.
//! - A lane has no length and never drops rows: whoever keeps the length does.
#![allow(unsafe_code)]

use crate::AllocError;
use alloc::alloc::{alloc, alloc_zeroed, dealloc, realloc};
use core::alloc::Layout;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicU32, Ordering};

#[cfg(target_has_atomic = "64")]
type Version = core::sync::atomic::AtomicU64;
/// Where a word of 64 bits cannot be changed atomically, the version wraps after 2³² announcements.
#[cfg(not(target_has_atomic = "64"))]
type Version = AtomicU32;

/// Memory for rows of one size and alignment.
///
/// A lane knows its capacity and not its length; its rows are moved as bytes. It also carries what incremental copies
/// need: a [version](Lane::version), raised by whoever opens the whole lane for writing, and, while
/// [tracked](Lane::try_track), a bitmap of the chunks of 128 rows that were [marked](Lane::mark) as written.
pub struct Lane {
    ptr: NonNull<u8>,
    size: u32,
    align: u32,
    cap: u32,
    tracked: bool,
    version: Version,
    dirty: *mut u64,
}

// SAFETY: a lane owns its blocks and hands out nothing but raw pointers; what may be done with the rows from which
// thread is decided by those who dereference them (`LaneOf<T>` follows `T`).
unsafe impl Send for Lane {}
// SAFETY: as above; behind a shared reference only the atomic version changes, and marks: by `mark_shared`, which is
// atomic, and by `mark`, whose callers promise to be alone.
unsafe impl Sync for Lane {}

impl Lane {
    /// Rows in one chunk of the dirty bitmap.
    pub const CHUNK: u32 = 128;

    /// A lane for rows of this layout, with no room unless they are zero-sized.
    ///
    /// # Panics
    ///
    /// If a row is larger than 4 GiB or aligned to more.
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

    /// The first row.
    #[inline(always)]
    pub const fn ptr(&self) -> NonNull<u8> {
        self.ptr
    }

    /// Bytes in a row.
    #[inline(always)]
    pub const fn row_size(&self) -> usize {
        self.size as usize
    }

    /// How many rows there is room for; `u32::MAX` when they are zero-sized.
    #[inline(always)]
    pub const fn capacity(&self) -> u32 {
        self.cap
    }

    /// Bytes held from the allocator, the dirty bitmap not counted.
    pub const fn bytes(&self) -> usize {
        self.size as usize * if self.size == 0 { 0 } else { self.cap as usize }
    }

    /// The layout of a block of `cap` rows.
    fn layout(&self, cap: u32) -> Result<Layout, AllocError> {
        let bytes = (self.size as usize).checked_mul(cap as usize).ok_or(AllocError::CapacityOverflow)?;
        Layout::from_size_align(bytes, self.align as usize).map_err(|_| AllocError::CapacityOverflow)
    }

    /// Whether a block of `cap` rows can exist at all. To be asked of all lanes that grow together before the first one
    /// does.
    ///
    /// # Errors
    ///
    /// If it would have more bytes than can be counted.
    pub fn countable(&self, cap: u32) -> Result<(), AllocError> {
        self.layout(cap).map(drop)
    }

    /// Gives the lane room for exactly `cap` rows. Zero-sized rows have room for all, and nothing happens.
    ///
    /// # Errors
    ///
    /// If memory cannot be had; the lane is as it was. A request that is not larger than the present capacity fails
    /// only if the allocator cannot shrink a block, or has no room for a tracked lane's new bitmap.
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

    /// Makes room for at least `needed` rows, at least doubling the capacity.
    ///
    /// # Errors
    ///
    /// As [`Lane::try_resize`].
    pub fn try_grow(&mut self, needed: u32) -> Result<(), AllocError> {
        if needed <= self.cap {
            return Ok(());
        }
        // SAFETY: the capacity grows, so no row in use is cut off; `&mut self` ends the use of older pointers.
        unsafe { self.try_resize(amortised(self.cap, needed, self.size as usize)) }
    }

    /// Takes over a block with room for `cap` rows in the place of its own, which is given back. A lane that is tracked
    /// takes none.
    ///
    /// # Panics
    ///
    /// If the rows are zero-sized, or the lane is tracked.
    ///
    /// # Safety
    ///
    /// The block was allocated by the global allocator for `cap` rows of this lane's size and alignment (for none, it
    /// dangles, aligned), and is nobody else's. No row of this lane is in use, and no pointer into it is used afterwards.
    #[track_caller]
    pub unsafe fn adopt(&mut self, block: NonNull<u8>, cap: u32) {
        assert!(self.size > 0 && !self.tracked, "a lane without rows of a size, or with a bitmap, adopts no block");
        if let (true, Ok(layout)) = (self.bytes() > 0, self.layout(self.cap)) {
            // SAFETY: with bytes there is a block, allocated with this layout, by the type's invariant.
            unsafe { dealloc(self.ptr.as_ptr(), layout) };
        }
        (self.ptr, self.cap) = (block, cap);
    }

    /// A number that is different after any write that was announced.
    #[inline]
    #[allow(clippy::useless_conversion)]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed).into()
    }

    /// Announces that any row may be written.
    #[inline]
    pub fn touch(&self) {
        self.version.fetch_add(1, Ordering::Relaxed);
    }

    /// Announces that any row may be written, and gives the version a number of the caller's: for lanes whose versions
    /// nobody else counts.
    #[inline]
    pub fn set_version(&self, version: u64) {
        #[allow(clippy::unnecessary_cast)]
        self.version.store(version as _, Ordering::Relaxed);
    }

    /// Starts to remember which chunks are marked; all are, to begin with. Zero-sized rows need no memory of it. A lane
    /// stays tracked while it has no room.
    ///
    /// # Errors
    ///
    /// If memory for the bitmap cannot be had; nothing is tracked then.
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

    /// Stops tracking and gives the bitmap's memory back.
    pub fn untrack(&mut self) {
        // SAFETY: a bitmap belongs to the present capacity, by the type's invariant.
        unsafe { free_dirty(self.dirty, self.cap) };
        (self.dirty, self.tracked) = (ptr::null_mut(), false);
    }

    /// Remembers, if the lane is tracked, that this row was written. One test otherwise.
    ///
    /// # Safety
    ///
    /// `row` is below the capacity, and nobody else marks rows or looks at the marks at the same time.
    #[inline(always)]
    pub unsafe fn mark(&self, row: u32) {
        if !self.dirty.is_null() {
            let chunk = row / Lane::CHUNK;
            // SAFETY: the row is below the capacity, so its chunk has a bit in the bitmap, which is the caller's alone.
            unsafe { *self.dirty.add(chunk as usize / 64) |= 1 << (chunk % 64) };
        }
    }

    /// Like [`mark`](Lane::mark), but other threads may mark rows of this lane at the same time, in this way.
    ///
    /// # Safety
    ///
    /// `row` is below the capacity. Until all threads that mark rows are done, none reads the bitmap or calls
    /// [`mark`](Lane::mark).
    #[inline]
    pub unsafe fn mark_shared(&self, row: u32) {
        if self.dirty.is_null() {
            return;
        }
        let chunk = row / Lane::CHUNK;
        // A word is marked by halves: not every target can change 64 bits atomically.
        let half = (chunk as usize / 32) ^ usize::from(cfg!(target_endian = "big"));
        let bit = 1 << (chunk % 32);
        // SAFETY: the row is below the capacity, so its chunk has a bit in the bitmap, whose words are initialised and
        // aligned for 64 bits; on a big-endian target the halves of a word change places. Meanwhile the bitmap is used
        // in this way only, by the caller's promise.
        let marks = unsafe { AtomicU32::from_ptr(self.dirty.cast::<u32>().add(half)) };
        // Most rows are in a chunk that is marked already, and a test does not take the line from other threads.
        if marks.load(Ordering::Relaxed) & bit == 0 {
            marks.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// Remembers, if the lane is tracked, that these rows were written.
    ///
    /// # Safety
    ///
    /// They are below the capacity, and nobody else marks rows or looks at the marks at the same time.
    #[inline]
    pub unsafe fn mark_rows(&self, rows: core::ops::Range<u32>) {
        if self.dirty.is_null() || rows.is_empty() {
            return;
        }
        for chunk in rows.start / Lane::CHUNK..=(rows.end - 1) / Lane::CHUNK {
            // SAFETY: the first row of each chunk is not above the last of these.
            unsafe { self.mark(chunk * Lane::CHUNK) };
        }
    }

    /// Whether it is [tracked](Lane::try_track).
    #[inline]
    pub const fn is_tracked(&self) -> bool {
        self.tracked
    }

    /// The bitmap, a bit a chunk, to be looked at while nobody marks rows. Empty when the lane is not tracked.
    pub fn dirty(&self) -> &[u64] {
        if self.dirty.is_null() {
            return &[];
        }
        // SAFETY: the bitmap is a block of that many initialised words. They change through an exclusive reference, or by
        // marks, which are set only while nobody looks at them.
        unsafe { core::slice::from_raw_parts(self.dirty, dirty_words(self.cap)) }
    }

    /// The bitmap, a bit a chunk: words to read and to reset. Empty when the lane is not tracked.
    pub fn dirty_mut(&mut self) -> &mut [u64] {
        if self.dirty.is_null() {
            return &mut [];
        }
        // SAFETY: the bitmap is a block of that many initialised words, owned by this lane.
        unsafe { core::slice::from_raw_parts_mut(self.dirty, dirty_words(self.cap)) }
    }

    /// A bitmap for `cap` rows with the bits of the present one; chunks that have rows new to it are marked.
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

/// The next capacity of an array of rows of `size` bytes that holds `cap` and needs `needed`.
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

/// A zeroed bitmap for `cap` rows, which are not none.
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

    /// A lane with no room.
    pub const fn new() -> LaneOf<T> {
        LaneOf { lane: Lane::new(Self::ROW), rows: PhantomData }
    }

    /// The first row.
    #[inline(always)]
    pub const fn ptr(&self) -> *mut T {
        self.lane.ptr.as_ptr().cast()
    }

    /// The row at `row`: a pointer, whether or not anything is there.
    ///
    /// # Safety
    ///
    /// `row` is not above the capacity.
    #[inline(always)]
    pub const unsafe fn at(&self, row: u32) -> *mut T {
        // SAFETY: within the lane's block or one past its end; for zero-sized rows the offset is zero.
        unsafe { self.ptr().add(row as usize) }
    }

    /// How many rows there is room for; `u32::MAX` when they are zero-sized.
    #[inline(always)]
    pub const fn capacity(&self) -> u32 {
        self.lane.cap
    }

    /// Bytes held from the allocator.
    pub const fn bytes(&self) -> usize {
        self.lane.bytes()
    }

    /// The lane without its type.
    ///
    /// # Safety
    ///
    /// It is not exchanged (`mem::swap`, `mem::replace`, an assignment) for a lane of other rows: this one's would be
    /// read as `T` then.
    pub const unsafe fn erased(&mut self) -> &mut Lane {
        &mut self.lane
    }

    /// See [`Lane::mark`].
    ///
    /// # Safety
    ///
    /// As there.
    #[inline(always)]
    pub unsafe fn mark(&self, row: u32) {
        // SAFETY: the caller's promise.
        unsafe { self.lane.mark(row) };
    }

    /// See [`Lane::mark_rows`].
    ///
    /// # Safety
    ///
    /// They are below the capacity, and nobody else marks rows or looks at the marks at the same time.
    #[inline]
    pub unsafe fn mark_rows(&self, rows: core::ops::Range<u32>) {
        // SAFETY: the caller's promise.
        unsafe { self.lane.mark_rows(rows) };
    }

    /// See [`Lane::touch`].
    #[inline]
    pub fn touch(&self) {
        self.lane.touch();
    }

    /// The lane without its type, to be looked at.
    #[inline]
    pub const fn lane(&self) -> &Lane {
        &self.lane
    }

    /// See [`Lane::countable`].
    ///
    /// # Errors
    ///
    /// If the block would have more bytes than can be counted.
    pub fn countable(&self, cap: u32) -> Result<(), AllocError> {
        self.lane.countable(cap)
    }

    /// See [`Lane::try_grow`].
    ///
    /// # Errors
    ///
    /// If memory cannot be had; nothing changed.
    pub fn try_grow(&mut self, needed: u32) -> Result<(), AllocError> {
        self.lane.try_grow(needed)
    }

    /// See [`Lane::try_resize`].
    ///
    /// # Errors
    ///
    /// If memory cannot be had; nothing changed.
    ///
    /// # Safety
    ///
    /// No row at or above `cap` is in use, and no pointer into the lane is used afterwards.
    pub unsafe fn try_resize(&mut self, cap: u32) -> Result<(), AllocError> {
        // SAFETY: the caller's promise.
        unsafe { self.lane.try_resize(cap) }
    }

    /// The first `len` rows.
    ///
    /// # Safety
    ///
    /// They are within the capacity and initialised, and not written while the slice lives.
    #[inline(always)]
    pub const unsafe fn slice(&self, len: u32) -> &[T] {
        // SAFETY: the caller's promise; the pointer is aligned and not null.
        unsafe { core::slice::from_raw_parts(self.ptr(), len as usize) }
    }

    /// The first `len` rows, for writing.
    ///
    /// # Safety
    ///
    /// They are within the capacity and initialised.
    #[inline(always)]
    pub const unsafe fn slice_mut(&mut self, len: u32) -> &mut [T] {
        // SAFETY: the caller's promise; the pointer is aligned and not null, and the lane is borrowed exclusively.
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
