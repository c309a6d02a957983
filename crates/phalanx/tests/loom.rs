//! Jobs of a thread pool, in every order that the memory model allows.
//!
//! ```sh
//! RUSTFLAGS="--cfg loom" cargo test -p phalanx --test loom --profile checked --target-dir target/loom
//! ```
#![cfg(loom)]
// The cells of the model are read and written by address.
#![allow(unsafe_code)]

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use phalanx::executor::{Executor, ThreadPool};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a job borrows. Every access is checked by the model, and so is that none comes after its end.
struct Borrowed {
    next: AtomicUsize,
    parts: Vec<UnsafeCell<usize>>,
    is_over: AtomicBool,
}

// SAFETY: the model reports accesses to the cells that are not ordered.
unsafe impl Sync for Borrowed {}

impl Borrowed {
    /// Leaks, so that a call after the end is found and not a crash.
    fn new(count: usize) -> &'static Borrowed {
        let parts = (0..count).map(|_| UnsafeCell::new(0)).collect();
        Box::leak(Box::new(Borrowed { next: AtomicUsize::new(0), parts, is_over: AtomicBool::new(false) }))
    }

    /// Takes the next part until none is left.
    fn drain(&self) {
        loop {
            assert!(!self.is_over.load(Ordering::Relaxed), "work was called after the job");
            let part = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(cell) = self.parts.get(part) else { return };
            // SAFETY: each part is taken once. The model reports an access that is not ordered with another.
            cell.with_mut(|value| unsafe { *value += 1 });
        }
    }

    /// All parts were done once, and this thread sees it without further synchronisation.
    fn check(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        // SAFETY: the job is over. The model reports an access that is not ordered with this one.
        assert!(self.parts.iter().all(|cell| cell.with(|value| unsafe { *value }) == 1));
    }
}

/// Explores all runs in which threads are interrupted at most so often, apart from waiting. All runs at all would take days.
fn model(interruptions: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(interruptions);
    model.check(f);
}

fn run(pool: &ThreadPool, width: usize, parts: usize) {
    let borrowed = Borrowed::new(parts);
    pool.run(width, &|| borrowed.drain());
    borrowed.check();
}

/// A helper joins, comes late or not at all. The pool is dropped at any time after.
#[test]
fn a_job_is_done_when_it_returns() {
    model(3, || run(&ThreadPool::new(2), 2, 2));
}

/// The helper of the first job may join the second, which uses the same slot.
#[test]
fn a_late_helper_joins_the_next_job_or_none() {
    model(1, || {
        let pool = ThreadPool::new(2);
        run(&pool, 2, 1);
        run(&pool, 2, 1);
    });
}

#[test]
fn a_job_inside_of_a_job_is_done() {
    model(1, || {
        let pool = ThreadPool::new(2);
        let outer = Borrowed::new(1);
        let count = AtomicUsize::new(0);
        pool.run(2, &|| {
            outer.drain();
            if count.fetch_add(1, Ordering::Relaxed) == 0 {
                run(&pool, 2, 1);
            }
        });
        outer.check();
    });
}

#[test]
fn two_helpers_join_or_come_late() {
    model(1, || run(&ThreadPool::new(3), 3, 1));
}

#[test]
fn a_panic_leaves_when_all_threads_are_out() {
    model(2, || {
        let pool = ThreadPool::new(2);
        let borrowed = Borrowed::new(2);
        let calls = AtomicUsize::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.run(2, &|| {
                borrowed.drain();
                if calls.fetch_add(1, Ordering::Relaxed) == 0 {
                    std::panic::resume_unwind(Box::new("first"));
                }
            });
        }));
        assert_eq!(result.unwrap_err().downcast_ref(), Some(&"first"));
        borrowed.check();
    });
}
