//! [`Schedule`]: systems that run in a fixed order, on one thread or several.
#![allow(unsafe_code)]

use crate::build_error::BuildError;
use crate::node::NodeCell;
use crate::plan::{Edge, NodeInfo, Plan};
use crate::run_error::{Cause, RunError};
use crate::stage::{Mode, Stage};
use crate::state::Transitions;
use core::fmt;
use core::sync::atomic::AtomicBool;
use phalanx::World;
use phalanx::commands::CommandError;
use phalanx::executor::Executor;
use phalanx::system::{Outcome, state_id};
use std::panic::resume_unwind;

/// Systems that run in a fixed order, on one thread or several, with the same result.
///
/// ```
/// use phalanx::executor::ThreadPool;
/// use phalanx::system::Res;
/// use phalanx::{Component, Query, World};
/// use phalanx_schedule::{IntoSystemConfig, Schedule};
///
/// #[derive(Component)]
/// struct Position(f32);
/// #[derive(Component)]
/// struct Velocity(f32);
/// struct Gravity(f32);
///
/// fn fall(mut bodies: Query<&mut Velocity>, gravity: Res<Gravity>) {
///     bodies.iter_mut().for_each(|velocity| velocity.0 -= gravity.0);
/// }
///
/// fn walk(mut bodies: Query<(&mut Position, &Velocity)>) {
///     bodies.iter_mut().for_each(|(position, velocity)| position.0 += velocity.0);
/// }
///
/// let mut world = World::new();
/// world.insert_resource(Gravity(1.0));
/// let stone = world.spawn((Position(10.0), Velocity(0.0)));
/// let mut frame = Schedule::builder("frame").add(fall).add(walk.after(fall)).build(&mut world)?;
/// frame.run(&mut world); // on this thread
/// frame.run_on(&ThreadPool::new(2), &mut world); // on two, if it is worth it
/// assert_eq!(world.get::<Position>(stone).unwrap().0, 7.0);
/// # Ok::<(), phalanx_schedule::BuildError>(())
/// ```
pub struct Schedule {
    pub(crate) name: String,
    pub(crate) nodes: Vec<NodeCell>,
    pub(crate) infos: Vec<NodeInfo>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) orders: Vec<(u32, u32)>,
    pub(crate) stages: Vec<Stage>,
    /// Whether the conditions of each set are met.
    met: Vec<AtomicBool>,
    transitions: Transitions,
    threads: Threads,
    runs: u64,
    /// The [id](state_id) of the world that all systems are initialised for.
    initialized: Option<u64>,
    skipped: Vec<(usize, Outcome)>,
}

/// When a schedule uses several threads: see [`Schedule::set_threads`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// In stages in which it has been faster so far. Every 16th run measures how long systems take.
    #[default]
    Auto,
    /// In every stage in which two systems may run at the same time.
    Always,
    /// Never.
    Never,
}

/// A command of a system that was not executed, and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkippedCommand<'a> {
    /// The name of the system.
    pub system: &'a str,
    /// The command, with its position among those of the system.
    pub error: CommandError,
}

impl Schedule {
    pub(crate) fn new(plan: Plan) -> Schedule {
        let Plan { name, nodes, infos, edges, orders, set_count, transitions } = plan;
        let mut stages = Vec::new();
        let mut start = 0;
        for stage in infos.chunk_by(|a, b| a.stage == b.stage) {
            stages.push(Stage::new(start..start + stage.len(), &infos, &edges));
            start += stage.len();
        }
        let nodes = nodes.into_iter().map(NodeCell::new).collect();
        let met = (0..set_count).map(|_| AtomicBool::new(false)).collect();
        let (threads, skipped, initialized) = (Threads::default(), Vec::new(), None);
        Schedule { name, nodes, infos, edges, orders, stages, met, transitions, threads, runs: 0, initialized, skipped }
    }

    /// Runs all systems on this thread.
    ///
    /// # Panics
    ///
    /// Panics if a system panics or returns an error: see [`try_run`](Schedule::try_run).
    #[track_caller]
    pub fn run(&mut self, world: &mut World) {
        raise(self.try_run(world));
    }

    /// Runs all systems on the threads of an executor, where that is faster. The result is the same as that of
    /// [`run`](Schedule::run).
    ///
    /// # Panics
    ///
    /// Panics if a system panics or returns an error: see [`try_run`](Schedule::try_run).
    #[track_caller]
    pub fn run_on(&mut self, executor: &dyn Executor, world: &mut World) {
        raise(self.try_run_on(executor, world));
    }

    /// Runs all systems on this thread, until one fails.
    ///
    /// # Errors
    ///
    /// Returns [`RunError`] if a system panics or returns an error. Later systems have not run, but systems that ran at the same
    /// time may have. The commands and events of all systems in the same stage are dropped, and the entities that they would
    /// have spawned are despawned. The world is valid, and has what the systems before have written.
    pub fn try_run(&mut self, world: &mut World) -> Result<(), RunError> {
        self.run_with(world, |_, _| Mode { executor: None, is_timed: false, shuffle: None })
    }

