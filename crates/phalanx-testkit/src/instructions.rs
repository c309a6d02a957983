//! Instructions that workloads take, counted by callgrind: figures that do not depend on what else runs.

use std::hint::black_box;
use std::process::{Command, Stdio};

/// Runs what is counted. Callgrind counts while this function runs.
#[inline(never)]
pub fn measured<R>(run: impl FnOnce() -> R) -> R {
    black_box(run())
}

/// Returns the number of instructions of a workload.
fn count(name: &str) -> u64 {
    let program = std::env::current_exe().expect("a program knows where it is");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*measured*"])
        .arg(program)
        .args(["--run", name])
        .stdout(Stdio::null())
        .output()
        .expect("valgrind is installed");
    let text = String::from_utf8_lossy(&output.stderr);
    let collected = text.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    collected.unwrap_or_else(|| panic!("callgrind counted nothing in {name}:\n{text}"))
}

/// Counts the instructions of workloads, each of as many operations, and prints a table. The arguments of the program are words
/// that names of workloads contain, and `--against` with the file of an earlier table.
///
/// Callgrind runs the program again for each workload, and counts while [`measured`] runs.
///
/// # Panics
///
/// Panics if valgrind is not installed, or the file of the earlier table cannot be read.
pub fn run(workloads: &[(&str, fn())], operations: usize) {
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    let (mut words, mut before) = (Vec::new(), String::new());
    while let Some(arg) = args.next() {
        match &*arg {
            "--run" => {
                let name = args.next().unwrap_or_default();
                let (_, run) = workloads.iter().find(|(workload, _)| *workload == name).expect("a workload");
                return run();
            }
            "--against" => {
                let file = args.next().expect("--against needs a file");
                before = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
            }
            _ => words.push(arg),
        }
    }
    println!("| instructions an operation | before | now | ratio |");
    println!("|---|---:|---:|---:|");
    for (name, _) in
        workloads.iter().filter(|(name, _)| words.is_empty() || words.iter().any(|word| name.contains(&**word)))
    {
        let now = count(name) as f64 / operations as f64;
        let row = before.lines().find(|line| line.starts_with(&format!("| {name} |")));
        let old = row.and_then(|row| row.rsplit('|').nth(2)?.trim().parse::<f64>().ok());
        match old {
            Some(old) => println!("| {name} | {old:.2} | {now:.2} | {:.3} |", now / old),
            None => println!("| {name} | | {now:.2} | |"),
        }
    }
}
