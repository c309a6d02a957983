//! [`World`]: entities, their components, and the tables they lie in.
//!
//! # Representation
//!
//! `entities` says who is alive, and carries where, for every entity that is alive, beside the generation of its slot: both
//! are one load. Table 0 is that of
//! entities without components. `directory[component][table]` points at the component's first lane in that table (at
//! nothing in particular for a component without data), or is null.
//!
//! # The five phases
//!
//! Every operation first resolves (ids, plans, tables, edges: caches, which nobody sees), then reserves, then commits
//! (copies and integer stores; no user code, no allocation, no panic), then tells [listeners](crate::signal) what has
//! changed, if there are any, and at last runs destructors. Resolving fails as
//! reserving does, if memory cannot be had: each component, plan, table and edge is made whole or not at all, and those
//! that were made before one that could not be stay known.
#![allow(unsafe_code)]

mod access;
mod accessor;
mod batch;
mod bundle_builder;
mod change;
mod clear_component;
mod clone;
mod columns;
mod compact;
mod despawn;
mod dynamic;
mod entity_ref;
mod exchange;
mod memory;
mod pool_mut;
mod pool_ref;
mod report;
mod resource_access;
mod row_changes;
mod row_id;
mod rows;
mod single;
mod spawn;
mod structure;
mod transfer;

pub(crate) use access::Ref;
pub use access::{View, ViewMut};
pub use accessor::AccessMut;
pub use bundle_builder::BundleBuilder;
pub use columns::{ColumnPtrs, Columns};
pub use dynamic::ComponentDescriptor;
pub use entity_ref::{EntityMut, EntityRef};
pub use memory::{ColumnMemory, LaneMemory, Memory, SparseMemory, TableMemory};
pub use pool_mut::PoolMut;
pub use pool_ref::PoolRef;
pub use report::{Advice, ComponentReport, LayoutBytes, LayoutReport, Placement};
pub use row_id::RowId;
pub use spawn::Spawner;
pub use transfer::EntityMap;

use crate::alloc::unwrap_alloc;
use crate::bundle_info::BundleInfos;
use crate::change_detection::{Moment, Tick};
use crate::component::{Component, ComponentId, Components};
use crate::query::cache::QueryCache;
use crate::signature::Signature;
pub(crate) use crate::storage::Location;
use crate::storage::Storage;
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
    /// A number that no other world of the process has or had, and that stays.
    identity: u64,
    id: u64,
    pub(crate) storage: Storage,
    pub(crate) observers: crate::signal::Observers,
    pub(crate) bundles: BundleInfos,
    pub(crate) queries: Option<Box<QueryCache>>,
    pub(crate) resources: crate::resources::Resources,
}

// SAFETY: the query cache holds states of queries, which are `Send` and `Sync`; everything else is by itself.
unsafe impl Send for World {}
// SAFETY: as above; the query cache changes only through an exclusive reference.
unsafe impl Sync for World {}

impl World {
    /// A world without entities.
    pub fn new() -> World {
        unwrap_alloc(Components::try_new(&crate::rows::LANES).and_then(World::try_with))
    }

    /// A world without entities that knows these components.
    pub(crate) fn try_with(components: Components) -> Result<World, AllocError> {
        let mut world = World {
            identity: World::next_id(),
            id: World::next_id(),
            storage: Storage::new(components),
            observers: Default::default(),
            bundles: BundleInfos::try_new()?,
            queries: None,
            resources: Default::default(),
        };
        world.storage.sparse.clock.id = world.id;
        world.storage.table_of(&Signature::EMPTY)?;
        Ok(world)
    }

