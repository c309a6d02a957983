//! The workloads, written once for all libraries.

use super::{Ecs, Field, Program, Reading, bevy, flecs, hecs, legion, limit, phalanx, shipyard, sparsey, specs};
use crate::data::chosen;
use crate::harness::{BAND, Build, Case, Sample, Unit, WIDE_BAND, Ways, Workload};
use crate::memory;
use phalanx_testkit::Rng;
use phalanx_testkit::bench::time;
use std::hint::black_box;

/// The rows of a function over every library.
macro_rules! worlds {
    ($f:ident $(, $arg:expr)* $(; $($more:ty),*)?) => {
        worlds!(@ $f ($($arg),*) limit::Limit, phalanx::Table, phalanx::Soa, phalanx::Pool, phalanx::Linear,
            phalanx::Grouped, bevy::Bevy<false>, hecs::Hecs, shipyard::Shipyard, sparsey::Sparsey<false>, sparsey::Sparsey<true>, specs::Specs, legion::Legion,
            flecs::Flecs $($(, $more)*)?)
    };
    (@ $f:ident $args:tt $($world:ty),*) => {{
        let rows: Vec<Build> = vec![$(Box::new(move || worlds!(! $f $world, $args))),*];
        rows
    }};
    (! $f:ident $world:ty, ($($arg:expr),*)) => { $f::<$world>($($arg),*) };
}

const K10: usize = 10_000;
const K100: usize = 100_000;
const M1: usize = 1_000_000;
const ITER_REPS: usize = 50;
/// With the warm-up fewer than the 127 doublings that a float has room for.
const FRAGMENT_REPS: usize = 100;
const FRAMES: usize = 100;

pub fn all() -> Vec<Workload> {
    let w = |name, about, ops: usize, op, band, build| Workload {
        name,
        about,
        ops: ops as f64,
        op,
        band,
        unit: Unit::Nanoseconds,
        build,
    };
    let matches = |percent: usize| (0..M1).filter(|&i| chosen(i, percent)).count();
    let half = (0..K100).filter(|&i| chosen(i, 50)).count();
    let join = |name, about, percent, reps| {
        w(name, about, matches(percent) * reps, "match", WIDE_BAND, worlds!(join3, percent, reps; bevy::Bevy<true>))
    };
    vec![
        w(
            "ecs_insert_each_10k",
            "10k entities of 4 components (100 B) into an empty world, one call each",
            K10,
            "entity",
            BAND,
            worlds!(insert_each),
        ),
        w("ecs_insert_bulk_10k", "the same in bulk", K10, "entity", BAND, worlds!(insert_bulk)),
        w(
            "ecs_iter_10k",
            "position += velocity, 10k entities of 4 components",
            K10 * ITER_REPS,
            "entity",
            BAND,
            worlds!(iterate, K10, ITER_REPS),
        ),
        w("ecs_iter_1m", "the same with 1M", M1, "entity", WIDE_BAND, worlds!(iterate, M1, 1)),
        w(
            "ecs_for_10k",
            "the same with 10k by a `for` loop over items; `ecs_iter_10k` has loops over chunks and slices",
            K10 * ITER_REPS,
            "entity",
            BAND,
            worlds!(iterate_for),
        ),
        w(
            "ecs_group_100k",
            "position += velocity; 100k entities, half of which, scattered, have a velocity",
            half * 10,
            "match",
            BAND,
            worlds!(group),
        ),
        w(
            "ecs_field_1m",
            "read one field (position.x) of 1M entities of 4 components",
            M1,
            "entity",
            WIDE_BAND,
            worlds!(field),
        ),
        w(
            "ecs_fragmented",
            "double Data over 26 archetypes of 20 entities",
            520 * FRAGMENT_REPS,
            "entity",
            BAND,
            worlds!(fragmented),
        ),
        w(
            "ecs_heavy_seq",
            "100 inversions of a 4x4 matrix for each of 1000 entities",
            1000,
            "entity",
            BAND,
            worlds!(heavy),
        ),
        w("ecs_heavy_par", "the same on all threads", 1000, "entity", BAND, worlds!(heavy_parallel)),
        w(
            "ecs_add_remove_10k",
            "add B to 10k entities with A one by one, then remove it one by one",
            2 * K10,
            "change",
            BAND,
            worlds!(add_remove; bevy::Bevy<true>),
        ),
        w("ecs_schedule", "swap (A B), (C D), (C E) over 40k entities through a scheduler", 60_000, "swap", BAND, {
            let mut rows = worlds!(schedule);
            rows.push(Box::new(phalanx::swaps));
            rows
        }),
        w(
            "ecs_despawn_10k",
            "despawn 10k entities of 4 components in random order",
            K10,
            "despawn",
            BAND,
            worlds!(despawn),
        ),
        w(
            "ecs_get_10k",
            "read position.x by entity in random order, 10k entities",
            K10 * 10,
            "get",
            BAND,
            worlds!(get, K10, 10),
        ),
        w("ecs_get_1m", "the same with 1M", M1, "get", WIDE_BAND, worlds!(get, M1, 1)),
        join("ecs_join_1pct", "position += velocity * extra; extra on 1% of 1M entities", 1, 20),
        join("ecs_join_10pct", "the same with 10%", 10, 4),
        join("ecs_join_50pct", "the same with 50%", 50, 1),
        w(
            "ecs_churn_100k",
            "100k entities of 2 components; a frame despawns 10% at random and spawns as many; 100 frames",
            FRAMES * K10,
            "despawn + spawn",
            WIDE_BAND,
            worlds!(churn),
        ),
        Workload {
            unit: Unit::Bytes,
            ..w(
                "memory_ecs_100k",
                "memory allocated for 100k to 200k entities of 4 components (100 B), spawned one by one",
                1,
                "entity",
                1.001,
                worlds!(held_memory),
            )
        },
    ]
}

