//! Change detection, row by row.

use crate::data::Digest;
use crate::harness::{BAND, Build, Case, LIMIT, Unit, Ways, Workload};
use phalanx_testkit::Rng;

const ROWS: usize = 100_000;
const FEW: usize = ROWS / 100;
const REPS: usize = 10;

/// What is done once a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Frame {
    /// Every row is written.
    Write,
    /// Changed rows are asked for. Nothing changed.
    Ask,
    /// One in a hundred is written by entity, in random order; then changed rows are read.
    Few,
}

pub fn all() -> Vec<Workload> {
    let w = |name, about, frame| Workload {
        name,
        about,
        ops: (ROWS * REPS) as f64,
        op: "row",
        band: BAND,
        unit: Unit::Nanoseconds,
        build: build(frame),
    };
    vec![
        w("tracked_write_100k", "write each of 100k values whose changes are tracked", Frame::Write),
        w("tracked_ask_100k", "iterate over changed values, 100k rows, nothing changed", Frame::Ask),
        w("tracked_frame_100k", "write 1 % of 100k by entity, then iterate over changed values", Frame::Few),
    ]
}

fn build(frame: Frame) -> Vec<Build> {
    vec![
        Box::new(move || limit(frame)),
        Box::new(move || table::cases("phalanx table", frame)),
        Box::new(move || pool::cases("phalanx pool", frame)),
        Box::new(move || bevy(frame)),
        Box::new(move || shipyard(frame)),
    ]
}

/// Which rows are written in a frame.
fn few<E: Copy>(all: &[E]) -> Vec<E> {
    let mut order = all.to_vec();
    Rng::new(5).shuffle(&mut order);
    order.truncate(FEW);
    order
}

/// What all rows add up to, and what was seen.
fn digest(values: impl Iterator<Item = u32>, seen: u32) -> u64 {
    let mut digest = Digest::default();
    values.for_each(|value| digest.scalar(value as f32));
    digest.0 ^ u64::from(seen)
}

/// Values and ticks in two vectors.
fn limit(frame: Frame) -> Vec<Case> {
    struct Limit {
        values: Vec<u32>,
        ticks: Vec<u32>,
        few: Vec<usize>,
        now: u32,
        seen: u32,
    }
    let make = || {
        let few = few(&(0..ROWS).collect::<Vec<_>>());
        Limit { values: (0..ROWS as u32).collect(), ticks: vec![0; ROWS], few, now: 1, seen: 0 }
    };
    let mut ways = Ways::held(LIMIT, make, REPS, |w| digest(w.values.iter().copied(), w.seen)).warm();
    ways.add("", move |w| {
        w.now += 1;
        let now = w.now;
        match frame {
            Frame::Write => w.values.iter_mut().zip(&mut w.ticks).for_each(|(value, tick)| {
                *value += 1;
                *tick = now;
            }),
            Frame::Ask | Frame::Few => {
                if frame == Frame::Few {
                    for &at in &w.few {
                        w.values[at] += 1;
                        w.ticks[at] = now;
                    }
                }
                for (values, ticks) in w.values.chunks(64).zip(w.ticks.chunks(64)) {
                    if ticks.iter().fold(false, |any, tick| any | (*tick == now)) {
                        for (value, tick) in values.iter().zip(ticks) {
                            if *tick == now {
                                w.seen = w.seen.wrapping_add(*value);
                            }
                        }
                    }
                }
            }
        }
    });
    ways.cases
}

