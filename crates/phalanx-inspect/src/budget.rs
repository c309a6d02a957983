//! [`Budget`]: the time that an update may take.

use std::time::{Duration, Instant};

/// The number of rows between two looks at the clock.
pub(crate) const ROWS_PER_LOOK: usize = 256;

/// The time that an update may take.
#[derive(Debug)]
pub(crate) struct Budget {
    start: Instant,
    limit: Duration,
    /// The number of looks at the clock that are left, instead of the clock.
    #[cfg(test)]
    looks: Option<core::cell::Cell<u32>>,
}

impl Budget {
    /// Starts the clock.
    pub(crate) fn new(limit: Duration) -> Budget {
        Budget {
            start: Instant::now(),
            limit,
            #[cfg(test)]
            looks: None,
        }
    }

    /// Creates a budget that is used up by looking at it.
    #[cfg(test)]
    pub(crate) fn of_looks(looks: u32) -> Budget {
        Budget { looks: Some(looks.into()), ..Budget::new(Duration::MAX) }
    }

    /// Returns `true` if the time is used up.
    pub(crate) fn is_over(&self) -> bool {
        #[cfg(test)]
        if let Some(looks) = &self.looks {
            looks.set(looks.get().saturating_sub(1));
            return looks.get() == 0;
        }
        self.elapsed() >= self.limit
    }

    /// Returns the time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}
