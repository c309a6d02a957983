//! Displays a layout report as a table.

use super::{ComponentReport, LayoutReport};
use core::fmt;

/// A column of the report: its header, and the text of its cells.
type Cell = (&'static str, fn(&ComponentReport) -> String);

const CELLS: [Cell; 13] = [
    ("layout", |c| c.placement.to_string()),
    ("values", |c| c.values.to_string()),
    ("of slots", |c| format!("{:.1} %", 100.0 * c.utilisation)),
    ("adds", |c| c.adds.to_string()),
    ("removes", |c| c.removes.to_string()),
    ("taken", |c| c.taken.to_string()),
    ("visited", |c| c.visited.to_string()),
    ("together", |c| c.together.to_string()),
    ("by entity", |c| c.by_entity.map_or("–".to_string(), |count| count.to_string())),
    ("bytes", |c| c.bytes.to_string()),
    ("as table", |c| c.bytes_as.table.to_string()),
    ("as pool", |c| c.bytes_as.pool.to_string()),
    ("as linear", |c| c.bytes_as.linear.to_string()),
];

/// Returns the name of a type without the paths of its modules.
fn short(name: &str) -> &str {
    let end = name.find('<').unwrap_or(name.len());
    name[..end].rfind("::").map_or(name, |at| &name[at + 2..])
}

impl fmt::Display for LayoutReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} entities, {} slots", self.entities, self.slots)?;
        let names = self.components.iter().map(|c| short(c.name).chars().count()).max().unwrap_or(0).max(9);
        write!(f, "{:<names$}", "component")?;
        let widths = CELLS.map(|(header, cell)| {
            self.components.iter().map(|c| cell(c).chars().count()).max().unwrap_or(0).max(header.len())
        });
        for ((header, _), width) in CELLS.iter().zip(widths) {
            write!(f, "  {header:>width$}")?;
        }
        writeln!(f)?;
        for component in &self.components {
            write!(f, "{:<names$}", short(component.name))?;
            for ((_, cell), width) in CELLS.iter().zip(widths) {
                write!(f, "  {:>width$}", cell(component))?;
            }
            writeln!(f)?;
        }
        if !self.counted {
            return writeln!(f, "Accesses were not counted.");
        }
        for component in &self.components {
            let (advice, kept) = (&component.advice, component.placement);
            let verb = if advice.placement == kept { "stays" } else { "should be" };
            writeln!(f, "{} {verb} {}: {}.", short(component.name), advice.placement, advice.reason)?;
        }
        Ok(())
    }
}