fn four<W: Ecs>(n: usize) -> W {
    let mut world = W::new(Program::Four);
    (0..n).for_each(|i| _ = world.spawn_four(i));
    world
}

fn insert_each<W: Ecs>() -> Vec<Case> {
    let mut ways = Ways::fresh(W::NAME, || W::new(Program::Four), W::digest);
    W::insert_each(&mut ways);
    ways.cases
}

fn insert_bulk<W: Ecs>() -> Vec<Case> {
    let mut ways = Ways::fresh(W::NAME, || W::new(Program::Four), W::digest);
    W::insert_bulk(&mut ways);
    ways.cases
}

fn iterate<W: Ecs>(n: usize, reps: usize) -> Vec<Case> {
    let mut ways = Ways::held(W::NAME, move || four(n), reps, W::digest).warm();
    W::integrate(&mut ways);
    ways.cases
}

fn iterate_for<W: Ecs>() -> Vec<Case> {
    let mut ways = Ways::held(W::NAME, || four(K10), ITER_REPS, W::digest).warm();
    W::integrate_for(&mut ways);
    ways.cases
}

fn group<W: Ecs>() -> Vec<Case> {
    let make = || {
        let mut world = W::new(Program::Moving);
        for i in 0..K100 {
            if chosen(i, 50) {
                world.spawn_moving(i);
            } else {
                world.spawn_still(i);
            }
        }
        world
    };
    let mut ways = Ways::held(W::NAME, make, 10, W::digest).warm();
    W::integrate(&mut ways);
    ways.cases
}

fn field<W: Ecs>() -> Vec<Case> {
    let mut ways = Ways::held(W::NAME, || Field { world: four::<W>(M1), sum: 0 }, 1, |f| u64::from(f.sum)).warm();
    W::field(&mut ways);
    ways.cases
}

fn fragmented<W: Ecs>() -> Vec<Case> {
    let make = || {
        let mut world = W::new(Program::Fragments);
        world.spawn_fragments();
        world
    };
    let mut ways = Ways::fresh(W::NAME, make, W::digest_data).warm().reps(FRAGMENT_REPS);
    W::double(&mut ways);
    ways.cases
}

fn heavy<W: Ecs>() -> Vec<Case> {
    let mut ways = Ways::held(W::NAME, || four(1000), 1, W::digest);
    W::heavy(&mut ways);
    ways.cases
}

