//! [`RunReport`]: when each system of a run began and ended, and what it waited for.

use crate::plan::Reason;
use crate::run_error::RunError;
use crate::schedule::Schedule;
use crate::svg::Svg;
use core::fmt;
use phalanx::World;
use phalanx::executor::Executor;
use std::time::{Duration, Instant};

/// When each system of a run began and ended, on which thread, and what it waited for.
///
/// [`Schedule::run_with_report`] returns it.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// The time that the whole run took.
    pub duration: Duration,
    /// The systems that ran, in the order of the schedule.
    pub systems: Vec<SystemReport>,
    /// The path that decides how long the run takes with many threads, as indices into `systems`: in each stage the longest
    /// chain of systems that wait for each other.
    pub critical_path: Vec<usize>,
}

/// One system of a [`RunReport`]. Times are since the start of the run.
#[derive(Clone, Debug)]
pub struct SystemReport {
    /// The name of the system.
    pub name: String,
    /// The number of its stage.
    pub stage: usize,
    /// When it began.
    pub start: Duration,
    /// When it ended.
    pub end: Duration,
    /// The number of the thread that ran it. The calling thread is not always the same number.
    pub thread: u32,
    /// What it waited for within its stage, if it had to wait.
    pub waited: Option<Wait>,
}

/// What a system waited for within its stage.
#[derive(Clone, Debug)]
pub struct Wait {
    /// How long it waited, since its stage began.
    pub time: Duration,
    /// The last system that it had to wait for, and why. `None` if it only waited for a thread.
    pub for_system: Option<(String, Reason)>,
}

impl Schedule {
    /// Runs all systems on the threads of an executor, and reports when each ran.
    ///
    /// # Errors
    ///
    /// Returns [`RunError`], like [`try_run_on`](Schedule::try_run_on).
    pub fn run_with_report(&mut self, executor: &dyn Executor, world: &mut World) -> Result<RunReport, RunError> {
        let start = Instant::now();
        self.run_in_order(executor, world, true)?;
        Ok(RunReport::new(self, start, Instant::now()))
    }
}

impl SystemReport {
    /// Returns how long the system ran.
    pub fn duration(&self) -> Duration {
        self.end - self.start
    }
}

impl RunReport {
    fn new(schedule: &mut Schedule, start: Instant, end: Instant) -> RunReport {
        let timings: Vec<_> = schedule
            .nodes
            .iter_mut()
            .map(|node| {
                let node = node.get_mut();
                node.timing.filter(|timing| node.has_run && timing.start >= start)
            })
            .collect();
        let mut index_of = vec![None; timings.len()];
        let (mut systems, mut critical_path) = (Vec::new(), Vec::new());
        for (number, stage) in schedule.stages.iter().enumerate() {
            let stage_start = timings[stage.nodes.clone()].iter().flatten().map(|timing| timing.start).min();
            // The time of the longest chain that ends with each node, and the node before it on that chain.
            let mut chains: Vec<(Duration, Option<usize>)> = vec![(Duration::ZERO, None); stage.nodes.len()];
            for rank in stage.nodes.clone() {
                let (Some(timing), Some(stage_start)) = (timings[rank], stage_start) else { continue };
                let inner = schedule.edges.iter().filter(|edge| edge.to as usize == rank);
                let inner = inner.filter(|edge| stage.nodes.contains(&(edge.from as usize)));
                let chain =
                    inner.clone().map(|edge| edge.from as usize).max_by_key(|from| chains[from - stage.nodes.start].0);
                let before = chain.map_or(Duration::ZERO, |from| chains[from - stage.nodes.start].0);
                chains[rank - stage.nodes.start] = (before + (timing.end - timing.start), chain);
                let last =
                    inner.filter_map(|edge| Some((timings[edge.from as usize]?.end, edge))).max_by_key(|(end, _)| *end);
                let time = timing.start - stage_start;
                let for_system = last.map(|(_, edge)| (schedule.infos[edge.from as usize].name.clone(), edge.reason));
                index_of[rank] = Some(systems.len());
                systems.push(SystemReport {
                    name: schedule.infos[rank].name.clone(),
                    stage: number,
                    start: timing.start - start,
                    end: timing.end - start,
                    thread: timing.thread,
                    waited: (time > Duration::ZERO).then_some(Wait { time, for_system }),
                });
            }
            let mut at = (0..chains.len()).max_by_key(|at| chains[*at].0);
            let first = critical_path.len();
            while let Some(node) = at {
                critical_path.extend(index_of[stage.nodes.start + node]);
                at = chains[node].1.map(|from| from - stage.nodes.start);
            }
            critical_path[first..].reverse();
        }
        RunReport { duration: end - start, systems, critical_path }
    }

    /// Draws the run as SVG: a lane for each thread, a bar for each system. The critical path is outlined.
    pub fn to_svg(&self) -> String {
        let threads = self.systems.iter().map(|system| system.thread + 1).max().unwrap_or(1);
        let (width, lane, top) = (960.0, 34.0, 30.0);
        let scale = width / self.duration.as_secs_f64().max(1e-9);
        let mut svg = Svg::new(width + 80.0, top + f64::from(threads) * lane + 20.0);
        svg.text(4.0, 18.0, &format!("{:.1} µs", self.duration.as_secs_f64() * 1e6), "start");
        for thread in 0..threads {
            svg.text(4.0, top + f64::from(thread) * lane + 20.0, &format!("thread {thread}"), "start");
        }
        for (index, system) in self.systems.iter().enumerate() {
            let x = 70.0 + system.start.as_secs_f64() * scale;
            let bar = (system.duration().as_secs_f64() * scale).max(1.0);
            let y = top + f64::from(system.thread) * lane;
            let is_critical = self.critical_path.contains(&index);
            let title = format!("{}: {:.1} µs", system.name, system.duration().as_secs_f64() * 1e6);
            svg.bar([x, y, bar, lane - 6.0], system.stage, is_critical, &title);
            if bar > 8.0 * system.name.len() as f64 {
                svg.text(x + bar / 2.0, y + 18.0, &system.name, "middle");
            }
        }
        svg.finish()
    }
}

/// Writes a line for each system: when it ran, on which thread, and what it waited for.
impl fmt::Display for RunReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        write!(f, "run of {:.1} µs", micros(self.duration))?;
        for (index, system) in self.systems.iter().enumerate() {
            let mark = if self.critical_path.contains(&index) { '*' } else { ' ' };
            let SystemReport { name, stage, start, thread, waited, .. } = system;
            write!(
                f,
                "\n{mark} {name}: {:.1} µs at {:.1} µs, stage {stage}, thread {thread}",
                micros(system.duration()),
                micros(*start)
            )?;
            match waited {
                Some(Wait { time, for_system: Some((other, reason)) }) => {
                    write!(f, ", waited {:.1} µs for {other}: {reason}", micros(*time))?;
                }
                Some(Wait { time, for_system: None }) if *time > Duration::from_micros(1) => {
                    write!(f, ", waited {:.1} µs for a thread", micros(*time))?;
                }
                _ => {}
            }
        }
        f.write_str("\n* on the critical path")
    }
}
