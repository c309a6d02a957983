//! Real programs, if a directory of them is given in `PHALANX_ORI_CORPUS`: none of them is part of this repository.

mod common;

use common::{check, tokens_lie_in_one_node};
use phalanx_syntax::Lines;
use phalanx_syntax::ori::{Ast, parse, print};
use phalanx_testkit::Rng;
use std::path::{Path, PathBuf};

fn programs(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            programs(&path, found);
        } else if path.extension().is_some_and(|ext| ext == "ori") {
            found.push(path);
        }
    }
}

fn for_each_program(mut check: impl FnMut(&Path, &Ast<'_>)) {
    let Some(dir) = std::env::var_os("PHALANX_ORI_CORPUS") else { return };
    let mut found = Vec::new();
    programs(Path::new(&dir), &mut found);
    found.sort();
    assert!(!found.is_empty(), "no programs in {}", dir.display());
    for path in found {
        let source = std::fs::read(&path).unwrap();
        check(&path, &parse(&source).unwrap());
    }
}

#[test]
fn real_programs_parse() {
    let (mut failed, mut all, mut bytes, mut tokens, mut nodes, mut extra) = (0, 0, 0, 0, 0, 0);
    for_each_program(|path, ast| {
        all += 1;
        bytes += ast.source.len();
        tokens += ast.tokens.len();
        nodes += ast.tree.len();
        extra += ast.tree.extra_len();
        ast.tree.validate().unwrap_or_else(|fault| panic!("{}: {fault}", path.display()));
        ast.tree.validate_spans().unwrap_or_else(|fault| panic!("{}: {fault}", path.display()));
        if !ast.errors.is_empty() {
            failed += 1;
            let lines = Lines::new(ast.source);
            for error in ast.errors.iter().take(3) {
                print!("{}", error.show(&path.display().to_string(), ast.source, &lines));
            }
        }
    });
    println!(
        "{all} programs, {failed} with errors; {bytes} bytes, {tokens} tokens, {nodes} nodes, {extra} extra words"
    );
    println!("tree bytes per source byte: {:.3}", (nodes * 17 + extra * 4) as f64 / bytes.max(1) as f64);
}

#[test]
fn real_programs_print_and_parse_to_the_same_tree() {
    for_each_program(|path, ast| {
        let printed = print(ast);
        let again = parse(printed.as_bytes()).unwrap();
        if !ast.equals(&again) {
            panic!("{}: the tree differs", path.display());
        }
        assert_eq!(print(&again), printed, "{}: not stable", path.display());
        let comments = |ast: &Ast<'_>| -> Vec<String> {
            let text =
                |span: &phalanx_syntax::Span| String::from_utf8_lossy(span.of(ast.source)).trim_end().to_string();
            ast.tokens.comments().iter().map(text).collect()
        };
        assert_eq!(comments(ast), comments(&again), "{}: comments", path.display());
        if let Some(dir) = std::env::var_os("PHALANX_ORI_PRINTED") {
            let name = path.display().to_string().replace('/', "_");
            std::fs::write(Path::new(&dir).join(name), printed).unwrap();
        }
    });
}

/// Real programs with tokens missing, doubled and exchanged, `PHALANX_ROUNDS` times each: what holds for any bytes holds
/// for them.
#[test]
fn mutated_real_programs_end_in_a_sound_tree() {
    let rounds = std::env::var("PHALANX_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(0);
    let mut rng = Rng::new(488);
    for_each_program(|_, ast| {
        if rounds > 0 {
            tokens_lie_in_one_node(ast);
        }
        let spans: Vec<phalanx_syntax::Span> = ast.tokens.iter().map(|(_, span)| span).collect();
        for _ in 0..rounds {
            let mut text = ast.source.to_vec();
            // From the end, so that the places before it stay true.
            let mut at = spans.len() - 1;
            while at > 0 {
                let (span, other) = (spans[at], spans[rng.below(spans.len())]);
                let place = span.start as usize..span.end as usize;
                match rng.below(3) {
                    0 => drop(text.splice(place, [b' '])),
                    1 => drop(text.splice(place.end..place.end, other.of(ast.source).iter().copied())),
                    _ => drop(text.splice(place, other.of(ast.source).iter().copied())),
                }
                at = at.saturating_sub(1 + rng.below(spans.len()));
            }
            check(&text);
        }
    });
}
