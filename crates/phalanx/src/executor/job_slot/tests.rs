//! Slots of jobs, in every order that the memory model allows.
//!
//! ```sh
//! RUSTFLAGS="--cfg loom" cargo test -p phalanx --lib job_slot --profile checked --target-dir target/loom
//! ```

use super::{JobNumber, JobSlot};
use loom::cell::Cell;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread::{JoinHandle, spawn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

/// What a job borrows: a counter, and a cell that the model checks. It is over when the job is.
struct Borrowed {
    calls: AtomicUsize,
    /// The first call writes it.
    cell: Cell<usize>,
    is_over: Cell<bool>,
}

// SAFETY: the model reports accesses to the cells that are not ordered.
unsafe impl Sync for Borrowed {}

impl Borrowed {
    /// Leaks, so that a call after the end is found and not a crash.
    fn new() -> &'static Borrowed {
        let cells = (Cell::new(0), Cell::new(false));
        Box::leak(Box::new(Borrowed { calls: AtomicUsize::new(0), cell: cells.0, is_over: cells.1 }))
    }

    /// Is not ordered with the write at the end, unless the job is.
    fn call(&self) {
        assert!(!self.is_over.get(), "called after the job");
        if self.calls.fetch_add(1, Ordering::Relaxed) == 0 {
            self.cell.set(7);
        }
    }

    /// Sees what all calls wrote, and ends what the job borrows.
    fn end(&self) {
        assert_eq!(self.cell.get(), 7);
        self.is_over.set(true);
    }
}

fn offer(slot: &JobSlot, helpers: usize) {
    let borrowed = Borrowed::new();
    assert!(slot.offer(helpers, &|| borrowed.call(), || ()));
    let calls = borrowed.calls.load(Ordering::Relaxed);
    assert!((1..=helpers + 1).contains(&calls), "{calls} calls");
    borrowed.end();
}

/// Starts a thread that tries to join a job in each of the slots, a number of times.
fn helper(slots: &Arc<Vec<JobSlot>>, times: usize) -> JoinHandle<usize> {
    let slots = Arc::clone(slots);
    spawn(move || {
        let mut last = vec![JobNumber::NONE; slots.len()];
        let mut join =
            || slots.iter().zip(&mut last).filter_map(|(slot, last)| slot.join(last, |_| ()).then_some(())).count();
        (0..times).map(|_| join()).sum()
    })
}

fn slots(count: usize) -> Arc<Vec<JobSlot>> {
    Arc::new((0..count).map(|_| JobSlot::new()).collect())
}

#[test]
fn a_helper_joins_or_comes_late() {
    loom::model(|| {
        let slots = slots(1);
        let helper = helper(&slots, 1);
        offer(&slots[0], 1);
        assert!(helper.join().unwrap() <= 1);
    });
}

#[test]
fn a_helper_joins_each_job_of_a_slot_at_most_once() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let slots = slots(1);
        let helper = helper(&slots, 3);
        offer(&slots[0], 1);
        offer(&slots[0], 1);
        assert!(helper.join().unwrap() <= 2);
    });
}

#[test]
fn no_more_helpers_join_than_are_wanted() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let slots = slots(1);
        let helpers = [helper(&slots, 1), helper(&slots, 1)];
        offer(&slots[0], 1);
        assert!(helpers.map(|helper| helper.join().unwrap()).iter().sum::<usize>() <= 1);
    });
}

#[test]
fn two_helpers_leave_in_any_order() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let slots = slots(1);
        let helpers = [helper(&slots, 1), helper(&slots, 1)];
        offer(&slots[0], 2);
        helpers.into_iter().for_each(|helper| _ = helper.join().unwrap());
    });
}

#[test]
fn a_job_inside_of_a_job_is_joined_or_not() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(4);
    model.check(|| {
        let slots = slots(2);
        let helper = helper(&slots, 2);
        let outer = Borrowed::new();
        let work = || {
            outer.call();
            if outer.calls.load(Ordering::Relaxed) == 1 {
                offer(&slots[1], 1);
            }
        };
        assert!(slots[0].offer(1, &work, || ()));
        outer.end();
        helper.join().unwrap();
    });
}

#[test]
fn one_of_two_callers_gets_the_slot() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let slots = slots(1);
        let (helper, other) = (helper(&slots, 1), Arc::clone(&slots));
        let offer = |slot: &JobSlot| {
            let borrowed = Borrowed::new();
            let is_done = slot.offer(1, &|| borrowed.call(), || ());
            if !is_done {
                borrowed.call();
            }
            borrowed.end();
            is_done
        };
        let other = spawn(move || offer(&other[0]));
        let is_done = offer(&slots[0]);
        assert!(other.join().unwrap() || is_done);
        helper.join().unwrap();
    });
}

#[test]
fn a_panic_is_resumed_when_the_helper_is_out() {
    loom::model(|| {
        let slots = slots(1);
        let helper = helper(&slots, 1);
        let borrowed = Borrowed::new();
        let work = || {
            borrowed.call();
            resume_unwind(Box::new(1));
        };
        let result = catch_unwind(AssertUnwindSafe(|| slots[0].offer(1, &work, || ())));
        assert!(result.is_err());
        borrowed.end();
        // The panic of a helper is gone with the job.
        offer(&slots[0], 0);
        helper.join().unwrap();
    });
}
