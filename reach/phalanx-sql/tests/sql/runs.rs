//! Recordings for tests, written by hand in the layout of a recorder.

use phalanx_sql::datafusion::arrow::array::{ArrayRef, Float32Array, RecordBatch, UInt32Array, UInt64Array};
use phalanx_sql::datafusion::parquet::arrow::ArrowWriter;
use phalanx_sql::datafusion::parquet::file::properties::WriterProperties;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder that is removed at the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("phalanx-sql-test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The value that a row of a run has: exact in an `f32`.
pub(crate) fn x_of(run: u64, frame: u32, entity: u64) -> f32 {
    ((run * 7 + u64::from(frame) * 3 + entity * 5) % 101) as f32 - 50.0
}

/// Writes `run.json` with parts that exist, by their paths and numbers of rows.
pub(crate) fn write_json(run: &Path, seed: u64, frames: u32, parameters: &str, finished: bool, parts: &[(&str, u64)]) {
    let part = |(file, rows): &(&str, u64)| {
        let bytes = fs::metadata(run.join(file)).unwrap().len();
        format!(r#"{{"file": "{file}", "first": 0, "rows": {rows}, "bytes": {bytes}, "checksum": "0"}}"#)
    };
    let parts: Vec<String> = parts.iter().map(part).collect();
    let text = format!(
        r#"{{"format": 1, "seed": {seed}, "parameters": {parameters}, "every": 1, "keyframe_every": 600, "has_deltas": false,
            "frames": {frames}, "skipped": 0, "finished": {finished}, "schema": {{}}, "parts": [{}], "keyframes": [], "deltas": []}}"#,
        parts.join(",")
    );
    fs::write(run.join("run.json"), text).unwrap();
}

/// Writes the rows of a part.
pub(crate) fn write_part(path: &Path, run: u64, frames: std::ops::Range<u32>, entities: u64) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let (mut frame, mut entity, mut x, mut y) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for f in frames {
        for e in 0..entities {
            frame.push(f);
            entity.push(e);
            x.push(x_of(run, f, e));
            y.push(x_of(run + 1, f, e));
        }
    }
    let batch = RecordBatch::try_from_iter([
        ("frame", Arc::new(UInt32Array::from(frame)) as ArrayRef),
        ("entity", Arc::new(UInt64Array::from(entity)) as ArrayRef),
        ("x", Arc::new(Float32Array::from(x)) as ArrayRef),
        ("y", Arc::new(Float32Array::from(y)) as ArrayRef),
    ])
    .unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(10_000)).build();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// The parts of the component `position` that [`write_run`] writes.
pub(crate) const PARTS: [&str; 2] =
    ["component=position/part-0000000000.parquet", "component=position/part-0000000001.parquet"];

/// Writes a finished run of two parts with the component `position`.
pub(crate) fn write_run(folder: &Path, run: u64, frames: u32, entities: u64) -> PathBuf {
    let path = folder.join(format!("run={run}"));
    fs::create_dir_all(&path).unwrap();
    let middle = frames / 2;
    write_part(&path.join(PARTS[0]), run, 0..middle, entities);
    write_part(&path.join(PARTS[1]), run, middle..frames, entities);
    describe_run(&path, run, frames, entities);
    path
}

/// Writes the `run.json` of [`write_run`].
pub(crate) fn describe_run(path: &Path, run: u64, frames: u32, entities: u64) {
    let rows = [u64::from(frames / 2) * entities, u64::from(frames - frames / 2) * entities];
    let parameters = format!(r#"{{"speed": {:?}, "model": "m{}", "x": {run}}}"#, (run % 4) as f64 * 0.5, run % 2);
    write_json(path, run, frames, &parameters, true, &[(PARTS[0], rows[0]), (PARTS[1], rows[1])]);
}

/// Writes several runs.
pub(crate) fn write_runs(runs: u64, frames: u32, entities: u64) -> Folder {
    let folder = Folder::new();
    for run in 0..runs {
        write_run(folder.path(), run, frames, entities);
    }
    folder
}
