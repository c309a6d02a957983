//! How much memory something holds.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, which counts what this thread does when it is told to. Otherwise it costs one load.
struct Counting;

thread_local! {
    static HELD: Cell<Option<isize>> = const { Cell::new(None) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[inline]
fn count(bytes: isize) {
    if let Some(held) = HELD.get() {
        HELD.set(Some(held + bytes));
    }
}

// SAFETY: every call is passed on to the system's allocator as it is, with its result.
unsafe impl GlobalAlloc for Counting {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller keeps the contract of the same function of `System`.
        unsafe { System.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller keeps the contract of the same function of `System`.
        unsafe { System.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller keeps the contract of the same function of `System`.
        unsafe { System.dealloc(block, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        // SAFETY: the caller keeps the contract of the same function of `System`.
        unsafe { System.realloc(block, layout, size) }
    }
}

/// The sizes that memory is averaged over: from 100k to nearly 200k, evenly by factor. Capacities double, so one size
/// alone would say more about where its library happens to start than about what an entry costs.
pub const SIZES: [usize; 8] = [100_000, 109_051, 118_921, 129_684, 141_421, 154_221, 168_179, 183_401];

/// What `make` returns, and the bytes that were allocated meanwhile and not freed, by this thread.
pub fn held<T>(make: impl FnOnce() -> T) -> (isize, T) {
    HELD.set(Some(0));
    let made = make();
    (HELD.take().unwrap_or(0), made)
}

/// The bytes that something holds for an entry, averaged over [`SIZES`]; and what `digest` makes of the largest.
pub fn average<T>(make: impl Fn(usize) -> T, digest: impl Fn(&mut T) -> u64) -> (f64, u64) {
    let mut last = 0;
    let bytes = SIZES.map(|size| {
        let (bytes, mut made) = held(|| make(size));
        if size == SIZES[7] {
            last = digest(&mut made);
        }
        bytes as f64 / size as f64
    });
    (bytes.iter().sum::<f64>() / SIZES.len() as f64, last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_to_the_last() {
        assert_eq!(held(|| Vec::<u64>::with_capacity(100)).0, 800);
        let grown = || {
            let mut values = Vec::<u8>::with_capacity(10);
            values.reserve_exact(1000);
            values
        };
        assert_eq!(held(grown).0, 1000);
        assert_eq!(held(|| drop(vec![0u8; 100])).0, 0);
        let (average, digest) = average(|n| vec![1u32; n], |values| values.len() as u64);
        assert_eq!((average, digest), (4.0, 183_401));
    }
}
