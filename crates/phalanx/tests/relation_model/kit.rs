//! The relations and components of the programs, and a table of the methods of each relation.

use phalanx::relation::{ChildOf, OnDespawn, Position, RelationKind};
use phalanx::snapshot::Registry;
use phalanx::store::Entity;
use phalanx::{CommandBuffer, Component, Relation, RelationError, StructuralError, World};
use std::sync::{Arc, Mutex};

/// What tells entities apart, also after they were cloned.
#[derive(Component, Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[component(plain)]
pub(crate) struct Id(pub(crate) u32);
#[derive(Component, Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[component(layout = "pool", plain)]
pub(crate) struct Fire(pub(crate) u32);
#[derive(Component, Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[component(layout = "linear", plain)]
pub(crate) struct Mass(pub(crate) u32);
#[derive(phalanx::store::Soa, Component, Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[soa(crate = "phalanx::store")]
#[component(layout = "soa")]
pub(crate) struct Spin {
    pub(crate) axis: u32,
    pub(crate) speed: u32,
}

#[derive(Relation)]
#[relation(tree, on_despawn = "reparent")]
pub(crate) struct ReportsTo;
#[derive(Relation)]
#[relation(one_to_one)]
pub(crate) struct DockedAt;
#[derive(Relation)]
#[relation(one_to_many, on_despawn = "despawn")]
pub(crate) struct Follows;
#[derive(Relation)]
#[relation(one_to_many, on_despawn = "refuse")]
pub(crate) struct Holds;
#[derive(Relation)]
#[relation(tree, no_clone)]
pub(crate) struct PartOf;

/// A link that was made, or cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event {
    pub(crate) relation: usize,
    pub(crate) is_link: bool,
    pub(crate) source: Entity,
    pub(crate) target: Entity,
}

/// What listeners were called with.
pub(crate) type Log = Arc<Mutex<Vec<Event>>>;

