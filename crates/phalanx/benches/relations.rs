//! The cost of links and of values that are computed from those of parents, against hand-written structures; every target with
//! its figure.
//!
//! `cargo bench -p phalanx --bench relations [-- --only WORD] [--seconds S]`. Ratios of minima over many interleaved rounds.
#![allow(missing_docs)]

use phalanx::relation::{Cascade, ChildOf};
use phalanx::{Component, Entity, World};
use phalanx_testkit::Rng;
use phalanx_testkit::bench::Bound::{Nanoseconds, Within};
use phalanx_testkit::bench::{self, Build, Case, Target, Workload, mix, target, time};
use std::collections::HashMap;
use std::hint::black_box;
use std::time::Duration;

const CHILDREN: usize = 10_000;
const PARENTS: usize = 100;
const SPAWN: &str = "spawn 10,000 children of 100 parents";
const REPARENT: &str = "reparent random leaves of 10,000";
const DESPAWN: &str = "despawn one of many children";
const TREES: &str = "despawn 1,000 trees of 100";
const TRANSFORMS: &str = "transforms of 51,696 nodes";
const FIND: &str = "find three names of 100,000";
const MOVED: &str = "transforms, 1 % moved";

const TARGETS: &[Target] = &[
    target(SPAWN, "children", &["plain spawn"], Within(1.5)),
    target(REPARENT, "phalanx", &["intrusive lists"], Within(1.6)),
    target(DESPAWN, "of 1,000,000", &["plain despawn"], Within(2.0)),
    target(TREES, "trees", &["by list"], Within(1.3)),
    target(TRANSFORMS, "grouped pools", &["sorted arrays"], Within(1.15)),
    target(TRANSFORMS, "tables", &["sorted arrays"], Within(2.0)),
    target(FIND, "phalanx", &["map of paths"], Nanoseconds(60.0)),
    target(MOVED, "grouped pools", &["one pass over bits"], Within(1.5)),
];

#[derive(Clone, Copy, Component)]
#[allow(dead_code, reason = "it is only carried along")]
struct Body([f32; 4]);

fn case(label: &'static str, run: impl FnMut(bool) -> (f64, u64) + 'static) -> Case {
    Case::new(label, run)
}

fn spawn() -> Workload {
    let plain = || {
        let mut world = World::new();
        case("plain spawn", move |_| {
            world.clear();
            for n in 0..PARENTS {
                world.spawn(Body([n as f32; 4]));
            }
            let (ns, ()) = time(|| {
                for n in 0..CHILDREN {
                    black_box(world.spawn(Body([n as f32; 4])));
                }
            });
            (ns, world.len() as u64)
        })
    };
    let children = || {
        let mut world = World::new();
        case("children", move |_| {
            world.clear();
            let parents: Vec<Entity> = (0..PARENTS).map(|n| world.spawn(Body([n as f32; 4]))).collect();
            let (ns, ()) = time(|| {
                let mut tree = world.relations_mut::<ChildOf>();
                for n in 0..CHILDREN {
                    black_box(tree.spawn(parents[n % PARENTS], Body([n as f32; 4])).unwrap());
                }
            });
            (ns, world.len() as u64)
        })
    };
    Workload { name: SPAWN, ops: CHILDREN as f64, build: vec![Box::new(plain) as Build, Box::new(children)] }
}

/// The record of a hand-written tree. The last three are only used if handles are checked.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Hand {
    parent: u32,
    prev: u32,
    next: u32,
    first: u32,
    last: u32,
    count: u32,
    depth: u32,
    generation: u32,
}

const NONE: u32 = u32::MAX;

/// A hand-written tree: intrusive lists.
struct HandTree {
    nodes: Vec<Hand>,
}

/// What a handle of a hand-written tree may be refused for.
#[derive(Debug)]
enum HandError {
    Dead,
    Cycle,
}

impl HandTree {
    /// Returns a tree of parents without children.
    fn new(len: usize) -> HandTree {
        let node =
            Hand { parent: NONE, prev: NONE, next: NONE, first: NONE, last: NONE, count: 0, depth: 0, generation: 0 };
        HandTree { nodes: vec![node; len] }
    }

