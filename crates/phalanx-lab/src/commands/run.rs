//! The program without a command: a battle, with the inspector.

use super::signals;
use crate::args::RunArgs;
use crate::battle::{self, Battle};
use crate::presenting::figures::{bytes, span, thousands};
use crate::{Failure, failure, print};
use phalanx_inspect::{Flow, Inspector};
use serde::Serialize;
use std::collections::VecDeque;
use std::io::{ErrorKind, IsTerminal};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The frames that are run without a terminal, if no number is given.
const FRAMES: u64 = 120;
/// The frames that are run before the first summary, without a pause, and the time after which they are enough.
const WARM_FRAMES: u64 = 30;
const WARM_TIME: Duration = Duration::from_millis(250);
/// The frames whose times are kept: a minute.
const KEPT_TIMES: usize = 3600;
/// The address of the inspector, if none is given.
const ADDRESS: &str = "127.0.0.1:7171";

/// Runs the battle until its frames are over or the program is asked to end.
pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    let has_terminal = std::io::stdout().is_terminal();
    let frames = args.frames.or((!has_terminal).then_some(FRAMES));
    let stop = signals::stop_flag().map_err(|error| failure(format!("signals cannot be received: {error}")))?;
    let mut battle =
        Battle::new(args.entities as usize).map_err(|error| failure(format!("the world cannot be made: {error}")))?;
    let mut inspector = if args.no_inspector { None } else { inspector(args)? };
    let is_open = inspector.is_some();

    let start = Instant::now();
    let pause = if args.fps == 0 { Duration::ZERO } else { Duration::from_secs(1) / args.fps };
    let mut times = FrameTimes::default();
    let mut is_warm = false;
    while frames.is_none_or(|frames| times.frames < frames) && !stop.load(Ordering::Relaxed) {
        let frame_start = Instant::now();
        // While it is paused, an update waits for requests.
        if inspector.as_mut().is_some_and(|inspector| inspector.update(&mut battle.world) == Flow::Hold) {
            continue;
        }
        let report = battle.step().map_err(|error| failure(error.to_string()))?;
        times.add(report.duration);
        if let Some(inspector) = &mut inspector {
            inspector.set_run_report(report);
        }
        if !is_warm && (times.frames == WARM_FRAMES || start.elapsed() >= WARM_TIME) {
            is_warm = true;
            if !args.json {
                let summary = Summary::of(&battle, &times);
                print(&format!("Phalanx {}\n{}", summary.version, summary.text()))?;
                if has_terminal && frames.is_none() {
                    let open = if is_open { "Open the address above in a browser. " } else { "" };
                    print(&format!("{open}Ctrl-C stops."))?;
                }
            }
        }
        if is_warm {
            std::thread::sleep(pause.saturating_sub(frame_start.elapsed()));
        }
    }
    // Its thread ends, and its file is removed.
    drop(inspector);

    let summary = Summary::of(&battle, &times);
    if args.json {
        let json = serde_json::to_string_pretty(&summary);
        return print(&json.map_err(|error| failure(format!("the summary cannot be written as JSON: {error}")))?);
    }
    let ended = if stop.load(Ordering::Relaxed) { "Stopped" } else { "Done" };
    let took = span(start.elapsed().as_nanos() as f64);
    print(&format!("{ended} after {} frames in {took}\n{}", thousands(times.frames), summary.text()))
}

/// Starts the inspector. If no address was asked for, the program can do without.
fn inspector(args: &RunArgs) -> Result<Option<Inspector>, Failure> {
    let address = args.address.as_deref().unwrap_or(ADDRESS);
    let builder = battle::inspected(Inspector::builder().address(address));
    let mut builder = builder.map_err(|error| failure(error.to_string()))?;
    let frames = args.timeline.unwrap_or_else(|| timeline_frames(args.entities));
    if frames > 0 {
        builder = builder.timeline(frames as usize);
    }
    match builder.serve() {
        Ok(inspector) => {
            if let Some(folder) = unlisted(&inspector) {
                eprintln!("note: {folder} cannot be written to, so that other programs do not find the inspector");
            }
            Ok(Some(inspector))
        }
        Err(error) => {
            let ports = if error.kind() == ErrorKind::AddrInUse { " and the next nine ports" } else { "" };
            let sentence = format!("the inspector cannot listen at {address}{ports}: {error}");
            if args.address.is_some() {
                return Err(Failure { sentence, code: if error.kind() == ErrorKind::InvalidInput { 2 } else { 1 } });
            }
            eprintln!("note: {sentence}; the program runs without it (--address 127.0.0.1:0 takes any free port)");
            Ok(None)
        }
    }
}

/// Returns how many frames the timeline keeps. All that moves is in each, so that there are fewer in a large world.
fn timeline_frames(entities: u64) -> u64 {
    match 6_000_000 / entities.max(1) {
        0..60 => 0,
        frames => frames.min(600),
    }
}

