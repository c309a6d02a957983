//! Entities that move to another world.
#![allow(unsafe_code)]

use super::{Location, World};
use crate::component::ComponentId;
use crate::error::ChangeError;
use crate::room::try_list;
use crate::side::Arrivals;
use crate::signal::Notified;
use crate::signature::Signature;
use crate::table::row_ptr;
use core::ops::Range;
use phalanx_store::{AllocError, Entity};

/// Which entities have become which: [`World::transfer_all`].
#[derive(Clone, Debug, Default)]
pub struct EntityMap {
    /// By the old index: sorted, so that looking up is a search.
    pairs: Vec<(Entity, Entity)>,
}

impl EntityMap {
    /// What an entity has become.
    pub fn get(&self, old: Entity) -> Option<Entity> {
        self.pairs
            .binary_search_by_key(&old.index(), |(old, _)| old.index())
            .ok()
            .map(|at| self.pairs[at])
            .and_then(|(found, new)| (found == old).then_some(new))
    }

    /// All entities: what each was, and what it has become; by the old index.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Entity, Entity)> + '_ {
        self.pairs.iter().copied()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }
}

/// How the rows of a table get to one of another world.
struct Passage {
    source: u32,
    target: u32,
    /// The lanes: from, to.
    lanes: Vec<(u16, u16)>,
}

impl World {
    /// Moves an entity with its components to another world, where it is another entity. Values are moved as they are:
    /// none is cloned or dropped.
    ///
    /// Entities in its components ([`Component::ENTITIES`](crate::Component::ENTITIES)) that name itself are changed
    /// along; others mean nothing in the other world.
    ///
    /// To listeners it is removed and despawned here, then spawned and added there.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Name(String);
    ///
    /// let (mut here, mut there) = (World::new(), World::new());
    /// let ann = here.spawn(Name("Ann".into()));
    /// let ann_there = here.transfer(ann, &mut there).unwrap();
    /// assert_eq!(there.get::<Name>(ann_there).unwrap().0, "Ann");
    /// assert!(!here.contains(ann));
    /// ```
    ///
    /// # Errors
    ///
    /// If the entity is not alive or has extra rows, or memory cannot be had in the other world; nothing happens then.
    pub fn transfer(&mut self, entity: Entity, other: &mut World) -> Result<Entity, ChangeError> {
        self.flush()?;
        let from = self.locate(entity)?;
        if self.rows.owns(entity.index()) {
            return Err(ChangeError::ExtraRows { entity });
        }
        let passage = self.passage(from.table, other)?;
        let (mut pairs, mut none) = (try_list(1)?, try_list(self.tables[from.table as usize].lane_count())?);
        none.resize(none.capacity(), false);
        other.flush()?;
        other.reserve_entities(1)?;
        other.reserve_table(passage.target, 1)?;
        let mut beside = Arrivals::default();
        for (number, side) in (0..).zip(self.sides.iter()) {
            if let Some(row) = side.row(entity.index()) {
                beside.try_add(self.side_in(number, other)?, other.entities.next_index(), (number, row))?;
            }
        }
        other.restructured();
        beside.try_reserve(&mut other.sides)?;
        self.reserve_linked_notes(self.notes_of(from.table))?;
        other.reserve_linked_notes(other.notes_of(passage.target))?;
        let noted = (self.noted(), other.noted());
        let new = other.entities.alloc();
        // SAFETY: room was made there, and the values count as moved out here.
        unsafe { beside.move_in(&self.sides, &other.sides) };
        self.entities.release(entity);
        if !beside.is_empty() {
            self.sides.take_all(entity);
            self.sides.retired.clear();
        }
        let source = &mut self.tables[from.table as usize];
        let target = &mut other.tables[passage.target as usize];
        // SAFETY: the row is in use here, and there is room for one there; the lanes of a pair belong to the same
        // component. All values count as moved out.
        let row = unsafe {
            let row = target.push(new);
            for &(a, b) in &passage.lanes {
                let (a, b) = (&*source.lanes().add(a as usize), &*target.lanes().add(b as usize));
                core::ptr::copy_nonoverlapping(row_ptr(a, from.row), row_ptr(b, row), a.row_size());
            }
            if let Some(moved) = source.close(from.row, &none[..source.lane_count()]) {
                self.locations.at(moved.index()).write(from);
            }
            other.locations.at(new.index()).write(Location { table: passage.target, row });
            beside.commit(&mut other.sides, |_| Some(new));
            row
        };
        self.restructured();
        other.restructured();
        pairs.push((entity, new));
        let map = EntityMap { pairs };
        self.note_moves(&map, other);
        other.rename(&map, passage.target, row..row + 1);
        other.rename_beside(&map, &beside);
        self.announce_moves(other, noted);
        Ok(new)
    }

