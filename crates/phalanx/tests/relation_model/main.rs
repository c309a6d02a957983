//! Relations against a naive model: all operations, with memory that fails and user code that panics.
#![cfg(feature = "snapshot")]
// In a list of things to do, `drop` is how their results end.
#![allow(dropping_copy_types, dropping_references, clippy::drop_non_drop)]

mod buffers;
mod cases;
mod failures;
mod kit;
mod model;
mod names;
mod program;
mod signals;

use phalanx_testkit::Rng;

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

fn cases() -> u64 {
    std::env::var("PHALANX_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(if cfg!(debug_assertions) {
        8
    } else {
        60
    })
}

/// Each program runs twice: with listeners and without. The worlds are the same after each operation.
#[test]
fn random_programs_do_to_links_what_they_do_to_the_model() {
    let first = std::env::var("PHALANX_SEED").ok().and_then(|seed| seed.parse().ok());
    for seed in first.map_or(0..cases(), |seed| seed..seed + 1) {
        println!("seed {seed}");
        let [with, without] = [true, false].map(|listens| {
            let mut rng = Rng::new(seed);
            let mut engine = program::Engine::new(listens);
            engine.run(120, &mut |bound| rng.below(bound));
            engine.sums
        });
        assert!(with == without, "listeners make a difference");
    }
}
