//! Loops over sparse sets and over values by slot, and reads of them at random.

use crate::data::{Position, VELOCITY, Velocity, digest_positions, integrate, position};
use crate::harness::{BAND, Build, Case, LIMIT, Unit, WIDE_BAND, Ways, Workload};
use phalanx_testkit::Rng;
use rayon::prelude::*;

const K1: usize = 1000;
const K100: usize = 100_000;
const M10: usize = 10_000_000;
const REPS: usize = 10;

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    /// A `for` loop over one component for reading, over a shared world.
    ForOne,
    /// A `for` loop over two components.
    ForTwo,
    /// Two components on all threads.
    Parallel,
    /// The same with few rows, which one thread visits sooner than others can be asked for help.
    ParallelFew,
    /// Two components that no group owns, in stores of different orders.
    Scattered,
}

impl Work {
    fn rows(self) -> usize {
        if self == Work::ParallelFew { K1 } else { K100 }
    }
}

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
    let rows = K100 * REPS;
    vec![
        w(
            "pool_for_one_100k",
            "add up position.x by a `for` loop, shared world, 100k",
            rows,
            "row",
            BAND,
            build(Work::ForOne),
        ),
        w("pool_for_two_100k", "position += velocity by a `for` loop, 100k", rows, "row", BAND, build(Work::ForTwo)),
        w("pool_par_100k", "position += velocity on all threads, 100k", rows, "row", WIDE_BAND, build(Work::Parallel)),
        w("pool_par_1k", "the same with 1,000", K1 * REPS, "row", WIDE_BAND, build(Work::ParallelFew)),
        w(
            "pool_scattered_100k",
            "position += velocity, 100k; velocities in another order than positions",
            rows,
            "row",
            BAND,
            build(Work::Scattered),
        ),
        w(
            "pool_get_100k",
            "read position.x by entity in random order, 100k",
            K100 * REPS,
            "get",
            BAND,
            reads(K100, REPS),
        ),
        w("pool_get_10m", "the same with 10M", M10, "get", WIDE_BAND, reads(M10, 1)),
    ]
}

fn build(work: Work) -> Vec<Build> {
    vec![
        Box::new(move || limit(work)),
        Box::new(move || pool::cases("phalanx pool", work)),
        Box::new(move || linear::cases("phalanx linear", work)),
        Box::new(move || sparsey(work)),
        Box::new(move || shipyard(work)),
    ]
}

/// Numbers in the order in which their velocities are added.
fn order(work: Work) -> Vec<usize> {
    let mut order: Vec<usize> = (0..work.rows()).collect();
    if work == Work::Scattered {
        Rng::new(3).shuffle(&mut order);
    }
    order
}

fn limit(work: Work) -> Vec<Case> {
    type State = (Vec<Position>, Vec<Velocity>, u32);
    let make = move || -> State { ((0..work.rows()).map(position).collect(), vec![VELOCITY; work.rows()], 0) };
    let digest = |(p, _, sum): &mut State| digest_positions(p.iter()) ^ u64::from(*sum);
    let mut ways = Ways::held(LIMIT, make, REPS, digest).warm();
    ways.add("", move |(p, v, sum)| match work {
        Work::ForOne => {
            for p in &*p {
                *sum = sum.wrapping_add(p.x.to_bits());
            }
        }
        Work::ForTwo | Work::Scattered | Work::ParallelFew => {
            for (p, v) in p.iter_mut().zip(&*v) {
                integrate(p, v);
            }
        }
        Work::Parallel => {
            let rows = p.par_chunks_mut(4096).zip(v.par_chunks(4096));
            rows.for_each(|(p, v)| p.iter_mut().zip(v).for_each(|(p, v)| integrate(p, v)));
        }
    });
    ways.cases
}

