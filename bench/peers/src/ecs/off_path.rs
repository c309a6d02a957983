//! Workloads off the main path: whole worlds, small worlds, listeners, builders, commands, many types, values with memory.
//!
//! Each is written for the libraries that have it, as functions of a row each.

use crate::data::{self, Digest};
use crate::harness::{BAND, Build, Case, LIMIT, Unit, Ways, Workload};
use ::hecs as hecs_ecs;
use ::phalanx::{BundleBuilder, Component, World};
use ::sparsey as sparsey_ecs;
use bevy_ecs::world::CommandQueue;
use phalanx_testkit::Rng;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

const K10: usize = 10_000;
/// The number of component types that are registered.
const TYPES: usize = 500;

pub fn all() -> Vec<Workload> {
    let w = |name, about, ops: usize, op, build: Vec<fn() -> Vec<Case>>| Workload {
        name,
        about,
        ops: ops as f64,
        op,
        band: BAND,
        unit: Unit::Nanoseconds,
        build: build.into_iter().map(|rows| -> Build { Box::new(rows) }).collect(),
    };
    vec![
        w(
            "ecs_clone_10k",
            "clone a world of 10k entities of 4 components (100 B)",
            K10,
            "entity",
            vec![clone_limit, table::clone, pool::clone, linear::clone],
        ),
        w(
            "ecs_rollback_10k",
            "return to a checkpoint of 10k entities of 4 components, all of which were despawned",
            K10,
            "entity",
            vec![table::rollback, pool::rollback, linear::rollback],
        ),
        w(
            "ecs_new_world",
            "create a world, spawn an entity of 2 components, visit it by a query, drop the world",
            1_000,
            "world",
            vec![new_phalanx, new_hecs, new_bevy, new_sparsey],
        ),
        w(
            "ecs_listener_10k",
            "insert a component into 10k entities and remove it, with a listener of both",
            2 * K10,
            "change",
            vec![listener_limit, listener_phalanx_pool, listener_phalanx_table, listener_bevy],
        ),
        w(
            "ecs_listener_spawn_10k",
            "spawn 10k entities of 4 components, with a listener of one",
            K10,
            "entity",
            vec![spawned_phalanx, spawned_bevy],
        ),
        w(
            "ecs_builder_10k",
            "spawn 10k entities of 4 components by a builder that is filled at run time",
            K10,
            "entity",
            vec![builder_phalanx, builder_hecs],
        ),
        w(
            "ecs_record_10k",
            "record 10k spawns of 4 components in a command buffer that has capacity",
            K10,
            "command",
            vec![|| commands_phalanx(true), || commands_hecs(true), || commands_bevy(true)],
        ),
        w(
            "ecs_apply_10k",
            "apply 10k recorded spawns of 4 components",
            K10,
            "command",
            vec![|| commands_phalanx(false), || commands_hecs(false), || commands_bevy(false)],
        ),
        w(
            "ecs_types_500",
            "spawn an entity of each of 500 component types in a new world of sparse sets, and drop the world",
            TYPES,
            "type",
            vec![types_phalanx, types_sparsey],
        ),
        w(
            "ecs_heap_10k",
            "replace a string of each of 10k entities, then despawn them",
            2 * K10,
            "change",
            vec![heap_phalanx, heap_sparsey, heap_hecs],
        ),
    ]
}

