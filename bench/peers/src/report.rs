//! What a workload's rows say: tables, lines of JSON, and how Phalanx fares.

use crate::harness::{HAND_PACKED, LIMIT, Row, Unit, Workload};
use std::fmt;

pub struct Report {
    pub name: &'static str,
    pub about: &'static str,
    pub op: &'static str,
    pub band: f64,
    pub unit: Unit,
    /// The limit first, then the quickest.
    pub rows: Vec<Row>,
    /// The labels of rows whose digest is not that of most.
    pub disagree: Vec<String>,
}

/// Whose row it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Phalanx,
    Peer,
    /// The limit, and rows that promise less than the others: shown, not counted.
    Reference,
}

pub fn side(label: &str) -> Side {
    let promises_less = label.ends_with("(no generations)") || label.ends_with(" unchecked");
    if label == LIMIT || label == HAND_PACKED || promises_less {
        Side::Reference
    } else if label.starts_with("phalanx") {
        Side::Phalanx
    } else {
        Side::Peer
    }
}

/// How the best row of Phalanx compares with the best of its peers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// So many times as fast, beyond the band.
    Ahead(f64),
    /// Within the band of a peer that is itself within the band of the limit: nobody could be ahead.
    LevelAtLimit,
    /// Within the band.
    Level,
    /// So many times the time, beyond the band.
    Behind(f64),
    /// Phalanx has no row.
    Absent,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Ahead(x) => write!(f, "ahead by {x:.2}"),
            Verdict::LevelAtLimit => f.write_str("level, at the limit"),
            Verdict::Level => f.write_str("level"),
            Verdict::Behind(x) => write!(f, "behind by {x:.2}"),
            Verdict::Absent => f.write_str("no row yet"),
        }
    }
}

impl Report {
    pub fn new(workload: &Workload, (mut rows, disagree): (Vec<Row>, Vec<String>)) -> Report {
        rows.sort_by(|a, b| (a.label != LIMIT).cmp(&(b.label != LIMIT)).then(a.min.total_cmp(&b.min)));
        let Workload { name, about, op, band, unit, .. } = *workload;
        Report { name, about, op, band, unit, rows, disagree }
    }

    pub fn limit(&self) -> Option<&Row> {
        self.rows.iter().find(|row| row.label == LIMIT)
    }

    /// The best row of a side.
    pub fn best(&self, of: Side) -> Option<&Row> {
        self.rows.iter().find(|row| side(&row.label) == of)
    }

    pub fn verdict(&self) -> Verdict {
        let Some(ours) = self.best(Side::Phalanx) else { return Verdict::Absent };
        let Some(theirs) = self.best(Side::Peer) else { return Verdict::Level };
        let at_limit = self.limit().is_some_and(|limit| theirs.min <= limit.min * self.band);
        match ours.min / theirs.min {
            ratio if ratio > self.band => Verdict::Behind(ratio),
            ratio if ratio * self.band < 1.0 => Verdict::Ahead(1.0 / ratio),
            _ if at_limit => Verdict::LevelAtLimit,
            _ => Verdict::Level,
        }
    }

    /// A Markdown table. Ratios are of minima.
    pub fn table(&self) -> String {
        let unit = self.unit.name();
        let mut out = format!("### {}\n\n{}; {unit} for one {}\n\n", self.name, self.about, self.op);
        out += "| row | min | median | x limit | x best peer |\n| --- | ---: | ---: | ---: | ---: |\n";
        let ratio = |row: &Row, of: Option<&Row>| of.map_or(String::new(), |of| format!("{:.2}", row.min / of.min));
        for row in &self.rows {
            let flag = if self.disagree.contains(&row.label) { " (ANOTHER RESULT)" } else { "" };
            out += &format!(
                "| {}{flag} | {} | {} | {} | {} |\n",
                row.label,
                digits(row.min),
                digits(row.median),
                ratio(row, self.limit()),
                ratio(row, self.best(Side::Peer)),
            );
        }
        out + &format!("\nPhalanx: {}\n", self.verdict())
    }

    pub fn json(&self) -> String {
        let row = |row: &Row| {
            let Row { label, min, median, samples } = row;
            format!("{{\"library\":{label:?},\"min\":{min:.4},\"median\":{median:.4},\"samples\":{samples}}}")
        };
        let rows: Vec<String> = self.rows.iter().map(row).collect();
        let unit = if self.unit == Unit::Bytes { ",\"unit\":\"bytes\"" } else { "" };
        format!(
            "{{\"workload\":{:?},\"op\":{:?}{unit},\"agree\":{},\"rows\":[{}]}}",
            self.name,
            self.op,
            self.disagree.is_empty(),
            rows.join(",")
        )
    }
}

