//! Worlds to bytes and back, against copies of the same bytes and against hecs' columns through serde.
//!
//! `cargo bench -p phalanx --features snapshot --bench snapshot [-- --only WORD] [--seconds S]`. The checksum has rows of its
//! own: alone, and with a copy, which is what a snapshot cannot do without; a copy without it is what memory allows.
#![allow(missing_docs, unsafe_code)]

use hecs::serialize::column::{
    DeserializeContext, SerializeContext, deserialize_column, try_serialize, try_serialize_id,
};
use hecs::{Archetype, ColumnBatchBuilder, ColumnBatchType};
use phalanx::snapshot::{Registry, checksum};
use phalanx::{Component, Plain, World};
use phalanx_testkit::bench::Bound::{Times, Within};
use phalanx_testkit::bench::{self, Build, Case, Target, Workload, mix, target, time};
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use std::time::Duration;

macro_rules! plain {
    ($($name:ident($($field:ty),*);)*) => {$(
        #[derive(Clone, Copy, Component, Serialize, Deserialize)]
        #[component(plain)]
        #[repr(C)]
        struct $name($($field),*);
    )*};
}
plain! {
    Transform([f32; 16]);
    Position(f32, f32, f32);
    Rotation(f32, f32, f32);
    Velocity(f32, f32, f32);
}

fn row(i: usize) -> (Transform, Position, Rotation, Velocity) {
    let f = i as f32;
    (Transform([f; 16]), Position(f, 1.0, 2.0), Rotation(f, f, f), Velocity(1.0, 2.0, 3.0))
}

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.plain::<Transform>("transform").unwrap();
    registry.plain::<Position>("position").unwrap();
    registry.plain::<Rotation>("rotation").unwrap();
    registry.plain::<Velocity>("velocity").unwrap();
    registry
}

/// How many components a world has.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    Four,
    Two,
}

fn ours(n: usize, of: Of) -> World {
    let mut world = World::new();
    for (t, p, r, v) in (0..n).map(row) {
        match of {
            Of::Four => world.spawn((t, p, r, v)),
            Of::Two => world.spawn((p, v)),
        };
    }
    world
}

fn digest<'a>(positions: impl Iterator<Item = &'a Position>) -> u64 {
    positions.fold(0, |d, p| d.wrapping_add(mix(u64::from(p.0.to_bits()) ^ u64::from(p.1.to_bits()) << 32)))
}

/// What a snapshot of the world has: words, slots and the columns.
struct Columns {
    words: Vec<u32>,
    slots: Vec<u32>,
    transforms: Vec<Transform>,
    positions: Vec<Position>,
    rotations: Vec<Rotation>,
    velocities: Vec<Velocity>,
}

fn put<T: Plain>(out: &mut Vec<u8>, column: &[T], checked: bool) {
    const { assert!(T::ANY_BYTES) };
    // SAFETY: plain data has no padding, and is borrowed.
    let all = unsafe { std::slice::from_raw_parts(column.as_ptr().cast::<u8>(), size_of_val(column)) };
    for bytes in all.chunks(1 << 16) {
        if checked {
            black_box(checksum(0, bytes));
        }
        out.extend_from_slice(bytes);
    }
}

fn take<T: Plain>(bytes: &mut &[u8], n: usize, checked: bool) -> Vec<T> {
    const { assert!(T::ANY_BYTES) };
    let (head, rest) = bytes.split_at(n * size_of::<T>());
    *bytes = rest;
    let mut column = Vec::<T>::with_capacity(n);
    let step = (1 << 16) / size_of::<T>();
    for rows in head.chunks(step * size_of::<T>()) {
        if checked {
            black_box(checksum(0, rows));
        }
        let len = column.len();
        // SAFETY: there is capacity for all rows, of which these are the next, and any bytes are valid values.
        unsafe {
            column.as_mut_ptr().add(len).cast::<u8>().copy_from_nonoverlapping(rows.as_ptr(), rows.len());
            column.set_len(len + rows.len() / size_of::<T>());
        }
    }
    column
}

impl Columns {
    fn new(n: usize, of: Of) -> Columns {
        let four = if of == Of::Four { n } else { 0 };
        Columns {
            words: vec![0; n],
            slots: (0..n as u32).collect(),
            transforms: (0..four).map(|i| row(i).0).collect(),
            positions: (0..n).map(|i| row(i).1).collect(),
            rotations: (0..four).map(|i| row(i).2).collect(),
            velocities: (0..n).map(|i| row(i).3).collect(),
        }
    }
    fn save(&self, out: &mut Vec<u8>, checked: bool) {
        put(out, &self.words, checked);
        put(out, &self.slots, checked);
        put(out, &self.transforms, checked);
        put(out, &self.positions, checked);
        put(out, &self.rotations, checked);
        put(out, &self.velocities, checked);
    }
    fn load(mut bytes: &[u8], n: usize, of: Of, checked: bool) -> Columns {
        let (bytes, four) = (&mut bytes, if of == Of::Four { n } else { 0 });
        Columns {
            words: take(bytes, n, checked),
            slots: take(bytes, n, checked),
            transforms: take(bytes, four, checked),
            positions: take(bytes, n, checked),
            rotations: take(bytes, four, checked),
            velocities: take(bytes, n, checked),
        }
    }
}

