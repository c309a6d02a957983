//! Recordings of changes have the rows of those that have all, and recordings tell what happened to entities and what their sums are.

use crate::runs::Folder;
use phalanx::snapshot::Registry;
use phalanx::{Component, World};
use phalanx_arrow::{Recorder, Recording};
use phalanx_sql::{Broken, Session, SqlError};
use phalanx_testkit::Rng;
use std::fs;
use std::path::Path;

#[derive(Component, Clone, Copy)]
#[component(plain)]
struct Health {
    hp: u32,
    spot: [f32; 2],
}
#[derive(Component, Clone, Copy)]
#[component(layout = "pool", plain)]
struct Burning {
    since: u64,
}

/// Records a simulation, which is a function of the seed.
pub(crate) fn record(folder: &Path, run: u32, seed: u64, every: u64, has_changes: bool) {
    let mut registry = Registry::new();
    registry.plain::<Health>("health").unwrap();
    registry.plain::<Burning>("burning").unwrap();
    let builder = Recorder::create(folder.join(format!("run={run}")), &registry).seed(seed).keyframes(10).every(every);
    let builder = builder.parameter("part", seed).parameter("every", 2.5);
    let mut recorder = if has_changes { builder.changes() } else { builder }.start().unwrap();
    let (mut world, mut rng) = (World::new(), Rng::new(seed));
    world.spawn_batch((0..40).map(|hp| Health { hp, spot: [hp as f32, 0.0] }));
    for frame in 0..34 {
        recorder.frame(&mut world).unwrap();
        for _ in 0..4 {
            let entities: Vec<_> = world.iter().collect();
            let entity = entities[rng.below(entities.len())];
            match rng.below(5) {
                0 => world.insert(entity, Burning { since: frame }).unwrap(),
                1 => drop(world.remove::<Burning>(entity)),
                2 => drop(world.remove::<Health>(entity)),
                3 => world.insert(entity, Health { hp: rng.below(100) as u32, spot: [0.5, 1.0] }).unwrap(),
                _ if entities.len() > 20 => world.despawn(entity).unwrap(),
                _ => drop(world.spawn((Health { hp: 7, spot: [1.0; 2] }, Burning { since: frame }))),
            }
        }
        if frame == 14 {
            // A component that no entity has for a while.
            for entity in world.iter().collect::<Vec<_>>() {
                let _ = world.remove::<Burning>(entity);
            }
        }
    }
    recorder.finish().unwrap();
}

fn answer(session: &Session, sql: &str) -> String {
    session.blocking_query(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).to_string()
}

const QUERIES: [&str; 9] = [
    "select frame, entity, hp, spot from health order by frame, entity",
    "select frame, count(*), sum(since) from burning group by frame order by frame",
    "select frame, hp from health where entity = (select min(entity) from health) order by frame",
    "select count(*), sum(hp) from health where frame = 13",
    "select count(*) from health where frame between 8 and 22 and hp > 20",
    "select max(frame), min(frame), count(distinct entity) from burning",
    "select frame, avg(hp) from health join burning using (frame, entity) group by frame order by frame",
    "select frame, event, archetype, count(*) from entities group by frame, event, archetype order by 1, 2, 3",
    "select frame, checksum from keyframes order by frame",
];

#[test]
fn recordings_of_changes_have_all_rows() {
    for (seed, every) in [(1, 1), (2, 1), (3, 4)] {
        let (all, changes) = (Folder::new(), Folder::new());
        record(all.path(), 0, seed, every, false);
        record(changes.path(), 0, seed, every, true);
        let [all, changes] = [&all, &changes].map(|folder| Session::recordings(folder.path()).unwrap());
        for sql in QUERIES {
            assert_eq!(answer(&all, sql), answer(&changes, sql), "{sql}");
        }
        let columns = |session: &Session| {
            let columns = session.columns("health").unwrap();
            columns.fields().iter().map(|field| (field.name().clone(), field.data_type().clone())).collect::<Vec<_>>()
        };
        assert_eq!(columns(&all), columns(&changes));
        let tables =
            ["burning", "burning_changes", "entities", "files", "health", "health_changes", "keyframes", "runs"];
        assert_eq!(changes.tables(), tables);
        let names: Vec<_> =
            changes.columns("burning_changes").unwrap().fields().iter().map(|f| f.name().clone()).collect();
        let expected = ["frame", "entity", "op", "since", "run", "every", "part", "part_", "part_end", "every_"];
        assert_eq!(names, expected);
        let sql = "select (select count(*) from health_changes) * 2 < (select count(*) from health) as fewer";
        assert!(every > 1 || answer(&changes, sql).contains("true"));
    }
}

