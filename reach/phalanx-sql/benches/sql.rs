//! `select avg(x) from position where y > 0` over a million rows: of a frozen world, of Parquet, and as a typed loop.
//!
//! Prints the shortest of many rounds, planning included. With `--write FOLDER` it leaves the recording there, so that
//! `benches/sql_duckdb.py` can ask the same of the same file.

use phalanx::store::Soa;
use phalanx::{Component, World};
use phalanx_arrow::FrozenWorld;
use phalanx_sql::Session;
use phalanx_sql::datafusion::arrow::array::{ArrayRef, AsArray, Float32Array, RecordBatch, UInt32Array, UInt64Array};
use phalanx_sql::datafusion::arrow::datatypes::Float64Type;
use phalanx_sql::datafusion::parquet::arrow::ArrowWriter;
use phalanx_sql::datafusion::parquet::basic::{Compression, Encoding};
use phalanx_sql::datafusion::parquet::file::properties::WriterProperties;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

const ROWS: usize = 1_000_000;
const ROUNDS: usize = 50;

#[derive(Component, Clone, Copy)]
struct Position {
    x: f32,
    y: f32,
    z: f32,
}

#[derive(Soa, Component, Clone, Copy)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa")]
struct Place {
    x: f32,
    y: f32,
    z: f32,
}

fn value(n: usize, salt: u64) -> f32 {
    let mixed = (n as u64 ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 40) as f32 / (1u32 << 24) as f32 - 0.5
}

fn shortest(mut run: impl FnMut() -> f64) -> (f64, Duration) {
    let mut best = Duration::MAX;
    let mut answer = 0.0;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        answer = black_box(run());
        best = best.min(began.elapsed());
    }
    (answer, best)
}

fn ask(session: &Session, sql: &str) -> f64 {
    let rows = session.blocking_query(sql).expect("the query is right");
    rows.batches()[0].column(0).as_primitive::<Float64Type>().value(0)
}

fn write_recording(folder: &Path) {
    let path = folder.join("run=0/component=position/part-0000000000.parquet");
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder is made");
    let floats = |salt| Arc::new((0..ROWS).map(|n| value(n, salt)).collect::<Float32Array>()) as ArrayRef;
    let batch = RecordBatch::try_from_iter([
        ("frame", Arc::new(UInt32Array::from(vec![0; ROWS])) as ArrayRef),
        ("entity", Arc::new((0..ROWS as u64).collect::<UInt64Array>()) as ArrayRef),
        ("x", floats(1)),
        ("y", floats(2)),
        ("z", floats(3)),
    ])
    .expect("columns of one length");
    // As a recorder writes it.
    let mut properties =
        WriterProperties::builder().set_compression(Compression::LZ4_RAW).set_dictionary_enabled(false);
    for column in ["x", "y", "z"] {
        properties = properties.set_column_encoding(column.into(), Encoding::BYTE_STREAM_SPLIT);
    }
    properties = properties.set_column_encoding("entity".into(), Encoding::DELTA_BINARY_PACKED);
    let file = std::fs::File::create(&path).expect("the file is made");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties.build())).expect("a writer");
    writer.write(&batch).and_then(|()| writer.close()).expect("it is written");
    let bytes = path.metadata().expect("the file exists").len();
    let file = path.strip_prefix(folder.join("run=0")).expect("a path within").display().to_string();
    let json = format!(
        r#"{{"format": 1, "seed": 0, "parameters": {{}}, "every": 1, "keyframe_every": 600, "has_deltas": false, "frames": 1,
            "skipped": 0, "finished": true, "schema": {{}}, "keyframes": [], "deltas": [],
            "parts": [{{"file": "{file}", "first": 0, "rows": {ROWS}, "bytes": {bytes}, "checksum": "0"}}]}}"#
    );
    std::fs::write(folder.join("run=0/run.json"), json).expect("it is written");
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let kept = arguments.iter().position(|argument| argument == "--write").and_then(|at| arguments.get(at + 1));
    let folder = kept
        .map_or_else(|| std::env::temp_dir().join(format!("phalanx-sql-bench-{}", std::process::id())), PathBuf::from);
    write_recording(&folder);

    let mut world = World::new();
    world.spawn_batch((0..ROWS).map(|n| {
        let (x, y, z) = (value(n, 1), value(n, 2), value(n, 3));
        (Position { x, y, z }, Place { x, y, z })
    }));
    let mut query = world.query::<&Position>();
    let (expected, typed) = shortest(|| {
        let (mut sum, mut count) = (0.0, 0u64);
        for position in query.iter() {
            if position.y > 0.0 {
                sum += f64::from(position.x);
                count += 1;
            }
        }
        sum / count as f64
    });
    let _ = &mut query;
    let frozen = FrozenWorld::new(world);
    let over = Session::over(&frozen).expect("a session").threads(2);
    let recorded = Session::recordings(&folder).expect("a session").threads(2);
    println!("select avg(x) ... where y > 0, {ROWS} rows, 2 threads, shortest of {ROUNDS} rounds, planning included");
    println!("{:<40} {:>8.3} ms", "typed loop, 1 thread", typed.as_secs_f64() * 1e3);
    for (label, session, sql) in [
        ("world, structs in a table", &over, "select avg(x) from position where y > 0"),
        ("world, columns (soa)", &over, "select avg(x) from place where y > 0"),
        ("recording, Parquet", &recorded, "select avg(x) from position where y > 0"),
        ("world, entity = x", &over, "select cast(x as double) from place where entity = 500000"),
        ("world, count(*)", &over, "select cast(count(*) as double) from place"),
    ] {
        let (answer, time) = shortest(|| ask(session, sql));
        println!("{label:<40} {:>8.3} ms", time.as_secs_f64() * 1e3);
        if sql.contains("avg") {
            assert!((answer - expected).abs() < 1e-9, "{label}: {answer} and {expected}");
        }
    }
    if kept.is_none() {
        std::fs::remove_dir_all(&folder).expect("the folder is removed");
    }
}
