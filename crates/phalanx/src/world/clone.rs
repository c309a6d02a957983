//! Clones entities and worlds.
//!
//! # Invariants
//!
//! Clones are written beyond the last row of a table. A [`Made`] drops them if a clone panics. When all are written, it is
//! forgotten, and the rows are counted.
#![allow(unsafe_code)]

use super::{EntityMap, Location, World};
use crate::alloc::{try_box, try_reserve_map, try_vec};
use crate::component::{Cloning, Components};
use crate::error::StructuralError;
use crate::links::RelationKind;
use crate::mutation::Reserved;
use crate::resources::Resources;
use crate::rows::{Label, Row};
use crate::seeded::NumberMap;
use crate::sparse::Arrivals;
use crate::storage::Storage;
use crate::storage::link_pairs::LinkPair;
use crate::storage::table::{ALIGNED_FOR_ALL, Column, Table};
use phalanx_store::{AllocError, Entity};

/// Clones that are written and not counted: all `rows` of the first `done` columns, and `rows_done` of the next one.
struct Made<'a> {
    table: &'a Table,
    first: u32,
    columns: &'a [Column],
    done: usize,
    rows: u32,
    rows_done: u32,
}

impl Drop for Made<'_> {
    fn drop(&mut self) {
        for (at, column) in self.columns.iter().enumerate().take(self.done + 1) {
            let rows = if at < self.done { self.rows } else { self.rows_done };
            for row in self.first..self.first + rows {
                // SAFETY: these clones were written beyond the last row, and are dropped once.
                unsafe { self.table.drop_row(row, core::slice::from_ref(column)) };
            }
        }
    }
}

/// An address that is aligned for any value.
const DANGLING: *mut u8 = core::ptr::without_provenance_mut(ALIGNED_FOR_ALL.get());

/// Returns the address of a row in a lane of a table.
fn lane_ptr(table: &Table, lane: u16, row: u32) -> *mut u8 {
    table.lane_list()[lane as usize].row(row)
}

/// Writes clones of `rows` rows from `row` on to rows from `first` on of a table with the same columns. If a clone panics, the
/// clones are dropped.
///
/// # Safety
///
/// - All components of the table can be cloned. Both tables have the same components in the same lanes.
/// - The rows are in use in `from`. In `to` they are beyond the last row and within the capacity.
unsafe fn clone_rows(components: &Components, from: &Table, row: u32, to: &Table, first: u32, rows: u32) {
    let mut made = Made { table: to, first, columns: &to.columns, done: 0, rows, rows_done: 0 };
    for column in &from.columns {
        let mut lanes = column.first..column.first + column.lanes;
        if let Some(Cloning::Value(clone)) = components.info(column.id).clone {
            let value = lanes.next();
            for at in 0..rows {
                // SAFETY: the lane is the component's in both tables. The rows are in use in `from` and within the capacity of
                // `to`, by the caller's contract. A zero-sized value has any aligned address.
                unsafe {
                    let (source, target) = match value {
                        None => (DANGLING, DANGLING),
                        Some(lane) => (lane_ptr(from, lane, row + at), lane_ptr(to, lane, first + at)),
                    };
                    clone(source, target);
                }
                made.rows_done = at + 1;
            }
        }
        // The bytes of a component that is copied, or the change ticks of one that is tracked by row.
        for lane in lanes {
            // SAFETY: the lane is the component's in both tables. The rows are in use in `from` and within the capacity of `to`,
            // by the caller's contract, and differ if the tables are the same.
            unsafe {
                let bytes = rows as usize * from.lane_list()[lane as usize].row_size();
                core::ptr::copy_nonoverlapping(lane_ptr(from, lane, row), lane_ptr(to, lane, first), bytes);
            }
        }
        (made.done, made.rows_done) = (made.done + 1, 0);
    }
    core::mem::forget(made);
}

