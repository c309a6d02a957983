//! The program `phalanx`: runs a small world with the inspector, measures the containers and layouts of Phalanx on this machine, and
//! advises which to pick.
//!
//! The measurements are not a benchmark suite: they take some seconds and say which container suits which work here. They mark
//! figures that were estimated, and derive their sentences from the figures.
//!
//! `battle` is the world that runs, `commands` has a file for each command, `measuring` the measurements, `presenting` the reports.

mod args;
mod battle;
mod commands;
mod measuring;
mod presenting;

use args::{Cli, Command};
use clap::Parser;
use commands::{advice, measure, parse, run, snapshot};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        None => run::run(&cli.run),
        Some(Command::Measure(args)) => measure::run(&args),
        Some(Command::Advise(args)) => advice::run(&args),
        Some(Command::Parse(args)) => parse::run(&args),
        Some(Command::Snapshot(command)) => match snapshot::run(&command) {
            Ok(true) => Ok(()),
            Ok(false) => return ExitCode::FAILURE,
            Err(failure) => Err(failure),
        },
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {}", failure.sentence);
            ExitCode::from(failure.code)
        }
    }
}

/// Why the program gives up: a sentence, and 2 if the arguments were wrong, 1 otherwise.
#[derive(Debug)]
struct Failure {
    sentence: String,
    code: u8,
}

/// Returns a failure that is not one of the arguments.
fn failure(sentence: String) -> Failure {
    Failure { sentence, code: 1 }
}

/// Prints a line. A closed pipe is not an error.
fn print(text: &str) -> Result<(), Failure> {
    use std::io::Write;
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(unwritable(&error)),
        _ => Ok(()),
    }
}

fn unwritable(error: &std::io::Error) -> Failure {
    failure(format!("standard output cannot be written to: {error}"))
}

/// Counts what the tests of memory allocate.
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();