macro_rules! phalanx {
    ($module:ident, $layout:literal) => {
        mod $module {
            use super::*;
            use ::phalanx::{Changed, Component, Entity, QueryState, World};

            #[derive(Component)]
            #[component(layout = $layout, track = "row")]
            struct Value(u32);

            pub fn cases(name: &'static str, frame: Frame) -> Vec<Case> {
                let make = || {
                    let mut world = World::new();
                    let all: Vec<Entity> = (0..ROWS as u32).map(|n| world.spawn(Value(n))).collect();
                    let mut changed = QueryState::<&Value, Changed<Value>>::new();
                    // What was spawned is not asked for.
                    changed.query(&world).for_each(|_| ());
                    (world, changed, few(&all), 0u32)
                };
                type State = (World, QueryState<&'static Value, Changed<Value>>, Vec<Entity>, u32);
                let digest = |(world, _, _, seen): &mut State| {
                    digest(world.query::<&Value>().iter().map(|value| value.0), *seen)
                };
                let mut ways = Ways::held(name, make, REPS, digest).warm();
                if frame == Frame::Write {
                    ways.add("for_each", |(world, ..)| {
                        world.query_mut::<&mut Value>().for_each(|mut value| value.0 += 1);
                    });
                    ways.add("for", |(world, ..)| {
                        for mut value in world.query_mut::<&mut Value>() {
                            value.0 += 1;
                        }
                    });
                    return ways.cases;
                }
                ways.add("for_each", move |(world, changed, few, seen)| {
                    if frame == Frame::Few {
                        few.iter().for_each(|&e| world.get_mut::<Value>(e).unwrap().0 += 1);
                    }
                    let mut sum = *seen;
                    changed.query(world).for_each(|value| sum = sum.wrapping_add(value.0));
                    *seen = sum;
                });
                ways.add("for", move |(world, changed, few, seen)| {
                    if frame == Frame::Few {
                        few.iter().for_each(|&e| world.get_mut::<Value>(e).unwrap().0 += 1);
                    }
                    for value in changed.query(world) {
                        *seen = seen.wrapping_add(value.0);
                    }
                });
                ways.cases
            }
        }
    };
}
phalanx!(table, "table");
phalanx!(pool, "pool");

#[derive(bevy_ecs::component::Component)]
struct BevyValue(u32);

fn bevy(frame: Frame) -> Vec<Case> {
    use bevy_ecs::prelude::*;
    // A system, because its last run is what a filter compares with.
    struct Game {
        world: World,
        write: QueryState<&'static mut BevyValue>,
        all: QueryState<&'static BevyValue>,
        few: Vec<Entity>,
        ask: Box<dyn System<In = (), Out = u32>>,
        seen: u32,
    }
    let make = || {
        let mut world = World::new();
        let all: Vec<Entity> = (0..ROWS as u32).map(|n| world.spawn(BevyValue(n)).id()).collect();
        let ask = |changed: Query<&BevyValue, Changed<BevyValue>>| {
            changed.iter().fold(0u32, |sum, value| sum.wrapping_add(value.0))
        };
        let mut ask: Box<dyn System<In = (), Out = u32>> = Box::new(IntoSystem::into_system(ask));
        ask.initialize(&mut world);
        ask.run((), &mut world).unwrap();
        Game { write: world.query(), all: world.query(), world, few: few(&all), ask, seen: 0 }
    };
    let mut ways =
        Ways::held("bevy_ecs", make, REPS, |g| digest(g.all.iter(&g.world).map(|value| value.0), g.seen)).warm();
    ways.add("", move |g| {
        if frame == Frame::Write {
            return g.write.iter_mut(&mut g.world).for_each(|mut value| value.0 += 1);
        }
        if frame == Frame::Few {
            for &e in &g.few {
                g.world.get_mut::<BevyValue>(e).unwrap().0 += 1;
            }
        }
        g.seen = g.seen.wrapping_add(g.ask.run((), &mut g.world).unwrap());
    });
    ways.cases
}

#[derive(shipyard::Component)]
#[track(Modification)]
struct ShipyardValue(u32);

fn shipyard(frame: Frame) -> Vec<Case> {
    use shipyard::{EntityId, Get, IntoIter, View, ViewMut, World};
    let make = || {
        let mut world = World::new();
        let all: Vec<EntityId> = (0..ROWS as u32).map(|n| world.add_entity((ShipyardValue(n),))).collect();
        world.run(|values: ViewMut<ShipyardValue>| values.clear_all_modified());
        (world, few(&all), 0u32)
    };
    let mut ways = Ways::held("shipyard", make, REPS, |(world, _, seen)| {
        world.run(|values: View<ShipyardValue>| digest(values.iter().map(|value| value.0), *seen))
    })
    .warm();
    ways.add("", move |(world, few, seen)| {
        world.run(|mut values: ViewMut<ShipyardValue>| {
            if frame == Frame::Write {
                return (&mut values).iter().for_each(|mut value| value.0 += 1);
            }
            if frame == Frame::Few {
                for &e in &*few {
                    (&mut values).get(e).unwrap().0 += 1;
                }
            }
            *seen = values.modified().iter().fold(*seen, |sum, value| sum.wrapping_add(value.0));
            values.clear_all_modified();
        });
    });
    ways.cases
}
