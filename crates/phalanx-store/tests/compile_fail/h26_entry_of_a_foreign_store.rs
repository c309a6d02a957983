//! Entries are made by the containers of the crate: a store of one's own, which may lie, has none.

use phalanx_store::memory::Usage;
use phalanx_store::{Entity, OccupiedEntry, Store};

struct Mine;

impl Store for Mine {
    type Key = Entity;
    type Value = u32;
    fn len(&self) -> usize {
        0
    }
    fn get(&self, _: Entity) -> Option<&u32> {
        None
    }
    fn get_mut(&mut self, _: Entity) -> Option<&mut u32> {
        None
    }
    fn remove(&mut self, _: Entity) -> Option<u32> {
        None
    }
    fn clear(&mut self) {}
    fn for_each<'a>(&'a self, _: impl FnMut(Entity, &'a u32)) {}
    fn for_each_mut<'a>(&'a mut self, _: impl FnMut(Entity, &'a mut u32)) {}
    fn memory(&self) -> Usage {
        Usage::default()
    }
}

fn main() {
    let mut mine = Mine;
    let key = Entity::from_bits(0).unwrap();
    let _ = OccupiedEntry::find(&mut mine, key);
    let _ = OccupiedEntry { store: &mut mine, key };
}
