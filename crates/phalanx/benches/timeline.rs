//! What frames of a timeline cost, against copying by hand; every target with its figure.
//!
//! `cargo bench -p phalanx --bench timeline [-- --seconds S --only NAME]`. A million entities, minima over many interleaved rounds.
#![allow(missing_docs)]
// Some components are only carried along.
#![allow(dead_code)]

use phalanx::timeline::Timeline;
use phalanx::{Component, Entity, World};
use phalanx_testkit::bench::Bound::Within;
use phalanx_testkit::bench::{self, Build, Case, Figures, Target, Workload, target, time};
use std::hint::black_box;
use std::time::Duration;

const N: usize = 1_000_000;
/// The slots and one lane for each component that carries data; the words and the stack of slots.
const LANES: usize = 5;
/// One of a hundred.
const SOME: usize = N / 100;

#[derive(Clone, Copy, Component)]
#[component(plain)]
struct Position([f32; 3]);
#[derive(Clone, Copy, Component)]
#[component(plain)]
struct Velocity([f32; 3]);

struct Bed {
    world: World,
    entities: Vec<Entity>,
    timeline: Timeline,
    round: usize,
}

fn bed(frames: usize) -> Bed {
    let mut world = World::new();
    let rows = (0..N).map(|i| (Position([i as f32; 3]), Velocity([1.0, 2.0, 3.0])));
    let entities = world.spawn_batch(rows).to_vec();
    let mut timeline = Timeline::new(frames);
    timeline.capture(&mut world).unwrap();
    Bed { world, entities, timeline, round: 0 }
}

impl Bed {
    /// Writes one row of a hundred, side by side, each round elsewhere.
    fn write_together(&mut self) {
        self.round += 1;
        let start = self.round % 90 * SOME;
        for &e in &self.entities[start..start + SOME] {
            self.world.get_mut::<Position>(e).unwrap().0[0] += 1.0;
        }
    }

    /// Writes one row of a hundred, here and there.
    fn write_scattered(&mut self) {
        self.round += 1;
        for n in 0..SOME {
            let at = (n * 7919 * 127 + self.round * 31) % N;
            self.world.get_mut::<Position>(self.entities[at]).unwrap().0[0] += 1.0;
        }
    }
}

/// A capture after something was done, which is not measured.
fn capture(label: &'static str, before: fn(&mut Bed)) -> Build {
    Box::new(move || {
        let mut bed = bed(4);
        Case::new(label, move |_| {
            before(&mut bed);
            let (ns, ()) = time(|| bed.timeline.capture(black_box(&mut bed.world)).unwrap());
            (ns, 0)
        })
    })
}

/// Returns a case that copies `bytes` bytes, from another place in each round.
fn copy(label: &'static str, bytes: usize) -> Build {
    Box::new(move || {
        let (from, mut to) = (vec![1u8; N * 12], vec![0u8; N * 12]);
        let mut round = 0;
        Case::new(label, move |_| {
            round += 1;
            let start = if bytes < from.len() { round % 90 * bytes } else { 0 };
            let (ns, ()) =
                time(|| black_box(&mut to)[start..start + bytes].copy_from_slice(&black_box(&from)[start..][..bytes]));
            (ns, 0)
        })
    })
}

#[derive(Clone, Copy, Component)]
#[component(plain)]
struct Health(u32);

/// The entities of a small world.
const SMALL: usize = 10_000;
/// The number of frames that a load goes back.
const BACK: usize = 8;

/// A small world in which one entity of a hundred changes in a frame.
struct Game {
    world: World,
    entities: Vec<Entity>,
    timeline: Timeline,
    seed: u64,
}

impl Game {
    fn new(mut timeline: Timeline) -> Game {
        let mut world = World::new();
        let row = |i: usize| (Position([i as f32; 3]), Velocity([1.0, 2.0, 3.0]), Health(100));
        let entities = world.spawn_batch((0..SMALL).map(row)).to_vec();
        timeline.capture(&mut world).unwrap();
        Game { world, entities, timeline, seed: 1 }
    }

