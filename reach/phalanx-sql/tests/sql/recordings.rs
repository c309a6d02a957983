//! Sessions over recordings.

use crate::runs::{Folder, PARTS, describe_run, write_json, write_part, write_run, write_runs, x_of};
use phalanx_sql::datafusion::arrow::array::{AsArray, RecordBatch};
use phalanx_sql::datafusion::arrow::datatypes::{Float64Type, Int64Type, UInt64Type};
use phalanx_sql::{Broken, Rows, Session, SqlError};
use std::fs;

fn only(rows: &Rows) -> &RecordBatch {
    rows.batches().iter().find(|batch| batch.num_rows() > 0).expect("a row")
}

fn count(session: &Session, sql: &str) -> i64 {
    let rows = session.blocking_query(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    only(&rows).column(0).as_primitive::<Int64Type>().value(0)
}

#[test]
fn runs_are_tables_with_their_parameters() {
    let folder = write_runs(12, 10, 5);
    let session = Session::recordings(folder.path()).unwrap();
    assert_eq!(session.tables(), ["files", "keyframes", "position", "runs"]);
    let names: Vec<String> = session.columns("position").unwrap().fields().iter().map(|f| f.name().clone()).collect();
    // The parameter `x` has the name of a field.
    assert_eq!(names, ["frame", "entity", "x", "y", "run", "model", "speed", "parameter_x"]);
    assert_eq!(count(&session, "select count(*) from position"), 12 * 10 * 5);
    assert_eq!(count(&session, "select count(*) from position where run = 3"), 50);
    assert_eq!(count(&session, "select count(*) from position where speed = 0.5 and frame < 2"), 3 * 2 * 5);
    assert_eq!(count(&session, "select count(*) from position where model = 'm1' and x > 1000"), 0);
    assert_eq!(count(&session, "select count(distinct run) from position where parameter_x in (1, 2, 99)"), 2);
    assert_eq!(count(&session, "select count(*) from runs where finished and seed = run and frames = 10"), 12);
    assert!(session.notes().is_empty());

    let sums = session.blocking_query("select run, sum(x) from position group by run order by run").unwrap();
    let mut run = 0;
    for batch in sums.batches() {
        for row in 0..batch.num_rows() {
            let expected: f64 = (0..10).flat_map(|f| (0..5).map(move |e| f64::from(x_of(run, f, e)))).sum();
            assert_eq!(batch.column(0).as_primitive::<UInt64Type>().value(row), run);
            assert_eq!(batch.column(1).as_primitive::<Float64Type>().value(row), expected);
            run += 1;
        }
    }
    assert_eq!(run, 12);

    let one = Session::recording(folder.path().join("run=7")).unwrap();
    assert_eq!(count(&one, "select count(*) from position where run = 7"), 50);
}

#[test]
fn files_are_chosen_by_run_and_parameter() {
    let folder = write_runs(12, 10, 5);
    let session = Session::recordings(folder.path()).unwrap();
    let plan = |sql: &str| session.blocking_query(&format!("explain format indent {sql}")).unwrap().to_string();
    let chosen = plan("select x from position where run = 3");
    assert!(chosen.contains("run=3") && !chosen.contains("run=4/"), "{chosen}");
    assert!(!chosen.contains("FilterExec"), "the choice of files is exact: {chosen}");
    let none = plan("select x from position where run = 99");
    assert!(none.contains("EmptyExec"), "{none}");
    let counted = plan("select count(*), max(frame) from position");
    assert!(!counted.contains("DataSourceExec"), "footers have the answer: {counted}");
    let limited = plan("select x from position limit 3");
    assert!(limited.contains("limit=3"), "{limited}");
}

#[test]
fn values_that_are_not_numbers_are_not_lost_in_footers() {
    use phalanx_sql::datafusion::arrow::array::{ArrayRef, Float64Array, UInt32Array, UInt64Array};
    let folder = Folder::new();
    let run = folder.path().join("run=0");
    let part = "component=heat/part-0000000000.parquet";
    let path = run.join(part);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let batch = RecordBatch::try_from_iter([
        ("frame", std::sync::Arc::new(UInt32Array::from(vec![0, 0])) as ArrayRef),
        ("entity", std::sync::Arc::new(UInt64Array::from(vec![0, 1])) as ArrayRef),
        ("value", std::sync::Arc::new(Float64Array::from(vec![1.0, f64::NAN])) as ArrayRef),
    ])
    .unwrap();
    let file = fs::File::create(&path).unwrap();
    let mut writer = phalanx_sql::datafusion::parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    write_json(&run, 0, 1, "{}", true, &[(part, 2)]);
    let rows = Session::recordings(folder.path()).unwrap().blocking_query("select max(value) from heat").unwrap();
    assert!(only(&rows).column(0).as_primitive::<Float64Type>().value(0).is_nan());
}

#[test]
fn runs_may_differ() {
    let folder = write_runs(2, 4, 3);
    // A run with another name, fewer parameters, and a component that the others do not have.
    let odd = folder.path().join("run=odd one");
    fs::create_dir_all(&odd).unwrap();
    let extra = "component=extra/part-0000000000.parquet";
    write_part(&odd.join(extra), 9, 0..2, 2);
    write_part(&odd.join(PARTS[0]), 9, 0..2, 2);
    write_json(&odd, 9, 2, r#"{"speed": "fast"}"#, false, &[(extra, 4), (PARTS[0], 4)]);
    // Folders that are not runs and parts that are not finished are not read.
    fs::create_dir_all(folder.path().join("notes")).unwrap();
    fs::write(odd.join(PARTS[1]), b"PAR1").unwrap();
    fs::create_dir_all(folder.path().join("run=77")).unwrap();

    let session = Session::recordings(folder.path()).unwrap();
    assert_eq!(count(&session, "select count(*) from position where run = 'odd one'"), 4);
    assert_eq!(count(&session, "select count(*) from position where speed = 'fast'"), 4);
    assert_eq!(count(&session, "select count(*) from position where model is null"), 4);
    assert_eq!(count(&session, "select count(*) from extra"), 4);
    assert_eq!(count(&session, "select count(*) from runs where not finished"), 1);
    let notes = session.notes().join("\n");
    assert!(notes.contains("run=77") && notes.contains("odd one is not finished"), "{notes}");
}

#[test]
fn what_is_not_a_recording_is_named() {
    let folder = Folder::new();
    assert!(matches!(Session::recordings(folder.path()), Err(SqlError::NoRecordings(path)) if path == folder.path()));
    let missing = folder.path().join("missing");
    assert!(matches!(Session::recordings(&missing), Err(SqlError::Io { path, .. }) if path == missing));
    let file = folder.path().join("file");
    fs::write(&file, "x").unwrap();
    assert!(matches!(Session::recordings(&file), Err(SqlError::Io { path, .. }) if path == file));
    let session = Session::recordings(write_runs(1, 2, 2).path()).unwrap();
    assert!(matches!(session.view("v", "Position"), Err(SqlError::NoWorld)));
}

#[test]
fn columns_of_other_types_are_named() {
    use phalanx_sql::datafusion::arrow::array::{ArrayRef, StringArray};
    let folder = write_runs(2, 4, 3);
    let path = folder.path().join("run=1").join(PARTS[1]);
    let batch =
        RecordBatch::try_from_iter([("x", std::sync::Arc::new(StringArray::from(vec!["a"])) as ArrayRef)]).unwrap();
    let file = fs::File::create(&path).unwrap();
    let mut writer = phalanx_sql::datafusion::parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    write_json(&folder.path().join("run=1"), 1, 4, "{}", true, &[(PARTS[0], 6), (PARTS[1], 1)]);
    let error = Session::recordings(folder.path()).unwrap().blocking_query("select * from position").unwrap_err();
    assert!(
        matches!(&error, SqlError::Broken { path: named, reason } if *named == path && reason.contains("`x`")),
        "{error}"
    );
}

#[test]
fn broken_files_are_skipped_on_request() {
    let folder = write_runs(3, 4, 3);
    let run = write_run(folder.path(), 3, 4, 3);
    fs::write(run.join(PARTS[0]), b"PAR1 but not really").unwrap();
    describe_run(&run, 3, 4, 3);
    fs::write(folder.path().join("run=2/run.json"), "{").unwrap();
    assert!(
        matches!(Session::recordings(folder.path()), Err(SqlError::Broken { path, .. }) if path.ends_with("run=2/run.json"))
    );
    let session = Session::open(folder.path(), Broken::Skip).unwrap();
    assert_eq!(count(&session, "select count(*) from position"), 2 * 12 + 6);
    let notes = session.notes().join("\n");
    assert!(
        notes.contains("run=2/run.json") && notes.contains("run=3/component=position/part-0000000000.parquet"),
        "{notes}"
    );
}

#[test]
fn what_run_json_says_is_checked() {
    let folder = Folder::new();
    let run = write_run(folder.path(), 0, 4, 3);
    let ask =
        || Session::recordings(folder.path()).and_then(|session| session.blocking_query("select * from position"));
    assert_eq!(ask().unwrap().len(), 12);
    // Another number of rows, or of bytes.
    write_json(&run, 0, 4, "{}", true, &[(PARTS[0], 7)]);
    assert!(
        matches!(ask(), Err(SqlError::Broken { path, reason }) if path == run.join(PARTS[0]) && reason.contains("6 rows"))
    );
    describe_run(&run, 0, 4, 3);
    let mut bytes = fs::read(run.join(PARTS[0])).unwrap();
    bytes.push(0);
    fs::write(run.join(PARTS[0]), bytes).unwrap();
    assert!(matches!(ask(), Err(SqlError::Broken { path, .. }) if path == run.join(PARTS[0])));
    fs::remove_file(run.join(PARTS[0])).unwrap();
    assert!(matches!(ask(), Err(SqlError::Io { path, .. }) if path == run.join(PARTS[0])));
    // Paths that lead out of the recording, or a part twice.
    fs::write(folder.path().join("outside.parquet"), b"PAR1").unwrap();
    for file in ["../outside.parquet", "component=a/../../outside.parquet", "outside", "run.json"] {
        fs::create_dir_all(run.join("component=a")).unwrap();
        fs::write(run.join("outside"), b"PAR1").unwrap();
        write_json(&run, 0, 4, "{}", true, &[(file, 1)]);
        assert!(matches!(ask(), Err(SqlError::Broken { path, .. }) if path == run.join("run.json")), "{file}");
    }
    write_json(&run, 0, 4, "{}", true, &[(PARTS[1], 6), (PARTS[1], 6)]);
    assert!(matches!(ask(), Err(SqlError::Broken { path, .. }) if path == run.join("run.json")));
}
