//! Random schedules of random systems, against a naive interpreter that runs them one after another.
//!
//! The interpreter knows the order of the systems, and has lists and maps for everything else: values, handles, change ticks, events.
//! The schedule runs on one thread, in other orders, and on one to eight threads with delays. All give the same bytes.
//!
//! `PHALANX_SEED=n` runs one case alone, `PHALANX_CASES=10000` as many.
#![allow(unreachable_pub, clippy::manual_is_multiple_of)]

#[path = "model/kinds.rs"]
mod kinds;
#[path = "model/naive.rs"]
mod naive;
#[path = "model/real.rs"]
mod real;
#[path = "model/spec.rs"]
mod spec;

use kinds::{Column, registry};
use naive::Naive;
use phalanx::World;
use phalanx::executor::{Executor, ThreadPool};
use phalanx_schedule::{Schedule, Threads};
use spec::Spec;
use std::sync::atomic::Ordering;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

/// Starts threads for each job, and may nest.
struct Scoped(usize);

impl Executor for Scoped {
    fn run(&self, width: usize, work: &(dyn Fn() + Sync)) {
        std::thread::scope(|scope| (1..width).for_each(|_| _ = scope.spawn(work)));
    }

    fn width(&self) -> usize {
        self.0
    }
}

fn bytes(world: &World) -> Vec<u8> {
    let mut bytes = Vec::new();
    registry().save(world, &mut bytes).unwrap();
    bytes
}

/// Runs a schedule as often as the interpreter, and returns the bytes of the world after each run.
fn run(spec: &Spec, name: &str, mut run: impl FnMut(&mut Schedule, &mut World)) -> Vec<Vec<u8>> {
    let (mut world, mut schedule) = real::build(spec);
    (0..spec.runs)
        .map(|_| {
            run(&mut schedule, &mut world);
            world.validate().unwrap_or_else(|error| panic!("{name}: {error}\n{spec:#?}"));
            bytes(&world)
        })
        .collect()
}

fn check(seed: u64, pools: &[ThreadPool]) {
    let spec = Spec::new(seed);
    // Against the interpreter.
    let (mut world, mut schedule) = real::build(&spec);
    let mut naive = Naive::new(&spec, &schedule.to_string());
    naive.check_order(&spec);
    let mut expected = Vec::new();
    for round in 0..spec.runs {
        schedule.try_run(&mut world).unwrap();
        world.validate().unwrap();
        naive.run(&spec);
        if let Err(difference) = naive.compare(&world) {
            panic!("seed {seed}, run {round}: {difference}\n{schedule}\n{spec:#?}");
        }
        expected.push(bytes(&world));
    }
    drop(world.remove_resource::<Column>());
    // On threads, with delays.
    real::DELAYS.store(seed % 2 == 0, Ordering::Relaxed);
    for pool in [seed, seed / 8 + 3].map(|seed| &pools[seed as usize % pools.len()]) {
        let found = run(&spec, "threads", |schedule, world| {
            schedule.set_threads(Threads::Always);
            schedule.try_run_on(pool, world).unwrap();
        });
        assert!(found == expected, "seed {seed}: {} threads give another result\n{spec:#?}", pool.width());
    }
    if seed % 8 == 0 {
        let found = run(&spec, "scoped", |schedule, world| {
            schedule.set_threads(Threads::Always);
            schedule.try_run_on(&Scoped(3), world).unwrap();
        });
        assert!(found == expected, "seed {seed}: an executor that may nest gives another result\n{spec:#?}");
    }
    real::DELAYS.store(false, Ordering::Relaxed);
    let found = run(&spec, "auto", |schedule, world| schedule.try_run_on(&pools[1], world).unwrap());
    assert!(found == expected, "seed {seed}: automatic threads give another result\n{spec:#?}");
    if seed % 16 == 0 {
        describe(&spec, &pools[2]);
    }
    // In other orders.
    #[cfg(feature = "check")]
    {
        let options = phalanx_schedule::CheckOptions { runs: spec.runs, orders: 2, threads: 0 };
        let result = phalanx_schedule::check(registry(), || real::build(&spec), options);
        assert!(result.is_ok(), "seed {seed}: {}\n{spec:#?}", result.unwrap_err());
    }
}

/// Everything that a schedule says of itself can be printed, and agrees with its order.
fn describe(spec: &Spec, pool: &ThreadPool) {
    let (mut world, mut schedule) = real::build(spec);
    schedule.set_threads(Threads::Always);
    let report = schedule.run_with_report(pool, &mut world).unwrap();
    assert!(report.critical_path.iter().all(|index| *index < report.systems.len()));
    let graph = schedule.graph();
    assert!(
        graph
            .edges
            .iter()
            .all(|edge| edge.from < edge.to && graph.nodes[edge.from].stage <= graph.nodes[edge.to].stage)
    );
    let texts = [report.to_string(), report.to_svg(), graph.to_mermaid(), graph.to_dot(), graph.to_svg()];
    assert!(texts.iter().all(|text| !text.is_empty()));
    let names: Vec<&str> = schedule.systems().collect();
    for (rank, first) in names.iter().enumerate() {
        for second in &names[rank + 1..] {
            assert_eq!(schedule.explain(first, second), schedule.explain(second, first));
        }
    }
    for ambiguity in schedule.ambiguities() {
        let rank = |name: &String| graph.nodes.iter().position(|node| node.name == *name);
        assert!(rank(&ambiguity.first) < rank(&ambiguity.second));
    }
}

#[test]
fn random_schedules_agree_with_a_naive_interpreter() {
    let pools: Vec<ThreadPool> = (1..=8).map(ThreadPool::new).collect();
    match number("PHALANX_SEED") {
        Some(seed) => check(seed, &pools),
        None => (0..number("PHALANX_CASES").unwrap_or(200)).for_each(|seed| check(seed, &pools)),
    }
}
