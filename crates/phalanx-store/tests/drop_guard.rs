//! `drop_all` and `DropGuard` around user code that panics.

use phalanx_store::raw::{DropGuard, drop_all};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn drop_all_calls_its_function_once_for_each_item_despite_one_panic() {
    for bad in 0..6 {
        let mut seen = Vec::new();
        let result = catch_unwind(AssertUnwindSafe(|| {
            drop_all(0..5, |n| {
                seen.push(n);
                assert_ne!(n, bad);
            });
        }));
        assert_eq!(result.is_err(), bad < 5);
        assert_eq!(seen, [0, 1, 2, 3, 4]);
    }
}

#[test]
fn drop_all_does_not_go_on_after_the_end_of_an_iterator_that_restarts() {
    let (mut left, mut calls) = (3, 0);
    let restarts = std::iter::from_fn(|| {
        left = if left == 0 { 3 } else { left - 1 };
        (left > 0).then_some(left)
    });
    drop_all(restarts, |_| calls += 1);
    assert_eq!(calls, 2);
}

#[test]
fn a_guard_runs_while_a_panic_unwinds_and_not_when_dismissed() {
    let mut ran = 0;
    let result = catch_unwind(AssertUnwindSafe(|| {
        let guard = DropGuard::new(&mut ran, |ran| **ran += 1);
        assert!(*guard.state > 0);
    }));
    assert!(result.is_err());
    DropGuard::new(&mut ran, |ran| **ran += 1).dismiss();
    assert_eq!(ran, 1);
}
