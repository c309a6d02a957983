//! The world against loops written by hand and against hecs; every target with its figure.
//!
//! `cargo bench -p phalanx [-- --only WORD] [--seconds S]`. Ratios of minima over many interleaved rounds.
#![allow(missing_docs)]
// Some components are only carried along.
#![allow(dead_code)]

use phalanx::{Component, Entity, World};
use phalanx_testkit::Rng;
use phalanx_testkit::bench::Bound::{self, Times, Within};
use phalanx_testkit::bench::{self, Build, Case, Target, Workload, mix, target, time};
use std::hint::black_box;
use std::time::Duration;

#[derive(Clone, Copy, Component)]
struct Transform([f32; 16]);
#[derive(Clone, Copy, Component)]
struct Position(f32, f32, f32);
#[derive(Clone, Copy, Component)]
struct Rotation(f32, f32, f32);
#[derive(Clone, Copy, Component)]
struct Velocity(f32, f32, f32);
#[derive(Clone, Copy, Component)]
struct A(f32);
#[derive(Clone, Copy, Component)]
struct B(f32);

#[derive(Clone, Copy, phalanx::store::Soa)]
#[soa(crate = "phalanx::store")]
struct Particle {
    x: f32,
    y: f32,
    mass: f32,
}
impl Component for Particle {
    type Layout = phalanx::layout::Soa;
}

fn bundle(i: usize) -> (Transform, Position, Rotation, Velocity) {
    let f = i as f32;
    (Transform([f; 16]), Position(f, 1.0, 2.0), Rotation(f, f, f), Velocity(1.0, 2.0, 3.0))
}

fn step(p: &mut Position, v: &Velocity) {
    p.0 += v.0;
    p.1 += v.1;
    p.2 += v.2;
}

fn digest<'a>(positions: impl Iterator<Item = &'a Position>) -> u64 {
    positions.fold(0, |d, p| d.wrapping_add(mix(u64::from(p.0.to_bits()) ^ u64::from(p.1.to_bits()) << 32)))
}

fn ours(n: usize) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let entities = (0..n).map(|i| world.spawn(bundle(i))).collect();
    (world, entities)
}

fn theirs(n: usize) -> (hecs::World, Vec<hecs::Entity>) {
    let mut world = hecs::World::new();
    let entities = (0..n).map(|i| world.spawn(bundle(i))).collect();
    (world, entities)
}

/// A case that walks over a fixture that it keeps.
fn walk<S: 'static>(
    label: &'static str,
    make: impl Fn() -> S + 'static,
    reps: usize,
    step: impl Fn(&mut S) + Copy + 'static,
    digest: impl Fn(&mut S) -> u64 + Copy + 'static,
) -> Build {
    Box::new(move || {
        let mut state = make();
        Case::new(label, move |check| {
            step(&mut state);
            let (ns, ()) = time(|| (0..reps).for_each(|_| step(black_box(&mut state))));
            (ns, if check { digest(&mut state) } else { 0 })
        })
    })
}

/// A case that builds a new fixture for each sample.
fn fresh<S: 'static, R: 'static>(
    label: &'static str,
    make: impl Fn() -> S + Copy + 'static,
    work: impl Fn(&mut S) -> R + Copy + 'static,
    count: impl Fn(&mut S) -> u64 + Copy + 'static,
) -> Build {
    Box::new(move || {
        Case::new(label, move |check| {
            let mut state = make();
            let (ns, _) = time(|| work(&mut state));
            (ns, if check { count(&mut state) } else { 0 })
        })
    })
}

