//! Failing disks and damaged files: errors name the file and the cause.

use crate::model::{Folder, keep, new_world, registry, step};
use phalanx_arrow::{RecordError, Recorder, Recording};
use std::fs;
use std::process::Command;

/// Runs a test of this binary in a process whose files cannot grow beyond some KiB, as on a full disk.
fn with_small_files(test: &str, folder: &Folder) -> String {
    let binary = std::env::current_exe().unwrap();
    let script = "ulimit -f 40; trap '' XFSZ; exec \"$0\" --exact \"$1\" --nocapture --test-threads=1";
    let output = Command::new("sh")
        .args(["-c", script, binary.to_str().unwrap(), test])
        .env("PHALANX_SMALL_FILES", &folder.0)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_full_disk_is_an_error_that_names_the_file() {
    if let Some(folder) = std::env::var_os("PHALANX_SMALL_FILES") {
        let registry = registry();
        let mut world = new_world(1, 300);
        let mut recorder = Recorder::create(&folder, &registry).keyframes(4).start().unwrap();
        let mut frames = 0;
        let error = loop {
            match recorder.frame(&mut world) {
                Ok(()) => frames += 1,
                Err(error) => break error,
            }
            if frames == 20 {
                // One file grows beyond the limit.
                world.spawn_batch((0..20_000).map(crate::model::Health));
            }
            step(&mut world);
        };
        let again = recorder.frame(&mut world).unwrap_err();
        assert_eq!(error.to_string(), again.to_string());
        assert_eq!(recorder.finish().unwrap_err().to_string(), error.to_string());
        println!("error: {error}");
        return;
    }
    let folder = Folder::new("full");
    let output = with_small_files("failing::a_full_disk_is_an_error_that_names_the_file", &folder);
    let error = output.lines().find(|line| line.contains("error: ")).unwrap();
    assert!(error.contains("cannot write") && error.contains("0000000020"), "{error}");
    assert!(error.contains("File too large") || error.contains("os error"), "{error}");
    // What was finished before is whole.
    let recording = Recording::open(&folder.0).unwrap();
    recording.verify().unwrap();
    assert!(!recording.run().finished && recording.run().parts.len() >= 5);
    assert_eq!(recording.world_at(&registry(), 16).unwrap().validate(), Ok(()));
}

#[test]
fn a_failing_rename_is_an_error_that_names_the_file() {
    let (folder, registry) = (Folder::new("rename"), registry());
    fs::create_dir_all(folder.0.join("component=health/part-0000000004.parquet/full")).unwrap();
    let mut world = new_world(1, 10);
    let mut recorder = Recorder::create(&folder.0, &registry).keyframes(4).start().unwrap();
    for _ in 0..8 {
        recorder.frame(&mut world).unwrap();
    }
    let error = recorder.finish().unwrap_err();
    assert!(
        matches!(&error, RecordError::File { operation: "rename to", path, .. }
        if path.ends_with("component=health/part-0000000004.parquet")),
        "{error}"
    );
    Recording::open(&folder.0).unwrap().verify().unwrap();
    let leftover = fs::read_dir(folder.0.join("component=health")).unwrap().flatten();
    assert!(leftover.map(|entry| entry.file_name()).all(|name| !name.to_string_lossy().ends_with(".tmp")));
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error_at_the_start() {
    let (folder, registry) = (Folder::new("folder"), registry());
    fs::create_dir_all(&folder.0).unwrap();
    fs::write(folder.0.join("file"), "").unwrap();
    let error = Recorder::create(folder.0.join("file/run"), &registry).start().unwrap_err();
    assert!(matches!(&error, RecordError::File { operation: "create", .. }), "{error}");
    assert!(matches!(Recording::open(&folder.0), Err(RecordError::File { operation: "read", .. })));
}

#[test]
fn damaged_files_are_found() {
    let (folder, registry) = (Folder::new("damaged"), registry());
    let mut world = new_world(1, 10);
    let mut recorder = Recorder::create(&folder.0, &registry).keyframes(4).deltas().start().unwrap();
    for _ in 0..8 {
        recorder.frame(&mut world).unwrap();
        step(&mut world);
    }
    let run = recorder.finish().unwrap();
    let recording = Recording::open(&folder.0).unwrap();
    let files = [&run.parts[0].file, &run.deltas[0].file, &run.keyframes[0].file];
    for file in files {
        let path = folder.0.join(file);
        let bytes = fs::read(&path).unwrap();
        for at in [0, bytes.len() / 2, bytes.len() - 1] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            fs::write(&path, damaged).unwrap();
            let result = recording.verify().and_then(|()| recording.world_at_with(&registry, 2, keep).map(drop));
            let error = result.unwrap_err();
            assert!(matches!(&error, RecordError::Damaged { path: named, .. } if *named == path), "{error}");
        }
        fs::write(&path, bytes).unwrap();
    }
    recording.world_at_with(&registry, 2, keep).unwrap();
    // A forged file does not lead out of the folder, and has to be JSON of this version.
    let text = fs::read_to_string(folder.0.join("run.json")).unwrap();
    for (from, to) in
        [("\"exact/", "\"../exact/"), ("\"exact/", "\"/exact/"), ("\"format\": 1", "\"format\": 2"), ("{", "[")]
    {
        fs::write(folder.0.join("run.json"), text.replacen(from, to, 1)).unwrap();
        assert!(matches!(Recording::open(&folder.0), Err(RecordError::Damaged { .. })), "{to}");
    }
}
