//! The whole world against a naive model: random programs, with memory that fails and user code that panics.

mod engine;
mod kinds;
mod squads;

use engine::{Engine, Input};
use phalanx_testkit::{Rng, Tally};

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

/// How many programs are run, and how many bytes each has.
const PROGRAMS: u64 = 120;
const BYTES: usize = 900;

#[test]
fn random_programs_do_to_the_world_what_they_do_to_the_model() {
    let first = std::env::var("PHALANX_SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds = first.map_or(0..PROGRAMS, |seed| seed..seed + 1);
    for seed in seeds {
        let mut rng = Rng::new(seed);
        let bytes: Vec<u8> = (0..BYTES).map(|_| rng.next_u64() as u8).collect();
        let tally = Tally::new();
        println!("seed {seed}");
        Engine::new(&tally, seed % 2 == 1).run(&mut Input::new(&bytes));
        tally.assert_sound();
    }
}
