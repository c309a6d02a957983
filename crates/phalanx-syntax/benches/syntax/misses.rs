//! Cache lines touched by counting a kind, as valgrind's cache simulation sees them.

use super::contenders::{Arena, Boxed};
use super::{Targets, corpus, large};
use phalanx_syntax::ori::Kind;
use std::hint::black_box;
use std::process::Command;

/// Fewer nodes than elsewhere, since everything takes fifty times as long.
const NODES: usize = 200_000;

/// Counts in one layout, so often. Run under valgrind by [`compare`].
pub fn probe(layout: &str, times: usize) {
    let tree = large(&corpus::load().1, NODES);
    let (arena, boxed) = (Arena::of(&tree), Boxed::forest(&tree));
    for _ in 0..times {
        black_box(match layout {
            "tree" => tree.count_kind(black_box(Kind::Ident)),
            "arena" => arena.count(black_box(Kind::Ident)),
            _ => Boxed::count(&boxed, black_box(Kind::Ident)),
        });
    }
    if times == 0 {
        println!("{}", tree.len());
    }
}

/// Reads of data that missed the first cache in a run of [`probe`].
fn misses(layout: &str, times: usize) -> Option<f64> {
    let this = std::env::current_exe().ok()?;
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--cache-sim=yes", "--callgrind-out-file=/dev/null"]);
    let output = command.arg(this).args(["--probe", layout, &times.to_string()]).output().ok()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    // "==1== D1  misses:  1,234  ( 1,000 rd + 234 wr)"
    let line = text.lines().find(|line| line.contains("D1") && line.contains("misses"))?;
    let reads = line.split('(').nth(1)?.split("rd").next()?;
    reads.chars().filter(char::is_ascii_digit).collect::<String>().parse().ok()
}

pub fn compare(targets: &mut Targets) {
    println!("\ncache lines read by one count over {NODES} nodes and a few (callgrind)");
    let mut lines = Vec::new();
    for layout in ["tree", "arena", "boxes"] {
        let (Some(one), Some(five)) = (misses(layout, 1), misses(layout, 5)) else {
            println!("  valgrind did not run: nothing measured");
            return;
        };
        lines.push((five - one) / 4.0);
        println!(
            "  {layout:<12} {:>9.0}   {:>6.2} times the tree",
            lines[lines.len() - 1],
            lines[lines.len() - 1] / lines[0]
        );
    }
    targets.at_least("cache lines, arena against tree", lines[1] / lines[0], 31.0, "times as many");
}
