//! The tables of `docs/benchmarks.md` and of the README: workloads under the names that users know.

use crate::harness::{LIMIT, Row};
use crate::report::{Report, Side, digits};
use std::fmt::Write as _;

/// The families of the page, each with its workloads and their labels, in the order of the page.
const FAMILIES: &[(&str, &[(&str, &str)])] = &[
    (
        "Worlds",
        &[
            ("ecs_insert_each_10k", "spawn, four components"),
            ("ecs_insert_bulk_10k", "spawn in bulk"),
            ("ecs_despawn_10k", "despawn"),
            ("ecs_churn_100k", "despawn + spawn, 100,000 alive"),
            ("ecs_add_remove_10k", "insert + remove one component"),
            ("ecs_iter_10k", "iterate two components, 10,000"),
            ("ecs_iter_1m", "iterate two components, 1,000,000"),
            ("ecs_for_10k", "the same with `for`, 10,000"),
            ("ecs_group_100k", "iterate two components that half have"),
            ("ecs_field_1m", "iterate one field, 1,000,000"),
            ("ecs_fragmented", "iterate 26 archetypes"),
            ("ecs_heavy_seq", "heavy work, one thread"),
            ("ecs_heavy_par", "heavy work, two threads"),
            ("ecs_get_10k", "get by entity, 10,000"),
            ("ecs_get_1m", "get by entity, 1,000,000"),
            ("ecs_join_1pct", "join with 1 %"),
            ("ecs_join_10pct", "join with 10 %"),
            ("ecs_join_50pct", "join with 50 %"),
            ("memory_ecs_100k", "bytes an entity of 100"),
        ],
    ),
    (
        "Structure off the main path",
        &[
            ("ecs_new_world", "new world, spawn, query, drop"),
            ("ecs_types_500", "register a component type, 500 sparse sets"),
            ("ecs_builder_10k", "spawn a run-time bundle"),
            ("ecs_record_10k", "record a command"),
            ("ecs_apply_10k", "apply a command"),
            ("ecs_listener_10k", "insert or remove with a listener"),
            ("ecs_listener_spawn_10k", "spawn with a listener"),
            ("ecs_heap_10k", "replace and drop values on the heap"),
            ("ecs_clone_10k", "clone a world"),
            ("ecs_rollback_10k", "roll a world back"),
            ("snapshot_save_10k", "save"),
            ("snapshot_load_10k", "load"),
        ],
    ),
    (
        "Queries off the main path",
        &[
            ("query_option_none", "`Option<&C>` of a sparse component, no entity has it"),
            ("query_option_ten", "the same, 10 of 100,000 have it"),
            ("query_option_half", "the same, half have it, at random"),
            ("query_without_none", "`Without<C>` of a sparse component, no entity has it"),
            ("query_without_ten", "the same, 10 of 100,000 have it"),
            ("query_without_half", "the same, half have it, at random"),
            ("tracked_write_100k", "write all tracked rows"),
            ("tracked_ask_100k", "`Changed`, nothing has changed"),
            ("tracked_frame_100k", "`Changed`, a frame of 1 %"),
            ("pool_for_one_100k", "`for` over a sparse set"),
            ("pool_for_two_100k", "`for` over two sparse sets"),
            ("pool_scattered_100k", "two sparse sets in different orders"),
            ("pool_par_100k", "parallel loop over sparse sets"),
            ("pool_get_100k", "get from a sparse set, 100,000"),
            ("pool_get_10m", "get from a sparse set, 10,000,000"),
        ],
    ),
    (
        "Systems and events",
        &[
            ("ecs_schedule", "three systems in a schedule"),
            ("schedule_empty_100", "100 empty systems, each"),
            ("schedule_commands", "commands in systems"),
            ("events_send_read", "send and read an event"),
        ],
    ),
    (
        "Trees",
        &[
            ("tree_spawn", "spawn a child"),
            ("tree_reparent", "link to another parent"),
            ("tree_remove", "despawn a child"),
            ("tree_despawn", "despawn trees, by entity"),
            ("tree_propagate", "compute transforms"),
        ],
    ),
    (
        "Containers",
        &[
            ("store_iter_10k", "iterate 10,000"),
            ("store_iter_100k", "iterate 100,000"),
            ("store_iter_1m", "iterate 1,000,000"),
            ("store_iter_holes_100k", "iterate, half of the slots empty"),
            ("store_iter_sparse_100k", "iterate, nine of ten slots empty"),
            ("store_get_10k", "get, 10,000"),
            ("store_get_100k", "get, 100,000"),
            ("store_get_1m", "get, 1,000,000"),
            ("store_insert_10k", "insert, growing to 10,000"),
            ("store_insert_100k", "insert, growing to 100,000"),
            ("store_remove_100k", "remove at random"),
            ("store_churn_100k", "remove + insert 10 % a frame"),
            ("store_mixed_50k", "all of these, a frame of 50,000"),
            ("memory_store_100k", "bytes a value of 32"),
        ],
    ),
    (
        "Structs of arrays",
        &[
            ("soa_sum_10k", "sum one field, 10,000"),
            ("soa_sum_100k", "sum one field, 100,000"),
            ("soa_sum_1m", "sum one field, 1,000,000"),
            ("soa_update_1m", "update two fields"),
            ("soa_push_10k", "push, growing to 10,000"),
            ("soa_push_100k", "push, growing to 100,000"),
            ("soa_push_1m", "push, growing to 1,000,000"),
            ("soa_sort_1m", "sort"),
        ],
    ),
];

