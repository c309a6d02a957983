//! Optional and excluded sparse components beside a component that all entities have.
//!
//! `Data` is in a table, where a library has tables. `Side` is in a sparse set or by slot, on none, on ten or on half of the
//! entities.

use crate::data::{Data, Digest, chosen};
use crate::harness::{BAND, Build, Case, LIMIT, Unit, Ways, Workload};
use specs::{Builder, Join, LendJoin, WorldExt};

const ROWS: usize = 100_000;
const REPS: usize = 10;

/// Who has the side.
#[derive(Clone, Copy)]
enum Who {
    Nobody,
    Ten,
    Half,
}

impl Who {
    fn has(self, i: usize) -> bool {
        match self {
            Who::Nobody => false,
            Who::Ten => i % (ROWS / 10) == ROWS / 20,
            Who::Half => chosen(i, 50),
        }
    }
}

pub fn all() -> Vec<Workload> {
    let w = |name, about, build| Workload {
        name,
        about,
        ops: (ROWS * REPS) as f64,
        op: "row",
        band: BAND,
        unit: Unit::Nanoseconds,
        build,
    };
    vec![
        w("query_option_none", "data += an optional sparse side; 100k rows, nobody has it", build(Who::Nobody, false)),
        w("query_option_ten", "the same, ten have it", build(Who::Ten, false)),
        w("query_option_half", "the same, half have it", build(Who::Half, false)),
        w("query_without_none", "data += 1 without a sparse side; 100k rows, nobody has it", build(Who::Nobody, true)),
        w("query_without_ten", "the same, ten have it", build(Who::Ten, true)),
        w("query_without_half", "the same, half have it", build(Who::Half, true)),
    ]
}

fn build(who: Who, without: bool) -> Vec<Build> {
    vec![
        Box::new(move || limit(who, without)),
        Box::new(move || pool::cases("phalanx pool", who, without)),
        Box::new(move || linear::cases("phalanx linear", who, without)),
        Box::new(move || bevy(who, without)),
        Box::new(move || hecs(who, without)),
        Box::new(move || shipyard(who, without)),
        Box::new(move || specs(who, without)),
    ]
}

const START: Data = Data { v: 1.0 };
const SIDE: f32 = 0.5;

fn digest<'a>(data: impl Iterator<Item = &'a Data>) -> u64 {
    let mut digest = Digest::default();
    data.for_each(|data| digest.scalar(data.v));
    digest.0
}

/// Rows with and without the side, apart.
fn limit(who: Who, without: bool) -> Vec<Case> {
    let make = move || {
        let with: Vec<Data> = (0..ROWS).filter(|i| who.has(*i)).map(|_| START).collect();
        let sides = vec![SIDE; with.len()];
        (vec![START; ROWS - with.len()], with, sides)
    };
    let mut ways = Ways::held(LIMIT, make, REPS, |(rest, with, _): &mut (Vec<Data>, Vec<Data>, Vec<f32>)| {
        digest(rest.iter().chain(&*with))
    });
    ways.add("", move |(rest, with, sides)| {
        rest.iter_mut().for_each(|data| data.v += 1.0);
        if !without {
            with.iter_mut().zip(&*sides).for_each(|(data, side)| data.v += *side);
        }
    });
    ways.cases
}

macro_rules! phalanx {
    ($module:ident, $layout:literal) => {
        mod $module {
            use super::*;
            use ::phalanx::{Component, QueryState, Without, World};

            #[derive(Component)]
            struct Row(Data);
            #[derive(Component)]
            #[component(layout = $layout)]
            struct Side(f32);

            pub fn cases(name: &'static str, who: Who, without: bool) -> Vec<Case> {
                let make = move || {
                    let mut world = World::new();
                    for i in 0..ROWS {
                        if who.has(i) {
                            world.spawn((Row(START), Side(SIDE)));
                        } else {
                            world.spawn(Row(START));
                        }
                    }
                    (
                        world,
                        QueryState::<(&mut Row, Option<&Side>)>::new(),
                        QueryState::<&mut Row, Without<Side>>::new(),
                    )
                };
                let mut ways =
                    Ways::held(name, make, REPS, |(world, ..)| digest(world.query::<&Row>().iter().map(|row| &row.0)));
                if without {
                    ways.add("for_each", |(world, ..)| {
                        world.query_filtered_mut::<&mut Row, Without<Side>>().for_each(|row| row.0.v += 1.0);
                    });
                    ways.add("for", |(world, ..)| {
                        for row in world.query_filtered_mut::<&mut Row, Without<Side>>() {
                            row.0.v += 1.0;
                        }
                    });
                    ways.add("QueryState", |(world, _, state)| {
                        state.query_mut(world).for_each(|row| row.0.v += 1.0);
                    });
                } else {
                    ways.add("for_each", |(world, ..)| {
                        world
                            .query_mut::<(&mut Row, Option<&Side>)>()
                            .for_each(|(row, side)| row.0.v += side.map_or(1.0, |side| side.0));
                    });
                    ways.add("for", |(world, ..)| {
                        for (row, side) in world.query_mut::<(&mut Row, Option<&Side>)>() {
                            row.0.v += side.map_or(1.0, |side| side.0);
                        }
                    });
                    ways.add("QueryState", |(world, state, _)| {
                        let each = |(row, side): (&mut Row, Option<&Side>)| {
                            row.0.v += side.map_or(1.0, |side: &Side| side.0);
                        };
                        state.query_mut(world).for_each(each);
                    });
                }
                ways.cases
            }
        }
    };
}
phalanx!(pool, "pool");
phalanx!(linear, "linear");

