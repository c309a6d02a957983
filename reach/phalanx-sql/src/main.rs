//! The program `phalanx-sql`: SQL over recordings, on this machine or on a cluster.

mod answer;
mod arguments;
#[cfg(feature = "cluster")]
mod roles;

use arguments::{Command, Usage};
use std::process::ExitCode;

/// Why the program ends without an answer.
enum Failure {
    /// The arguments are wrong.
    Usage(Usage),
    /// The query or its data are wrong, or the answer cannot be written.
    Failed(String),
}

impl From<phalanx_sql::SqlError> for Failure {
    fn from(error: phalanx_sql::SqlError) -> Failure {
        Failure::Failed(error.to_string())
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Usage(usage)) => {
            eprintln!("phalanx-sql: {usage}\n`phalanx-sql --help` explains the arguments");
            ExitCode::from(2)
        }
        Err(Failure::Failed(reason)) => {
            eprintln!("phalanx-sql: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let command = arguments::parse(std::env::args_os().skip(1)).map_err(Failure::Usage)?;
    if let Command::Help = command {
        print!("{}", arguments::HELP);
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Failed(format!("cannot start threads: {error}")))?;
    let done = match command {
        Command::Help => Ok(()),
        Command::Query(query) => runtime.block_on(answer::answer(query)),
        #[cfg(feature = "cluster")]
        Command::Scheduler(options) => runtime.block_on(roles::scheduler(options)),
        #[cfg(feature = "cluster")]
        Command::Executor(options) => runtime.block_on(roles::executor(options)),
    };
    // Threads may be in the middle of a query whose answer is not read any more.
    runtime.shutdown_background();
    done
}