    /// Returns the position of some entity.
    fn pick(&mut self) -> usize {
        self.seed = self.seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.seed >> 33) as usize % self.entities.len()
    }

    /// Despawns one entity of a hundred, here and there, and spawns as many.
    fn churn(&mut self) {
        for _ in 0..SMALL / 100 {
            let at = self.pick();
            self.world.despawn(self.entities[at]).unwrap();
            self.entities[at] = self.world.spawn((Position([0.5; 3]), Velocity([2.0; 3]), Health(7)));
        }
    }

    /// Writes one entity of a hundred, here and there.
    fn write(&mut self) {
        for _ in 0..SMALL / 100 {
            let at = self.pick();
            let entity = self.entities[at];
            self.world.get_mut::<Position>(entity).unwrap().0[0] += 1.0;
        }
    }

    /// Moves each entity by a query.
    fn step(&mut self) {
        self.world.query_mut::<(&mut Position, &Velocity)>().for_each(|(p, v)| p.0[0] += v.0[0]);
    }
}

/// A capture of a small world after a frame, which is not measured.
fn save(label: &'static str, timeline: fn(usize) -> Timeline, frame: fn(&mut Game)) -> Build {
    Box::new(move || {
        let mut game = Game::new(timeline(BACK));
        Case::new(label, move |_| {
            frame(&mut game);
            let (ns, ()) = time(|| game.timeline.capture(black_box(&mut game.world)).unwrap());
            (ns, 0)
        })
    })
}

/// A rewind of a small world by some frames, which are not measured.
fn load(label: &'static str, timeline: fn(usize) -> Timeline, frame: fn(&mut Game)) -> Build {
    Box::new(move || {
        let mut game = Game::new(timeline(BACK));
        Case::new(label, move |_| {
            let before = game.entities.clone();
            for _ in 0..BACK {
                frame(&mut game);
                game.timeline.capture(&mut game.world).unwrap();
            }
            let (ns, ()) = time(|| game.timeline.rewind(black_box(&mut game.world), BACK).unwrap());
            game.entities = before;
            (ns, 0)
        })
    })
}

/// A rewind of a large world by some frames in which one row of a hundred was written, side by side.
fn load_large(label: &'static str) -> Build {
    Box::new(move || {
        let mut bed = bed(BACK);
        Case::new(label, move |_| {
            for _ in 0..BACK {
                bed.write_together();
                bed.timeline.capture(&mut bed.world).unwrap();
            }
            let (ns, ()) = time(|| bed.timeline.rewind(black_box(&mut bed.world), BACK).unwrap());
            (ns, 0)
        })
    })
}

/// A restore of a small world from a checkpoint, which makes a whole world.
fn roll_back(label: &'static str) -> Build {
    Box::new(move || {
        let mut game = Game::new(Timeline::new(BACK));
        let checkpoint = game.world.checkpoint().unwrap();
        Case::new(label, move |_| {
            let (ns, ()) = time(|| game.world.rollback(black_box(&checkpoint)).unwrap());
            (ns, 0)
        })
    })
}

/// Frames of rollback netcode: each is captured, and eight are loaded at once.
fn rewinds() -> Vec<Workload> {
    vec![
        Workload {
            name: "rewind, 10k entities",
            ops: 1.0,
            build: vec![
                roll_back("checkpoint"),
                save("save, 1 % churn", Timeline::new, Game::churn),
                save("save and sums, 1 % churn", Timeline::with_sums, Game::churn),
                save("save, 1 % written", Timeline::new, Game::write),
                save("save and sums, 1 % written", Timeline::with_sums, Game::write),
                save("save, all moved", Timeline::new, Game::step),
                save("save and sums, all moved", Timeline::with_sums, Game::step),
                load("load 8, 1 % churn", Timeline::new, Game::churn),
                load("load 8 with sums, 1 % churn", Timeline::with_sums, Game::churn),
                load("load 8, 1 % written", Timeline::new, Game::write),
                load("load 8, all moved", Timeline::new, Game::step),
            ],
        },
        Workload {
            name: "rewind, 1M entities",
            ops: 1.0,
            build: vec![copy("chunks", SOME.next_multiple_of(128) * 12), load_large("load 8, 1 % together")],
        },
    ]
}

