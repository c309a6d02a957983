//! Relations: links between entities, such as trees of parents and children.
//!
//! A relation is a type that derives [`Relation`](macro@crate::Relation). [`ChildOf`] is built in: it links children to their parents.
//!
//! ```
//! use phalanx::relation::ChildOf;
//! use phalanx::{Component, World};
//!
//! #[derive(Component, Debug, PartialEq)]
//! struct Part(&'static str);
//!
//! let mut world = World::new();
//! let ship = world.spawn(Part("ship"));
//! let turret = world.entity_mut(ship)?.spawn_child(Part("turret"));
//! let gun = world.entity_mut(turret)?.spawn_child(Part("gun"));
//!
//! let tree = world.relations::<ChildOf>();
//! assert_eq!(tree.parent(gun), Some(turret));
//! assert!(tree.ancestors(gun).eq([turret, ship]));
//! assert_eq!((tree.root(gun), tree.depth(gun)), (ship, 2));
//! assert!(tree.descendants(ship).eq([turret, gun]));
//!
//! // A link that would close a cycle is refused, and nothing changes.
//! assert!(world.relations_mut::<ChildOf>().link(ship, gun).is_err());
//!
//! // Children are despawned with their parents.
//! world.despawn(ship)?;
//! assert!(world.is_empty());
//! # Ok::<(), phalanx::NoSuchEntity>(())
//! ```
//!
//! # Kinds
//!
//! A link leads from a *source* to a *target*. In [`ChildOf`] the child is the source and the parent the target.
//!
//! | `#[relation(…)]` | targets of a source | sources of a target | cycles |
//! |---|---|---|---|
//! | `tree` | one | any number, in order | refused |
//! | `one_to_one` | one | one | allowed |
//! | `one_to_many` | one | any number, in order | allowed |
//! | `many_to_many`, `symmetric` | any number | any number | allowed |
//!
//! An entity cannot be linked to itself. Extra rows have no links.
//!
//! The links of a [many-to-many relation](ManyToMany) have data: each is an entity with a component. What belongs to the link of a
//! source with one target is a component of that source.
//!
//! # Queries
//!
//! | term or filter | matches entities that |
//! |---|---|
//! | [`Related<R, D>`](Related) | have a target that matches the data `D`, which it yields |
//! | [`Up<R, D>`](Up) | have an ancestor that matches `D`: the nearest one, whose data it yields |
//! | [`Depth<R>`](Depth) | are alive: it yields their depth |
//! | [`Named`] | have a [name](crate::Name), which it yields |
//! | [`HasRelation<R>`](HasRelation) | have a target |
//! | [`IsRoot<R>`](IsRoot) | have no target |
//! | [`IsLeaf<R>`](IsLeaf) | have no sources |
//! | [`WithUp<R, C>`](WithUp), [`WithoutUp<R, C>`](WithoutUp) | have an ancestor with the component `C`, or have none |
//!
//! ```
//! use phalanx::relation::{ChildOf, Depth, IsLeaf, Related, Up, WithoutUp};
//! use phalanx::{Component, World};
//!
//! #[derive(Component)]
//! struct Health(u32);
//! #[derive(Component)]
//! struct Shield(u32);
//! #[derive(Component)]
//! struct Faction(&'static str);
//! #[derive(Component)]
//! struct Hidden;
//!
//! let mut world = World::new();
//! let fleet = world.spawn(Faction("red"));
//! let ship = world.entity_mut(fleet)?.spawn_child((Health(9), Shield(5)));
//! world.entity_mut(ship)?.spawn_child(Health(2));
//!
//! type Parts<'a> = (&'a Health, Related<ChildOf, &'a Shield>, Option<Up<ChildOf, &'a Faction>>, Depth<ChildOf>);
//! let parts = world.query_filtered::<Parts, (IsLeaf<ChildOf>, WithoutUp<ChildOf, Hidden>)>();
//! let (health, shield, faction, depth) = parts.single().unwrap();
//! assert_eq!((health.0, shield.0, faction.unwrap().0, depth), (2, 5, "red", 2));
//! # Ok::<(), phalanx::NoSuchEntity>(())
//! ```
//!
//! [`Query::iter_sources`](crate::Query::iter_sources) visits the sources of one target. A relation that the world does not
//! know has no links. [Extra rows](crate::query#extra-rows) have none either: they pass `IsRoot`, and their depth is 0.
//!
//! A query with one of these *reads* the relation, and the components that it finds at other entities. It conflicts with every
//! query that writes these components, whatever the filters of both are.
//!
//! # Names
//!
//! An entity can have a [`Name`](crate::Name). Children of one parent have different names, and so have entities without a
//! parent. So a path of names leads to one entity at most, which [`World::find`](crate::World::find) returns.
//!
//! ```
//! use phalanx::relation::ChildOf;
//! use phalanx::{NameError, World};
//!
//! let mut world = World::new();
//! let fleet = world.spawn_named("fleet", ())?;
//! let ship = world.entity_mut(fleet)?.spawn_child_named("flagship", ())?;
//! let gun = world.entity_mut(ship)?.spawn_child_named("gun", ())?;
//! assert_eq!(world.find("fleet/flagship/gun"), Some(gun));
//! assert_eq!(world.path(gun).as_deref(), Some("fleet/flagship/gun"));
//!
//! // A name that is taken is an error, which names the holder.
//! let error = world.entity_mut(ship)?.spawn_child_named("gun", ()).unwrap_err();
//! assert_eq!(error, NameError::Taken { holder: gun });
//!
//! // Paths follow links and new names.
//! world.entity_mut(gun)?.set_name("turret")?;
//! world.relations_mut::<ChildOf>().link(gun, fleet)?;
//! assert_eq!(world.find("fleet/turret"), Some(gun));
//! assert_eq!(world.find("fleet/flagship/gun"), None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What would give two siblings the same name is refused, and nothing changes: a name, a link, an unlink, a command, a transfer to
//! another world, a part of a world that is saved, a file. The error names the holder, where there is one. A clone has the name of its
//! original only if its parent was cloned too.
//!
//! # Despawning
//!
//! When a target is despawned, `on_despawn` says what happens to its sources:
//!
//! | `on_despawn` | what happens |
//! |---|---|
//! | `"unlink"` (default) | They are unlinked. |
//! | `"despawn"` | They are despawned too, and so are their own sources. |
//! | `"reparent"` | They are linked to the target of the despawned entity, in its place. |
//! | `"refuse"` | The target is not despawned while it has sources that are not despawned with it. |
//!
//! All of it is one operation. Entities are despawned before their target, and sources of one target in their order. Nothing is recursive,
//! so that a chain of a million entities needs no stack.
//!
//! # Cost
//!
//! A relation has 32 bytes for each slot up to the highest that has a link. Linking and unlinking take constant time: the sources
//! of a target are a linked list. In a tree each entity knows its depth, so a subtree that gets another depth is visited once.

