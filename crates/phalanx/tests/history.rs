//! Worlds in the same state, whatever happened before: they cannot be told apart, and have the same future.
#![cfg(feature = "snapshot")]
// In a list of things to do, `drop` is how their results end.
#![allow(dropping_copy_types, dropping_references, clippy::drop_non_drop)]

#[path = "history/program.rs"]
mod program;

use phalanx_testkit::Rng;

fn cases() -> u64 {
    std::env::var("PHALANX_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(24)
}

#[test]
fn what_happened_before_makes_no_difference() {
    for seed in 0..cases() {
        let mut rng = Rng::new(seed);
        println!("seed {seed}");
        program::compare(90, 200, seed % 2 == 0, &mut |bound| rng.below(bound));
    }
}