/// Spawns an entity with clones of the components of another, and returns it.
pub(super) fn clone_entity(world: &mut World, entity: Entity) -> Result<Entity, StructuralError> {
    world.storage.flush()?;
    let from = world.storage.try_location(entity)?;
    world.storage.check_clone(&world.storage.tables[from.table as usize])?;
    let is_special = world.storage.rows.owns(entity.index())
        || world.storage.sparse.storages_of(entity.index()).next().is_some()
        || world.storage.sparse.has_links(entity.index());
    if is_special {
        let map = clone_all(world, &[entity], false)?;
        return map.get(entity).ok_or_else(|| unreachable!("a cloned entity has a clone"));
    }
    world.storage.reserve_entities(1)?;
    world.storage.reserve_table(from.table, 1)?;
    world.storage.reserve_row_entries(from.table, 1)?;
    let table = &world.storage.tables[from.table as usize];
    // SAFETY: all components can be cloned, and capacity is reserved for a row after the last and for the slot.
    unsafe {
        clone_rows(&world.storage.components, table, from.row, table, table.len, 1);
        let twin = world.storage.spawn_clone(from.table);
        world.storage.record_spawn(twin);
        world.dispatch();
        Ok(twin)
    }
}

/// A row that is cloned.
struct Original {
    at: Location,
    /// The label of an extra row, which belongs to the main row before it.
    label: Option<Label>,
}

/// Drops the clones, unless it is forgotten.
struct Clones<'a> {
    tables: &'a [Table],
    made: &'a mut Vec<Location>,
}

impl Drop for Clones<'_> {
    fn drop(&mut self) {
        for Location { table, row } in self.made.drain(..) {
            let table = &self.tables[table as usize];
            // SAFETY: the clones were written beyond the last row, and are dropped once.
            unsafe { table.drop_row(row, &table.columns) };
        }
    }
}

