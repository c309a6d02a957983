//! `phalanx demo`: measures the containers and a world on this machine, and reports.

use crate::measuring::removal::{COUNTS, Limits, Order};
use crate::measuring::timing::Effort;
use crate::measuring::{footprint, placement, removal, simulation, speed};
use crate::presenting::findings;
use crate::presenting::progress::progress;
use crate::presenting::report::{Machine, Report, Section};
use phalanx::World;
use phalanx_store::memory::Model;
use std::time::{Duration, Instant};

/// Measures everything. A full run stays below two minutes, a quick one below ten seconds. The world of structs may be one
/// that was saved; as it is at the end, it is returned.
pub(crate) fn run(quick: bool, start: Option<World>) -> (Report, World) {
    let begun = Instant::now();
    let speed_rows = run_speed(quick);
    let removal_rows = run_removal(quick);
    let memory_rows = run_memory();
    let (world, end) = run_world(quick, start);
    let placement_rows = run_placement(quick);
    let report = Report {
        version: env!("CARGO_PKG_VERSION"),
        machine: Machine::this(),
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
    let share = Duration::from_millis(if quick { 600 } else { 3000 });
    let effort = Effort { least: 5, most: 2000, share };
    let bar = progress(speed::names().count() as u64, "packed store against map");
    let rows = speed::names().enumerate().map(|(index, name)| {
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
    let limits = if quick {
        Limits {
            share: Duration::from_millis(100),
            least_runs: 3,
            most_runs: 15,
            pilot: 10_000,
            once: Duration::from_millis(50),
            longest: Duration::from_millis(300),
            give_up: Instant::now() + Duration::from_secs(6),
        }
    } else {
        Limits {
            share: Duration::from_millis(600),
            least_runs: 5,
            most_runs: 60,
            pilot: 25_000,
            once: Duration::from_secs(1),
            longest: Duration::from_secs(60),
            give_up: Instant::now() + Duration::from_secs(84),
        }
    };
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
