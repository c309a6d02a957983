//! The workloads, written once for all libraries.

use super::{Tree, bevy, flecs, limit, phalanx};
use crate::data::shape;
use crate::harness::{BAND, Build, Case, Unit, WIDE_BAND, Ways, Workload};
use phalanx_testkit::Rng;

/// The rows of a function over every library.
macro_rules! trees {
    ($f:ident) => { trees!(@ $f limit::Limit, phalanx::Table, phalanx::Pool, bevy::Bevy, flecs::Flecs) };
    (@ $f:ident $($tree:ty),*) => {{
        let rows: Vec<Build> = vec![$(Box::new($f::<$tree>)),*];
        rows
    }};
}

const K1: usize = 1_000;
const K10: usize = 10_000;
const K100: usize = 100_000;
const PARENTS: usize = 100;
/// The nodes of a tree that is despawned.
const NODES: usize = 100;

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
    vec![
        w("tree_spawn", "spawn 10k children (16 B) of 100 parents, one call each", K10, "child", BAND, trees!(spawn)),
        w(
            "tree_reparent",
            "move 10k random leaves of 10k among 100 parents, one by one",
            K10,
            "move",
            WIDE_BAND,
            trees!(reparent),
        ),
        w(
            "tree_remove",
            "despawn 1000 random children of a parent with 100k",
            K1,
            "despawn",
            WIDE_BAND,
            trees!(remove),
        ),
        w("tree_despawn", "despawn 1000 trees of 100 nodes by their roots", K1 * NODES, "node", BAND, trees!(despawn)),
        w(
            "tree_propagate",
            "multiply the 3x4 matrices of 51,696 nodes, 7 deep, with those of their parents; one thread",
            shape().len(),
            "node",
            BAND,
            trees!(propagate),
        ),
    ]
}

/// A world and its roots.
fn roots<T: Tree>(count: usize) -> (T, Vec<T::Entity>) {
    let mut tree = T::new();
    let roots = (0..count).map(|i| tree.spawn_root(i)).collect();
    (tree, roots)
}

fn spawn<T: Tree>() -> Vec<Case> {
    let make = || (roots::<T>(PARENTS), Vec::new());
    let mut ways = Ways::fresh(T::NAME, make, |((tree, _), _)| tree.digest());
    ways.add("", |((tree, parents), children)| *children = tree.spawn_children(parents, PARENTS, K10));
    ways.cases
}

fn reparent<T: Tree>() -> Vec<Case> {
    let make = || {
        let (mut tree, parents) = roots::<T>(PARENTS);
        let children = tree.spawn_children(&parents, PARENTS, K10);
        let mut rng = Rng::new(7);
        let moves: Vec<_> = (0..K10).map(|_| (children[rng.below(K10)], parents[rng.below(PARENTS)])).collect();
        (tree, moves)
    };
    // Doing the moves again would find the leaves in their places.
    let mut ways = Ways::fresh(T::NAME, make, |(tree, _)| tree.digest());
    ways.add("", |(tree, moves)| tree.reparent(moves));
    ways.cases
}

fn remove<T: Tree>() -> Vec<Case> {
    let make = || {
        let (mut tree, parents) = roots::<T>(1);
        let mut children = tree.spawn_children(&parents, 1, K100);
        Rng::new(3).shuffle(&mut children);
        children.truncate(K1);
        (tree, children)
    };
    let mut ways = Ways::fresh(T::NAME, make, |(tree, _)| tree.digest());
    ways.add("", |(tree, victims)| victims.iter().for_each(|&e| tree.despawn(e)));
    ways.cases
}

fn despawn<T: Tree>() -> Vec<Case> {
    let make = || {
        let mut tree = T::new();
        let mut roots = Vec::new();
        // One stays, so that the digest has something to say.
        for k in 0..=K1 {
            let root = tree.spawn_root(k * NODES);
            let mut nodes = vec![root];
            for n in 1..NODES {
                nodes.push(tree.spawn_child(nodes[(n - 1) / 4], k * NODES + n));
            }
            roots.push(root);
        }
        roots.pop();
        (tree, roots)
    };
    let mut ways = Ways::fresh(T::NAME, make, |(tree, _)| tree.digest());
    ways.add("", |(tree, roots)| roots.iter().for_each(|&e| tree.despawn(e)));
    ways.cases
}

fn propagate<T: Tree>() -> Vec<Case> {
    let make = || {
        let mut tree = T::new();
        let mut nodes: Vec<T::Entity> = Vec::new();
        for (i, parent) in shape().into_iter().enumerate() {
            nodes.push(tree.spawn_node(parent.map(|parent| nodes[parent]), i));
        }
        tree.ready();
        tree
    };
    let mut ways = Ways::held(T::NAME, make, 1, T::digest_nodes).warm();
    T::propagate(&mut ways);
    ways.cases
}
