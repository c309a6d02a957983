//! `phalanx measure`: measures the containers and a world on this machine, and reports.

use super::snapshot;
use crate::args::MeasureArgs;
use crate::measuring::removal::{COUNTS, Limits, Order};
use crate::measuring::timing::Effort;
use crate::measuring::{footprint, placement, removal, simulation, speed};
use crate::presenting::progress::progress;
use crate::presenting::report::{Conditions, Machine, Report, Section};
use crate::presenting::{findings, page, text};
use crate::{Failure, failure, print};
use phalanx::World;
use phalanx_store::memory::Model;
use std::time::{Duration, Instant};

/// Measures, prints the report and writes the page.
pub(crate) fn run(args: &MeasureArgs) -> Result<(), Failure> {
    let cannot =
        |error: std::io::Error| failure(format!("the report cannot be written to {}: {error}", args.out.display()));
    let start = args.load.as_deref().map(snapshot::start).transpose()?;
    // Before the measurements, not after them.
    let file = std::fs::File::options().append(true).create(true).open(&args.out).map_err(cannot)?;
    drop(file);
    let (report, world) = measure(!args.full, start);
    std::fs::write(&args.out, page::page(&report)).map_err(cannot)?;
    if let Some(path) = &args.save {
        snapshot::save(&world, path)?;
    }
    if args.json {
        let json = serde_json::to_string_pretty(&report);
        print(&json.map_err(|error| failure(format!("the report cannot be written as JSON: {error}")))?)?;
        eprintln!("report written to {}", args.out.display());
    } else {
        let (text, took) = (text::report(&report), text::took(&report));
        print(&format!("{text}\nReport written to {} ({took}).", args.out.display()))?;
    }
    Ok(())
}

/// Measures everything. The world of structs may be one that was saved; as it is at the end, it is returned.
fn measure(quick: bool, start: Option<World>) -> (Report, World) {
    let begun = Instant::now();
    let mut conditions = Conditions::now();
    let speed_rows = run_speed(quick);
    let removal_rows = run_removal(quick);
    let memory_rows = run_memory();
    let (world, end) = run_world(quick, start);
    let placement_rows = run_placement(quick);
    conditions.end();
    let report = Report {
        version: env!("CARGO_PKG_VERSION"),
        machine: Machine::this(),
        conditions,
        quick,
        optimised: !cfg!(debug_assertions),
        seconds: begun.elapsed().as_secs_f64(),
        speed: Section { findings: findings::speed(&speed_rows), rows: speed_rows },
        removal: Section { findings: findings::removal(&removal_rows), rows: removal_rows },
        memory: Section { findings: findings::memory(&memory_rows), rows: memory_rows },
        world,
        placement: Section { findings: findings::placement(&placement_rows), rows: placement_rows },
    };
    (report, end)
}

fn run_speed(quick: bool) -> Vec<speed::StoreSpeed> {
    let share = Duration::from_millis(if quick { 500 } else { 3000 });
    let effort = Effort { least: 5, most: 2000, share };
    let bar = progress(speed::names().count() as u64, "stores against maps");
    let rows = speed::names().enumerate().filter_map(|(index, name)| {
        bar.set_message(name);
        let row = speed::measure(index, effort);
        bar.inc(1);
        row
    });
    let rows = rows.collect();
    bar.finish_and_clear();
    rows
}

fn run_removal(quick: bool) -> Vec<removal::RemovalTime> {
    let limits = if quick { Limits::quick() } else { Limits::full() };
    let bar = progress((COUNTS.len() * Order::ALL.len()) as u64, "removing everything");
    let mut rows = Vec::new();
    for count in COUNTS {
        for order in Order::ALL {
            bar.set_message(format!("{order} order, {}k", count / 1000));
            rows.extend(removal::measure(order, count, limits));
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    rows
}

fn run_memory() -> Vec<footprint::MemoryUse> {
    let sizes = footprint::SIZES;
    let bar = progress((sizes.len() * footprint::UTILISATIONS.len()) as u64, "memory by layout");
    let mut rows = Vec::new();
    for size in sizes {
        for utilisation in footprint::UTILISATIONS {
            bar.set_message(format!("{size} bytes, {:.0} %", utilisation * 100.0));
            // The constants are within the model's bounds, so every row is there.
            rows.extend(Model::new(size, footprint::ENTITIES, utilisation).ok().as_ref().map(footprint::measure));
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    rows
}

fn run_world(quick: bool, start: Option<World>) -> (simulation::Simulation, World) {
    let most = if quick { 24 } else { 240 };
    let effort = Effort { least: 6, most, share: Duration::from_millis(if quick { 1000 } else { 5000 }) };
    let bar = progress(2 * most as u64, "a world at work");
    bar.set_message(format!(
        "{} entities of six kinds",
        crate::presenting::figures::thousands(simulation::ENTITIES as u64)
    ));
    let (mut simulation, end) = simulation::measure(simulation::ENTITIES, start, effort, || bar.inc(1));
    bar.finish_and_clear();
    simulation.findings = findings::simulation(&simulation);
    (simulation, end)
}

fn run_placement(quick: bool) -> Vec<placement::WorkTime> {
    let most = if quick { 30 } else { 150 };
    let effort = Effort { least: 5, most, share: Duration::from_millis(if quick { 1000 } else { 5000 }) };
    let bar = progress(3 * most as u64, "one component, three places");
    bar.set_message(format!("{} entities", crate::presenting::figures::thousands(placement::ENTITIES as u64)));
    let rows = placement::measure(placement::ENTITIES, effort, || bar.inc(1));
    bar.finish_and_clear();
    rows
}
