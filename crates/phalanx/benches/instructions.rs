//! Counts the instructions of the operations of a world, with callgrind: figures that do not depend on what else runs.
//!
//! `cargo bench -p phalanx --features snapshot --bench instructions [-- WORD…] [--against FILE]` prints a table of instructions
//! per operation. Given a file with an earlier table, it prints that table's figures and the ratios too. Needs valgrind.
#![allow(missing_docs)]
// Some components are only carried along.
#![allow(dead_code)]

use phalanx::group::{Observed, Owned};
use phalanx::relation::ChildOf;
use phalanx::snapshot::Registry;
use phalanx::{BundleBuilder, CommandBuffer, Component, Entity, World};
use phalanx_testkit::Rng;
use phalanx_testkit::instructions::measured;
use std::hint::black_box;

const COUNT: usize = 10_000;

macro_rules! components {
    ($($name:ident $layout:literal)*) => {$(
        #[derive(Clone, Copy, Component)]
        #[component(layout = $layout, plain)]
        struct $name(f32, f32, f32);
    )*};
}

components! {
    Position "table"
    Velocity "table"
    Tag "table"
    Burning "pool"
    Frozen "pool"
    Mass "linear"
}

#[derive(Component)]
struct Text(&'static str);

fn three(n: f32) -> (f32, f32, f32) {
    (n, n + 1.0, n + 2.0)
}

fn row(n: usize) -> (Position, Velocity) {
    let (a, b, c) = three(n as f32);
    (Position(a, b, c), Velocity(c, b, a))
}

/// Returns a world of entities with two components in a table, and the entities in random order.
fn table_world() -> (World, Vec<Entity>) {
    let mut world = World::new();
    let mut entities: Vec<_> = (0..COUNT).map(|n| world.spawn(row(n))).collect();
    Rng::new(7).shuffle(&mut entities);
    (world, entities)
}

fn insert_remove<C: Component + Copy>(value: C) {
    let (mut world, entities) = table_world();
    let all = |world: &mut World| {
        entities.iter().for_each(|e| world.insert(*e, value).unwrap());
        entities.iter().for_each(|e| assert!(world.remove::<C>(*e).unwrap()));
    };
    all(&mut world);
    measured(|| all(&mut world));
}

fn get<C: Component + Copy>(value: C) {
    let (mut world, entities) = table_world();
    entities.iter().for_each(|e| world.insert(*e, value).unwrap());
    measured(|| entities.iter().filter(|e| world.get::<C>(**e).is_ok()).count());
}

fn churn(spawn: impl Fn(&mut World, usize) -> Entity) {
    let mut world = World::new();
    let mut entities: Vec<_> = (0..COUNT).map(|n| spawn(&mut world, n)).collect();
    Rng::new(7).shuffle(&mut entities);
    measured(|| {
        for (n, entity) in entities.iter_mut().enumerate() {
            world.despawn(*entity).unwrap();
            *entity = spawn(&mut world, n);
        }
    });
}

fn despawn(spawn: impl Fn(&mut World, usize) -> Entity) {
    let mut world = World::new();
    let mut entities: Vec<_> = (0..COUNT).map(|n| spawn(&mut world, n)).collect();
    Rng::new(7).shuffle(&mut entities);
    measured(|| entities.iter().for_each(|e| world.despawn(*e).unwrap()));
}

fn spawn(spawn: impl Fn(&mut World, usize) -> Entity) {
    let mut world = World::new();
    let entities: Vec<_> = (0..COUNT).map(|n| spawn(&mut world, n)).collect();
    world.despawn_batch(entities);
    measured(|| (0..COUNT).for_each(|n| _ = black_box(spawn(&mut world, n))));
}

fn in_table(world: &mut World, n: usize) -> Entity {
    world.spawn(row(n))
}

fn mixed_row(n: usize) -> (Position, Burning, Frozen, Mass) {
    let (a, b, c) = three(n as f32);
    (Position(a, b, c), Burning(a, b, c), Frozen(a, b, c), Mass(a, b, c))
}

fn mixed(world: &mut World, n: usize) -> Entity {
    world.spawn(mixed_row(n))
}

/// Returns a world of entities with two components in pools, which have them in different orders.
fn pool_world() -> World {
    let mut world = World::new();
    let mut entities: Vec<_> = (0..COUNT).map(|_| world.spawn(Burning(1.0, 2.0, 3.0))).collect();
    Rng::new(7).shuffle(&mut entities);
    entities.iter().for_each(|e| world.insert(*e, Frozen(1.0, 2.0, 3.0)).unwrap());
    world
}

/// Returns a world of entities with a component in a linear store.
fn linear_world() -> World {
    let (mut world, entities) = table_world();
    entities.iter().for_each(|e| world.insert(*e, Mass(1.0, 2.0, 3.0)).unwrap());
    world
}

/// Records a command for each entity and applies all, twice. The second time is measured.
fn commands(record: impl Fn(&mut CommandBuffer, Entity)) {
    let (mut world, entities) = table_world();
    let mut commands = CommandBuffer::new();
    let mut all = || {
        entities.iter().for_each(|e| record(&mut commands, *e));
        commands.apply(&mut world);
        entities.iter().for_each(|e| commands.remove::<(Tag, Burning)>(*e));
        commands.apply(&mut world);
    };
    all();
    measured(all);
}

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.plain::<Position>("position").unwrap();
    registry.plain::<Velocity>("velocity").unwrap();
    registry.plain::<Burning>("burning").unwrap();
    registry.plain::<Mass>("mass").unwrap();
    registry
}

