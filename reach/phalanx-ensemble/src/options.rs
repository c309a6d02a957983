//! [`Options`]: how an ensemble runs.

use std::fmt;

/// A part of the runs: `3/16` is the third of sixteen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// The number of the part, from 1 on.
    pub number: u32,
    /// How many parts there are.
    pub of: u32,
}

impl Shard {
    /// Returns `true` if a run belongs to the part, by its number.
    pub fn has(&self, run: usize) -> bool {
        run % self.of as usize == self.number as usize - 1
    }

    fn parse(text: &str) -> Option<Shard> {
        let (number, of) = text.split_once('/')?;
        Shard::checked(number.parse().ok()?, of.parse().ok()?)
    }

    fn checked(number: u32, of: u32) -> Option<Shard> {
        (number >= 1 && number <= of).then_some(Shard { number, of })
    }
}

/// How an ensemble runs: [`Ensemble::run`](crate::Ensemble::run).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// The number of runs at a time.
    pub jobs: usize,
    /// The part of the runs, or all of them.
    pub shard: Option<Shard>,
    /// Whether runs that have failed are repeated.
    pub retry: bool,
    /// Whether runs are only listed.
    pub list: bool,
    /// Whether nothing is printed but errors.
    pub quiet: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { jobs: 1, shard: None, retry: false, list: false, quiet: false }
    }
}

/// The text of `--help`.
pub(crate) const HELP: &str = "\
options:
  --jobs N       runs at a time (1)
  --shard K/N    the K-th of N parts of the runs; a Slurm array sets it
  --retry        repeat runs that have failed
  --list         list the runs and their states
  --quiet        print errors only
  --help         print this";

/// Why options are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionsError {
    /// The options are explained.
    Help,
    /// There is no such option.
    Unknown(String),
    /// The value of an option, or of a variable of a Slurm array, is not one.
    Value {
        /// The option or variable.
        option: String,
        /// The value.
        value: String,
    },
}

impl fmt::Display for OptionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionsError::Help => f.write_str(HELP),
            OptionsError::Unknown(option) => write!(f, "there is no option {option}\n{HELP}"),
            OptionsError::Value { option, value } => write!(f, "{value:?} is not a value of {option}\n{HELP}"),
        }
    }
}

impl std::error::Error for OptionsError {}

impl Options {
    /// Reads the arguments of the program and the variables of a Slurm array.
    ///
    /// # Errors
    ///
    /// - [`OptionsError::Help`] if the options are to be explained.
    /// - [`OptionsError::Unknown`] and [`OptionsError::Value`] if an option or its value is wrong.
    pub fn from_program() -> Result<Options, OptionsError> {
        Options::parse(std::env::args().skip(1), |name| std::env::var(name).ok())
    }

    /// Reads arguments, and variables by a function.
    ///
    /// ```
    /// use phalanx_ensemble::{Options, Shard};
    ///
    /// let none = |_: &str| None;
    /// let options = Options::parse(["--jobs", "8", "--shard=3/16"].map(String::from), none)?;
    /// assert_eq!((options.jobs, options.shard), (8, Some(Shard { number: 3, of: 16 })));
    ///
    /// // sbatch --array=10-40:10
    /// let slurm = |name: &str| Some(match name {
    ///     "SLURM_ARRAY_TASK_ID" => "30",
    ///     "SLURM_ARRAY_TASK_MIN" => "10",
    ///     "SLURM_ARRAY_TASK_MAX" => "40",
    ///     "SLURM_ARRAY_TASK_STEP" => "10",
    ///     _ => return None,
    /// }.to_owned());
    /// assert_eq!(Options::parse([], slurm)?.shard, Some(Shard { number: 3, of: 4 }));
    /// # Ok::<(), phalanx_ensemble::OptionsError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`from_program`](Options::from_program).
    pub fn parse(
        arguments: impl IntoIterator<Item = String>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Options, OptionsError> {
        let mut options = Options { shard: slurm(&variable)?, ..Options::default() };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let (option, value) = match argument.split_once('=') {
                Some((option, value)) => (option.to_owned(), Some(value.to_owned())),
                None => (argument, None),
            };
            let mut value = || value.clone().or_else(|| arguments.next()).unwrap_or_default();
            let wrong = |value: String| OptionsError::Value { option: option.clone(), value };
            match option.as_str() {
                "--jobs" | "-j" => {
                    let value = value();
                    options.jobs = value.parse().ok().filter(|jobs| *jobs > 0).ok_or_else(|| wrong(value))?;
                }
                "--shard" => {
                    let value = value();
                    options.shard = Some(Shard::parse(&value).ok_or_else(|| wrong(value))?);
                }
                "--retry" => options.retry = true,
                "--list" => options.list = true,
                "--quiet" | "-q" => options.quiet = true,
                "--help" | "-h" => return Err(OptionsError::Help),
                _ => return Err(OptionsError::Unknown(option)),
            }
        }
        Ok(options)
    }
}

/// Returns the part that a task of a Slurm array has.
fn slurm(variable: &impl Fn(&str) -> Option<String>) -> Result<Option<Shard>, OptionsError> {
    let number = |name: &str| {
        let Some(value) = variable(name) else { return Ok(None) };
        value.parse::<u32>().map(Some).map_err(|_| OptionsError::Value { option: name.to_owned(), value })
    };
    let Some(id) = number("SLURM_ARRAY_TASK_ID")? else { return Ok(None) };
    let first = number("SLURM_ARRAY_TASK_MIN")?.unwrap_or(0);
    let step = number("SLURM_ARRAY_TASK_STEP")?.unwrap_or(1).max(1);
    let last = number("SLURM_ARRAY_TASK_MAX")?.unwrap_or(id);
    let shard = id
        .checked_sub(first)
        .zip(last.checked_sub(first))
        .and_then(|(at, last)| Shard::checked(at / step + 1, last / step + 1));
    let wrong = || OptionsError::Value { option: "SLURM_ARRAY_TASK_ID".into(), value: id.to_string() };
    shard.map(Some).ok_or_else(wrong)
}
