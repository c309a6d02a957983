//! The thread pool: jobs from several threads, inside of each other, with panics.
#![cfg(not(loom))]

use phalanx::executor::{Executor, Inline, ThreadPool};
use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

const ROUNDS: usize = if cfg!(miri) { 10 } else { 2000 };

/// Numbers that are given out once.
struct Numbers {
    next: AtomicUsize,
    count: usize,
}

impl Numbers {
    fn below(count: usize) -> Numbers {
        Numbers { next: AtomicUsize::new(0), count }
    }
}

impl Iterator for &Numbers {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (number < self.count).then_some(number)
    }
}

/// Runs a job of `count` parts, and returns how often each was done.
fn visits(executor: &dyn Executor, count: usize) -> Vec<usize> {
    let (numbers, visits) = (Numbers::below(count), (0..count).map(|_| AtomicUsize::new(0)).collect::<Vec<_>>());
    executor.run(executor.width(), &|| {
        for number in &numbers {
            visits[number].fetch_add(1, Ordering::Relaxed);
        }
    });
    visits.into_iter().map(AtomicUsize::into_inner).collect()
}

fn wait_for(flag: &AtomicBool) {
    while !flag.load(Ordering::Acquire) {
        thread::yield_now();
    }
}

fn message(payload: Box<dyn Any + Send>) -> String {
    match payload.downcast::<&str>() {
        Ok(message) => message.to_string(),
        Err(payload) => *payload.downcast::<String>().unwrap(),
    }
}

#[test]
fn every_part_of_a_job_is_done_once() {
    for width in 1..=8 {
        let pool = ThreadPool::new(width);
        assert_eq!(pool.width(), width);
        for count in [0, 1, 2, 7, 100, 10_000] {
            assert!(visits(&pool, count).iter().all(|visits| *visits == 1), "{width} threads, {count} parts");
        }
    }
}

#[test]
fn a_job_has_one_call_on_each_thread_and_no_more_than_its_width() {
    let pool = ThreadPool::new(6);
    for width in 0..=8 {
        for _ in 0..ROUNDS / 10 {
            let threads = Mutex::new(Vec::<ThreadId>::new());
            pool.run(width, &|| threads.lock().unwrap().push(thread::current().id()));
            let mut threads = threads.into_inner().unwrap();
            let calls = threads.len();
            threads.sort_by_key(|id| format!("{id:?}"));
            threads.dedup();
            assert_eq!(threads.len(), calls, "one call on each thread");
            assert!((1..=width.clamp(1, 6)).contains(&calls), "{calls} calls of a width of {width}");
            assert!(threads.contains(&thread::current().id()), "the caller takes part");
        }
    }
}

#[test]
fn all_helpers_join_a_job_that_lasts() {
    let pool = ThreadPool::new(4);
    for _ in 0..20 {
        let all = Barrier::new(4);
        pool.run(4, &|| _ = all.wait());
        // Long enough for the helpers to sleep.
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_pool_of_one_has_the_caller_only() {
    for pool in [ThreadPool::new(0), ThreadPool::new(1)] {
        assert_eq!(pool.width(), 1);
        let (caller, calls) = (thread::current().id(), AtomicUsize::new(0));
        pool.run(9, &|| {
            assert_eq!(thread::current().id(), caller);
            calls.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(calls.into_inner(), 1);
    }
    assert_eq!(Inline.width(), 1);
    assert_eq!(visits(&Inline, 10), [1; 10]);
    assert!(ThreadPool::default().width() >= 1);
    assert_eq!(format!("{:?}", ThreadPool::new(2)), "ThreadPool { width: 2 }");
}

#[test]
fn jobs_one_after_another_are_done_whether_helpers_spin_or_sleep() {
    for spin in [0, 2, 1000] {
        let pool = ThreadPool::with_spin(3, Duration::from_micros(spin));
        for round in 0..ROUNDS {
            let count = round % 5;
            assert!(visits(&pool, count).iter().all(|visits| *visits == 1), "{spin} µs, round {round}");
        }
    }
}

#[test]
fn jobs_from_several_threads_are_done_at_once() {
    let pool = ThreadPool::new(3);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..ROUNDS / 4 {
                    assert_eq!(visits(&pool, 9), [1; 9]);
                }
            });
        }
    });
}

/// Runs a job whose parts are jobs, `depth` deep, and returns the number of leaves.
fn nest(pool: &ThreadPool, depth: usize) -> usize {
    if depth == 0 {
        return 1;
    }
    let (numbers, leaves) = (Numbers::below(3), AtomicUsize::new(0));
    pool.run(pool.width(), &|| {
        for _ in &numbers {
            leaves.fetch_add(nest(pool, depth - 1), Ordering::Relaxed);
        }
    });
    leaves.into_inner()
}

