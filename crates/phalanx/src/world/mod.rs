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
mod builder;
mod change;
mod clone;
mod columns;
mod compact;
mod dynamic;
mod entity_ref;
mod exchange;
mod memory;
mod report;
mod row_changes;
mod row_ends;
mod rows;
mod single;
mod spawn;
mod steps;
mod structure;
mod transfer;
mod transient;

pub(crate) use access::Ref;
pub use access::{View, ViewMut};
pub use accessor::AccessMut;
pub use builder::BundleBuilder;
pub use columns::{ColumnPlaces, Columns};
pub use dynamic::ComponentDescriptor;
pub use entity_ref::{EntityMut, EntityRef};
pub use memory::{ColumnMemory, LaneMemory, Memory, SideMemory, TableMemory};
pub use report::{Advice, ComponentReport, LayoutBytes, LayoutReport, Placement};
pub use spawn::Spawner;
pub(crate) use spawn::raise;
pub use transfer::EntityMap;

use crate::component::{Component, ComponentId, Components};
use crate::error::NoSuchEntity;
use crate::plan::Plans;
use crate::query::Candidate;
use crate::query::cache::QueryCache;
use crate::room::{had, try_map_room, try_room, try_room_at};
use crate::rows::Rows;
use crate::side::{Sides, Store};
use crate::signature::Signature;
use crate::table::{Epoch, Table};
use crate::table_order::TableOrder;
use crate::track::{Look, Moment, Tick, Track};
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use phalanx_store::raw::Lane;
use phalanx_store::{AllocError, Entity, EntityPool};
use std::collections::HashMap;

/// Where an entity's row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) table: u32,
    pub(crate) row: u32,
}

impl Location {
    /// The location of an entity that has no row yet.
    pub(crate) const NOWHERE: Location = Location { table: u32::MAX, row: u32::MAX };
}

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
    pub(crate) epoch: Epoch,
    pub(crate) entities: EntityPool<Location>,
    pub(crate) components: Components,
    pub(crate) tables: Vec<Table>,
    /// The order in which tables are visited.
    pub(crate) table_order: TableOrder,
    /// Signatures may come from a file, so that the hash has a seed. Nobody goes by its order.
    by_signature: HashMap<Signature, u32>,
    directory: Vec<Vec<*mut Lane>>,
    pub(crate) plans: Plans,
    /// The components that are not kept in tables.
    pub(crate) sides: Sides,
    /// By table: the lanes whose values need an end.
    pub(crate) ends: Vec<Box<[bool]>>,
    pub(crate) rows: Rows,
    pub(crate) queries: Option<Box<QueryCache>>,
    pub(crate) resources: crate::resources::Resources,
    /// The timeline that removed the marks of written rows last. While there is none, nothing is noted but marks in lanes
    /// that are tracked.
    pub(crate) tracker: Option<u64>,
    pub(crate) signals: crate::signal::Signals,
    /// Whether accesses are counted.
    pub(crate) counting: bool,
}

// SAFETY: the directory points at lanes that the tables of this world own, and components are `Send` and `Sync`.
unsafe impl Send for World {}
// SAFETY: as above; through a shared world nothing changes but the counter of reservations, which is atomic.
unsafe impl Sync for World {}

impl World {
    /// A world without entities.
    pub fn new() -> World {
        had(Components::try_new().and_then(World::try_with))
    }

    /// A world without entities that knows these components.
    pub(crate) fn try_with(components: Components) -> Result<World, AllocError> {
        let mut world = World {
            identity: World::fresh_id(),
            id: World::fresh_id(),
            epoch: Epoch::default(),
            entities: EntityPool::with_payload(Location::NOWHERE),
            components,
            tables: Vec::new(),
            table_order: TableOrder::new(),
            by_signature: HashMap::default(),
            directory: Vec::new(),
            plans: Plans::try_new()?,
            sides: Sides::new(),
            ends: Vec::new(),
            rows: Rows::default(),
            queries: None,
            resources: Default::default(),
            tracker: None,
            signals: Default::default(),
            counting: false,
        };
        world.sides.clock.id = world.id;
        world.table_of(&Signature::EMPTY)?;
        Ok(world)
    }

