//! [`Stage`]: systems between two points at which commands are applied.
//!
//! # Invariants
//!
//! While the systems of a stage run, nothing has `&mut World`, and the structure of the world does not change. Two nodes of which
//! one writes what the other touches are connected by a path of edges, so that one runs after the other. A node is run by the
//! thread that took it from the [`ReadySet`], which gives out each node once.
#![allow(unsafe_code)]

use crate::boxed_system::BoxError;
use crate::node::{Node, NodeCell, Timing};
use crate::plan::{Edge, NodeInfo};
use crate::ready_set::{Dependencies, Progress, ReadySet};
use crate::run_error::Cause;
use crate::state::Transitions;
use core::any::Any;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use phalanx::World;
use phalanx::executor::Executor;
use phalanx::system::{Outcome, Reservations, RunContext, StageStart, Turn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Instant;

/// Systems between two points at which commands are applied.
#[derive(Debug)]
pub(crate) struct Stage {
    /// The ranks of the nodes.
    pub(crate) nodes: Range<usize>,
    /// The dependencies of the nodes, by their number in the stage.
    pub(crate) graph: Dependencies,
    ready: ReadySet,
    /// Whether the only node needs the world exclusively.
    is_exclusive: bool,
    /// What each node needs for its context.
    needs: Vec<Needs>,
    tick_count: u32,
    /// The nodes that may reserve entities, by their number in the stage, and how many each reserves.
    spawners: Vec<(u32, u32)>,
    /// The number of entities that all nodes reserve.
    wanted: u32,
    reservations: Vec<Reservations>,
    unused: Vec<Range<u32>>,
    /// The nodes that record commands or send events.
    deferred: Vec<u32>,
    /// The moving average of the time that each node took, in nanoseconds.
    pub(crate) averages: Vec<f32>,
    /// Whether the averages say that several threads are faster.
    pub(crate) is_worth_threads: bool,
    /// Whether two nodes may run at the same time.
    may_overlap: bool,
}

/// What a node needs for its context.
#[derive(Clone, Copy, Debug)]
struct Needs {
    /// The number of its change tick.
    tick: u32,
    /// Its place among the spawners.
    spawner: Option<u32>,
}

/// How the nodes of a stage are run.
#[derive(Clone, Copy)]
pub(crate) struct Mode<'a> {
    /// `None`: all on this thread.
    pub(crate) executor: Option<&'a dyn Executor>,
    pub(crate) is_timed: bool,
    /// Run the nodes in another order that the dependencies allow.
    pub(crate) shuffle: Option<u64>,
}

/// What the nodes of a stage share while it runs.
struct Shared<'a> {
    world: &'a World,
    nodes: &'a [NodeCell],
    met: &'a [AtomicBool],
    stage: &'a Stage,
    start: &'a StageStart,
    is_timed: bool,
    /// The lowest node that failed.
    failed: AtomicU32,
}

/// The turn of a node to reserve entities: when those before it are done.
struct StageTurn<'a> {
    stage: &'a Stage,
    spawner: u32,
}

impl Turn for StageTurn<'_> {
    fn wait(&self) {
        for (node, _) in &self.stage.spawners[..self.spawner as usize] {
            self.stage.ready.wait_for(*node);
        }
    }
}

/// The turn of a node if all nodes before it have run.
struct NoTurn;

impl Turn for NoTurn {
    fn wait(&self) {}
}

/// A node that failed, by its rank.
pub(crate) type Failure = (usize, Cause);

/// The difference between all work and the longest path from which on threads are used, in nanoseconds. A helper that sleeps takes
/// about 15 µs to start, and the caller pays 3 µs to wake it.
const WORTH_THREADS: f32 = 20_000.0;