#[test]
fn jobs_inside_of_jobs_are_done() {
    for width in 1..=4 {
        let pool = ThreadPool::new(width);
        for _ in 0..ROUNDS / 100 {
            for depth in 0..6 {
                assert_eq!(nest(&pool, depth), 3usize.pow(depth as u32), "{width} threads");
            }
        }
    }
}

#[test]
fn a_helper_joins_a_job_inside_of_the_work_of_a_helper() {
    let pool = ThreadPool::new(3);
    for _ in 0..20 {
        let (outer, inner, caller) = (Barrier::new(2), Barrier::new(2), thread::current().id());
        let has_helper = AtomicBool::new(false);
        pool.run(2, &|| {
            outer.wait();
            // The inner job of the helper is not over before the third thread has joined it.
            if thread::current().id() != caller {
                pool.run(2, &|| _ = inner.wait());
                has_helper.store(true, Ordering::Release);
            }
        });
        assert!(has_helper.into_inner());
    }
}

#[test]
fn a_panic_of_the_caller_waits_for_helpers_inside() {
    let pool = ThreadPool::new(2);
    for _ in 0..10 {
        let (joined, mut written, caller) = (AtomicBool::new(false), AtomicUsize::new(0), thread::current().id());
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.run(2, &|| {
                if thread::current().id() == caller {
                    wait_for(&joined);
                    panic!("of the caller");
                }
                joined.store(true, Ordering::Release);
                thread::sleep(Duration::from_millis(2));
                written.store(7, Ordering::Relaxed);
            });
        }));
        assert_eq!(*written.get_mut(), 7, "the helper was out before the caller unwound");
        assert_eq!(message(result.unwrap_err()), "of the caller");
        assert_eq!(visits(&pool, 3), [1; 3], "the pool can be used again");
    }
}

#[test]
fn a_panic_of_a_helper_reaches_the_caller() {
    let pool = ThreadPool::new(2);
    for round in 0..100 {
        let (over, caller) = (AtomicBool::new(false), thread::current().id());
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.run(2, &|| {
                if thread::current().id() == caller {
                    wait_for(&over);
                } else {
                    over.store(true, Ordering::Release);
                    panic!("of the helper in round {round}");
                }
            });
        }));
        assert_eq!(message(result.unwrap_err()), format!("of the helper in round {round}"));
        assert_eq!(visits(&pool, 3), [1; 3], "the panic is gone with its job");
    }
}

/// A payload whose destructor panics.
struct Rude(Arc<AtomicUsize>);

impl Drop for Rude {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        panic!("in a destructor");
    }
}

#[test]
fn payloads_that_panic_when_dropped_do_no_harm() {
    let (pool, dropped) = (ThreadPool::new(4), Arc::new(AtomicUsize::new(0)));
    for round in 1..=5 {
        let all = Barrier::new(4);
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.run(4, &|| {
                all.wait();
                resume_unwind(Box::new(Rude(Arc::clone(&dropped))));
            });
        }));
        // One is resumed, the others are dropped.
        core::mem::forget(result.unwrap_err().downcast::<Rude>().unwrap());
        assert_eq!(dropped.load(Ordering::Relaxed), 3 * round);
        assert_eq!((visits(&pool, 3), pool.width()), (vec![1; 3], 4));
    }
}

#[test]
fn a_panic_in_an_inner_job_passes_the_outer_job() {
    let pool = ThreadPool::new(3);
    for _ in 0..100 {
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.run(3, &|| pool.run(3, &|| panic!("inside")));
        }));
        assert_eq!(message(result.unwrap_err()), "inside");
        assert_eq!(visits(&pool, 3), [1; 3]);
    }
}

/// Counts threads that have ended.
struct Ended(Arc<AtomicUsize>);

impl Drop for Ended {
    fn drop(&mut self) {
        thread::sleep(Duration::from_millis(5));
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn dropping_a_pool_joins_its_threads() {
    thread_local! {
        static ENDED: RefCell<Option<Ended>> = const { RefCell::new(None) };
    }
    for sleeps in [false, true] {
        let ended = Arc::new(AtomicUsize::new(0));
        let (pool, all, caller) = (ThreadPool::new(4), Barrier::new(4), thread::current().id());
        pool.run(4, &|| {
            if thread::current().id() != caller {
                ENDED.with(|guard| *guard.borrow_mut() = Some(Ended(Arc::clone(&ended))));
            }
            all.wait();
        });
        if sleeps {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(ended.load(Ordering::Relaxed), 0);
        drop(pool);
        assert_eq!(ended.load(Ordering::Relaxed), 3);
    }
}

#[test]
fn executors_behind_pointers_are_executors() {
    let pool = ThreadPool::new(2);
    assert_eq!(visits(&&pool, 5), [1; 5]);
    let shared: Arc<dyn Executor + Send> = Arc::new(pool);
    assert_eq!((visits(&shared, 5), shared.width()), (vec![1; 5], 2));
    let boxed: Box<dyn Executor> = Box::new(shared);
    assert_eq!((visits(&boxed, 5), boxed.width()), (vec![1; 5], 2));
}