#[test]
fn recordings_of_both_kinds_are_one_table() {
    let folder = Folder::new();
    record(folder.path(), 0, 5, 1, false);
    record(folder.path(), 1, 5, 1, true);
    record(folder.path(), 2, 6, 1, true);
    let session = Session::recordings(folder.path()).unwrap();
    let of = |run: u32, sql: &str| answer(&session, &sql.replace("RUN", &run.to_string()));
    for sql in [
        "select frame, entity, hp, spot, part from health where run = RUN order by frame, entity",
        "select count(*), sum(since) from burning where run = RUN and every = 2.5",
        "select frame, entity, event from entities where run = RUN order by frame, entity",
    ] {
        assert_eq!(of(0, sql), of(1, sql), "{sql}");
        assert_ne!(of(0, sql), of(2, sql), "{sql}");
    }
    assert_eq!(answer(&session, "select distinct run from health order by run").lines().count(), 4 + 3);
    // Runs are chosen before their rows are repeated.
    for filter in ["run = 2", "part = 6"] {
        let plan = answer(&session, &format!("explain format indent select count(*) from health where {filter}"));
        assert!(plan.contains("run=2/changes=health") && !plan.contains("run=1/"), "{plan}");
    }
}

#[test]
fn the_first_keyframe_that_differs_is_found() {
    let folder = Folder::new();
    record(folder.path(), 0, 5, 1, false);
    record(folder.path(), 1, 5, 1, true);
    record(folder.path(), 2, 6, 1, false);
    let session = Session::recordings(folder.path()).unwrap();
    let differ = |run: u32| {
        let sql = "select min(a.frame) as first from keyframes a join keyframes b using (frame)
                   where a.run = 0 and b.run = RUN and a.checksum <> b.checksum";
        answer(&session, &sql.replace("RUN", &run.to_string()))
    };
    assert!(differ(2).contains("| 10    |"), "{}", differ(2));
    assert!(differ(1).contains("|       |"), "{}", differ(1));
    // The sums are those of `run.json`, as text.
    let recording = Recording::open(folder.path().join("run=0")).unwrap();
    let sums = answer(&session, "select file, checksum, rows, bytes from files where run = 0");
    for part in &recording.run().parts {
        let row = sums.lines().find(|line| line.contains(&part.file)).unwrap();
        assert!(row.contains(&format!("{:016x}", part.checksum)) && row.contains(&part.bytes.to_string()), "{row}");
    }
    let sums = answer(&session, "select frame, checksum from keyframes where run = 0");
    for keyframe in &recording.run().keyframes {
        assert!(sums.contains(&format!("{:016x}", keyframe.checksum)), "{sums}");
    }
}

#[test]
fn changed_bytes_are_found_by_their_checksum() {
    for has_changes in [false, true] {
        let folder = Folder::new();
        record(folder.path(), 0, 5, 1, has_changes);
        let kind = if has_changes { "changes" } else { "component" };
        let path = folder.path().join(format!("run=0/{kind}=health/part-0000000010.parquet"));
        let sql = "select count(*), sum(hp) from health";
        let open = |broken| Session::open(folder.path(), broken).unwrap().verify();
        let whole = answer(&open(Broken::Fail), sql);
        let bytes = fs::read(&path).unwrap();
        let mut damaged = bytes.clone();
        // Within the first page, behind its header.
        damaged[60] ^= 1;
        fs::write(&path, damaged).unwrap();
        let error = open(Broken::Fail).blocking_query(sql).unwrap_err();
        assert!(
            matches!(&error, SqlError::Broken { path: named, reason } if *named == path && reason.contains("checksum")),
            "{error}"
        );
        let skipping = open(Broken::Skip);
        assert_ne!(answer(&skipping, sql), whole);
        assert!(skipping.notes().join("\n").contains("part-0000000010.parquet"));
        fs::write(&path, bytes).unwrap();
        assert_eq!(answer(&open(Broken::Fail), sql), whole);
    }
}
