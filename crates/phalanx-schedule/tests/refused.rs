//! What is not a system, a condition or an event, and how the compiler says it.
//!
//! `TRYBUILD=overwrite` writes the expected messages again; review the difference.

#[test]
#[cfg_attr(phalanx_plain_alloc, ignore)]
fn what_is_no_system_is_told_why() {
    trybuild::TestCases::new().compile_fail("tests/refused/*.rs");
}
