//! A cursor of one's own could lead anywhere; the trait is closed beside being unsafe.

use phalanx_store::Entity;
use phalanx_store::iter::Cursor;

#[derive(Clone)]
struct Mine;

unsafe impl Cursor for Mine {
    type Key = Entity;
    fn next(&mut self) -> Option<u32> {
        Some(u32::MAX)
    }
    fn next_back(&mut self) -> Option<u32> {
        None
    }
    fn remaining(&self) -> usize {
        0
    }
    unsafe fn key(&self, _: u32) -> Entity {
        Entity::from_bits(0).unwrap()
    }
    fn fold<B>(self, init: B, _: impl FnMut(B, u32) -> B) -> B {
        init
    }
}

fn main() {}
