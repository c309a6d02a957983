//! Keeps the crates ready to be published: metadata, READMEs, documented features, and an order in which cargo accepts them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crate is two levels down").to_path_buf()
}

struct Dependency {
    name: String,
    /// `false` if it is only a path, which cargo leaves out of a published manifest if only tests use it.
    has_version: bool,
    development: bool,
}

struct Package {
    name: String,
    version: String,
    published: bool,
    folder: PathBuf,
    features: Vec<String>,
    dependencies: Vec<Dependency>,
    manifest: Value,
}

impl Package {
    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.folder.join(path)).unwrap_or_else(|error| panic!("{}/{path}: {error}", self.name))
    }

    /// Returns the strings in a list of the manifest.
    fn list(&self, key: &str) -> Vec<&str> {
        self.manifest[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// Returns the documentation of the crate itself.
    fn front_page(&self) -> String {
        let text = self.read("src/lib.rs");
        text.lines().filter(|line| line.starts_with("//!") || line.starts_with("#![")).collect::<Vec<_>>().join("\n")
    }
}

fn packages() -> &'static [Package] {
    static PACKAGES: OnceLock<Vec<Package>> = OnceLock::new();
    PACKAGES.get_or_init(|| packages_of("."))
}

/// Returns the published packages, and those of the workspace `reach`.
fn with_reach() -> impl Iterator<Item = &'static Package> {
    static PACKAGES: OnceLock<Vec<Package>> = OnceLock::new();
    published().chain(PACKAGES.get_or_init(|| packages_of("reach")))
}

fn packages_of(workspace: &str) -> Vec<Package> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked", "--no-deps"])
        .current_dir(root().join(workspace))
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    let text = |value: &Value| value.as_str().expect("it is a text").to_string();
    let dependency = |dependency: &Value| Dependency {
        name: text(&dependency["name"]),
        has_version: dependency["req"] != "*",
        development: dependency["kind"] == "dev",
    };
    let package = |package: &Value| Package {
        name: text(&package["name"]),
        version: text(&package["version"]),
        // An empty list of registries is `publish = false`.
        published: package["publish"].is_null(),
        folder: Path::new(&text(&package["manifest_path"])).parent().expect("it is in a folder").to_path_buf(),
        features: package["features"].as_object().expect("features are a map").keys().cloned().collect(),
        dependencies: package["dependencies"].as_array().expect("a list").iter().map(dependency).collect(),
        manifest: package.clone(),
    };
    metadata["packages"].as_array().expect("packages are a list").iter().map(package).collect()
}

fn published() -> impl Iterator<Item = &'static Package> {
    packages().iter().filter(|package| package.published)
}

#[track_caller]
fn assert_none(faults: Vec<String>) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

/// Returns whether the registry accepts a keyword.
fn is_keyword(word: &str) -> bool {
    word.len() <= 20
        && word.starts_with(|first: char| first.is_ascii_alphanumeric())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || ['-', '_', '+'].contains(&c))
}

#[test]
fn crates_for_tests_are_not_published() {
    let kept: Vec<_> = packages().iter().filter(|package| !package.published).map(|package| &*package.name).collect();
    for name in ["phalanx-guide", "phalanx-lab", "phalanx-testkit"] {
        assert!(kept.contains(&name), "{name} would be published");
    }
}

#[test]
fn manifests_have_what_the_registry_shows() {
    let mut faults = Vec::new();
    for package in with_reach() {
        for key in ["description", "license", "readme", "rust_version"] {
            if package.manifest[key].as_str().is_none_or(str::is_empty) {
                faults.push(format!("{} has no {key}", package.name));
            }
        }
        for (key, limit) in [("keywords", 5), ("categories", 5)] {
            let number = package.list(key).len();
            if number == 0 || number > limit {
                faults.push(format!("{} has {number} {key}", package.name));
            }
        }
        let wrong = package.list("keywords").into_iter().filter(|word| !is_keyword(word));
        faults.extend(wrong.map(|word| format!("{}: \"{word}\" is not a keyword", package.name)));
    }
    assert_none(faults);
}

#[test]
fn packages_have_licences_and_the_same_version() {
    for package in with_reach() {
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let text = fs::read_to_string(root().join(licence)).expect("the licence is there");
            assert!(package.read(licence) == text, "{}: {licence} differs", package.name);
        }
        assert_eq!(package.version, packages()[0].version, "{}", package.name);
    }
}

#[test]
fn the_changelog_has_a_section_for_the_version() {
    let text = fs::read_to_string(root().join("CHANGELOG.md")).expect("it is there");
    let headings: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(headings.first(), Some(&"Unreleased"));
    let version = &packages()[0].version;
    assert!(headings.iter().any(|heading| heading.split_whitespace().next() == Some(version)), "no {version}");
}

#[test]
fn examples_of_readmes_are_tests() {
    // A program has no doc tests.
    for package in with_reach().filter(|package| package.folder.join("src/lib.rs").exists()) {
        let text = package.read("src/lib.rs");
        let included = text.contains("#[cfg(doctest)]\n#[doc = include_str!(\"../README.md\")]");
        assert!(included, "the README of {} is not tested", package.name);
        assert!(package.read("README.md").contains("```rust"), "the README of {} has no example", package.name);
    }
}

#[test]
fn features_are_on_the_front_page_and_in_the_readme() {
    let mut faults = Vec::new();
    for package in with_reach().filter(|package| package.folder.join("src/lib.rs").exists()) {
        let (page, readme) = (package.front_page(), package.read("README.md"));
        for feature in package.features.iter().filter(|feature| *feature != "default") {
            if !page.contains(&format!("//! - `{feature}`")) {
                faults.push(format!("{}: the front page does not explain `{feature}`", package.name));
            }
            if !readme.contains(&format!("| `{feature}`")) {
                faults.push(format!("{}: the README does not explain `{feature}`", package.name));
            }
        }
        if !package.features.is_empty() {
            let settings = &package.manifest["metadata"]["docs"]["rs"];
            let is_marked = page.contains("#![cfg_attr(docsrs, feature(doc_cfg))]");
            let shown = settings["all-features"] == true && is_marked;
            if !shown {
                faults.push(format!("{}: docs.rs would not show features", package.name));
            }
        }
    }
    assert_none(faults);
}

#[test]
fn the_order_of_publishing_works() {
    let text = fs::read_to_string(root().join("CONTRIBUTING.md")).expect("it is there");
    let order: Vec<_> = text.lines().filter_map(|line| line.trim().strip_prefix("cargo publish -p ")).collect();
    let mut names: Vec<_> = published().map(|package| &*package.name).collect();
    let mut listed = order.clone();
    names.sort_unstable();
    listed.sort_unstable();
    assert_eq!(listed, names, "CONTRIBUTING.md does not list each published crate once");

    let mut faults = Vec::new();
    for package in published() {
        let place = |name: &str| order.iter().position(|listed| *listed == name);
        let ours = package.dependencies.iter().filter(|d| packages().iter().any(|package| package.name == d.name));
        for dependency in ours {
            let left_out = dependency.development && !dependency.has_version;
            let before = place(&dependency.name).is_some_and(|at| Some(at) < place(&package.name));
            let accepted = left_out || (dependency.has_version && before);
            if !accepted {
                faults.push(format!("{} needs {}, which is not published before it", package.name, dependency.name));
            }
        }
    }
    assert_none(faults);
}
