//! Keeps `tests/hostile.md` true: complete, without doubles, and naming tests that exist.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const NUMBERS: std::ops::RangeInclusive<u32> = 1..=105;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crate is two levels down").to_path_buf()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[derive(Debug, PartialEq)]
enum Guard {
    Tests(Vec<String>),
    Awaits(Vec<String>),
    Reason,
}

#[derive(Debug)]
struct Row {
    number: u32,
    guard: Guard,
}

/// The rows of the table, or what is wrong with the page.
fn parse(page: &str) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for line in page.lines().filter(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [number, survived, guarded] = cells[..] else { return Err(format!("not three cells: {line}")) };
        let Ok(number) = number.parse() else {
            if rows.is_empty() {
                continue;
            }
            return Err(format!("no number: {line}"));
        };
        if survived.is_empty() {
            return Err(format!("{number}: says nothing"));
        }
        let names: Vec<String> = guarded.split('`').skip(1).step_by(2).map(String::from).collect();
        let reason = ["not applicable, because ", "belongs to work not yet begun: "]
            .iter()
            .any(|start| guarded.strip_prefix(start).is_some_and(|rest| !rest.trim().is_empty()));
        let guard = match guarded {
            _ if reason => Guard::Reason,
            _ if names.is_empty() => return Err(format!("{number}: neither tests nor a reason")),
            _ if guarded.starts_with("awaits ") => Guard::Awaits(names),
            _ => Guard::Tests(names),
        };
        rows.push(Row { number, guard });
    }
    Ok(rows)
}

fn missing_and_repeated(rows: &[Row]) -> Vec<String> {
    let mut faults = Vec::new();
    for number in NUMBERS {
        match rows.iter().filter(|row| row.number == number).count() {
            1 => {}
            0 => faults.push(format!("{number} is absent")),
            count => faults.push(format!("{number} stands there {count} times")),
        }
    }
    faults.extend(
        rows.iter().filter(|row| !NUMBERS.contains(&row.number)).map(|row| format!("{} is no number", row.number)),
    );
    faults
}

/// All Rust files at `path`, a file or a folder, in a fixed order.
fn rust_files(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let mut entries: Vec<PathBuf> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        entries.iter().for_each(|entry| rust_files(entry, found));
    } else if path.extension().is_some_and(|ext| ext == "rs") && path.exists() {
        found.push(path.to_path_buf());
    }
}

/// The names of the functions that stand under `#[test]`.
fn tests_in(source: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut pending = false;
    for line in source.lines().map(str::trim) {
        if line == "#[test]" {
            pending = true;
        } else if let Some(rest) = line.strip_prefix("fn ").filter(|_| pending) {
            names.push(rest.split(['(', '<']).next().unwrap_or("").to_string());
            pending = false;
        } else if !(line.starts_with('#') || line.starts_with("//") || line.is_empty()) {
            // Attributes may stand between, and may be broken over lines; a statement may not.
            pending &= !line.ends_with(['{', ';', '}']);
        }
    }
    names
}

/// The Rust files that a name `crate::file::…` points to; none while they are not written.
fn files_of(root: &Path, test: &str) -> Result<Vec<PathBuf>, String> {
    let parts: Vec<&str> = test.split("::").collect();
    let [krate, file, ..] = parts[..] else { return Err(format!("`{test}` is not crate::file::function")) };
    if parts.len() < 3 {
        return Err(format!("`{test}` is not crate::file::function"));
    }
    let home = root.join("crates").join(krate);
    if !home.is_dir() {
        return Err(format!("`{test}` names a crate that does not exist"));
    }
    let mut found = Vec::new();
    if file == "src" {
        rust_files(&home.join("src"), &mut found);
    } else {
        rust_files(&home.join("tests").join(format!("{file}.rs")), &mut found);
        let folder = home.join("tests").join(file);
        if folder.is_dir() {
            rust_files(&folder, &mut found);
        }
    }
    Ok(found)
}