    /// Moves all entities with their components to another world, and tells which have become which. This world is empty
    /// then; the others' handles stay as they are.
    ///
    /// Entities in components ([`Component::ENTITIES`](crate::Component::ENTITIES)) are changed to what they have become;
    /// those of entities that were not alive stay as they were, and mean nothing.
    ///
    /// # Errors
    ///
    /// If an entity has extra rows, or memory cannot be had; nothing happens then.
    pub fn transfer_all(&mut self, other: &mut World) -> Result<EntityMap, ChangeError> {
        self.flush()?;
        other.flush()?;
        if let Some(entity) = self.iter().find(|entity| self.rows.owns(entity.index())) {
            return Err(ChangeError::ExtraRows { entity });
        }
        let mut passages = try_list(self.tables.len())?;
        for source in (0..).zip(&self.tables).filter(|(_, table)| table.len > 0).map(|(number, _)| number) {
            passages.push(self.passage(source, other)?);
        }
        let count = u32::try_from(self.entities.len()).map_err(|_| AllocError::CapacityOverflow)?;
        let (mut pairs, mut arrived) = (try_list(count as usize)?, try_list::<(u32, Range<u32>)>(passages.len())?);
        other.reserve_entities(count)?;
        for passage in &passages {
            // Different tables here are different tables there.
            other.reserve_table(passage.target, self.tables[passage.source as usize].len)?;
        }
        let beside = self.arrivals_of_all(&passages, other)?;
        let (mut left, mut came) = (0, 0);
        for passage in &passages {
            let rows = self.tables[passage.source as usize].len as usize;
            left += rows * self.notes_of(passage.source);
            came += rows * other.notes_of(passage.target);
        }
        self.reserve_linked_notes(left)?;
        other.reserve_linked_notes(came)?;
        let noted = (self.noted(), other.noted());
        let mut made = other.entities.alloc_many(count as usize);
        // SAFETY: room was made there, and the values count as moved out here.
        unsafe { beside.move_in(&self.sides, &other.sides) };
        self.sides.forget_all();
        self.entities.clear();
        for Passage { source, target, lanes } in &passages {
            let source = &mut self.tables[*source as usize];
            let place = &mut other.tables[*target as usize];
            let (first, rows) = (place.len, source.len);
            // SAFETY: the rows are in use here, and there is room for as many there; the lanes of a pair belong to the
            // same component. All values count as moved out.
            unsafe {
                for &(a, b) in lanes {
                    let (a, b) = (&*source.lanes().add(a as usize), &*place.lanes().add(b as usize));
                    let bytes = rows as usize * a.row_size();
                    core::ptr::copy_nonoverlapping(row_ptr(a, 0), row_ptr(b, first), bytes);
                }
                for (&old, new) in source.entities().iter().zip(made.by_ref()) {
                    let row = place.push(new);
                    other.locations.at(new.index()).write(Location { table: *target, row });
                    pairs.push((old, new));
                }
            }
            source.len = 0;
            arrived.push((*target, first..first + rows));
        }
        // SAFETY: the values were moved in above, and their slots are there.
        unsafe { beside.commit(&mut other.sides, |index| other.entities.at(index)) };
        self.restructured();
        other.restructured();
        pairs.sort_unstable_by_key(|(old, _)| old.index());
        let map = EntityMap { pairs };
        self.note_moves(&map, other);
        for (table, rows) in arrived {
            other.rename(&map, table, rows);
        }
        other.rename_beside(&map, &beside);
        self.announce_moves(other, noted);
        Ok(map)
    }

    /// Notes, in both worlds, that entities have moved. What each had here is shown where it lies there.
    fn note_moves(&mut self, map: &EntityMap, other: &mut World) {
        for (old, new) in map.iter() {
            if self.signals.is_active() {
                self.note_departure(old, other, new);
            }
            if other.signals.is_active() {
                other.note_arrival(new);
            }
        }
    }

