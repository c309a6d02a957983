//! A process that is killed loses the part that it was writing, and nothing else.

use crate::model::{Folder, files, keep, new_world, registry, step};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use phalanx_arrow::{RecordError, Recorder, Recording};
use phalanx_testkit::Rng;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const FRAMES: u64 = 60;

fn run(folder: &Path) {
    let registry = registry();
    let (mut world, mut recorder) = match Recorder::resume(folder, &registry).unwrap() {
        Some((world, recorder)) => (world, recorder.start().unwrap()),
        None => (new_world(4, 50), Recorder::create(folder, &registry).keyframes(4).deltas().start().unwrap()),
    };
    keep(&mut world);
    for _ in recorder.next_frame()..FRAMES {
        recorder.frame(&mut world).unwrap();
        step(&mut world);
    }
    recorder.finish().unwrap();
}

/// Starts this test in another process, which records.
fn start(folder: &Folder) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::killed_processes_lose_the_last_part_only", "--test-threads=1"])
        .env("PHALANX_RECORD", &folder.0)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn killed_processes_lose_the_last_part_only() {
    if let Some(folder) = std::env::var_os("PHALANX_RECORD") {
        run(Path::new(&folder));
        return;
    }
    let registry = registry();
    let whole = Folder::new("crash-whole");
    let begin = std::time::Instant::now();
    assert!(start(&whole).wait().unwrap().success());
    let whole_time = begin.elapsed();
    let expected = files(&whole.0);
    let sums = Recording::open(&whole.0).unwrap().run().keyframes.clone();
    let mut rng = Rng::new(1);
    let mut kept = 0;
    for _ in 0..12 {
        let folder = Folder::new("crash");
        let mut finished = std::collections::BTreeMap::new();
        // Each process goes on where the one before was killed.
        for _ in 0..4 {
            let mut child = start(&folder);
            let part = rng.below(1000) as u32;
            std::thread::sleep(Duration::from_micros(whole_time.as_micros() as u64) * part / 1000);
            child.kill().unwrap();
            child.wait().unwrap();
            let now = files(&folder.0);
            // Files with a name are whole, and stay.
            for (path, bytes) in &now {
                if path.extension().is_some_and(|extension| extension == "parquet") {
                    let file = File::open(folder.0.join(path)).unwrap();
                    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
                    assert!(reader.map(|batch| batch.unwrap().num_rows()).sum::<usize>() > 0);
                    assert_eq!(&expected[path], bytes, "{}", path.display());
                }
            }
            assert!(finished.keys().all(|path| now.contains_key(path)));
            finished = now.into_iter().filter(|(path, _)| !path.to_string_lossy().ends_with(".tmp")).collect();
            if let Ok(recording) = Recording::open(&folder.0) {
                recording.verify().unwrap();
                for keyframe in &recording.run().keyframes {
                    let world = recording.world_at(&registry, keyframe.frame).unwrap();
                    let expected = sums.iter().find(|other| other.frame == keyframe.frame).unwrap();
                    assert_eq!(registry.checksum(&world).unwrap(), expected.checksum);
                    kept += 1;
                }
                if recording.run().finished {
                    break;
                }
            }
        }
        if !Recording::open(&folder.0).is_ok_and(|recording| recording.run().finished) {
            assert!(start(&folder).wait().unwrap().success());
        }
        let now = files(&folder.0);
        assert!(now.keys().eq(expected.keys()));
        assert!(now.iter().all(|(path, bytes)| &expected[path] == bytes));
    }
    assert!(kept > 0, "no process lived long enough to write a keyframe");
}

#[test]
fn a_recording_without_a_keyframe_is_begun_again_and_keeps_its_file_meanwhile() {
    let (folder, registry) = (Folder::new("empty"), registry());
    drop(Recorder::create(&folder.0, &registry).seed(1).start().unwrap());
    let run = folder.0.join("run.json");
    assert!(Recorder::resume(&folder.0, &registry).unwrap().is_none());
    assert!(run.exists(), "a process that is killed here would leave nothing");
    let mut recorder = Recorder::create(&folder.0, &registry).seed(2).keyframes(4).start().unwrap();
    assert_eq!(Recording::open(&folder.0).unwrap().run().seed, Some(2));
    let mut world = new_world(1, 5);
    (0..6).for_each(|_| recorder.frame(&mut world).unwrap());
    drop(recorder);
    let again = Recorder::create(&folder.0, &registry).start();
    assert!(matches!(again, Err(RecordError::Exists { .. })));
}
