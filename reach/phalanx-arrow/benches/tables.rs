//! Figures of record batches of one million rows, with their targets.
//!
//! All times are minima over many rounds. What is compared is measured alternately.

use phalanx::store::Soa;
use phalanx::{Component, World};
use phalanx_arrow::FrozenWorld;
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

fn main() {
    lending();
    deinterleaving();
}
