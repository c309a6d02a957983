//! What is read is what was recorded.

use crate::model::{Burning, Folder, Health, Mood, Position, files, keep, new_world, registry, step};
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use phalanx::World;
use phalanx::snapshot::Registry;
use phalanx::{Component, Entity};
use phalanx_arrow::{Full, RecordError, Recorder, Recording};
use std::collections::BTreeMap;
use std::fs::File;

/// Reads all rows of a component as (frame, entity, sum of the bits of its numbers).
fn rows(recording: &Recording, component: &str) -> Vec<(u32, u64, u64)> {
    let mut rows = Vec::new();
    for path in recording.parts(component) {
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap().build().unwrap();
        for batch in reader {
            let batch = batch.unwrap();
            let frames = batch.column_by_name("frame").unwrap().as_primitive::<UInt32Type>();
            let entities = batch.column_by_name("entity").unwrap().as_primitive::<UInt64Type>();
            for row in 0..batch.num_rows() {
                let number = |name: &str| {
                    u64::from(batch.column_by_name(name).unwrap().as_primitive::<Float32Type>().value(row).to_bits())
                };
                let value = match component {
                    "position" => number("x") + number("y") + number("z"),
                    "health" => {
                        u64::from(batch.column_by_name("value").unwrap().as_primitive::<UInt32Type>().value(row))
                    }
                    "burning" => batch.column_by_name("since").unwrap().as_primitive::<UInt64Type>().value(row),
                    _ => {
                        let list = batch.column_by_name("value").unwrap().as_fixed_size_list().value(row);
                        list.as_primitive::<Float32Type>().values().iter().map(|n| u64::from(n.to_bits())).sum()
                    }
                };
                rows.push((frames.value(row), entities.value(row), value));
            }
        }
    }
    rows
}

fn add_rows(world: &World, frame: u32, expected: &mut BTreeMap<&'static str, Vec<(u32, u64, u64)>>) {
    let bits = |n: f32| u64::from(n.to_bits());
    let mut add = |name, mut list: Vec<(u32, u64, u64)>| {
        list.sort();
        expected.entry(name).or_default().append(&mut list);
    };
    let of = |entity: Entity, value| (frame, entity.to_bits(), value);
    let query = world.query::<(Entity, &Position)>();
    add("position", query.iter().map(|(e, p)| of(e, bits(p.x) + bits(p.y) + bits(p.z))).collect());
    add("health", world.query::<(Entity, &Health)>().iter().map(|(e, h)| of(e, h.0.into())).collect());
    add("burning", world.query::<(Entity, &Burning)>().iter().map(|(e, b)| of(e, b.since)).collect());
    add("mood", world.query::<(Entity, &Mood)>().iter().map(|(e, m)| of(e, bits(m.0[0]) + bits(m.0[1]))).collect());
}

#[test]
fn every_frame_is_restored_and_all_rows_are_in_the_files() {
    let registry = registry();
    for (seed, every) in [(1, 1), (2, 3)] {
        let folder = Folder::new("exact");
        let mut world = new_world(seed, 40);
        let builder = Recorder::create(&folder.0, &registry).seed(seed).parameter("speed", 1.5).every(every);
        let mut recorder = builder.keyframes(10).deltas().start().unwrap();
        let (mut sums, mut expected) = (Vec::new(), BTreeMap::new());
        for frame in 0..47 {
            sums.push(registry.checksum(&world).unwrap());
            if frame % every as u32 == 0 {
                add_rows(&world, frame, &mut expected);
            }
            recorder.frame(&mut world).unwrap();
            step(&mut world);
        }
        let run = recorder.finish().unwrap();
        assert!(run.finished && run.frames == 47 && run.seed == Some(seed) && run.parameters["speed"] == 1.5);
        let recording = Recording::open(&folder.0).unwrap();
        assert_eq!(recording.run(), &run);
        recording.verify().unwrap();
        for (frame, sum) in sums.iter().enumerate() {
            let world = recording.world_at_with(&registry, frame as u64, keep).unwrap();
            assert_eq!(registry.checksum(&world).unwrap(), *sum, "frame {frame}");
        }
        assert!(matches!(
            recording.world_at(&registry, 47),
            Err(RecordError::NoSuchFrame { frame: 47, nearest: Some(40) })
        ));
        for (component, expected) in &expected {
            assert_eq!(&rows(&recording, component), expected, "{component}");
        }
        assert!(recording.components().eq(["burning", "health", "mood", "position"]));
    }
}

