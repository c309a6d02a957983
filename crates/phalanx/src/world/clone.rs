//! Copies of entities and of worlds.
//!
//! # Invariants
//!
//! Clones are written to rows that no table counts yet. Whoever writes them holds a [`Made`], which ends them if a clone
//! panics; when all are there, it is forgotten and the rows are counted.
#![allow(unsafe_code)]

use super::{Location, World};
use crate::alloc::try_vec;
use crate::component::{Cloning, Components};
use crate::error::StructuralError;
use crate::error::infallible;
use crate::resources::Resources;
use crate::rows::{Label, Row};
use crate::sparse::Arrivals;
use crate::storage::Storage;
use crate::storage::table::{ALIGNED_FOR_ALL, Column, Table, row_ptr};
use phalanx_store::{AllocError, Entity};

/// Clones that are written and not counted: all `rows` of the columns before the last, and the first rows of that one.
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
                // SAFETY: these clones were written, and nobody counts them.
                unsafe { self.table.drop_row(row, core::slice::from_ref(column)) };
            }
        }
    }
}

/// Writes clones of the first `rows` values from `row` on to another table of the same columns, or to another row of the
/// same table, where nobody sees them. If a clone panics, those that were made end.
///
/// # Safety
///
/// All components of the table can be cloned. Both tables have the same components in the same lanes; the rows are in use
/// there and within the capacity here, where nothing lives.
unsafe fn clone_rows(components: &Components, from: &Table, row: u32, to: &Table, first: u32, rows: u32) {
    let mut made = Made { table: to, first, columns: &to.columns, done: 0, rows, rows_done: 0 };
    for column in &from.columns {
        // SAFETY: the lanes are the column's, in both tables, and the rows as promised. A value without a size has no
        // place, and any that is aligned will do.
        unsafe {
            match components.info(column.id).clone {
                Some(Cloning::Value(clone)) => {
                    for at in 0..rows {
                        let nowhere = core::ptr::without_provenance_mut(ALIGNED_FOR_ALL.get());
                        let (source, place) = match column.lanes {
                            0 => (nowhere, nowhere),
                            _ => {
                                let lane = column.first as usize;
                                let (a, b) = (&*from.lanes().add(lane), &*to.lanes().add(lane));
                                (row_ptr(a, row + at), row_ptr(b, first + at))
                            }
                        };
                        clone(source, place);
                        made.rows_done = at + 1;
                    }
                    // The marks of one that is tracked row by row.
                    for lane in (column.first..column.first + column.lanes).skip(1) {
                        let (a, b) = (&*from.lanes().add(lane as usize), &*to.lanes().add(lane as usize));
                        let bytes = rows as usize * a.row_size();
                        core::ptr::copy_nonoverlapping(row_ptr(a, row), row_ptr(b, first), bytes);
                    }
                }
                _ => {
                    for lane in column.first..column.first + column.lanes {
                        let (a, b) = (&*from.lanes().add(lane as usize), &*to.lanes().add(lane as usize));
                        let bytes = rows as usize * a.row_size();
                        core::ptr::copy_nonoverlapping(row_ptr(a, row), row_ptr(b, first), bytes);
                    }
                }
            }
        }
        (made.done, made.rows_done) = (made.done + 1, 0);
    }
    core::mem::forget(made);
}