mod cascade;
mod cascade_plan;
mod child_of;
mod commands;
mod depth;
mod entity;
mod link_of;
mod links;
mod listener;
mod many_to_many;
mod named;
mod naming;
mod related;
#[expect(clippy::module_inception, reason = "the file is named after the trait in it")]
mod relation;
mod relation_filters;
mod relations;
mod relations_mut;
mod relations_param;
mod source_items;
mod sources;
mod tree;
mod up;
mod visited_links;
mod walk;

pub use crate::links::{OnDespawn, RelationKind};
pub use crate::mutation::Position;
pub use crate::storage::link_pairs::CutLink;
pub use cascade::Cascade;
pub use child_of::ChildOf;
pub use depth::Depth;
pub(crate) use link_of::LinkOf;
pub use links::{Links, LinksMut};
pub use listener::{Linked, Unlinked};
pub use many_to_many::{ManyToMany, SourceOf, TargetOf};
pub use named::Named;
pub use related::Related;
#[doc(hidden)]
pub use relation::HasNames;
pub use relation::{Relation, TreeRelation};
pub use relation_filters::{HasRelation, IsLeaf, IsRoot, WithUp, WithoutUp};
pub use relations::Relations;
pub use relations_mut::RelationsMut;
pub use source_items::SourceItems;
pub use sources::Sources;
pub use tree::TransferredTree;
pub use up::Up;
#[doc(hidden)]
pub use visited_links::VisitedLinks;
pub use walk::{Ancestors, Descendants, LeavesFirst};