impl Stage {
    pub(crate) fn new(nodes: Range<usize>, infos: &[NodeInfo], edges: &[Edge]) -> Stage {
        let infos = &infos[nodes.clone()];
        let len = nodes.len();
        let number = |rank: u32| (rank as usize).checked_sub(nodes.start).filter(|number| *number < len);
        let inner: Vec<(u32, u32)> =
            edges.iter().filter_map(|edge| Some((number(edge.from)? as u32, number(edge.to)? as u32))).collect();
        let mut ticks = vec![0; len];
        // Edges are sorted by their end, so that the tick of the start is known.
        for &(from, to) in &inner {
            let (from, to) = (from as usize, to as usize);
            ticks[to] = ticks[to].max(ticks[from] + infos[from].ticks);
        }
        let is_exclusive = infos.iter().any(|info| info.access.is_exclusive());
        let may_spawn = |info: &NodeInfo| info.access.has_commands() || info.access.world().is_some();
        let spawner = |(number, info): (usize, &NodeInfo)| {
            let count = if info.access.has_commands() { info.reservations } else { 0 };
            (may_spawn(info) && !is_exclusive).then_some((number as u32, count))
        };
        let spawners: Vec<(u32, u32)> = infos.iter().enumerate().filter_map(spawner).collect();
        let mut needs: Vec<Needs> = ticks.iter().map(|tick| Needs { tick: *tick, spawner: None }).collect();
        spawners.iter().enumerate().for_each(|(at, (node, _))| needs[*node as usize].spawner = Some(at as u32));
        let graph = Dependencies::new(&inner, needs.iter().map(|needs| needs.spawner.is_some()).collect());
        let tracks = infos.iter().any(|info| info.access.tracks_changes());
        let defers = |info: &NodeInfo| info.access.has_commands() || info.access.sends_events();
        let deferred = (0..len as u32).filter(|number| defers(&infos[*number as usize])).collect();
        Stage {
            nodes,
            ready: ReadySet::new(len),
            is_exclusive,
            tick_count: if tracks {
                (0..len).map(|node| ticks[node] + infos[node].ticks).max().unwrap_or(0)
            } else {
                0
            },
            needs,
            wanted: spawners.iter().map(|(_, count)| *count).fold(0, u32::saturating_add),
            reservations: Vec::with_capacity(spawners.len()),
            unused: Vec::with_capacity(spawners.len()),
            spawners,
            deferred,
            may_overlap: graph.may_overlap(),
            graph,
            averages: vec![0.0; len],
            is_worth_threads: false,
        }
    }

    /// Runs the nodes of the stage, and applies what they have recorded.
    ///
    /// # Safety
    ///
    /// The nodes are those of the schedule, and all their parameters are initialised for this world, after it was last rolled
    /// back.
    pub(crate) unsafe fn run(
        &mut self,
        world: &mut World,
        nodes: &mut [NodeCell],
        met: &[AtomicBool],
        transitions: &mut Transitions,
        mode: Mode<'_>,
        outcomes: &mut Vec<(usize, Outcome)>,
    ) -> Result<(), Failure> {
        let first = self.nodes.start;
        let nodes = &mut nodes[self.nodes.clone()];
        if self.is_exclusive {
            let node = nodes[0].get_mut();
            // SAFETY: the parameters are initialised, by the caller's contract.
            let run = || unsafe { node.run_exclusive(world, met, transitions) };
            let start = mode.is_timed.then(Instant::now);
            let result = flatten(catch_unwind(AssertUnwindSafe(run)));
            nodes[0].get_mut().timing = start.map(|start| Timing { start, end: Instant::now(), thread: 0 });
            return result.map_err(|cause| (first, cause));
        }
        let start = self.begin(world);
        // SAFETY: the parameters are initialised, by the caller's contract. The world is borrowed exclusively.
        let (failed, panic) = unsafe { self.run_nodes(world, nodes, met, &start, mode) };
        if self.wanted > 0 {
            self.unused.clear();
            self.unused.extend(self.reservations.iter().map(Reservations::unused).filter(|unused| !unused.is_empty()));
            start.finish(world, &self.unused);
        }
        if mode.is_timed {
            self.average(nodes);
        }
        if let Some(failed) = failed {
            return Err(self.fail(failed, panic, world, nodes));
        }
        if let Some(panic) = panic {
            self.discard(nodes, world);
            resume_unwind(panic);
        }
        match self.deferred.is_empty() {
            true => Ok(()),
            false => self.apply(nodes, world, outcomes),
        }
    }

