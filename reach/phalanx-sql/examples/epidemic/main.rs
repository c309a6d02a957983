//! A hundred runs of an epidemic, and a plot of its size by infectivity, from one SQL query.
//!
//! ```sh
//! cargo run --release --example epidemic -- FOLDER                                  # runs, query, plot
//! cargo run --release --features cluster --example epidemic -- FOLDER --cluster     # the query on two executors, too
//! ```
//!
//! The plot is `FOLDER/epidemic.svg`. With `--cluster` the rows of both answers are compared.

mod model;
mod plot;

use model::{Epidemic, Health, Position};
use phalanx::snapshot::Registry;
use phalanx_arrow::Recorder;
use phalanx_ensemble::{Ensemble, Options, Run};
use phalanx_sql::datafusion::arrow::array::AsArray;
use phalanx_sql::datafusion::arrow::datatypes::Float64Type;
use phalanx_sql::{Rows, Session};
use plot::Point;
use std::error::Error;
use std::path::Path;

const FRAMES: u64 = 400;

/// The part of the agents that were ever infected at the end of a run: least, mean and greatest by infectivity.
///
/// It counts in integers: sums of floats depend on their order, which differs on a cluster.
const SQL: &str = "
    select infectivity, cast(min(infected) as double) / max(agents) as low, cast(sum(infected) as double) / sum(agents) as mean,
        cast(max(infected) as double) / max(agents) as high, count(*) as runs from (
        select run, infectivity, count(*) filter (where value <> 'Susceptible') as infected, count(*) as agents
        from health
        where frame = (select max(frame) from health)
        group by run, infectivity)
    group by infectivity
    order by infectivity";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = arguments.first().ok_or("a folder is expected")?;
    let on_cluster = arguments.iter().any(|argument| argument == "--cluster");

    let mut registry = Registry::new();
    registry.plain::<Position>("position")?;
    registry.serde::<Health>("health")?;
    registry.plain::<model::Sick>("sick")?;
    let runs = Path::new(folder).join("runs");
    let infectivities = (1..=10).map(|tenth| f64::from(tenth) / 100.0);
    let ensemble = Ensemble::new(&runs).grid("infectivity", infectivities).seeds(0..10);
    ensemble.run(&Options::default(), |run: Run| simulate(&run, &registry))?;

    let session = Session::recordings(&runs)?;
    let rows = session.blocking_query(SQL)?;
    println!("{rows}");
    let points = points(&rows);
    let path = Path::new(folder).join("epidemic.svg");
    std::fs::write(
        &path,
        plot::svg(&points, "Size of an epidemic, 10 runs each", "infectivity of a contact", "share of agents infected"),
    )?;
    println!("{}", path.display());
    if on_cluster { compare_with_cluster(&runs, &rows) } else { Ok(()) }
}

/// Runs the model once, and records every fiftieth frame.
fn simulate(run: &Run, registry: &Registry) -> Result<(), Box<dyn Error + Send + Sync>> {
    let infectivity: f64 = run.parameter("infectivity");
    let mut epidemic = Epidemic::new(run.seed(), infectivity);
    // A run that was killed begins again.
    if run.folder().join("run.json").exists() {
        std::fs::remove_dir_all(run.folder())?;
    }
    let mut recorder = Recorder::create(run.folder(), registry)
        .seed(run.seed())
        .parameter("infectivity", infectivity)
        .every(50)
        .start()?;
    for _ in 0..=FRAMES {
        recorder.frame(&mut epidemic.world)?;
        epidemic.step();
    }
    recorder.finish()?;
    Ok(())
}

fn points(rows: &Rows) -> Vec<Point> {
    let mut points = Vec::new();
    for batch in rows.batches() {
        let number = |column: usize, row: usize| batch.column(column).as_primitive::<Float64Type>().value(row);
        points.extend((0..batch.num_rows()).map(|row| Point {
            at: number(0, row),
            low: number(1, row),
            mean: number(2, row),
            high: number(3, row),
        }));
    }
    points
}

/// Asks two executors the same, and compares the rows.
#[cfg(feature = "cluster")]
fn compare_with_cluster(runs: &Path, expected: &Rows) -> Result<(), Box<dyn Error>> {
    use phalanx_sql::cluster::Cluster;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let rows = runtime.block_on(async {
        let cluster = Cluster::here(2, 1).await?;
        Session::recordings(runs)?.on(cluster)?.query(SQL).await
    })?;
    if rows.to_string() != expected.to_string() {
        return Err(format!("the cluster has other rows:\n{rows}").into());
    }
    println!("two executors give the same rows");
    Ok(())
}

#[cfg(not(feature = "cluster"))]
fn compare_with_cluster(_: &Path, _: &Rows) -> Result<(), Box<dyn Error>> {
    Err("--cluster needs the feature `cluster`".into())
}
