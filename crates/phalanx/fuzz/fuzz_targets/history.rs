//! The programs of `tests/history.rs`, made by a fuzzer: two worlds in the same state, one of which was disturbed on the way.
#![no_main]
// Results of operations are dropped, whatever their type is.
#![allow(dropping_copy_types, dropping_references, clippy::drop_non_drop)]

#[path = "../../tests/history/program.rs"]
mod program;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    let has_listeners = bytes.first().is_some_and(|byte| byte % 2 == 1);
    // Each choice takes two bytes. After the last byte, all choices are zero.
    let mut pick = |bound: usize| {
        let Some((first, tail)) = rest.split_first_chunk::<2>() else { return 0 };
        rest = tail;
        usize::from(u16::from_le_bytes(*first)) % bound
    };
    program::compare(20, 20, has_listeners, &mut pick);
});
