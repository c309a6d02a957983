//! The report for a terminal: aligned tables and sentences.

use crate::presenting::figures::{span, thousands};
use crate::presenting::report::Report;
use crate::presenting::sheet::{self, Sheet};
use comfy_table::{CellAlignment, ContentArrangement, Table, TableComponent, presets};

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
    out.push_str(&format!("{}\n", report.conditions.describe()));
    for line in report.caveats().into_iter().chain(report.noise()) {
        out.push_str(&format!("{line}\n"));
    }
    let world = format!("A world at work: {} entities of six kinds", thousands(report.world.entities as u64));
    let places = crate::measuring::placement::ENTITIES as u64;
    let places = format!("One component in three places: half of {} entities", thousands(places));
    for (title, sheet, findings) in [
        ("Stores against maps", sheet::speed(&report.speed.rows), &report.speed.findings),
        ("Removing everything, three ways", sheet::removal(&report.removal.rows), &report.removal.findings),
        ("Memory by layout", sheet::memory(&report.memory.rows), &report.memory.findings),
        (&world, sheet::world(&report.world), &report.world.findings),
        (&places, sheet::placement(&report.placement.rows), &report.placement.findings),
    ] {
        out.push_str(&format!("\n{title}\n{}\n", aligned(&sheet)));
        findings.iter().for_each(|finding| out.push_str(&format!("  · {finding}\n")));
    }
    out
}

fn aligned(sheet: &Sheet) -> Table {
    let mut table = table(&sheet.header, sheet.words);
    for row in &sheet.rows {
        table.add_row(row.iter().map(|cell| &cell.text));
    }
    table
}

/// How long the whole took, in words.
pub(crate) fn took(report: &Report) -> String {
    format!("{} in all", span(report.seconds * 1e9))
}
