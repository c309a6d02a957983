//! [`RunHistory`]: the runs of a query state that a rollback may return to.

use super::{Clock, Tick};

/// The runs of a query state or a system parameter.
///
/// It has the last run before each image of the world that was made since. If a rollback has undone the last runs, the state
/// continues from the last one that it has not undone. So a frame that runs again sees the same changes as the first time.
#[derive(Debug)]
pub(crate) struct RunHistory {
    last: Option<Run>,
    /// The runs before, the latest last.
    older: Vec<Run>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    id: u64,
    images: u64,
    tick: Tick,
}

impl RunHistory {
    /// The number of older runs that are kept.
    const MOST: usize = 128;

    /// Creates a history without runs.
    pub(crate) const fn new() -> RunHistory {
        RunHistory { last: None, older: Vec::new() }
    }

    /// Returns `true` if the last run had this tick.
    #[inline(always)]
    pub(crate) fn is_last(&self, clock: &Clock, now: Tick) -> bool {
        self.last.is_some_and(|run| run.id == clock.id && run.tick == now)
    }

    /// Returns the tick of the last run that was not undone.
    #[inline]
    pub(crate) fn since(&self, clock: &Clock) -> Option<Tick> {
        let last = self.last?;
        clock.since((last.id, last.tick)).or_else(|| self.since_older(clock))
    }

    #[cold]
    #[inline(never)]
    fn since_older(&self, clock: &Clock) -> Option<Tick> {
        self.older.iter().rev().find_map(|run| clock.since((run.id, run.tick)))
    }

    /// Adds a run.
    #[inline]
    pub(crate) fn record(&mut self, clock: &Clock, now: Tick) {
        let run = Run { id: clock.id, images: clock.images_so_far(), tick: now };
        if let Some(last) = self.last.replace(run)
            && (last.id, last.images) != (run.id, run.images)
        {
            self.keep(last);
        }
    }

    /// Keeps a run: there is an image between it and the next one.
    #[cold]
    #[inline(never)]
    fn keep(&mut self, run: Run) {
        if self.older.len() == RunHistory::MOST {
            self.older.remove(0);
        }
        // Without memory the older runs are forgotten. After a rollback all values are new then.
        match self.older.try_reserve(1) {
            Ok(()) => self.older.push(run),
            Err(_) => self.older.clear(),
        }
    }
}
