//! The report as one HTML page that needs nothing beside itself.

use crate::measuring::placement as places;
use crate::measuring::removal::{Order, Outcome, Way};
use crate::measuring::simulation::{self, FRAME};
use crate::presenting::figures::{bytes, micros, percent, significant, span, thousands, times};
use crate::presenting::plots;
use crate::presenting::report::Report;
use crate::presenting::svg::escape;
use crate::presenting::text::{side_by_side, to_swap};
use phalanx_store::memory::Layout;

const STYLE: &str = include_str!("page.css");

/// The whole page.
pub(crate) fn page(report: &Report) -> String {
    let mut out = String::new();
    out.push_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n");
    out.push_str(&format!(
        "<title>Phalanx on this machine</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n"
    ));
    out.push_str("<h1>Phalanx on this machine</h1>\n");
    out.push_str(&format!("<p class=\"lead\">{}</p>\n", escape(&report.machine.describe())));
    if let Some(caveat) = report.caveat() {
        out.push_str(&format!("<p class=\"caveat\">{}</p>\n", escape(caveat)));
    }
    out.push_str(&headlines(report));
    out.push_str(&speed(report));
    out.push_str(&removal(report));
    out.push_str(&memory(report));
    out.push_str(&world(report));
    out.push_str(&placement(report));
    out.push_str(&format!(
        "<footer>Phalanx {}; measured in {}. The reference figures come from other languages on other machines: \
         compare directions and magnitudes.</footer>\n</main>\n</body>\n</html>\n",
        escape(report.version),
        span(report.seconds * 1e9)
    ));
    out
}

/// One figure of each section, large.
fn headlines(report: &Report) -> String {
    let mut out = String::from("<div class=\"headlines\">\n");
    let mut headline = |figure: String, words: String| {
        // A line must not end between a number and its sign.
        let words = words.replace(" %", "\u{a0}%");
        out.push_str(&format!(
            "<div class=\"headline\"><b>{}</b><span>{}</span></div>\n",
            escape(&figure),
            escape(&words)
        ));
    };
    let ratios: Vec<f64> = report.speed.rows.iter().map(|row| row.ratio).collect();
    if !ratios.is_empty() {
        let mean = (ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64).exp();
        let words = format!("as fast as the map: the packed store, geometric mean of {} scenarios", ratios.len());
        headline(times(mean), words);
    }
    let rows = &report.removal.rows;
    let random =
        |way| rows.iter().filter(move |row| row.order == Order::Random && row.way == way).max_by_key(|row| row.count);
    if let (Some(shift), Some(deferred)) = (random(Way::Shift), random(Way::Deferred)) {
        let [about, figure] = match (shift.is_level_with(deferred), shift.is_estimated()) {
            (true, _) => ["", "no difference beyond the noise"].map(str::to_string),
            (false, true) => ["estimated: ".to_string(), format!("≈ {}", times(shift.mean() / deferred.mean()))],
            (false, false) => [String::new(), times(shift.mean() / deferred.mean())],
        };
        let words = format!(
            "{about}as long for shifting as for deferred removal: both keep the order, emptying a set of {} at random",
            thousands(shift.count as u64)
        );
        headline(figure, words);
    }
    // The row in which picking the wrong layout costs most.
    let spread = |row: &crate::measuring::footprint::MemoryUse| {
        let held = row.layouts.map(|footprint| footprint.measured);
        held.into_iter().max().unwrap_or(0) as f64 / held.into_iter().min().unwrap_or(1).max(1) as f64
    };
    if let Some(row) = report.memory.rows.iter().max_by(|a, b| spread(a).total_cmp(&spread(b))) {
        let words = format!(
            "as many bytes in the dearest layout as in the cheapest: values of {} bytes on {} of {} entities",
            row.size,
            percent(row.utilisation),
            thousands(row.entities)
        );
        headline(times(spread(row)), words);
    }
    let frame = |layout| report.world.row(layout, FRAME).map(|row| row.time.min);
    if let (Some(structs), Some(lanes)) = (frame(simulation::Layout::Table), frame(simulation::Layout::Soa)) {
        let words =
            format!("a frame of a world with {} entities of six kinds", thousands(report.world.entities as u64));
        headline(span(structs.min(lanes)), words);
    }
    out.push_str("</div>\n");
    out
}

