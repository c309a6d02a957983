//! Keeps the documentation true: links and anchors lead somewhere, the guide is complete, and examples that it names exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The words that a chapter of the guide may have, listings included.
const MOST_WORDS: usize = 1500;
const GUIDE: &str = "docs/guide/src";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crate is two levels down").to_path_buf()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Finds the files below a folder whose path has an ending, as paths relative to the root with `/`.
fn files(folder: &Path, ending: &str, found: &mut Vec<String>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("the folder can be read").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("names are UTF-8");
        if path.is_dir() {
            // Build output, and what is not part of the repository.
            if !name.starts_with('.') && !["target", "node_modules", "corpus"].contains(&name) {
                files(&path, ending, found);
            }
        } else {
            let path = path.strip_prefix(root()).expect("it is below the root");
            let path = path.to_str().expect("paths are UTF-8").replace('\\', "/");
            if path.ends_with(ending) {
                found.push(path);
            }
        }
    }
}

fn pages() -> BTreeMap<String, String> {
    let mut paths = Vec::new();
    files(&root(), ".md", &mut paths);
    paths.into_iter().map(|path| (path.clone(), read(&path))).collect()
}

/// Returns the text without code: fenced blocks are left out, and inline code is replaced by its content without brackets.
fn prose(text: &str) -> Vec<String> {
    let mut fence: Option<&str> = None;
    let mut lines = Vec::new();
    for line in text.lines() {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, Some(mark)) => fence = Some(mark),
            (Some(_), _) => {}
            (None, None) => {
                let without_code = |(number, part): (usize, &str)| match number % 2 {
                    0 => part.to_string(),
                    _ => part.replace(['[', ']', '(', ')', '<', '>'], ""),
                };
                lines.push(line.split('`').enumerate().map(without_code).collect());
            }
        }
    }
    lines
}

/// Returns the targets of all links and pictures of a page.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        for (mark, end) in [("](", ')'), ("src=\"", '"'), ("href=\"", '"')] {
            let parts = line.split(mark).skip(1).filter_map(|rest| rest.split(end).next());
            found.extend(parts.map(|target| target.split_whitespace().next().unwrap_or_default().to_string()));
        }
        if let Some((_, target)) = line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")) {
            found.push(target.trim().to_string());
        }
    }
    found
}

/// Returns the anchors of a page: its headings, in lower case, without punctuation, with hyphens for spaces.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for heading in prose(text).iter().filter(|line| line.starts_with('#')) {
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || ['-', '_', ' '].contains(c));
        let slug: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let repeated = (1..).map(|number| format!("{slug}-{number}"));
        let anchor = std::iter::once(slug.clone()).chain(repeated).find(|anchor| !anchors.contains(anchor));
        anchors.extend(anchor);
    }
    anchors
}

/// Returns the path that a link of a page leads to, or `None` if it leaves the repository.
fn resolve(page: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in Path::new(target).components() {
        match part {
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::ParentDir => _ = parts.pop()?,
            Component::CurDir => {}
            _ => return None,
        }
    }
    Some(parts.join("/"))
}