fn heavy_parallel<W: Ecs>() -> Vec<Case> {
    let mut ways = Ways::held(W::NAME, || four(1000), 1, W::digest);
    W::heavy_parallel(&mut ways);
    ways.cases
}

fn add_remove<W: Ecs>() -> Vec<Case> {
    let rows = W::changes().into_iter().map(|(way, add, remove)| {
        let mut world = W::new(Program::AddRemove);
        let order: Vec<W::Entity> = (0..K10).map(|i| world.spawn_a(i as f32)).collect();
        Case::new(format!("{} {way}", W::NAME).trim_end(), move |check| {
            let mut digest = 0;
            if check {
                add(&mut world, &order);
                digest = world.count_ab();
                remove(&mut world, &order);
            }
            let (amount, ()) = time(|| {
                add(&mut world, &order);
                remove(&mut world, black_box(&order));
            });
            Sample { amount, digest: if check { digest + (world.count_ab() << 32) } else { 0 } }
        })
    });
    rows.collect()
}

fn schedule<W: Ecs>() -> Vec<Case> {
    let make = || {
        let mut world = W::new(Program::Schedule);
        world.spawn_schedule();
        world
    };
    let mut ways = Ways::held(W::NAME, make, 1, W::digest_schedule).warm();
    W::schedule(&mut ways);
    ways.cases
}

fn despawn<W: Ecs>() -> Vec<Case> {
    let make = || {
        let mut world = W::new(Program::Four);
        let mut order: Vec<W::Entity> = (0..K10).map(|i| world.spawn_four(i)).collect();
        Rng::new(7).shuffle(&mut order);
        // One stays, so that the digest has something to say.
        order.pop();
        (world, order)
    };
    let mut ways = Ways::fresh(W::NAME, make, |(world, _)| W::digest(world));
    ways.add("", |(world, order)| order.iter().for_each(|&e| world.despawn(e)));
    ways.cases
}

fn get<W: Ecs>(n: usize, reps: usize) -> Vec<Case> {
    let make = move || {
        let mut world = W::new(Program::Four);
        let mut order: Vec<W::Entity> = (0..n).map(|i| world.spawn_four(i)).collect();
        Rng::new(11).shuffle(&mut order);
        Reading { world, order, sum: 0.0 }
    };
    let mut ways = Ways::held(W::NAME, make, reps, |reading: &mut Reading<W>| reading.sum.to_bits());
    if reps > 1 {
        ways = ways.warm();
    }
    W::get(&mut ways);
    ways.cases
}

fn join3<W: Ecs>(percent: usize, reps: usize) -> Vec<Case> {
    let make = move || {
        let mut world = W::new(Program::Join);
        for i in 0..M1 {
            if chosen(i, percent) {
                world.spawn_extra(i);
            } else {
                world.spawn_moving(i);
            }
        }
        world
    };
    let mut ways = Ways::held(W::NAME, make, reps, W::digest).warm();
    W::join(&mut ways);
    ways.cases
}

fn churn<W: Ecs>() -> Vec<Case> {
    let make = || {
        let mut world = W::new(Program::Moving);
        let live: Vec<W::Entity> = (0..K100).map(|i| world.spawn_moving(i)).collect();
        (world, live)
    };
    let mut ways = Ways::fresh(W::NAME, make, |(world, _)| W::digest(world));
    ways.add("", |(world, live)| {
        let mut rng = Rng::new(23);
        let mut serial = K100;
        for _ in 0..FRAMES {
            for _ in 0..K100 / 10 {
                let k = rng.below(live.len());
                world.despawn(live.swap_remove(k));
            }
            for _ in 0..K100 / 10 {
                live.push(world.spawn_moving(serial));
                serial += 1;
            }
        }
    });
    ways.cases
}

fn held_memory<W: Ecs>() -> Vec<Case> {
    // The memory of a C library is not seen here.
    if W::NAME == flecs::Flecs::NAME {
        return Vec::new();
    }
    vec![Case::new(W::NAME, |_| {
        let (amount, digest) = memory::average(four::<W>, W::digest);
        Sample { amount, digest }
    })]
}
