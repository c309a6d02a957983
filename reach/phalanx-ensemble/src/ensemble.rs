//! [`Ensemble`]: many runs of a model.

use crate::claims::Times;
use crate::error::EnsembleError;
use crate::options::{Options, OptionsError};
use crate::outcome::{Outcome, RunResult};
use crate::run::Run;
use crate::workers::Workers;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// The longest name of a run.
const LONGEST: usize = 120;

/// Many runs of a model, over a grid of parameters and seeds. The [crate](crate) describes it.
#[derive(Clone, Debug)]
pub struct Ensemble {
    folder: PathBuf,
    grid: Vec<(String, Vec<Value>)>,
    seeds: Vec<u64>,
    times: Times,
}

/// The state of a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RunState {
    /// It has not ended.
    Open,
    /// It is done.
    Done(Outcome),
    /// It has failed.
    Failed(Outcome),
}

/// What came of all runs: [`Ensemble::run`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// The number of runs that are done.
    pub done: usize,
    /// The number of runs that this process has done.
    pub done_here: usize,
    /// The names of the runs that have failed, and what they said.
    pub failed: Vec<(String, String)>,
}

impl Ensemble {
    /// Creates an ensemble in a folder, with the seed 0 and without parameters.
    pub fn new(folder: impl AsRef<Path>) -> Ensemble {
        Ensemble { folder: folder.as_ref().to_owned(), grid: Vec::new(), seeds: vec![0], times: Times::default() }
    }

    /// Adds a parameter with its values. There are runs for all combinations of the values of all parameters.
    #[must_use]
    pub fn grid<T: Into<Value>>(mut self, name: &str, values: impl IntoIterator<Item = T>) -> Ensemble {
        self.grid.push((name.to_owned(), values.into_iter().map(Into::into).collect()));
        self
    }

    /// Sets the seeds. There is a run for each combination of parameters and each seed.
    #[must_use]
    pub fn seeds(mut self, seeds: impl IntoIterator<Item = u64>) -> Ensemble {
        self.seeds = seeds.into_iter().collect();
        self
    }

    /// Sets how often a process renews its claims, and after what time without renewal other processes take over its runs. The
    /// default is 5 and 30 seconds.
    #[must_use]
    pub fn claims(mut self, renew: Duration, give_up: Duration) -> Ensemble {
        self.times = Times { renew, give_up };
        self
    }

    /// Returns all runs, in the order of the grid.
    ///
    /// # Errors
    ///
    /// [`EnsembleError::SameName`] if two runs have the same name.
    pub fn runs(&self) -> Result<Vec<Run>, EnsembleError> {
        let mut combinations = vec![BTreeMap::new()];
        for (name, values) in &self.grid {
            let with = |(before, value): (&BTreeMap<String, Value>, &Value)| {
                let mut parameters = before.clone();
                parameters.insert(name.clone(), value.clone());
                parameters
            };
            let pairs = combinations.iter().flat_map(|before| values.iter().map(move |value| (before, value)));
            combinations = pairs.map(with).collect();
        }
        let (mut runs, mut names) = (Vec::new(), BTreeSet::new());
        for parameters in combinations {
            for seed in &self.seeds {
                let name = self.name(&parameters, *seed);
                if !names.insert(name.clone()) {
                    return Err(EnsembleError::SameName { name });
                }
                runs.push(Run {
                    folder: self.folder.join(format!("run={name}")),
                    name,
                    seed: *seed,
                    parameters: parameters.clone(),
                    results: Arc::default(),
                    lost: Arc::default(),
                });
            }
        }
        Ok(runs)
    }

