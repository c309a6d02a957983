//! An entity component system: entities, components in archetype tables, queries at the speed of plain loops.
//!
//! Not a scheduler, not an engine: a world is a value that you own.

extern crate self as phalanx;

mod bundle;
mod commands;
mod component;
mod error;
pub mod group;
pub mod layout;
mod plain;
mod plan;
pub mod query;
mod resources;
mod room;
mod rows;
mod side;
pub mod signal;
mod signature;
mod table;
pub mod timeline;
mod world;

pub use bundle::{Bundle, Place};
pub use commands::{CommandError, CommandQueue, Commands, QueueError, TakenKey};
pub use component::{Component, ComponentId, ComponentInfo, Components, VisitEntities};
pub use error::{ChangeError, ComponentError, DuplicateComponent, NoSuchEntity, UnequalColumns};
pub use group::Group;
#[cfg(feature = "derive")]
pub use phalanx_derive::{Bundle, Component, Query};
pub use phalanx_store as store;
pub use phalanx_store::Entity;
pub use plain::{IsPlain, Plain};
pub use query::{Has, Or, Query, QueryState, With, Without};
pub use resources::NoSuchResource;
pub use rows::{Key, Role, Row, RowError, RowId};
pub use side::{PoolMut, PoolRef, Removal};
pub use signal::{Added, Collector, CollectorBuilder, Despawned, ListenerId, Removed, RetiredRow, Set, Spawned};
pub use signature::Signature;
pub use world::{
    AccessMut, BundleBuilder, ColumnMemory, ColumnPlaces, Columns, ComponentDescriptor, EntityMap, EntityMut,
    EntityRef, LaneMemory, Memory, SideMemory, Spawner, TableMemory, View, ViewMut, World,
};
