//! An index leads to rows without a check: whoever writes one promises something.

use phalanx_store::raw::{DenseIndex, LaneOf};
use phalanx_store::Entity;

struct Mine;

impl DenseIndex for Mine {
    type Key = Entity;
    type Mark = u32;
    const MAX: u32 = 8;
    fn position(&self, _: Entity) -> Option<u32> {
        Some(7)
    }
    unsafe fn key(&self, _: u32) -> Entity {
        Entity::from_bits(0).unwrap()
    }
    unsafe fn relocate(&mut self, _: u32, _: u32) {}
    unsafe fn release(&mut self, _: u32) {}
    unsafe fn settle(&mut self, _: &mut LaneOf<u32>, _: u32) {}
    fn bytes(&self) -> usize {
        0
    }
    unsafe fn validate(&self, _: &LaneOf<u32>, _: u32, _: u32) -> Result<(), &'static str> {
        Ok(())
    }
    fn hole(mark: u32) -> u32 {
        mark
    }
    fn is_hole(_: u32) -> bool {
        false
    }
    fn filled(mark: u32) -> u32 {
        mark
    }
}

fn main() {}
