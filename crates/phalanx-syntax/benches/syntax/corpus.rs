//! What is lexed and parsed.

use std::path::Path;

/// The programs of the tests that can stand one after the other in a file.
const OWN: &[&str] = &[
    include_str!("../../tests/dumps/literals.ori"),
    include_str!("../../tests/dumps/operators.ori"),
    include_str!("../../tests/dumps/precedence.ori"),
    include_str!("../../tests/dumps/postfix.ori"),
    include_str!("../../tests/dumps/control.ori"),
    include_str!("../../tests/dumps/bindings.ori"),
    include_str!("../../tests/dumps/lambdas.ori"),
    include_str!("../../tests/dumps/sequences.ori"),
    include_str!("../../tests/dumps/matches.ori"),
    include_str!("../../tests/dumps/forms.ori"),
    include_str!("../../tests/dumps/collections.ori"),
    include_str!("../../tests/dumps/templates.ori"),
    include_str!("../../tests/dumps/types.ori"),
    include_str!("../../tests/dumps/functions.ori"),
    include_str!("../../tests/dumps/tests.ori"),
    include_str!("../../tests/dumps/type_items.ori"),
    include_str!("../../tests/dumps/traits.ori"),
    include_str!("../../tests/dumps/comments.ori"),
];

/// The programs of the directory in `PHALANX_ORI_CORPUS`, or else one made of our own.
pub fn load() -> (String, Vec<Vec<u8>>) {
    if let Some(dir) = std::env::var_os("PHALANX_ORI_CORPUS") {
        let mut found = Vec::new();
        read(Path::new(&dir), &mut found);
        assert!(!found.is_empty(), "no programs in {}", dir.display());
        return ("real programs".to_string(), found);
    }
    let mut made = String::new();
    while made.len() < 2_000_000 {
        OWN.iter().for_each(|program| made.push_str(program));
    }
    ("a program made of those of the tests".to_string(), vec![made.into_bytes()])
}

fn read(dir: &Path, found: &mut Vec<Vec<u8>>) {
    let mut paths: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            read(&path, found);
        } else if path.extension().is_some_and(|ext| ext == "ori") {
            found.push(std::fs::read(path).unwrap());
        }
    }
}
