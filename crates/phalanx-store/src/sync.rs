//! The one atomic word of the crate, in a form that the model checker loom can explore.

#[cfg(not(loom))]
use core::sync::atomic::{AtomicU32, Ordering};
#[cfg(loom)]
use loom::sync::atomic::{AtomicU32, Ordering};

/// A counter that is raised through shared references and taken through an exclusive one.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU32);

impl Counter {
    #[cfg(not(loom))]
    pub(crate) const fn new() -> Counter {
        Counter(AtomicU32::new(0))
    }

    #[cfg(loom)]
    pub(crate) fn new() -> Counter {
        Counter(AtomicU32::new(0))
    }

    /// Adds `n` unless that would pass `limit`, and returns the old count.
    ///
    /// Relaxed is enough, as only the numbers themselves are shared. The free list does not change while there is a shared
    /// reference.
    pub(crate) fn raise(&self, n: u32, limit: u32) -> Option<u32> {
        let up = |now: u32| now.checked_add(n).filter(|sum| *sum <= limit);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, up).ok()
    }

    pub(crate) fn now(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn get(&mut self) -> u32 {
        #[cfg(not(loom))]
        return *self.0.get_mut();
        #[cfg(loom)]
        return self.0.with_mut(|n| *n);
    }

    pub(crate) fn reset(&mut self) {
        self.set(0);
    }

    /// Sets the count.
    pub(crate) fn set(&mut self, count: u32) {
        #[cfg(not(loom))]
        {
            *self.0.get_mut() = count;
        }
        #[cfg(loom)]
        self.0.with_mut(|n| *n = count);
    }
}
