//! Threads, locks and atomics, in a form that the model checker loom can explore.

#[cfg(not(loom))]
pub(super) use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
#[cfg(not(loom))]
pub(super) use std::thread::{Builder, JoinHandle, Thread, current, park};

#[cfg(loom)]
pub(super) use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
#[cfg(loom)]
pub(super) use loom::thread::{Builder, JoinHandle, Thread, current, park};

#[cfg(not(loom))]
use std::sync::{Mutex, MutexGuard};

#[cfg(loom)]
use loom::sync::{Mutex, MutexGuard};

use std::sync::PoisonError;

/// A mutex that ignores poison: no code of users runs while it is locked.
#[derive(Debug)]
pub(super) struct Lock<T>(Mutex<T>);

impl<T> Lock<T> {
    pub(super) fn new(value: T) -> Lock<T> {
        Lock(Mutex::new(value))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls `is_over` again and again, until it returns `true` or `time` is over. Returns what it returned last.
///
/// There is nothing to gain from spinning in a model, and it would have no end.
pub(super) fn spin(time: core::time::Duration, is_over: impl Fn() -> bool) -> bool {
    #[cfg(not(loom))]
    if !time.is_zero() {
        let start = std::time::Instant::now();
        loop {
            for _ in 0..32 {
                if is_over() {
                    return true;
                }
                core::hint::spin_loop();
            }
            if start.elapsed() >= time {
                break;
            }
        }
    }
    let _ = time;
    is_over()
}