    /// Tells the listeners of both worlds of the moves that were noted from these places on: first those that they leave.
    fn announce_moves(&mut self, other: &mut World, noted: (usize, usize)) {
        self.link_notes(noted.0);
        other.link_notes(noted.1);
        let mut told = (Notified::NOBODY, Notified::NOBODY);
        if self.signals.is_active() {
            told.0 = self.notify();
        }
        if other.signals.is_active() {
            told.1 = other.notify();
        }
        if self.signals.is_active() {
            self.complete(told.0);
        }
        if other.signals.is_active() {
            other.complete(told.1);
        }
    }

    /// The number that a side has in another world, where it is made if there is none.
    fn side_in(&self, side: u32, other: &mut World) -> Result<u32, ChangeError> {
        let id = other.components.adopt(self.components.info(self.sides.get(side).id))?;
        Ok(other.sides.try_register(id, other.components.info(id))?)
    }

    /// Makes room in another world for all values that are not kept in tables, if rows go through these passages in order.
    /// They go in the order of their pools, or of their slots.
    fn arrivals_of_all(&self, passages: &[Passage], other: &mut World) -> Result<Arrivals, ChangeError> {
        let mut beside = Arrivals::default();
        if self.sides.iter().all(|side| side.len() == 0) {
            return Ok(beside);
        }
        let mut new_slots: Vec<u32> = try_list(self.entities.slot_count())?;
        new_slots.resize(self.entities.slot_count(), 0);
        let moved = passages.iter().flat_map(|passage| self.tables[passage.source as usize].slots());
        for (count, old) in (0..).zip(moved) {
            new_slots[old.index() as usize] = other.entities.nth_index(count);
        }
        for number in 0..self.sides.iter().len() as u32 {
            if self.sides.get(number).len() > 0 {
                let to = self.side_in(number, other)?;
                for (slot, row) in self.sides.get(number).slots_and_rows() {
                    beside.try_add(to, new_slots[slot as usize], (number, row))?;
                }
            }
        }
        other.restructured();
        beside.try_reserve(&mut other.sides)?;
        Ok(beside)
    }

    /// Changes the entities in values that have arrived beside the tables.
    fn rename_beside(&mut self, map: &EntityMap, beside: &Arrivals) {
        for (side, row) in beside.iter() {
            let side = self.sides.get(side);
            let Some(visit) = self.components.info(side.id).visit else { continue };
            let mut change = |entity: &mut Entity| *entity = map.get(*entity).unwrap_or(*entity);
            // SAFETY: the lane is the component's, the row is in use, and the world is borrowed exclusively.
            unsafe { visit(side.values().lane(), row as usize, &mut change) };
        }
    }

    /// The way from a table to that of the same components in another world, which is made if there is none.
    fn passage(&self, source: u32, other: &mut World) -> Result<Passage, ChangeError> {
        let from = &self.tables[source as usize];
        let (mut ids, mut lanes) = (try_list::<ComponentId>(from.columns.len())?, try_list(from.lane_count())?);
        for column in &from.columns {
            ids.push(other.components.adopt(self.components.info(column.id))?);
        }
        let target = other.table_of(&Signature::try_of(ids.iter().copied())?)?;
        for (column, id) in from.columns.iter().zip(ids) {
            let to = other.tables[target as usize].column(id).map_or(0, |column| column.first);
            lanes.extend((0..column.lanes).map(|lane| (column.first + lane, to + lane)));
        }
        Ok(Passage { source, target, lanes })
    }

    /// Changes the entities in the components of some rows to what they have become.
    fn rename(&mut self, map: &EntityMap, table: u32, rows: Range<u32>) {
        let table = &self.tables[table as usize];
        for column in &table.columns {
            let Some(visit) = self.components.info(column.id).visit else { continue };
            for row in rows.clone() {
                let mut change = |entity: &mut Entity| *entity = map.get(*entity).unwrap_or(*entity);
                // SAFETY: the lanes are the column's, the row is in use, and the world is borrowed exclusively.
                unsafe { visit(table.lanes().add(column.first as usize), row as usize, &mut change) };
            }
        }
    }
}
