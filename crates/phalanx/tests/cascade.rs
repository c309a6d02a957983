//! Cascades: values that are computed from those of parents, against a recursive model.

use phalanx::executor::ThreadPool;
use phalanx::relation::{Cascade, ChildOf, Relation, RelationKind, TreeRelation};
use phalanx::timeline::Timeline;
use phalanx::{Changed, Component, Entity, QueryState, World};
use phalanx_testkit::bench::mix;
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers that depend on a seed only.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        Random(seed << 32)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 += 1;
        mix(self.0) % end
    }
}

/// Two components of a layout, and whether their sparse sets are grouped.
macro_rules! layouts {
    ($($name:ident: $layout:literal, $track:literal, |$world:ident| $group:expr;)*) => { $(
        mod $name {
            use super::*;

            #[derive(Component, Clone, Copy, Debug, PartialEq)]
            #[component(layout = $layout, track = $track, clone)]
            pub(super) struct Local(pub(super) u64);
            #[derive(Component, Clone, Copy, Debug, PartialEq)]
            #[component(layout = $layout, clone)]
            pub(super) struct Global(pub(super) u64);

            fn compute(parent: Option<&Global>, local: &Local, own: &mut Global) {
                own.0 = parent.map_or(1, |parent| parent.0).wrapping_mul(31).wrapping_add(local.0);
            }

            /// Returns the value of an entity and of all above it that have both components.
            fn expected(world: &World, entity: Entity) -> u64 {
                let has = |entity: &Entity| world.has::<Local>(*entity) && world.has::<Global>(*entity);
                let parent = world.relations::<ChildOf>().parent(entity).filter(has);
                let above = parent.map_or(1, |parent| expected(world, parent));
                above.wrapping_mul(31).wrapping_add(world.get::<Local>(entity).unwrap().0)
            }

            fn check(world: &World) {
                world.validate().unwrap();
                for (entity, global) in world.query_filtered::<(Entity, &Global), phalanx::With<Local>>().iter() {
                    assert_eq!(global.0, expected(world, entity), "{entity}");
                }
            }

            #[test]
            fn values_are_those_of_a_recursive_model() {
                for seed in 0..40 {
                    let mut random = Random::new(seed);
                    let mut world = World::new();
                    let setup = |$world: &mut World| $group;
                    setup(&mut world);
                    let pool = ThreadPool::new(2);
                    let mut cascade = Cascade::<ChildOf, Local, Global>::new();
                    let mut entities = Vec::new();
                    for _ in 0..60 {
                        for _ in 0..random.below(6) {
                            step(&mut world, &mut entities, &mut random);
                        }
                        match random.below(4) {
                            0 => cascade.propagate(&mut world, compute),
                            1 => cascade.par_propagate(&pool, &mut world, compute),
                            _ => drop(cascade.propagate_changed(&mut world, compute)),
                        }
                        check(&world);
                    }
                }
            }

            #[test]
            fn only_changed_trees_are_visited() {
                let mut world = World::new();
                let setup = |$world: &mut World| $group;
                setup(&mut world);
                let roots: Vec<_> = (0..10).map(|n| world.spawn((Local(n), Global(0)))).collect();
                let mut leaves = Vec::new();
                for root in &roots {
                    let child = world.entity_mut(*root).unwrap().spawn_child((Local(7), Global(0)));
                    leaves.push(world.entity_mut(child).unwrap().spawn_child((Local(8), Global(0))));
                }
                let mut cascade = Cascade::<ChildOf, Local, Global>::new();
                let mut visited = HashMap::new();
                let mut run = |world: &mut World| {
                    visited.clear();
                    cascade.propagate_changed(world, |parent, local, own| {
                        compute(parent, local, own);
                        *visited.entry(own.0).or_insert(0) += 1;
                    })
                };
                assert_eq!(run(&mut world), 30);
                assert_eq!(run(&mut world), 0);
                world.get_mut::<Local>(roots[3]).unwrap().0 += 100;
                if $track == "column" {
                    // All values of a column count as changed.
                    assert_eq!(run(&mut world), 30);
                    return;
                }
                assert_eq!(run(&mut world), 3);
                world.get_mut::<Local>(leaves[4]).unwrap().0 += 100;
                assert_eq!(run(&mut world), 1);
                // A new parent: of the leaf alone.
                world.relations_mut::<ChildOf>().link(leaves[5], roots[0]).unwrap();
                assert_eq!(run(&mut world), 1);
                check(&world);
                // A root that does not take part any more: its child is treated like a root.
                world.remove::<Local>(roots[6]).unwrap();
                assert_eq!(run(&mut world), 2);
                check(&world);
                assert_eq!(run(&mut world), 0);
            }

            #[test]
            fn a_rollback_is_noticed() {
                let mut world = World::new();
                let setup = |$world: &mut World| $group;
                setup(&mut world);
                let root = world.spawn((Local(1), Global(0)));
                let child = world.entity_mut(root).unwrap().spawn_child((Local(2), Global(0)));
                let mut cascade = Cascade::<ChildOf, Local, Global>::new();
                cascade.propagate_changed(&mut world, compute);
                let checkpoint = world.checkpoint().unwrap();
                world.relations_mut::<ChildOf>().unlink(child).unwrap();
                world.get_mut::<Local>(root).unwrap().0 = 9;
                cascade.propagate_changed(&mut world, compute);
                check(&world);
                world.rollback(&checkpoint).unwrap();
                assert_eq!(world.relations::<ChildOf>().parent(child), Some(root));
                check(&world);
                world.get_mut::<Local>(root).unwrap().0 = 5;
                cascade.propagate_changed(&mut world, compute);
                check(&world);
            }

            #[test]
            fn a_timeline_sees_what_is_written() {
                let mut world = World::new();
                let setup = |$world: &mut World| $group;
                setup(&mut world);
                let root = world.spawn((Local(1), Global(0)));
                let child = world.entity_mut(root).unwrap().spawn_child((Local(2), Global(0)));
                let mut timeline = Timeline::new(4);
                timeline.capture(&mut world).unwrap();
                Cascade::<ChildOf, Local, Global>::new().propagate(&mut world, compute);
                timeline.capture(&mut world).unwrap();
                timeline.validate(&world).unwrap();
                let written = world.get::<Global>(child).unwrap().0;
                timeline.rewind(&mut world, 1).unwrap();
                assert_eq!(world.get::<Global>(child).unwrap().0, 0);
                assert_ne!(written, 0);
            }

            #[test]
            fn what_is_only_read_does_not_count_as_changed() {
                let mut world = World::new();
                let setup = |$world: &mut World| $group;
                setup(&mut world);
                let root = world.spawn((Local(1), Global(0)));
                world.entity_mut(root).unwrap().spawn_child((Local(2), Global(0)));
                let mut changed = QueryState::<Entity, Changed<Local>>::new();
                let mut cascade = Cascade::<ChildOf, Local, Global>::new();
                let pool = ThreadPool::new(2);
                assert_eq!(changed.query(&world).iter().count(), 2);
                cascade.propagate(&mut world, compute);
                assert_eq!(changed.query(&world).iter().count(), 0);
                cascade.par_propagate(&pool, &mut world, compute);
                cascade.propagate_changed(&mut world, compute);
                assert_eq!(changed.query(&world).iter().count(), 0);
                check(&world);
            }

            /// Returns how many of the entities are in a list, or below one that is.
            fn below(world: &World, all: &[Entity], changed: &[Entity]) -> usize {
                let tree = world.relations::<ChildOf>();
                let is_below = |entity: &Entity| {
                    changed.contains(entity) || tree.ancestors(*entity).any(|above| changed.contains(&above))
                };
                all.iter().filter(|entity| is_below(entity)).count()
            }

            #[test]
            fn of_many_nodes_only_those_below_changes_are_visited() {
                for seed in 0..12 {
                    let mut random = Random::new(seed);
                    let mut world = World::new();
                    let setup = |$world: &mut World| $group;
                    setup(&mut world);
                    let mut all: Vec<Entity> = Vec::new();
                    for n in 0..500 {
                        let bundle = (Local(n), Global(0));
                        // Parents in order, or anywhere.
                        let parent = match seed % 3 {
                            0 => n / 4,
                            1 => random.below(n.max(1)),
                            _ => n.saturating_sub(1 + random.below(3)),
                        };
                        all.push(match n < 3 {
                            true => world.spawn(bundle),
                            false => world.entity_mut(all[parent as usize]).unwrap().spawn_child(bundle),
                        });
                    }
                    let mut cascade = Cascade::<ChildOf, Local, Global>::new();
                    assert_eq!(cascade.propagate_changed(&mut world, compute), 500);
                    check(&world);
                    for round in 0..30 {
                        let pick = |random: &mut Random| all[random.below(500) as usize];
                        let mut changed: Vec<Entity> = (0..random.below(4)).map(|_| pick(&mut random)).collect();
                        for entity in &changed {
                            #[allow(unused_mut)]
                            let mut local = world.get_mut::<Local>(*entity).unwrap();
                            local.0 += 1;
                        }
                        let (child, parent) = (pick(&mut random), pick(&mut random));
                        let before = world.relations::<ChildOf>().parent(child);
                        if round % 2 == 0 && world.relations_mut::<ChildOf>().link(child, parent).is_ok() {
                            changed.extend((before != Some(parent)).then_some(child));
                        }
                        let count = cascade.propagate_changed(&mut world, compute);
                        check(&world);
                        // All values of a column count as changed.
                        if $track == "row" {
                            assert_eq!(count, below(&world, &all, &changed), "seed {seed}, round {round}");
                        }
                    }
                }
            }

            #[test]
            fn depths_of_many_nodes_are_computed_on_several_threads() {
                let mut world = World::new();
                let setup = |$world: &mut World| $group;
                setup(&mut world);
                let mut row: Vec<Entity> = (0..1_500).map(|n| world.spawn((Local(n), Global(0)))).collect();
                for _ in 0..3 {
                    let child = |parent: &Entity| world.entity_mut(*parent).unwrap().spawn_child((Local(7), Global(0)));
                    row = row.iter().map(child).collect();
                    // Parents of one batch have children in others.
                    row.reverse();
                }
                let (pool, mut cascade) = (ThreadPool::new(2), Cascade::<ChildOf, Local, Global>::new());
                // Relaxed, so that it orders no threads: a tool that looks for races sees what the cascade orders.
                let threads = AtomicU64::new(0);
                for _ in 0..4 {
                    cascade.par_propagate(&pool, &mut world, |parent, local, own| {
                        let thread = BuildHasherDefault::<DefaultHasher>::new().hash_one(std::thread::current().id());
                        threads.fetch_or(1 << (thread % 64), Ordering::Relaxed);
                        compute(parent, local, own);
                    });
                    check(&world);
                }
                assert!((1..=3).contains(&threads.into_inner().count_ones()));
            }

            fn step(world: &mut World, entities: &mut Vec<Entity>, random: &mut Random) {
                entities.retain(|entity| world.contains(*entity));
                let pick = |random: &mut Random| entities[random.below(entities.len() as u64) as usize];
                match random.below(10) {
                    _ if entities.len() < 4 => entities.push(world.spawn((Local(random.below(9)), Global(0)))),
                    0..3 => {
                        let parent = pick(random);
                        let bundle = (Local(random.below(9)), Global(0));
                        entities.push(world.entity_mut(parent).unwrap().spawn_child(bundle));
                    }
                    3 => entities.push(world.spawn(Local(random.below(9)))),
                    4 | 5 => {
                        let (child, parent) = (pick(random), pick(random));
                        // A cycle is refused.
                        let _ = world.relations_mut::<ChildOf>().link(child, parent);
                    }
                    6 => drop(world.relations_mut::<ChildOf>().unlink(pick(random))),
                    7 => {
                        // A reference or a `Mut`, by how changes are tracked.
                        #[allow(unused_mut)]
                        if let Ok(mut local) = world.get_mut::<Local>(pick(random)) {
                            local.0 = random.below(9);
                        }
                    }
                    8 => {
                        let entity = pick(random);
                        match random.below(2) {
                            0 => drop(world.remove::<Local>(entity)),
                            _ => drop(world.insert(entity, (Local(random.below(9)), Global(0)))),
                        }
                    }
                    _ if entities.len() > 40 => drop(world.despawn(pick(random))),
                    _ => {}
                }
            }
        }
    )* };
}

