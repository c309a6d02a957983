//! The containers against plain vectors and against their peers; every target of the crate with its figure.
//!
//! `cargo bench -p phalanx-store [-- --only WORD] [--seconds S]`. Ratios of minima over many interleaved rounds.
#![allow(missing_docs, unreachable_pub, missing_debug_implementations)]

mod contenders;
mod instructions;
mod rows;
mod targets;
mod workloads;

use phalanx_testkit::bench;
use std::time::Duration;

fn main() {
    bench::settle_allocator();
    let args: Vec<String> = std::env::args().collect();
    let after = |flag: &str| args.iter().position(|a| a == flag).and_then(|at| args.get(at + 1));
    if let Some(name) = after("--child") {
        return instructions::child(name, args.iter().any(|a| a == "remove"));
    }
    let only = after("--only");
    let seconds: f64 = after("--seconds").and_then(|s| s.parse().ok()).unwrap_or(3.0);
    let mut figures = Vec::new();
    for workload in workloads::all().into_iter().chain(rows::all()) {
        if only.is_some_and(|word| !workload.name.contains(word.as_str())) {
            continue;
        }
        let f = bench::run(&workload, Duration::from_secs_f64(seconds));
        f.print();
        figures.push(f);
    }
    if only.is_none_or(|word| "instructions of a removal".contains(word.as_str())) {
        let rows = instructions::count();
        println!("\ninstructions of a removal (callgrind)");
        if rows.is_empty() {
            println!("  not counted: valgrind is not installed");
        }
        for (label, count) in &rows {
            println!("  {label:<20} {count:>10.1}");
        }
        if !rows.is_empty() {
            figures.push(bench::Figures { name: "instructions of a removal", rows });
        }
    }
    bench::print_targets(targets::TARGETS, &figures);
    targets::print_memory();
}
