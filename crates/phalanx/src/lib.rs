//! An entity component system in which each component chooses its storage.
//!
//! A [`World`] holds entities, their components and resources. A component is stored in archetype tables, as a struct of arrays,
//! in a sparse set, or in an array indexed by slot, and one [query](query) can mix them all. A world is a value that you own: it
//! has no globals and no threads. Clone it, save it, roll it back, or have several.
//!
//! Phalanx is not an engine: your code calls its functions in the order that you choose. If you like, the crate
//! `phalanx-schedule` runs [systems](system) in a fixed order, on one thread or several. The containers below a world can be used
//! alone; they are in the crate [`phalanx_store`](store). The repository has a guide in `docs/guide`.
//!
//! # Example
//!
//! ```
//! use phalanx::{CommandBuffer, Component, Entity, With, World};
//!
//! #[derive(Component)]
//! struct Position(f32);
//! #[derive(Component)]
//! struct Velocity(f32);
//! #[derive(Component)]
//! #[component(layout = "pool")] // a sparse set: inserting and removing it moves no other component
//! struct Burning {
//!     fuel: u32,
//! }
//!
//! let mut world = World::new();
//! let ship = world.spawn((Position(0.0), Velocity(2.0)));
//! world.spawn_batch((0..100).map(|n| (Position(n as f32), Velocity(1.0))));
//!
//! // Queries iterate over all entities with certain components.
//! world.query_mut::<(&mut Position, &Velocity)>().for_each(|(position, velocity)| position.0 += velocity.0);
//! assert_eq!(world.get::<Position>(ship).unwrap().0, 2.0);
//!
//! // Components are inserted and removed at any time.
//! world.insert(ship, Burning { fuel: 1 }).unwrap();
//! assert_eq!(world.query_filtered::<&Position, With<Burning>>().len(), 1);
//!
//! // Commands record structural changes while a query iterates.
//! let mut commands = CommandBuffer::new();
//! for (entity, burning) in world.query_mut::<(Entity, &mut Burning)>().iter_mut() {
//!     burning.fuel -= 1;
//!     if burning.fuel == 0 {
//!         commands.despawn(entity);
//!     }
//! }
//! commands.apply(&mut world);
//!
//! // A stale handle never becomes valid again.
//! assert!(world.get::<Position>(ship).is_err());
//! assert_eq!(world.len(), 100);
//! ```
//!
//! # Choosing a layout
//!
//! Start with the default, `table`. Use `soa` for components that are iterated field by field. Use `pool` for components that are
//! often inserted and removed, or rare, and `linear` for components that nearly all entities have and that are looked up by entity.
//! [`World::layout_report`] counts what a program does, and advises. `docs/choosing.md` in the repository has figures.
//!
//! # Modules
//!
//! | module | content |
//! |---|---|
//! | the root | [`World`], [`Entity`], [`Component`], [`Bundle`], [`Query`], [`CommandBuffer`], and the errors |
//! | [`query`] | queries and filters; states, chunks, explained plans, run-time queries |
//! | [`layout`] | the storage of components |
//! | [`commands`] | the outcomes of applied commands, and buffers of several threads |
//! | [`executor`] | the threads of parallel loops: a thread pool, or your own |
//! | [`system`] | functions whose parameters come from a world |
//! | [`event`] | values that are sent and read, each exactly once |
//! | [`group`] | groups: sparse sets whose members are kept in the same order, iterated as slices |
//! | [`change_detection`] | ticks, [`Added`] and [`Changed`], [`Ref`] and [`Mut`] |
//! | [`relation`] | links between entities: trees of parents and children, and others |
//! | [`signal`] | listeners and collectors: reactions to spawns, despawns, insertions and removals |
#![cfg_attr(
    feature = "timeline",
    doc = "| [`timeline`] | checkpoints, rollback, the last frames of a world, and deltas for replicas |"
)]
#![cfg_attr(
    feature = "reflect",
    doc = "| [`reflect`] | the fields of components, single values, tables and sparse stores by id, text queries |"
)]
#![cfg_attr(feature = "snapshot", doc = "| [`snapshot`] | worlds as bytes, with schemas and migrations |")]
//! | [`memory`], [`report`] | exact memory figures, and the layout report |
//! | [`store`] | the crate `phalanx_store`: handles and containers |
//!
//! Entities can also have [extra rows](Key), and a world has [resources](World::insert_resource).
//!
//! # Features
//!
//! - `derive` (default): the derive macros.
//! - `parallel`: rayon's threads as an [`executor`]. A thread pool of its own needs no feature.
//! - `reflect`: the fields of components by name, and queries as text, for tools that look into a world.
//! - `timeline`: checkpoints, rollback, timelines and deltas.
//! - `snapshot`: saving and loading worlds, with serde.
//! - `counters`: the layout report also counts look-ups by entity.
//!
//! # Determinism
//!
//! The same operations give the same handles, the same order of iteration and the same bytes, on each run.
//! Nothing observable depends on hash seeds, addresses, or the order in which components were registered. [`query`] states the
//! order of iteration.
//!
//! # Errors and panics
//!
//! Structural changes are all-or-nothing. A `try_` function returns an error if allocation fails, and then the world is unchanged.
//! Its counterpart without `try_` returns only [`NoSuchEntity`] or a similar error; it aborts when memory is exhausted, as the
//! standard collections do, and panics if a bundle contains a component twice.
//!
//! User code (drop, clone, closures, iterators) runs when the world is consistent. If it panics, the world stays valid, and every
//! value is dropped at most once.

