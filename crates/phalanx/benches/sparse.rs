//! The cost of sparse components for despawning entities that have them, and for entities that do not, and of loops over pools,
//! linear stores and groups; every target with its figure.
//!
//! `cargo bench -p phalanx --bench sparse [-- --only WORD] [--seconds S]`. Ratios of minima over many interleaved rounds.
#![allow(missing_docs)]
// Some components are only carried along.
#![allow(dead_code)]

use phalanx::group::{Observed, Owned};
use phalanx::{Component, Entity, World};
use phalanx_testkit::Rng;
use phalanx_testkit::bench::Bound::Within;
use phalanx_testkit::bench::{self, Build, Case, Target, Workload, mix, target, time};
use std::hint::black_box;
use std::time::Duration;

const COUNT: usize = 10_000;

#[derive(Clone, Copy, Component)]
struct Position(f32, f32, f32);
#[derive(Clone, Copy, Component)]
struct Velocity(f32, f32, f32);

/// One of many components, each in a pool of its own.
#[derive(Clone, Copy)]
struct Pooled<const N: usize>(f32);
impl<const N: usize> Component for Pooled<N> {
    type Layout = phalanx::layout::Pool;
}

/// One of many components, each in a linear store of its own.
#[derive(Clone, Copy)]
struct Linear<const N: usize>(f32);
impl<const N: usize> Component for Linear<N> {
    type Layout = phalanx::layout::Linear;
}

type Three = (Pooled<97>, Pooled<98>, Pooled<99>);

/// Registers 97 pool components that no entity has.
fn register_others(world: &mut World) {
    macro_rules! register {
        ($($tens:literal)*) => { $(
            register!(@ $tens 0 1 2 3 4 5 6);
            register!(@ $tens 7 8 9);
        )* };
        (@ $tens:literal $($one:literal)*) => { $(
            if $tens * 10 + $one < 97 {
                let entity = world.spawn(Pooled::<{ $tens * 10 + $one }>(0.0));
                world.despawn(entity).unwrap();
            }
        )* };
    }
    register!(0 1 2 3 4 5 6 7 8 9);
}

/// A world of entities with three components, in random order.
fn threes(others: bool) -> (World, Vec<Entity>) {
    let mut world = World::new();
    if others {
        register_others(&mut world);
    }
    let spawn = |i| world.spawn::<Three>((Pooled(i as f32), Pooled(1.0), Pooled(2.0)));
    let mut entities: Vec<_> = (0..COUNT).map(spawn).collect();
    Rng::new(7).shuffle(&mut entities);
    (world, entities)
}

fn ends(label: &'static str, others: bool) -> Build {
    Box::new(move || {
        Case::new(label, move |_| {
            let (mut world, entities) = threes(others);
            let (ns, ended) = time(|| entities.iter().filter(|entity| world.despawn(**entity).is_ok()).count());
            (ns, ended as u64 + world.len() as u64)
        })
    })
}

fn despawn() -> Workload {
    Workload {
        name: "despawn 10k from 3 pools",
        ops: COUNT as f64,
        build: vec![ends("3 registered", false), ends("100 registered", true)],
    }
}

fn makes(label: &'static str, others: bool) -> Build {
    Box::new(move || {
        Case::new(label, move |_| {
            let mut world = World::new();
            if others {
                register_others(&mut world);
            }
            let (ns, ()) = time(|| {
                for i in 0..COUNT {
                    black_box(world.spawn::<Three>((Pooled(i as f32), Pooled(1.0), Pooled(2.0))));
                }
            });
            (ns, world.len() as u64)
        })
    })
}

fn spawn() -> Workload {
    Workload {
        name: "spawn 10k into 3 pools",
        ops: COUNT as f64,
        build: vec![makes("3 registered", false), makes("100 registered", true)],
    }
}

fn step(p: &mut Position, v: &Velocity) {
    p.0 += v.0;
    p.1 += v.1;
    p.2 += v.2;
}

/// A loop over a table, in a world with nothing else, or with all that can be beside it.
fn walk(label: &'static str, beside: bool) -> Build {
    const REPS: usize = 20;
    Box::new(move || {
        let mut world = World::new();
        if beside {
            world.create_group::<Owned<(Pooled<0>, Pooled<1>)>>().unwrap();
            world.on_remove::<Linear<0>>(|_, _, _| ());
            for i in 0..COUNT / 10 {
                world.spawn((Pooled::<0>(i as f32), Pooled::<1>(1.0), Linear::<0>(2.0)));
            }
        }
        let one = (Position(0.0, 1.0, 2.0), Velocity(1.0, 2.0, 3.0));
        world.spawn_batch(std::iter::repeat_n(one, COUNT));
        Case::new(label, move |check| {
            let run = |world: &mut World| {
                world.query_mut::<(&mut Position, &Velocity)>().for_each(|(p, v)| step(p, v));
            };
            run(&mut world);
            let (ns, ()) = time(|| (0..REPS).for_each(|_| run(black_box(&mut world))));
            let digest = |world: &World| world.query::<&Position>().iter().map(|p| mix(p.0.to_bits().into())).max();
            (ns, if check { digest(&world).unwrap_or(0) } else { 0 })
        })
    })
}

fn iterate() -> Workload {
    Workload {
        name: "iterate 10k",
        ops: COUNT as f64 * 20.0,
        build: vec![walk("alone", false), walk("pools, groups, listeners", true)],
    }
}

