//! The trees of the programs in `tests/dumps`, as outlines that were reviewed.
//!
//! `PHALANX_UPDATE=1 cargo test -p phalanx-syntax --test dumps` rewrites them; review the difference.

use phalanx_syntax::ori::{Kind, parse, print};
use phalanx_syntax::{Kind as _, Lines};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn programs() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dumps");
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut programs: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|ext| ext == "ori")).collect();
    programs.sort();
    programs
}

#[test]
fn trees_are_as_reviewed() {
    let programs = programs();
    assert!(programs.len() >= 20);
    let mut differing = Vec::new();
    for path in programs {
        let source = fs::read(&path).unwrap();
        let ast = parse(&source).unwrap();
        ast.tree.validate().unwrap();
        ast.tree.validate_spans().unwrap();
        let lines = Lines::new(&source);
        let mut text = ast.tree.outline(&ast).to_string();
        let name = path.file_name().unwrap().to_string_lossy();
        for error in &ast.errors {
            text += &format!("\n{}", error.show(&name, &source, &lines));
        }
        let expected = path.with_extension("tree");
        if std::env::var_os("PHALANX_UPDATE").is_some() {
            fs::write(&expected, &text).unwrap();
        } else if fs::read_to_string(&expected).unwrap_or_default() != text {
            differing.push(name.into_owned());
        }
    }
    assert!(differing.is_empty(), "differ from what was reviewed: {differing:?}");
}

/// Only these are in no tree of a finished parse: the first has no content yet, by its very meaning.
const IN_NO_PROGRAM: &[Kind] = &[Kind::Placeholder];

#[test]
fn every_kind_is_produced() {
    let mut seen = BTreeSet::new();
    for path in programs() {
        let source = fs::read(&path).unwrap();
        seen.extend(parse(&source).unwrap().tree.kinds().iter().copied());
    }
    let missing: Vec<&Kind> = Kind::ALL.iter().filter(|kind| !seen.contains(kind)).collect();
    assert_eq!(missing, IN_NO_PROGRAM.iter().collect::<Vec<_>>(), "kinds that no test program produces");
}

#[test]
fn programs_without_errors_print_to_equal_trees_and_stay_so() {
    for path in programs() {
        let source = fs::read(&path).unwrap();
        let ast = parse(&source).unwrap();
        let printed = print(&ast);
        let again = parse(printed.as_bytes()).unwrap();
        if path.file_stem().unwrap() == "recovered" {
            assert_eq!(printed.as_bytes(), source, "a program with errors is given back as it was");
            continue;
        }
        assert!(ast.errors.is_empty(), "{}: {:?}", path.display(), ast.errors);
        assert!(ast.equals(&again), "{}\n{printed}", path.display());
        assert_eq!(print(&again), printed, "{}", path.display());
    }
}

/// However a program is laid out, it is printed alike: all space that can go is taken away, or much more is put in.
#[test]
fn layout_does_not_matter() {
    for path in programs() {
        let source = fs::read_to_string(&path).unwrap();
        let ast = parse(source.as_bytes()).unwrap();
        if !ast.errors.is_empty() || !ast.tokens.comments().is_empty() || source.contains('`') {
            continue;
        }
        let printed = print(&ast).replace("\n\n", "\n");
        let wide: String = source.lines().map(|line| format!("\t{line}   \r\n")).collect();
        assert_eq!(print(&parse(wide.as_bytes()).unwrap()).replace("\n\n", "\n"), printed, "{}", path.display());
        let joined = source.replace('\n', " ");
        assert_eq!(print(&parse(joined.as_bytes()).unwrap()).replace("\n\n", "\n"), printed, "{}", path.display());
    }
}