/// The libraries that have worlds, by the beginning of their labels.
const WORLDS: &[&str] = &["phalanx", "bevy_ecs", "hecs", "shipyard", "sparsey", "specs", "legion", "flecs"];

/// The layouts of Phalanx.
const LAYOUTS: &[&str] = &["phalanx table", "phalanx soa", "phalanx pool", "phalanx linear", "phalanx group"];

/// Returns the tables: each family with its verdicts, worlds by library and by layout, and containers by size of value.
pub fn tables(reports: &[Report]) -> String {
    let of = |name: &str| reports.iter().find(|report| report.name == name);
    let mut out = String::new();
    for (title, workloads) in FAMILIES {
        let rows: Vec<_> = workloads.iter().filter_map(|(name, label)| Some((label, of(name)?))).collect();
        if rows.is_empty() {
            continue;
        }
        let _ = writeln!(out, "### {title}\n\n| | limit | Phalanx | | × limit | best other | | verdict |");
        out += "|---|---:|---:|---|---:|---:|---|---|\n";
        rows.iter().for_each(|(label, report)| verdict(&mut out, label, report));
        out.push('\n');
    }
    let worlds = FAMILIES[0].1.iter().filter_map(|(name, label)| Some((*label, of(name)?)));
    by_library(&mut out, "Worlds, by library", worlds.clone(), WORLDS);
    by_library(&mut out, "Worlds, by layout", worlds, LAYOUTS);
    by_size(&mut out, reports);
    out
}

/// Writes the row of a workload: the limit, the best row of Phalanx, the best of all others.
fn verdict(out: &mut String, label: &str, report: &Report) {
    let (limit, ours, theirs) = (report.limit(), report.best(Side::Phalanx), report.best(Side::Peer));
    let min = |row: Option<&Row>| row.map_or("–".to_owned(), |row| digits(row.min));
    let by = |row: Option<&Row>| row.map_or(String::new(), |row| row.label.trim_start_matches("phalanx ").to_owned());
    let ratio = ours.zip(limit).map_or("–".to_owned(), |(ours, limit)| format!("{:.2}", ours.min / limit.min));
    let verdict = if theirs.is_none() { "no other library has a row".to_owned() } else { report.verdict().to_string() };
    let _ = writeln!(
        out,
        "| {label} (`{}`) | {} | {} | {} | {ratio} | {} | {} | {verdict} |",
        report.name,
        min(limit),
        min(ours),
        by(ours),
        min(theirs),
        by(theirs),
    );
}

/// Writes the best row of each library. Figures within the band of the best are bold.
fn by_library<'a>(
    out: &mut String,
    title: &str,
    reports: impl Iterator<Item = (&'a str, &'a Report)>,
    libraries: &[&str],
) {
    let mut reports = reports.peekable();
    if reports.peek().is_none() {
        return;
    }
    let _ = writeln!(out, "### {title}\n\n| | limit | {} |", libraries.join(" | "));
    let _ = writeln!(out, "|---|{}", "---:|".repeat(libraries.len() + 1));
    for (label, report) in reports {
        let min = |start: &str| {
            let rows =
                report.rows.iter().filter(|row| row.label == start || row.label.starts_with(&format!("{start} ")));
            rows.map(|row| row.min).reduce(f64::min)
        };
        let best = libraries.iter().filter_map(|library| min(library)).fold(f64::INFINITY, f64::min);
        let cell = |value: Option<f64>| match value {
            None => "–".to_owned(),
            Some(value) if value <= best * report.band => format!("**{}**", digits(value)),
            Some(value) => digits(value),
        };
        let limit = min(LIMIT).map_or("–".to_owned(), digits);
        let cells: Vec<String> = libraries.iter().map(|library| cell(min(library))).collect();
        let _ = writeln!(out, "| {label} | {limit} | {} |", cells.join(" | "));
    }
    out.push('\n');
}