    fn fresh_id() -> u64 {
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
        self.sides.clock.moment()
    }

    /// Returns the number under which caches remember numbers of tables. No other world of the process has or had it, and
    /// it changes when tables get other numbers.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// A number that is different after every change of structure.
    #[inline(always)]
    pub(crate) fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Announces a change of structure: a row came or went, a lane moved, a table or a component was added.
    #[inline(always)]
    pub(crate) fn restructured(&mut self) {
        self.epoch.advance();
    }

    /// The present tick: what changes is marked with it, where it is [tracked](crate::track).
    #[inline(always)]
    pub fn tick(&self) -> Tick {
        self.sides.clock.now()
    }

    /// Says that all changes so far have been seen: for queries that [do not remember](crate::track) when they looked last.
    pub fn settle_changes(&mut self) {
        self.sides.clock.settle();
    }

    /// Sets the time, as when a world is restored.
    #[doc(hidden)]
    pub fn set_tick(&mut self, number: u32) {
        self.sides.clock.set(Tick(number));
    }

    /// The look of those who do not remember when they looked last.
    #[inline(always)]
    pub(crate) fn look(&self) -> Look {
        self.sides.clock.look()
    }

    /// Notes that a value of a row may be written.
    ///
    /// # Safety
    ///
    /// The id is one of this world, and the row is. No other thread reads or writes the marks of the value.
    pub(crate) unsafe fn mark_written(&self, id: ComponentId, row: Candidate<'_>) {
        let info = self.components.info(id);
        let Some((lanes, row)) = row.lanes_of(id).filter(|_| info.track != Track::None) else { return };
        // SAFETY: the lanes are the component's, the last of which is that of its marks; the row is in use, and its marks may
        // be written, by the caller's promise.
        unsafe {
            let lane = lanes.add(info.lanes.len() - 1);
            match info.track {
                Track::Row => (*crate::track::marks(&*lane, row)).changed = self.tick(),
                _ => crate::track::mark_column(&*lane, self.tick()),
            }
        }
    }

    /// How many entities are alive.
    pub fn len(&self) -> usize {
        self.entities.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }

    /// Whether the entity is alive.
    #[inline]
    pub fn contains(&self, entity: Entity) -> bool {
        self.entities.contains(entity)
    }

