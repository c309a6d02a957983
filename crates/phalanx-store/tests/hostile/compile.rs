//! What must not compile. Memory tools have nothing to see here, and sanitizers come with another compiler.
//!
//! `TRYBUILD=overwrite` writes the expected messages again; review the difference.

fn refuses_to_compile(files: &str) {
    trybuild::TestCases::new().compile_fail(format!("tests/compile_fail/{files}_*.rs"));
}

#[test]
#[cfg_attr(phalanx_plain_alloc, ignore)]
fn h26_forged_keys_do_not_compile() {
    refuses_to_compile("h26");
}

#[test]
#[cfg_attr(phalanx_plain_alloc, ignore)]
fn h23_reentrant_iterators_do_not_compile() {
    refuses_to_compile("h23");
}

#[test]
#[cfg_attr(phalanx_plain_alloc, ignore)]
fn h29_items_do_not_outlive_the_borrow() {
    refuses_to_compile("h29");
}

#[test]
#[cfg_attr(phalanx_plain_alloc, ignore)]
fn h31_views_do_not_lengthen_lifetimes() {
    refuses_to_compile("h31");
}

#[test]
#[cfg_attr(phalanx_plain_alloc, ignore)]
fn h32_parts_of_a_lane_cannot_be_exchanged() {
    refuses_to_compile("h32");
}

#[test]
#[cfg_attr(phalanx_plain_alloc, ignore)]
fn h06_handles_of_another_kind_do_not_compile() {
    refuses_to_compile("h06");
}