macro_rules! phalanx {
    ($module:ident, $layout:literal, $groups:literal) => {
        mod $module {
            use super::*;
            use crate::data;
            use ::phalanx::executor::ThreadPool;
            use ::phalanx::group::{Observed, Owned};
            use ::phalanx::{Component, Entity, World};

            #[derive(Component)]
            #[component(layout = $layout)]
            struct Position(data::Position);
            #[derive(Component)]
            #[component(layout = $layout)]
            struct Velocity(data::Velocity);

            fn world(work: Work) -> (World, u32) {
                let mut world = World::new();
                let all: Vec<Entity> = (0..work.rows()).map(|i| world.spawn(Position(position(i)))).collect();
                order(work).into_iter().for_each(|at| world.insert(all[at], Velocity(VELOCITY)).unwrap());
                (world, 0)
            }

            pub fn cases(name: &'static str, work: Work) -> Vec<Case> {
                let digest = |(world, sum): &mut (World, u32)| {
                    digest_positions(world.query::<&Position>().iter().map(|p| &p.0)) ^ u64::from(*sum)
                };
                let mut ways = Ways::held(name, move || world(work), REPS, digest).warm();
                match work {
                    Work::ForOne => {
                        ways.add("for", |(world, sum)| {
                            for p in world.query::<&Position>() {
                                *sum = sum.wrapping_add(p.0.x.to_bits());
                            }
                        });
                        ways.add("query_mut for", |(world, sum)| {
                            for p in world.query_mut::<&Position>() {
                                *sum = sum.wrapping_add(p.0.x.to_bits());
                            }
                        });
                    }
                    Work::ForTwo => ways.add("for", |(world, _)| {
                        for (p, v) in world.query_mut::<(&mut Position, &Velocity)>() {
                            integrate(&mut p.0, &v.0);
                        }
                    }),
                    Work::Parallel | Work::ParallelFew => {
                        ways.add("", |(world, _)| {
                            world
                                .query_mut::<(&mut Position, &Velocity)>()
                                .par_for_each(|(p, v)| integrate(&mut p.0, &v.0));
                        });
                        let pool = ThreadPool::default();
                        ways.add("ThreadPool", move |(world, _)| {
                            world
                                .query_mut::<(&mut Position, &Velocity)>()
                                .par_for_each_on(&pool, |(p, v)| integrate(&mut p.0, &v.0));
                        });
                    }
                    Work::Scattered => ways.add("for_each", |(world, _)| {
                        world.query_mut::<(&mut Position, &Velocity)>().for_each(|(p, v)| integrate(&mut p.0, &v.0));
                    }),
                }
                let mut cases = ways.cases;
                if $groups {
                    cases.extend(owning(work));
                    cases.extend(observing(work));
                }
                cases
            }

            fn owning(work: Work) -> Vec<Case> {
                let make = move || {
                    let (mut world, sum) = world(work);
                    let group = world.create_group::<Owned<(Position, Velocity)>>().unwrap();
                    (world, group, sum)
                };
                let mut ways = Ways::held("phalanx group", make, REPS, |(world, _, sum)| {
                    digest_positions(world.query::<&Position>().iter().map(|p| &p.0)) ^ u64::from(*sum)
                })
                .warm();
                match work {
                    Work::ForTwo => {
                        ways.add("for", |(world, group, _)| {
                            for (p, v) in group.iter_mut(world) {
                                integrate(&mut p.0, &v.0);
                            }
                        });
                        ways.add("query for", |(world, ..)| {
                            for (p, v) in world.query_mut::<(&mut Position, &Velocity)>() {
                                integrate(&mut p.0, &v.0);
                            }
                        });
                    }
                    Work::Parallel | Work::ParallelFew => ways.add("", |(world, ..)| {
                        world
                            .query_mut::<(&mut Position, &Velocity)>()
                            .par_for_each(|(p, v)| integrate(&mut p.0, &v.0));
                    }),
                    Work::ForOne | Work::Scattered => {}
                }
                ways.cases
            }

            fn observing(work: Work) -> Vec<Case> {
                let make = move || {
                    let (mut world, sum) = world(work);
                    let group = world.create_group::<Observed<(Position, Velocity)>>().unwrap();
                    (world, group, sum)
                };
                let mut ways = Ways::held("phalanx observing", make, REPS, |(world, _, sum)| {
                    digest_positions(world.query::<&Position>().iter().map(|p| &p.0)) ^ u64::from(*sum)
                })
                .warm();
                if work == Work::ForTwo || work == Work::Scattered {
                    ways.add("for_each", |(world, group, _)| {
                        group.for_each(world, |(p, v)| integrate(&mut p.0, &v.0));
                    });
                }
                ways.cases
            }

            pub fn reads(name: &'static str, n: usize, reps: usize) -> Vec<Case> {
                let make = move || {
                    let mut world = World::new();
                    let mut order: Vec<Entity> = (0..n).map(|i| world.spawn(Position(position(i)))).collect();
                    Rng::new(11).shuffle(&mut order);
                    (world, order, 0.0f64)
                };
                let mut ways = Ways::held(name, make, reps, |state: &mut (World, Vec<Entity>, f64)| state.2.to_bits());
                ways.add("component", |(world, order, sum)| {
                    let view = world.component::<Position>();
                    *sum += order.iter().map(|&e| f64::from(view.get(e).unwrap().0.x)).sum::<f64>();
                });
                if n == K100 {
                    ways.add("get", |(world, order, sum)| {
                        *sum += order.iter().map(|&e| f64::from(world.get::<Position>(e).unwrap().0.x)).sum::<f64>();
                    });
                }
                ways.cases
            }
        }
    };
}
phalanx!(pool, "pool", true);
phalanx!(linear, "linear", false);