fn iterate(name: &'static str, n: usize, reps: usize) -> Workload {
    let digest_ours = |w: &mut World| digest(w.query::<&Position>().iter());
    let columns = move || {
        let rows: Vec<_> = (0..n).map(bundle).collect();
        (rows.iter().map(|r| r.1).collect::<Vec<_>>(), rows.iter().map(|r| r.3).collect::<Vec<_>>())
    };
    Workload {
        name,
        ops: (n * reps) as f64,
        build: vec![
            walk(
                "limit",
                columns,
                reps,
                |(ps, vs)| ps.iter_mut().zip(&*vs).for_each(|(p, v)| step(p, v)),
                |(ps, _)| digest(ps.iter()),
            ),
            walk(
                "for_each",
                move || ours(n).0,
                reps,
                |w| w.query_mut::<(&mut Position, &Velocity)>().for_each(|(p, v)| step(p, v)),
                digest_ours,
            ),
            walk(
                "chunks",
                move || ours(n).0,
                reps,
                |w| {
                    for (ps, vs) in w.query_mut::<(&mut Position, &Velocity)>().chunks() {
                        for (p, v) in ps.iter_mut().zip(vs) {
                            step(p, v);
                        }
                    }
                },
                digest_ours,
            ),
            walk(
                "for",
                move || ours(n).0,
                reps,
                |w| {
                    for (p, v) in w.query_mut::<(&mut Position, &Velocity)>() {
                        step(p, v);
                    }
                },
                digest_ours,
            ),
            walk(
                "hecs for",
                move || theirs(n).0,
                reps,
                |w| {
                    for (p, v) in w.query_mut::<(&mut Position, &Velocity)>() {
                        step(p, v);
                    }
                },
                |w| digest(w.query::<&Position>().iter()),
            ),
        ],
    }
}

fn get(name: &'static str, n: usize) -> Workload {
    fn read<S: 'static, E: Copy + 'static>(
        label: &'static str,
        make: impl Fn() -> (S, Vec<E>) + 'static,
        sum: impl Fn(&S, &[E]) -> f32 + Copy + 'static,
    ) -> Build {
        Box::new(move || {
            let (world, mut entities) = make();
            Rng::new(5).shuffle(&mut entities);
            Case::new(label, move |_| {
                let (ns, x) = time(|| sum(black_box(&world), &entities));
                (ns, u64::from(x.to_bits()))
            })
        })
    }
    Workload {
        name,
        ops: n as f64,
        build: vec![
            read(
                "component",
                move || ours(n),
                |w, es| {
                    let view = w.component::<Position>();
                    es.iter().map(|e| view.get(*e).unwrap().0).sum()
                },
            ),
            read("world", move || ours(n), |w, es| es.iter().map(|e| w.get::<Position>(*e).unwrap().0).sum()),
            read(
                "hecs view",
                move || theirs(n),
                |w, es| {
                    let mut query = w.query::<&Position>();
                    let view = query.view();
                    es.iter().map(|e| view.get(*e).unwrap().0).sum()
                },
            ),
            read("hecs world", move || theirs(n), |w, es| es.iter().map(|e| w.get::<&Position>(*e).unwrap().0).sum()),
        ],
    }
}

