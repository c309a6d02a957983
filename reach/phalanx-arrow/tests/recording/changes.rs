//! Rows that differ, and what has happened to entities.

use crate::model::{Burning, Folder, Health, Mood, Position, files, keep, new_world, registry, step};
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, RecordBatch, StringArray};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use phalanx::reflect::Reflect;
use phalanx::snapshot::Registry;
use phalanx::{Component, Entity, Plain, World};
use phalanx_arrow::{FrozenWorld, Full, RecordError, Recorder, Recording};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

fn read(paths: impl Iterator<Item = PathBuf>) -> Vec<RecordBatch> {
    let open = |path: PathBuf| ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    paths.flat_map(|path| open(path).build().unwrap()).map(|batch| batch.unwrap()).collect()
}

fn texts(batch: &RecordBatch, column: usize) -> Vec<String> {
    let column = batch.column(column).as_dictionary::<Int32Type>();
    let texts = column.downcast_dict::<StringArray>().unwrap();
    texts.into_iter().map(|text| text.unwrap().to_owned()).collect()
}

/// The columns of a batch that are values, row by row, as text: floats by their bits.
fn values(batch: &RecordBatch, first: usize) -> Vec<String> {
    let text = |column: &Arc<dyn Array>, row: usize| match column.data_type() {
        arrow_schema::DataType::Float32 => column.as_primitive::<Float32Type>().value(row).to_bits().to_string(),
        arrow_schema::DataType::FixedSizeList(..) => {
            let list = column.as_fixed_size_list().value(row);
            match list.as_primitive_opt::<Float32Type>() {
                Some(list) => format!("{:?}", list.values().iter().map(|x| x.to_bits()).collect::<Vec<_>>()),
                None => format!("{list:?}"),
            }
        }
        arrow_schema::DataType::Struct(_) => {
            let parts = column.as_struct().columns();
            parts.iter().map(|part| format!("{:?}", part.slice(row, 1))).collect()
        }
        _ => format!("{:?}", column.slice(row, 1)),
    };
    let row =
        |row: usize| batch.columns()[first..].iter().map(|column| text(column, row)).collect::<Vec<_>>().join(" ");
    (0..batch.num_rows()).map(row).collect()
}

type State = BTreeMap<u64, String>;

/// Applies the changes of all parts in order. Returns the state after each frame that has rows.
fn replay(recording: &Recording, component: &str, keyframe: u32) -> BTreeMap<u32, State> {
    let (mut state, mut states) = (State::new(), BTreeMap::<u32, State>::new());
    let mut part = u32::MAX;
    for batch in read(recording.parts(component)) {
        assert_eq!(batch.schema().field(2).name(), "op");
        let frames = batch.column(0).as_primitive::<UInt32Type>().values();
        let entities = batch.column(1).as_primitive::<UInt64Type>().values();
        let (ops, values) = (texts(&batch, 2), values(&batch, 3));
        for row in 0..batch.num_rows() {
            if part != frames[row] / keyframe {
                part = frames[row] / keyframe;
                state.clear();
            }
            let before = match ops[row].as_str() {
                "removed" => {
                    assert_eq!(state.remove(&entities[row]).as_ref(), Some(&values[row]), "its last values");
                    states.insert(frames[row], state.clone());
                    continue;
                }
                _ => state.insert(entities[row], values[row].clone()),
            };
            match ops[row].as_str() {
                "changed" => assert!(before.is_some_and(|before| before != values[row]), "nothing has changed"),
                "added" | "state" => assert!(before.is_none()),
                other => panic!("{other}"),
            }
            states.insert(frames[row], state.clone());
        }
    }
    states
}

/// Returns the state of a component in a world.
fn state_of(world: &World, registry: &Arc<Registry>, component: &str) -> State {
    let mut bytes = Vec::new();
    registry.save(world, &mut bytes).unwrap();
    let frozen = FrozenWorld::with_registry(registry.load(&bytes[..]).unwrap(), registry.clone());
    let components = frozen.components();
    let Some((_, id)) = components.iter().find(|(name, _)| name == component) else { return State::new() };
    let batches = frozen.component_by_id(*id).unwrap();
    let rows = |batch: &RecordBatch| {
        let entities = batch.column(0).as_primitive::<UInt64Type>().values().to_vec();
        entities.into_iter().zip(values(batch, 1)).collect::<Vec<_>>()
    };
    batches.iter().flat_map(rows).collect()
}