/// Writes the best row of Phalanx as a multiple of the best of others, for values of four sizes in containers of three.
fn by_size(out: &mut String, reports: &[Report]) {
    let parts = |name: &'static str| {
        let (rest, count) = name.strip_prefix("store_")?.rsplit_once('_')?;
        let (operation, bytes) = rest.rsplit_once('_')?;
        Some((operation, bytes.strip_suffix('b')?, count))
    };
    let mut operations: Vec<&str> = Vec::new();
    let mut columns: Vec<(&str, &str)> = Vec::new();
    for (operation, bytes, count) in reports.iter().filter_map(|report| parts(report.name)) {
        if !operations.contains(&operation) {
            operations.push(operation);
        }
        if !columns.contains(&(bytes, count)) {
            columns.push((bytes, count));
        }
    }
    if operations.is_empty() {
        return;
    }
    columns.sort_by_key(|(bytes, count)| {
        (["10k", "100k", "1m"].iter().position(|c| c == count), bytes.parse::<u32>().ok())
    });
    let heads: Vec<String> = columns.iter().map(|(bytes, count)| format!("{bytes} B, {count}")).collect();
    let _ = writeln!(out, "### Containers, by size of value\n\n| | {} |", heads.join(" | "));
    let _ = writeln!(out, "|---|{}", "---:|".repeat(columns.len()));
    for operation in operations {
        let cells = columns.iter().map(|(bytes, count)| {
            let name = format!("store_{operation}_{bytes}b_{count}");
            let report = reports.iter().find(|report| report.name == name);
            let pair = report.and_then(|report| Some((report.best(Side::Phalanx)?, report.best(Side::Peer)?)));
            pair.map_or("–".to_owned(), |(ours, theirs)| format!("{:.2}", ours.min / theirs.min))
        });
        let _ = writeln!(out, "| {} | {} |", operation.replace('_', " "), cells.collect::<Vec<_>>().join(" | "));
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{BAND, Unit, Workload};

    fn report(name: &'static str, rows: &[(&str, f64)]) -> Report {
        let row = |(label, min): &(&str, f64)| Row { label: (*label).to_owned(), min: *min, median: *min, samples: 1 };
        let workload =
            Workload { name, about: "", ops: 1.0, op: "op", band: BAND, unit: Unit::Nanoseconds, build: Vec::new() };
        Report::new(&workload, (rows.iter().map(row).collect(), Vec::new()))
    }

    #[test]
    fn every_workload_but_the_sizes_of_values_has_a_label() {
        let labels: Vec<&str> = FAMILIES.iter().flat_map(|family| family.1).map(|(name, _)| *name).collect();
        let names: Vec<&str> = crate::workloads().map(|workload| workload.name).collect();
        for name in &labels {
            assert!(names.contains(name), "no workload {name}");
        }
        let of_a_size = |name: &str| name.split('_').any(|part| matches!(part, "4b" | "16b" | "32b" | "128b"));
        for name in names.iter().filter(|name| !of_a_size(name)) {
            assert!(labels.contains(name), "{name} has no label");
        }
    }

    #[test]
    fn tables_show_verdicts_libraries_and_sizes() {
        let rows =
            [(LIMIT, 2.0), ("phalanx table", 3.0), ("phalanx pool x", 2.9), ("hecs", 6.0), ("hecs columns", 5.0)];
        let sizes = report("store_get_4b_10k", &[("phalanx SlotStore", 1.0), ("slotmap::SlotMap", 2.0)]);
        let tables = tables(&[report("ecs_iter_10k", &rows), sizes]);
        for line in [
            "| iterate two components, 10,000 (`ecs_iter_10k`) | 2.000 | 2.900 | pool x | 1.45 | 5.000 | hecs columns | ahead by 1.72 |",
            "| iterate two components, 10,000 | 2.000 | **2.900** | – | 5.000 | – | – | – | – | – |",
            "| iterate two components, 10,000 | 2.000 | **3.000** | – | **2.900** | – | – |",
            "| | 4 B, 10k |",
            "| get | 0.50 |",
        ] {
            assert!(tables.contains(line), "{line}\n{tables}");
        }
    }
}