    /// Moves a child to a parent, without any check.
    fn move_to(&mut self, child: u32, parent: u32) {
        let nodes = &mut self.nodes;
        let Hand { parent: old, prev, next, .. } = nodes[child as usize];
        if old != NONE {
            match prev {
                NONE => nodes[old as usize].first = next,
                prev => nodes[prev as usize].next = next,
            }
            match next {
                NONE => nodes[old as usize].last = prev,
                next => nodes[next as usize].prev = prev,
            }
        }
        let last = nodes[parent as usize].last;
        match last {
            NONE => nodes[parent as usize].first = child,
            last => nodes[last as usize].next = child,
        }
        nodes[parent as usize].last = child;
        let node = &mut nodes[child as usize];
        (node.parent, node.prev, node.next) = (parent, last, NONE);
    }

    /// Moves a child to a parent, by handles of an index and a generation, as a store that hands them out has to: neither may be
    /// dead, there is no cycle, and the number of children and the depth are known.
    fn link(&mut self, child: u64, parent: u64) -> Result<(), HandError> {
        let is_alive = |handle: u64| {
            self.nodes.get(handle as u32 as usize).is_some_and(|node| node.generation == (handle >> 32) as u32)
        };
        if !is_alive(child) || !is_alive(parent) {
            return Err(HandError::Dead);
        }
        let (child, parent) = (child as u32, parent as u32);
        let mut above = if self.nodes[child as usize].first == NONE { NONE } else { parent };
        while above != NONE && above != child {
            above = self.nodes[above as usize].parent;
        }
        if above == child || child == parent {
            return Err(HandError::Cycle);
        }
        let old = self.nodes[child as usize].parent;
        if old != parent {
            if old != NONE {
                self.nodes[old as usize].count -= 1;
            }
            self.move_to(child, parent);
            self.nodes[parent as usize].count += 1;
            self.nodes[child as usize].depth = self.nodes[parent as usize].depth + 1;
        }
        Ok(())
    }
}

fn moves(seed: u64) -> Vec<(u32, u32)> {
    let mut rng = Rng::new(seed);
    (0..CHILDREN).map(|_| (rng.below(CHILDREN) as u32, rng.below(PARENTS) as u32)).collect()
}

fn reparent() -> Workload {
    fn tree() -> HandTree {
        let mut tree = HandTree::new(PARENTS + CHILDREN);
        for n in 0..CHILDREN as u32 {
            tree.link(u64::from(PARENTS as u32 + n), u64::from(n % PARENTS as u32)).unwrap();
        }
        tree
    }
    fn digest_of(tree: &HandTree) -> u64 {
        let sum = |node: &Hand| mix(u64::from(node.parent.wrapping_add(1)));
        tree.nodes.iter().skip(PARENTS).map(sum).fold(0, u64::wrapping_add)
    }
    let bare = || {
        let (mut tree, moves) = (tree(), moves(7));
        case("intrusive lists, unchecked", move |digest| {
            let (ns, ()) = time(|| {
                for &(child, parent) in &moves {
                    let child = child + PARENTS as u32;
                    if tree.nodes[child as usize].parent != parent {
                        tree.move_to(child, parent);
                    }
                }
            });
            (ns, if digest { digest_of(&tree) } else { 0 })
        })
    };
    let by_hand = || {
        let (mut tree, moves) = (tree(), moves(7));
        let handles: Vec<u64> = (0..(PARENTS + CHILDREN) as u64).collect();
        case("intrusive lists", move |digest| {
            let (ns, ()) = time(|| {
                for &(child, parent) in &moves {
                    tree.link(handles[child as usize + PARENTS], handles[parent as usize]).unwrap();
                }
            });
            (ns, if digest { digest_of(&tree) } else { 0 })
        })
    };
    let ours = || {
        let mut world = World::new();
        let parents: Vec<Entity> = (0..PARENTS).map(|_| world.spawn_empty()).collect();
        let children: Vec<Entity> =
            (0..CHILDREN).map(|n| world.relations_mut::<ChildOf>().spawn(parents[n % PARENTS], ()).unwrap()).collect();
        let moves = moves(7);
        case("phalanx", move |digest| {
            let (ns, ()) = time(|| {
                let mut tree = world.relations_mut::<ChildOf>();
                for &(child, parent) in &moves {
                    tree.link(children[child as usize], parents[parent as usize]).unwrap();
                }
            });
            let tree = world.relations::<ChildOf>();
            let sum = |child: &Entity| mix(u64::from(tree.parent(*child).unwrap().index() + 1));
            (ns, if digest { children.iter().map(sum).fold(0, u64::wrapping_add) } else { 0 })
        })
    };
    Workload {
        name: REPARENT,
        ops: CHILDREN as f64,
        build: vec![Box::new(bare) as Build, Box::new(by_hand), Box::new(ours)],
    }
}

