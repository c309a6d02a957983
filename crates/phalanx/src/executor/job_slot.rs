//! A place for a job that several threads can join.
//!
//! The owner of a job has the work on its stack, calls it, and leaves when the work is done. Other threads, the *helpers*, join
//! while the job is open. The borrow of the work ends with [`JobSlot::offer`], so its lifetime is erased here and nowhere else.
//!
//! # Why the work is alive whenever it is called
//!
//! The state of a slot is one atomic word:
//!
//! | bits | meaning |
//! |---|---|
//! | `CLAIMED` | the slot has an owner |
//! | `WAITING` | the owner sleeps until no helper is inside |
//! | `OPENINGS` | how many helpers may still join; zero before the job is open and after it is closed |
//! | `INSIDE` | how many helpers are inside |
//! | `JOB` | the number of the job in this slot |
//!
//! 1. One thread is the owner: it set `CLAIMED` by a compare-exchange of a word without it, and is the only one to clear it.
//! 2. The owner stores the pointer to the work before it stores the first `OPENINGS` (release).
//! 3. A helper joins by a compare-exchange (acquire) of a word with `OPENINGS`, which takes one opening and adds one to `INSIDE`.
//!    The word can be one of a later job than the helper has seen; then it joins that job. In each case it reads from the store
//!    of rule 2 or from a joining or leaving thread after it, all of which are read-modify-write operations. So the pointer
//!    that it loads is that of the open job.
//! 4. The owner closes the job by clearing `OPENINGS`. From then on no helper joins. If its own call of the work panics, it
//!    catches the panic, closes the job, and resumes the panic after rule 5.
//! 5. The owner then waits until `INSIDE` is zero (acquire). A helper lowers it (release) after its call has returned or its
//!    panic has been caught. So every call happens before the owner goes on.
//! 6. The work outlives the call of [`JobSlot::offer`], which returns after rule 5.
//!
//! So each call of a helper lies between the opening and rule 5, where the work is borrowed. `Sync` of the work allows calls on
//! several threads.
#![allow(unsafe_code)]

use super::panic_payload::{PanicPayload, discard};
use super::sync::{AtomicPtr, AtomicU64, Lock, Ordering, Thread, current, park, spin};
use core::time::Duration;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

const CLAIMED: u64 = 1;
const WAITING: u64 = 1 << 1;
/// One helper inside.
const INSIDE: u64 = 1 << 2;
const ALL_INSIDE: u64 = OPENING - INSIDE;
/// One opening.
const OPENING: u64 = 1 << 17;
const ALL_OPENINGS: u64 = JOB - OPENING;
/// One job.
const JOB: u64 = 1 << 32;

/// How long the owner spins until the helpers are out, before it sleeps.
const SPIN: Duration = Duration::from_micros(5);