/// Four components in one layout of Phalanx, and workloads of whole worlds.
macro_rules! layout {
    ($module:ident $layout:literal $name:literal) => {
        mod $module {
            use super::*;

            #[derive(Clone, Copy, Component)]
            #[component(layout = $layout, plain)]
            #[repr(C)]
            pub(super) struct Transform([f32; 16]);
            #[derive(Clone, Copy, Component)]
            #[component(layout = $layout, plain)]
            #[repr(C)]
            pub(super) struct Position(pub(super) [f32; 3]);
            #[derive(Clone, Copy, Component)]
            #[component(layout = $layout, plain)]
            #[repr(C)]
            pub(super) struct Rotation([f32; 3]);
            #[derive(Clone, Copy, Component)]
            #[component(layout = $layout, plain)]
            #[repr(C)]
            pub(super) struct Velocity(pub(super) [f32; 3]);

            pub(super) fn row(i: usize) -> (Transform, Position, Rotation, Velocity) {
                let (t, p, r, v) = data::row(i);
                (Transform(t.m), Position([p.x, p.y, p.z]), Rotation([r.x, r.y, r.z]), Velocity([v.x, v.y, v.z]))
            }

            fn world() -> World {
                let mut world = World::new();
                (0..K10).for_each(|i| _ = world.spawn(row(i)));
                world
            }

            pub(super) fn digest(world: &World) -> u64 {
                let mut digest = Digest::default();
                world.query::<&Position>().for_each(|p| digest.position(p.0[0], p.0[1], p.0[2]));
                digest.0
            }

            pub(super) fn clone() -> Vec<Case> {
                let make = || (world(), None::<World>);
                let mut ways = Ways::fresh($name, make, |(_, copy)| copy.as_ref().map_or(0, digest));
                ways.add("", |(world, copy)| *copy = world.try_clone().ok());
                ways.cases
            }

            pub(super) fn rollback() -> Vec<Case> {
                let make = || {
                    let mut world = world();
                    let before = world.checkpoint().unwrap();
                    let all: Vec<_> = world.iter().collect();
                    world.despawn_batch(all);
                    (world, before)
                };
                let mut ways = Ways::fresh($name, make, |(world, _)| digest(world));
                ways.add("", |(world, before)| world.rollback(before).unwrap());
                ways.cases
            }
        }
    };
}

layout!(table "table" "phalanx table");
layout!(pool "pool" "phalanx pool");
layout!(linear "linear" "phalanx linear");

fn clone_limit() -> Vec<Case> {
    type Rows = (Vec<data::Transform>, Vec<data::Position>, Vec<data::Rotation>, Vec<data::Velocity>, Vec<u64>);
    let make = || {
        let rows: Rows = (
            (0..K10).map(|i| data::row(i).0).collect(),
            (0..K10).map(|i| data::row(i).1).collect(),
            (0..K10).map(|i| data::row(i).2).collect(),
            (0..K10).map(|i| data::row(i).3).collect(),
            (0..K10 as u64).collect(),
        );
        (rows, None::<Rows>)
    };
    let mut ways = Ways::fresh(LIMIT, make, |(_, copy)| {
        let mut digest = Digest::default();
        copy.iter().flat_map(|copy| &copy.1).for_each(|p| digest.position(p.x, p.y, p.z));
        digest.0
    });
    ways.add("", |(rows, copy)| *copy = Some(black_box(&*rows).clone()));
    ways.cases
}

/// Rows of a thousand small worlds. `once` returns what the query has found.
fn small_worlds(name: &'static str, once: fn() -> u64) -> Vec<Case> {
    let mut ways = Ways::held(name, || 0_u64, 1, std::mem::take).warm();
    ways.add("", move |sum| {
        *sum = 0;
        (0..1_000).for_each(|_| *sum += once());
    });
    ways.cases
}

fn new_phalanx() -> Vec<Case> {
    small_worlds("phalanx table", || {
        let (mut world, mut sum) = (World::new(), 0);
        world.spawn((table::Position([1.0; 3]), table::Velocity([2.0; 3])));
        world.query_mut::<(&table::Position, &table::Velocity)>().for_each(|(p, v)| sum += (p.0[0] + v.0[0]) as u64);
        sum
    })
}

fn new_hecs() -> Vec<Case> {
    small_worlds("hecs", || {
        let (mut world, mut sum) = (hecs_ecs::World::new(), 0);
        world.spawn((table::Position([1.0; 3]), table::Velocity([2.0; 3])));
        for (p, v) in world.query_mut::<(&table::Position, &table::Velocity)>() {
            sum += (p.0[0] + v.0[0]) as u64;
        }
        sum
    })
}

