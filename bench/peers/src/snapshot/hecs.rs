//! hecs, its columns through serde.

use super::Snapshot;
use crate::data::*;
use bincode::Options;
use hecs::serialize::column::*;
use hecs::{Archetype, ColumnBatchBuilder, ColumnBatchType, World};
use serde::de::SeqAccess;
use serde::ser::SerializeTuple;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Clone, Copy)]
enum Id {
    Transform,
    Position,
    Rotation,
    Velocity,
}

/// What hecs asks about the components of a world.
#[derive(Default)]
struct Context {
    ids: Vec<Id>,
}

impl SerializeContext for Context {
    fn component_count(&self, archetype: &Archetype) -> usize {
        archetype.component_types().count()
    }

    fn serialize_component_ids<S: SerializeTuple>(&mut self, a: &Archetype, mut out: S) -> Result<S::Ok, S::Error> {
        try_serialize_id::<Transform, _, _>(a, &Id::Transform, &mut out)?;
        try_serialize_id::<Position, _, _>(a, &Id::Position, &mut out)?;
        try_serialize_id::<Rotation, _, _>(a, &Id::Rotation, &mut out)?;
        try_serialize_id::<Velocity, _, _>(a, &Id::Velocity, &mut out)?;
        out.end()
    }

    fn serialize_components<S: SerializeTuple>(&mut self, a: &Archetype, mut out: S) -> Result<S::Ok, S::Error> {
        try_serialize::<Transform, _>(a, &mut out)?;
        try_serialize::<Position, _>(a, &mut out)?;
        try_serialize::<Rotation, _>(a, &mut out)?;
        try_serialize::<Velocity, _>(a, &mut out)?;
        out.end()
    }
}

impl DeserializeContext for Context {
    fn deserialize_component_ids<'de, A: SeqAccess<'de>>(&mut self, mut seq: A) -> Result<ColumnBatchType, A::Error> {
        self.ids.clear();
        let mut batch = ColumnBatchType::new();
        while let Some(id) = seq.next_element()? {
            match id {
                Id::Transform => batch.add::<Transform>(),
                Id::Position => batch.add::<Position>(),
                Id::Rotation => batch.add::<Rotation>(),
                Id::Velocity => batch.add::<Velocity>(),
            };
            self.ids.push(id);
        }
        Ok(batch)
    }

    fn deserialize_components<'de, A: SeqAccess<'de>>(
        &mut self,
        n: u32,
        mut seq: A,
        batch: &mut ColumnBatchBuilder,
    ) -> Result<(), A::Error> {
        for id in &self.ids {
            match id {
                Id::Transform => deserialize_column::<Transform, _>(n, &mut seq, batch)?,
                Id::Position => deserialize_column::<Position, _>(n, &mut seq, batch)?,
                Id::Rotation => deserialize_column::<Rotation, _>(n, &mut seq, batch)?,
                Id::Velocity => deserialize_column::<Velocity, _>(n, &mut seq, batch)?,
            }
        }
        Ok(())
    }
}

fn filled(n: usize) -> World {
    let mut world = World::new();
    world.spawn_batch((0..n).map(row));
    world
}

pub struct Bincode(World);

impl Snapshot for Bincode {
    const NAME: &'static str = "hecs columns + bincode 1";

    fn filled(n: usize) -> Self {
        Bincode(filled(n))
    }

    fn save(&self, out: &mut Vec<u8>) {
        let mut ser = bincode::Serializer::new(out, bincode::options().with_fixint_encoding());
        serialize(&self.0, &mut Context::default(), &mut ser).unwrap();
    }

    fn load(bytes: &[u8]) -> Self {
        let mut de = bincode::Deserializer::from_slice(bytes, bincode::options().with_fixint_encoding());
        Bincode(deserialize(&mut Context::default(), &mut de).unwrap())
    }

    fn digest(&mut self) -> u64 {
        digest_positions(self.0.query_mut::<&Position>().into_iter())
    }
}

pub struct Postcard(World);

impl Snapshot for Postcard {
    const NAME: &'static str = "hecs columns + postcard";

    fn filled(n: usize) -> Self {
        Postcard(filled(n))
    }

    fn save(&self, out: &mut Vec<u8>) {
        let mut ser = postcard::Serializer { output: postcard::ser_flavors::io::WriteFlavor::new(out) };
        serialize(&self.0, &mut Context::default(), &mut ser).unwrap();
    }

    fn load(bytes: &[u8]) -> Self {
        let mut de = postcard::Deserializer::from_bytes(bytes);
        Postcard(deserialize(&mut Context::default(), &mut de).unwrap())
    }

    fn digest(&mut self) -> u64 {
        digest_positions(self.0.query_mut::<&Position>().into_iter())
    }
}
