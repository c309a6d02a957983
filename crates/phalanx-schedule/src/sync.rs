//! Atomics and waiting, in a form that the model checker loom can explore.

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Waits a moment. The first calls spin, later ones let other threads run.
#[cfg(not(loom))]
pub(crate) fn relax(tries: &mut u32) {
    *tries += 1;
    match *tries {
        ..=200 => core::hint::spin_loop(),
        _ => std::thread::yield_now(),
    }
}

/// Lets other threads run.
#[cfg(loom)]
pub(crate) fn relax(_: &mut u32) {
    loom::thread::yield_now();
}