#[derive(bevy_ecs::component::Component)]
#[component(storage = "SparseSet")]
struct BevySide(f32);

fn bevy(who: Who, without: bool) -> Vec<Case> {
    use bevy_ecs::prelude::*;
    let make = move || {
        let mut world = World::new();
        for i in 0..ROWS {
            if who.has(i) {
                world.spawn((START, BevySide(SIDE)));
            } else {
                world.spawn(START);
            }
        }
        let option = world.query::<(&mut Data, Option<&BevySide>)>();
        let without = world.query_filtered::<&mut Data, Without<BevySide>>();
        let all = world.query::<&Data>();
        (world, option, without, all)
    };
    let mut ways = Ways::held("bevy_ecs", make, REPS, |(world, _, _, all)| digest(all.iter(world)));
    if without {
        ways.add("", |(world, _, query, _)| query.iter_mut(world).for_each(|mut data| data.v += 1.0));
    } else {
        ways.add("", |(world, query, ..)| {
            query.iter_mut(world).for_each(|(mut data, side)| data.v += side.map_or(1.0, |side| side.0));
        });
    }
    ways.cases
}

fn hecs(who: Who, without: bool) -> Vec<Case> {
    let make = move || {
        let mut world = hecs::World::new();
        for i in 0..ROWS {
            if who.has(i) {
                world.spawn((START, SIDE));
            } else {
                world.spawn((START,));
            }
        }
        world
    };
    let mut ways = Ways::held("hecs", make, REPS, |world: &mut hecs::World| digest(world.query::<&Data>().iter()));
    if without {
        ways.add("", |world| {
            world.query_mut::<&mut Data>().without::<&f32>().into_iter().for_each(|data| data.v += 1.0);
        });
    } else {
        ways.add("", |world| {
            let query = world.query_mut::<(&mut Data, Option<&f32>)>();
            query.into_iter().for_each(|(data, side)| data.v += side.copied().unwrap_or(1.0));
        });
    }
    ways.cases
}

#[derive(shipyard::Component)]
struct ShipyardSide(f32);

fn shipyard(who: Who, without: bool) -> Vec<Case> {
    use shipyard::{IntoIter, View, ViewMut, World};
    let make = move || {
        let mut world = World::new();
        for i in 0..ROWS {
            if who.has(i) {
                world.add_entity((START, ShipyardSide(SIDE)));
            } else {
                world.add_entity((START,));
            }
        }
        world
    };
    let mut ways = Ways::held("shipyard", make, REPS, |world| world.run(|data: View<Data>| digest(data.iter())));
    if without {
        ways.add("", |world| {
            world.run(|mut data: ViewMut<Data>, side: View<ShipyardSide>| {
                (&mut data, !&side).iter().for_each(|(data, _)| data.v += 1.0);
            });
        });
    } else {
        ways.add("", |world| {
            world.run(|mut data: ViewMut<Data>, side: View<ShipyardSide>| {
                let rows = (&mut data, side.as_optional()).iter();
                rows.for_each(|(data, side)| data.v += side.map_or(1.0, |side| side.0));
            });
        });
    }
    ways.cases
}

struct SpecsSide(f32);

impl specs::Component for SpecsSide {
    type Storage = specs::DenseVecStorage<Self>;
}

fn specs(who: Who, without: bool) -> Vec<Case> {
    let make = move || {
        let mut world = specs::World::new();
        world.register::<Data>();
        world.register::<SpecsSide>();
        for i in 0..ROWS {
            let entity = world.create_entity().with(START);
            if who.has(i) {
                entity.with(SpecsSide(SIDE)).build()
            } else {
                entity.build()
            };
        }
        world
    };
    let mut ways = Ways::held("specs", make, REPS, |world| digest(world.read_storage::<Data>().join()));
    if without {
        ways.add("", |world| {
            let (mut data, side) = (world.write_storage::<Data>(), world.read_storage::<SpecsSide>());
            (&mut data, !&side).join().for_each(|(data, ())| data.v += 1.0);
        });
    } else {
        ways.add("", |world| {
            let (mut data, side) = (world.write_storage::<Data>(), world.read_storage::<SpecsSide>());
            let mut rows = (&mut data, (&side).maybe()).lend_join();
            while let Some((data, side)) = rows.next() {
                data.v += side.map_or(1.0, |side| side.0);
            }
        });
    }
    ways.cases
}