    /// All entities, by index.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Entity> + Clone + '_ {
        self.entities.iter()
    }

    /// What the world knows of components.
    pub fn components(&self) -> &Components {
        &self.components
    }

    /// The id of a component, if this world knows it: an entity had it, or was to have it, or it was registered.
    pub fn component_id<C: Component>(&self) -> Option<ComponentId> {
        Some(self.components.id::<C>()).filter(|id| *id != ComponentId::UNKNOWN)
    }

    /// The id of a component, which is given one if it has none: for [keys](crate::Key).
    pub fn register<C: Component>(&mut self) -> ComponentId {
        had(self.components.register::<C>())
    }

    /// Where an entity is.
    #[inline(always)]
    pub(crate) fn locate(&self, entity: Entity) -> Result<Location, NoSuchEntity> {
        match self.near(entity) {
            Some(location) => Ok(location),
            None => Err(NoSuchEntity { entity }),
        }
    }

    /// Where an entity is, if it is alive.
    #[inline(always)]
    pub(crate) fn near(&self, entity: Entity) -> Option<Location> {
        // SAFETY: a location is written for every entity that is alive.
        unsafe { self.entities.places().find(entity) }
    }

    /// Returns the table of a signature, which is made if there is none: all of it, or nothing happens.
    pub(crate) fn table_of(&mut self, signature: &Signature) -> Result<u32, AllocError> {
        if let Some(&table) = self.by_signature.get(signature) {
            return Ok(table);
        }
        let number = u32::try_from(self.tables.len()).map_err(|_| AllocError::CapacityOverflow)?;
        let table = Table::try_new(signature.try_clone()?, &self.components, number)?;
        let (ends, key) = (table.lanes_with_drop()?, signature.try_clone()?);
        let known = self.components.len();
        if self.directory.len() < known {
            try_room_at(&mut self.directory, known - 1)?;
            self.directory.resize_with(known, Vec::new);
        }
        for column in &table.columns {
            try_room_at(&mut self.directory[column.id.index()], number as usize)?;
        }
        try_room(&mut self.ends, 1)?;
        try_room(&mut self.tables, 1)?;
        self.table_order.try_reserve()?;
        try_map_room(&mut self.by_signature, 1)?;
        self.enter(&table, number);
        self.ends.push(ends);
        self.tables.push(table);
        self.table_order.add();
        self.by_signature.insert(key, number);
        self.restructured();
        Ok(number)
    }

    /// Returns the tables that have rows with their numbers, in the order in which they are visited.
    pub(crate) fn tables_in_order(&self) -> impl Iterator<Item = (u32, &Table)> + Clone {
        self.table_order.iter().map(|number| (number, &self.tables[number as usize])).filter(|(_, table)| table.len > 0)
    }

    /// The table of a signature, if there is one.
    #[cfg(feature = "snapshot")]
    pub(crate) fn table_number(&self, signature: &Signature) -> Option<u32> {
        self.by_signature.get(signature).copied()
    }

    /// Enters the columns of a table, which has a higher number than those entered before.
    fn enter(&mut self, table: &Table, number: u32) {
        for column in &table.columns {
            let columns = &mut self.directory[column.id.index()];
            columns.resize(number as usize, core::ptr::null_mut());
            // A component without data has no lane, but is there all the same.
            let lane = match column.lanes {
                0 => core::ptr::NonNull::dangling().as_ptr(),
                // SAFETY: the column's first lane is one of the table's.
                _ => unsafe { table.lanes().add(column.first as usize) },
            };
            columns.push(lane);
        }
    }

    /// The first lane of a component in a table; null if it has none, dangling if it carries no data.
    #[inline(always)]
    pub(crate) fn lane(&self, id: ComponentId, table: u32) -> *mut Lane {
        self.lanes_of(id).get(table as usize).copied().unwrap_or(core::ptr::null_mut())
    }

    /// The lanes of a component, by table; the rest has none.
    #[inline(always)]
    pub(crate) fn lanes_of(&self, id: ComponentId) -> &[*mut Lane] {
        self.directory.get(id.index()).map_or(&[], |lanes| lanes)
    }

    /// Checks every invariant of the world.
    ///
    /// # Errors
    ///
    /// A sentence that says what does not hold. It never does for a world that was used by safe code alone.
    pub fn validate(&self) -> Result<(), &'static str> {
        self.entities.validate()?;
        self.components.validate()?;
        let tables = self.tables.len();
        let entered = self.directory.iter().map(Vec::len).max().unwrap_or(0);
        if self.ends.len() != tables || self.by_signature.len() != tables || entered > tables {
            return Err("a table that is half known");
        }
        self.table_order.validate(self.tables.iter().map(|table| table.stamp))?;
        let mut rows = 0;
        for (number, table) in self.tables.iter().enumerate() {
            table.validate()?;
            if table.number != number as u32 || table.len > 0 && table.stamp == 0 {
                return Err("a table that does not know its number, or has rows and is not visited");
            }
            for (row, &entity) in table.slots().iter().enumerate() {
                rows += 1;
                if self.locate(entity) != Ok(Location { table: number as u32, row: row as u32 }) {
                    return Err("an entity that is not where its location says");
                }
            }
            if self.by_signature.get(&table.signature) != Some(&(number as u32)) {
                return Err("a table that its signature does not lead to");
            }
            for id in (0..self.components.len()).map(|id| ComponentId::from_index(id as u32)) {
                if self.lane(id, number as u32).is_null() == table.signature.has(id) {
                    return Err("a directory that contradicts a signature");
                }
            }
        }
        match rows == self.row_count() {
            true => self.validate_sides().and_then(|()| self.validate_rows()),
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
    pub(crate) fn become_state(&mut self, mut other: World) -> World {
        other.sides.outnumber(&self.sides);
        self.plans.clear();
        self.queries = None;
        core::mem::swap(&mut self.entities, &mut other.entities);
        core::mem::swap(&mut self.tables, &mut other.tables);
        core::mem::swap(&mut self.table_order, &mut other.table_order);
        core::mem::swap(&mut self.by_signature, &mut other.by_signature);
        core::mem::swap(&mut self.directory, &mut other.directory);
        core::mem::swap(&mut self.ends, &mut other.ends);
        core::mem::swap(&mut self.rows, &mut other.rows);
        core::mem::swap(&mut self.sides, &mut other.sides);
        self.id = World::fresh_id();
        self.signals.forget_unless(|entity| self.entities.contains(entity));
        self.restructured();
        other
    }

    /// Finds the names of extra rows anew, for which there is room.
    pub(crate) fn find_rows(&mut self) {
        for (number, table) in (0..).zip(&self.tables) {
            let Some(lanes) = table.row_lanes() else { continue };
            if table.columns.len() == 1 {
                self.rows.bare = Some(number);
            }
            for (row, (slot, label)) in table.slots().iter().zip(table.labels()).enumerate() {
                let owner = table.entities()[row].index();
                self.rows.by_name.insert((owner, *label), slot.index());
                // SAFETY: the rows in use are initialised, and so are the locations of slots that are alive. The row before
                // the first is the last, which has none after it.
                let is_first = unsafe {
                    let before = *self.entities.places().at((*lanes.links.add(row)).prev);
                    let there = self.tables[before.table as usize].row_lanes();
                    there.is_some_and(|there| (*there.links.add(before.row as usize)).next == crate::rows::NONE)
                };
                if is_first {
                    self.rows.begin(owner, slot.index());
                }
            }
        }
    }

    /// Checks the components that are not kept in tables.
    fn validate_sides(&self) -> Result<(), &'static str> {
        self.sides.validate(|slot| self.contains(slot), |index| self.slot(index), self.signals.telling)?;
        if !self.sides.leads(&self.components) {
            return Err("a type that leads to another component's side");
        }
        for linear in self.sides.iter().filter_map(|side| match &side.store {
            Store::Linear(linear) => Some(linear),
            Store::Pool(_) => None,
        }) {
            let rows = linear.iter().map(|slot| self.slot(slot)).collect::<Option<Vec<_>>>();
            let rows = rows.ok_or("a value of a linear store whose entity is not alive")?;
            if rows.iter().filter(|slot| slot.is_row()).count() != linear.rows as usize {
                return Err("extra rows of a linear store miscounted");
            }
        }
        Ok(())
    }

    /// The entity or extra row that is alive at an index.
    #[inline]
    pub(crate) fn slot(&self, index: u32) -> Option<Entity> {
        // SAFETY: both are this world's.
        unsafe { World::slot_at(&self.entities, &self.tables, index) }
    }

    /// Returns what [`slot`](World::slot) does, from the parts of a world that tell.
    ///
    /// # Safety
    ///
    /// The entities are those of a world, so that every slot has a location.
    #[inline]
    pub(crate) unsafe fn slot_at(entities: &EntityPool<Location>, tables: &[Table], index: u32) -> Option<Entity> {
        if let Some(entity) = entities.get(index) {
            return Some(entity);
        }
        if index as usize >= entities.slot_count() {
            return None;
        }
        // SAFETY: every slot below the count has a location, by the caller's promise: of now, or of the last that was there.
        let at = unsafe { *entities.places().at(index) };
        let slot = *tables.get(at.table as usize)?.slots().get(at.row as usize)?;
        (slot.index() == index).then_some(slot)
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
        for (_, table) in self.tables_in_order() {
            let names: Vec<&str> = table.columns.iter().map(|c| self.components.info(c.id).name()).collect();
            list.entry(&format_args!("{} × {}", table.len, names.join(" + ")));
        }
        for side in self.sides.in_order().filter(|side| side.len() > 0) {
            let info = self.components.info(side.id);
            list.entry(&format_args!("{} × {} in a {}", side.len(), info.name(), side.kind()));
        }
        list.finish()
    }
}