#[derive(Serialize, Deserialize, Clone, Copy)]
enum Id {
    Transform,
    Position,
    Rotation,
    Velocity,
}

#[derive(Default)]
struct Context(Vec<Id>);

impl SerializeContext for Context {
    fn component_count(&self, archetype: &Archetype) -> usize {
        archetype.component_types().count()
    }
    fn serialize_component_ids<S: serde::ser::SerializeTuple>(
        &mut self,
        archetype: &Archetype,
        mut out: S,
    ) -> Result<S::Ok, S::Error> {
        try_serialize_id::<Transform, _, _>(archetype, &Id::Transform, &mut out)?;
        try_serialize_id::<Position, _, _>(archetype, &Id::Position, &mut out)?;
        try_serialize_id::<Rotation, _, _>(archetype, &Id::Rotation, &mut out)?;
        try_serialize_id::<Velocity, _, _>(archetype, &Id::Velocity, &mut out)?;
        out.end()
    }
    fn serialize_components<S: serde::ser::SerializeTuple>(
        &mut self,
        archetype: &Archetype,
        mut out: S,
    ) -> Result<S::Ok, S::Error> {
        try_serialize::<Transform, _>(archetype, &mut out)?;
        try_serialize::<Position, _>(archetype, &mut out)?;
        try_serialize::<Rotation, _>(archetype, &mut out)?;
        try_serialize::<Velocity, _>(archetype, &mut out)?;
        out.end()
    }
}

impl DeserializeContext for Context {
    fn deserialize_component_ids<'de, A: serde::de::SeqAccess<'de>>(
        &mut self,
        mut list: A,
    ) -> Result<ColumnBatchType, A::Error> {
        self.0.clear();
        let mut batch = ColumnBatchType::new();
        while let Some(id) = list.next_element()? {
            match id {
                Id::Transform => batch.add::<Transform>(),
                Id::Position => batch.add::<Position>(),
                Id::Rotation => batch.add::<Rotation>(),
                Id::Velocity => batch.add::<Velocity>(),
            };
            self.0.push(id);
        }
        Ok(batch)
    }
    fn deserialize_components<'de, A: serde::de::SeqAccess<'de>>(
        &mut self,
        n: u32,
        mut list: A,
        batch: &mut ColumnBatchBuilder,
    ) -> Result<(), A::Error> {
        for id in &self.0 {
            match id {
                Id::Transform => deserialize_column::<Transform, _>(n, &mut list, batch)?,
                Id::Position => deserialize_column::<Position, _>(n, &mut list, batch)?,
                Id::Rotation => deserialize_column::<Rotation, _>(n, &mut list, batch)?,
                Id::Velocity => deserialize_column::<Velocity, _>(n, &mut list, batch)?,
            }
        }
        Ok(())
    }
}

fn theirs(n: usize, of: Of) -> hecs::World {
    let mut world = hecs::World::new();
    match of {
        Of::Four => drop(world.spawn_batch((0..n).map(row))),
        Of::Two => drop(world.spawn_batch((0..n).map(|i| (row(i).1, row(i).3)))),
    }
    world
}

fn save_theirs(world: &hecs::World, out: Vec<u8>) -> Vec<u8> {
    struct All<'a>(&'a hecs::World);
    impl Serialize for All<'_> {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            hecs::serialize::column::serialize(self.0, &mut Context::default(), serializer)
        }
    }
    postcard::to_extend(&All(world), out).unwrap()
}

fn load_theirs(bytes: &[u8]) -> hecs::World {
    let mut deserializer = postcard::Deserializer::from_bytes(bytes);
    hecs::serialize::column::deserialize(&mut Context::default(), &mut deserializer).unwrap()
}

fn theirs_digest(world: &mut hecs::World) -> u64 {
    let mut all = Vec::new();
    world.query_mut::<&Position>().into_iter().for_each(|p| all.push(*p));
    digest(all.iter())
}

/// The checksum of the bytes of a snapshot, frame by frame, alone.
fn summing(n: usize, of: Of) -> Build {
    Box::new(move || {
        let (columns, mut bytes) = (Columns::new(n, of), Vec::new());
        columns.save(&mut bytes, false);
        Case::new("checksum", move |check| {
            let sum = |sum, frame| checksum(sum, frame);
            let (ns, _) = time(|| black_box(black_box(&*bytes).chunks(1 << 16).fold(0, sum)));
            (ns, if check { digest(columns.positions.iter()) } else { 0 })
        })
    })
}

