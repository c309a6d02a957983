//! Damaged recordings: an answer, or an error that names the file. Never a panic.

use crate::runs::{Folder, PARTS, describe_run, write_json, write_run};
use phalanx_sql::{Broken, Session, SqlError};
use phalanx_testkit::Rng;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};

const SQL: &str = "select run, count(*), sum(x), max(y), min(entity) from position where frame > 0 group by run";

#[test]
fn damaged_files_are_named() {
    let folder = Folder::new();
    let run = write_run(folder.path(), 0, 40, 50);
    let path = run.join(PARTS[0]);
    let whole = fs::read(&path).unwrap();
    let mut rng = Rng::new(22);
    let (mut answers, mut errors) = (0, 0);
    for round in 0..400 {
        let mut bytes = whole.clone();
        match round % 4 {
            // Half-written.
            0 => bytes.truncate(rng.below(whole.len())),
            // A few bytes anywhere.
            1 => {
                for _ in 0..1 + rng.below(4) {
                    let at = rng.below(bytes.len());
                    bytes[at] = rng.next_u64() as u8;
                }
            }
            // A few bytes of the footer.
            2 => {
                for _ in 0..1 + rng.below(4) {
                    let at = bytes.len() - 1 - rng.below(bytes.len().min(600));
                    bytes[at] = rng.next_u64() as u8;
                }
            }
            // A piece that is zero, as after a crash of the machine.
            _ => {
                let from = rng.below(bytes.len());
                let to = (from + rng.below(4096)).min(bytes.len());
                bytes[from..to].fill(0);
            }
        }
        fs::write(&path, &bytes).unwrap();
        // The number of bytes is as it should be, so that the reader sees them.
        describe_run(&run, 0, 40, 50);
        let result = catch_unwind(AssertUnwindSafe(|| Session::recordings(folder.path()).unwrap().blocking_query(SQL)));
        match result {
            Ok(Ok(rows)) => {
                // Values have no checksum, but rows are counted.
                assert!(rows.len() <= 1, "round {round}");
                answers += 1;
            }
            Ok(Err(SqlError::Broken { path: named, .. })) => {
                assert_eq!(named, path, "round {round}");
                errors += 1;
            }
            Ok(Err(other)) => panic!("round {round}: {other:?}"),
            Err(_) => panic!("round {round}: a panic"),
        }
    }
    assert!(answers > 20 && errors > 100, "{answers} answers, {errors} errors");
}

#[test]
fn what_is_not_a_file_is_named() {
    let folder = Folder::new();
    let run = write_run(folder.path(), 0, 4, 3);
    let path = run.join(PARTS[1]);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let error = Session::recordings(folder.path()).unwrap().blocking_query("select * from position").unwrap_err();
    assert!(matches!(error, SqlError::Broken { path: named, .. } if named == path));
    fs::remove_dir(&path).unwrap();
    #[cfg(unix)]
    {
        // A pipe without a writer would block for ever.
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let error = Session::recordings(folder.path()).unwrap().blocking_query("select * from position").unwrap_err();
        assert!(matches!(error, SqlError::Broken { path: named, .. } if named == path));
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/nowhere", &path).unwrap();
        let error = Session::recordings(folder.path()).unwrap().blocking_query("select * from position").unwrap_err();
        assert!(matches!(error, SqlError::Io { path: named, .. } if named == path));
    }
}

#[test]
fn damaged_descriptions_are_named() {
    let folder = Folder::new();
    let path = write_run(folder.path(), 0, 4, 3).join("run.json");
    for text in ["", "{", "[]", "null", "{\"parameters\": 3}", "\u{0}", &"[".repeat(100_000), "{\"seed\": 1e999}"] {
        fs::write(&path, text).unwrap();
        match Session::recordings(folder.path()) {
            Err(SqlError::Broken { path: named, .. }) => assert_eq!(named, path),
            other => panic!("{text:.20}: {other:?}"),
        }
        assert!(matches!(Session::open(folder.path(), Broken::Skip), Err(SqlError::NoRecordings(_))));
    }
    // Odd values are not damage.
    let parameters = r#"{"": null, "a b": [1], "Run": 1, "run": 2}"#;
    write_json(path.parent().unwrap(), 0, 4, parameters, false, &[(PARTS[0], 6), (PARTS[1], 6)]);
    let session = Session::recordings(folder.path()).unwrap();
    let rows = session.blocking_query(r#"select run, run_, "Run", "a b", "" from position"#).unwrap();
    assert_eq!(rows.len(), 12);
}
