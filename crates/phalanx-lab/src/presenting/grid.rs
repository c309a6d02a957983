//! `phalanx advise --table`: bytes by the textbook formulas, with the cheaper layout marked in every cell.

use crate::Failure;
use crate::presenting::text::table;
use phalanx_store::memory::Model;
use serde::Serialize;

const ENTITIES: u64 = 1000;

#[derive(Debug, Serialize)]
struct Cell {
    utilisation: f64,
    sparse: u64,
    cheaper: &'static str,
}

#[derive(Debug, Serialize)]
struct SizeBytes {
    size: u64,
    linear: u64,
    cells: Vec<Cell>,
}

/// Sizes of 8 to 128 bytes, utilisations of a tenth to one.
fn rows() -> Vec<SizeBytes> {
    let model = |size: u64, tenths: u64| Model::new(size, ENTITIES, tenths as f64 / 10.0).ok();
    let row = |size: u64| {
        let cells = (1..=10).filter_map(|tenths| {
            let model = model(size, tenths)?;
            let (sparse, linear) = (model.textbook_sparse(), model.textbook_linear());
            let cheaper = if sparse < linear { "sparse" } else { "linear" };
            Some(Cell { utilisation: model.utilisation(), sparse, cheaper })
        });
        Some(SizeBytes { size, linear: model(size, 10)?.textbook_linear(), cells: cells.collect() })
    };
    (1..=16).filter_map(|step| row(8 * step)).collect()
}

/// The table, as text or as JSON.
pub(crate) fn show(json: bool) -> Result<String, Failure> {
    let rows = rows();
    if json {
        let failed = |error: serde_json::Error| Failure { sentence: error.to_string(), code: 1 };
        return serde_json::to_string_pretty(&rows).map_err(failed);
    }
    let mut header = vec!["size".to_string(), "linear".to_string()];
    header.extend((1..=10).map(|tenths| format!("{:.1}", f64::from(tenths) / 10.0)));
    let mut table = table(&header.iter().map(String::as_str).collect::<Vec<_>>(), 0);
    let mut sparse_wins = 0;
    for row in &rows {
        let mut cells = vec![row.size.to_string(), row.linear.to_string()];
        for cell in &row.cells {
            let sparse = cell.cheaper == "sparse";
            sparse_wins += usize::from(sparse);
            cells.push(format!("{} {}", cell.sparse, if sparse { 's' } else { 'L' }));
        }
        table.add_row(cells);
    }
    let all: usize = rows.iter().map(|row| row.cells.len()).sum();
    Ok(format!(
        "Bytes for {ENTITIES} entities, by size of the value and utilisation, with four-byte indices and a bit a flag:\n\
         the sparse set in each cell, and which side is cheaper there (s sparse, L linear)\n{table}\n  \
         · The sparse set is cheaper in {sparse_wins} of {all} cells, the linear store in {}: where values are small or nearly all are there.",
        all - sparse_wins
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_160_cells_and_both_sides() {
        let rows = rows();
        assert_eq!(rows.iter().map(|row| row.cells.len()).sum::<usize>(), 160);
        assert!(rows[0].cells.iter().all(|cell| cell.cheaper == "linear"));
        assert_eq!(rows[2].linear, 24125);
        assert_eq!(rows[2].cells.iter().filter(|cell| cell.cheaper == "sparse").count(), 6);
        let text = show(false).unwrap_or_default();
        assert!(text.contains("136000 L") && text.contains("9600 s"));
    }
}