#[derive(Reflect, Plain, Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
enum Team {
    Red,
    Blue,
}
/// Fields of all kinds of columns.
#[derive(Component, Clone, Copy, Debug)]
#[component(plain)]
struct Member {
    team: Team,
    is_captain: bool,
    spare: [u8; 4],
    teams: [Team; 2],
    of: Entity,
}
#[derive(Component, Clone, Debug, serde::Serialize, serde::Deserialize)]
struct Title(String);

#[test]
fn changes_are_the_rows_that_differ() {
    let registry = Arc::new(registry());
    for (seed, every) in [(1, 1), (2, 3)] {
        let folder = Folder::new("changes");
        let mut world = new_world(seed, 30);
        let builder = Recorder::create(&folder.0, &registry).every(every).keyframes(10).changes();
        let mut recorder = builder.start().unwrap();
        let names = ["position", "health", "burning", "mood"];
        let mut expected: BTreeMap<&str, BTreeMap<u32, State>> = BTreeMap::new();
        for frame in 0..37u32 {
            if frame % every as u32 == 0 {
                for name in names {
                    expected.entry(name).or_default().insert(frame, state_of(&world, &registry, name));
                }
            }
            recorder.frame(&mut world).unwrap();
            step(&mut world);
            if frame == 13 {
                // A component that all entities lose, and one that none has for a while.
                for entity in world.iter().collect::<Vec<_>>() {
                    let _ = (world.remove::<Health>(entity), world.remove::<Burning>(entity));
                }
            }
        }
        let run = recorder.finish().unwrap();
        assert!(run.has_changes);
        let recording = Recording::open(&folder.0).unwrap();
        recording.verify().unwrap();
        for name in names {
            let states = replay(&recording, name, 10);
            for (frame, expected) in &expected[name] {
                // A frame without rows is as the last one of its part that has some.
                let part = frame / 10 * 10;
                let found = states.range(part..=*frame).next_back().map(|(_, state)| state.clone()).unwrap_or_default();
                assert_eq!(&found, expected, "{name} in frame {frame}");
            }
        }
        assert!(folder.0.join("changes=position").is_dir() && !folder.0.join("component=position").exists());
    }
}

#[test]
fn rows_that_stay_the_same_are_written_once_a_part() {
    let mut registry = Registry::new();
    registry.plain::<Member>("member").unwrap();
    registry.serde::<Title>("title").unwrap();
    let registry = Arc::new(registry);
    let (folder, mut world) = (Folder::new("same"), World::new());
    let first = world.spawn_empty();
    let member = Member { team: Team::Red, is_captain: false, spare: [1; 4], teams: [Team::Red; 2], of: first };
    let entities: Vec<_> = (0..50).map(|n| world.spawn((member, Title(format!("n{n}"))))).collect();
    let mut recorder = Recorder::create(&folder.0, &registry).keyframes(8).changes().start().unwrap();
    for frame in 0..16usize {
        recorder.frame(&mut world).unwrap();
        // One field of one entity changes, and nothing in the seventh frame.
        if frame % 8 == 5 {
            world.get_mut::<Title>(entities[frame]).unwrap().0.push('!');
        }
        let value = world.get_mut::<Member>(entities[frame]).unwrap();
        match frame % 8 {
            0 => value.team = Team::Blue,
            1 => value.is_captain = true,
            2 => value.spare[3] = 9,
            3 => value.teams[1] = Team::Blue,
            4 => value.of = entities[0],
            _ => {}
        }
    }
    recorder.finish().unwrap();
    let recording = Recording::open(&folder.0).unwrap();
    let count = |component: &str| -> usize { read(recording.parts(component)).iter().map(RecordBatch::num_rows).sum() };
    assert_eq!((count("member"), count("title")), (2 * (50 + 5), 2 * (50 + 1)));
}

#[test]
fn a_continued_recording_of_changes_has_the_bytes_of_one_without_a_break() {
    let registry = registry();
    let record = |folder: &Folder, until: u64| {
        let (mut world, mut recorder) = match Recorder::resume(&folder.0, &registry).unwrap() {
            Some((world, recorder)) => (world, recorder.start().unwrap()),
            None => (new_world(9, 20), Recorder::create(&folder.0, &registry).keyframes(8).changes().start().unwrap()),
        };
        keep(&mut world);
        for _ in recorder.next_frame()..until {
            recorder.frame(&mut world).unwrap();
            step(&mut world);
        }
        if until == 50 {
            recorder.finish().unwrap();
        }
    };
    let (whole, broken) = (Folder::new("whole"), Folder::new("broken"));
    record(&whole, 50);
    [3, 9, 30, 31, 50].into_iter().for_each(|until| record(&broken, until));
    let (whole, broken) = (files(&whole.0), files(&broken.0));
    assert!(whole.keys().eq(broken.keys()));
    assert!(whole.iter().all(|(path, bytes)| &broken[path] == bytes));
    assert!(whole.keys().any(|path| path.starts_with("entity")));
}

