//! Figures of tables and recordings over one million rows, with their targets.
//!
//! All times are minima over many rounds. What is compared is measured alternately.

use phalanx::snapshot::Registry;
use phalanx::store::Soa;
use phalanx::{Component, World};
use phalanx_arrow::{FrozenWorld, Recorder};
use phalanx_testkit::measure;
use std::hint::black_box;
use std::time::Instant;

#[global_allocator]
static ALLOCATOR: phalanx_testkit::Allocator = phalanx_testkit::Allocator::new();

const ROWS: usize = 1_000_000;

#[derive(Component, Clone, Copy)]
struct Speed(f32);
#[derive(Component, Soa, Clone, Copy)]
#[component(layout = "soa")]
struct Lanes {
    x: f32,
    n: u64,
}
#[derive(Component, Clone, Copy)]
#[component(plain)]
struct Position {
    x: f32,
    y: f32,
    z: f32,
}
#[derive(Component, Clone, Copy)]
#[component(plain)]
struct Body {
    at: [f32; 3],
    mass: f32,
    id: u64,
}

/// Returns the shortest time of some rounds of two functions, in microseconds, each measured alternately.
fn alternate(rounds: usize, mut a: impl FnMut(), mut b: impl FnMut()) -> [f64; 2] {
    let mut best = [f64::INFINITY; 2];
    for _ in 0..rounds {
        for (best, f) in best.iter_mut().zip([&mut a as &mut dyn FnMut(), &mut b]) {
            let start = Instant::now();
            f();
            *best = best.min(start.elapsed().as_secs_f64() * 1e6);
        }
    }
    best
}

fn print(what: &str, figure: f64, unit: &str, target: &str, is_met: bool) {
    println!("{what:<58} {figure:>10.2} {unit:<10} target {target:<12} {}", if is_met { "met" } else { "NOT MET" });
}

fn lending() {
    let mut world = World::new();
    world.spawn_batch((0..ROWS).map(|n| (Speed(n as f32), Lanes { x: n as f32, n: n as u64 })));
    let frozen = FrozenWorld::new(world);
    let ids = [frozen.world().component_id::<Speed>(), frozen.world().component_id::<Lanes>()];
    for (name, id) in ["newtype", "soa"].into_iter().zip(ids.into_iter().flatten()) {
        let Ok(table) = frozen.table(id) else { continue };
        let fields: Vec<_> = (1..table.schema().fields().len()).collect();
        let make = || table.batch(0, Some(&fields), 0..ROWS).map(|batch| black_box(batch.num_rows()));
        let (_, usage) = measure(make);
        let [time, _] = alternate(200, || drop(black_box(make())), || {});
        print(&format!("batch of 1M rows of a {name} column"), time, "µs", "≤ 20 µs", time <= 20.0);
        let few = usage.largest < 4096;
        print(&format!("  largest block allocated ({name})"), usage.largest as f64, "bytes", "no column", few);
    }
    let Some(id) = ids[0] else { return };
    let first = Instant::now();
    drop(black_box(frozen.component_by_id(id)));
    println!("  with entities, first time {:>36.2} µs", first.elapsed().as_secs_f64() * 1e6);
    let [time, _] = alternate(200, || drop(black_box(frozen.component_by_id(id))), || {});
    println!("  with entities, later {:>41.2} µs", time);
}

fn deinterleaving() {
    let mut world = World::new();
    let values: Vec<_> = (0..ROWS).map(|n| Position { x: n as f32, y: 1.0, z: 2.0 }).collect();
    world.spawn_batch(values.iter().copied());
    let frozen = FrozenWorld::new(world);
    let Some(table) = frozen.world().component_id::<Position>().and_then(|id| frozen.table(id).ok()) else { return };
    let copy = || drop(black_box(black_box(&values[..]).to_vec()));
    let gather = || drop(black_box(table.batch(0, Some(&[1, 2, 3]), 0..ROWS)));
    let [memcpy, time] = alternate(100, copy, gather);
    println!("copying 12 MB into a new vector {memcpy:>31.2} µs");
    print("de-interleaving 1M structs of 12 bytes, by that copy", time / memcpy, "×", "≤ 2.5 ×", time <= 2.5 * memcpy);
}

fn recording() {
    let mut registry = Registry::new();
    if registry.plain::<Body>("body").is_err() {
        return;
    }
    let mut world = World::new();
    let mut random = 1_u64;
    let mut next = || {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 40) as f32 / 1e3
    };
    let body = |n| Body { at: [next(), next(), next()], mass: 1.0, id: n as u64 };
    let values: Vec<_> = (0..ROWS).map(body).collect();
    world.spawn_batch(values.iter().copied());
    let folder = std::env::temp_dir().join(format!("phalanx-bench-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let recorder = Recorder::create(&folder, &registry).keyframes(1 << 40).start();
    let Ok(mut recorder) = recorder else { return };
    let mut copied = values.clone();
    let (mut memcpy, mut stall) = (f64::INFINITY, f64::INFINITY);
    let (rounds, start) = (40, Instant::now());
    for round in 0..rounds {
        // The thread that writes is at rest, so that the copies have the memory for themselves.
        std::thread::sleep(std::time::Duration::from_millis(if round < 20 { 150 } else { 0 }));
        let begin = Instant::now();
        copied.copy_from_slice(black_box(&values));
        black_box(&mut copied);
        memcpy = memcpy.min(begin.elapsed().as_secs_f64() * 1e6);
        let begin = Instant::now();
        if let Err(error) = recorder.frame(&mut world) {
            println!("{error}");
            return;
        }
        if round < 20 {
            stall = stall.min(begin.elapsed().as_secs_f64() * 1e6);
        }
    }
    let Ok(run) = recorder.finish() else { return };
    let bytes: u64 = run.parts.iter().map(|part| part.bytes).sum();
    println!("copying 24 MB into memory in use {memcpy:>30.2} µs");
    print(
        "recording 1M × 24 bytes: the loop waits, by that copy",
        stall / memcpy,
        "×",
        "≤ 1.5 ×",
        stall <= 1.5 * memcpy,
    );
    println!("  {} frames in {:.2} s, {} MB", rounds, start.elapsed().as_secs_f64(), bytes / 1_000_000);
    let _ = std::fs::remove_dir_all(&folder);

    // Encoding alone: the loop gives frames as fast as they are taken.
    let Ok(mut recorder) = Recorder::create(&folder, &registry).keyframes(1 << 40).start() else { return };
    let mut best = f64::INFINITY;
    for _ in 0..4 {
        let _ = recorder.frame(&mut world);
    }
    for _ in 0..30 {
        let begin = Instant::now();
        let _ = recorder.frame(&mut world);
        best = best.min(begin.elapsed().as_secs_f64());
    }
    let rate = (ROWS * size_of::<Body>()) as f64 / best / 1e6;
    print("encoding and writing, by the bytes of the components", rate, "MB/s", "≥ 300 MB/s", rate >= 300.0);
    let _ = recorder.finish();
    let _ = std::fs::remove_dir_all(&folder);
}

fn main() {
    lending();
    deinterleaving();
    recording();
}
