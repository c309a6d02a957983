//! Counts the instructions of the operations of relations, with callgrind, like `instructions` does for worlds without them.
//!
//! `cargo bench -p phalanx --bench relation_instructions [-- WORD…] [--against FILE]`. Needs valgrind. It is a program of its own:
//! what else a program does changes what the compiler inlines.
#![allow(missing_docs)]
// Some components are only carried along.
#![allow(dead_code)]

use phalanx::relation::{Cascade, ChildOf};
use phalanx::{Component, Entity, World};
use phalanx_testkit::Rng;
use phalanx_testkit::instructions::measured;
use std::hint::black_box;

const COUNT: usize = 10_000;

#[derive(Clone, Copy, Component)]
struct Body([f32; 4]);

#[derive(Clone, Copy, Component)]
#[component(layout = "pool", track = "row")]
struct Local(f32);

#[derive(Clone, Copy, Component)]
#[component(layout = "pool")]
struct Global(f32);

fn body(n: usize) -> Body {
    Body([n as f32; 4])
}

/// Returns a world of a hundred parents, and the parents.
fn parents() -> (World, Vec<Entity>) {
    let mut world = World::new();
    let parents = (0..100).map(|n| world.spawn(body(n))).collect();
    (world, parents)
}

/// Adds children to parents in turn.
fn add_children(world: &mut World, parents: &[Entity]) -> Vec<Entity> {
    let mut tree = world.relations_mut::<ChildOf>();
    (0..COUNT).map(|n| tree.spawn(parents[n % parents.len()], body(n)).unwrap()).collect()
}

/// Adds trees of 100 entities with a fan-out of four. Returns their roots.
fn add_trees(world: &mut World) -> Vec<Entity> {
    let tree = |world: &mut World| {
        let mut nodes = vec![world.spawn(body(0))];
        for n in 0..99 {
            nodes.push(world.relations_mut::<ChildOf>().spawn(nodes[n / 4], body(n)).unwrap());
        }
        nodes[0]
    };
    (0..COUNT / 100).map(|_| tree(world)).collect()
}

const WORKLOADS: &[(&str, fn())] = &[
    ("spawn", || {
        let (mut world, _) = parents();
        let others: Vec<_> = (0..COUNT).map(|n| world.spawn(body(n))).collect();
        world.despawn_batch(others);
        measured(|| (0..COUNT).for_each(|n| _ = black_box(world.spawn(body(n)))));
    }),
    ("spawn a child", || {
        let (mut world, parents) = parents();
        let children = add_children(&mut world, &parents);
        world.despawn_batch(children);
        measured(|| {
            let mut tree = world.relations_mut::<ChildOf>();
            (0..COUNT).for_each(|n| _ = black_box(tree.spawn(parents[n % parents.len()], body(n)).unwrap()));
        });
    }),
    ("link to another parent", || {
        let (mut world, parents) = parents();
        let mut children = add_children(&mut world, &parents);
        Rng::new(7).shuffle(&mut children);
        measured(|| {
            let mut tree = world.relations_mut::<ChildOf>();
            (0..COUNT).for_each(|n| tree.link(children[n], parents[n % parents.len()]).unwrap());
        });
    }),
    ("despawn", || {
        let (mut world, _) = parents();
        let mut others: Vec<_> = (0..COUNT).map(|n| world.spawn(body(n))).collect();
        Rng::new(7).shuffle(&mut others);
        measured(|| others.iter().for_each(|entity| world.despawn(*entity).unwrap()));
    }),
    ("despawn a child", || {
        let (mut world, parents) = parents();
        let mut children = add_children(&mut world, &parents);
        Rng::new(7).shuffle(&mut children);
        measured(|| children.iter().for_each(|child| world.despawn(*child).unwrap()));
    }),
    ("despawn trees", || {
        let mut world = World::new();
        let roots = add_trees(&mut world);
        measured(|| roots.iter().for_each(|root| world.despawn(*root).unwrap()));
    }),
    ("cascade, 1 % changed", || {
        let mut world = World::new();
        Cascade::<ChildOf, Local, Global>::group(&mut world).unwrap();
        let mut entities = vec![world.spawn((Local(1.0), Global(0.0)))];
        for n in 1..COUNT {
            let bundle = (Local(1.0), Global(0.0));
            entities.push(world.relations_mut::<ChildOf>().spawn(entities[n / 4], bundle).unwrap());
        }
        let mut cascade = Cascade::<ChildOf, Local, Global>::new();
        let mut run = |world: &mut World| {
            cascade.propagate_changed(world, |parent, local, own| own.0 = parent.map_or(0.0, |of| of.0) + local.0)
        };
        run(&mut world);
        entities.iter().skip(COUNT / 2).step_by(50).for_each(|e| world.get_mut::<Local>(*e).unwrap().0 += 1.0);
        measured(|| run(&mut world));
    }),
];

fn main() {
    phalanx_testkit::instructions::run(WORKLOADS, COUNT);
}