fn new_bevy() -> Vec<Case> {
    small_worlds("bevy_ecs", || {
        let (mut world, mut sum) = (bevy_ecs::world::World::new(), 0);
        world.spawn((data::A { v: 1.0 }, data::B { v: 2.0 }));
        let mut query = world.query::<(&data::A, &data::B)>();
        query.iter(&world).for_each(|(a, b)| sum += (a.v + b.v) as u64);
        sum
    })
}

fn new_sparsey() -> Vec<Case> {
    small_worlds("sparsey", || {
        let (mut world, mut sum) = (sparsey_ecs::World::default(), 0);
        world.register::<data::A>();
        world.register::<data::B>();
        world.create((data::A { v: 1.0 }, data::B { v: 2.0 }));
        world.for_each::<(&data::A, &data::B)>(|(a, b)| sum += (a.v + b.v) as u64);
        sum
    })
}

/// What listeners have seen.
static SEEN: AtomicU64 = AtomicU64::new(0);

fn see(number: u64) {
    SEEN.store(SEEN.load(Ordering::Relaxed).wrapping_add(number), Ordering::Relaxed);
}

/// Rows that change a world, and whose digest is what listeners have seen.
fn seen<W: 'static>(
    name: &'static str,
    make: impl Fn() -> W + 'static,
    change: impl Fn(&mut W) + 'static,
) -> Vec<Case> {
    let mut ways = Ways::fresh(name, make, |_| SEEN.swap(0, Ordering::Relaxed));
    ways.add("", move |world| {
        SEEN.store(0, Ordering::Relaxed);
        change(world);
    });
    ways.cases
}

fn listener_limit() -> Vec<Case> {
    let make = || {
        let listener: Box<dyn Fn(u64)> = Box::new(see);
        (vec![None::<f32>; K10], listener)
    };
    seen(LIMIT, make, |(values, listener)| {
        for value in &mut *values {
            *value = Some(2.0);
            listener(1);
        }
        for value in values {
            *value = None;
            listener(1);
        }
    })
}

macro_rules! listener_phalanx {
    ($function:ident $name:literal $component:ty) => {
        fn $function() -> Vec<Case> {
            let make = || {
                let mut world = World::new();
                let entities: Vec<_> = (0..K10).map(|i| world.spawn(table::row(i).1)).collect();
                world.insert(entities[0], <$component>::from(2.0)).unwrap();
                world.remove::<$component>(entities[0]).unwrap();
                world.on_add::<$component>(|_, _, _| see(1));
                world.on_remove::<$component>(|_, _, _| see(1));
                (world, entities)
            };
            seen($name, make, |(world, entities)| {
                entities.iter().for_each(|e| world.insert(*e, <$component>::from(2.0)).unwrap());
                entities.iter().for_each(|e| assert!(world.remove::<$component>(*e).unwrap()));
            })
        }
    };
}

impl From<f32> for pool::Velocity {
    fn from(v: f32) -> Self {
        pool::Velocity([v; 3])
    }
}
impl From<f32> for table::Velocity {
    fn from(v: f32) -> Self {
        table::Velocity([v; 3])
    }
}

listener_phalanx!(listener_phalanx_pool "phalanx pool" pool::Velocity);
listener_phalanx!(listener_phalanx_table "phalanx table" table::Velocity);

fn listener_bevy() -> Vec<Case> {
    let make = || {
        let mut world = bevy_ecs::world::World::new();
        let hooks = world.register_component_hooks::<data::Velocity>();
        hooks.on_add(|_, _| see(1)).on_remove(|_, _| see(1));
        let entities: Vec<_> = (0..K10).map(|i| world.spawn(data::row(i).1).id()).collect();
        (world, entities)
    };
    seen("bevy_ecs hooks", make, |(world, entities)| {
        entities.iter().for_each(|e| _ = world.entity_mut(*e).insert(data::VELOCITY));
        entities.iter().for_each(|e| _ = world.entity_mut(*e).remove::<data::Velocity>());
    })
}

fn spawned_phalanx() -> Vec<Case> {
    let make = || {
        let mut world = World::new();
        world.on_add::<table::Position>(|_, _, _| see(1));
        world
    };
    seen("phalanx table", make, |world| (0..K10).for_each(|i| _ = world.spawn(table::row(i))))
}

