//! How much memory something holds.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering::Relaxed};

/// The system's allocator, which counts when it is told to. Otherwise it costs one load.
struct Counting;

static ON: AtomicBool = AtomicBool::new(false);
static BYTES: AtomicIsize = AtomicIsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[inline]
fn count(bytes: isize) {
    if ON.load(Relaxed) {
        BYTES.fetch_add(bytes, Relaxed);
    }
}

// SAFETY: every call is passed on to the system's allocator as it is, with its result.
unsafe impl GlobalAlloc for Counting {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(block, layout, size) }
    }
}

/// What `make` returns, and the bytes that were allocated meanwhile and not freed.
pub fn held<T>(make: impl FnOnce() -> T) -> (isize, T) {
    BYTES.store(0, Relaxed);
    ON.store(true, Relaxed);
    let made = make();
    ON.store(false, Relaxed);
    (BYTES.load(Relaxed), made)
}
