//! Interleaved sampling: every contender of a workload is called once a round, round after round, each round starting at
//! another one, so that a noisy moment of the machine falls on all of them alike. Figures are minima.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// One contender in one workload: a sample in nanoseconds, and a digest of its state when asked for one.
pub struct Case {
    pub label: &'static str,
    pub run: Box<dyn FnMut(bool) -> (f64, u64)>,
}

impl Case {
    pub fn new(label: &'static str, run: impl FnMut(bool) -> (f64, u64) + 'static) -> Case {
        Case { label, run: Box::new(run) }
    }
}

pub type Build = Box<dyn Fn() -> Case>;

/// A workload: its contenders and the operations in one sample.
pub struct Workload {
    pub name: &'static str,
    pub ops: f64,
    pub build: Vec<Build>,
}

/// Nanoseconds an operation, by contender.
pub struct Figures {
    pub name: &'static str,
    pub rows: Vec<(&'static str, f64)>,
}

impl Figures {
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

/// Runs a workload for about `budget`. Each pass builds all fixtures afresh and in another order, because where the
/// allocator happens to put a column is worth ten percent and should not stick to one contender.
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
        for r in 0..rounds.clamp(3, 400) {
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

/// A small generator of random numbers.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

pub fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