impl World {
    /// Makes an entity with clones of another's components, those of its [extra rows](crate::Key) too, in rows under the
    /// same components and roles.
    ///
    /// ```
    /// use phalanx::{StructuralError, Component, World};
    ///
    /// #[derive(Component, Clone)]
    /// #[component(clone)]
    /// struct Name(String);
    /// #[derive(Component)]
    /// struct Soul;
    ///
    /// let mut world = World::new();
    /// let ann = world.spawn(Name("Ann".into()));
    /// let twin = world.clone_entity(ann)?;
    /// assert_eq!(world.get::<Name>(twin).unwrap().0, "Ann");
    /// world.insert(ann, Soul).unwrap();
    /// assert!(matches!(world.clone_entity(ann), Err(StructuralError::NotClone { .. })));
    /// # Ok::<(), StructuralError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the entity is not alive, has a component that cannot be cloned, or memory cannot be had; nothing happens then,
    /// nor if a clone panics.
    pub fn clone_entity(&mut self, entity: Entity) -> Result<Entity, StructuralError> {
        self.storage.flush()?;
        let from = self.storage.try_location(entity)?;
        self.can_clone(&self.storage.tables[from.table as usize])?;
        if self.storage.rows.owns(entity.index()) || self.storage.sparse.storages_of(entity.index()).next().is_some() {
            // SAFETY: the entity is there, and its row can be cloned.
            return unsafe { self.clone_whole(entity, from) };
        }
        self.storage.reserve_entities(1)?;
        self.storage.reserve_table(from.table, 1)?;
        self.storage.reserve_row_entries(from.table, 1)?;
        let table = &self.storage.tables[from.table as usize];
        // SAFETY: all components can be cloned, and there is room after the last row, whose lanes are written then, and
        // for the location.
        unsafe {
            clone_rows(&self.storage.components, table, from.row, table, table.len, 1);
            let twin = self.storage.spawn_clone(from.table);
            self.storage.record_spawn(twin);
            self.dispatch();
            Ok(twin)
        }
    }

