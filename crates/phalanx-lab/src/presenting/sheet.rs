//! [`Sheet`]: a table, as the terminal and the page show it.

use crate::measuring::simulation::{self, Simulation, SystemTime};
use crate::measuring::stats::{Comparison, Summary, Verdict};
use crate::measuring::{footprint, placement, removal, speed};
use crate::presenting::figures::{
    bytes, listed, percent, range, rough_span, rough_times, significant, span, thousands, times,
};
use crate::presenting::findings::deviation;

/// A table. Nothing in it is said by its looks alone.
#[derive(Clone, Debug)]
pub(crate) struct Sheet {
    pub(crate) header: Vec<&'static str>,
    /// The number of columns with words. The others have figures.
    pub(crate) words: usize,
    pub(crate) rows: Vec<Vec<Cell>>,
}

/// A cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    /// Whether it is the best of its row, or level with it. A column of the row names it, too.
    pub(crate) is_best: bool,
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Cell {
        Cell { text: text.into(), is_best: false }
    }
}

impl Sheet {
    fn new(header: &[&'static str], words: usize, rows: impl Iterator<Item = Vec<Cell>>) -> Sheet {
        Sheet { header: header.to_vec(), words, rows: rows.collect() }
    }
}

/// A comparison in a cell: a number, with a word if it is doubtful, or `level`.
fn ratio(comparison: Comparison) -> String {
    match comparison.verdict {
        Verdict::Level => "level".into(),
        _ if comparison.is_estimate => rough_times(comparison.ratio),
        _ if comparison.is_noisy => format!("{} (noisy)", times(comparison.ratio)),
        _ => times(comparison.ratio),
    }
}

/// The stores against the maps.
pub(crate) fn speed(rows: &[speed::StoreSpeed]) -> Sheet {
    let header = [
        "scenario",
        "ns per",
        "packed",
        "slot",
        "map, SipHash",
        "map, foldhash",
        "packed vs SipHash",
        "packed vs foldhash",
        "slot vs packed",
        "rounds",
    ];
    let rows = rows.iter().map(|row| {
        let mut cells: Vec<Cell> = vec![row.name.into(), row.per.into()];
        cells.extend(row.times().map(|time| Cell::from(significant(time.median))));
        cells.push(ratio(row.packed.against(&row.siphash)).into());
        cells.push(ratio(row.packed.against(&row.foldhash)).into());
        cells.push(ratio(row.slot.against(&row.packed)).into());
        cells.push(row.packed.runs.to_string().into());
        cells
    });
    Sheet::new(&header, 2, rows)
}

/// The ways to remove everything.
pub(crate) fn removal(all: &[removal::RemovalTime]) -> Sheet {
    let header = ["way", "order", "values", "median", "middle half", "times swap", "runs"];
    let rows = all.iter().map(|row| {
        let Summary { runs, median, low, high, .. } = row.time;
        let (median, middle) = match row.time.is_estimate() {
            true => (rough_span(median), "–".to_string()),
            false if runs < 3 => (span(median), "–".to_string()),
            false => (span(median), range(low, high)),
        };
        let basis = match row.estimated_from {
            Some(from) => format!("estimate from {}", thousands(from as u64)),
            None => runs.to_string(),
        };
        let cells = [row.way.to_string(), row.order.to_string(), thousands(row.count as u64), median, middle];
        let mut cells: Vec<Cell> = cells.map(Cell::from).into();
        cells.push(times_swap(all, row).into());
        cells.push(basis.into());
        cells
    });
    Sheet::new(&header, 2, rows)
}

/// How many times as long a row takes as swapping in the same order.
fn times_swap(all: &[removal::RemovalTime], row: &removal::RemovalTime) -> String {
    let is_swap =
        |r: &&removal::RemovalTime| r.way == removal::Way::Swap && (r.order, r.count) == (row.order, row.count);
    match all.iter().find(is_swap) {
        Some(swap) if row.way != removal::Way::Swap => ratio(swap.time.against(&row.time)),
        _ => "–".into(),
    }
}

/// Bytes by layout.
pub(crate) fn memory(rows: &[footprint::MemoryUse]) -> Sheet {
    let header =
        ["bytes a value", "entities", "utilisation", "packed", "slot", "sparse", "linear", "least", "model off by"];
    let rows = rows.iter().map(|row| {
        let least = row.layouts.iter().map(|footprint| footprint.measured).min();
        let mut cells: Vec<Cell> =
            vec![row.size.to_string().into(), thousands(row.entities).into(), percent(row.utilisation).into()];
        cells.extend(
            row.layouts
                .iter()
                .map(|footprint| Cell { text: bytes(footprint.measured), is_best: Some(footprint.measured) == least }),
        );
        let best = row.layouts.iter().filter(|footprint| Some(footprint.measured) == least);
        cells.push(listed(&best.map(|footprint| footprint.layout.name()).collect::<Vec<_>>()).into());
        let worst = row.layouts.iter().filter(|f| f.model > 0).map(|f| deviation(f).abs()).fold(0.0, f64::max);
        cells.push(if worst == 0.0 { "nothing".into() } else { percent(worst).into() });
        cells
    });
    Sheet::new(&header, 0, rows)
}

/// The systems of a world in both layouts.
pub(crate) fn world(simulation: &Simulation) -> Sheet {
    let header = ["system", "touches", "entities", "table", "soa", "soa vs table", "table M/s", "soa M/s", "frames"];
    let rows = side_by_side(simulation).map(|[structs, lanes]| {
        [
            structs.system.to_string(),
            structs.about.to_string(),
            thousands(structs.entities as u64),
            span(structs.time.median),
            span(lanes.time.median),
            ratio(lanes.time.against(&structs.time)),
            significant(structs.throughput()),
            significant(lanes.throughput()),
            structs.time.runs.to_string(),
        ]
        .map(Cell::from)
        .into()
    });
    Sheet::new(&header, 2, rows)
}

/// The rows of a system in both layouts.
pub(crate) fn side_by_side(simulation: &Simulation) -> impl Iterator<Item = [&SystemTime; 2]> {
    let structs = simulation.rows.iter().filter(|row| row.layout == simulation::Layout::Table);
    structs.filter_map(|row| Some([row, simulation.row(simulation::Layout::Soa, row.system)?]))
}

/// A component in three places.
pub(crate) fn placement(rows: &[placement::WorkTime]) -> Sheet {
    let header = ["work", "ns per", "table", "pool", "linear", "quickest", "of", "rounds"];
    let rows = rows.iter().map(|row| {
        let quickest = row.quickest();
        let mut cells: Vec<Cell> = vec![row.work.into(), row.per.into()];
        let figures = row.times().into_iter().enumerate();
        cells
            .extend(figures.map(|(at, time)| Cell { text: significant(time.median), is_best: quickest.contains(&at) }));
        let names: Vec<&str> = quickest.iter().map(|at| placement::PLACES[*at].name()).collect();
        cells.push(if names.len() == placement::PLACES.len() { "level".into() } else { listed(&names).into() });
        cells.push(thousands(row.count as u64).into());
        cells.push(row.table.runs.to_string().into());
        cells
    });
    Sheet::new(&header, 2, rows)
}