macro_rules! fragments {
    ($world:ident: $($name:ident)*) => {{
        $(
            #[derive(Clone, Copy, Component)]
            struct $name(#[allow(dead_code)] f32);
            for i in 0..20 {
                $world.spawn(($name(i as f32), A(1.0)));
            }
        )*
    }};
}

fn fragmented() -> Workload {
    const REPS: usize = 50;
    Workload {
        name: "fragmented",
        ops: (26 * 20 * REPS) as f64,
        build: vec![
            walk(
                "phalanx",
                || {
                    let mut w = World::new();
                    fragments!(w: Fa Fb Fc Fd Fe Ff Fg Fh Fi Fj Fk Fl Fm Fn Fo Fp Fq Fr Fs Ft Fu Fv Fw Fx Fy Fz);
                    w
                },
                REPS,
                |w| w.query_mut::<&mut A>().for_each(|a| a.0 *= 1.5),
                |w| u64::from(w.query::<&A>().iter().map(|a| a.0).sum::<f32>().to_bits()),
            ),
            walk(
                "hecs",
                || {
                    let mut w = hecs::World::new();
                    fragments!(w: Fa Fb Fc Fd Fe Ff Fg Fh Fi Fj Fk Fl Fm Fn Fo Fp Fq Fr Fs Ft Fu Fv Fw Fx Fy Fz);
                    w
                },
                REPS,
                |w| w.query_mut::<&mut A>().into_iter().for_each(|a| a.0 *= 1.5),
                |w| u64::from(w.query::<&A>().iter().map(|a| a.0).sum::<f32>().to_bits()),
            ),
        ],
    }
}

fn insert() -> Workload {
    const N: usize = 10_000;
    Workload {
        name: "insert 10k",
        ops: N as f64,
        build: vec![
            fresh(
                "spawn",
                World::new,
                |w| (0..N).for_each(|i| _ = black_box(w.spawn(bundle(i)))),
                |w| digest(w.query::<&Position>().iter()),
            ),
            fresh(
                "spawner",
                World::new,
                |w| {
                    let mut spawner = w.spawner();
                    (0..N).for_each(|i| _ = black_box(spawner.spawn(bundle(i))));
                },
                |w| digest(w.query::<&Position>().iter()),
            ),
            fresh(
                "hecs",
                hecs::World::new,
                |w| (0..N).for_each(|i| _ = black_box(w.spawn(bundle(i)))),
                |w| digest(w.query::<&Position>().iter()),
            ),
            fresh(
                "batch",
                World::new,
                |w| w.spawn_batch((0..N).map(bundle)).len(),
                |w| digest(w.query::<&Position>().iter()),
            ),
            fresh(
                "hecs batch",
                hecs::World::new,
                |w| w.spawn_batch((0..N).map(bundle)).count(),
                |w| digest(w.query::<&Position>().iter()),
            ),
        ],
    }
}

/// Whole columns, filled and moved in. The limit keeps what a world keeps of them: the entities and where they are.
fn columns() -> Workload {
    const N: usize = 10_000;
    type Limit = (Vec<Transform>, Vec<Position>, Vec<Rotation>, Vec<Velocity>, Vec<u64>, Vec<u64>);
    fn column<C>(part: impl Fn((Transform, Position, Rotation, Velocity)) -> C) -> Vec<C> {
        (0..N).map(|i| part(bundle(i))).collect()
    }
    Workload {
        name: "columns 10k",
        ops: N as f64,
        build: vec![
            fresh(
                "limit",
                Limit::default,
                |(t, p, r, v, entities, places)| {
                    t.extend((0..N).map(|i| bundle(i).0));
                    p.extend((0..N).map(|i| bundle(i).1));
                    r.extend((0..N).map(|i| bundle(i).2));
                    v.extend((0..N).map(|i| bundle(i).3));
                    entities.extend(0..N as u64);
                    places.extend(0..N as u64);
                },
                |columns| digest(columns.1.iter()),
            ),
            fresh(
                "phalanx",
                World::new,
                |w| {
                    let columns = (column(|b| b.0), column(|b| b.1), column(|b| b.2), column(|b| b.3));
                    w.spawn_columns(columns).unwrap().len()
                },
                |w| digest(w.query::<&Position>().iter()),
            ),
            fresh(
                "hecs columns",
                hecs::World::new,
                |w| {
                    let mut types = hecs::ColumnBatchType::new();
                    types.add::<Transform>().add::<Position>().add::<Rotation>().add::<Velocity>();
                    let batch = types.into_batch(N as u32);
                    macro_rules! fill {
                        ($($component:ty, $at:tt)*) => {
                            $({
                                let mut column = batch.writer::<$component>().unwrap();
                                (0..N).for_each(|i| assert!(column.push(bundle(i).$at).is_ok()));
                            })*
                        };
                    }
                    fill!(Transform, 0 Position, 1 Rotation, 2 Velocity, 3);
                    w.spawn_column_batch(batch.build().unwrap()).count()
                },
                |w| digest(w.query::<&Position>().iter()),
            ),
        ],
    }
}

/// Much work on each of a few rows.
#[cfg(feature = "parallel")]
fn heavy() -> Workload {
    const N: usize = 1000;
    fn work((t, p): (&mut Transform, &mut Position)) {
        for _ in 0..100 {
            for k in 0..16 {
                t.0[k] = (t.0[k] * 0.7 + t.0[(k + 5) % 16] * 0.3).cos();
            }
        }
        p.0 = t.0[0];
    }
    let digest = |w: &mut World| digest(w.query::<&Position>().iter());
    Workload {
        name: "heavy compute",
        ops: N as f64,
        build: vec![
            walk(
                "for_each",
                || ours(N).0,
                1,
                |w| w.query_mut::<(&mut Transform, &mut Position)>().for_each(work),
                digest,
            ),
            walk(
                "par_for_each",
                || ours(N).0,
                1,
                |w| w.query_mut::<(&mut Transform, &mut Position)>().par_for_each(work),
                digest,
            ),
        ],
    }
}

fn structure() -> Vec<Workload> {
    const N: usize = 10_000;
    const LIVE: usize = 100_000;
    let shuffled = |mut entities: Vec<Entity>| {
        Rng::new(13).shuffle(&mut entities);
        entities
    };
    let shuffled_hecs = |mut entities: Vec<hecs::Entity>| {
        Rng::new(13).shuffle(&mut entities);
        entities
    };
    let two = |i: usize| (Position(i as f32, 0.0, 0.0), Velocity(0.0, 0.0, 0.0));
    vec![
        Workload {
            name: "despawn 10k",
            ops: N as f64,
            build: vec![
                fresh(
                    "phalanx",
                    move || {
                        let (world, entities) = ours(N);
                        (world, shuffled(entities))
                    },
                    |(w, es)| es.iter().for_each(|e| w.despawn(*e).unwrap()),
                    |(w, _)| w.len() as u64,
                ),
                fresh(
                    "hecs",
                    move || {
                        let (world, entities) = theirs(N);
                        (world, shuffled_hecs(entities))
                    },
                    |(w, es)| es.iter().for_each(|e| w.despawn(*e).unwrap()),
                    |(w, _)| u64::from(w.len()),
                ),
            ],
        },
        Workload {
            name: "add and remove 10k",
            ops: 2.0 * N as f64,
            build: vec![
                walk(
                    "phalanx",
                    || {
                        let mut w = World::new();
                        let es: Vec<_> = (0..N).map(|_| w.spawn(A(0.0))).collect();
                        (w, es)
                    },
                    1,
                    |(w, es)| {
                        es.iter().for_each(|e| w.insert(*e, B(1.0)).unwrap());
                        es.iter().for_each(|e| assert!(w.remove::<B>(*e).unwrap()));
                    },
                    |(w, _)| w.len() as u64,
                ),
                walk(
                    "access",
                    || {
                        let mut w = World::new();
                        let es: Vec<_> = (0..N).map(|_| w.spawn(A(0.0))).collect();
                        (w, es)
                    },
                    1,
                    |(w, es)| {
                        let mut access = w.component_mut::<B>();
                        es.iter().for_each(|e| assert!(access.insert(*e, B(1.0)).unwrap().is_none()));
                        es.iter().for_each(|e| _ = black_box(access.remove(*e).unwrap().unwrap().0));
                    },
                    |(w, _)| w.len() as u64,
                ),
                walk(
                    "hecs",
                    || {
                        let mut w = hecs::World::new();
                        let es: Vec<_> = (0..N).map(|_| w.spawn((A(0.0),))).collect();
                        (w, es)
                    },
                    1,
                    |(w, es)| {
                        es.iter().for_each(|e| w.insert_one(*e, B(1.0)).unwrap());
                        es.iter().for_each(|e| _ = black_box(w.remove_one::<B>(*e).unwrap().0));
                    },
                    |(w, _)| u64::from(w.len()),
                ),
            ],
        },
        Workload {
            name: "churn 100k",
            ops: 2.0 * LIVE as f64,
            build: vec![
                fresh(
                    "phalanx",
                    move || {
                        let mut w = World::new();
                        let es: Vec<_> = (0..LIVE).map(|i| w.spawn(two(i))).collect();
                        (w, es)
                    },
                    move |(w, es)| {
                        let mut rng = Rng::new(17);
                        for i in 0..20 * LIVE / 10 {
                            if i % (LIVE / 10) == 0 && i > 0 {
                                (0..LIVE / 10).for_each(|k| es.push(w.spawn(two(k))));
                            }
                            w.despawn(es.swap_remove(rng.below(es.len()))).unwrap();
                        }
                    },
                    |(w, _)| w.len() as u64,
                ),
                fresh(
                    "hecs",
                    move || {
                        let mut w = hecs::World::new();
                        let es: Vec<_> = (0..LIVE).map(|i| w.spawn(two(i))).collect();
                        (w, es)
                    },
                    move |(w, es)| {
                        let mut rng = Rng::new(17);
                        for i in 0..20 * LIVE / 10 {
                            if i % (LIVE / 10) == 0 && i > 0 {
                                (0..LIVE / 10).for_each(|k| es.push(w.spawn(two(k))));
                            }
                            w.despawn(es.swap_remove(rng.below(es.len()))).unwrap();
                        }
                    },
                    |(w, _)| u64::from(w.len()),
                ),
            ],
        },
    ]
}

fn soa() -> Workload {
    const N: usize = 1_000_000;
    let sum = |values: &[f32]| {
        let mut acc = [0f32; 8];
        for chunk in values.as_chunks::<8>().0 {
            acc.iter_mut().zip(chunk).for_each(|(a, v)| *a += v);
        }
        acc.iter().sum::<f32>()
    };
    let particle = |i: usize| Particle { x: i as f32, y: 0.0, mass: 1.0 };
    Workload {
        name: "soa: one field 1M",
        ops: N as f64,
        build: vec![
            Box::new(move || {
                let mass = vec![1f32; N];
                Case::new("limit", move |_| {
                    let (ns, s) = time(|| sum(black_box(&mass)));
                    (ns, u64::from(s.to_bits()))
                })
            }) as Build,
            Box::new(move || {
                let mut w = World::new();
                w.spawn_batch((0..N).map(particle));
                Case::new("phalanx", move |_| {
                    let total =
                        || black_box(&w).query::<&Particle>().chunks().map(|lanes| sum(lanes.mass)).sum::<f32>();
                    let (ns, s) = time(total);
                    (ns, u64::from(s.to_bits()))
                })
            }),
        ],
    }
}

const LEVEL: Bound = Within(1.05);
const LEVEL_LARGE: Bound = Within(1.15);
const LIMIT: &[&str] = &["limit"];
const HECS: &[&str] = &["hecs"];

const TARGETS: &[Target] = &[
    target("iterate 10k", "for_each", LIMIT, LEVEL),
    target("iterate 10k", "chunks", LIMIT, LEVEL),
    target("iterate 10k", "for", &["hecs for"], LEVEL),
    target("iterate 1M", "for_each", LIMIT, LEVEL_LARGE),
    target("iterate 1M", "chunks", LIMIT, LEVEL_LARGE),
    target("iterate 1M", "for", &["hecs for"], LEVEL_LARGE),
    target("fragmented", "phalanx", HECS, Times(1.5)),
    target("insert 10k", "spawn", HECS, Times(2.0)),
    target("insert 10k", "spawner", HECS, Times(2.5)),
    target("insert 10k", "batch", &["hecs batch"], Times(2.0)),
    target("despawn 10k", "phalanx", HECS, Times(1.3)),
    target("add and remove 10k", "phalanx", HECS, Times(1.05)),
    target("add and remove 10k", "access", HECS, Times(1.05)),
    target("columns 10k", "phalanx", &["hecs columns"], Times(1.05)),
    target("columns 10k", "phalanx", LIMIT, Within(1.3)),
    target("churn 100k", "phalanx", HECS, Times(1.6)),
    target("get 10k", "component", &["hecs view"], LEVEL),
    target("get 10k", "world", &["hecs world"], LEVEL),
    target("get 1M", "component", &["hecs view"], Times(1.15)),
    target("get 1M", "world", &["hecs world"], Times(1.15)),
    target("soa: one field 1M", "phalanx", LIMIT, LEVEL_LARGE),
    // Two cores.
    target("heavy compute", "par_for_each", &["for_each"], Within(0.55)),
];

fn main() {
    bench::settle_allocator();
    let args: Vec<String> = std::env::args().collect();
    let after = |flag: &str| args.iter().position(|a| a == flag).and_then(|at| args.get(at + 1));
    let only = after("--only");
    let seconds: f64 = after("--seconds").and_then(|s| s.parse().ok()).unwrap_or(3.0);
    let mut workloads = vec![
        iterate("iterate 10k", 10_000, 20),
        iterate("iterate 1M", 1_000_000, 1),
        fragmented(),
        insert(),
        columns(),
        get("get 10k", 10_000),
        get("get 1M", 1_000_000),
        soa(),
    ];
    workloads.extend(structure());
    #[cfg(feature = "parallel")]
    workloads.push(heavy());
    let mut figures = Vec::new();
    for workload in workloads {
        if only.is_none_or(|word| workload.name.contains(word.as_str())) {
            let f = bench::run(&workload, Duration::from_secs_f64(seconds));
            f.print();
            figures.push(f);
        }
    }
    bench::print_targets(TARGETS, &figures);
}
