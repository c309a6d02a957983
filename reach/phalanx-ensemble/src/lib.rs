//! Many runs of a model, over a grid of parameters and seeds, for the entity component system [`phalanx`].
//!
//! ```no_run
//! use phalanx_ensemble::{Ensemble, Run};
//! use std::process::ExitCode;
//!
//! fn main() -> ExitCode {
//!     Ensemble::new("runs").grid("speed", [0.5, 1.0, 2.0]).seeds(0..100).main(|run: Run| {
//!         let speed: f64 = run.parameter("speed");
//!         let mut state = run.seed();
//!         for _ in 0..1000 {
//!             state = state.wrapping_mul(6364136223846793005).wrapping_add((speed * 10.0) as u64);
//!         }
//!         run.set_result("state", state);
//!     })
//! }
//! ```
//!
//! The program takes options:
//!
//! ```text
//! ./model --jobs 8           eight runs at a time
//! ./model --shard 3/16       the third of sixteen parts of the runs
//! ./model --list             the runs and their states
//! ./model --retry            runs that have failed are repeated
//! sbatch --array=1-16 …      the part is taken from the variables of a Slurm array
//! ```
//!
//! # Runs are files
//!
//! There is no service. Each run has a folder, named after its parameters and seed:
//!
//! ```text
//! runs/run=speed-0.5_seed-7/outcome.json    parameters, seed and results, written when the run is done
//! runs/run=speed-0.5_seed-7/…               what the run writes, such as a recording
//! runs/.ensemble/…                          claims of processes, and runs that failed
//! ```
//!
//! Any number of processes, also on several machines with a common file system, work on the same folder. A run is claimed by a
//! file which its process renews. If that has not happened for half a minute, or the process on the same machine is gone, another
//! process takes the run over. A run that writes keyframes goes on from the last one: see [`Run::resume`].
//!
//! The files of a run depend on its parameters and seed only, if the model does. So they are the same for any number of jobs.
//!
//! A run that panics or returns an error has failed. The others go on, and failed runs are listed at the end with what they said.

mod claims;
mod ensemble;
mod error;
mod options;
mod outcome;
mod progress;
mod run;
mod workers;

pub use ensemble::{Ensemble, RunState, Summary};
pub use error::EnsembleError;
pub use options::{Options, OptionsError, Shard};
pub use outcome::{Outcome, RunResult};
pub use run::Run;

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