layouts! {
    table: "table", "row", |_world| ();
    pool: "pool", "row", |_world| ();
    linear: "linear", "row", |_world| ();
    grouped: "pool", "row", |world| _ = Cascade::<ChildOf, Local, Global>::group(world).unwrap();
    column_table: "table", "column", |_world| ();
    column_linear: "linear", "column", |_world| ();
    column: "pool", "column", |world| _ = Cascade::<ChildOf, Local, Global>::group(world).unwrap();
}

/// A relation that is called a tree, and is none: it has no depths.
struct Pretended;

impl Relation for Pretended {
    const KIND: RelationKind = RelationKind::OneToMany;
}
impl TreeRelation for Pretended {}

#[test]
fn a_pretended_tree_has_only_roots() {
    // Threads that compute entities of one depth must not read what others of them write.
    let mut world = World::new();
    let entities: Vec<Entity> = (0..5_000).map(|n| world.spawn((table::Local(n), table::Global(0)))).collect();
    for pair in entities.windows(2) {
        world.relations_mut::<Pretended>().link(pair[1], pair[0]).unwrap();
    }
    let mut cascade = Cascade::<Pretended, table::Local, table::Global>::new();
    cascade.par_propagate(&ThreadPool::new(2), &mut world, |parent, local, own| {
        assert!(parent.is_none());
        own.0 = local.0 + 1;
    });
    assert!(world.query::<(&table::Local, &table::Global)>().iter().all(|(local, own)| own.0 == local.0 + 1));
}
