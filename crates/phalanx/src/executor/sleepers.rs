//! Threads that wait for work.
//!
//! One word holds the number of events (upper bits) and the number of threads that sleep (lower bits). A thread reads it, looks
//! for work, and goes to sleep by a compare-exchange of the word that it read. So an event in between keeps it awake, and an
//! event after it sees that a thread sleeps. All of this is one atomic, so no fence is needed.
//!
//! The lower bits and the list change together, under the lock. The word is read (acquire) before the list is used and changed
//! (release) after it, so that tools which do not see the lock see the order.

use super::sync::{AtomicU64, Lock, Ordering, Thread, current, park};

/// One event, in the upper bits.
const EVENT: u64 = 1 << 16;

/// The threads that wait for work.
#[derive(Debug)]
pub(super) struct Sleepers {
    word: AtomicU64,
    /// The threads that sleep, by their numbers. The last one went to sleep last.
    list: Lock<Vec<(usize, Thread)>>,
}

/// A moment between two events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment(u64);

impl Sleepers {
    /// Has capacity for this number of threads, which is below 2¹⁶.
    pub(super) fn new(threads: usize) -> Sleepers {
        Sleepers { word: AtomicU64::new(0), list: Lock::new(Vec::with_capacity(threads)) }
    }

    /// Returns the present moment. What happened before its last event is visible.
    pub(super) fn now(&self) -> Moment {
        Moment(self.word.load(Ordering::Acquire) / EVENT)
    }

    /// Counts an event and wakes one thread, if one sleeps.
    pub(super) fn notify_one(&self) {
        if !self.word.fetch_add(EVENT, Ordering::AcqRel).is_multiple_of(EVENT) {
            self.wake_one();
        }
    }

    /// Counts an event and wakes all threads.
    pub(super) fn notify_all(&self) {
        self.word.fetch_add(EVENT, Ordering::AcqRel);
        while self.wake_one() {}
    }

    /// Wakes one thread. Returns `false` if none sleeps.
    pub(super) fn wake_one(&self) -> bool {
        let woken = {
            let mut list = self.list.lock();
            self.word.load(Ordering::Acquire);
            let woken = list.pop();
            if woken.is_some() {
                self.word.fetch_sub(1, Ordering::Release);
            }
            woken
        };
        woken.inspect(|(_, thread)| thread.unpark()).is_some()
    }

    /// Returns `true` if a thread sleeps, as far as this thread knows.
    pub(super) fn any(&self) -> bool {
        !self.word.load(Ordering::Relaxed).is_multiple_of(EVENT)
    }

    /// Sleeps until another thread wakes this one, unless an event came after `since`. May return early.
    pub(super) fn sleep(&self, number: usize, since: Moment) {
        {
            let mut list = self.list.lock();
            if self.now() != since {
                return;
            }
            list.push((number, current()));
            let enter = |word: u64| (Moment(word / EVENT) == since).then_some(word + 1);
            if self.word.fetch_update(Ordering::AcqRel, Ordering::Acquire, enter).is_err() {
                list.pop();
                // Changes nothing but the order.
                self.word.fetch_add(0, Ordering::Release);
                return;
            }
        }
        park();
        let mut list = self.list.lock();
        self.word.load(Ordering::Acquire);
        if let Some(at) = list.iter().position(|(sleeper, _)| *sleeper == number) {
            list.remove(at);
            self.word.fetch_sub(1, Ordering::Release);
        }
    }
}
