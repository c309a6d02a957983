//! The programs of `tests/timeline/in_place.rs`, made by a fuzzer: rewinds in place against whole restores.
#![no_main]
// Results of operations are dropped, whatever their type is.
#![allow(dropping_copy_types, dropping_references, clippy::drop_non_drop)]

#[path = "../../tests/timeline/in_place.rs"]
mod in_place;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    // Each choice takes two bytes. After the last byte, all choices are zero.
    let pick = |bound: usize| {
        let Some((first, tail)) = rest.split_first_chunk::<2>() else { return 0 };
        rest = tail;
        usize::from(u16::from_le_bytes(*first)) % bound
    };
    in_place::compare(16, pick);
});
