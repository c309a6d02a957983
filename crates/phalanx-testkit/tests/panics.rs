//! The check of where a panic is reported.

use phalanx_testkit::{catch, panics_here};

fn elsewhere() {
    panic!("not in the line of the caller");
}

#[track_caller]
fn in_the_callers_line() {
    panic!("in the line of the caller");
}

#[test]
fn a_panic_is_accepted_in_the_line_of_the_call_only() {
    panics_here(|| in_the_callers_line());
    let refused = catch(|| panics_here(elsewhere)).expect_err("the panic is in another line");
    assert!(refused.message().contains("not in the line of the caller"), "{refused:?}");
    let refused = catch(|| panics_here(|| 1)).expect_err("there is no panic");
    assert_eq!(refused.message(), "there was no panic");
}
