//! A live inspector in the terminal, for programs with `phalanx-inspect`.
//!
//! It attaches from another process, over the interface that the page in the browser uses. `phalanx-top --help` says how.

mod app;
mod args;
mod client;
mod draw;
#[cfg(test)]
mod draw_tests;
mod entity_sheet;
mod keys;
mod link;
mod once;
mod program;
mod prompt;
mod run;
mod sheet;
mod terminal;
mod text;
mod theme;
mod view;

use args::Args;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    match start() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("phalanx-top: {message}");
            ExitCode::FAILURE
        }
    }
}

fn start() -> Result<(), String> {
    let args = Args::parse(std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()))?;
    if args.wants_help {
        return print(args::HELP);
    }
    if args.wants_version {
        return print(concat!("phalanx-top ", env!("CARGO_PKG_VERSION"), "\n"));
    }
    let is_once = args.is_once || args.is_json || !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal();
    match &args.target {
        None => {
            let running = program::running();
            // If there is one program to choose, it is chosen.
            match &running[..] {
                [only] if !is_once => run::run(only.clone(), &args),
                _ => print(&once::programs(&running, args.is_json)),
            }
        }
        Some(target) => {
            let program = program::find(target)?;
            match is_once {
                true => print(&once::once(&program, &args)?),
                false => run::run(program, &args),
            }
        }
    }
}

/// Prints a text. A reader that is gone is not an error.
fn print(text: &str) -> Result<(), String> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.to_string()),
        _ => Ok(()),
    }
}
