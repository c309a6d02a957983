//! Interleaved sampling for benchmarks: every contender of a workload is called once a round, round after round, each
//! round starting at another one, so that a noisy moment of the machine falls on all of them alike. Figures are minima.
#![allow(unsafe_code)]

use std::hint::black_box;
use std::time::{Duration, Instant};

/// One contender in one workload: a sample in nanoseconds, and a digest of its state when asked for one.
pub struct Case {
    label: &'static str,
    run: Box<dyn FnMut(bool) -> (f64, u64)>,
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Case({})", self.label)
    }
}

impl std::fmt::Debug for Workload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Workload({})", self.name)
    }
}

impl Case {
    /// Creates a contender; `run` receives whether a digest is wanted.
    pub fn new(label: &'static str, run: impl FnMut(bool) -> (f64, u64) + 'static) -> Case {
        Case { label, run: Box::new(run) }
    }
}

/// Builds a contender and its fixtures.
pub type Build = Box<dyn Fn() -> Case>;

/// A workload: its contenders and the operations in one sample.
pub struct Workload {
    /// Its name.
    pub name: &'static str,
    /// Operations in one sample.
    pub ops: f64,
    /// Its contenders.
    pub build: Vec<Build>,
}

/// Nanoseconds an operation, by contender.
#[derive(Clone, Debug)]
pub struct Figures {
    /// The workload.
    pub name: &'static str,
    /// The contenders and their figures.
    pub rows: Vec<(&'static str, f64)>,
}

impl Figures {
    /// Returns the figure of a contender.
    ///
    /// # Panics
    ///
    /// Panics if the workload has no such contender.
    pub fn of(&self, label: &str) -> f64 {
        match self.rows.iter().find(|row| row.0 == label) {
            Some(row) => row.1,
            None => panic!("the workload {} has no row {label}", self.name),
        }
    }
}

/// Times `f`, keeping the optimiser from moving work across the boundary.
#[inline(never)]
pub fn time<R>(f: impl FnOnce() -> R) -> (f64, R) {
    let start = Instant::now();
    let result = black_box(f());
    (start.elapsed().as_nanos() as f64, result)
}

/// Runs a workload for about `budget`.
///
/// It uses the whole budget, because the minimum of a few milliseconds depends on how busy the machine is then. Each pass builds all fixtures afresh and in another order, because where the
/// allocator happens to put a column is worth ten percent and should not stick to one contender.
///
/// # Panics
///
/// Panics if the results of the contenders differ.
pub fn run(workload: &Workload, budget: Duration) -> Figures {
    const PASSES: usize = 4;
    let mut rows: Vec<(&'static str, f64)> = Vec::new();
    for pass in 0..PASSES {
        let count = workload.build.len();
        let order: Vec<usize> = (0..count).map(|k| (k + pass * count / PASSES) % count).collect();
        let mut cases: Vec<Case> = order.iter().map(|k| (workload.build[*k])()).collect();
        check(workload.name, &mut cases);
        let start = Instant::now();
        cases.iter_mut().for_each(|c| _ = black_box((c.run)(false)));
        let round = start.elapsed().as_secs_f64().max(1e-6);
        let rounds = (budget.as_secs_f64() / PASSES as f64 / round) as usize;
        for r in 0..rounds.clamp(3, 100_000) {
            for k in 0..count {
                let case = &mut cases[(r + k) % count];
                let ns = (case.run)(false).0 / workload.ops;
                match rows.iter_mut().find(|row| row.0 == case.label) {
                    Some(row) => row.1 = row.1.min(ns),
                    None => rows.push((case.label, ns)),
                }
            }
        }
        check(workload.name, &mut cases);
    }
    Figures { name: workload.name, rows }
}

impl Figures {
    /// Prints the contenders, the best first.
    pub fn print(&self) {
        println!("\n{} (ns an operation, and times the best)", self.name);
        let mut rows = self.rows.clone();
        rows.sort_by(|a, b| a.1.total_cmp(&b.1));
        for (label, ns) in &rows {
            println!("  {label:<24} {ns:>10.3} {:>7.2}", ns / rows[0].1);
        }
    }
}

/// How a figure is compared with another.
#[derive(Clone, Copy, Debug)]
pub enum Bound {
    /// At most this many times the time of the row it is compared with.
    Within(f64),
    /// At least this many times as fast.
    Times(f64),
    /// At most this many nanoseconds an operation.
    Nanoseconds(f64),
}

/// What a contender is to reach.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// In which workload.
    pub workload: &'static str,
    /// Which contender.
    pub ours: &'static str,
    /// Compared with the best of these.
    pub theirs: &'static [&'static str],
    /// How.
    pub bound: Bound,
}

/// Creates a target.
pub const fn target(
    workload: &'static str,
    ours: &'static str,
    theirs: &'static [&'static str],
    bound: Bound,
) -> Target {
    Target { workload, ours, theirs, bound }
}

/// Prints every target whose workload was run, with its figure.
pub fn print_targets(targets: &[Target], figures: &[Figures]) {
    println!("\nTargets");
    let (mut met, mut missed) = (0, 0);
    for t in targets {
        let Some(f) = figures.iter().find(|f| f.name == t.workload) else { continue };
        let best = t.theirs.iter().map(|label| (f.of(label), *label)).min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((theirs, label)) = best else { continue };
        let ratio = f.of(t.ours) / theirs;
        let (ok, said) = match t.bound {
            Bound::Within(x) => (ratio <= x, format!("{ratio:.2} of {label}'s time, at most {x:.2}")),
            Bound::Nanoseconds(x) => (f.of(t.ours) <= x, format!("{:.1} ns, at most {x:.1}", f.of(t.ours))),
            Bound::Times(x) => {
                (1.0 / ratio >= x, format!("{:.2} times as fast as {label}, at least {x:.2}", 1.0 / ratio))
            }
        };
        println!("  {:<6} {:<26} {:<22} {said}", if ok { "met" } else { "MISSED" }, t.workload, t.ours);
        if ok { met += 1 } else { missed += 1 }
    }
    println!("{met} met, {missed} missed");
}

/// All contenders must have done the same work.
fn check(workload: &str, cases: &mut [Case]) {
    let digests: Vec<u64> = cases.iter_mut().map(|c| (c.run)(true).1).collect();
    for (case, digest) in cases.iter().zip(&digests) {
        assert_eq!(*digest, digests[0], "{workload}: {} and {} disagree", case.label, cases[0].label);
    }
}

/// Fixes glibc's allocator in its steady state: blocks below 32 MiB come from the heap and the heap is never given
/// back. By default these thresholds drift with what was freed before, and a workload's time would depend on which
/// workloads ran ahead of it.
pub fn settle_allocator() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            fn mallopt(parameter: i32, value: i32) -> i32;
        }
        const M_TRIM_THRESHOLD: i32 = -1;
        const M_MMAP_THRESHOLD: i32 = -3;
        // SAFETY: may be called at any time; called before any other thread exists.
        unsafe {
            mallopt(M_MMAP_THRESHOLD, 32 << 20);
            mallopt(M_TRIM_THRESHOLD, i32::MAX);
        }
    }
}

/// Mixes the bits of a number: for digests that do not depend on order.
pub fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