fn despawn_one() -> Workload {
    /// Despawns a thousand entities out of the middle.
    fn of(label: &'static str, count: usize, is_child: bool) -> Build {
        Box::new(move || {
            case(label, move |_| {
                let mut world = World::new();
                let parent = world.spawn_empty();
                let body = Body([0.0; 4]);
                let spawn = |world: &mut World| match is_child {
                    true => world.relations_mut::<ChildOf>().spawn(parent, body).unwrap(),
                    false => world.spawn(body),
                };
                let entities: Vec<Entity> = (0..count).map(|_| spawn(&mut world)).collect();
                let mut rng = Rng::new(3);
                let mut victims: Vec<Entity> =
                    (0..1_000).map(|n| entities[(n * count / 1_000) + rng.below(count / 1_000)]).collect();
                for at in (1..victims.len()).rev() {
                    victims.swap(at, rng.below(at + 1));
                }
                let (ns, ()) = time(|| victims.iter().for_each(|victim| world.despawn(*victim).unwrap()));
                (ns, 0)
            })
        })
    }
    let build = vec![
        of("plain despawn, of 10,000", 10_000, false),
        of("of 10,000", 10_000, true),
        of("plain despawn", 1_000_000, false),
        of("of 1,000,000", 1_000_000, true),
    ];
    Workload { name: DESPAWN, ops: 1_000.0, build }
}

fn trees() -> Workload {
    fn of(label: &'static str, is_tree: bool) -> Build {
        Box::new(move || {
            let mut world = World::new();
            case(label, move |_| {
                world.clear();
                let (mut roots, mut all) = (Vec::new(), Vec::new());
                for _ in 0..1_000 {
                    let root = world.spawn(Body([0.0; 4]));
                    let mut nodes = vec![root];
                    for n in 0..99_usize {
                        let parent = nodes[n / 4];
                        nodes.push(match is_tree {
                            true => world.relations_mut::<ChildOf>().spawn(parent, Body([1.0; 4])).unwrap(),
                            false => world.spawn(Body([1.0; 4])),
                        });
                    }
                    roots.push(root);
                    all.extend(nodes.iter().rev());
                }
                let (ns, ()) = match is_tree {
                    true => time(|| roots.iter().for_each(|root| world.despawn(*root).unwrap())),
                    false => time(|| all.iter().for_each(|entity| world.despawn(*entity).unwrap())),
                };
                (ns, world.len() as u64)
            })
        })
    }
    Workload { name: TREES, ops: 100_000.0, build: vec![of("by list", false), of("trees", true)] }
}

/// A 3 × 4 matrix, by columns.
type Matrix = [[f32; 3]; 4];

#[inline(always)]
fn multiply(a: &Matrix, b: &Matrix) -> Matrix {
    let mut product = [[0.0; 3]; 4];
    for (column, of) in product.iter_mut().zip(b) {
        for (row, value) in column.iter_mut().enumerate() {
            *value = a[0][row] * of[0] + a[1][row] * of[1] + a[2][row] * of[2];
        }
    }
    for row in 0..3 {
        product[3][row] += a[3][row];
    }
    product
}

fn local(n: usize) -> Matrix {
    let x = (n % 17) as f32 * 0.01;
    [[1.0, x, 0.0], [-x, 1.0, 0.0], [0.0, 0.0, 1.0], [x, 1.0, -x]]
}

/// The parents of 48 trees with a fan-out of 4, 4, 3, 3, 2 and 2, by depth.
fn shape() -> Vec<Option<usize>> {
    let mut parents = vec![None; 48];
    let mut level = 0..48;
    for fan_out in [4, 4, 3, 3, 2, 2] {
        let start = parents.len();
        for parent in level {
            parents.extend((0..fan_out).map(|_| Some(parent)));
        }
        level = start..parents.len();
    }
    parents
}

