//! The programs of `tests/differential`, made by a fuzzer.
#![no_main]

#[path = "../../tests/differential/engine.rs"]
mod engine;
#[path = "../../tests/differential/kinds.rs"]
mod kinds;
#[path = "../../tests/differential/squads.rs"]
mod squads;

use libfuzzer_sys::fuzz_target;
use phalanx_testkit::Tally;

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

fuzz_target!(|bytes: &[u8]| {
    let tally = Tally::new();
    let listens = bytes.first().is_some_and(|byte| byte % 2 == 1);
    engine::Engine::new(&tally, listens).run(&mut engine::Input::new(bytes));
    tally.assert_sound();
});
