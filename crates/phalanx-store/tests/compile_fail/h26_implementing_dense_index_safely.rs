//! An index leads to rows without a check, so implementing one is unsafe.

use phalanx_store::raw::{DenseIndex, LaneOf};
use phalanx_store::Entity;

struct Mine;

impl DenseIndex for Mine {
    type Key = Entity;
    type DenseKey = u32;
    const MAX: u32 = 8;
    fn position(&self, _: Entity) -> Option<u32> {
        Some(7)
    }
    unsafe fn key(&self, _: u32) -> Entity {
        Entity::from_bits(0).unwrap()
    }
    unsafe fn relocate(&mut self, _: u32, _: u32) {}
    unsafe fn release(&mut self, _: u32) {}
    unsafe fn on_released(&mut self, _: &mut LaneOf<u32>, _: u32) {}
    fn bytes(&self) -> usize {
        0
    }
    unsafe fn validate(&self, _: &LaneOf<u32>, _: u32, _: u32) -> Result<(), &'static str> {
        Ok(())
    }
    fn hole(dense_key: u32) -> u32 {
        dense_key
    }
    fn is_hole(_: u32) -> bool {
        false
    }
    fn filled(dense_key: u32) -> u32 {
        dense_key
    }
}

fn main() {}