#[test]
fn frames_with_changes_cannot_be_skipped() {
    let (folder, registry) = (Folder::new("settings"), registry());
    let changes = Recorder::create(&folder.0, &registry).changes().queue(1, Full::Skip).start();
    assert!(matches!(changes, Err(RecordError::Settings { .. })));
}

#[test]
fn the_files_of_entities_say_when_they_were_born_moved_and_ended() {
    let registry = registry();
    for (seed, every) in [(3, 1), (4, 3)] {
        let folder = Folder::new("entities");
        let mut world = new_world(seed, 20);
        let mut recorder = Recorder::create(&folder.0, &registry).every(every).keyframes(10).start().unwrap();
        let mut expected: BTreeMap<u32, BTreeMap<u64, &str>> = BTreeMap::new();
        for frame in 0..45u32 {
            if frame % every as u32 == 0 {
                let archetype = |entity: Entity| match (world.has::<Position>(entity), world.has::<Health>(entity)) {
                    (true, true) => "health, position",
                    (true, false) => "position",
                    (false, true) => "health",
                    (false, false) => "",
                };
                expected.insert(frame, world.iter().map(|entity| (entity.to_bits(), archetype(entity))).collect());
            }
            recorder.frame(&mut world).unwrap();
            step(&mut world);
            // An index that is used again in the same frame, and tables that lose all their rows.
            if frame % 7 == 2 {
                let entity = world.iter().next().unwrap();
                world.despawn(entity).unwrap();
                world.spawn((Health(1), Mood([0.0, 0.0])));
            }
            if frame == 33 {
                for entity in world.iter().collect::<Vec<_>>() {
                    world.despawn(entity).unwrap();
                }
                world.spawn_batch((0..6).map(Health));
            }
        }
        recorder.finish().unwrap();
        let recording = Recording::open(&folder.0).unwrap();
        let mut events: BTreeMap<u32, Vec<(u64, String, String)>> = BTreeMap::new();
        let mut last = (0, 0);
        for batch in read(recording.entity_parts()) {
            let names: Vec<_> = batch.schema().fields().iter().map(|field| field.name().clone()).collect();
            assert_eq!(names, ["frame", "entity", "event", "archetype"]);
            let frames = batch.column(0).as_primitive::<UInt32Type>().values();
            let entities = batch.column(1).as_primitive::<UInt64Type>().values();
            let (kinds, archetypes) = (texts(&batch, 2), texts(&batch, 3));
            for row in 0..batch.num_rows() {
                assert!(last < (frames[row], entities[row]) || last == (0, 0), "the rows are not sorted");
                last = (frames[row], entities[row]);
                let event = (entities[row], kinds[row].clone(), archetypes[row].clone());
                events.entry(frames[row]).or_default().push(event);
            }
        }
        let mut alive: BTreeMap<u64, String> = BTreeMap::new();
        let mut part = 0;
        for (frame, expected) in &expected {
            let rows = events.remove(frame).unwrap_or_default();
            if *frame == 0 || frame / 10 != part {
                part = frame / 10;
                let listed = rows.iter().filter(|(_, event, _)| event != "ended").count();
                assert_eq!(listed, expected.len(), "frame {frame} has all entities");
            }
            for (entity, event, archetype) in rows {
                match event.as_str() {
                    "alive" => assert_eq!(alive.get(&entity), Some(&archetype)),
                    "born" => assert_eq!(alive.insert(entity, archetype), None),
                    "moved" => assert!(alive.insert(entity, archetype.clone()).is_some_and(|old| old != archetype)),
                    "ended" => assert_eq!(alive.remove(&entity), Some(archetype)),
                    other => panic!("{other}"),
                }
            }
            let expected: BTreeMap<u64, String> = expected.iter().map(|(e, name)| (*e, (*name).to_owned())).collect();
            assert_eq!(alive, expected, "frame {frame}");
        }
        assert!(events.is_empty(), "frames that were not recorded have rows: {events:?}");
    }
}