macro_rules! transforms {
    ($($module:ident: $layout:literal;)*) => { $(
        mod $module {
            use super::*;

            #[derive(Clone, Copy, Component)]
            #[component(layout = $layout)]
            pub(super) struct Local(pub(super) Matrix);
            #[derive(Clone, Copy, Component)]
            #[component(layout = $layout, track = "row")]
            pub(super) struct Watched(pub(super) Matrix);
            #[derive(Clone, Copy, Component)]
            #[component(layout = $layout)]
            pub(super) struct Global(pub(super) Matrix);

            pub(super) fn tree<L: Component>(new: fn(Matrix) -> L) -> (World, Vec<Entity>) {
                let mut world = World::new();
                let mut entities: Vec<Entity> = Vec::new();
                for (n, parent) in shape().into_iter().enumerate() {
                    let bundle = (new(local(n)), Global([[0.0; 3]; 4]));
                    entities.push(match parent {
                        None => world.spawn(bundle),
                        Some(parent) => world.relations_mut::<ChildOf>().spawn(entities[parent], bundle).unwrap(),
                    });
                }
                (world, entities)
            }

            pub(super) fn full(label: &'static str, setup: fn(&mut World)) -> Build {
                Box::new(move || {
                    let (mut world, entities) = tree(Local);
                    setup(&mut world);
                    let mut cascade = Cascade::<ChildOf, Local, Global>::new();
                    case(label, move |digest| {
                        let (ns, ()) = time(|| {
                            cascade.propagate(&mut world, |parent, local, own| {
                                own.0 = parent.map_or(local.0, |parent| multiply(&parent.0, &local.0));
                            });
                        });
                        let of = |entity: &Entity| digest_of(&world.get::<Global>(*entity).unwrap().0);
                        (ns, if digest { entities.iter().map(of).fold(0, u64::wrapping_add) } else { 0 })
                    })
                })
            }

            #[allow(dead_code)]
            pub(super) fn moved(label: &'static str, setup: fn(&mut World)) -> Build {
                Box::new(move || {
                    let (mut world, entities) = tree(Watched);
                    setup(&mut world);
                    let mut cascade = Cascade::<ChildOf, Watched, Global>::new();
                    let victims = moved_leaves();
                    case(label, move |_| {
                        for victim in &victims {
                            world.get_mut::<Watched>(entities[*victim]).unwrap().0[3][0] += 1.0;
                        }
                        let (ns, count) = time(|| {
                            cascade.propagate_changed(&mut world, |parent, local, own| {
                                own.0 = parent.map_or(local.0, |parent| multiply(&parent.0, &local.0));
                            })
                        });
                        black_box(count);
                        (ns, 0)
                    })
                })
            }
        }
    )* };
}

transforms! {
    table: "table";
    pool: "pool";
}

fn digest_of(matrix: &Matrix) -> u64 {
    matrix.iter().flatten().map(|value| mix(u64::from(value.to_bits()))).fold(0, u64::wrapping_add)
}

/// One in a hundred of the leaves.
fn moved_leaves() -> Vec<usize> {
    let count = shape().len();
    (count / 2..count).step_by(50).collect()
}

fn sorted_arrays() -> Build {
    Box::new(|| {
        let parents: Vec<u32> = shape().into_iter().map(|parent| parent.map_or(NONE, |parent| parent as u32)).collect();
        let locals: Vec<Matrix> = (0..parents.len()).map(local).collect();
        let mut globals: Vec<Matrix> = vec![[[0.0; 3]; 4]; parents.len()];
        case("sorted arrays", move |digest| {
            let (ns, ()) = time(|| {
                for (node, (&parent, local)) in parents.iter().zip(&locals).enumerate() {
                    globals[node] = match parent {
                        NONE => *local,
                        parent => multiply(&globals[parent as usize], local),
                    };
                }
            });
            (ns, if digest { globals.iter().map(digest_of).fold(0, u64::wrapping_add) } else { 0 })
        })
    })
}

