//! What can be drained is known to the crate.

use phalanx_store::iter::Emptying;

struct Mine;

impl Emptying for Mine {
    type Key = u32;
    type Value = u32;
    fn take_from(&mut self, _: &mut u32) -> Option<(u32, u32)> {
        Some((0, 0))
    }
    fn take_before(&mut self, _: &mut u32) -> Option<(u32, u32)> {
        None
    }
    fn left(&self) -> usize {
        usize::MAX
    }
}

fn main() {}
