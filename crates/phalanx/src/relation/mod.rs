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
//!
//! An entity cannot be linked to itself. Extra rows have no links.
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
//! A relation has 36 bytes for each slot up to the highest that has a link. Linking and unlinking take constant time: the sources
//! of a target are a linked list. In a tree each entity knows its depth, so a subtree that gets another depth is visited once.

mod child_of;
mod commands;
mod entity;
mod link_of;
mod listener;
#[expect(clippy::module_inception, reason = "the file is named after the trait in it")]
mod relation;
mod relations;
mod relations_mut;
mod sources;
mod tree;
mod walk;

pub use crate::links::{OnDespawn, RelationKind};
pub use crate::mutation::Position;
pub use crate::storage::link_pairs::CutLink;
pub use child_of::ChildOf;
pub(crate) use link_of::LinkOf;
pub use listener::{Linked, Unlinked};
pub use relation::{Relation, TreeRelation};
pub use relations::Relations;
pub use relations_mut::RelationsMut;
pub use sources::Sources;
pub use tree::TransferredTree;
pub use walk::{Ancestors, Descendants, LeavesFirst};
