//! Counts the instructions of operations of a world off the main path, with callgrind: whole worlds, listeners, worlds of one entity.
//!
//! `cargo bench -p phalanx --features snapshot --bench world_instructions [-- WORD…] [--against FILE]` prints a table of
//! instructions per operation. Given a file with an earlier table, it prints that table's figures and the ratios too.
//! Needs valgrind.
#![allow(missing_docs)]
// Some components are only carried along.
#![allow(dead_code)]

use phalanx::group::Owned;
use phalanx::snapshot::Registry;
use phalanx::{BundleBuilder, CommandBuffer, Component, Entity, World};
use phalanx_testkit::Rng;
use phalanx_testkit::instructions::measured;
use std::hint::black_box;

const COUNT: usize = 10_000;
/// The number of components that are registered in one go.
const TYPES: usize = 500;

macro_rules! components {
    ($module:ident $layout:literal) => {
        mod $module {
            use super::*;
            #[derive(Clone, Copy, Component)]
            #[component(layout = $layout, plain)]
            pub(super) struct Transform(pub [f32; 16]);
            #[derive(Clone, Copy, Component)]
            #[component(layout = $layout, plain)]
            pub(super) struct Position(pub [f32; 3]);
            #[derive(Clone, Copy, Component)]
            #[component(layout = $layout, plain)]
            pub(super) struct Rotation(pub [f32; 3]);
            #[derive(Clone, Copy, Component)]
            #[component(layout = $layout, plain)]
            pub(super) struct Velocity(pub [f32; 3]);

            pub(super) fn spawn(world: &mut World, n: usize) -> Entity {
                let n = n as f32;
                world.spawn((Transform([n; 16]), Position([n; 3]), Rotation([n; 3]), Velocity([n; 3])))
            }

            pub(super) fn registry() -> Registry {
                let mut registry = Registry::new();
                registry.plain::<Transform>("transform").unwrap();
                registry.plain::<Position>("position").unwrap();
                registry.plain::<Rotation>("rotation").unwrap();
                registry.plain::<Velocity>("velocity").unwrap();
                registry
            }

            /// Clones a world.
            pub(super) fn clone() {
                let (world, _) = world(spawn);
                measured(|| world.try_clone().unwrap());
            }

            /// Goes back to a state before all entities were despawned.
            pub(super) fn rollback() {
                let (mut world, entities) = world(spawn);
                let before = world.checkpoint().unwrap();
                world.despawn_batch(entities);
                measured(|| world.rollback(&before).unwrap());
                assert_eq!(world.len(), COUNT);
            }

            pub(super) fn save() {
                let (world, _) = world(spawn);
                let registry = registry();
                let mut bytes = Vec::new();
                registry.save(&world, &mut bytes).unwrap();
                bytes.clear();
                measured(|| registry.save(&world, &mut bytes).unwrap());
            }

            pub(super) fn load() {
                let (world, _) = world(spawn);
                let (registry, mut bytes) = (registry(), Vec::new());
                registry.save(&world, &mut bytes).unwrap();
                measured(|| registry.load_bytes(&bytes).unwrap());
            }
        }
    };
}

components!(table "table");
components!(pool "pool");
components!(linear "linear");

/// A component that owns memory.
#[derive(Component)]
#[component(layout = "pool")]
struct Text(String);

#[derive(Component)]
#[component(layout = "pool")]
struct Numbered<const N: usize>(u32);

#[derive(Component)]
struct Tag(u32);

/// Registers components `N` to `N + 9`, and spawns nothing.
fn register_ten<const N: usize>(world: &mut World, value: u32) {
    world.spawn(Numbered::<N>(value));
}

macro_rules! register {
    ($world:ident $($n:literal)*) => {$(
        register_ten::<{ $n * 10 }>($world, 0);
        register_ten::<{ $n * 10 + 1 }>($world, 1);
        register_ten::<{ $n * 10 + 2 }>($world, 2);
        register_ten::<{ $n * 10 + 3 }>($world, 3);
        register_ten::<{ $n * 10 + 4 }>($world, 4);
        register_ten::<{ $n * 10 + 5 }>($world, 5);
        register_ten::<{ $n * 10 + 6 }>($world, 6);
        register_ten::<{ $n * 10 + 7 }>($world, 7);
        register_ten::<{ $n * 10 + 8 }>($world, 8);
        register_ten::<{ $n * 10 + 9 }>($world, 9);
    )*};
}

