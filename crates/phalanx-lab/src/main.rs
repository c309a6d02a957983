//! The program `phalanx`: measures the containers and layouts of Phalanx on this machine and advises which to pick.
//!
//! It is not a benchmark suite: it takes a minute and says which container suits which work here. It marks figures that were
//! estimated, and derives its sentences from the figures.
//!
//! `commands` has a file for each command, `measuring` the measurements, `presenting` the reports.

mod args;
mod commands;
mod measuring;
mod presenting;

use args::{Cli, Command, DemoArgs};
use clap::Parser;
use commands::{advice, demo, parse, snapshot};
use presenting::{page, text};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Some(Command::Demo(args)) => show(&args),
        None => show(&cli.demo),
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

fn show(args: &DemoArgs) -> Result<(), Failure> {
    let cannot = |error: std::io::Error| Failure {
        sentence: format!("the report cannot be written to {}: {error}", args.out.display()),
        code: 1,
    };
    let start = args.load.as_deref().map(snapshot::start).transpose()?;
    // Before a minute of measuring, not after it.
    let file = std::fs::File::options().append(true).create(true).open(&args.out).map_err(cannot)?;
    drop(file);
    let (report, world) = demo::run(args.quick, start);
    std::fs::write(&args.out, page::page(&report)).map_err(cannot)?;
    if let Some(path) = &args.save {
        snapshot::save(&world, path)?;
    }
    if args.json {
        let json = serde_json::to_string_pretty(&report);
        print(&json.map_err(|error| Failure {
            sentence: format!("the report cannot be written as JSON: {error}"),
            code: 1,
        })?)?;
        eprintln!("report written to {}", args.out.display());
    } else {
        let (text, took) = (text::report(&report), text::took(&report));
        print(&format!("{text}\nReport written to {} ({took}).", args.out.display()))?;
    }
    Ok(())
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
    Failure { sentence: format!("standard output cannot be written to: {error}"), code: 1 }
}

/// Counts what the tests of memory allocate.
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();
