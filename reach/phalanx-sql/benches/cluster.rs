//! One executor against two: a query over 100 runs × 600 frames, by real processes on this machine.
//!
//! ```sh
//! cargo bench -p phalanx-sql --features cluster --bench cluster -- [FOLDER]
//! ```
//!
//! The recordings are made first, and stay in the folder if one is given. Each executor has one core. Prints the shortest of some
//! rounds, the start of the client included, and the ratio.

use phalanx::snapshot::Registry;
use phalanx::{Component, World};
use phalanx_arrow::Recorder;
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const RUNS: u64 = 100;
const FRAMES: u64 = 600;
const ENTITIES: u64 = 300;
const ROUNDS: usize = 3;
const TARGET: f64 = 1.6;
const SQL: &str = "select run, count(*) as n, sum(x) as x, stddev(y) as y, max(frame) as frames from position
                   where x > 0.1 group by run order by run";

#[derive(Component, Clone, Copy)]
#[component(plain)]
struct Position {
    x: f64,
    y: f64,
}

/// Records walkers whose steps are a function of the seed.
fn record(folder: &Path, seed: u64) -> Result<(), Box<dyn Error>> {
    let mut registry = Registry::new();
    registry.plain::<Position>("position")?;
    let mut world = World::new();
    world.spawn_batch((0..ENTITIES).map(|n| Position { x: n as f64, y: 0.0 }));
    let mut recorder = Recorder::create(folder, &registry).seed(seed).start()?;
    let mut random = seed;
    for _ in 0..FRAMES {
        recorder.frame(&mut world)?;
        world.query_mut::<&mut Position>().for_each(|position| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            position.x += (random >> 40) as f64 / (1 << 23) as f64 - 1.0;
            position.y += (random >> 20 & 0xff_ffff) as f64 / (1 << 23) as f64 - 1.0;
        });
    }
    recorder.finish()?;
    Ok(())
}

/// A process that ends with its owner.
struct Process(Child);

impl Process {
    /// Starts a role of the program. Returns its address, which it prints when it listens.
    fn start(arguments: &[&str]) -> Result<(Process, String), Box<dyn Error>> {
        let mut child = program().args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        let address = line.trim_end().rsplit(' ').next().unwrap_or_default().to_owned();
        Ok((Process(child), address))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_phalanx-sql"))
}

/// Returns the shortest time of the query on some executors, and the answer.
fn ask(folder: &Path, executors: usize) -> Result<(Duration, String), Box<dyn Error>> {
    let (_scheduler, address) = Process::start(&["scheduler", "--listen", "127.0.0.1:0"])?;
    let mut processes = Vec::new();
    for _ in 0..executors {
        processes.push(Process::start(&["executor", "--scheduler", &address, "--cores", "1"])?);
    }
    let cluster = format!("df://{address}");
    let mut best = Duration::MAX;
    let mut answer = String::new();
    for _ in 0..=ROUNDS {
        let began = Instant::now();
        let output = program().args(["--quiet", "--cluster", &cluster]).arg(folder).arg(SQL).output()?;
        best = best.min(began.elapsed());
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        answer = String::from_utf8(output.stdout)?;
    }
    Ok((best, answer))
}

/// Returns the answer without the digits of floats that depend on the order of a sum.
fn rounded(answer: &str) -> String {
    let cell = |cell: &str| cell.parse::<f64>().map_or(cell.to_owned(), |number| format!("{number:.6e}"));
    answer.lines().map(|line| line.split(',').map(cell).collect::<Vec<_>>().join(",") + "\n").collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let kept = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).map(PathBuf::from);
    let folder = kept
        .clone()
        .unwrap_or_else(|| std::env::temp_dir().join(format!("phalanx-cluster-bench-{}", std::process::id())));
    for seed in 0..RUNS {
        let run = folder.join(format!("run={seed}"));
        if !run.join("run.json").exists() {
            record(&run, seed)?;
        }
    }
    println!("{RUNS} runs × {FRAMES} frames × {ENTITIES} entities");
    let (one, expected) = ask(&folder, 1)?;
    println!("  one executor  {:>8.3} s", one.as_secs_f64());
    let (two, found) = ask(&folder, 2)?;
    let ratio = one.as_secs_f64() / two.as_secs_f64();
    println!("  two executors {:>8.3} s, {ratio:.2} times as fast (at least {TARGET})", two.as_secs_f64());
    if kept.is_none() {
        std::fs::remove_dir_all(&folder)?;
    }
    if rounded(&expected) != rounded(&found) {
        return Err("the answers differ".into());
    }
    Ok(())
}