fn workloads() -> Vec<Workload> {
    let column = || copy("memcpy", N * 12);
    vec![
        Workload { name: "unchanged", ops: LANES as f64, build: vec![capture("capture", |_| {})] },
        Workload {
            name: "rows, 1 % together",
            ops: 1.0,
            build: vec![copy("chunks", SOME.next_multiple_of(128) * 12), capture("capture", Bed::write_together)],
        },
        Workload {
            name: "rows, 1 % scattered",
            ops: 1.0,
            build: vec![column(), capture("capture", Bed::write_scattered)],
        },
        Workload {
            name: "opened, nothing differs",
            ops: 1.0,
            build: vec![
                column(),
                capture("capture", |bed| bed.world.query_mut::<&mut Position>().for_each(|p| _ = black_box(p))),
            ],
        },
        Workload {
            name: "opened, 1 % differs",
            ops: 1.0,
            build: vec![
                column(),
                capture("capture", |bed| {
                    bed.round += 1;
                    let start = bed.round % 90 * SOME;
                    let all = bed.world.query_mut::<&mut Position>();
                    all.into_iter().skip(start).take(SOME).for_each(|p| p.0[0] += 1.0);
                }),
            ],
        },
        Workload {
            name: "opened, all differs",
            ops: 1.0,
            build: vec![
                column(),
                capture("capture", |bed| bed.world.query_mut::<&mut Position>().for_each(|p| p.0[0] += 1.0)),
            ],
        },
    ]
    .into_iter()
    .chain(rewinds())
    .collect()
}

const TARGETS: &[Target] = &[
    target("rows, 1 % together", "capture", &["chunks"], Within(3.0)),
    target("opened, nothing differs", "capture", &["memcpy"], Within(0.6)),
    target("opened, all differs", "capture", &["memcpy"], Within(2.2)),
];

/// Sixty frames in each of which one row of a hundred changed, in times the memory of the world.
fn memory(write: fn(&mut Bed)) -> f64 {
    let mut bed = bed(60);
    for _ in 0..60 {
        write(&mut bed);
        bed.timeline.capture(&mut bed.world).unwrap();
    }
    assert_eq!(bed.timeline.len(), 60);
    bed.timeline.memory() as f64 / bed.world.memory().total() as f64
}

fn said(met: bool) -> &'static str {
    if met { "met" } else { "MISSED" }
}

fn main() {
    bench::settle_allocator();
    let arguments: Vec<String> = std::env::args().collect();
    let after = |flag: &str| arguments.iter().position(|a| a == flag).and_then(|at| arguments.get(at + 1));
    let seconds = after("--seconds").and_then(|s| s.parse().ok()).unwrap_or(2.0);
    let only = after("--only").cloned().unwrap_or_default();
    let figures: Vec<Figures> = workloads()
        .iter()
        .filter(|workload| workload.name.contains(&only))
        .map(|workload| {
            let figures = bench::run(workload, Duration::from_secs_f64(seconds));
            figures.print();
            figures
        })
        .collect();
    let most = |name: &str, label: &str, micros: f64| {
        if let Some(figures) = figures.iter().find(|figures| figures.name == name) {
            let got = figures.of(label) / 1000.0;
            println!("  {:<6} {name}, {label}: {got:.1} µs, at most {micros}", said(got <= micros));
        }
    };
    most("rewind, 10k entities", "save and sums, 1 % churn", 40.0);
    most("rewind, 10k entities", "load 8 with sums, 1 % churn", 150.0);
    most("rewind, 10k entities", "load 8, 1 % written", 40.0);
    most("rewind, 1M entities", "load 8, 1 % together", 1000.0);
    if !only.is_empty() {
        return;
    }
    bench::print_targets(TARGETS, &figures);
    let lane = figures[0].of("capture");
    println!("  {:<6} unchanged: {lane:.1} ns a lane, at most 100", said(lane <= 100.0));
    let together = memory(Bed::write_together);
    println!(
        "  {:<6} 60 frames of 1 % together: {together:.2} times the world's memory, at most 2",
        said(together <= 2.0)
    );
    println!("  {:<6} 60 frames of 1 % scattered: {:.2} times", "", memory(Bed::write_scattered));
}