fn fault_of_test(root: &Path, row: u32, test: &str, awaited: bool) -> Option<String> {
    let files = match files_of(root, test) {
        Ok(files) => files,
        Err(fault) => return Some(format!("{row}: {fault}")),
    };
    let function = test.rsplit("::").next().unwrap_or(test);
    if let Some(number) = hostile_number(function).filter(|&number| number != row) {
        return Some(format!("{row}: `{test}` belongs to row {number} by its name"));
    }
    if awaited && files.is_empty() {
        return None;
    }
    let exists = files.iter().any(|file| tests_in(&read(file)).iter().any(|name| name == function));
    match (exists, awaited) {
        (true, false) => None,
        (true, true) => Some(format!("{row}: `{test}` is written, so the row no longer awaits it")),
        (false, _) => Some(format!("{row}: `{test}` does not exist")),
    }
}

/// The row a test claims by a name like `h07_…`.
fn hostile_number(function: &str) -> Option<u32> {
    let (digits, rest) = function.strip_prefix('h')?.split_at_checked(2)?;
    rest.strip_prefix('_')?;
    digits.parse().ok()
}

#[test]
fn every_number_stands_there_once() {
    let rows = parse(&read(&root().join("tests/hostile.md"))).unwrap();
    let faults = missing_and_repeated(&rows);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_test_named_exists() {
    let root = root();
    let rows = parse(&read(&root.join("tests/hostile.md"))).unwrap();
    let mut faults = Vec::new();
    for row in &rows {
        let (names, awaited) = match &row.guard {
            Guard::Tests(names) => (names, false),
            Guard::Awaits(names) => (names, true),
            Guard::Reason => continue,
        };
        faults.extend(names.iter().filter_map(|name| fault_of_test(&root, row.number, name, awaited)));
    }
    assert!(faults.is_empty(), "tests/hostile.md:\n{}", faults.join("\n"));
}

#[test]
fn every_hostile_test_stands_in_the_table() {
    let root = root();
    let page = read(&root.join("tests/hostile.md"));
    let mut files = Vec::new();
    rust_files(&root.join("crates"), &mut files);
    let mut strays = BTreeMap::new();
    for file in files {
        for name in tests_in(&read(&file)) {
            if hostile_number(&name).is_some() && !page.contains(&format!("::{name}`")) {
                strays.insert(name, file.clone());
            }
        }
    }
    assert!(strays.is_empty(), "not in tests/hostile.md: {strays:#?}");
}

#[test]
fn the_checker_sees_faults() {
    let rows = |page: &str| parse(page).unwrap();
    let faults = missing_and_repeated(&rows("| 1 | a | `x::y::z` |\n| 1 | b | `x::y::z` |\n| 199 | c | `x::y::z` |"));
    assert!(faults.contains(&"1 stands there 2 times".to_string()));
    assert!(faults.contains(&"2 is absent".to_string()));
    assert!(faults.contains(&"199 is no number".to_string()));

    assert!(parse("| 1 | a | soon |").is_err());
    assert!(parse("| 1 | a | not applicable, because |").is_err());
    assert!(parse("| 1 |  | `x::y::z` |").is_err());
    assert_eq!(rows("| 1 | a | not applicable, because b |")[0].guard, Guard::Reason);

    let root = root();
    let fault = |row, test, awaited| fault_of_test(&root, row, test, awaited).unwrap_or_default();
    let here = "phalanx-testkit::hostile_table::the_checker_sees_faults";
    assert_eq!(fault(1, here, false), "");
    assert!(fault(1, here, true).contains("no longer awaits"));
    assert!(fault(1, "phalanx-testkit::hostile_table::parse", false).contains("does not exist"));
    assert!(fault(1, "phalanx-testkit::hostile_table::no_such", true).contains("does not exist"));
    assert!(fault(1, "phalanx-testkit::no_such_file::name", false).contains("does not exist"));
    assert_eq!(fault(1, "phalanx-testkit::no_such_file::name", true), "");
    assert!(fault(1, "no-such-crate::file::name", true).contains("crate that does not exist"));
    assert!(fault(1, "phalanx-testkit::h02_name", false).contains("is not crate::file::function"));
    assert!(fault(1, "phalanx-testkit::supply::h02_name", false).contains("belongs to row 2"));
}

#[test]
fn tests_are_found_under_their_attribute() {
    let source = "#[test]\nfn plain() {}\n\nfn other() {}\n#[test]\n#[should_panic(\n    expected = \"x\"\n)]\n/// Doc.\nfn wrapped() {}\n\
                  // #[test]\nfn commented() {}";
    assert_eq!(tests_in(source), ["plain", "wrapped"]);
}