fn section(title: &str, about: &str, plot: &str, caption: &str, findings: &[String], table: &str) -> String {
    let findings: String = findings.iter().map(|finding| format!("<li>{}</li>\n", escape(finding))).collect();
    format!(
        "<section>\n<h2>{title}</h2>\n<p class=\"about\">{about}</p>\n<figure>\n{plot}<figcaption>{caption}</figcaption>\n</figure>\n\
         <ul>\n{findings}</ul>\n<details open=\"\"><summary>All figures</summary>\n<div class=\"scroll\">\n{table}</div>\n</details>\n</section>\n"
    )
}

fn speed(report: &Report) -> String {
    let header = ["scenario", "ns per", "packed", "slot", "map", "packed vs map", "slot vs map", "reference", "rounds"];
    let rows = report.speed.rows.iter().map(|row| {
        vec![
            Cell::word(row.name),
            Cell::word(row.per),
            Cell::figure(significant(row.packed)),
            Cell::figure(significant(row.slot)),
            Cell::figure(significant(row.map)),
            Cell { text: times(row.ratio), class: if row.ratio >= 1.0 { "best" } else { "" } },
            Cell::figure(times(row.slot_ratio)),
            Cell::figure(times(row.reference_ratio)),
            Cell::figure(row.rounds.to_string()),
        ]
    });
    section(
        "A packed store against a map",
        &format!(
            "How many times as fast as the standard hash map, by the quickest of many interleaved rounds. {}",
            crate::measuring::speed::HASHING
        ),
        &plots::speed(&report.speed.rows),
        "<i class=\"c0\">●</i> packed store, <i class=\"c1\">◆</i> slot store, ○ the reference: a packed store in TypeScript. Logarithmic.",
        &report.speed.findings,
        &table(&header, 2, rows),
    )
}

fn removal(report: &Report) -> String {
    let header =
        ["way", "order", "count", "mean µs", "error", "std dev", "median", "to swap", "reference mean µs", "runs"];
    let all = &report.removal.rows;
    let rows = all.iter().map(|row| {
        let [error, deviation, median] = match row.outcome {
            Outcome::Measured(s) => [s.error, s.std_dev, Some(s.median)],
            Outcome::Estimated { .. } => [None; 3],
        };
        let figure = |figure: Option<f64>| Cell::figure(figure.map_or("–".to_string(), micros));
        let about = if row.is_estimated() { "≈ " } else { "" };
        vec![
            Cell::word(row.way.name()),
            Cell::word(row.order.name()),
            Cell::figure(thousands(row.count as u64)),
            Cell::figure(format!("{about}{}", micros(row.mean()))),
            figure(error),
            figure(deviation),
            figure(median),
            Cell::figure(to_swap(all, row)),
            figure(row.reference_mean),
            Cell::figure(row.note()),
        ]
    });
    section(
        "Removing everything, three ways",
        "The time to remove every value of a sparse set one by one. Error is half of the 99.9 % confidence interval. Ways whose \
         means are no further apart than their standard deviations reach are not compared: their ratio would be noise.",
        &plots::removal(all),
        "<i class=\"c0\">swap</i> moves the last value into the gap, <i class=\"c1\">shift</i> moves up all behind it, \
         <i class=\"c2\">deferred</i> marks, and closes all gaps in one pass. Dashed with rings: the reference, a sparse set in C#. Both axes logarithmic.",
        &report.removal.findings,
        &table(&header, 2, rows),
    )
}