fn one_pass() -> Build {
    Box::new(|| {
        let parents: Vec<u32> = shape().into_iter().map(|parent| parent.map_or(NONE, |parent| parent as u32)).collect();
        let mut locals: Vec<Matrix> = (0..parents.len()).map(local).collect();
        let mut globals: Vec<Matrix> = vec![[[0.0; 3]; 4]; parents.len()];
        let (victims, mut dirty) = (moved_leaves(), vec![true; parents.len()]);
        case("one pass over bits", move |_| {
            for victim in &victims {
                locals[*victim][3][0] += 1.0;
                dirty[*victim] = true;
            }
            let (ns, ()) = time(|| {
                for (node, (&parent, local)) in parents.iter().zip(&locals).enumerate() {
                    if dirty[node] || parent != NONE && dirty[parent as usize] {
                        dirty[node] = true;
                        globals[node] = match parent {
                            NONE => *local,
                            parent => multiply(&globals[parent as usize], local),
                        };
                    }
                }
                dirty.fill(false);
            });
            (ns, 0)
        })
    })
}

fn transforms() -> Workload {
    let group = |world: &mut World| _ = Cascade::<ChildOf, pool::Local, pool::Global>::group(world).unwrap();
    let build = vec![
        sorted_arrays(),
        pool::full("grouped pools", group),
        pool::full("pools", |_| ()),
        table::full("tables", |_| ()),
    ];
    Workload { name: TRANSFORMS, ops: shape().len() as f64, build }
}

fn moved() -> Workload {
    let group = |world: &mut World| _ = Cascade::<ChildOf, pool::Watched, pool::Global>::group(world).unwrap();
    let build = vec![one_pass(), pool::moved("grouped pools", group), table::moved("tables", |_| ())];
    Workload { name: MOVED, ops: shape().len() as f64, build }
}

/// The paths of three names that lead to the leaves of a tree: 40 entities with 50 children, which have 49 children each.
fn paths() -> Vec<String> {
    let path = |(a, b, c)| format!("squadron {a}/ship {b}/turret {c}");
    let all = (0..40).flat_map(|a| (0..50).flat_map(move |b| (0..49).map(move |c| (a, b, c))));
    all.map(path).collect()
}

fn find() -> Workload {
    const LOOKUPS: usize = 10_000;
    fn of(label: &'static str, mut find: impl FnMut(&str) -> Option<Entity> + 'static) -> Case {
        let (paths, mut rng) = (paths(), Rng::new(5));
        let chosen: Vec<String> = (0..LOOKUPS).map(|_| paths[rng.below(paths.len())].clone()).collect();
        case(label, move |_| {
            let (ns, sum) = time(|| {
                chosen.iter().map(|path| u64::from(find(black_box(path)).unwrap().index())).fold(0, u64::wrapping_add)
            });
            (ns, sum)
        })
    }
    fn world() -> World {
        let mut world = World::new();
        for path in paths() {
            let mut parent = None;
            for name in path.split('/') {
                let found = match parent {
                    None => world.find(name),
                    Some(parent) => world.entity(parent).unwrap().find(name),
                };
                parent = Some(found.unwrap_or_else(|| match parent {
                    None => world.spawn_named(name, Body([0.0; 4])).unwrap(),
                    Some(parent) => world.entity_mut(parent).unwrap().spawn_child_named(name, Body([1.0; 4])).unwrap(),
                }));
            }
        }
        world
    }
    let map = || {
        let world = world();
        let map: HashMap<String, Entity> =
            paths().into_iter().map(|path| (path.clone(), world.find(&path).unwrap())).collect();
        of("map of paths", move |path| map.get(path).copied())
    };
    let ours = || {
        let world = world();
        of("phalanx", move |path| world.find(path))
    };
    Workload { name: FIND, ops: LOOKUPS as f64, build: vec![Box::new(map) as Build, Box::new(ours)] }
}

fn main() {
    bench::settle_allocator();
    let args: Vec<String> = std::env::args().collect();
    let after = |flag: &str| args.iter().position(|a| a == flag).and_then(|at| args.get(at + 1));
    let only = after("--only");
    let seconds: f64 = after("--seconds").and_then(|s| s.parse().ok()).unwrap_or(3.0);
    let mut figures = Vec::new();
    for make in [spawn, reparent, despawn_one, trees, transforms, moved, find] {
        let workload = make();
        if only.is_none_or(|word| workload.name.contains(word.as_str())) {
            let f = bench::run(&workload, Duration::from_secs_f64(seconds));
            f.print();
            figures.push(f);
        }
    }
    bench::print_targets(TARGETS, &figures);
}
