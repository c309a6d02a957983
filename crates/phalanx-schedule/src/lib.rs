//! Systems in deterministic parallel schedules, for worlds of [`phalanx`].
//!
//! A [`Schedule`] runs systems: functions whose parameters say what they touch. It finds out which of them can run at the same
//! time. The result of a run is always that of running them one after another in [one order](Schedule::systems), whatever the
//! number of threads: the same values, the same entities, the same change ticks, the same bytes in a snapshot.
//!
//! ```
//! use phalanx::event::{EventReader, EventWriter};
//! use phalanx::system::{Commands, Res};
//! use phalanx::{Component, Entity, Event, Query, World};
//! use phalanx_schedule::{IntoSystemConfig, Schedule};
//!
//! #[derive(Component)]
//! struct Height(i32);
//! #[derive(Event)]
//! struct Landed(Entity);
//! struct Gravity(i32);
//!
//! fn fall(mut stones: Query<(Entity, &mut Height)>, gravity: Res<Gravity>, mut landed: EventWriter<Landed>) {
//!     for (stone, height) in stones.iter_mut() {
//!         height.0 -= gravity.0;
//!         if height.0 <= 0 {
//!             landed.send(Landed(stone));
//!         }
//!     }
//! }
//!
//! fn remove(landed: EventReader<Landed>, mut commands: Commands) {
//!     landed.into_iter().for_each(|event| commands.despawn(event.0));
//! }
//!
//! let mut world = World::new();
//! world.insert_resource(Gravity(3));
//! world.spawn_batch([Height(10), Height(2)]);
//! let mut frame = Schedule::builder("frame").add(fall).add(remove.after(fall)).build(&mut world)?;
//! frame.run(&mut world);
//! assert_eq!(world.len(), 1);
//! # Ok::<(), phalanx_schedule::BuildError>(())
//! ```
//!
//! A schedule is optional: [`World::run_system`](phalanx::World::run_system) runs one system, and a program can do all of this
//! by calling functions.
//!
//! # Order
//!
//! - `before`, `after`, [`chain`](ScheduleBuilder::chain) and [sets](ScheduleBuilder::set) order systems. Orders that contradict
//!   each other are an error that names the systems.
//! - Systems that conflict and are not ordered run in the order in which they were added.
//!   [`Schedule::ambiguities`] lists them.
//! - A schedule is divided into *stages*. Commands are applied between stages, in the order of the systems. A system that is
//!   ordered after one with [`Commands`](phalanx::system::Commands) is in a later stage, so that it sees what they do. So is a
//!   system that reads events which an earlier system sends. An exclusive system has a stage of its own.
//! - `Display` prints the stages. [`Schedule::explain`] says why two systems do not run at the same time, and
//!   [`Schedule::graph`] draws everything.
//!
//! # Threads
//!
//! [`Schedule::run`] uses the calling thread only, also where there are no threads, such as on WebAssembly.
//! [`Schedule::run_on`] takes an [`Executor`](phalanx::executor::Executor), for example a
//! [`ThreadPool`](phalanx::executor::ThreadPool). It uses several threads in stages where that has been faster:
//! see [`Threads`].
//!
//! # Panics and errors
//!
//! A system may return `Result<(), E>`. A run ends at the first system that panics or returns an error.
//! [`Schedule::try_run`] returns it with the name of the system. It is the one that a run on one thread would have reached
//! first, and the world stays valid.
//!
//! # Modules
//!
//! | type | what it is |
//! |---|---|
//! | [`Schedule`], [`ScheduleBuilder`] | systems in order; how they are added |
//! | [`IntoSystemConfig`] | orders, sets and conditions of a system |
//! | [`State`], [`in_state`] | modes of a program, and systems that run when they change |
//! | [`resource_exists`], [`resource_added`], [`resource_changed`] | conditions over resources |
//! | [`FixedStep`] | steps of equal length, without a clock |
//! | [`Graph`], [`Ambiguity`], [`Explanation`] | what a schedule looks like, and why |
//! | [`RunReport`] | when each system ran, and what it waited for |
#![cfg_attr(feature = "check", doc = "| [`check`] | compares runs on different numbers of threads |")]
//!
//! # Features
//!
//! - `check`: the function `check`, which compares runs on different numbers of threads.
//! - `rayon`: the executor [`Rayon`](phalanx::executor) of `phalanx`.
//! - `tracing`: a span for each system that runs.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod ambiguity;
mod bit_set;
mod boxed_system;
mod build_error;
#[cfg(feature = "check")]
mod check;
mod condition;
mod fixed_step;
mod graph;
mod label;
mod node;
mod plan;
#[cfg(not(loom))]
mod ready_set;
#[cfg(loom)]
#[doc(hidden)]
pub mod ready_set;
mod run_error;
mod run_report;
mod schedule;
mod schedule_builder;
mod set_config;
mod stage;
mod state;
mod svg;
mod sync;
mod system_config;

pub use ambiguity::{Ambiguity, Explanation};
pub use boxed_system::SystemOutput;
pub use build_error::BuildError;
#[cfg(feature = "check")]
pub use check::{CheckError, CheckOptions, Variant, check};
pub use condition::{resource_added, resource_changed, resource_exists};
pub use fixed_step::{FixedStep, Steps};
pub use graph::{Graph, GraphEdge, GraphNode};
pub use label::{IntoLabels, Label, SystemSet};
pub use plan::Reason;
pub use run_error::{Cause, RunError};
pub use run_report::{RunReport, SystemReport, Wait};
pub use schedule::{Schedule, SkippedCommand, Threads};
pub use schedule_builder::ScheduleBuilder;
pub use set_config::SetConfig;
pub use state::{State, StateValue, in_state};
pub use system_config::{IntoSystemConfig, IntoSystemConfigs, SystemConfig};

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
