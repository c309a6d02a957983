//! An entity component system: entities, components in archetype tables, queries at the speed of plain loops.
//!
//! Not a scheduler, not an engine: a world is a value that you own.

extern crate self as phalanx;

mod alloc;
mod bundle;
mod bundle_info;
pub mod change_detection;
mod checksum;
mod commands;
mod component;
mod entities;
mod error;
pub mod group;
mod journal;
pub mod layout;
mod mutation;
mod plain;
mod prefetch;
pub mod query;
mod resources;
mod rows;
mod seeded;
pub mod signal;
mod signature;
#[cfg(feature = "snapshot")]
pub mod snapshot;
mod sparse;
mod storage;
pub mod timeline;
mod usage;
mod world;

pub use bundle::{Bundle, BundlePtr};
pub use change_detection::{Mut, Tick};
pub use commands::{
    ApplyReport, CommandBuffer, CommandError, CommandKind, CommandQueue, QueueError, QueueReport, TakenKey,
};
pub use component::{Component, ComponentId, ComponentInfo, Components, VisitEntities};
pub use entities::MapEntities;
pub use error::{
    ChangeError, ComponentError, DuplicateComponent, NoSuchEntity, NoSuchResource, RowError, UnequalColumns,
};
pub use group::Group;
#[cfg(feature = "derive")]
pub use phalanx_derive::{Bundle, Component, MapEntities, Plain, QueryData};
pub use phalanx_store as store;
pub use phalanx_store::Entity;
pub use plain::{IsPlain, Plain};
pub use query::{Added, Changed, Has, Or, Query, QueryData, QueryState, With, Without};
pub use rows::{Key, Role, Row};
pub use signal::{Collector, CollectorBuilder, ListenerId};
pub use signature::Signature;
pub use sparse::Removal;
#[doc(hidden)]
pub use world::testing;
pub use world::{
    Advice, BundleBuilder, ColumnMemory, ColumnPtrs, Columns, ComponentDescriptor, ComponentReport, ComponentView,
    ComponentViewMut, EntityMap, EntityMut, EntityRef, LaneMemory, LayoutBytes, LayoutReport, Memory, Placement,
    PoolMut, PoolRef, ResourcesMut, RowId, RowMut, RowRef, SparseMemory, Spawner, TableMemory, World,
};

/// What the expansions of derives call.
#[doc(hidden)]
pub mod derived {
    pub use crate::bundle::Placed;
    pub use crate::plain::{describe_field, describe_order, describe_parameter, is_valid_field};
}