/// Returns what is wrong with the links of the pages. `exists` says whether there is a file or a folder.
fn dead_links(pages: &BTreeMap<String, String>, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut dead = Vec::new();
    for (page, text) in pages {
        for link in links(text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (target, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let path = if target.is_empty() { Some(page.clone()) } else { resolve(page, target) };
            let fault = match path {
                None => "leaves the repository".to_string(),
                Some(path) if !pages.contains_key(&path) && !exists(&path) => format!("there is no {path}"),
                // A book has its own pages only.
                Some(path) if page.starts_with(GUIDE) && !path.starts_with(GUIDE) => "leaves the guide".to_string(),
                Some(path)
                    if anchor.is_empty() || pages.get(&path).is_some_and(|text| anchors(text).contains(anchor)) =>
                {
                    continue;
                }
                Some(path) => format!("{path} has no heading #{anchor}"),
            };
            dead.push(format!("{page}: {link}: {fault}"));
        }
    }
    dead
}

#[track_caller]
fn assert_none(faults: Vec<String>) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn links_lead_somewhere() {
    assert_none(dead_links(&pages(), |path| root().join(path).exists()));
}

#[test]
fn dead_links_are_found() {
    let page = "# Some `World::spawn`, here\n[a](b.md#two-words) [c](../d.md) ![e](f.svg) `[g](h)`\n```\n[i](j)\n```\n[k](#nothing)\n[l](../../m)\n";
    let pages = BTreeMap::from([
        ("docs/a.md".to_string(), page.to_string()),
        ("docs/b.md".to_string(), "## Two words\n## Two words".to_string()),
    ]);
    assert!(anchors(page).contains("some-worldspawn-here"));
    assert!(anchors(&pages["docs/b.md"]).contains("two-words-1"));
    let dead = dead_links(&pages, |path| path == "docs/f.svg");
    assert_eq!(
        dead,
        [
            "docs/a.md: ../d.md: there is no d.md",
            "docs/a.md: #nothing: docs/a.md has no heading #nothing",
            "docs/a.md: ../../m: leaves the repository",
        ]
    );
}

/// The pages of the guide, in the order of its summary.
fn chapters() -> Vec<String> {
    links(&read(&format!("{GUIDE}/SUMMARY.md")))
}

#[test]
fn the_guide_has_all_its_pages() {
    let listed: BTreeSet<String> = chapters().into_iter().map(|page| format!("{GUIDE}/{page}")).collect();
    let mut there = Vec::new();
    files(&root().join(GUIDE), ".md", &mut there);
    let there: BTreeSet<String> = there.into_iter().filter(|page| !page.ends_with("SUMMARY.md")).collect();
    assert_eq!(listed, there, "the summary and the folder differ");
    // The listings of a page that needs other crates are tests of a crate of the workspace `reach`.
    let mut sources = vec!["crates/phalanx-guide/src/lib.rs".to_string()];
    files(&root().join("reach"), "/lib.rs", &mut sources);
    let tested: String = sources.iter().map(|path| read(path)).collect();
    let untested = there.iter().filter(|page| !tested.contains(&format!("include_str!(\"../../../{page}\")")));
    assert_none(untested.map(|page| format!("{page}: its listings are not tested")).collect());
}

#[test]
fn the_listings_of_the_guide_are_run() {
    let mut faults = Vec::new();
    for page in chapters() {
        let text = read(&format!("{GUIDE}/{page}"));
        // `no_run` is for what needs a network or does not end.
        let skipped = text.lines().filter(|line| line.starts_with("```rust,ignore"));
        faults.extend(skipped.map(|line| format!("{page}: {line}")));
    }
    assert_none(faults);
}

#[test]
fn chapters_are_short() {
    let words = |page: &String| read(&format!("{GUIDE}/{page}")).split_whitespace().count();
    let long = chapters().into_iter().map(|page| (words(&page), page)).filter(|(count, _)| *count > MOST_WORDS);
    assert_none(long.map(|(count, page)| format!("{page} has {count} words")).collect());
}

#[test]
fn examples_that_are_named_exist() {
    let mut faults = Vec::new();
    let mut sources = Vec::new();
    for folder in ["crates", "reach"] {
        files(&root().join(folder), ".rs", &mut sources);
    }
    let examples: BTreeSet<&str> = sources
        .iter()
        .filter_map(|path| path.split_once("/examples/"))
        .map(|(_, name)| name.trim_end_matches("/main.rs").trim_end_matches(".rs"))
        .collect();
    for (page, text) in pages() {
        for rest in text.split("--example ").skip(1) {
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if !name.is_empty() && !examples.contains(name.as_str()) {
                faults.push(format!("{page}: there is no example {name}"));
            }
        }
    }
    assert_none(faults);
}

#[test]
fn copies_of_pictures_are_equal() {
    let (one, other) = (read("docs/containers.svg"), read("docs/guide/src/img/containers.svg"));
    assert!(one == other, "docs/containers.svg and its copy in the guide differ");
}
