//! The programs of `tests/relation_model`, made by a fuzzer.
#![no_main]
// Results of operations are dropped, whatever their type is.
#![allow(dropping_copy_types, dropping_references, clippy::drop_non_drop)]

#[path = "../../tests/relation_model/buffers.rs"]
mod buffers;
#[path = "../../tests/relation_model/kit.rs"]
mod kit;
#[path = "../../tests/relation_model/model.rs"]
mod model;
#[path = "../../tests/relation_model/names.rs"]
mod names;
#[path = "../../tests/relation_model/program.rs"]
mod program;

use libfuzzer_sys::fuzz_target;

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    let listens = bytes.first().is_some_and(|byte| byte % 2 == 1);
    // Each choice takes a byte. After the last one, all choices are zero.
    let mut pick = |bound: usize| {
        let Some((first, tail)) = rest.split_first() else { return 0 };
        rest = tail;
        usize::from(*first) % bound
    };
    program::Engine::new(listens).run(20, &mut pick);
});
