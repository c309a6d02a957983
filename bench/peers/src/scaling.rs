//! How figures grow with the number of entities: tables, and a plot with a panel for each operation.

use crate::ecs::scaling::{LIBRARIES, OPERATIONS, SIZES, Scaling};
use crate::harness::{Effort, Row, run};
use crate::report::digits;
use std::fmt::Write as _;

/// What was measured.
pub struct Figures {
    /// By operation, library and size.
    minima: [[[f64; SIZES.len()]; LIBRARIES.len()]; OPERATIONS.len()],
    /// The operations and sizes in which results differ.
    pub disagree: Vec<String>,
}

/// Runs all workloads of all sizes.
pub fn measure(all: &[Scaling], effort: Effort) -> Figures {
    let mut figures =
        Figures { minima: [[[0.0; SIZES.len()]; LIBRARIES.len()]; OPERATIONS.len()], disagree: Vec::new() };
    for (at, scaling) in all.iter().enumerate() {
        for (operation, workload) in scaling.workloads.iter().enumerate() {
            let (rows, disagree) = run(workload, effort);
            for (library, label) in LIBRARIES.iter().enumerate() {
                figures.minima[operation][library][at] = best(&rows, label);
            }
            if !disagree.is_empty() {
                figures.disagree.push(format!("{} of {}: {}", workload.name, scaling.size, disagree.join(", ")));
            }
        }
    }
    figures
}

/// Returns the best figure of the rows whose label begins so.
fn best(rows: &[Row], label: &str) -> f64 {
    rows.iter().filter(|row| row.label.starts_with(label)).map(|row| row.min).fold(f64::INFINITY, f64::min)
}

/// Returns a number of entities in words.
fn size(n: usize) -> String {
    match n {
        1_000_000.. => format!("{}M", n / 1_000_000),
        _ => format!("{}k", n / 1000),
    }
}

/// Returns a Markdown table for each operation: the figures, and how they compare with the limit at the same size.
pub fn tables(figures: &Figures) -> String {
    let mut out = String::new();
    for ((name, about), minima) in OPERATIONS.iter().zip(&figures.minima) {
        let unit = if *name == "bytes" { "bytes" } else { "ns" };
        let sizes: Vec<String> = SIZES.iter().map(|&n| size(n)).collect();
        let _ = writeln!(out, "### {name}\n\n{about}; {unit} an entity, and multiples of the limit\n");
        let _ = writeln!(out, "| | {} |\n|---|{}", sizes.join(" | "), "---:|".repeat(SIZES.len()));
        for (library, row) in LIBRARIES.iter().zip(minima) {
            let cells = row.iter().zip(&minima[0]).map(|(v, limit)| match library {
                _ if std::ptr::eq(row, &minima[0]) => digits(*v),
                _ => format!("{} ({:.2})", digits(*v), v / limit),
            });
            let _ = writeln!(out, "| {library} | {} |", cells.collect::<Vec<_>>().join(" | "));
        }
        out.push('\n');
    }
    out
}

const PANEL: (f64, f64) = (300.0, 230.0);
/// Left, top, right and bottom of the plot within its panel.
const INNER: (f64, f64, f64, f64) = (44.0, 30.0, 288.0, 196.0);
const COLOURS: [&str; 6] = ["#6b7686", "#3b6ea8", "#c2410c", "#a16207", "#15803d", "#7e22ce"];

/// Returns the plot: both scales of each panel are logarithmic.
pub fn svg(figures: &Figures) -> String {
    let (width, height) = (PANEL.0 * 3.0, PANEL.1 * 2.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    for (at, ((name, _), minima)) in OPERATIONS.iter().zip(&figures.minima).enumerate() {
        let (x, y) = (PANEL.0 * (at % 3) as f64, PANEL.1 * (at / 3) as f64);
        let _ = writeln!(out, "<g transform=\"translate({x} {y})\">");
        panel(&mut out, name, minima);
        out += "</g>\n";
    }
    let (x, y) = (PANEL.0 * 2.0 + 60.0, PANEL.1 + 50.0);
    for (at, (library, colour)) in LIBRARIES.iter().zip(COLOURS).enumerate() {
        let line = y + 22.0 * at as f64;
        let _ = writeln!(
            out,
            "<path d=\"M{x} {line}h24\" stroke=\"{colour}\" stroke-width=\"2\"{}/>\
             <text x=\"{}\" y=\"{}\">{library}</text>",
            dashes(at),
            x + 32.0,
            line + 4.0
        );
    }
    out + "</svg>\n"
}

/// The limit is dashed.
fn dashes(library: usize) -> &'static str {
    if library == 0 { " stroke-dasharray=\"5 3\"" } else { "" }
}

/// Draws the lines of one operation.
fn panel(out: &mut String, name: &str, minima: &[[f64; SIZES.len()]; LIBRARIES.len()]) {
    let values = || minima.iter().flatten().copied();
    let low = values().fold(f64::INFINITY, f64::min) / 1.3;
    let high = values().fold(0.0, f64::max) * 1.3;
    let (left, top, right, bottom) = INNER;
    let across = |at: usize| left + (right - left) * (at as f64 + 0.15) / (SIZES.len() as f64 - 0.7);
    let down = |value: f64| bottom - (bottom - top) * (value / low).ln() / (high / low).ln();
    let title = if name == "bytes" { "bytes an entity".to_owned() } else { format!("{name}, ns an entity") };
    let _ = writeln!(out, "<text x=\"{left}\" y=\"18\" font-size=\"13\" font-weight=\"600\">{title}</text>");
    for step in ticks(low, high) {
        let y = down(step);
        let _ = writeln!(
            out,
            "<path d=\"M{left} {y:.1}H{right}\" stroke=\"#e3e7ec\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#6b7686\">{step}</text>",
            left - 5.0,
            y + 4.0
        );
    }
    for (at, &n) in SIZES.iter().enumerate() {
        let (x, y) = (across(at), bottom + 16.0);
        let _ =
            writeln!(out, "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\" fill=\"#6b7686\">{}</text>", size(n));
    }
    for (library, (row, colour)) in minima.iter().zip(COLOURS).enumerate() {
        let points: Vec<String> =
            row.iter().enumerate().map(|(at, &v)| format!("{:.1},{:.1}", across(at), down(v))).collect();
        let _ = writeln!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{}/>",
            points.join(" "),
            dashes(library)
        );
    }
}

/// Returns the round numbers from `low` to `high`: 1, 2 and 5 times powers of ten, or only the powers if these are many.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let steps = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0];
    steps.into_iter().filter(|step| (low..=high).contains(step)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Figures {
        let row = |times: f64| SIZES.map(|n| times * (n as f64).log10());
        Figures { minima: [LIBRARIES.map(|label| row(label.len() as f64)); 5], disagree: Vec::new() }
    }

    #[test]
    fn the_tables_have_every_size_and_the_ratio_to_the_limit() {
        let tables = tables(&figures());
        assert!(tables.contains("| | 1k | 10k | 100k | 1M | 10M |"), "{tables}");
        assert!(tables.contains("| limit | 15.0 | 20.0 | 25.0 | 30.0 | 35.0 |"), "{tables}");
        assert!(tables.contains("| hecs | 12.0 (0.80) |"), "{tables}");
    }

    #[test]
    fn the_plot_has_a_line_for_each_library_in_each_panel() {
        let plot = svg(&figures());
        assert_eq!(plot.matches("<polyline").count(), OPERATIONS.len() * LIBRARIES.len());
        assert!(!plot.contains("NaN") && !plot.contains("inf"));
    }
}