#![cfg_attr(docsrs, feature(doc_cfg))]
// Functions that only some features call are unused without them.
#![cfg_attr(not(all(feature = "snapshot", feature = "timeline")), allow(dead_code, unused_imports))]

extern crate self as phalanx;

mod alloc;
mod bundle;
mod bundle_info;
pub mod change_detection;
#[cfg(any(feature = "snapshot", feature = "timeline"))]
mod checksum;
pub mod commands;
mod component;
mod dirty_tracking;
mod entities;
mod error;
pub mod event;
pub mod executor;
mod few;
pub mod group;
mod journal;
pub mod layout;
mod links;
mod mutation;
mod names;
mod plain;
pub mod query;
mod rank;
#[cfg(feature = "reflect")]
pub mod reflect;
pub mod relation;
mod resources;
mod rows;
// Only snapshots use all of it.
#[cfg_attr(not(feature = "snapshot"), allow(dead_code))]
mod runs;
mod seeded;
#[cfg(feature = "reflect")]
mod shape;
pub mod signal;
mod signature;
#[cfg(feature = "snapshot")]
pub mod snapshot;
mod sort;
mod sparse;
mod storage;
pub mod system;
#[cfg(feature = "timeline")]
pub mod timeline;
mod type_map;
mod usage;
mod world;

pub use bundle::Bundle;
pub use change_detection::{Mut, Ref, Tick};
pub use commands::{CommandBuffer, CommandError, CommandInbox};
pub use component::{Component, ComponentId, ComponentInfo, Components, Requirement};
pub use entities::MapEntities;
pub use error::{
    ComponentError, DuplicateComponent, NameError, NoSuchEntity, NoSuchResource, RelationError, RowError,
    StructuralError, UnequalColumns,
};
pub use event::Event;
pub use group::Group;
pub use names::Name;
#[cfg(feature = "derive")]
pub use phalanx_derive::{Bundle, Component, Event, MapEntities, Plain, QueryData, Relation, SystemParam};
pub use phalanx_store as store;
pub use phalanx_store::Entity;
pub use plain::Plain;
pub use query::{Added, Changed, Has, Or, Query, QueryData, QueryState, With, Without};
pub use relation::Relation;
pub use resources::ResourceId;
pub use rows::{Key, Role, Row};
pub use signal::{Collector, ListenerId};
pub use signature::Signature;
pub use sparse::Removal;
#[doc(hidden)]
pub use world::testing;
pub use world::{
    BundleBuilder, Columns, ComponentDescriptor, ComponentView, ComponentViewMut, EntityMap, EntityMut, EntityRef,
    Entry, OccupiedEntry, PoolMut, PoolRef, ResourcesMut, RowId, RowMut, RowRef, Spawner, VacantEntry, World,
};

/// The memory of a world in bytes, as it was requested from the allocator: [`World::memory`].
pub mod memory {
    pub use crate::world::{ColumnMemory, LaneMemory, Memory, SparseMemory, TableMemory};
}

/// What a program does with each component, and which layout would suit it: [`World::layout_report`].
pub mod report {
    pub use crate::world::{Advice, ComponentReport, LayoutBytes, LayoutReport, Placement};
}

/// The items that expansions of derives and unsafe implementations name.
#[doc(hidden)]
pub mod derived {
    pub use crate::bundle::{AddComponent, BundleGuard, BundlePtr};
    pub use crate::component::VisitEntities;
    pub use crate::event::PlainEvents;
    pub use crate::links::RelationInfo;
    pub use crate::plain::{IsPlain, describe_field, describe_order, describe_parameter, is_valid_field};
    #[cfg(feature = "reflect")]
    pub use crate::shape::{Probe, ShapeOf, Unprobed, or_opaque};
    pub use crate::world::ColumnPtrs;
}

/// Expands to its input: what derives print for the feature `reflect`.
#[cfg(feature = "reflect")]
#[doc(hidden)]
#[macro_export]
macro_rules! __reflect {
    ($($item:tt)*) => { $($item)* };
}

/// Expands to nothing, because the feature `reflect` is off.
#[cfg(not(feature = "reflect"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __reflect {
    ($($item:tt)*) => {};
}

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
