//! All reports as one page: a table of verdicts and a plot for each workload, without scripts and without anything from
//! elsewhere.

use crate::harness::Row;
use crate::report::{Report, Side, Verdict, digits, side};
use std::fmt::Write as _;

const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1c2430; --dim: #6b7686; --grid: #dfe4ea; --paper: #fff; --us: #c2410c;
    --peer: #3b6ea8; --good: #15803d; --bad: #b91c1c }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --dim: #96a1b1; --grid: #333b46; --paper: #15191f;
    --us: #fb923c; --peer: #7fb0e6; --good: #4ade80; --bad: #f87171 } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 60rem;
    margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100% }
td, th { text-align: left; padding: .15rem .6rem .15rem 0; border-bottom: 1px solid var(--grid) }
td.n { text-align: right } .ahead { color: var(--good) } .behind { color: var(--bad) } .dim, p { color: var(--dim) }
a { color: inherit } svg { width: 100%; height: auto } text { font: 12px system-ui, sans-serif; fill: var(--ink) }
.tick { fill: var(--dim); font-size: 11px } .grid { stroke: var(--grid) } .at { stroke: var(--dim); stroke-dasharray: 3 3 }
.us circle, .us line { fill: var(--us); stroke: var(--us) } .us text { fill: var(--us) }
.peer circle, .peer line { fill: var(--peer); stroke: var(--peer) }
.ref circle, .ref line { fill: var(--dim); stroke: var(--dim) }
";

/// The whole page.
pub fn html(reports: &[Report], about: &str) -> String {
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>Phalanx and its peers</title>\n\
         <style>{STYLE}</style>\n<h1>Phalanx and its peers</h1>\n<p>{}</p>\n\
         <p>Dots are minima over many interleaved rounds, lines lead to the medians. The scale is logarithmic, in \
         multiples of a limit written by hand for the workload (dashed).</p>\n",
        escape(about)
    );
    out += "<table>\n<tr><th>workload<th>best of Phalanx<th>× limit<th>best peer<th>× limit<th>verdict\n";
    for report in reports {
        let cells = |of: Side| {
            let best = report.best(of);
            let ratio = best.zip(report.limit()).map_or(String::new(), |(row, limit)| ratio(row, limit));
            format!("<td>{}<td class=\"n\">{ratio}", escape(best.map_or("–", |row| &row.label)))
        };
        let verdict = report.verdict();
        let class = match verdict {
            Verdict::Ahead(_) | Verdict::LevelAtLimit => "ahead",
            Verdict::Level => "",
            Verdict::Behind(_) => "behind",
            Verdict::Absent => "dim",
        };
        let _ = writeln!(
            out,
            "<tr><td><a href=\"#{0}\">{0}</a>{1}{2}<td class=\"{class}\">{verdict}",
            report.name,
            cells(Side::Phalanx),
            cells(Side::Peer)
        );
    }
    out += "</table>\n";
    for report in reports {
        let _ = write!(
            out,
            "<h2 id=\"{0}\">{0}</h2>\n<p>{1}; {2} for one {3}. Phalanx: {4}.</p>\n{5}",
            report.name,
            escape(report.about),
            report.unit.name(),
            report.op,
            report.verdict(),
            plot(report)
        );
    }
    out + "</html>\n"
}

fn ratio(row: &Row, of: &Row) -> String {
    format!("{:.2}", row.min / of.min)
}

const WIDTH: f64 = 900.0;
const LEFT: f64 = 230.0;
const RIGHT: f64 = 80.0;
const LINE: f64 = 20.0;

/// A dot for each row on a logarithmic scale.
fn plot(report: &Report) -> String {
    let all = || report.rows.iter().flat_map(|row| [row.min, row.median]);
    let (low, high) = all().fold((f64::MAX, 0.0f64), |(low, high), v| (low.min(v), high.max(v)));
    let (low, high) = (low / 1.1, high * 1.1);
    let x = |value: f64| LEFT + (WIDTH - LEFT - RIGHT) * (value / low).ln() / (high / low).ln();
    let height = LINE * (report.rows.len() as f64 + 1.5);
    let mut out = format!("<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">\n", report.name);
    let unit = report.limit().map_or(1.0, |limit| limit.min);
    let mut room = 0.0;
    for step in [0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0] {
        let at = x(step * unit);
        if step * unit < low || step * unit > high || (at < room && step != 1.0) {
            continue;
        }
        room = at + 34.0;
        let class = if step == 1.0 { "at" } else { "grid" };
        let _ = writeln!(
            out,
            "<line class=\"{class}\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"0\" y2=\"{:.1}\"/>\
             <text class=\"tick\" x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">×{step}</text>",
            height - LINE,
            height - 5.0
        );
    }
    for (at, row) in report.rows.iter().enumerate() {
        let y = LINE * (at as f64 + 0.5);
        let class = match side(&row.label) {
            Side::Phalanx => "us",
            Side::Peer => "peer",
            Side::Reference => "ref",
        };
        let (from, to) = (x(row.min), x(row.median));
        let _ = writeln!(
            out,
            "<g class=\"{class}\"><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
             <line x1=\"{from:.1}\" x2=\"{to:.1}\" y1=\"{y}\" y2=\"{y}\"/><circle cx=\"{from:.1}\" cy=\"{y}\" r=\"4\">\
             <title>min {}, median {}</title></circle>\
             <text x=\"{WIDTH}\" y=\"{:.1}\" text-anchor=\"end\">{}</text></g>",
            LEFT - 12.0,
            y + 4.0,
            escape(&row.label),
            digits(row.min),
            digits(row.median),
            y + 4.0,
            digits(row.min),
        );
    }
    out + "</svg>\n"
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{LIMIT, Unit, Workload};

    #[test]
    fn the_page_shows_every_row_and_fetches_nothing() {
        let workload = Workload {
            name: "w",
            about: "a < b",
            ops: 1.0,
            op: "op",
            band: 1.05,
            unit: Unit::Nanoseconds,
            build: Vec::new(),
        };
        let row = |label: &str, min: f64| Row { label: label.to_owned(), min, median: min * 1.5, samples: 9 };
        let rows = vec![row(LIMIT, 1.0), row("Vec<struct>", 30.0), row("phalanx Soa", 1.1)];
        let page = html(&[Report::new(&workload, (rows, Vec::new()))], "A machine & a half");
        for part in ["Vec&lt;struct&gt;", "phalanx Soa", "a &lt; b", "A machine &amp; a half", "ahead by 27.27"] {
            assert!(page.contains(part), "{part}");
        }
        assert_eq!(page.matches("<circle").count(), 3);
        assert!(!page.contains("<script") && !page.contains("http") && !page.contains("NaN"));
    }
}
