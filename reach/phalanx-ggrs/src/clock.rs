//! [`Clock`]: the time that delays and repetitions go by.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A clock: that of the machine, or one that a test sets.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    Machine(Instant),
    /// Nanoseconds.
    Manual(Arc<AtomicU64>),
}

impl Clock {
    /// Returns the clock of the machine.
    pub fn machine() -> Clock {
        Clock(Source::Machine(Instant::now()))
    }

    /// Returns a clock that stands still. Its clones show the same time.
    pub fn manual() -> Clock {
        Clock(Source::Manual(Arc::default()))
    }

    /// Returns the time since the clock was created.
    pub fn now(&self) -> Duration {
        match &self.0 {
            Source::Machine(start) => start.elapsed(),
            Source::Manual(nanos) => Duration::from_nanos(nanos.load(Ordering::Relaxed)),
        }
    }

    /// Sets a manual clock forward. That of the machine is unchanged.
    pub fn advance(&self, by: Duration) {
        if let Source::Manual(nanos) = &self.0 {
            nanos.fetch_add(by.as_nanos() as u64, Ordering::Relaxed);
        }
    }
}
