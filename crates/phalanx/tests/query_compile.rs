//! What must not compile about queries and listeners. Memory tools have nothing to see here, and sanitizers come with another compiler.
//!
//! `TRYBUILD=overwrite` writes the expected messages again; review the difference.

#[test]
#[cfg_attr(any(phalanx_plain_alloc, miri), ignore)]
fn holes_in_queries_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/query_*.rs");
}

#[test]
#[cfg_attr(any(phalanx_plain_alloc, miri), ignore)]
fn holes_in_listeners_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/signal_*.rs");
}