/// Clones entities with their extra rows, sparse components and links, and returns which have become which. They are alive.
///
/// All clones are written, beyond the last rows of their tables, before any is counted. A link between two of the entities becomes
/// one between their clones. A link to another entity is made for the clone too, as the last of its target, unless the target can
/// have one source only. A clone has the name of its original if its parent is a clone too: it would have the same siblings
/// otherwise. With `maps`, the entities in cloned components are changed to their clones.
pub(crate) fn clone_all(world: &mut World, entities: &[Entity], maps: bool) -> Result<EntityMap, StructuralError> {
    let count = entities.iter().map(|entity| world.storage.extra_rows(entity.index()).count() + 1).sum::<usize>();
    let mut originals = try_vec::<Original>(count)?;
    let (mut made, mut needs) = (try_vec::<Location>(count)?, try_vec::<(u32, u32)>(world.storage.tables.len())?);
    let mut twins = try_vec::<(Entity, Entity)>(entities.len())?;
    let mut sparse = Arrivals::default();
    let mut highest = 0;
    let mut links = world.storage.try_link_pairs(entities)?.own;
    links.retain(|pair| {
        let info = world.storage.sparse.get(pair.relation).relation;
        info.is_some_and(|info| info.clones && (pair.is_inside || info.kind != RelationKind::OneToOne))
    });
    let named = try_keepers(&world.storage, &links)?;
    for &entity in entities {
        let main = core::iter::once((entity, None));
        let extra = world.storage.extra_rows(entity.index()).map(|(Row(slot), label)| (slot, Some(label)));
        for (slot, label) in main.chain(extra) {
            let at = world.storage.try_location(slot)?;
            world.storage.check_clone(&world.storage.tables[at.table as usize])?;
            // Slots are allocated in the order of the originals.
            let number = u32::try_from(originals.len()).map_err(|_| AllocError::CapacityOverflow)?;
            let new = world.storage.entities.nth_index(number).ok_or(AllocError::CapacityOverflow)?;
            let keeps_name = named.contains_key(&slot.index());
            let slots = (slot.index(), new);
            sparse.try_add_clones(&world.storage.sparse, &world.storage.components, slots, keeps_name)?;
            highest = new.max(highest);
            originals.push(Original { at, label });
        }
    }
    world.storage.try_reserve_names(named.len())?;
    world.storage.reserve_entities(u32::try_from(count).map_err(|_| AllocError::CapacityOverflow)?)?;
    for Original { at, .. } in &originals {
        match needs.iter_mut().find(|(needed, _)| *needed == at.table) {
            Some((_, rows)) => *rows += 1,
            None => needs.push((at.table, 1)),
        }
    }
    for (table, rows) in &mut needs {
        // From here on, how many of them are written.
        world.storage.reserve_table(*table, core::mem::take(rows))?;
    }
    world.storage.rows.try_reserve(count - entities.len(), entities.len(), world.storage.entities.capacity())?;
    // Values may move, even if one of several storages cannot grow.
    world.storage.epoch.advance();
    sparse.try_reserve(&mut world.storage.sparse)?;
    for relation in links.chunk_by(|a, b| a.relation == b.relation).map(|pairs| pairs[0].relation) {
        world.storage.sparse.try_reserve_link(relation, highest)?;
    }
    let entries = originals.iter().map(|original| world.storage.entries_of(original.at.table)).sum::<usize>();
    world.storage.reserve_entries(entries + links.len())?;
    let clones = Clones { tables: &world.storage.tables, made: &mut made };
    for Original { at, .. } in &originals {
        let table = &world.storage.tables[at.table as usize];
        let Some((_, written)) = needs.iter_mut().find(|(needed, _)| *needed == at.table) else { continue };
        let row = table.len + *written;
        // SAFETY: all components can be cloned, and capacity for these rows after the last is reserved.
        unsafe { clone_rows(&world.storage.components, table, at.row, table, row, 1) };
        *written += 1;
        clones.made.push(Location { table: at.table, row });
    }
    // SAFETY: capacity is reserved for them, and all can be cloned.
    unsafe { sparse.clone_in(&mut world.storage.sparse, &world.storage.components) };
    core::mem::forget(clones);
    let mut next = entities.iter();
    for Original { at, label } in &originals {
        // SAFETY: capacity is reserved for the rows, their slots and their names. The next row of each table is the next clone,
        // whose lanes are written. An extra row comes after the main row of its entity, under a label of its own.
        unsafe {
            match (label, twins.last()) {
                (Some(label), Some((_, twin))) => {
                    world.storage.spawn_extra_row::<false>(Reserved::new(), *twin, *label, at.table, &[]);
                    let table = &world.storage.tables[at.table as usize];
                    table.set_added_ticks(table.len - 1..table.len, world.storage.tick());
                }
                _ => twins.extend(next.next().map(|entity| (*entity, world.storage.spawn_clone(at.table)))),
            }
        }
    }
    // SAFETY: the clones were written, and their slots are alive.
    unsafe { world.storage.receive(&sparse) };
    twins.iter().for_each(|(_, twin)| world.storage.record_spawn_with_rows(*twin));
    let map = EntityMap::of(twins);
    for pair in &links {
        let twin = |entity: Entity| map.get(entity).unwrap_or(entity);
        // SAFETY: capacity for the records and the journal entries is reserved.
        let reserved = unsafe { Reserved::new() };
        world.storage.link(reserved, pair.relation, twin(pair.source), twin(pair.target).index(), None);
    }
    named.keys().filter_map(|slot| map.at(*slot)).for_each(|(_, twin)| world.storage.index_name(twin.index()));
    if maps {
        for Location { table, row } in made {
            world.storage.map_entities(&map, table, row..row + 1);
        }
        world.storage.map_sparse_entities(&map, &sparse);
    }
    world.dispatch();
    Ok(map)
}

/// Returns the slots of the entities whose clones keep their names: those whose parents are cloned too.
fn try_keepers(storage: &Storage, links: &[LinkPair]) -> Result<NumberMap<u32, ()>, AllocError> {
    let mut named = NumberMap::default();
    for pair in links.iter().filter(|pair| pair.is_inside && Some(pair.relation) == storage.sparse.tree_of_names()) {
        if storage.name_at(pair.source.index()).is_some() {
            try_reserve_map(&mut named, 1)?;
            named.insert(pair.source.index(), ());
        }
    }
    Ok(named)
}

