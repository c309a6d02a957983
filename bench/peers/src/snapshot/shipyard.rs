//! shipyard, its views through serde.

use super::Snapshot;
use crate::data::*;
use serde::{Deserialize, Serialize};
use shipyard::{EntitiesView, EntityId, IntoIter, View, ViewMut, World};

pub struct Postcard(World);

impl Snapshot for Postcard {
    const NAME: &'static str = "shipyard views + postcard";

    fn filled(n: usize) -> Self {
        let mut world = World::new();
        world.bulk_add_entity((0..n).map(row));
        Postcard(world)
    }

    fn save(&self, out: &mut Vec<u8>) {
        let mut ser = postcard::Serializer { output: postcard::ser_flavors::io::WriteFlavor::new(out) };
        // The view of entities announces no length, which postcard cannot write.
        let ids: Vec<EntityId> = self.0.run(|e: EntitiesView| e.iter().collect());
        ids.serialize(&mut ser).unwrap();
        macro_rules! put {
            ($($component:ty)*) => { $( assert!(self.0.serialize::<_, View<$component>>(&mut ser).is_ok()); )* };
        }
        put!(Transform Position Rotation Velocity);
    }

    fn load(bytes: &[u8]) -> Self {
        let mut world = World::new();
        let mut de = postcard::Deserializer::from_bytes(bytes);
        let ids = Vec::<EntityId>::deserialize(&mut de).unwrap();
        for id in ids {
            assert!(world.spawn(id));
        }
        macro_rules! take {
            ($($component:ty)*) => { $( assert!(world.deserialize::<_, ViewMut<$component>>(&mut de).is_ok()); )* };
        }
        take!(Transform Position Rotation Velocity);
        Postcard(world)
    }

    fn digest(&mut self) -> u64 {
        self.0.run(|p: View<Position>| digest_positions(p.iter()))
    }
}
