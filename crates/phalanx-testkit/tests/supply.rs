//! The gate over what the workspace builds from: sources, licences, build scripts, known-bad releases.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Licences that ask for no more than attribution.
const ALLOWED: [&str; 12] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crate is two levels down").to_path_buf()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

struct Package {
    name: String,
    version: String,
    licence: Option<String>,
    source: Option<String>,
    build_script: bool,
    member: bool,
}

/// Every package any feature on any platform could bring in.
fn packages() -> &'static [Package] {
    static PACKAGES: OnceLock<Vec<Package>> = OnceLock::new();
    PACKAGES.get_or_init(|| packages_of("."))
}

/// The packages of the workspace in a folder. A crate of this repository that it uses counts as a member.
fn packages_of(workspace: &str) -> Vec<Package> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked", "--all-features"])
        .current_dir(root().join(workspace))
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    let crates = [root().join(workspace), root().join("crates")];
    let text = |value: &Value| value.as_str().map(String::from);
    let package =
        |package: &Value| {
            let manifest = PathBuf::from(package["manifest_path"].as_str().expect("a package has a manifest"));
            let source = text(&package["source"]);
            Package {
                name: text(&package["name"]).expect("a package has a name"),
                version: text(&package["version"]).expect("a package has a version"),
                licence: text(&package["license"]),
                build_script: package["targets"].as_array().expect("targets are a list").iter().any(|target| {
                    target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|k| k == "custom-build"))
                }),
                member: source.is_none() && crates.iter().any(|folder| manifest.starts_with(folder)),
                source,
            }
        };
    metadata["packages"].as_array().expect("packages are a list").iter().map(package).collect()
}

fn external() -> impl Iterator<Item = &'static Package> {
    packages().iter().filter(|package| !package.member)
}