    fn next_id() -> u64 {
        static WORLDS: AtomicU64 = AtomicU64::new(0);
        WORLDS.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns a number that no other world of the process has or had. It stays as long as the world lives, also if the
    /// world is compacted or rolled back.
    pub(crate) fn identity(&self) -> u64 {
        self.identity
    }

    /// Returns the present moment of the world's time.
    pub(crate) fn moment(&self) -> Moment {
        self.storage.sparse.clock.moment()
    }

    /// Returns the number under which caches remember numbers of tables. No other world of the process has or had it, and
    /// it changes when tables get other numbers.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The present tick: what changes is marked with it, where it is [tracked](crate::change_detection).
    #[inline(always)]
    pub fn tick(&self) -> Tick {
        self.storage.sparse.clock.now()
    }

    /// Says that all changes so far have been seen: for queries that [do not remember](crate::change_detection) when they looked last.
    pub fn clear_trackers(&mut self) {
        self.storage.sparse.clock.settle();
    }

    /// Sets the time, as when a world is restored.
    #[doc(hidden)]
    pub fn set_tick(&mut self, number: u32) {
        self.storage.sparse.clock.set(Tick(number));
    }

    /// How many entities are alive.
    pub fn len(&self) -> usize {
        self.storage.entities.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.storage.entities.is_empty()
    }

    /// Whether the entity is alive.
    #[inline]
    pub fn contains(&self, entity: Entity) -> bool {
        self.storage.entities.contains(entity)
    }

    /// All entities, by index.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Entity> + Clone + '_ {
        self.storage.entities.iter()
    }

    /// What the world knows of components.
    pub fn components(&self) -> &Components {
        &self.storage.components
    }

    /// The id of a component, if this world knows it: an entity had it, or was to have it, or it was registered.
    pub fn component_id<C: Component>(&self) -> Option<ComponentId> {
        Some(self.storage.components.id::<C>()).filter(|id| *id != ComponentId::UNKNOWN)
    }

    /// The id of a component, which is given one if it has none: for [keys](crate::Key).
    pub fn register<C: Component>(&mut self) -> ComponentId {
        unwrap_alloc(self.storage.components.register::<C>())
    }

    /// Checks every invariant of the world.
    ///
    /// # Errors
    ///
    /// A sentence that says what does not hold. It never does for a world that was used by safe code alone.
    pub fn validate(&self) -> Result<(), &'static str> {
        self.storage.entities.validate()?;
        self.storage.components.validate()?;
        let tables = self.storage.tables.len();
        let entered = self.storage.directory.iter().map(Vec::len).max().unwrap_or(0);
        if self.storage.ends.len() != tables || self.storage.by_signature.len() != tables || entered > tables {
            return Err("a table that is half known");
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
            if self.storage.by_signature.get(&table.signature) != Some(&(number as u32)) {
                return Err("a table that its signature does not lead to");
            }
            for id in (0..self.storage.components.len()).map(|id| ComponentId::from_index(id as u32)) {
                if self.storage.lane(id, number as u32).is_null() == table.signature.has(id) {
                    return Err("a directory that contradicts a signature");
                }
            }
        }
        match rows == self.row_count() {
            true => self.storage.validate_sparse().and_then(|()| self.storage.validate_rows()),
            false => Err("entities without a row, or rows without an entity"),
        }
    }
}

impl World {
    /// Takes over the state of another world with the same components, and drops its own.
    ///
    /// Numbers of tables and sides mean something else afterwards: what remembers them is forgotten.
    /// Its old state is in what is returned, to be dropped when nothing else is left to be done.
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
        core::mem::swap(&mut self.storage.ends, &mut other.storage.ends);
        core::mem::swap(&mut self.storage.rows, &mut other.storage.rows);
        core::mem::swap(&mut self.storage.sparse, &mut other.storage.sparse);
        self.id = World::next_id();
        self.storage.journal.forget_unless(|entity| self.storage.entities.contains(entity));
        self.storage.restructured();
        other
    }
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
        for side in self.storage.sparse.in_order().filter(|side| side.len() > 0) {
            let info = self.storage.components.info(side.id);
            list.entry(&format_args!("{} × {} in a {}", side.len(), info.name(), side.kind()));
        }
        list.finish()
    }
}