/// A relation, and what can be done with it.
pub(crate) struct Methods {
    pub(crate) name: fn() -> &'static str,
    pub(crate) kind: RelationKind,
    pub(crate) on_despawn: OnDespawn,
    pub(crate) clones: bool,
    pub(crate) link: fn(&mut World, Entity, Entity, Position) -> Result<(), RelationError>,
    pub(crate) unlink: fn(&mut World, Entity) -> Result<Option<Entity>, RelationError>,
    pub(crate) spawn: fn(&mut World, Entity, Id) -> Result<Entity, StructuralError>,
    pub(crate) sort: fn(&mut World, Entity) -> Result<(), RelationError>,
    pub(crate) record_link: fn(&mut CommandBuffer, Entity, Entity, Position),
    pub(crate) record_unlink: fn(&mut CommandBuffer, Entity),
    pub(crate) target: fn(&World, Entity) -> Option<Entity>,
    pub(crate) sources: fn(&World, Entity) -> Vec<Entity>,
    pub(crate) pairs: fn(&World) -> Vec<(Entity, Entity)>,
    pub(crate) listen: fn(&mut World, usize, &Log),
    pub(crate) register: fn(&mut Registry, &'static str),
    pub(crate) tree: Option<TreeMethods>,
}

/// What can be done with a tree.
pub(crate) struct TreeMethods {
    pub(crate) clone_tree: fn(&mut World, Entity) -> Result<Entity, StructuralError>,
    pub(crate) transfer_tree: fn(&mut World, Entity, &mut World) -> Result<Transferred, StructuralError>,
    pub(crate) depth: fn(&World, Entity) -> u32,
    pub(crate) root: fn(&World, Entity) -> Entity,
    pub(crate) ancestors: fn(&World, Entity) -> Vec<Entity>,
    /// Depth first, leaves first, breadth first.
    pub(crate) descendants: fn(&World, Entity) -> [Vec<Entity>; 3],
    pub(crate) is_ancestor: fn(&World, Entity, Entity) -> bool,
}

/// What a transfer of a tree returns: the new root, the map, and the links that were cut.
pub(crate) type Transferred = (Entity, Vec<(Entity, Entity)>, Vec<(&'static str, Entity, Entity)>);

macro_rules! methods {
    ($relation:ty, $tree:expr) => {
        Methods {
            name: core::any::type_name::<$relation>,
            kind: <$relation>::KIND,
            on_despawn: <$relation>::ON_DESPAWN,
            clones: <$relation>::CLONES,
            link: |world, source, target, position| {
                world.relations_mut::<$relation>().link_at(source, target, position)
            },
            unlink: |world, source| world.relations_mut::<$relation>().unlink(source),
            spawn: |world, target, id| world.relations_mut::<$relation>().try_spawn(target, id),
            sort: |world, target| world.relations_mut::<$relation>().sort_by::<&Fire>(target, |a, b| a.0.cmp(&b.0)),
            record_link: |commands, source, target, position| commands.link_at::<$relation>(source, target, position),
            record_unlink: |commands, source| commands.unlink::<$relation>(source),
            target: |world, source| world.relations::<$relation>().target(source),
            sources: |world, target| {
                let sources = world.relations::<$relation>().sources(target);
                let forth: Vec<Entity> = sources.clone().collect();
                assert!(sources.clone().rev().eq(forth.iter().rev().copied()));
                assert_eq!(sources.len(), forth.len());
                forth
            },
            pairs: |world| world.relations::<$relation>().iter().collect(),
            listen: |world, relation, log| {
                let [linked, unlinked] = [log.clone(), log.clone()];
                world.relations_mut::<$relation>().on_link(move |event, _, _| {
                    let (source, target) = (event.source, event.target);
                    linked.lock().unwrap().push(Event { relation, is_link: true, source, target });
                });
                world.relations_mut::<$relation>().on_unlink(move |event, _, _| {
                    let (source, target) = (event.source, event.target);
                    unlinked.lock().unwrap().push(Event { relation, is_link: false, source, target });
                });
            },
            register: |registry, name| registry.relation::<$relation>(name).unwrap(),
            tree: $tree,
        }
    };
    (tree $relation:ty) => {
        methods!(
            $relation,
            Some(TreeMethods {
                clone_tree: |world, root| world.relations_mut::<$relation>().clone_tree(root),
                transfer_tree: |world, root, other| {
                    let moved = world.relations_mut::<$relation>().transfer_tree(root, other)?;
                    let cut = moved.cut.iter().map(|cut| (cut.relation, cut.source, cut.target)).collect();
                    Ok((moved.root, moved.map.iter().collect(), cut))
                },
                depth: |world, entity| world.relations::<$relation>().depth(entity),
                root: |world, entity| world.relations::<$relation>().root(entity),
                ancestors: |world, entity| world.relations::<$relation>().ancestors(entity).collect(),
                descendants: |world, entity| {
                    let all = world.relations::<$relation>().descendants(entity);
                    [all.clone().collect(), all.clone().leaves_first().collect(), all.breadth_first().collect()]
                },
                is_ancestor: |world, a, b| world.relations::<$relation>().is_ancestor(a, b),
            })
        )
    };
    (list $relation:ty) => {
        methods!($relation, None)
    };
}

/// The relations, in the canonical order: by the names of their types.
pub(crate) const RELATIONS: [Methods; 6] = [
    methods!(tree ChildOf),
    methods!(list DockedAt),
    methods!(list Follows),
    methods!(list Holds),
    methods!(tree PartOf),
    methods!(tree ReportsTo),
];

pub(crate) const CHILD_OF: usize = 0;

/// The names that entities get.
pub(crate) const NAMES: [&str; 24] = [
    "a",
    "b",
    "c",
    "gun",
    "turret",
    "hull",
    "mast",
    "sail",
    "keel",
    "deck",
    "bow",
    "stern",
    "cabin",
    "hold",
    "anchor",
    "wheel",
    "rope",
    "crew",
    "mate",
    "cook",
    "flag",
    "ünïcödë",
    "a name with spaces",
    "one of as many bytes as a name may have: sixty-three of them",
];

/// Everything, under names that are in another order than those of the types.
pub(crate) fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.plain::<Id>("id").unwrap().readable();
    registry.plain::<Fire>("a fire").unwrap().readable();
    registry.plain::<Mass>("z mass").unwrap().readable();
    registry.serde::<Spin>("spin").unwrap();
    registry.names("m names").unwrap();
    for (methods, name) in RELATIONS.iter().zip(["z", "b", "y", "a", "x", "c"]) {
        (methods.register)(&mut registry, name);
    }
    registry
}

/// A world that knows everything, in an order that depends on a number.
pub(crate) fn fresh(order: usize, log: Option<&Log>) -> World {
    let mut world = World::new();
    assert!(RELATIONS.windows(2).all(|pair| (pair[0].name)() < (pair[1].name)()));
    register(&mut world, order);
    if let Some(log) = log {
        listen(&mut world, log);
    }
    world
}

/// Registers everything, in an order that depends on a number.
pub(crate) fn register(world: &mut World, order: usize) {
    let nobody = Entity::from_bits(1 << 20).unwrap();
    for at in 0..RELATIONS.len() {
        // The attempt to unlink a dead entity registers the relation.
        (RELATIONS[(at + order) % RELATIONS.len()].unlink)(world, nobody).unwrap_err();
    }
    world.register_component::<Mass>();
    world.register_names();
    world.register_component::<Fire>();
    world.register_component::<Spin>();
    world.register_component::<Id>();
}

/// Connects listeners of all relations.
pub(crate) fn listen(world: &mut World, log: &Log) {
    (0..).zip(&RELATIONS).for_each(|(relation, methods)| (methods.listen)(world, relation, log));
}