#[track_caller]
fn assert_none(faults: Vec<String>) {
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// Whether a licence expression can be satisfied with allowed licences alone.
///
/// SPDX with `AND` binding stronger than `OR`, and the old `/` for `OR`.
fn allowed(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    any_of(&mut words) == Some(true) && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any_of(words: &mut Words<'_>) -> Option<bool> {
    let mut result = all_of(words)?;
    while words.next_if_eq(&"OR").is_some() {
        result |= all_of(words)?;
    }
    Some(result)
}

fn all_of(words: &mut Words<'_>) -> Option<bool> {
    let mut result = one(words)?;
    while words.next_if_eq(&"AND").is_some() {
        result &= one(words)?;
    }
    Some(result)
}

fn one(words: &mut Words<'_>) -> Option<bool> {
    let word = words.next()?;
    if word == "(" {
        let inner = any_of(words)?;
        words.next_if_eq(&")")?;
        return Some(inner);
    }
    let mut licence = word.to_string();
    if words.next_if_eq(&"WITH").is_some() {
        licence = format!("{licence} WITH {}", words.next()?);
    }
    Some(ALLOWED.contains(&licence.as_str()))
}

/// The first cells of the table rows under a heading of a page.
fn listed(page: &str, heading: &str) -> Vec<String> {
    let section = page.split("\n## ").find(|section| section.starts_with(heading));
    let section = section.unwrap_or_else(|| panic!("no heading `## {heading}`"));
    let mut names = Vec::new();
    for line in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        assert!(cells.len() == 2 && cells[1].len() > 10, "a crate and a reason: {line}");
        names.push(cells[0].trim_matches('`').to_string());
    }
    names
}

/// A version as numbers, what follows a `-` or `+` left out.
fn numbers(version: &str) -> [u64; 3] {
    let core = version.split(['-', '+']).next().unwrap_or("");
    let mut parts = core.split('.').map(|part| part.parse().unwrap_or_else(|_| panic!("`{version}` is no version")));
    [(); 3].map(|()| parts.next().unwrap_or(0))
}

/// Whether a version lies in a range: `*`, or comparisons joined by commas.
fn within(version: &str, range: &str) -> bool {
    let version = numbers(version);
    range.split(',').map(str::trim).all(|bound| match bound {
        "*" => true,
        _ => {
            let digits = bound.find(|c: char| c.is_ascii_digit()).unwrap_or_else(|| panic!("`{range}` is no range"));
            let (operator, limit) = (bound[..digits].trim(), numbers(&bound[digits..]));
            match operator {
                "=" => version == limit,
                "<" => version < limit,
                "<=" => version <= limit,
                ">" => version > limit,
                ">=" => version >= limit,
                _ => panic!("`{range}` is no range"),
            }
        }
    })
}

/// The crate, range and reason of each entry of the deny list.
fn denied(list: &str) -> Vec<[&str; 3]> {
    let entries = list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    entries
        .map(|line| {
            let mut cells = line.splitn(3, '|').map(str::trim);
            let cells = [(); 3].map(|()| cells.next().unwrap_or(""));
            assert!(cells.iter().all(|cell| !cell.is_empty()), "crate | range | reason: {line}");
            cells
        })
        .collect()
}

#[test]
fn h76_every_package_comes_from_the_registry() {
    let foreign = external().filter(|package| package.source.as_deref() != Some(REGISTRY));
    assert_none(foreign.map(|p| format!("{} {} comes from {:?}", p.name, p.version, p.source)).collect());
    assert!(packages().iter().any(|package| package.member), "the workspace has members");
}

#[test]
fn h76_every_licence_is_allowed() {
    let fault = |p: &Package| match p.licence.as_deref() {
        Some(licence) if allowed(licence) => None,
        licence => Some(format!("{} {}: {}", p.name, p.version, licence.unwrap_or("no licence named"))),
    };
    assert_none(packages().iter().filter_map(fault).collect());
}

#[test]
fn h76_build_scripts_are_the_listed_ones() {
    let ours = packages().iter().filter(|package| package.member && package.build_script);
    assert_none(ours.map(|p| format!("{} has a build script", p.name)).collect());

    let page = read("docs/supply.md");
    let rows = listed(&page, "Dependencies with a build script");
    let listed: BTreeSet<&str> = rows.iter().map(String::as_str).collect();
    assert_eq!(listed.len(), rows.len(), "docs/supply.md lists a crate twice");
    let real: BTreeSet<&str> = external().filter(|p| p.build_script).map(|p| p.name.as_str()).collect();
    let missing = real.difference(&listed).map(|name| format!("docs/supply.md does not list {name}"));
    let stale =
        listed.difference(&real).map(|name| format!("docs/supply.md lists {name}, which has no build script here"));
    assert_none(missing.chain(stale).collect());
}

#[test]
fn h76_no_package_is_denied() {
    let list = read("docs/denied.txt");
    let denied = denied(&list);
    let faults = external().filter_map(|p| Some(format!("{} {}: {}", p.name, p.version, denial(p, &denied)?)));
    assert_none(faults.collect());
}

/// Why a package is denied, if it is.
fn denial(package: &Package, denied: &[[&str; 3]]) -> Option<String> {
    let Package { name, version, .. } = package;
    let [_, _, reason] = denied.iter().find(|[denied, range, _]| denied == name && within(version, range))?;
    Some(format!("it is denied: {reason}"))
}

/// Their packages are downloaded only where they are built.
#[test]
#[ignore = "downloads the packages of other workspaces"]
fn h76_other_workspaces_have_no_package_that_is_not_accepted() {
    let (page, list) = (read("docs/supply.md"), read("docs/denied.txt"));
    let (accepted, denied) = (listed(&page, "Accepted in other workspaces"), denied(&list));
    let mut faults = Vec::new();
    let mut used = BTreeSet::new();
    for workspace in ["reach", "bench/peers", "bench/rollback"] {
        let lock = read(&format!("{workspace}/Cargo.lock"));
        for package in packages_of(workspace) {
            let Package { name, version, licence, source, member, build_script } = &package;
            let mut fault = |is_accepted: bool, text: String| match is_accepted && accepted.contains(name) {
                true => _ = used.insert(name.clone()),
                false => faults.push(format!("{workspace}: {name} {version}: {text}")),
            };
            if !licence.as_deref().is_some_and(allowed) {
                fault(true, format!("its licence is {licence:?}"));
            }
            if *member {
                if *build_script {
                    fault(false, "a crate of ours has a build script".into());
                }
                continue;
            }
            if source.as_deref() != Some(REGISTRY) {
                fault(false, format!("it comes from {source:?}"));
            }
            if !is_locked(&lock, &package) {
                fault(false, "it has no checksum in the lockfile".into());
            }
            if let Some(reason) = denial(&package, &denied) {
                fault(true, reason);
            }
        }
    }
    let stale = accepted.iter().filter(|name| !used.contains(*name));
    faults.extend(stale.map(|name| format!("docs/supply.md accepts {name}, which needs no exception")));
    assert_none(faults);
}

/// Whether a lockfile has the checksum of a package.
fn is_locked(lock: &str, package: &Package) -> bool {
    let entry = format!("name = \"{}\"\nversion = \"{}\"\n", package.name, package.version);
    let rest = lock.split(&entry).nth(1).and_then(|rest| rest.split("\n\n").next());
    rest.is_some_and(|rest| rest.contains("checksum = "))
}

#[test]
fn h76_the_lockfile_is_committed() {
    let lock = read("Cargo.lock");
    for package in external() {
        assert!(is_locked(&lock, package), "{} is not locked with a checksum", package.name);
    }
    let ignored = read(".gitignore").lines().any(|line| line.contains("Cargo.lock"));
    assert!(!ignored, "Cargo.lock is ignored");
    // Outside of a checkout (a source archive) there is no index to ask.
    if root().join(".git").exists() {
        let tracked =
            Command::new("git").args(["ls-files", "--error-unmatch", "Cargo.lock"]).current_dir(root()).output();
        assert!(tracked.is_ok_and(|output| output.status.success()), "Cargo.lock is not tracked by git");
    }
}

#[test]
fn licence_expressions_are_understood() {
    for fine in [
        "MIT",
        "MIT OR Apache-2.0",
        "MIT/Apache-2.0",
        "GPL-3.0-only OR MIT",
        "(MIT OR GPL-2.0-only) AND Unicode-3.0",
        "Apache-2.0 WITH LLVM-exception OR GPL-2.0-only",
    ] {
        assert!(allowed(fine), "{fine}");
    }
    for bad in ["", "GPL-3.0-only", "MIT AND GPL-3.0-only", "(MIT", "MIT)", "MIT Apache-2.0", "MIT WITH", "OR MIT"] {
        assert!(!allowed(bad), "{bad}");
    }
}

#[test]
fn version_ranges_are_understood() {
    assert!(within("1.2.3", "*") && within("1.2.3", "=1.2.3") && within("1.2.3", ">=1, <1.2.4"));
    assert!(within("1.2.3-beta.1", "=1.2.3") && within("0.10.0", ">0.9.9"));
    assert!(!within("1.2.3", "<1.2.3") && !within("1.2.4", "<=1.2.3") && !within("2.0.0", ">=1, <2"));
}

#[test]
fn a_denied_release_would_be_found() {
    let list = "# comment\n\nbad | =1.0.1 | stolen\nold | < 2 | unsound";
    assert_eq!(denied(list), [["bad", "=1.0.1", "stolen"], ["old", "< 2", "unsound"]]);
    assert!(within("1.9.9", denied(list)[1][1]));
}