    /// Drops what the nodes have recorded, and returns the failure of the lowest node that failed.
    #[cold]
    fn fail(
        &self,
        failed: u32,
        panic: Option<Box<dyn Any + Send>>,
        world: &mut World,
        nodes: &mut [NodeCell],
    ) -> Failure {
        let cause = nodes[failed as usize].get_mut().failure.take();
        // Payloads of the panics of others are dropped, and so is what all have recorded. Both may panic again.
        for node in &mut *nodes {
            let other = node.get_mut().failure.take();
            quietly(|| drop(other));
        }
        quietly(|| drop(panic));
        self.discard(nodes, world);
        let rank = self.nodes.start + failed as usize;
        (rank, cause.unwrap_or_else(|| Cause::Panic(Box::new("a system failed"))))
    }

    /// Reserves entities for the nodes, and takes change ticks.
    fn begin(&mut self, world: &mut World) -> StageStart {
        let start = StageStart::new(world, self.tick_count, self.wanted);
        let numbers = start.numbers();
        self.reservations.clear();
        let mut next = numbers.start;
        for (_, count) in &self.spawners {
            let end = next.saturating_add(*count).min(numbers.end);
            self.reservations.push(Reservations::new(next..end));
            next = end;
        }
        start
    }

    /// Runs the nodes. Returns the lowest that failed, and the panic of the executor.
    ///
    /// # Safety
    ///
    /// - All parameters are initialised for this world, after it was last rolled back.
    /// - The world is borrowed exclusively.
    unsafe fn run_nodes(
        &mut self,
        world: &World,
        nodes: &mut [NodeCell],
        met: &[AtomicBool],
        start: &StageStart,
        mode: Mode<'_>,
    ) -> (Option<u32>, Option<Box<dyn Any + Send>>) {
        let is_threaded = mode.executor.is_some() && self.may_overlap;
        if is_threaded || mode.shuffle.is_some() {
            self.ready.begin(&self.graph);
        }
        let (failed, mut panic) = (AtomicU32::new(u32::MAX), None);
        let shared = Shared { world, nodes, met, stage: self, start, is_timed: mode.is_timed, failed };
        match (mode.executor, mode.shuffle) {
            (Some(executor), _) if is_threaded => {
                let (ready, graph) = (&shared.stage.ready, &shared.stage.graph);
                let may_nest = executor.may_nest();
                let threads = AtomicU32::new(0);
                let work = || {
                    let thread = threads.fetch_add(1, Ordering::Relaxed);
                    match may_nest {
                        // SAFETY: the set gives out each node once, when the nodes that it conflicts with are done.
                        true => ready.help(graph, |node| unsafe { shared.run_beside(node, thread) }),
                        // SAFETY: the caller's contract.
                        false => unsafe { shared.drain(thread) },
                    }
                };
                let mut offer = || {
                    let run = || executor.run(executor.width().min(shared.nodes.len()), &work);
                    if panic.is_none() {
                        panic = catch_unwind(AssertUnwindSafe(run)).err();
                    }
                };
                if may_nest {
                    // SAFETY: as above.
                    ready.drain_with_help(graph, offer, |node| unsafe { shared.run_beside(node, 0) });
                } else {
                    offer();
                    // An executor may have called nothing.
                    work();
                }
            }
            (_, Some(seed)) => {
                for node in shared.stage.graph.shuffled(seed) {
                    // SAFETY: each node comes once, and one after another.
                    unsafe { shared.run_shuffled(node) };
                }
            }
            // SAFETY: the nodes run one after another.
            _ => unsafe { shared.run_inline() },
        }
        (Some(shared.failed.into_inner()).filter(|failed| *failed != u32::MAX), panic)
    }

