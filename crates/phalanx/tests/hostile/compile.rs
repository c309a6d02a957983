//! What must not compile. Memory tools have nothing to see here, and sanitizers come with another compiler.
//!
//! `TRYBUILD=overwrite` writes the expected messages again; review the difference.

fn refuses_to_compile(files: &str) {
    trybuild::TestCases::new().compile_fail(format!("tests/compile_fail/{files}_*.rs"));
}

#[test]
#[cfg_attr(phalanx_plain_alloc, ignore)]
fn h26_states_and_lanes_that_do_not_belong_in_a_world_do_not_compile() {
    refuses_to_compile("h26");
}

#[test]
#[cfg_attr(phalanx_plain_alloc, ignore)]
fn h29_items_of_a_world_do_not_outlive_the_borrow() {
    refuses_to_compile("h29");
}

#[test]
#[cfg_attr(phalanx_plain_alloc, ignore)]
fn h30_two_views_that_write_do_not_compile() {
    refuses_to_compile("h30");
}

#[test]
#[cfg_attr(phalanx_plain_alloc, ignore)]
fn h31_what_writes_cannot_be_copied() {
    refuses_to_compile("h31");
}

#[test]
#[cfg_attr(phalanx_plain_alloc, ignore)]
fn h46_components_of_one_thread_do_not_compile() {
    refuses_to_compile("h46");
}

#[test]
#[cfg_attr(phalanx_plain_alloc, ignore)]
fn h55_despawning_while_iterating_does_not_compile() {
    refuses_to_compile("h55");
}

#[test]
#[cfg_attr(phalanx_plain_alloc, ignore)]
fn h56_inserting_while_iterating_does_not_compile() {
    refuses_to_compile("h56");
}