fn saved() -> (World, Vec<u8>) {
    let (mut world, entities) = table_world();
    for entity in entities.iter().step_by(2) {
        world.insert(*entity, (Burning(1.0, 2.0, 3.0), Mass(1.0, 2.0, 3.0))).unwrap();
    }
    let mut bytes = Vec::new();
    registry().save(&world, &mut bytes).unwrap();
    (world, bytes)
}

const WORKLOADS: &[(&str, fn())] = &[
    ("spawn, table", || spawn(in_table)),
    ("spawn, all layouts", || spawn(mixed)),
    ("spawn batch, table", || {
        let mut world = World::new();
        measured(|| world.spawn_batch((0..COUNT).map(row)));
    }),
    ("spawn batch, all layouts", || {
        let mut world = World::new();
        measured(|| world.spawn_batch((0..COUNT).map(mixed_row)));
    }),
    ("spawn, builder", || {
        let (mut world, mut builder) = (World::new(), BundleBuilder::new());
        let mut all = || {
            for n in 0..COUNT {
                let (position, velocity) = row(n);
                builder.add(position).add(velocity).add(Tag(1.0, 2.0, 3.0)).add(Text("text"));
                builder.spawn(&mut world);
            }
            world.clear();
        };
        all();
        measured(all);
    }),
    ("spawn, builder of hecs", || {
        let (mut world, mut builder) = (hecs::World::new(), hecs::EntityBuilder::new());
        let mut all = || {
            for n in 0..COUNT {
                let (position, velocity) = row(n);
                builder.add(position).add(velocity).add(Tag(1.0, 2.0, 3.0)).add(Text("text"));
                world.spawn(builder.build());
            }
            world.clear();
        };
        all();
        measured(all);
    }),
    ("commands, insert and remove, table", || commands(|commands, e| commands.insert(e, Tag(1.0, 2.0, 3.0)))),
    ("commands, insert and remove, pool", || commands(|commands, e| commands.insert(e, Burning(1.0, 2.0, 3.0)))),
    ("despawn, table", || despawn(in_table)),
    ("despawn, all layouts", || despawn(mixed)),
    ("churn, table", || churn(in_table)),
    ("churn, all layouts", || churn(mixed)),
    ("insert and remove, table", || insert_remove(Tag(1.0, 2.0, 3.0))),
    ("insert and remove, pool", || insert_remove(Burning(1.0, 2.0, 3.0))),
    ("insert and remove, linear", || insert_remove(Mass(1.0, 2.0, 3.0))),
    ("insert and remove, group", || {
        let (mut world, entities) = table_world();
        entities.iter().for_each(|e| world.insert(*e, Frozen(1.0, 2.0, 3.0)).unwrap());
        world.create_group::<Owned<(Burning, Frozen)>>().unwrap();
        let all = |world: &mut World| {
            entities.iter().for_each(|e| world.insert(*e, Burning(1.0, 2.0, 3.0)).unwrap());
            entities.iter().for_each(|e| assert!(world.remove::<Burning>(*e).unwrap()));
        };
        all(&mut world);
        measured(|| all(&mut world));
    }),
    ("insert and remove, listener", || {
        let (mut world, entities) = table_world();
        world.on_add::<Burning>(|added, _, _| _ = black_box(added.entity));
        let all = |world: &mut World| {
            entities.iter().for_each(|e| world.insert(*e, Burning(1.0, 2.0, 3.0)).unwrap());
            entities.iter().for_each(|e| assert!(world.remove::<Burning>(*e).unwrap()));
        };
        all(&mut world);
        measured(|| all(&mut world));
    }),
    ("get, table", || get(Tag(1.0, 2.0, 3.0))),
    ("get, pool", || get(Burning(1.0, 2.0, 3.0))),
    ("get, linear", || get(Mass(1.0, 2.0, 3.0))),
    ("for_each, table", || {
        let (mut world, _) = table_world();
        measured(|| world.query_mut::<(&mut Position, &Velocity)>().for_each(|(p, v)| p.0 += v.0));
    }),
    ("for, table", || {
        let (mut world, _) = table_world();
        measured(|| {
            for (p, v) in world.query_mut::<(&mut Position, &Velocity)>() {
                p.0 += v.0;
            }
        });
    }),
    ("for_each, table and pool", || {
        let (mut world, entities) = table_world();
        entities.iter().for_each(|e| world.insert(*e, Burning(1.0, 2.0, 3.0)).unwrap());
        measured(|| world.query_mut::<(&mut Position, &Burning)>().for_each(|(p, b)| p.0 += b.0));
    }),
    ("for_each, linear", || {
        let mut world = linear_world();
        measured(|| world.query_mut::<&mut Mass>().for_each(|mass| mass.0 += 1.0));
    }),
    ("spawn, child", || {
        let (mut world, parents) = table_world();
        let mut tree = world.relations_mut::<ChildOf>();
        let children: Vec<_> = parents.iter().map(|parent| tree.spawn(*parent, row(1)).unwrap()).collect();
        world.despawn_batch(children);
        let mut tree = world.relations_mut::<ChildOf>();
        measured(|| parents.iter().for_each(|parent| _ = black_box(tree.spawn(*parent, row(1)).unwrap())));
    }),
    ("link and unlink", || {
        let (mut world, entities) = table_world();
        let (children, parents) = entities.split_at(COUNT / 2);
        let mut tree = world.relations_mut::<ChildOf>();
        let mut all = || {
            children.iter().zip(parents).for_each(|(child, parent)| tree.link(*child, *parent).unwrap());
            children.iter().for_each(|child| _ = black_box(tree.unlink(*child).unwrap()));
        };
        all();
        measured(all);
    }),
    ("commands, inserted and linked", || {
        let (mut world, entities) = table_world();
        let mut commands = CommandBuffer::new();
        let mut all = || {
            entities.iter().for_each(|entity| commands.insert(*entity, Burning(1.0, 2.0, 3.0)));
            entities.windows(2).for_each(|pair| commands.link::<ChildOf>(pair[1], pair[0]));
            assert!(commands.apply(&mut world).is_complete());
        };
        all();
        measured(all);
    }),
    ("for, linear", || {
        let mut world = linear_world();
        measured(|| {
            for mass in world.query_mut::<&mut Mass>() {
                mass.0 += 1.0;
            }
        });
    }),
    ("for_each, pool", || {
        let mut world = pool_world();
        measured(|| world.query_mut::<&mut Burning>().for_each(|burning| burning.0 += 1.0));
    }),
    ("for, pool", || {
        let mut world = pool_world();
        measured(|| {
            for burning in world.query_mut::<&mut Burning>() {
                burning.0 += 1.0;
            }
        });
    }),
    ("for, pool, shared", || {
        let world = pool_world();
        measured(|| {
            let mut sum = 0.0;
            for burning in world.query::<&Burning>() {
                sum += burning.0;
            }
            sum
        });
    }),
    ("for_each, two pools", || {
        let mut world = pool_world();
        measured(|| world.query_mut::<(&mut Burning, &Frozen)>().for_each(|(b, f)| b.0 += f.0));
    }),
    ("for, two pools", || {
        let mut world = pool_world();
        measured(|| {
            for (b, f) in world.query_mut::<(&mut Burning, &Frozen)>() {
                b.0 += f.0;
            }
        });
    }),
    ("for_each, group", || {
        let mut world = pool_world();
        let group = world.create_group::<Owned<(Burning, Frozen)>>().unwrap();
        measured(|| group.for_each(&mut world, |(b, f)| b.0 += f.0));
    }),
    ("for, group", || {
        let mut world = pool_world();
        let group = world.create_group::<Owned<(Burning, Frozen)>>().unwrap();
        measured(|| {
            for (b, f) in group.iter_mut(&mut world) {
                b.0 += f.0;
            }
        });
    }),
    ("for, query of a group", || {
        let mut world = pool_world();
        world.create_group::<Owned<(Burning, Frozen)>>().unwrap();
        measured(|| {
            for (b, f) in world.query_mut::<(&mut Burning, &Frozen)>() {
                b.0 += f.0;
            }
        });
    }),
    ("for_each, group that owns nothing", || {
        let mut world = pool_world();
        let group = world.create_group::<Observed<(Burning, Frozen)>>().unwrap();
        measured(|| group.for_each(&mut world, |(b, f)| b.0 += f.0));
    }),
    ("for, group that owns nothing", || {
        let mut world = pool_world();
        let group = world.create_group::<Observed<(Burning, Frozen)>>().unwrap();
        measured(|| {
            for (b, f) in group.iter_mut(&mut world) {
                b.0 += f.0;
            }
        });
    }),
    ("save", || {
        let (world, bytes) = saved();
        let (registry, mut out) = (registry(), Vec::with_capacity(bytes.len()));
        measured(|| registry.save(&world, &mut out).unwrap());
    }),
    ("load", || {
        let (_, bytes) = saved();
        let registry = registry();
        measured(|| registry.load(&*bytes).unwrap());
    }),
];

fn main() {
    phalanx_testkit::instructions::run(WORKLOADS, COUNT);
}