    /// Returns the name of a run: its parameters in the order of the grid, and its seed.
    fn name(&self, parameters: &BTreeMap<String, Value>, seed: u64) -> String {
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        let parts = self.grid.iter().filter_map(|(name, _)| Some(format!("{name}-{}", text(parameters.get(name)?))));
        let name = parts.chain([format!("seed-{seed}")]).collect::<Vec<_>>().join("_");
        let allowed = |c: char| if c.is_ascii_alphanumeric() || "._+-".contains(c) { c } else { '-' };
        let mut clean: String = name.chars().map(allowed).collect();
        if clean.len() > LONGEST {
            // The end of a long name is replaced by a number that depends on all of it.
            let sum = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
                (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
            });
            clean.truncate(LONGEST - 17);
            clean = format!("{clean}-{sum:016x}");
        }
        clean
    }

    /// Returns all runs with their states.
    ///
    /// # Errors
    ///
    /// - [`EnsembleError::SameName`] if two runs have the same name.
    /// - [`EnsembleError::File`] and [`EnsembleError::Damaged`] if the file of a run cannot be read.
    pub fn states(&self) -> Result<Vec<(Run, RunState)>, EnsembleError> {
        self.runs()?.into_iter().map(|run| Ok((run.clone(), self.state(&run)?))).collect()
    }

    pub(crate) fn state(&self, run: &Run) -> Result<RunState, EnsembleError> {
        if let Some(outcome) = Outcome::read(&run.folder.join("outcome.json"))? {
            return Ok(RunState::Done(outcome));
        }
        Ok(Outcome::read(&self.failed_path(run))?.map_or(RunState::Open, RunState::Failed))
    }

    pub(crate) fn failed_path(&self, run: &Run) -> PathBuf {
        self.own_folder().join(format!("{}.failed.json", run.name))
    }

    /// Returns the folder of claims and failed runs.
    pub(crate) fn own_folder(&self) -> PathBuf {
        self.folder.join(".ensemble")
    }

    pub(crate) fn times(&self) -> Times {
        self.times
    }

    /// Runs all runs of a part that are not done, together with other processes.
    ///
    /// Returns when all runs of the part have ended, in whatever process.
    ///
    /// # Errors
    ///
    /// - [`EnsembleError::SameName`] if two runs have the same name.
    /// - [`EnsembleError::File`] and [`EnsembleError::Damaged`] if the files of the ensemble cannot be read or written.
    pub fn run<R: RunResult>(
        &self,
        options: &Options,
        model: impl Fn(Run) -> R + Sync,
    ) -> Result<Summary, EnsembleError> {
        Workers::new(self, options)?.run(&model)
    }

    /// Runs the ensemble as the arguments of the program say, and prints what came of it. Returns success if no run has failed.
    pub fn main<R: RunResult>(self, model: impl Fn(Run) -> R + Sync) -> ExitCode {
        let options = match Options::from_program() {
            Ok(options) => options,
            Err(OptionsError::Help) => {
                println!("{}", OptionsError::Help);
                return ExitCode::SUCCESS;
            }
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::from(2);
            }
        };
        let result = if options.list { self.list(&options) } else { self.run(&options, model) };
        let summary = match result {
            Ok(summary) => summary,
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::FAILURE;
            }
        };
        if !options.quiet && !options.list {
            eprintln!("{} runs are done, {} of them by this process", summary.done, summary.done_here);
        }
        if summary.failed.is_empty() {
            return ExitCode::SUCCESS;
        }
        eprintln!("{} runs have failed:", summary.failed.len());
        summary.failed.iter().for_each(|(run, error)| eprintln!("  {run}: {error}"));
        ExitCode::FAILURE
    }

    /// Prints the runs of a part with their states.
    fn list(&self, options: &Options) -> Result<Summary, EnsembleError> {
        let mut summary = Summary::default();
        for (at, (run, state)) in self.states()?.into_iter().enumerate() {
            if !options.shard.is_none_or(|shard| shard.has(at)) {
                continue;
            }
            let text = match state {
                RunState::Done(_) => {
                    summary.done += 1;
                    "done"
                }
                RunState::Failed(outcome) => {
                    summary.failed.push((run.name.clone(), outcome.error.unwrap_or_default()));
                    "failed"
                }
                RunState::Open => "open",
            };
            println!("{text:<7} {}", run.name);
        }
        Ok(summary)
    }
}
