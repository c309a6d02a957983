//! The report for a terminal: aligned tables and sentences.

use crate::measuring::removal::Outcome;
use crate::measuring::simulation::{self, Simulation};
use crate::measuring::{footprint, placement, removal, speed};
use crate::presenting::figures::{bytes, micros, percent, significant, span, thousands, times};
use crate::presenting::findings::deviation;
use crate::presenting::report::Report;
use comfy_table::{CellAlignment, ContentArrangement, Table, TableComponent, presets};
use phalanx_store::memory::Layout;

/// A table whose first `words` columns are words, and the others figures.
pub(crate) fn table(header: &[&str], words: usize) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled).set_header(header);
    // A rule under the header and one at the end: more would hide thirty rows of figures.
    for part in [
        TableComponent::HeaderLines,
        TableComponent::LeftHeaderIntersection,
        TableComponent::MiddleHeaderIntersections,
        TableComponent::RightHeaderIntersection,
        TableComponent::BottomBorder,
        TableComponent::BottomBorderIntersections,
        TableComponent::BottomLeftCorner,
        TableComponent::BottomRightCorner,
    ] {
        table.set_style(part, '─');
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_cell_alignment(if index < words { CellAlignment::Left } else { CellAlignment::Right });
    }
    table
}

/// The whole report.
pub(crate) fn report(report: &Report) -> String {
    let mut out = format!("Phalanx {} on {}\n", report.version, report.machine.describe());
    if let Some(caveat) = report.caveat() {
        out.push_str(&format!("{caveat}\n"));
    }
    section(&mut out, "A packed store against a map", speed_table(&report.speed.rows), &report.speed.findings);
    section(&mut out, "Removing everything, three ways", removal_table(&report.removal.rows), &report.removal.findings);
    section(&mut out, "Memory by layout", memory_table(&report.memory.rows), &report.memory.findings);
    let title = format!("A world at work: {} entities of six kinds", thousands(report.world.entities as u64));
    section(&mut out, &title, world_table(&report.world), &report.world.findings);
    let title = format!("One component in three places: half of {} entities", thousands(placement::ENTITIES as u64));
    section(&mut out, &title, placement_table(&report.placement.rows), &report.placement.findings);
    out
}

fn section(out: &mut String, title: &str, table: Table, findings: &[String]) {
    out.push_str(&format!("\n{title}\n{table}\n"));
    for finding in findings {
        out.push_str(&format!("  · {finding}\n"));
    }
}

fn speed_table(rows: &[speed::StoreSpeed]) -> Table {
    let header = ["scenario", "ns per", "packed", "slot", "map", "packed vs map", "slot vs map", "reference", "rounds"];
    let mut table = table(&header, 2);
    for row in rows {
        table.add_row([
            row.name.to_string(),
            row.per.to_string(),
            significant(row.packed),
            significant(row.slot),
            significant(row.map),
            times(row.ratio),
            times(row.slot_ratio),
            times(row.reference_ratio),
            row.rounds.to_string(),
        ]);
    }
    table
}

fn removal_table(rows: &[removal::RemovalTime]) -> Table {
    let header =
        ["way", "order", "count", "mean µs", "error", "std dev", "median", "to swap", "reference mean µs", "runs"];
    let mut table = table(&header, 2);
    for row in rows {
        let [error, deviation, median] = match row.outcome {
            Outcome::Measured(s) => {
                [s.error, s.std_dev, Some(s.median)].map(|figure| figure.map_or("–".into(), micros))
            }
            Outcome::Estimated { .. } => [const { String::new() }; 3].map(|_| "–".to_string()),
        };
        let about = if row.is_estimated() { "≈ " } else { "" };
        table.add_row([
            row.way.to_string(),
            row.order.to_string(),
            thousands(row.count as u64),
            format!("{about}{}", micros(row.mean())),
            error,
            deviation,
            median,
            to_swap(rows, row),
            row.reference_mean.map_or("–".into(), micros),
            row.note(),
        ]);
    }
    table
}

/// How many times as long the row takes as swapping in the same order, unless the difference is within the noise.
pub(crate) fn to_swap(rows: &[removal::RemovalTime], row: &removal::RemovalTime) -> String {
    let is_swap =
        |r: &&removal::RemovalTime| r.way == removal::Way::Swap && (r.order, r.count) == (row.order, row.count);
    let about = if row.is_estimated() { "≈ " } else { "" };
    match rows.iter().find(is_swap) {
        None => "–".to_string(),
        Some(swap) if row.way != removal::Way::Swap && row.is_level_with(swap) => "noise".to_string(),
        Some(swap) => format!("{about}{}", times(row.mean() / swap.mean())),
    }
}

fn memory_table(rows: &[footprint::MemoryUse]) -> Table {
    let header = ["size", "entities", "utilisation", "packed", "slot", "sparse", "linear", "cheapest", "model within"];
    let mut table = table(&header, 0);
    for row in rows {
        let mut cells = vec![row.size.to_string(), thousands(row.entities), percent(row.utilisation)];
        cells.extend(row.layouts.iter().map(|footprint| bytes(footprint.measured)));
        cells.push(row.cheapest(&Layout::ALL).map_or("–", Layout::name).to_string());
        let worst = row.layouts.iter().filter(|f| f.model > 0).map(|f| deviation(f).abs()).fold(0.0, f64::max);
        cells.push(if worst == 0.0 { "exact".to_string() } else { percent(worst) });
        table.add_row(cells);
    }
    table
}

fn world_table(simulation: &Simulation) -> Table {
    let header = ["system", "touches", "entities", "table", "soa", "soa vs table", "table M/s", "soa M/s", "frames"];
    let mut table = table(&header, 2);
    for [structs, lanes] in side_by_side(simulation) {
        table.add_row([
            structs.system.to_string(),
            structs.about.to_string(),
            thousands(structs.entities as u64),
            span(structs.time.min),
            span(lanes.time.min),
            times(structs.time.min / lanes.time.min),
            significant(structs.throughput()),
            significant(lanes.throughput()),
            structs.time.runs.to_string(),
        ]);
    }
    table
}

fn placement_table(rows: &[placement::WorkTime]) -> Table {
    let mut table = table(&["work", "ns per", "table", "pool", "linear", "quickest", "of", "rounds"], 2);
    for row in rows {
        table.add_row([
            row.work.to_string(),
            row.per.to_string(),
            significant(row.table),
            significant(row.pool),
            significant(row.linear),
            placement::PLACES[row.quickest()].to_string(),
            thousands(row.count as u64),
            row.rounds.to_string(),
        ]);
    }
    table
}

/// The rows of a system in both layouts.
pub(crate) fn side_by_side(simulation: &Simulation) -> impl Iterator<Item = [&simulation::SystemTime; 2]> {
    let structs = simulation.rows.iter().filter(|row| row.layout == simulation::Layout::Table);
    structs.filter_map(|row| Some([row, simulation.row(simulation::Layout::Soa, row.system)?]))
}

/// How long the whole took, in words.
pub(crate) fn took(report: &Report) -> String {
    format!("{} in all", span(report.seconds * 1e9))
}