#[test]
fn without_deltas_keyframes_are_exact() {
    let (folder, registry) = (Folder::new("keyframes"), registry());
    let mut world = new_world(3, 10);
    let mut recorder = Recorder::create(&folder.0, &registry).keyframes(5).tables(["health"]).start().unwrap();
    let mut sums = Vec::new();
    for _ in 0..12 {
        sums.push(registry.checksum(&world).unwrap());
        recorder.frame(&mut world).unwrap();
        step(&mut world);
    }
    recorder.finish().unwrap();
    let recording = Recording::open(&folder.0).unwrap();
    assert!(recording.components().eq(["health"]));
    assert_eq!(recording.run().tables.as_deref(), Some(&["health".to_owned()][..]));
    for frame in [0, 5, 10] {
        assert_eq!(registry.checksum(&recording.world_at(&registry, frame).unwrap()).unwrap(), sums[frame as usize]);
    }
    let error = recording.world_at(&registry, 7).unwrap_err();
    assert_eq!(error.to_string(), "no exact state of frame 7: the last one before it is 5");
    // A finished recording is neither continued nor overwritten.
    assert!(matches!(Recorder::resume(&folder.0, &registry), Err(RecordError::Exists { .. })));
    assert!(matches!(Recorder::create(&folder.0, &registry).start(), Err(RecordError::Exists { .. })));
}

/// Records some frames from wherever the recording is.
fn record(folder: &Folder, registry: &Registry, until: u64) -> Option<()> {
    let (mut world, mut recorder) = match Recorder::resume(&folder.0, registry).unwrap() {
        Some((world, recorder)) => (world, recorder.start().unwrap()),
        None => (new_world(9, 20), Recorder::create(&folder.0, registry).keyframes(8).deltas().start().unwrap()),
    };
    keep(&mut world);
    for _ in recorder.next_frame()..until {
        recorder.frame(&mut world).unwrap();
        step(&mut world);
    }
    (until == 50).then(|| drop(recorder.finish().unwrap()))
}

#[test]
fn a_continued_recording_has_the_bytes_of_one_without_a_break() {
    let registry = registry();
    let (whole, broken) = (Folder::new("whole"), Folder::new("broken"));
    record(&whole, &registry, 50).unwrap();
    for until in [3, 9, 30, 31] {
        assert!(record(&broken, &registry, until).is_none());
    }
    record(&broken, &registry, 50).unwrap();
    let (whole, broken) = (files(&whole.0), files(&broken.0));
    assert_eq!(whole.keys().collect::<Vec<_>>(), broken.keys().collect::<Vec<_>>());
    assert!(whole.iter().all(|(path, bytes)| &broken[path] == bytes));
    assert!(whole.len() > 20);
}

#[test]
fn a_full_queue_skips_frames_and_counts_them() {
    let (folder, registry) = (Folder::new("skip"), registry());
    let mut world = new_world(5, 20_000);
    let deltas = Recorder::create(&folder.0, &registry).deltas().queue(1, Full::Skip).start();
    assert!(matches!(deltas, Err(RecordError::Settings { .. })));
    let mut recorder = Recorder::create(&folder.0, &registry).queue(1, Full::Skip).start().unwrap();
    for _ in 0..100 {
        recorder.frame(&mut world).unwrap();
    }
    let run = recorder.finish().unwrap();
    let recording = Recording::open(&folder.0).unwrap();
    let mut frames: Vec<_> = rows(&recording, "health").into_iter().map(|(frame, ..)| frame).collect();
    frames.dedup();
    assert!(run.skipped > 0, "the queue was never full");
    assert_eq!(frames.len() as u64 + run.skipped, 100);
}

#[derive(Component, Clone, Debug, serde::Serialize, serde::Deserialize)]
struct Title(String);
#[derive(Component, Clone, Debug, serde::Serialize, serde::Deserialize)]
struct Route {
    steps: Vec<u32>,
    cost: f64,
}

#[test]
fn texts_and_lists_are_recorded() {
    let mut registry = Registry::new();
    registry.serde::<Title>("title").unwrap();
    registry.serde::<Route>("route").unwrap();
    let folder = Folder::new("texts");
    let mut world = World::new();
    for n in 0..10 {
        world.spawn((Title(format!("n{n}")), Route { steps: vec![n, n + 1], cost: 0.5 }));
    }
    let mut recorder = Recorder::create(&folder.0, &registry).start().unwrap();
    recorder.frame(&mut world).unwrap();
    recorder.finish().unwrap();
    let recording = Recording::open(&folder.0).unwrap();
    let read = |component: &str| {
        let path = recording.parts(component).next().unwrap();
        let mut reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap().build().unwrap();
        reader.next().unwrap().unwrap()
    };
    assert_eq!(read("title").column_by_name("value").unwrap().as_string::<i32>().value(3), "n3");
    let route = read("route");
    assert_eq!(route.column_by_name("steps").unwrap().as_string::<i32>().value(3), "[3,4]");
    assert_eq!(route.column_by_name("cost").unwrap().as_primitive::<Float64Type>().value(3), 0.5);
    // Values that are not plain have no deltas.
    let other = Folder::new("texts");
    let mut recorder = Recorder::create(&other.0, &registry).deltas().start().unwrap();
    let error = recorder.frame(&mut world).unwrap_err();
    assert!(error.to_string().starts_with("frame 0 cannot be recorded"), "{error}");
}
