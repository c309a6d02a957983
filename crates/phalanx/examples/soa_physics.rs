//! A million falling bodies, one lane per field: `cargo run --release -p phalanx --example soa_physics`.
//!
//! `layout = "soa"` keeps each field of a component in an array of its own. A loop over one of them reads nothing else,
//! and the compiler turns it into vector instructions.

use phalanx::{Component, World};
use std::time::{Duration, Instant};

#[derive(phalanx::store::Soa, Component, Clone, Copy)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa")]
struct Body {
    x: f32,
    y: f32,
    vx: f32,
    vy: f32,
    mass: f32,
}

/// The same as one array of structs, to compare.
#[derive(Component, Clone, Copy)]
struct Packed {
    x: f32,
    y: f32,
    vx: f32,
    vy: f32,
    mass: f32,
}

const STEP: f32 = 1.0 / 60.0;

fn main() {
    let bodies = if cfg!(debug_assertions) { 10_000 } else { 1_000_000 };
    let mut world = World::new();
    for n in 0..bodies {
        let n = n as f32;
        world.spawn((
            Body { x: n, y: 100.0, vx: 1.0, vy: 0.0, mass: 1.0 },
            Packed { x: n, y: 100.0, vx: 1.0, vy: 0.0, mass: 1.0 },
        ));
    }

    let lanes = best_of(20, || {
        for body in world.query_mut::<&mut Body>().chunks() {
            // Slices of equal length, one for each field.
            for (y, vy) in body.y.iter_mut().zip(body.vy) {
                *vy -= 9.81 * STEP;
                *y += *vy * STEP;
            }
            for (x, vx) in body.x.iter_mut().zip(body.vx) {
                *x += *vx * STEP;
            }
        }
    });

    let structs = best_of(20, || {
        for body in world.query_mut::<&mut Packed>() {
            body.vy -= 9.81 * STEP;
            body.y += body.vy * STEP;
            body.x += body.vx * STEP;
        }
    });

    // A question about one field touches one lane: 4 bytes a body, not 20.
    let mut lowest = 0.0;
    let one_lane = best_of(20, || {
        lowest = world.query::<&Body>().chunks().flat_map(|body| body.y).fold(f32::MAX, |low, y| low.min(*y));
    });
    let same = world.query::<&Packed>().iter().fold(f32::MAX, |low, body| low.min(body.y));
    assert_eq!(lowest, same);

    let weight: f32 =
        world.query::<(&Body, &Packed)>().iter().take(10).map(|(body, packed)| body.mass + packed.mass).sum();
    assert_eq!(weight, 20.0);
    println!("{bodies} bodies, a step of physics:");
    println!("  by lanes    {lanes:>10.2?}");
    println!("  by structs  {structs:>10.2?}");
    println!("  lowest of all, from one lane: {lowest:.3} in {one_lane:.2?}");
}

/// The quickest of several runs: the others were disturbed.
fn best_of(runs: usize, mut work: impl FnMut()) -> Duration {
    let timed = (0..runs).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed()
    });
    timed.min().unwrap_or_default()
}