fn spawned_bevy() -> Vec<Case> {
    let make = || {
        let mut world = bevy_ecs::world::World::new();
        world.register_component_hooks::<data::Position>().on_add(|_, _| see(1));
        world
    };
    seen("bevy_ecs hooks", make, |world| (0..K10).for_each(|i| _ = world.spawn(data::row(i))))
}

fn builder_phalanx() -> Vec<Case> {
    let mut ways =
        Ways::fresh("phalanx table", || (World::new(), BundleBuilder::new()), |(world, _)| table::digest(world));
    ways.add("", |(world, builder)| {
        for i in 0..K10 {
            let (t, p, r, v) = table::row(i);
            builder.add(t).add(p).add(r).add(v);
            builder.spawn(world);
        }
    });
    ways.cases
}

fn digest_hecs(world: &hecs_ecs::World) -> u64 {
    let mut digest = Digest::default();
    world.query::<&table::Position>().iter().for_each(|p| digest.position(p.0[0], p.0[1], p.0[2]));
    digest.0
}

fn builder_hecs() -> Vec<Case> {
    let make = || (hecs_ecs::World::new(), hecs_ecs::EntityBuilder::new());
    let mut ways = Ways::fresh("hecs", make, |(world, _)| digest_hecs(world));
    ways.add("", |(world, builder)| {
        for i in 0..K10 {
            let (t, p, r, v) = table::row(i);
            builder.add(t).add(p).add(r).add(v);
            world.spawn(builder.build());
        }
    });
    ways.cases
}

/// A row of recording commands, or of applying them. The buffers have been used before.
fn commands<W: 'static, C: 'static>(
    name: &'static str,
    records: bool,
    make: impl Fn() -> (W, C) + 'static,
    record: fn(&mut W, &mut C),
    apply: fn(&mut W, &mut C),
    digest: fn(&mut W) -> u64,
) -> Vec<Case> {
    let new = move || {
        let (mut world, mut commands) = make();
        record(&mut world, &mut commands);
        apply(&mut world, &mut commands);
        if !records {
            record(&mut world, &mut commands);
        }
        (world, commands, apply, digest)
    };
    let mut ways = Ways::fresh(name, new, |(world, commands, apply, digest)| {
        apply(world, commands);
        digest(world)
    });
    ways.add(
        "",
        move |(world, commands, apply, _)| if records { record(world, commands) } else { apply(world, commands) },
    );
    ways.cases
}

fn commands_phalanx(records: bool) -> Vec<Case> {
    commands(
        "phalanx table",
        records,
        || (World::new(), ::phalanx::CommandBuffer::new()),
        |_, commands| (0..K10).for_each(|i| commands.spawn(table::row(i))),
        |world, commands| assert!(commands.apply(world).is_complete()),
        |world| table::digest(world),
    )
}

fn commands_hecs(records: bool) -> Vec<Case> {
    commands(
        "hecs",
        records,
        || (hecs_ecs::World::new(), hecs_ecs::CommandBuffer::new()),
        |_, commands| (0..K10).for_each(|i| commands.spawn(table::row(i))),
        |world, commands| commands.run_on(world),
        |world| digest_hecs(world),
    )
}

fn commands_bevy(records: bool) -> Vec<Case> {
    commands(
        "bevy_ecs",
        records,
        || (bevy_ecs::world::World::new(), CommandQueue::default()),
        |world, queue| {
            let mut commands = bevy_ecs::system::Commands::new(queue, world);
            (0..K10).for_each(|i| _ = commands.spawn(data::row(i)));
        },
        |world, queue| queue.apply(world),
        |world| {
            let mut digest = Digest::default();
            let mut query = world.query::<&data::Position>();
            query.iter(world).for_each(|p| digest.position(p.x, p.y, p.z));
            digest.0
        },
    )
}

