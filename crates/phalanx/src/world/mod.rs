//! [`World`]: entities, their components and resources.
//!
//! # The five phases
//!
//! Every operation runs in five phases:
//!
//! 1. It resolves ids, bundles, tables and edges. These are caches, which are not part of the state.
//! 2. It reserves everything that it needs.
//! 3. It commits: copies and integer stores, without user code, allocation or panics.
//! 4. It calls the [listeners](crate::signal) of the changes.
//! 5. It drops displaced values.
//!
//! The first two phases fail if allocation fails. Each component, bundle, table and edge is then created as a whole or not at
//! all, and those that were created before stay.
#![allow(unsafe_code)]

mod add_row;
mod bundle_builder;
mod by_ids;
mod clone;
mod columns;
mod compact;
mod component_descriptor;
mod component_view;
mod component_view_mut;
mod despawn;
mod entity_map;
mod entity_mut;
mod entity_ref;
mod entry;
mod exchange;
mod free_entities;
mod get;
mod insert;
mod insert_batch;
mod insert_new;
mod insert_where;
mod layout_report;
mod memory;
mod move_components;
mod moved_names;
mod pool_mut;
mod pool_ref;
mod recorded_change;
mod remove;
mod replace;
mod resolve_bundle;
mod resource;
mod resource_id;
mod resources_mut;
mod row_id;
mod row_mut;
mod row_ref;
mod slot_batch;
mod spawn;
mod spawn_at;
mod spawn_batch;
mod spawner;
pub mod testing;
mod transfer;

pub use bundle_builder::BundleBuilder;
pub(crate) use clone::clone_all;
pub use columns::{ColumnPtrs, Columns};
pub use component_descriptor::ComponentDescriptor;
pub use component_view::ComponentView;
pub use component_view_mut::ComponentViewMut;
pub use entity_map::EntityMap;
pub use entity_mut::EntityMut;
pub use entity_ref::EntityRef;
pub use entry::{Entry, OccupiedEntry, VacantEntry};
pub(crate) use get::Ref;
pub use layout_report::{Advice, ComponentReport, LayoutBytes, LayoutReport, Placement};
pub use memory::{ColumnMemory, LaneMemory, Memory, SparseMemory, TableMemory};
#[cfg(feature = "reflect")]
pub(crate) use memory::{column_memory, lanes_of, sparse_memory, table_memory};
pub use pool_mut::PoolMut;
pub use pool_ref::PoolRef;
pub use resources_mut::ResourcesMut;
pub use row_id::RowId;
pub use row_mut::RowMut;
pub use row_ref::RowRef;
pub use spawner::Spawner;
pub(crate) use transfer::Transfer;
#[cfg(feature = "snapshot")]
pub(crate) use transfer::{adopt_label, adopt_sparse};

use crate::alloc::unwrap_alloc;
use crate::bundle_info::BundleInfos;
use crate::change_detection::{Moment, Tick};
use crate::component::{Component, ComponentId, Components};
use crate::mutation::despawn_set::DespawnSet;
use crate::query::cache::QueryCache;
pub(crate) use crate::storage::Location;
use crate::storage::Storage;
use crate::storage::table::Table;
use crate::storage::table_order::TableOrder;
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use phalanx_store::{AllocError, Entity};

/// Entities and their components.
///
/// ```
/// use phalanx::{Component, World};
///
/// #[derive(Component)]
/// struct Position(f32);
/// #[derive(Component)]
/// struct Velocity(f32);
///
/// let mut world = World::new();
/// let ball = world.spawn((Position(0.0), Velocity(2.0)));
/// world.query_mut::<(&mut Position, &Velocity)>().for_each(|(p, v)| p.0 += v.0);
/// assert_eq!(world.get::<Position>(ball)?.0, 2.0);
/// world.despawn(ball)?;
/// assert!(world.get::<Position>(ball).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct World {
    /// The number that [`identity`](World::identity) returns.
    identity: u64,
    /// The number that [`id`](World::id) returns.
    id: u64,
    pub(crate) storage: Storage,
    pub(crate) observers: Option<Box<crate::signal::Observers>>,
    /// Set by the first listener or collector.
    pub(crate) dispatcher: Option<&'static crate::signal::Dispatcher>,
    pub(crate) bundles: BundleInfos,
    pub(crate) queries: Option<Box<QueryCache>>,
    pub(crate) resources: crate::resources::Resources,
    /// The memory of the last set of entities that were despawned together. It is empty otherwise.
    despawn_set: DespawnSet,
}

// SAFETY: the query cache has states of queries, which are `Send` and `Sync`. So is everything else.
unsafe impl Send for World {}
// SAFETY: as for `Send`; the query cache changes only through an exclusive reference.
unsafe impl Sync for World {}

impl World {
    /// Creates a world without entities.
    pub fn new() -> World {
        // Not by way of `try_with`: a `Result` of a world would be copied.
        let components = unwrap_alloc(Components::try_new(&crate::rows::LANES));
        let tables = unwrap_alloc(Storage::first_table(&components));
        World::with_table(components, tables)
    }

    /// Creates a world without entities that knows these components.
    pub(crate) fn try_with(components: Components) -> Result<World, AllocError> {
        let tables = Storage::first_table(&components)?;
        Ok(World::with_table(components, tables))
    }

    /// Creates a world that knows these components, with its first table.
    #[inline(always)]
    fn with_table(components: Components, tables: (Vec<Table>, TableOrder)) -> World {
        let id = next_id();
        World {
            identity: next_id(),
            id,
            storage: Storage::new(components, tables, id),
            observers: None,
            dispatcher: None,
            bundles: BundleInfos::new(),
            queries: None,
            resources: Default::default(),
            despawn_set: DespawnSet::default(),
        }
    }

