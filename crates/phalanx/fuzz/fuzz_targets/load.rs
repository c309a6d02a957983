//! Snapshots made by a fuzzer: as they are, and with checksums that fit. What is loaded is a world, and saving it and loading
//! that gives the same.
#![no_main]
#![allow(dead_code, dropping_copy_types)]

#[path = "../../tests/snapshot/kit.rs"]
mod kit;

use libfuzzer_sys::fuzz_target;
use phalanx::snapshot::{checksum, inspect};

/// The same file with the checksums that it should have, as far as it can be read.
fn fitted(file: &[u8]) -> Vec<u8> {
    let mut fitted = file.to_vec();
    let mut chain = checksum(0, file.get(..16).unwrap_or(file));
    let mut at = 16;
    let number = |at: usize| Some(u32::from_le_bytes(file.get(at..at + 4)?.try_into().ok()?) as usize);
    while let Some(head) = file.get(at..at + 8) {
        chain = checksum(chain, head);
        at += 8;
        loop {
            let Some(len) = number(at) else { return fitted };
            let (start, len) = (at + 4, if len == 0 { 8 } else { len });
            let is_last = number(at) == Some(0);
            let Some(bytes) = file.get(start..start + len) else { return fitted };
            chain = checksum(chain, bytes);
            let Some(place) = fitted.get_mut(start + len..start + len + 8) else { return fitted };
            place.copy_from_slice(&chain.to_le_bytes());
            at = start + len + 8;
            if is_last {
                break;
            }
        }
    }
    fitted
}

fuzz_target!(|bytes: &[u8]| {
    for file in [bytes.to_vec(), fitted(bytes)] {
        let _ = inspect(&*file);
        let Ok(world) = kit::registry().load(&*file) else { continue };
        world.validate().unwrap();
        let saved = kit::bytes(&world);
        let copy = kit::registry().load(&*saved).unwrap();
        assert!(kit::bytes(&copy) == saved);
    }
});
