//! `phalanx snapshot`: what is in a snapshot, and where two differ. And the measured worlds, saved and loaded.

use crate::args::SnapshotCommand;
use crate::battle;
use crate::measuring::simulation;
use crate::presenting::figures::thousands;
use crate::{Failure, failure};
use phalanx::World;
use phalanx::snapshot::{Inspection, Registry, diff_all, inspect};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

fn registry() -> Result<Registry, Failure> {
    simulation::registry().map_err(|error| failure(error.to_string()))
}

/// Returns the registries of all worlds of this program.
fn registries() -> Result<[Registry; 2], Failure> {
    Ok([registry()?, battle::registry().map_err(|error| failure(error.to_string()))?])
}

/// Saves the world of `measure`.
pub(crate) fn save(world: &World, path: &Path) -> Result<(), Failure> {
    let saved = registry()?.save_to(world, path);
    let report = saved.map_err(|error| failure(format!("{} cannot be saved: {error}", path.display())))?;
    eprintln!("{} entities saved to {}", thousands(report.entities as u64), path.display());
    Ok(())
}

/// Loads a world for `measure`.
pub(crate) fn start(path: &Path) -> Result<World, Failure> {
    let world = registry()?.load(opened(path)?);
    let world = world.map_err(|error| failure(format!("{} cannot be loaded: {error}", path.display())))?;
    if world.len() != simulation::ENTITIES {
        let [found, expected] = [world.len(), simulation::ENTITIES].map(|count| thousands(count as u64));
        return Err(failure(format!("{} has {found} entities, and the measured world {expected}", path.display())));
    }
    Ok(world)
}

fn opened(path: &Path) -> Result<BufReader<File>, Failure> {
    let file = File::open(path).map_err(|error| failure(format!("{} cannot be opened: {error}", path.display())))?;
    Ok(BufReader::new(file))
}

fn looked_into(path: &Path) -> Result<Inspection, Failure> {
    inspect(opened(path)?).map_err(|error| failure(format!("{} cannot be read: {error}", path.display())))
}

/// Runs a command. Whether what was asked for holds.
pub(crate) fn run(command: &SnapshotCommand) -> Result<bool, Failure> {
    match command {
        SnapshotCommand::Info { file } => {
            crate::print(&info(&looked_into(file)?))?;
            Ok(true)
        }
        SnapshotCommand::Diff { a, b } => {
            let sentence = difference(a, b)?;
            crate::print(sentence.as_deref().unwrap_or("No difference."))?;
            Ok(sentence.is_none())
        }
    }
}

fn info(found: &Inspection) -> String {
    let number = |n: u64| thousands(n);
    let mut text = format!(
        "{} bytes, checksum {:016x}\n{} entities, {} extra rows; {} slots, {} free, {} retired; {} groups\n",
        number(found.bytes),
        found.checksum,
        number(found.entities.into()),
        number(found.extra_rows.into()),
        number(found.slots.into()),
        number(found.free.into()),
        number(found.retired.into()),
        found.groups,
    );
    let mut table = |head: &[&str], rows: Vec<Vec<String>>| {
        if rows.is_empty() {
            return;
        }
        let mut table = comfy_table::Table::new();
        table.load_preset(comfy_table::presets::ASCII_MARKDOWN).set_header(head.to_vec());
        for row in rows {
            table.add_row(row);
        }
        text.push_str(&format!("\n{table}\n"));
    };
    let components = found.components.iter().map(|component| {
        let (name, codec) = (component.name.escape_debug().to_string(), component.codec.escape_debug().to_string());
        let (version, values) = (component.version.to_string(), number(component.values));
        vec![name, component.layout.into(), codec, version, values, format!("{:016x}", component.schema)]
    });
    table(&["component", "layout", "codec", "version", "values", "schema"], components.collect());
    let name = |number: &u32| found.components.get(*number as usize).map_or("?", |component| &component.name);
    let tables = found.tables.iter().enumerate().map(|(at, table)| {
        let names: Vec<&str> = table.components.iter().map(name).collect();
        let what = if table.extra { "extra rows" } else { "entities" };
        vec![at.to_string(), what.into(), number(table.rows.into()), number(table.bytes), names.join(" + ")]
    });
    table(&["table", "of", "rows", "bytes", "components"], tables.collect());
    let resources = found.resources.iter().map(|(name, bytes)| vec![name.escape_debug().to_string(), number(*bytes)]);
    table(&["resource", "bytes"], resources.collect());
    let sections = found.sections.iter().map(|(kind, bytes)| vec![kind.escape_ascii().to_string(), number(*bytes)]);
    table(&["section", "bytes"], sections.collect());
    text.truncate(text.trim_end().len());
    text
}

/// The number of differences that are listed.
const MOST_DIFFERENCES: usize = 20;

/// The differences of two snapshots, if there are any: by entity, component and field if they are of this program, otherwise the first
/// that can be seen without types.
fn difference(a: &Path, b: &Path) -> Result<Option<String>, Failure> {
    let (first, second) = (looked_into(a)?, looked_into(b)?);
    if first == second {
        return Ok(None);
    }
    for registry in registries()? {
        let (Ok(first), Ok(second)) = (registry.load_from(a), registry.load_from(b)) else { continue };
        let found = diff_all(&registry, &first, &second, MOST_DIFFERENCES);
        let found = found.map_err(|error| failure(error.to_string()))?;
        let mut lines: Vec<String> = found.list.iter().map(|difference| format!("{difference}.")).collect();
        if !found.is_complete {
            lines.push("There are more differences.".into());
        }
        return Ok((!lines.is_empty()).then(|| lines.join("\n")));
    }
    let counts = |found: &Inspection| (found.slots, found.entities, found.extra_rows, found.free, found.retired);
    if counts(&first) != counts(&second) {
        let [a, b] = [&first, &second].map(|found| thousands(found.entities.into()));
        return Ok(Some(format!("The slots differ: {a} entities in the first, {b} in the second.")));
    }
    if let Some((a, b)) = first.components.iter().zip(&second.components).find(|(a, b)| a != b) {
        return Ok(Some(match a.name == b.name {
            true => format!("The component {} differs in its schema or its number of values.", a.name.escape_debug()),
            false => format!("{} in the first is {} in the second.", a.name.escape_debug(), b.name.escape_debug()),
        }));
    }
    if let Some(at) = first.sections.iter().zip(&second.sections).position(|(a, b)| a != b) {
        let kind = first.sections[at].0.escape_ascii();
        return Ok(Some(format!("Section {at} ({kind}) differs in its length or kind.")));
    }
    Ok(Some("The checksums differ; lengths and numbers do not.".into()))
}