    /// Returns a number that no other world of the process has or had. It does not change when the world is compacted or rolled
    /// back.
    pub(crate) fn identity(&self) -> u64 {
        self.identity
    }

    /// Returns the present moment of the world's time.
    pub(crate) fn moment(&self) -> Moment {
        self.storage.sparse.clock.moment()
    }

    /// Returns the number under which caches store numbers of tables. No other world of the process has or had it, and it changes
    /// when the numbers of tables change.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Returns the present change tick, which [tracked](crate::change_detection) changes are recorded with.
    #[doc(alias = "tick")]
    #[inline(always)]
    pub fn change_tick(&self) -> Tick {
        self.storage.sparse.clock.now()
    }

    /// Marks all changes so far as seen, for queries that do not store [the tick of their last run](crate::change_detection).
    pub fn clear_trackers(&mut self) {
        self.storage.sparse.clock.clear_trackers();
    }

    /// Returns the number of live entities.
    pub fn len(&self) -> usize {
        self.storage.entities.len()
    }

    /// Returns `true` if there are no live entities.
    pub fn is_empty(&self) -> bool {
        self.storage.entities.is_empty()
    }

    /// Returns `true` if the entity is alive.
    #[doc(alias = "is_alive")]
    #[doc(alias = "valid")]
    #[inline]
    pub fn contains(&self, entity: Entity) -> bool {
        self.storage.entities.contains(entity)
    }

    /// Returns all live entities, by index.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Entity> + Clone + '_ {
        self.storage.entities.iter()
    }

    /// Returns the components that the world knows.
    pub fn components(&self) -> &Components {
        &self.storage.components
    }

    /// Returns the id of a component, if the world knows it. It does if an operation named the component, or if it was registered.
    pub fn component_id<C: Component>(&self) -> Option<ComponentId> {
        Some(self.storage.components.id::<C>()).filter(|id| *id != ComponentId::UNKNOWN)
    }

    /// Returns the id of a component, which is registered if the world does not know it.
    pub fn register_component<C: Component>(&mut self) -> ComponentId {
        unwrap_alloc(self.storage.components.register::<C>())
    }

    /// Checks every invariant of the world.
    ///
    /// # Errors
    ///
    /// A sentence about the invariant that does not hold. This does not happen to a world that only safe code has used.
    pub fn validate(&self) -> Result<(), &'static str> {
        self.storage.entities.validate()?;
        self.storage.components.validate()?;
        let tables = self.storage.tables.len();
        let entered = self.storage.directory.iter().map(Vec::len).max().unwrap_or(0);
        if !self.storage.by_signature.is_valid(&self.storage.tables) || entered > tables {
            return Err("a table that is registered in part");
        }
        self.storage.table_order.validate(self.storage.tables.iter().map(|table| table.stamp))?;
        let mut rows = 0;
        for (number, table) in self.storage.tables.iter().enumerate() {
            table.validate()?;
            if table.number != number as u32 || table.len > 0 && table.stamp == 0 {
                return Err("a table that does not know its number, or has rows and is not visited");
            }
            for (row, &entity) in table.slots().iter().enumerate() {
                rows += 1;
                if self.storage.try_location(entity) != Ok(Location { table: number as u32, row: row as u32 }) {
                    return Err("an entity that is not where its location says");
                }
            }
            for id in (0..self.storage.components.len()).map(|id| ComponentId::from_index(id as u32)) {
                if self.storage.lane(id, number as u32).is_null() == table.signature.has(id) {
                    return Err("a directory that contradicts a signature");
                }
            }
        }
        match rows == self.row_count() {
            true => {
                self.storage.validate_sparse()?;
                self.storage.validate_rows()?;
                self.storage.validate_links()?;
                self.storage.validate_names()
            }
            false => Err("entities without a row, or rows without an entity"),
        }
    }
}

#[cfg(feature = "timeline")]
impl World {
    /// Swaps the state with that of another world with the same components, and returns the old state, which the caller drops last.
    ///
    /// Numbers of tables and sparse storages change, so the caches that contain them are cleared.
    #[must_use]
    pub(crate) fn swap_state(&mut self, mut other: World) -> World {
        other.storage.sparse.bump_group_serial(&self.storage.sparse);
        self.bundles.clear();
        self.queries = None;
        core::mem::swap(&mut self.storage.entities, &mut other.storage.entities);
        core::mem::swap(&mut self.storage.tables, &mut other.storage.tables);
        core::mem::swap(&mut self.storage.table_order, &mut other.storage.table_order);
        core::mem::swap(&mut self.storage.by_signature, &mut other.storage.by_signature);
        core::mem::swap(&mut self.storage.directory, &mut other.storage.directory);
        core::mem::swap(&mut self.storage.rows, &mut other.storage.rows);
        core::mem::swap(&mut self.storage.sparse, &mut other.storage.sparse);
        core::mem::swap(&mut self.storage.names, &mut other.storage.names);
        self.id = next_id();
        self.storage.journal.retain_alive(|entity| self.storage.entities.contains(entity));
        self.storage.restructured();
        other
    }
}

/// Returns a number that was not returned before.
pub(crate) fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Default for World {
    fn default() -> Self {
        World::new()
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = f.debug_list();
        for (_, table) in self.storage.tables_in_order() {
            let names: Vec<&str> = table.columns.iter().map(|c| self.storage.components.info(c.id).name()).collect();
            list.entry(&format_args!("{} × {}", table.len, names.join(" + ")));
        }
        for sparse in self.storage.sparse.in_order().filter(|sparse| sparse.len() > 0) {
            let info = self.storage.components.info(sparse.id);
            list.entry(&format_args!("{} × {} in a {}", sparse.len(), info.name(), sparse.kind()));
        }
        list.finish()
    }
}