fn world(spawn: fn(&mut World, usize) -> Entity) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let mut entities: Vec<_> = (0..COUNT).map(|n| spawn(&mut world, n)).collect();
    Rng::new(7).shuffle(&mut entities);
    (world, entities)
}

fn spawn(spawn: fn(&mut World, usize) -> Entity) {
    let (mut world, entities) = world(spawn);
    world.despawn_batch(entities);
    measured(|| (0..COUNT).for_each(|n| _ = black_box(spawn(&mut world, n))));
}

fn despawn(spawn: fn(&mut World, usize) -> Entity) {
    let (mut world, entities) = world(spawn);
    measured(|| entities.iter().for_each(|e| world.despawn(*e).unwrap()));
}

fn listened<C: Component + Copy>(connect: fn(&mut World), value: C) {
    let (mut world, entities) = world(|world, n| world.spawn(table::Position([n as f32; 3])));
    connect(&mut world);
    let all = |world: &mut World| {
        entities.iter().for_each(|e| world.insert(*e, value).unwrap());
        entities.iter().for_each(|e| assert!(world.remove::<C>(*e).unwrap()));
    };
    all(&mut world);
    measured(|| all(&mut world));
}

const WORKLOADS: &[(&str, fn())] = &[
    ("spawn, four in tables", || spawn(table::spawn)),
    ("spawn, four in pools", || spawn(pool::spawn)),
    ("spawn, four linear", || spawn(linear::spawn)),
    ("despawn, four in tables", || despawn(table::spawn)),
    ("despawn, four in pools", || despawn(pool::spawn)),
    ("despawn, four linear", || despawn(linear::spawn)),
    ("clone, four in tables", table::clone),
    ("clone, four in pools", pool::clone),
    ("clone, four linear", linear::clone),
    ("rollback, four in tables", table::rollback),
    ("rollback, four in pools", pool::rollback),
    ("rollback, four linear", linear::rollback),
    ("save, four in tables", table::save),
    ("save, four in pools", pool::save),
    ("save, four linear", linear::save),
    ("load, four in tables", table::load),
    ("load, four in pools", pool::load),
    ("load, four linear", linear::load),
    ("new world, one entity, one query", || {
        let once = || {
            let mut world = World::new();
            world.spawn((table::Position([1.0; 3]), table::Velocity([1.0; 3])));
            world.query_mut::<(&mut table::Position, &table::Velocity)>().for_each(|(p, v)| p.0[0] += v.0[0]);
            black_box(world.len())
        };
        once();
        measured(|| (0..COUNT).for_each(|_| _ = once()));
    }),
    ("new world, one entity, one query, of hecs", || {
        let once = || {
            let mut world = hecs::World::new();
            world.spawn((table::Position([1.0; 3]), table::Velocity([1.0; 3])));
            for (p, v) in world.query_mut::<(&mut table::Position, &table::Velocity)>() {
                p.0[0] += v.0[0];
            }
            black_box(world.len())
        };
        once();
        measured(|| (0..COUNT).for_each(|_| _ = once()));
    }),
    ("500 pools, a spawn each", || {
        let once = || {
            let mut owned = World::new();
            let world = &mut owned;
            register!(world 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34
                35 36 37 38 39 40 41 42 43 44 45 46 47 48 49);
            owned
        };
        assert_eq!(once().len(), TYPES);
        measured(|| (0..COUNT / TYPES).for_each(|_| _ = black_box(once())));
    }),
    ("insert and remove, pool, on_add", || {
        listened(
            |world| _ = world.on_add::<pool::Position>(|added, _, _| _ = black_box(added.entity)),
            pool::Position([1.0; 3]),
        );
    }),
    ("insert and remove, pool, on_add and on_remove", || {
        let connect = |world: &mut World| {
            world.on_add::<pool::Position>(|added, _, _| _ = black_box(added.entity));
            world.on_remove::<pool::Position>(|removed, _, _| _ = black_box(removed.entity));
        };
        listened(connect, pool::Position([1.0; 3]));
    }),
    ("insert and remove, table, on_add and on_remove", || {
        let connect = |world: &mut World| {
            world.on_add::<table::Velocity>(|added, _, _| _ = black_box(added.entity));
            world.on_remove::<table::Velocity>(|removed, _, _| _ = black_box(removed.entity));
        };
        listened(connect, table::Velocity([1.0; 3]));
    }),
    ("spawn, four in tables, on_add", || {
        let (mut world, entities) = world(table::spawn);
        world.despawn_batch(entities);
        world.on_add::<table::Position>(|added, _, _| _ = black_box(added.entity));
        measured(|| (0..COUNT).for_each(|n| _ = black_box(table::spawn(&mut world, n))));
    }),
    ("insert and remove, linear, component_mut", || {
        let (mut world, entities) = world(table::spawn);
        let all = |world: &mut World| {
            let mut values = world.component_mut::<linear::Velocity>();
            entities.iter().for_each(|e| _ = values.insert(*e, linear::Velocity([1.0; 3])));
            entities.iter().for_each(|e| _ = black_box(values.remove(*e)));
        };
        all(&mut world);
        measured(|| all(&mut world));
    }),
    ("insert and remove, owning group", || {
        let (mut world, entities) = world(|world, n| world.spawn(pool::Position([n as f32; 3])));
        world.create_group::<Owned<(pool::Position, pool::Velocity)>>().unwrap();
        let all = |world: &mut World| {
            entities.iter().for_each(|e| world.insert(*e, pool::Velocity([1.0; 3])).unwrap());
            entities.iter().for_each(|e| assert!(world.remove::<pool::Velocity>(*e).unwrap()));
        };
        all(&mut world);
        measured(|| all(&mut world));
    }),
    ("replace and despawn, heap data", || {
        let (mut world, entities) = world(|world, n| world.spawn(Text(n.to_string())));
        measured(|| {
            entities.iter().for_each(|e| world.insert(*e, Text(String::from("x"))).unwrap());
            entities.iter().for_each(|e| world.despawn(*e).unwrap());
        });
    }),
    ("builder, reused, four in tables", || {
        let (mut world, mut builder) = (World::new(), BundleBuilder::new());
        let mut all = || {
            for n in 0..COUNT {
                let n = n as f32;
                builder.add(table::Transform([n; 16])).add(table::Position([n; 3]));
                builder.add(table::Rotation([n; 3])).add(table::Velocity([n; 3]));
                builder.spawn(&mut world);
            }
            world.clear();
        };
        all();
        measured(all);
    }),
    ("builder, reused, four in tables, of hecs", || {
        let (mut world, mut builder) = (hecs::World::new(), hecs::EntityBuilder::new());
        let mut all = || {
            for n in 0..COUNT {
                let n = n as f32;
                builder.add(table::Transform([n; 16])).add(table::Position([n; 3]));
                builder.add(table::Rotation([n; 3])).add(table::Velocity([n; 3]));
                world.spawn(builder.build());
            }
            world.clear();
        };
        all();
        measured(all);
    }),
    ("commands, record spawns of four", || {
        let (mut world, mut commands) = (World::new(), CommandBuffer::new());
        let record = |commands: &mut CommandBuffer| {
            for n in 0..COUNT {
                let n = n as f32;
                commands.spawn((table::Transform([n; 16]), table::Position([n; 3]), table::Velocity([n; 3])));
            }
        };
        record(&mut commands);
        commands.apply(&mut world);
        measured(|| record(&mut commands));
    }),
    ("commands, apply spawns of four", || {
        let (mut world, mut commands) = (World::new(), CommandBuffer::new());
        let record = |commands: &mut CommandBuffer| {
            for n in 0..COUNT {
                let n = n as f32;
                commands.spawn((table::Transform([n; 16]), table::Position([n; 3]), table::Velocity([n; 3])));
            }
        };
        record(&mut commands);
        commands.apply(&mut world);
        world.clear();
        record(&mut commands);
        measured(|| commands.apply(&mut world));
    }),
    ("commands, apply spawns of four, of hecs", || {
        let (mut world, mut commands) = (hecs::World::new(), hecs::CommandBuffer::new());
        let record = |commands: &mut hecs::CommandBuffer| {
            for n in 0..COUNT {
                let n = n as f32;
                commands.spawn((table::Transform([n; 16]), table::Position([n; 3]), table::Velocity([n; 3])));
            }
        };
        record(&mut commands);
        commands.run_on(&mut world);
        world.clear();
        record(&mut commands);
        measured(|| commands.run_on(&mut world));
    }),
];

fn main() {
    phalanx_testkit::instructions::run(WORKLOADS, COUNT);
}