    /// Runs all systems on the threads of an executor, until one fails.
    ///
    /// # Errors
    ///
    /// Returns [`RunError`] if a system panics or returns an error: that of the first system in the order of the schedule, whatever
    /// threads were used. The rest is as for [`try_run`](Schedule::try_run).
    ///
    /// # Panics
    ///
    /// Panics if the executor does. Then the stage ends like one in which a system fails.
    pub fn try_run_on(&mut self, executor: &dyn Executor, world: &mut World) -> Result<(), RunError> {
        // Without helpers nothing needs to be measured. So no clock is used where there is none.
        let is_timed = executor.width() > 1 && self.threads == Threads::Auto && self.runs.is_multiple_of(16);
        self.run_in_order(executor, world, is_timed)
    }

    /// Runs all systems on the threads of an executor, where that is faster.
    pub(crate) fn run_in_order(
        &mut self,
        executor: &dyn Executor,
        world: &mut World,
        is_timed: bool,
    ) -> Result<(), RunError> {
        let is_wide = executor.width() > 1 && self.threads != Threads::Never;
        self.run_with(world, |stage, always| Mode {
            executor: (is_wide && (always || stage.is_worth_threads)).then_some(executor),
            is_timed,
            shuffle: None,
        })
    }

    /// Runs all systems on this thread, those of each stage in another order that is allowed.
    #[cfg(feature = "check")]
    pub(crate) fn run_shuffled(&mut self, world: &mut World, seed: u64) -> Result<(), RunError> {
        let mut seed = seed;
        self.run_with(world, |_, _| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            Mode { executor: None, is_timed: false, shuffle: Some(seed) }
        })
    }

    fn run_with<'a>(
        &mut self,
        world: &mut World,
        mut mode: impl FnMut(&Stage, bool) -> Mode<'a>,
    ) -> Result<(), RunError> {
        self.skipped.clear();
        let always = self.threads == Threads::Always;
        for number in 0..self.stages.len() {
            // An exclusive system or a command may have rolled back the world, or replaced it.
            if self.initialized != Some(state_id(world)) {
                self.initialize(world)?;
            }
            let Schedule { stages, nodes, met, transitions, skipped, .. } = self;
            let stage = &mut stages[number];
            let mode = mode(stage, always);
            // SAFETY: the nodes are those of this schedule, and are initialised for this world as it is.
            let result = unsafe { stage.run(world, nodes, met, transitions, mode, skipped) };
            if let Err((rank, cause)) = result {
                return Err(RunError { system: self.infos[rank].name.clone(), cause });
            }
        }
        self.runs += 1;
        Ok(())
    }

    /// Updates the states of all parameters to a world.
    fn initialize(&mut self, world: &mut World) -> Result<(), RunError> {
        // If a parameter panics, the next run begins again.
        self.initialized = None;
        for (node, info) in self.nodes.iter_mut().zip(&self.infos) {
            node.get_mut().initialize(world, "").map_err(|conflict| {
                let error = BuildError::ParamConflict { system: info.name.clone(), conflict };
                RunError { system: info.name.clone(), cause: Cause::Error(error.into()) }
            })?;
        }
        self.initialized = Some(state_id(world));
        Ok(())
    }

    /// Sets when several threads are used. The result does not depend on it.
    pub fn set_threads(&mut self, threads: Threads) {
        self.threads = threads;
    }

    /// Returns the name of the schedule.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the names of the systems, in the order that the result of a run is that of.
    pub fn systems(&self) -> impl Iterator<Item = &str> {
        self.infos.iter().filter(|info| info.is_system).map(|info| &*info.name)
    }

    /// Returns the commands of the last run that were not executed, in their order.
    pub fn skipped_commands(&self) -> impl Iterator<Item = SkippedCommand<'_>> {
        self.skipped.iter().flat_map(|(rank, outcome)| {
            let system = &*self.infos[*rank].name;
            outcome.skipped().iter().map(move |error| SkippedCommand { system, error: *error })
        })
    }

    /// Returns the names of the systems that may write a component or resource with this type name, in their order.
    ///
    /// Systems with [`Commands`](phalanx::system::Commands) may insert and remove anything, and are not among them. Exclusive
    /// systems are.
    pub fn writers<'a>(&'a self, type_name: &'a str) -> impl Iterator<Item = &'a str> {
        let writes = move |info: &&NodeInfo| {
            let mut keys = info.access.keys();
            info.access.is_exclusive() || keys.any(|(_, writes, name)| writes && name == type_name)
        };
        self.infos.iter().filter(|info| info.is_system).filter(writes).map(|info| &*info.name)
    }

    /// Returns the systems that have [`Local`](phalanx::system::Local) values, with the types of the values.
    ///
    /// Local values are not part of the world, so that a rollback does not restore them.
    pub fn locals(&self) -> impl Iterator<Item = (&str, &'static str)> {
        self.infos.iter().flat_map(|info| info.access.locals().iter().map(|local| (&*info.name, *local)))
    }
}

/// Panics if a system failed, with its panic if it panicked.
#[track_caller]
fn raise(result: Result<(), RunError>) {
    match result {
        Ok(()) => {}
        Err(RunError { cause: Cause::Panic(payload), .. }) => resume_unwind(payload),
        Err(error) => panic!("{error}"),
    }
}

/// Writes the order of the systems, stage by stage.
impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        for (number, stage) in self.stages.iter().enumerate() {
            let names: Vec<&str> = self.infos[stage.nodes.clone()].iter().map(|info| &*info.name).collect();
            write!(f, "\n  stage {number}: {}", names.join(", "))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for SkippedCommand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.system, self.error)
    }
}
