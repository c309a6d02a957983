//! What the derives refuse, and how they say it.
//!
//! `TRYBUILD=overwrite` writes the expected messages again; review the difference.

#[test]
#[cfg_attr(phalanx_plain_alloc, ignore)]
fn wrong_bundles_and_components_are_told_where() {
    trybuild::TestCases::new().compile_fail("tests/refused/*.rs");
}