    /// Clones an entity with extra rows or components beside tables. All clones are made, beyond the last rows of their tables,
    /// before any is counted.
    ///
    /// # Safety
    ///
    /// The entity is at `from`, and all components of that table can be cloned.
    unsafe fn clone_whole(&mut self, entity: Entity, from: Location) -> Result<Entity, StructuralError> {
        /// Ends the clones that are made, unless it is forgotten.
        struct Clones<'a> {
            tables: &'a [Table],
            made: &'a mut Vec<Location>,
        }
        impl Drop for Clones<'_> {
            fn drop(&mut self) {
                for Location { table, row } in self.made.drain(..) {
                    let table = &self.tables[table as usize];
                    // SAFETY: the clones were written, and nobody counts them.
                    unsafe { table.drop_row(row, &table.columns) };
                }
            }
        }
        let count = self.storage.extra_rows(entity.index()).count();
        let (mut originals, mut labels) = (try_vec::<Location>(count + 1)?, try_vec::<Label>(count)?);
        let (mut made, mut needs) = (try_vec::<Location>(count + 1)?, try_vec::<(u32, u32)>(count + 1)?);
        let mut beside = Arrivals::default();
        let nth_slot = |n: usize| {
            let count = u32::try_from(n).map_err(|_| AllocError::CapacityOverflow)?;
            self.storage.entities.nth_index(count).ok_or(AllocError::CapacityOverflow)
        };
        beside.try_add_clones(&self.storage.sparse, &self.storage.components, entity.index(), nth_slot(0)?)?;
        originals.push(from);
        for (Row(slot), label) in self.storage.extra_rows(entity.index()) {
            let at = self.storage.try_location(slot)?;
            self.can_clone(&self.storage.tables[at.table as usize])?;
            // The main row's slot comes first.
            let new = nth_slot(originals.len())?;
            beside.try_add_clones(&self.storage.sparse, &self.storage.components, slot.index(), new)?;
            originals.push(at);
            labels.push(label);
        }
        self.storage.reserve_entities(u32::try_from(count + 1).map_err(|_| AllocError::CapacityOverflow)?)?;
        for Location { table, .. } in &originals {
            match needs.iter_mut().find(|(needed, _)| needed == table) {
                Some((_, rows)) => *rows += 1,
                None => needs.push((*table, 1)),
            }
        }
        for (table, rows) in &mut needs {
            // From here on, how many of them are written.
            self.storage.reserve_table(*table, core::mem::take(rows))?;
        }
        self.storage.rows.try_reserve(count, 1, self.storage.entities.capacity())?;
        // Values may move, even if one of several stores cannot grow.
        self.storage.epoch.advance();
        beside.try_reserve(&mut self.storage.sparse)?;
        let notes = originals.iter().map(|original| self.storage.entries_of(original.table)).sum();
        self.storage.reserve_entries(notes)?;
        let clones = Clones { tables: &self.storage.tables, made: &mut made };
        for original in &originals {
            let table = &self.storage.tables[original.table as usize];
            let Some((_, written)) = needs.iter_mut().find(|(needed, _)| *needed == original.table) else { continue };
            let row = table.len + *written;
            // SAFETY: all components can be cloned, and there is room for so many rows after the last.
            unsafe { clone_rows(&self.storage.components, table, original.row, table, row, 1) };
            *written += 1;
            clones.made.push(Location { table: original.table, row });
        }
        // SAFETY: room was made for them, and all can be cloned.
        unsafe { beside.clone_in(&mut self.storage.sparse, &self.storage.components) };
        core::mem::forget(clones);
        // SAFETY: there is room for the rows and their locations, for their slots and names; the next row of each table is
        // the next clone, whose lanes are written.
        unsafe {
            let twin = self.storage.spawn_clone(from.table);
            for (label, Location { table, .. }) in labels.into_iter().zip(&originals[1..]) {
                self.storage.spawn_extra_row::<false>(twin, label, *table, &[]);
                let table = &self.storage.tables[*table as usize];
                table.mark_new(table.len - 1..table.len, self.tick());
            }
            self.storage.receive(&beside);
            self.storage.record_spawn_with_rows(twin);
            self.dispatch();
            Ok(twin)
        }
    }

    fn can_clone(&self, table: &Table) -> Result<(), StructuralError> {
        match table.columns.iter().map(|column| self.storage.components.info(column.id)).find(|info| !info.is_clone()) {
            Some(info) => Err(StructuralError::NotClone { component: info.name() }),
            None => Ok(()),
        }
    }

    /// Returns a world with the same entities and clones of their components, as [`try_clone`](World::try_clone) does.
    ///
    /// # Panics
    ///
    /// If [`try_clone`](World::try_clone) returns an error.
    #[track_caller]
    pub fn clone_world(&self) -> World {
        infallible(self.try_clone())
    }

    /// Returns a world with the same entities and clones of their components: same tables, same order, same future entities.
    ///
    /// Entities that are reserved here are reserved there. Components have the same ids. Resources that are
    /// [kept](World::keep_resource) are cloned, and the clone keeps them, too.
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
            self.can_clone(table)?;
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
        copy.storage.sparse = self.storage.sparse.try_clone(&self.storage.components)?;
        copy.storage.sparse.clock.id = copy.id;
        copy.storage.entities = self.storage.entities.try_clone()?;
        // The copied entities have no rows yet: until they do, nobody may see them.
        for (to, from) in copy.storage.tables.iter_mut().zip(&self.storage.tables) {
            // SAFETY: all components can be cloned, the tables have the same signature and so the same columns, and there
            // is room for so many rows.
            unsafe { clone_rows(&self.storage.components, from, 0, to, 0, from.len) };
            for &entity in from.slots() {
                // SAFETY: the lanes of the row were written just now.
                unsafe { to.push(entity, &mut copy.storage.table_order) };
            }
            to.copy_column_marks(from);
            to.stamp = from.stamp;
        }
        copy.storage.table_order = table_order;
        (0..copy.storage.tables.len() as u32).for_each(|table| copy.storage.set_locations(table, 0));
        copy.storage.restructured();
        Ok(copy)
    }
}

impl Storage {
    /// Spawns an entity with the row beyond the last of a table, whose values count as new.
    ///
    /// # Safety
    ///
    /// Room for the row and a slot is reserved, and the lanes of the row are written.
    unsafe fn spawn_clone(&mut self, table: u32) -> Entity {
        let entity = self.entities.alloc();
        // SAFETY: the slot is new, and the row is written.
        unsafe {
            self.spawn_row::<false>(entity, table, &[]);
            let cloned = &self.tables[table as usize];
            cloned.mark_new(cloned.len - 1..cloned.len, self.tick());
        }
        entity
    }
}
