//! A countdown to a panic.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use crate::panics;

/// A countdown that reports once when its n-th tick comes.
///
/// ```
/// use phalanx_testkit::{Dial, catch};
///
/// let dial = Dial::at(2);
/// let mut kept = vec![1, 2, 3];
/// let outcome = catch(|| kept.retain(|_| { dial.tick_or_panic("callback"); true }));
/// assert_eq!(outcome.unwrap_err().injected().unwrap().site, "callback");
/// assert!(dial.fired());
/// ```
#[derive(Debug, Default)]
pub struct Dial {
    left: AtomicU64,
    fired: AtomicBool,
}

impl Dial {
    /// Creates a dial that never fires until it is [set](Self::set).
    pub const fn off() -> Self {
        Self::at(0)
    }

    /// Creates a dial that fires at its `n`-th tick; never, if `n` is zero.
    pub const fn at(n: u64) -> Self {
        Self { left: AtomicU64::new(n), fired: AtomicBool::new(false) }
    }

    /// Restarts the countdown: the dial fires at the `n`-th tick from here; never, if `n` is zero.
    pub fn set(&self, n: u64) {
        self.fired.store(false, SeqCst);
        self.left.store(n, SeqCst);
    }

    /// Stops the countdown and returns whether it had fired.
    pub fn stop(&self) -> bool {
        self.left.store(0, SeqCst);
        self.fired()
    }

    /// Returns `true` if the dial has fired since it was set.
    pub fn fired(&self) -> bool {
        self.fired.load(SeqCst)
    }

    /// Counts one event. Returns `true` at the `n`-th.
    pub fn tick(&self) -> bool {
        let before = self.left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1));
        let now = before == Ok(1);
        if now {
            self.fired.store(true, SeqCst);
        }
        now
    }

    /// Counts one event, and panics with [`Injected`](crate::Injected) at the `n`-th.
    ///
    /// # Panics
    /// Panics at the `n`-th event.
    pub fn tick_or_panic(&self, site: &'static str) {
        if self.tick() {
            panics::inject(site);
        }
    }
}
