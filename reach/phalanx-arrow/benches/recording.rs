//! Figures of a recording of one million rows, with their targets.
//!
//! Times of copies are minima over some rounds. The memory comes from the allocator of the system.

use phalanx::snapshot::Registry;
use phalanx::{Component, World};
use phalanx_arrow::Recorder;
use std::hint::black_box;
use std::time::Instant;

const ROWS: usize = 1_000_000;

#[derive(Component, Clone, Copy)]
#[component(plain)]
struct Body {
    x: f32,
    y: f32,
    z: f32,
    mass: f32,
    id: u64,
}

fn print(what: &str, figure: f64, unit: &str, target: &str, is_met: bool) {
    println!("{what:<58} {figure:>10.2} {unit:<10} target {target:<12} {}", if is_met { "met" } else { "NOT MET" });
}

fn main() {
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
    let body = |n| Body { x: next(), y: next(), z: next(), mass: 1.0, id: n as u64 };
    let values: Vec<_> = (0..ROWS).map(body).collect();
    world.spawn_batch(values.iter().copied());
    let folder = std::env::temp_dir().join(format!("phalanx-bench-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let recorder = Recorder::create(&folder, &registry).keyframes(1 << 40).start();
    let Ok(mut recorder) = recorder else { return };
    let mut copied = values.clone();
    let (mut memcpy, mut stall) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..20 {
        // The thread that writes is at rest, so that the queue is empty and the copies have the memory for themselves.
        wait_for_writer();
        let begin = Instant::now();
        copied.copy_from_slice(black_box(&values));
        black_box(&mut copied);
        memcpy = memcpy.min(begin.elapsed().as_secs_f64() * 1e6);
        let begin = Instant::now();
        if let Err(error) = recorder.frame(&mut world) {
            println!("{error}");
            return;
        }
        stall = stall.min(begin.elapsed().as_secs_f64() * 1e6);
    }
    println!("copying 24 MB into memory in use {memcpy:>30.2} µs");
    let ratio = stall / memcpy;
    print("recording 1M × 24 bytes: the loop waits, by that copy", ratio, "×", "≤ 1.5 ×", ratio <= 1.5);

    wait_for_writer();
    let (frames, begin, before) = (20, Instant::now(), writer_time());
    for _ in 0..frames {
        let _ = recorder.frame(&mut world);
    }
    wait_for_writer();
    let megabytes = (frames * ROWS * size_of::<Body>()) as f64 / 1e6;
    let rate = megabytes / (writer_time() - before);
    print("encoding and writing, by the time of the thread", rate, "MB/s", "≥ 300 MB/s", rate >= 300.0);
    println!("  by the clock, beside other work {:>31.2} MB/s", megabytes / begin.elapsed().as_secs_f64());
    if let Ok(run) = recorder.finish() {
        let bytes: u64 = run.parts.iter().map(|part| part.bytes).sum();
        println!("  {} frames take {} MB", run.frames, bytes / 1_000_000);
    }
    let _ = std::fs::remove_dir_all(&folder);
}

/// Returns the seconds that the processors have spent on the thread that writes.
fn writer_time() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let read = |path: std::path::PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    let writer = threads.map(|entry| entry.path()).find(|path| read(path.join("comm")).starts_with("phalanx-record"));
    let time = writer.map(|path| read(path.join("schedstat"))).unwrap_or_default();
    time.split(' ').next().and_then(|time| time.parse::<f64>().ok()).map_or(0.0, |nanoseconds| nanoseconds / 1e9)
}

/// Waits until the thread that writes does nothing.
fn wait_for_writer() {
    let mut before = -1.0;
    loop {
        let now = writer_time();
        if now == before {
            return;
        }
        before = now;
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
}