/// What is called on several threads.
type Work<'a> = &'a (dyn Fn() + Sync + 'a);

/// The number of a job in a slot, modulo 2³².
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JobNumber(u64);

impl JobNumber {
    /// Is not the number of any job.
    pub(super) const NONE: JobNumber = JobNumber(u64::MAX);

    fn of(state: u64) -> JobNumber {
        JobNumber(state / JOB)
    }
}

/// A place for a job that several threads can join.
// Slots of different jobs are written by different threads.
#[repr(align(128))]
#[derive(Debug)]
pub(super) struct JobSlot {
    state: AtomicU64,
    /// Points to the `Work` of an open job.
    work: AtomicPtr<()>,
    /// The thread that sleeps until no helper is inside. Written before `WAITING` is set.
    owner: Lock<Option<Thread>>,
    /// The first panic of a helper.
    panic: Lock<Option<PanicPayload>>,
}

impl JobSlot {
    /// The largest number of helpers in a job.
    pub(super) const MOST_HELPERS: usize = (ALL_OPENINGS / OPENING) as usize;

    pub(super) fn new() -> JobSlot {
        JobSlot {
            state: AtomicU64::new(0),
            work: AtomicPtr::new(core::ptr::null_mut()),
            owner: Lock::new(None),
            panic: Lock::new(None),
        }
    }

    /// Calls `work` here, and lets up to `helpers` other threads join. `opened` is called when they can.
    ///
    /// Returns `false` without a call if the slot has another job.
    ///
    /// # Panics
    ///
    /// Panics if a call of the work does. All threads are out of it then.
    pub(super) fn offer(&self, helpers: usize, work: &(dyn Fn() + Sync), opened: impl FnOnce()) -> bool {
        let state = self.state.load(Ordering::Relaxed);
        let claim = || self.state.compare_exchange(state, state | CLAIMED, Ordering::Acquire, Ordering::Relaxed);
        if state & CLAIMED != 0 || claim().is_err() {
            return false;
        }
        let work: Work<'_> = work;
        // Rule 2. The pointer is to this variable, which stays where it is until the job is closed below.
        self.work.store((&raw const work).cast_mut().cast(), Ordering::Relaxed);
        let openings = helpers.min(Self::MOST_HELPERS) as u64 * OPENING;
        self.state.store((state | CLAIMED).wrapping_add(JOB) | openings, Ordering::Release);
        let result = catch_unwind(AssertUnwindSafe(|| {
            opened();
            work();
        }));
        let others = self.close(openings);
        match (result, others) {
            (Ok(()), None) => {}
            (Ok(()), Some(payload)) => resume_unwind(payload),
            (Err(payload), others) => {
                others.into_iter().for_each(discard);
                resume_unwind(payload);
            }
        }
        true
    }

    /// Takes part in the job, if one is open in which this thread has not been. `joined` is called with the number of
    /// helpers that can still join, before the work is.
    ///
    /// `last` is the job in which this thread was last. Returns `false` if it joined none.
    pub(super) fn join(&self, last: &mut JobNumber, joined: impl FnOnce(usize)) -> bool {
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            if state & ALL_OPENINGS == 0 || JobNumber::of(state) == *last {
                return false;
            }
            let inside = state - OPENING + INSIDE;
            match self.state.compare_exchange_weak(state, inside, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => state = now,
            }
        }
        *last = JobNumber::of(state);
        joined(((state & ALL_OPENINGS) / OPENING) as usize - 1);
        // SAFETY: this thread is inside of the job, by the exchange above, and leaves below. By rules 2 and 3 the pointer is to the
        // `Work` of that job, and by rules 4 to 6 both it and the work live until this thread has left.
        let work = unsafe { *self.work.load(Ordering::Relaxed).cast::<Work<'_>>() };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(work)) {
            self.carry(payload);
        }
        self.leave();
        true
    }

    /// Keeps the panic of a helper for the owner, if it is the first.
    fn carry(&self, payload: PanicPayload) {
        let later = {
            let mut first = self.panic.lock();
            if first.is_none() {
                *first = Some(payload);
                None
            } else {
                Some(payload)
            }
        };
        later.into_iter().for_each(discard);
    }

    /// Leaves the job, and wakes the owner if it waits for this thread.
    fn leave(&self) {
        let mut state = self.state.load(Ordering::Acquire);
        loop {
            // Once this thread has left, the slot may have another owner.
            let last = state & WAITING != 0 && state & ALL_INSIDE == INSIDE;
            let owner = if last { self.owner.lock().clone() } else { None };
            match self.state.compare_exchange_weak(state, state - INSIDE, Ordering::Release, Ordering::Acquire) {
                Ok(_) => return owner.into_iter().for_each(|owner| owner.unpark()),
                Err(now) => state = now,
            }
        }
    }

    /// Closes the job, waits for the helpers inside, and frees the slot: rules 4 and 5. Returns the first panic of a helper.
    ///
    /// `openings` are those that there were at first.
    fn close(&self, openings: u64) -> Option<PanicPayload> {
        let is_empty = || self.state.load(Ordering::Acquire) & ALL_INSIDE == 0;
        let before = self.state.fetch_and(!ALL_OPENINGS, Ordering::AcqRel);
        if before & ALL_INSIDE != 0 && !spin(SPIN, is_empty) {
            *self.owner.lock() = Some(current());
            if self.state.fetch_or(WAITING, Ordering::AcqRel) & ALL_INSIDE != 0 {
                while !is_empty() {
                    park();
                }
            }
        }
        let has_helped = before & ALL_OPENINGS != openings;
        let payload = if has_helped { self.panic.lock().take() } else { None };
        self.state.fetch_and(!(CLAIMED | WAITING), Ordering::Release);
        payload
    }
}

#[cfg(all(test, loom))]
mod tests;
