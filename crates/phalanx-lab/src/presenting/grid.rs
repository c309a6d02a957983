//! `phalanx advise --table`: bytes by the textbook formulas and of the real containers, with the cheaper one marked in every cell.

use crate::measuring::footprint::usage;
use crate::measuring::layouts::population;
use crate::presenting::figures::thousands;
use crate::presenting::text::table;
use crate::{Failure, failure};
use phalanx_store::memory::Model;
use phalanx_store::{Entity, LinearStore, SparseSet};
use serde::Serialize;

const ENTITIES: u64 = 1000;

/// The bytes of a sparse set and of a linear store.
#[derive(Clone, Copy, Debug, Serialize)]
struct Pair {
    sparse: u64,
    linear: u64,
}

impl Pair {
    fn is_sparse_cheaper(self) -> bool {
        self.sparse < self.linear
    }

    /// The bytes of the sparse set, and a letter for the cheaper one.
    fn cell(self) -> String {
        format!("{} {}", self.sparse, if self.is_sparse_cheaper() { 's' } else { 'L' })
    }
}

#[derive(Debug, Serialize)]
struct Cell {
    utilisation: f64,
    textbook: Pair,
    /// What the containers hold from the allocator.
    real: Pair,
}

#[derive(Debug, Serialize)]
struct SizeBytes {
    size: u64,
    cells: Vec<Cell>,
}

/// Sizes of 8 to 128 bytes, utilisations of a tenth to one.
fn rows() -> Vec<SizeBytes> {
    let cell = |size: u64, tenths: u64| {
        let model = Model::new(size, ENTITIES, tenths as f64 / 10.0).ok()?;
        let textbook = Pair { sparse: model.textbook_sparse(), linear: model.textbook_linear() };
        Some(Cell { utilisation: model.utilisation(), textbook, real: real(size, &population(&model).0)? })
    };
    let row = |size: u64| SizeBytes { size, cells: (1..=10).filter_map(|tenths| cell(size, tenths)).collect() };
    (1..=16).map(|step| row(8 * step)).collect()
}

/// Builds both containers. `None` for a size that is not in the table.
fn real(size: u64, entities: &[Entity]) -> Option<Pair> {
    fn held<const WORDS: usize>(entities: &[Entity]) -> Pair {
        let sparse = usage::<SparseSet<_, _>, WORDS>(entities).total() as u64;
        Pair { sparse, linear: usage::<LinearStore<_, _>, WORDS>(entities).total() as u64 }
    }
    macro_rules! sizes {
        ($($words:literal)*) => {
            match size {
                $(size if size == 4 * $words => Some(held::<$words>(entities)),)*
                _ => None,
            }
        };
    }
    sizes!(2 4 6 8 10 12 14 16 18 20 22 24 26 28 30 32)
}

/// The table, as text or as JSON.
pub(crate) fn show(json: bool) -> Result<String, Failure> {
    let rows = rows();
    if json {
        return serde_json::to_string_pretty(&rows).map_err(|error| failure(error.to_string()));
    }
    let mut header = vec!["size".to_string(), "bytes".to_string(), "linear".to_string()];
    header.extend((1..=10).map(|tenths| format!("{:.1}", f64::from(tenths) / 10.0)));
    let mut table = table(&header.iter().map(String::as_str).collect::<Vec<_>>(), 2);
    for row in &rows {
        for (name, pick) in [("textbook", (|cell| cell.textbook) as fn(&Cell) -> Pair), ("real", |cell| cell.real)] {
            let size = if name == "textbook" { row.size.to_string() } else { String::new() };
            let linear = row.cells.last().map_or(0, |cell| pick(cell).linear);
            let mut cells = vec![size, name.to_string(), linear.to_string()];
            cells.extend(row.cells.iter().map(|cell| pick(cell).cell()));
            table.add_row(cells);
        }
    }
    let cells = || rows.iter().flat_map(|row| &row.cells);
    let (all, disagree) = (
        cells().count(),
        cells().filter(|cell| cell.textbook.is_sparse_cheaper() != cell.real.is_sparse_cheaper()).count(),
    );
    let wins = |pick: fn(&Cell) -> Pair| {
        let sparse = cells().filter(|cell| pick(cell).is_sparse_cheaper()).count();
        format!("the sparse set is cheaper in {sparse} of {all} cells, the linear store in {}", all - sparse)
    };
    Ok(format!(
        "Bytes for {} entities, by size of the value and utilisation: the sparse set in each cell, and which is cheaper there (s\n\
         sparse, L linear). Textbook: four-byte indices and a bit a flag. Real: what SparseSet and LinearStore hold, with generations.\n\
         {table}\n  · By the textbook, {}.\n  · By the real containers, {}.\n  · They differ on the cheaper one in {disagree} cells.",
        thousands(ENTITIES),
        wins(|cell| cell.textbook),
        wins(|cell| cell.real),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use phalanx_store::memory::Layout;

    #[test]
    fn the_table_has_160_cells_and_both_sides() {
        let rows = rows();
        assert_eq!(rows.iter().map(|row| row.cells.len()).sum::<usize>(), 160);
        assert!(rows[0].cells.iter().all(|cell| !cell.textbook.is_sparse_cheaper()));
        assert!(rows[2].cells.iter().all(|cell| cell.textbook.linear == 24_125));
        assert_eq!(rows[2].cells.iter().filter(|cell| cell.textbook.is_sparse_cheaper()).count(), 6);
        let text = show(false).unwrap_or_default();
        assert!(text.contains("136000 L") && text.contains("9600 s"), "{text}");
    }

    #[test]
    fn real_bytes_are_those_of_the_model() {
        for row in rows() {
            for cell in &row.cells {
                let model = Model::new(row.size, ENTITIES, cell.utilisation).unwrap();
                let expected = [Layout::Sparse, Layout::Linear].map(|layout| model.bytes(layout));
                let real = [cell.real.sparse, cell.real.linear];
                let is_close =
                    real.iter().zip(expected).all(|(real, expected)| real.abs_diff(expected) * 10 <= expected);
                assert!(is_close, "{} bytes at {}: {real:?}, the model {expected:?}", row.size, cell.utilisation);
                // A container that holds its values cannot hold less.
                assert!(real.iter().all(|bytes| *bytes >= row.size * model.live()));
            }
        }
    }
}
