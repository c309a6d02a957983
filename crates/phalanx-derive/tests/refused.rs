//! What must not compile, and what the compiler says then.

#[test]
fn refused_programs_say_why() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/refused/*.rs");
}