/// A loop over `COUNT` values of a world, many times.
fn repeated(label: &'static str, make: fn() -> World, run: fn(&mut World)) -> Build {
    const REPS: usize = 20;
    Box::new(move || {
        let mut world = make();
        Case::new(label, move |_| {
            run(&mut world);
            let (ns, ()) = time(|| (0..REPS).for_each(|_| run(black_box(&mut world))));
            (ns, 0)
        })
    })
}

/// A loop over vectors of `COUNT` values, many times: the limit.
fn over_vectors(label: &'static str) -> Build {
    const REPS: usize = 20;
    Box::new(move || {
        let (mut a, b) = (vec![1f32; COUNT], vec![1f32; COUNT]);
        Case::new(label, move |_| {
            let (ns, ()) = time(|| {
                for _ in 0..REPS {
                    for (a, b) in black_box(&mut a).iter_mut().zip(black_box(&b)) {
                        *a += *b;
                    }
                }
            });
            (ns, 0)
        })
    })
}

type A = Pooled<0>;
type B = Pooled<1>;

/// Returns a world of entities with two components in pools, in the same order or in different ones.
fn pairs(shuffled: bool) -> World {
    let mut world = World::new();
    let mut entities: Vec<_> = (0..COUNT).map(|_| world.spawn(Pooled::<0>(1.0))).collect();
    if shuffled {
        Rng::new(7).shuffle(&mut entities);
    }
    entities.iter().for_each(|e| world.insert(*e, Pooled::<1>(1.0)).unwrap());
    world
}

fn linear_pairs() -> World {
    let mut world = World::new();
    world.spawn_batch((0..COUNT).map(|_| (Linear::<0>(1.0), Linear::<1>(1.0))));
    world
}

/// Returns a world with an owning group.
fn grouped() -> World {
    let mut world = pairs(true);
    world.create_group::<Owned<(A, B)>>().unwrap();
    world
}

fn loops() -> Workload {
    let build = vec![
        over_vectors("for over two vectors"),
        repeated(
            "for over a pool",
            || pairs(false),
            |world| {
                for a in world.query_mut::<&mut A>() {
                    a.0 += 1.0;
                }
            },
        ),
        repeated(
            "for over the values of a pool",
            || pairs(false),
            |world| {
                for a in world.pool_mut::<A>().values() {
                    a.0 += 1.0;
                }
            },
        ),
        repeated("for over two linear stores", linear_pairs, |world| {
            for (a, b) in world.query_mut::<(&mut Linear<0>, &Linear<1>)>() {
                a.0 += b.0;
            }
        }),
        repeated("for over a group", grouped, |world| {
            let group = world.create_group::<Owned<(A, B)>>().unwrap();
            for (a, b) in group.iter_mut(world) {
                a.0 += b.0;
            }
        }),
        repeated("for over a query of a group", grouped, |world| {
            for (a, b) in world.query_mut::<(&mut A, &B)>() {
                a.0 += b.0;
            }
        }),
        repeated(
            "for over two pools",
            || pairs(false),
            |world| {
                for (a, b) in world.query_mut::<(&mut A, &B)>() {
                    a.0 += b.0;
                }
            },
        ),
        repeated(
            "for_each over two pools",
            || pairs(false),
            |world| {
                world.query_mut::<(&mut A, &B)>().for_each(|(a, b)| a.0 += b.0);
            },
        ),
    ];
    Workload { name: "loops over 10k", ops: COUNT as f64 * 20.0, build }
}

fn view(world: &mut World) {
    world.query_mut::<(&mut A, &B)>().for_each(|(a, b)| a.0 += b.0);
}

fn listed(world: &mut World) {
    let group = world.create_group::<Observed<(A, B)>>().unwrap();
    group.for_each(world, |(a, b)| a.0 += b.0);
}

fn observed(name: &'static str, make: fn() -> World) -> Workload {
    // The first run creates the group.
    let build = vec![repeated("two pools", make, view), repeated("a group that owns nothing", make, listed)];
    Workload { name, ops: COUNT as f64 * 20.0, build }
}

const IN_ORDER: &str = "a group that owns nothing, pools in the same order";
const SHUFFLED: &str = "a group that owns nothing, pools in different orders";

const TARGETS: &[Target] = &[
    target("despawn 10k from 3 pools", "100 registered", &["3 registered"], Within(1.2)),
    target("spawn 10k into 3 pools", "100 registered", &["3 registered"], Within(1.2)),
    target("iterate 10k", "pools, groups, listeners", &["alone"], Within(1.05)),
    target(IN_ORDER, "a group that owns nothing", &["two pools"], Within(1.0)),
    target(SHUFFLED, "a group that owns nothing", &["two pools"], Within(1.1)),
    target("loops over 10k", "for over a pool", &["for over the values of a pool"], Within(1.2)),
    target("loops over 10k", "for over two linear stores", &["for over a query of a group"], Within(1.2)),
    target("loops over 10k", "for over two pools", &["for_each over two pools"], Within(1.5)),
];

fn main() {
    bench::settle_allocator();
    let args: Vec<String> = std::env::args().collect();
    let after = |flag: &str| args.iter().position(|a| a == flag).and_then(|at| args.get(at + 1));
    let only = after("--only");
    let seconds: f64 = after("--seconds").and_then(|s| s.parse().ok()).unwrap_or(3.0);
    let mut figures = Vec::new();
    for workload in [
        despawn(),
        spawn(),
        iterate(),
        loops(),
        observed(IN_ORDER, || pairs(false)),
        observed(SHUFFLED, || pairs(true)),
    ] {
        if only.is_none_or(|word| workload.name.contains(word.as_str())) {
            let f = bench::run(&workload, Duration::from_secs_f64(seconds));
            f.print();
            figures.push(f);
        }
    }
    bench::print_targets(TARGETS, &figures);
}