fn saving(name: &'static str, n: usize, of: Of) -> Workload {
    let copy = move |label, checked| -> Build {
        Box::new(move || {
            let (columns, mut out) = (Columns::new(n, of), Vec::with_capacity(n * 160 + (1 << 16)));
            Case::new(label, move |check| {
                out.clear();
                let (ns, ()) = time(|| columns.save(&mut out, checked));
                (ns, if check { digest(Columns::load(&out, n, of, false).positions.iter()) } else { 0 })
            })
        })
    };
    Workload {
        name,
        ops: n as f64,
        build: vec![
            copy("copy", false),
            copy("copy and checksum", true),
            summing(n, of),
            Box::new(move || {
                let (world, registry, mut out) = (ours(n, of), registry(), Vec::with_capacity(n * 160 + (1 << 16)));
                Case::new("phalanx", move |check| {
                    out.clear();
                    let (ns, _) = time(|| registry.save(&world, &mut out).unwrap());
                    let copy = || registry.load(&*out).unwrap();
                    (ns, if check { digest(copy().query::<&Position>().iter()) } else { 0 })
                })
            }),
            Box::new(move || {
                let (world, mut out) = (theirs(n, of), Vec::with_capacity(n * 160));
                Case::new("hecs, postcard", move |check| {
                    out.clear();
                    let (ns, done) = time(|| save_theirs(&world, std::mem::take(&mut out)));
                    out = done;
                    (ns, if check { theirs_digest(&mut load_theirs(&out)) } else { 0 })
                })
            }),
        ],
    }
}

fn loading(name: &'static str, n: usize, of: Of) -> Workload {
    let copy = move |label, checked| -> Build {
        Box::new(move || {
            let mut bytes = Vec::new();
            Columns::new(n, of).save(&mut bytes, false);
            Case::new(label, move |check| {
                let (ns, columns) = time(|| Columns::load(black_box(&bytes), n, of, checked));
                (ns, if check { digest(columns.positions.iter()) } else { 0 })
            })
        })
    };
    Workload {
        name,
        ops: n as f64,
        build: vec![
            copy("copy", false),
            copy("copy and checksum", true),
            summing(n, of),
            Box::new(move || {
                let (registry, mut bytes) = (registry(), Vec::new());
                registry.save(&ours(n, of), &mut bytes).unwrap();
                Case::new("phalanx", move |check| {
                    let (ns, world) = time(|| registry.load(black_box(&*bytes)).unwrap());
                    (ns, if check { digest(world.query::<&Position>().iter()) } else { 0 })
                })
            }),
            Box::new(move || {
                let bytes = save_theirs(&theirs(n, of), Vec::new());
                Case::new("hecs, postcard", move |check| {
                    let (ns, mut world) = time(|| load_theirs(black_box(&bytes)));
                    (ns, if check { theirs_digest(&mut world) } else { 0 })
                })
            }),
        ],
    }
}

const TARGETS: &[Target] = &[
    target("save 10k", "phalanx", &["copy and checksum"], Within(1.5)),
    target("save 10k", "phalanx", &["hecs, postcard"], Times(3.0)),
    target("load 10k", "phalanx", &["copy and checksum"], Within(1.5)),
    target("load 10k", "phalanx", &["hecs, postcard"], Times(3.0)),
    target("save 1M", "phalanx", &["copy and checksum"], Within(1.5)),
    target("save 1M", "phalanx", &["hecs, postcard"], Times(3.0)),
    target("load 1M", "phalanx", &["copy and checksum"], Within(1.5)),
    target("load 1M", "phalanx", &["hecs, postcard"], Times(3.0)),
];

fn main() {
    bench::settle_allocator();
    let args: Vec<String> = std::env::args().collect();
    let after = |flag: &str| args.iter().position(|a| a == flag).and_then(|at| args.get(at + 1));
    let only = after("--only");
    let seconds: f64 = after("--seconds").and_then(|s| s.parse().ok()).unwrap_or(3.0);
    let workloads = [
        saving("save 10k", 10_000, Of::Four),
        loading("load 10k", 10_000, Of::Four),
        saving("save 1M", 1_000_000, Of::Two),
        loading("load 1M", 1_000_000, Of::Two),
    ];
    let mut figures = Vec::new();
    for workload in workloads {
        if only.is_none_or(|word| workload.name.contains(word.as_str())) {
            let f = bench::run(&workload, Duration::from_secs_f64(seconds));
            f.print();
            figures.push(f);
        }
    }
    bench::print_targets(TARGETS, &figures);
}
