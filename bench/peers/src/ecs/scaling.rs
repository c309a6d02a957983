//! The same five workloads on a thousand to ten million entities of two components: what grows with the size of a world.

use super::{Ecs, Program, Reading, hecs, limit, phalanx};
use crate::harness::{Build, Case, Sample, Unit, WIDE_BAND, Ways, Workload};
use crate::memory;
use phalanx_testkit::Rng;

/// How many entities there are.
pub const SIZES: [usize; 5] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// The operations, in the order of [`Scaling::workloads`], and what each does.
pub const OPERATIONS: [(&str, &str); 5] = [
    ("spawn", "spawn entities of 2 components (24 B) into a new world, one call each"),
    ("iterate", "position += velocity"),
    ("get", "read position.x by entity, in random order"),
    ("despawn", "despawn in random order"),
    ("bytes", "memory allocated, spawned one by one"),
];

/// The rows that are shown: a label of theirs begins with one of these.
pub const LIBRARIES: [&str; 6] =
    [limit::Limit::NAME, hecs::Hecs::NAME, "phalanx table", "phalanx soa", "phalanx pool", "phalanx linear"];

/// The workloads of one size.
pub struct Scaling {
    pub size: usize,
    /// In the order of [`OPERATIONS`].
    pub workloads: [Workload; 5],
}

macro_rules! worlds {
    ($f:ident, $n:expr) => {
        worlds!(@ $f, $n; limit::Limit, hecs::Hecs, phalanx::Table, phalanx::Soa, phalanx::Pool, phalanx::Linear)
    };
    (@ $f:ident, $n:expr; $($world:ty),*) => {{
        let rows: Vec<Build> = vec![$(Box::new(move || $f::<$world>($n))),*];
        rows
    }};
}

/// Returns the workloads of every size.
pub fn all() -> [Scaling; 5] {
    SIZES.map(|n| {
        let w = |at: usize, ops, build| {
            let (name, about) = OPERATIONS[at];
            Workload { name, about, ops, op: "entity", band: WIDE_BAND, unit: Unit::Nanoseconds, build }
        };
        let (once, often) = (n as f64, (n * reps(n)) as f64);
        Scaling {
            size: n,
            workloads: [
                w(0, once, worlds!(spawn, n)),
                w(1, often, worlds!(iterate, n)),
                w(2, often, worlds!(get, n)),
                w(3, once, worlds!(despawn, n)),
                Workload { unit: Unit::Bytes, ..w(4, once, worlds!(bytes, n)) },
            ],
        }
    })
}

/// How often a sample repeats what leaves the world as it is: a sample of few entities would be too short to time.
fn reps(n: usize) -> usize {
    (1_000_000 / n).max(1)
}

/// A world of `n` entities.
fn moving<W: Ecs>(n: usize) -> W {
    let mut world = W::new(Program::Moving);
    (0..n).for_each(|i| _ = world.spawn_moving(i));
    world
}

/// A world of `n` entities, and these in random order.
fn shuffled<W: Ecs>(n: usize) -> (W, Vec<W::Entity>) {
    let mut world = W::new(Program::Moving);
    let mut order: Vec<W::Entity> = (0..n).map(|i| world.spawn_moving(i)).collect();
    Rng::new(7).shuffle(&mut order);
    (world, order)
}

fn spawn<W: Ecs>(n: usize) -> Vec<Case> {
    let mut ways = Ways::fresh(W::NAME, || W::new(Program::Moving), W::digest);
    ways.add("", move |w| (0..n).for_each(|i| _ = w.spawn_moving(i)));
    ways.cases
}

fn iterate<W: Ecs>(n: usize) -> Vec<Case> {
    let mut ways = Ways::held(W::NAME, move || moving::<W>(n), reps(n), W::digest).warm();
    W::integrate(&mut ways);
    ways.cases
}

fn get<W: Ecs>(n: usize) -> Vec<Case> {
    let make = move || {
        let (world, order) = shuffled::<W>(n);
        Reading { world, order, sum: 0.0 }
    };
    let mut ways = Ways::held(W::NAME, make, reps(n), |reading: &mut Reading<W>| reading.sum.to_bits()).warm();
    W::get(&mut ways);
    ways.cases
}

fn despawn<W: Ecs>(n: usize) -> Vec<Case> {
    let make = move || {
        let (world, mut order) = shuffled::<W>(n);
        // One stays, so that the digest has something to say.
        order.pop();
        (world, order)
    };
    let mut ways = Ways::fresh(W::NAME, make, |(world, _)| W::digest(world));
    ways.add("", |(world, order)| order.iter().for_each(|&e| world.despawn(e)));
    ways.cases
}

fn bytes<W: Ecs>(n: usize) -> Vec<Case> {
    vec![Case::new(W::NAME, move |check| {
        let (held, mut world) = memory::held(|| moving::<W>(n));
        Sample { amount: held as f64, digest: if check { world.digest() } else { 0 } }
    })]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{Effort, run};
    use std::time::Duration;

    #[test]
    fn all_libraries_agree_at_the_smallest_size() {
        let effort = Effort { budget: Duration::ZERO, passes: 1, rounds: (0, 0) };
        for workload in &all()[0].workloads {
            let (rows, disagree) = run(workload, effort);
            assert!(disagree.is_empty(), "{}: {disagree:?}", workload.name);
            for library in LIBRARIES {
                assert!(rows.iter().any(|row| row.label.starts_with(library)), "{}: {library}", workload.name);
            }
        }
    }
}