/// All verdicts, a line each, as a Markdown table, and how many there are of each kind.
pub fn summary(reports: &[Report]) -> String {
    let mut out = String::from(
        "| workload | limit | best of Phalanx | | x limit | best peer | | verdict |\n\
         | --- | ---: | --- | ---: | ---: | --- | ---: | --- |\n",
    );
    for report in reports {
        let (limit, ours, theirs) = (report.limit(), report.best(Side::Phalanx), report.best(Side::Peer));
        let label =
            |row: Option<&Row>| row.map_or("", |row| row.label.as_str()).trim_start_matches("phalanx ").to_owned();
        let min = |row: Option<&Row>| row.map_or(String::new(), |row| digits(row.min));
        let ratio = ours.zip(limit).map_or(String::new(), |(ours, limit)| format!("{:.2}", ours.min / limit.min));
        out += &format!(
            "| {} | {} | {} | {} | {ratio} | {} | {} | {} |\n",
            report.name,
            min(limit),
            label(ours),
            min(ours),
            label(theirs),
            min(theirs),
            report.verdict()
        );
    }
    let count = |is: fn(Verdict) -> bool| reports.iter().filter(|report| is(report.verdict())).count();
    out + &format!(
        "\n{} ahead, {} level at the limit, {} level, {} behind, {} without a row of Phalanx\n",
        count(|v| matches!(v, Verdict::Ahead(_))),
        count(|v| v == Verdict::LevelAtLimit),
        count(|v| v == Verdict::Level),
        count(|v| matches!(v, Verdict::Behind(_))),
        count(|v| v == Verdict::Absent),
    )
}

/// Three digits or more.
pub fn digits(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(band: f64, rows: &[(&str, f64)]) -> Report {
        let row = |(label, min): &(&str, f64)| Row { label: (*label).to_owned(), min: *min, median: *min, samples: 1 };
        let workload =
            Workload { name: "w", about: "", ops: 1.0, op: "op", band, unit: Unit::Nanoseconds, build: Vec::new() };
        Report::new(&workload, (rows.iter().map(row).collect(), Vec::new()))
    }

    #[test]
    fn verdicts_follow_the_band() {
        let of = |ours, band| report(band, &[("hecs", 10.0), ("phalanx table", ours), (LIMIT, 5.0)]).verdict();
        assert_eq!(of(5.0, 1.05), Verdict::Ahead(2.0));
        assert_eq!(of(9.6, 1.05), Verdict::Level);
        assert_eq!(of(10.4, 1.05), Verdict::Level);
        assert_eq!(of(20.0, 1.05), Verdict::Behind(2.0));
        assert_eq!(of(11.0, 1.15), Verdict::Level);
    }

    #[test]
    fn level_suffices_where_the_leader_is_at_the_limit() {
        let rows = [("hecs", 10.0), ("phalanx table", 10.2), (LIMIT, 9.9)];
        assert_eq!(report(1.05, &rows).verdict(), Verdict::LevelAtLimit);
    }

    #[test]
    fn rows_that_promise_less_do_not_count() {
        let rows = [("slab (no generations)", 1.0), (HAND_PACKED, 1.0), ("hecs", 10.0), ("phalanx x", 10.0)];
        assert_eq!(report(1.05, &rows).verdict(), Verdict::Level);
        assert_eq!(report(1.05, &[(LIMIT, 1.0), ("hecs", 1.0)]).verdict(), Verdict::Absent);
    }

    #[test]
    fn the_limit_comes_first_and_the_summary_counts() {
        let report = report(1.05, &[("phalanx a", 4.0), ("phalanx b", 2.0), ("hecs", 3.0), (LIMIT, 2.5)]);
        let labels: Vec<&str> = report.rows.iter().map(|row| row.label.as_str()).collect();
        assert_eq!(labels, [LIMIT, "phalanx b", "hecs", "phalanx a"]);
        let summary = summary(&[report]);
        assert!(summary.contains("| w | 2.500 | b | 2.000 | 0.80 | hecs | 3.000 | ahead by 1.50 |"), "{summary}");
        assert!(summary.contains("1 ahead, 0 level at the limit, 0 level, 0 behind, 0 without"), "{summary}");
    }

    #[test]
    fn json_has_a_line_for_a_workload() {
        let json = report(1.05, &[("hecs", 3.0)]).json();
        let row = r#"{"library":"hecs","min":3.0000,"median":3.0000,"samples":1}"#;
        assert_eq!(json, format!(r#"{{"workload":"w","op":"op","agree":true,"rows":[{row}]}}"#));
    }
}