    /// Applies what the nodes have recorded, in their order.
    fn apply(
        &self,
        nodes: &mut [NodeCell],
        world: &mut World,
        outcomes: &mut Vec<(usize, Outcome)>,
    ) -> Result<(), Failure> {
        let mut at = 0;
        let applied = catch_unwind(AssertUnwindSafe(|| {
            for &number in &self.deferred {
                at = number as usize;
                let mut outcome = Outcome::default();
                nodes[at].get_mut().apply(world, &mut outcome);
                if !outcome.skipped().is_empty() {
                    outcomes.push((self.nodes.start + at, outcome));
                }
            }
        }));
        applied.map_err(|panic| {
            self.discard(nodes, world);
            (self.nodes.start + at, Cause::Panic(panic))
        })
    }

    /// Drops what the nodes have recorded, and despawns the entities that they would have spawned.
    fn discard(&self, nodes: &mut [NodeCell], world: &mut World) {
        for &number in &self.deferred {
            // A value that panics when it is dropped must not keep the others. The panic of the system is reported.
            let node: &mut Node = nodes[number as usize].get_mut();
            quietly(|| node.discard(world));
        }
    }

    /// Updates the averages, and whether several threads are faster.
    fn average(&mut self, nodes: &mut [NodeCell]) {
        let mut ends = vec![0.0f32; nodes.len()];
        let (mut total, mut longest) = (0.0, 0.0f32);
        for (number, node) in nodes.iter_mut().enumerate() {
            let Some(timing) = node.get_mut().timing else { continue };
            let time = timing.end.duration_since(timing.start).as_nanos() as f32;
            let average = &mut self.averages[number];
            *average = if *average == 0.0 { time } else { *average + (time - *average) / 4.0 };
            total += *average;
            // `ends[number]` is the end of the longest path to the node so far.
            let end = ends[number] + *average;
            longest = longest.max(end);
            for &successor in self.graph.successors_of(number as u32) {
                ends[successor as usize] = ends[successor as usize].max(end);
            }
        }
        self.is_worth_threads = total - longest > WORTH_THREADS;
    }
}