/// Returns the folder in which other programs look for inspectors, if this one is not there.
fn unlisted(inspector: &Inspector) -> Option<String> {
    let folder = std::path::PathBuf::from(std::env::var_os("XDG_RUNTIME_DIR")?).join("phalanx");
    let url = inspector.url()?;
    let port = url.split(['/', ':']).find_map(|part| part.parse::<u16>().ok())?;
    let file = folder.join(format!("{}-{port}.json", std::process::id()));
    (cfg!(unix) && !file.exists()).then(|| folder.display().to_string())
}

/// The times of the last frames.
#[derive(Default)]
struct FrameTimes {
    frames: u64,
    last: VecDeque<Duration>,
}

impl FrameTimes {
    fn add(&mut self, time: Duration) {
        self.frames += 1;
        if self.last.len() == KEPT_TIMES {
            self.last.pop_front();
        }
        self.last.push_back(time);
    }

    /// Returns the nanoseconds that a share of the frames stays within, if there are frames.
    fn within(&self, share: f64) -> Option<u64> {
        let mut sorted: Vec<Duration> = self.last.iter().copied().collect();
        sorted.sort_unstable();
        let rank = (sorted.len() as f64 * share).ceil() as usize;
        sorted.get(rank.saturating_sub(1)).map(|time| time.as_nanos() as u64)
    }
}

/// What runs, and what it takes.
#[derive(Debug, Serialize)]
struct Summary {
    version: &'static str,
    frames: u64,
    entities: usize,
    /// What the entities are, in a line.
    ships: String,
    systems: usize,
    threads: usize,
    tables: usize,
    sparse_storages: usize,
    /// Nanoseconds of the systems, over the last frames.
    median_frame: Option<u64>,
    /// Nanoseconds that 99 % of these frames stay within.
    slow_frame: Option<u64>,
    world_bytes: usize,
    /// All memory of the program, where the system tells.
    process_bytes: Option<u64>,
}

impl Summary {
    fn of(battle: &Battle, times: &FrameTimes) -> Summary {
        let memory = battle.world.memory();
        Summary {
            version: env!("CARGO_PKG_VERSION"),
            frames: times.frames,
            entities: battle.world.len(),
            ships: battle.describe(),
            systems: battle.systems(),
            threads: battle.threads(),
            tables: memory.tables.iter().filter(|table| table.rows > 0).count(),
            sparse_storages: memory.sparse.len(),
            median_frame: times.within(0.5),
            slow_frame: times.within(0.99),
            world_bytes: memory.total(),
            process_bytes: std::fs::read_to_string("/proc/self/status").ok().as_deref().and_then(resident_bytes),
        }
    }

    fn text(&self) -> String {
        let frame = match (self.median_frame, self.slow_frame) {
            (Some(median), Some(slow)) => {
                format!("{} for the systems (median; 99 % within {})", span(median as f64), span(slow as f64))
            }
            _ => "none was run".into(),
        };
        let process = self.process_bytes.map(|process| format!(", {} in all", bytes(process))).unwrap_or_default();
        let rows = [
            ("runs", format!("a battle at sea: {}", self.ships)),
            ("systems", format!("{} in each frame, on up to {} threads", self.systems, self.threads)),
            (
                "entities",
                format!(
                    "{} in {} tables and {} sparse storages",
                    thousands(self.entities as u64),
                    self.tables,
                    self.sparse_storages
                ),
            ),
            ("frame", frame),
            ("memory", format!("{} for the world{process}", bytes(self.world_bytes as u64))),
        ];
        let lines: Vec<String> = rows.iter().map(|(name, text)| format!("  {name:<9} {text}")).collect();
        lines.join("\n")
    }
}

/// Reads the resident memory from `/proc/self/status`.
fn resident_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_times_are_ranked() {
        let mut times = FrameTimes::default();
        assert_eq!((times.within(0.5), times.within(0.99)), (None, None));
        (1..=100).rev().for_each(|nanos| times.add(Duration::from_nanos(nanos)));
        assert_eq!((times.within(0.5), times.within(0.99), times.within(1.0)), (Some(50), Some(99), Some(100)));
        for _ in 0..KEPT_TIMES {
            times.add(Duration::from_nanos(7));
        }
        assert_eq!((times.within(1.0), times.frames, times.last.len()), (Some(7), 100 + 3600, KEPT_TIMES));
    }

    #[test]
    fn large_worlds_keep_fewer_frames() {
        assert_eq!([9, 5_000, 20_000, 100_000, 100_001].map(timeline_frames), [600, 600, 300, 60, 0]);
    }

    #[test]
    fn memory_is_read_where_the_system_tells() {
        assert_eq!(resident_bytes("Name:\tx\nVmRSS:\t    2048 kB\nThreads: 1\n"), Some(2048 * 1024));
        assert_eq!(resident_bytes("VmRSS: many kB"), None);
        assert_eq!(resident_bytes(""), None);
    }
}
