//! Phalanx side by side with other libraries: the same workloads on all of them, interleaved in one process, with
//! their results compared. `--help` lists the arguments; `docs/benchmarks.md` has results and what they mean.
//!
//! A family of workloads is a folder: `ecs`, `tree`, `store`, `soa`, `snapshot`. A trait in its `mod.rs` says what a library
//! must do, a file for each library how it does, and the workloads are written once over the trait.

mod arguments;
mod builds;
mod data;
mod ecs;
mod harness;
mod machine;
mod markdown;
mod memory;
mod page;
mod report;
mod scaling;
mod snapshot;
mod soa;
mod store;
mod tree;

use arguments::{Command, Measure, USAGE};
use harness::{Effort, Workload};
use report::Report;
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    phalanx_testkit::bench::settle_allocator();
    match arguments::parse(std::env::args().skip(1)) {
        Err(sentence) => refuse(&sentence),
        Ok(Command::Help) => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        Ok(Command::List) => {
            workloads().for_each(|workload| println!("{:24} {}", workload.name, workload.about));
            ExitCode::SUCCESS
        }
        Ok(Command::Builds) => fail_on(builds::run()),
        Ok(Command::Scaling(asked)) => fail_on(scale(&asked)),
        Ok(Command::Measure(asked)) => {
            if let Some(word) = asked.only.iter().find(|word| !workloads().any(|w| w.name.contains(word.as_str()))) {
                return refuse(&format!("no workload has {word:?} in its name; --list names them"));
            }
            let wanted = |w: &Workload| asked.only.is_empty() || asked.only.iter().any(|word| w.name.contains(word));
            measure(workloads().filter(wanted), &asked)
        }
    }
}

/// All workloads of all families.
fn workloads() -> impl Iterator<Item = Workload> {
    let families =
        [ecs::all(), ecs::off_path(), ecs::schedules(), tree::all(), store::all(), soa::all(), snapshot::all()];
    families.into_iter().flatten().chain(ecs::queries())
}

fn refuse(sentence: &str) -> ExitCode {
    eprintln!("{sentence}");
    ExitCode::from(2)
}

fn fail_on(outcome: Result<(), String>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("{sentence}");
            ExitCode::FAILURE
        }
    }
}

/// Returns how long and how often a workload runs.
fn effort(asked: &Measure) -> Effort {
    let (seconds, passes, rounds) = if asked.quick { (0.3, 1, (0, 50)) } else { (6.0, 3, (3, 200)) };
    Effort { budget: Duration::from_secs_f64(asked.seconds.unwrap_or(seconds)), passes, rounds }
}

fn scale(asked: &Measure) -> Result<(), String> {
    println!("{}\n", machine::description());
    let figures = scaling::measure(&ecs::scaling::all(), effort(asked));
    print!("{}", scaling::tables(&figures));
    if let Some(file) = &asked.svg {
        std::fs::write(file, scaling::svg(&figures)).map_err(|error| format!("cannot write {file}: {error}"))?;
    }
    if figures.disagree.is_empty() { Ok(()) } else { Err(format!("results differ in {}", figures.disagree.join("; "))) }
}

fn measure(workloads: impl Iterator<Item = Workload>, asked: &Measure) -> ExitCode {
    let effort = effort(asked);
    if !asked.json {
        println!("{}\n", machine::description());
    }
    let mut reports = Vec::new();
    for workload in workloads {
        let report = Report::new(&workload, harness::run(&workload, effort));
        println!("{}", if asked.json { report.json() } else { report.table() });
        reports.push(report);
    }
    if !asked.json {
        println!("## Verdicts\n\n{}", report::summary(&reports));
    }
    let pages = [
        (&asked.html, page::html as fn(&[Report], &str) -> String),
        (&asked.markdown, |reports, _| markdown::tables(reports)),
    ];
    for (file, page) in pages {
        if let Some(file) = file
            && let Err(error) = std::fs::write(file, page(&reports, &machine::description()))
        {
            return fail_on(Err(format!("cannot write {file}: {error}")));
        }
    }
    let wrong: Vec<&str> = reports.iter().filter(|r| !r.disagree.is_empty()).map(|r| r.name).collect();
    if wrong.is_empty() { ExitCode::SUCCESS } else { fail_on(Err(format!("results differ in {}", wrong.join(", ")))) }
}