impl Shared<'_> {
    /// Runs all nodes one after another, until one fails.
    ///
    /// # Safety
    ///
    /// The contract of [`Stage::run_nodes`].
    unsafe fn run_inline(&self) {
        let mut number = 0;
        let result = catch_unwind(AssertUnwindSafe(|| {
            for (cell, needs) in self.nodes.iter().zip(&self.stage.needs) {
                // SAFETY: one node runs at a time; the rest is the caller's contract.
                unsafe { self.run_node(cell.get(), *needs, &NoTurn, 0)? };
                number += 1;
            }
            Ok(())
        }));
        if let Err(cause) = flatten(result) {
            // SAFETY: no node is in use any more.
            unsafe { self.fail(number, cause) };
        }
    }

    /// Runs nodes that are ready, until all are done.
    ///
    /// # Safety
    ///
    /// The contract of [`Stage::run_nodes`].
    unsafe fn drain(&self, thread: u32) {
        let mut progress = Progress::default();
        loop {
            let run = |number| {
                // SAFETY: the set gives out each node once, when the nodes that it conflicts with are done.
                if let Err(error) = unsafe { self.try_run_beside(number, thread) } {
                    // SAFETY: the node was given to this thread.
                    unsafe { self.fail(number, Cause::Error(error)) };
                }
            };
            let drained = catch_unwind(AssertUnwindSafe(|| {
                self.stage.ready.resume(&self.stage.graph, &mut progress, run);
            }));
            // After a panic the thread goes on, because no other one finishes the node.
            match (drained, progress.running) {
                (Ok(()), _) => return,
                // SAFETY: the node was given to this thread.
                (Err(panic), Some(number)) => unsafe { self.fail(number, Cause::Panic(panic)) },
                (Err(panic), None) => resume_unwind(panic),
            }
        }
    }

    /// Notes the failure of a node.
    ///
    /// # Safety
    ///
    /// Nothing else uses the node.
    #[cold]
    unsafe fn fail(&self, number: u32, cause: Cause) {
        // SAFETY: nothing else uses the node, by the caller's contract.
        unsafe { self.nodes[number as usize].get() }.failure = Some(cause);
        self.failed.fetch_min(number, Ordering::Relaxed);
    }

    /// Runs a node, unless one before it has failed.
    ///
    /// # Safety
    ///
    /// - Nothing else uses the node, and nothing else touches what it writes, or writes what it touches.
    /// - The parameters are initialised for the world.
    #[inline(always)]
    unsafe fn try_run_beside(&self, number: u32, thread: u32) -> Result<(), BoxError> {
        // Nodes before one that fails still run, so that the lowest failure does not depend on the threads.
        if self.failed.load(Ordering::Relaxed) < number {
            return Ok(());
        }
        let needs = self.stage.needs[number as usize];
        let turn = StageTurn { stage: self.stage, spawner: needs.spawner.unwrap_or(0) };
        // SAFETY: nothing else uses the node; the rest is the caller's contract.
        unsafe { self.run_node(self.nodes[number as usize].get(), needs, &turn, thread) }
    }

    /// Runs a node, unless one before it has failed, and notes its failure.
    ///
    /// # Safety
    ///
    /// The contract of [`Shared::try_run_beside`].
    unsafe fn run_beside(&self, number: u32, thread: u32) {
        // SAFETY: the caller's contract.
        let run = || unsafe { self.try_run_beside(number, thread) };
        if let Err(cause) = flatten(catch_unwind(AssertUnwindSafe(run))) {
            // SAFETY: the node is not in use any more.
            unsafe { self.fail(number, cause) };
        }
    }

    /// Runs a node in a shuffled order, in which the nodes that may wait for their turn keep their order.
    ///
    /// # Safety
    ///
    /// The contract of [`Shared::run_beside`].
    unsafe fn run_shuffled(&self, number: u32) {
        // SAFETY: the caller's contract.
        unsafe { self.run_beside(number, 0) };
        self.stage.ready.set_done(number);
    }

    /// Runs a node.
    ///
    /// # Safety
    ///
    /// The contract of [`Shared::try_run_beside`].
    #[inline(always)]
    unsafe fn run_node(&self, node: &mut Node, needs: Needs, turn: &dyn Turn, thread: u32) -> Result<(), BoxError> {
        static NONE: Reservations = Reservations::none();
        let reservations = match needs.spawner {
            Some(spawner) => &self.stage.reservations[spawner as usize],
            None => &NONE,
        };
        let context = self.start.context(needs.tick, reservations, turn);
        if self.is_timed {
            // SAFETY: the caller's contract.
            return unsafe { self.run_timed(node, &context, thread) };
        }
        // SAFETY: the caller's contract.
        unsafe { node.run_shared(self.world, &context, self.met) }
    }

    /// Runs a node, and notes how long it takes.
    ///
    /// # Safety
    ///
    /// The contract of [`Shared::try_run_beside`].
    #[cold]
    #[inline(never)]
    unsafe fn run_timed(&self, node: &mut Node, context: &RunContext<'_>, thread: u32) -> Result<(), BoxError> {
        let start = Instant::now();
        // SAFETY: the caller's contract.
        let result = unsafe { node.run_shared(self.world, context, self.met) };
        node.timing = Some(Timing { start, end: Instant::now(), thread });
        result
    }
}

/// Calls a function, and drops its panic.
fn quietly(function: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(function))
        && let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload)))
    {
        // Its destructor may panic as well, and so on.
        core::mem::forget(second);
    }
}

/// Returns the cause of a failure: a panic or an error.
fn flatten(result: Result<Result<(), BoxError>, Box<dyn Any + Send>>) -> Result<(), Cause> {
    match result {
        Ok(result) => result.map_err(Cause::Error),
        Err(panic) => Err(Cause::Panic(panic)),
    }
}