impl World {
    /// Returns a world with the same entities and clones of their components. It has the same tables, the same order and the same
    /// future entities.
    ///
    /// Entities that are reserved here are reserved there. Components have the same ids. Resources that are
    /// [kept](crate::ResourcesMut::keep) are cloned, and the clone keeps them, too.
    ///
    /// The clone has no other resources, no listeners and no collectors. Checkpoints and timelines of this world are not those
    /// of the clone.
    ///
    /// # Errors
    ///
    /// - [`StructuralError::NotClone`] if an entity has a component that cannot be cloned.
    /// - [`StructuralError::Resource`] if a kept resource is taken out by a scope.
    /// - [`StructuralError::Alloc`] if allocation fails.
    pub fn try_clone(&self) -> Result<World, StructuralError> {
        for (_, table) in self.storage.tables_in_order() {
            self.storage.check_clone(table)?;
        }
        if let Some(component) = self.storage.sparse.not_clone(&self.storage.components) {
            return Err(StructuralError::NotClone { component });
        }
        self.resources.check_kept()?;
        let mut copy = World::try_with(self.storage.components.try_clone()?)?;
        copy.resources = Resources::try_from_kept(self.resources.try_clone_kept()?)?;
        for (number, table) in self.storage.tables.iter().enumerate() {
            copy.storage.table_of(&table.signature)?;
            copy.storage.tables[number].try_reserve_exact(table.len, &mut copy.storage.epoch)?;
        }
        let table_order = self.storage.table_order.try_clone()?;
        copy.storage.rows = self.storage.rows.try_clone()?;
        copy.storage.sparse = self.storage.sparse.try_clone()?;
        copy.storage.sparse.clock.id = copy.id;
        copy.storage.names = self.storage.names.as_ref().map(|index| try_box(index.try_clone()?)).transpose()?;
        copy.storage.entities = self.storage.entities.try_clone()?;
        // The copied entities have no rows yet: until they do, nothing may use the copy.
        for (to, from) in copy.storage.tables.iter_mut().zip(&self.storage.tables) {
            // SAFETY: all components can be cloned. The tables have the same signature and so the same columns, and capacity for
            // these rows is reserved.
            unsafe { clone_rows(&self.storage.components, from, 0, to, 0, from.len) };
            // SAFETY: the lanes of these rows were written just now, and capacity for the slots is reserved with them.
            unsafe { to.push_all(from.slots(), &mut copy.storage.table_order) };
            to.copy_column_ticks(from);
            to.stamp = from.stamp;
        }
        // The entities were copied with their locations: tables have the same numbers.
        copy.storage.table_order = table_order;
        copy.storage.restructured();
        Ok(copy)
    }
}

impl Storage {
    /// Returns an error if a component of the table cannot be cloned.
    fn check_clone(&self, table: &Table) -> Result<(), StructuralError> {
        match table.columns.iter().map(|column| self.components.info(column.id)).find(|info| !info.is_clone()) {
            Some(info) => Err(StructuralError::NotClone { component: info.name() }),
            None => Ok(()),
        }
    }

    /// Spawns an entity with the row beyond the last of a table, whose values count as new.
    ///
    /// # Safety
    ///
    /// Capacity for the row and a slot is reserved, and the lanes of the row are written.
    unsafe fn spawn_clone(&mut self, table: u32) -> Entity {
        // SAFETY: the capacity is reserved and the row is written, by the caller's contract.
        unsafe {
            let entity = self.spawn_row::<false>(Reserved::new(), table, &[]);
            let cloned = &self.tables[table as usize];
            cloned.set_added_ticks(cloned.len - 1..cloned.len, self.tick());
            entity
        }
    }
}