#[derive(Component)]
#[component(layout = "pool")]
struct Numbered<const N: usize>(#[expect(dead_code)] u32);

/// Calls a macro with the numbers below 50, and what it is given.
macro_rules! with_tens {
    ($macro:ident $world:ident) => {
        $macro!($world 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38
            39 40 41 42 43 44 45 46 47 48 49)
    };
}

/// Spawns an entity of each of ten types, for each number.
macro_rules! spawn_tens {
    ($world:ident $($n:literal)*) => {$(
        $world.one::<{ $n * 10 }>();
        $world.one::<{ $n * 10 + 1 }>();
        $world.one::<{ $n * 10 + 2 }>();
        $world.one::<{ $n * 10 + 3 }>();
        $world.one::<{ $n * 10 + 4 }>();
        $world.one::<{ $n * 10 + 5 }>();
        $world.one::<{ $n * 10 + 6 }>();
        $world.one::<{ $n * 10 + 7 }>();
        $world.one::<{ $n * 10 + 8 }>();
        $world.one::<{ $n * 10 + 9 }>();
    )*};
}

/// Spawns an entity of one of many types.
trait Many {
    fn one<const N: usize>(&mut self);
    fn count(&self) -> u64;
}

impl Many for World {
    fn one<const N: usize>(&mut self) {
        self.spawn(Numbered::<N>(N as u32));
    }

    fn count(&self) -> u64 {
        self.len() as u64
    }
}

impl Many for sparsey_ecs::World {
    fn one<const N: usize>(&mut self) {
        self.register::<Numbered<N>>();
        self.create((Numbered::<N>(N as u32),));
    }

    fn count(&self) -> u64 {
        self.entities().len() as u64
    }
}

fn types<W: Many + 'static>(name: &'static str, new: fn() -> W) -> Vec<Case> {
    let mut ways = Ways::held(name, || 0_u64, 1, |count| *count).warm();
    ways.add("", move |count| {
        let mut world = new();
        with_tens!(spawn_tens world);
        *count = world.count();
    });
    ways.cases
}

fn types_phalanx() -> Vec<Case> {
    types("phalanx pool", World::new)
}

fn types_sparsey() -> Vec<Case> {
    types("sparsey", sparsey_ecs::World::default)
}

#[derive(Component)]
#[component(layout = "pool")]
struct Text(#[expect(dead_code)] String);

/// A row that replaces the text of all entities in random order, and despawns them.
fn heap<W: 'static, E: Copy + 'static>(
    name: &'static str,
    new: fn() -> W,
    spawn: fn(&mut W, Text) -> E,
    replace: fn(&mut W, E, Text),
    despawn: fn(&mut W, E),
) -> Vec<Case> {
    let make = move || {
        let mut world = new();
        let mut entities: Vec<E> = (0..K10).map(|i| spawn(&mut world, Text(i.to_string()))).collect();
        Rng::new(7).shuffle(&mut entities);
        (world, entities)
    };
    let mut ways = Ways::fresh(name, make, |_| 0);
    ways.add("", move |(world, entities)| {
        entities.iter().for_each(|e| replace(world, *e, Text(String::from("replaced"))));
        entities.iter().for_each(|e| despawn(world, *e));
    });
    ways.cases
}

fn heap_phalanx() -> Vec<Case> {
    heap(
        "phalanx pool",
        World::new,
        |world, text| world.spawn(text),
        |world, e, text| world.insert(e, text).unwrap(),
        |world, e| world.despawn(e).unwrap(),
    )
}

fn heap_sparsey() -> Vec<Case> {
    let new = || {
        let mut world = sparsey_ecs::World::default();
        world.register::<Text>();
        world
    };
    heap(
        "sparsey",
        new,
        |world, text| world.create((text,)),
        |world, e, text| assert!(world.insert(e, (text,))),
        |world, e| assert!(world.destroy(e)),
    )
}

fn heap_hecs() -> Vec<Case> {
    heap(
        "hecs",
        hecs_ecs::World::new,
        |world, text| world.spawn((text,)),
        |world, e, text| world.insert_one(e, text).unwrap(),
        |world, e| world.despawn(e).unwrap(),
    )
}