fn sparsey(work: Work) -> Vec<Case> {
    use sparsey::World;
    let make = move || {
        let mut builder = World::builder();
        builder.register::<Position>();
        builder.register::<Velocity>();
        let mut world = builder.build();
        let all: Vec<_> = (0..work.rows()).map(|i| world.create((position(i),))).collect();
        order(work).into_iter().for_each(|at| _ = world.insert(all[at], (VELOCITY,)));
        (world, 0u32)
    };
    let mut ways = Ways::held("sparsey", make, REPS, |(world, sum)| {
        digest_positions(world.query_all::<&Position>().iter()) ^ u64::from(*sum)
    })
    .warm();
    ways.add("", move |(world, sum)| match work {
        Work::ForOne => {
            for p in world.query_all::<&Position>().iter() {
                *sum = sum.wrapping_add(p.x.to_bits());
            }
        }
        Work::ForTwo => {
            for (p, v) in world.query_all::<(&mut Position, &Velocity)>().iter() {
                integrate(p, v);
            }
        }
        Work::Scattered => world.for_each::<(&mut Position, &Velocity)>(|(p, v)| integrate(p, v)),
        Work::Parallel | Work::ParallelFew => {
            world.par_for_each::<(&mut Position, &Velocity)>(|(p, v)| integrate(p, v))
        }
    });
    ways.cases
}

fn shipyard(work: Work) -> Vec<Case> {
    use shipyard::{IntoIter, View, ViewMut, World};
    let make = move || {
        let mut world = World::new();
        let all: Vec<_> = (0..work.rows()).map(|i| world.add_entity((position(i),))).collect();
        order(work).into_iter().for_each(|at| world.add_component(all[at], (VELOCITY,)));
        (world, 0u32)
    };
    let mut ways = Ways::held("shipyard", make, REPS, |(world, sum)| {
        world.run(|p: View<Position>| digest_positions(p.iter())) ^ u64::from(*sum)
    })
    .warm();
    ways.add("", move |(world, sum)| match work {
        Work::ForOne => world.run(|p: View<Position>| {
            for p in p.iter() {
                *sum = sum.wrapping_add(p.x.to_bits());
            }
        }),
        Work::ForTwo => world.run(|mut p: ViewMut<Position>, v: View<Velocity>| {
            for (p, v) in (&mut p, &v).iter() {
                integrate(p, v);
            }
        }),
        Work::Scattered => world.run(|mut p: ViewMut<Position>, v: View<Velocity>| {
            (&mut p, &v).iter().for_each(|(p, v)| integrate(p, v));
        }),
        Work::Parallel | Work::ParallelFew => world.run(|mut p: ViewMut<Position>, v: View<Velocity>| {
            (&mut p, &v).par_iter().for_each(|(p, v)| integrate(p, v));
        }),
    });
    ways.cases
}

fn reads(n: usize, reps: usize) -> Vec<Build> {
    fn shuffled<E>(mut order: Vec<E>) -> Vec<E> {
        Rng::new(11).shuffle(&mut order);
        order
    }
    let limit = move || {
        let make = move || ((0..n).map(position).collect(), shuffled((0..n as u32).collect()), 0.0);
        let mut ways = Ways::held(LIMIT, make, reps, |state: &mut (Vec<Position>, Vec<u32>, f64)| state.2.to_bits());
        ways.add("", |(p, order, sum)| *sum += order.iter().map(|&at| f64::from(p[at as usize].x)).sum::<f64>());
        ways.cases
    };
    let sparsey = move || {
        let make = move || {
            let mut builder = sparsey::World::builder();
            builder.register::<Position>();
            let mut world = builder.build();
            let order = shuffled((0..n).map(|i| world.create((position(i),))).collect());
            (world, order, 0.0f64)
        };
        type State = (sparsey::World, Vec<sparsey::entity::Entity>, f64);
        let mut ways = Ways::held("sparsey", make, reps, |state: &mut State| state.2.to_bits());
        ways.add("", |(world, order, sum)| {
            let view = world.borrow::<Position>();
            *sum += order.iter().map(|&e| f64::from(view.get(e).unwrap().x)).sum::<f64>();
        });
        ways.cases
    };
    vec![
        Box::new(limit),
        Box::new(move || pool::reads("phalanx pool", n, reps)),
        Box::new(move || linear::reads("phalanx linear", n, reps)),
        Box::new(sparsey),
    ]
}