fn memory(report: &Report) -> String {
    let header = [
        "size",
        "entities",
        "utilisation",
        "packed",
        "slot",
        "sparse",
        "linear",
        "model: packed",
        "slot",
        "sparse",
        "linear",
    ];
    let rows = report.memory.rows.iter().map(|row| {
        let best = row.cheapest(&Layout::ALL);
        let mut cells = vec![
            Cell::figure(row.size.to_string()),
            Cell::figure(thousands(row.entities)),
            Cell::figure(percent(row.utilisation)),
        ];
        cells.extend(row.layouts.iter().map(|footprint| Cell {
            text: bytes(footprint.measured),
            class: if Some(footprint.layout) == best { "best" } else { "" },
        }));
        cells.extend(row.layouts.iter().map(|footprint| Cell::figure(bytes(footprint.model))));
        cells
    });
    section(
        "Memory by layout",
        "The bytes that real containers hold from the allocator, beside the model's.",
        &plots::memory(&report.memory.rows),
        "Lines with dots: containers. Dashed with rings, where it differs: the model. Both axes logarithmic.",
        &report.memory.findings,
        &table(&header, 0, rows),
    )
}

fn world(report: &Report) -> String {
    let world = &report.world;
    let header = ["system", "touches", "entities", "table", "soa", "soa vs table", "table M/s", "soa M/s", "frames"];
    let rows = side_by_side(world).map(|[structs, lanes]| {
        let ratio = structs.time.min / lanes.time.min;
        vec![
            Cell::word(structs.system),
            Cell::word(structs.about),
            Cell::figure(thousands(structs.entities as u64)),
            Cell::figure(span(structs.time.min)),
            Cell::figure(span(lanes.time.min)),
            Cell { text: times(ratio), class: if ratio >= 1.0 { "best" } else { "" } },
            Cell::figure(significant(structs.throughput())),
            Cell::figure(significant(lanes.throughput())),
            Cell::figure(structs.time.runs.to_string()),
        ]
    });
    let kinds: Vec<String> =
        world.kinds.iter().map(|k| format!("{} {}s", thousands(k.entities as u64), k.name)).collect();
    section(
        "A world at work",
        &format!(
            "{} entities: {}. The quickest of many interleaved frames.",
            thousands(world.entities as u64),
            escape(&kinds.join(", "))
        ),
        &plots::world(world),
        "The time of each system in a frame, with position, velocity and acceleration as <i class=\"c0\">● structs in a \
         table</i> or as <i class=\"c2\">◆ lanes of a field each</i>. Logarithmic.",
        &world.findings,
        &table(&header, 2, rows),
    )
}

fn placement(report: &Report) -> String {
    let header = ["work", "ns per", "table", "pool", "linear", "of", "rounds"];
    let rows = report.placement.rows.iter().map(|row| {
        let figure = |place: usize| Cell {
            text: significant(row.nanos()[place]),
            class: if row.quickest() == place { "best" } else { "" },
        };
        vec![
            Cell::word(row.work),
            Cell::word(row.per),
            figure(0),
            figure(1),
            figure(2),
            Cell::figure(thousands(row.count as u64)),
            Cell::figure(row.rounds.to_string()),
        ]
    });
    section(
        "One component in three places",
        &format!(
            "A component of 16 bytes that half of {} entities have, beside {} bytes of others in tables, kept in tables, too, \
             in a pool or in a linear store: the quickest of many interleaved rounds.",
            thousands(places::ENTITIES as u64),
            places::BODY
        ),
        &plots::placement(&report.placement.rows),
        "Nanoseconds for each, with the component in a <i class=\"c0\">● table</i>, a <i class=\"c2\">◆ pool</i> or a \
         <i class=\"c3\">● linear store</i>. Logarithmic.",
        &report.placement.findings,
        &table(&header, 2, rows),
    )
}

struct Cell {
    text: String,
    class: &'static str,
}

impl Cell {
    fn word(text: &str) -> Cell {
        Cell { text: text.to_string(), class: "word" }
    }

    fn figure(text: String) -> Cell {
        Cell { text, class: "" }
    }
}

/// A table whose first `words` headers stand over words.
fn table(header: &[&str], words: usize, rows: impl Iterator<Item = Vec<Cell>>) -> String {
    let mut out = String::from("<table>\n<thead><tr>");
    for (index, name) in header.iter().enumerate() {
        let class = if index < words { " class=\"word\"" } else { "" };
        out.push_str(&format!("<th{class}>{}</th>", escape(name)));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        out.push_str("<tr>");
        for Cell { text, class } in row {
            let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
            out.push_str(&format!("<td{class}>{}</td>", escape(&text)));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n");
    out
}
