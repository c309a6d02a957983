//! What can be drained is known to the crate.

use phalanx_store::iter::Emptying;

struct Mine;

impl Emptying for Mine {
    type Key = u32;
    type Value = u32;
    type Place = u32;
    fn start(&mut self) -> u32 {
        0
    }
    unsafe fn take_first(&mut self, _: &mut u32) -> Option<(u32, u32)> {
        Some((0, 0))
    }
    unsafe fn take_last(&mut self, _: &mut u32) -> Option<(u32, u32)> {
        None
    }
    unsafe fn drop_rest(&mut self, _: &mut u32) {}
    fn left(&self) -> usize {
        usize::MAX
    }
}

fn main() {}
