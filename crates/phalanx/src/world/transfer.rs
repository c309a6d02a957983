//! Entities that move to another world.
#![allow(unsafe_code)]

use super::World;
use crate::alloc::try_vec;
use crate::component::ComponentId;
use crate::error::ChangeError;
use crate::mutation::MovedOut;
use crate::rows::{Label, Link, NONE, Row};
use crate::signature::Signature;
use crate::sparse::Arrivals;
use crate::storage::table::row_ptr;
use core::ops::Range;
use phalanx_store::{AllocError, Entity};

/// Which entities have become which: [`World::transfer_all`].
#[derive(Clone, Debug, Default)]
pub struct EntityMap {
    /// By the old index: sorted, so that looking up is a search.
    pairs: Vec<(Entity, Entity)>,
}

impl EntityMap {
    fn of(mut pairs: Vec<(Entity, Entity)>) -> EntityMap {
        pairs.sort_unstable_by_key(|(old, _)| old.index());
        EntityMap { pairs }
    }

    /// What an entity has become.
    pub fn get(&self, old: Entity) -> Option<Entity> {
        self.at(old.index()).and_then(|(found, new)| (found == old).then_some(new))
    }

    /// The pair of an old index.
    fn at(&self, index: u32) -> Option<(Entity, Entity)> {
        let found = self.pairs.binary_search_by_key(&index, |(old, _)| old.index());
        found.ok().map(|at| self.pairs[at])
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
    /// How many do.
    rows: u32,
    /// The lanes: from, to.
    lanes: Vec<(u16, u16)>,
}

impl Passage {
    /// Copies rows to the end of the target, where nobody counts them yet.
    ///
    /// # Safety
    ///
    /// The rows are in use in the source, and there is room for them in the target. They count as moved out of the source
    /// from then on.
    unsafe fn copy(&self, from: &World, row: u32, to: &World, rows: u32) {
        let (source, target) = (&from.storage.tables[self.source as usize], &to.storage.tables[self.target as usize]);
        for &(a, b) in &self.lanes {
            // SAFETY: the caller's promise; the lanes of a pair belong to the same component.
            unsafe {
                let (a, b) = (&*source.lanes().add(a as usize), &*target.lanes().add(b as usize));
                let bytes = rows as usize * a.row_size();
                core::ptr::copy_nonoverlapping(row_ptr(a, row), row_ptr(b, target.len), bytes);
            }
        }
    }
}

/// A row of an entity that is about to move.
struct Leaving {
    slot: Entity,
    /// Of an extra row: its label in the other world.
    label: Option<Label>,
    passage: usize,
}

impl World {
    /// Moves an entity with its components to another world, where it is another entity. Values are moved as they are:
    /// none is cloned or dropped.
    ///
    /// Its [extra rows](crate::Key) go along: they have the same keys there, but for the entity and the component's id, and
    /// the same order.
    ///
    /// Entities in its components ([`Component::ENTITIES`](crate::Component::ENTITIES)) that name itself are changed
    /// along; others mean nothing in the other world.
    ///
    /// To [listeners](crate::signal) it is removed and despawned here, then spawned and added there.
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
    /// If the entity is not alive, or memory cannot be had; nothing happens then.
    pub fn transfer(&mut self, entity: Entity, other: &mut World) -> Result<Entity, ChangeError> {
        self.storage.flush()?;
        other.storage.flush()?;
        self.storage.try_location(entity)?;
        let count = self.storage.extra_rows(entity.index()).count() + 1;
        let (mut leaving, mut passages) = (try_vec::<Leaving>(count)?, try_vec::<Passage>(count)?);
        let (mut pairs, mut arrived) = (try_vec(1)?, try_vec(count)?);
        for (Row(slot), label) in self.storage.extra_rows(entity.index()) {
            let label = Some(self.label_in(label, other)?);
            leaving.push(Leaving { slot, label, passage: self.find_passage(&mut passages, slot, other)? });
        }
        let passage = self.find_passage(&mut passages, entity, other)?;
        leaving.push(Leaving { slot: entity, label: None, passage });
        self.reserve_arrival(&passages, count, usize::from(count > 1), other)?;
        // The slot of the entity is taken first, then those of its extra rows.
        let (main, extra) = ((entity, 0), leaving.iter().map(|leaving| leaving.slot).zip(1..));
        let mut beside = Arrivals::default();
        for (old, count) in core::iter::once(main).chain(extra.take(count - 1)) {
            for (number, side) in self.storage.sparse.ids_in_order() {
                if let Some(row) = side.row(old.index()) {
                    let slot = other.storage.entities.nth_index(count).ok_or(AllocError::CapacityOverflow)?;
                    beside.try_add(self.side_in(number, other)?, slot, (number, row))?;
                }
            }
        }
        // Values may move, even if one of several stores cannot grow.
        other.storage.restructured();
        beside.try_reserve(&mut other.storage.sparse)?;
        let notes = passages.iter().map(|passage| (passage.rows, passage.source, passage.target));
        self.reserve_moves(notes, other)?;
        let new = other.storage.entities.alloc();
        // SAFETY: room was made there, and the values count as moved out here.
        unsafe { beside.move_in(&self.storage.sparse, &other.storage.sparse) };
        for &Leaving { slot, label, passage } in &leaving {
            let passage = &passages[passage];
            // SAFETY: the row is in use here, and room for it was made there, for its slot and its name too. All of its values
            // count as moved out. A row with a label is an extra one, whose components were copied before it is made one there.
            unsafe {
                let from = self.storage.location_unchecked(slot);
                passage.copy(self, from.row, other, 1);
                match label {
                    Some(label) => drop(other.storage.spawn_extra_row::<false>(new, label, passage.target, &[])),
                    None => other.storage.spawn_row::<false>(new, passage.target, &[]),
                }
                arrived.push((passage.target, other.storage.tables[passage.target as usize].len - 1));
                self.storage.remove_row(slot, from, &mut MovedOut);
            }
        }
        // SAFETY: the values were moved in above, and their slots are there.
        unsafe { other.storage.receive(&beside) };
        self.storage.restructured();
        other.storage.restructured();
        pairs.push((entity, new));
        let map = EntityMap { pairs };
        self.note_moves(&map, other);
        other.rename_beside(&map, &beside);
        // SAFETY: the rows were made just now.
        arrived.into_iter().for_each(|(table, row)| unsafe { other.rename(&map, table, row..row + 1) });
        self.announce_moves(other);
        Ok(new)
    }

    /// Moves all entities with their components to another world, and tells which have become which. This world is empty
    /// then; the others' handles stay as they are.
    ///
    /// [Extra rows](crate::Key) go along, as in [`transfer`](World::transfer). Rows of a table keep their order.
    ///
    /// Entities in components ([`Component::ENTITIES`](crate::Component::ENTITIES)) are changed to what they have become;
    /// those of entities that were not alive stay as they were, and mean nothing.
    ///
    /// # Errors
    ///
    /// If memory cannot be had; nothing happens then.
    pub fn transfer_all(&mut self, other: &mut World) -> Result<EntityMap, ChangeError> {
        let map = self.move_all(other)?;
        self.announce_moves(other);
        Ok(map)
    }

    /// [`transfer_all`](World::transfer_all), whose moves are [told](World::announce_moves) by the caller.
    pub(crate) fn move_all(&mut self, other: &mut World) -> Result<EntityMap, ChangeError> {
        self.storage.flush()?;
        other.storage.flush()?;
        let (count, extra) = (self.storage.entities.len(), self.storage.entities.row_count());
        let (mut passages, mut labels) = (try_vec(self.storage.tables.len())?, try_vec::<Label>(extra)?);
        // Main rows first: the owners of extra ones are known then.
        for extra in [false, true] {
            for (source, table) in self.storage.tables_in_order() {
                if table.row_lanes().is_some() == extra {
                    passages.push(Passage { rows: table.len, ..self.passage(source, other)? });
                    for label in table.labels() {
                        labels.push(self.label_in(*label, other)?);
                    }
                }
            }
        }
        let (mut pairs, mut slots) = (try_vec(count)?, try_vec(extra)?);
        let mut arrived = try_vec::<(u32, Range<u32>)>(passages.len())?;
        self.reserve_arrival(&passages, count + extra, self.storage.rows.first.len(), other)?;
        let beside = self.arrivals_of_all(&passages, other)?;
        let notes = passages.iter().map(|passage| (passage.rows, passage.source, passage.target));
        self.reserve_moves(notes, other)?;
        // SAFETY: room was made there, and the values count as moved out here.
        unsafe { beside.move_in(&self.storage.sparse, &other.storage.sparse) };
        self.storage.count_all_removed();
        self.storage.sparse.clear_moved_out();
        self.storage.entities.clear();
        for passage in &passages {
            // SAFETY: the rows are in use here, and there is room for as many there, and for their slots. All values count as
            // moved out. What names the slots of extra rows stays in tables.
            unsafe {
                passage.copy(self, 0, other, passage.rows);
                let target = &other.storage.tables[passage.target as usize];
                let (first, is_extra) = (target.len, target.row_lanes().is_some());
                for &old in self.storage.tables[passage.source as usize].slots() {
                    let pool = &mut other.storage.entities;
                    let new = if is_extra { pool.alloc_row() } else { pool.alloc() };
                    other.storage.spawn_row::<false>(new, passage.target, &[]);
                    if is_extra { &mut slots } else { &mut pairs }.push((old, new));
                }
                arrived.push((passage.target, first..other.storage.tables[passage.target as usize].len));
            }
            self.storage.tables[passage.source as usize].len = 0;
            self.storage.mark_removal(passage.source);
        }
        let (map, slots) = (EntityMap::of(pairs), EntityMap::of(slots));
        // SAFETY: the rows were made just now, as copies of those here.
        unsafe { self.hand_over_rows(other, &map, &slots, &arrived, labels) };
        // SAFETY: the values were moved in above, and their slots are there.
        unsafe { other.storage.receive(&beside) };
        self.storage.restructured();
        other.storage.restructured();
        self.note_moves(&map, other);
        for (table, rows) in arrived {
            // SAFETY: the rows were made just now.
            unsafe { other.rename(&map, table, rows) };
        }
        other.rename_beside(&map, &beside);
        Ok(map)
    }

    /// Makes room for noting that rows move, so many from a table here to one there, and begins to note.
    fn reserve_moves(
        &mut self,
        moves: impl Iterator<Item = (u32, u32, u32)>,
        other: &mut World,
    ) -> Result<(), AllocError> {
        let (mut left, mut came) = (0, 0);
        for (rows, source, target) in moves {
            left += rows as usize * self.storage.entries_of(source);
            came += rows as usize * other.storage.entries_of(target);
        }
        self.storage.reserve_linked_notes(left)?;
        other.storage.reserve_linked_notes(came)?;
        self.storage.begin_notes();
        other.storage.begin_notes();
        Ok(())
    }

    /// Notes, in both worlds, that entities have moved. What each had here is shown where it lies there.
    fn note_moves(&mut self, map: &EntityMap, other: &mut World) {
        for (old, new) in map.iter() {
            self.storage.record_departure(old, &other.storage, new);
            other.storage.record_spawns(new);
        }
    }

    /// Tells the listeners of both worlds of the moves that were noted: first those of the world that entities have left.
    ///
    /// Whatever panics in one of the worlds, the other is complete. If both panic, the first panic goes on.
    pub(crate) fn announce_moves(&mut self, other: &mut World) {
        self.storage.link_notes();
        other.storage.link_notes();
        let notified = (self.notify(), other.notify());
        let completed = self.try_complete(notified.0);
        match completed {
            Ok(()) => return other.complete(notified.1),
            Err(_) => drop(other.try_complete(notified.1)),
        }
        if let Err(panic) = completed {
            std::panic::resume_unwind(panic);
        }
    }

    /// The number that a side has in another world, where it is made if there is none.
    fn side_in(&self, side: u32, other: &mut World) -> Result<u32, ChangeError> {
        let id = other.storage.components.adopt(self.storage.components.info(self.storage.sparse.get(side).id))?;
        Ok(other.storage.sparse.try_register(id, &other.storage.components)?)
    }

    /// Makes room in another world for all values that are not kept in tables, if rows go through these passages in order.
    /// They go in the order of their pools, or of their slots.
    fn arrivals_of_all(&self, passages: &[Passage], other: &mut World) -> Result<Arrivals, ChangeError> {
        let mut beside = Arrivals::default();
        if self.storage.sparse.iter().all(|side| side.len() == 0) {
            return Ok(beside);
        }
        let mut new_slots: Vec<u32> = try_vec(self.storage.entities.slot_count())?;
        new_slots.resize(self.storage.entities.slot_count(), 0);
        let moved = passages.iter().flat_map(|passage| self.storage.tables[passage.source as usize].slots());
        for (count, old) in (0..).zip(moved) {
            let slot = other.storage.entities.nth_index(count).ok_or(AllocError::CapacityOverflow)?;
            new_slots[old.index() as usize] = slot;
        }
        for (number, side) in self.storage.sparse.ids_in_order().filter(|(_, side)| side.len() > 0) {
            let to = self.side_in(number, other)?;
            for (slot, row) in side.slots_and_rows() {
                beside.try_add(to, new_slots[slot as usize], (number, row))?;
            }
        }
        // Values may move, even if one of several stores cannot grow.
        other.storage.restructured();
        beside.try_reserve(&mut other.storage.sparse)?;
        Ok(beside)
    }

    /// Changes the entities in values that have arrived beside the tables.
    fn rename_beside(&mut self, map: &EntityMap, beside: &Arrivals) {
        for (side, slot) in beside.iter() {
            let side = self.storage.sparse.get(side);
            let (Some(visit), Some(row)) = (self.storage.components.info(side.id).visit, side.row(slot)) else {
                continue;
            };
            let mut change = |entity: &mut Entity| *entity = map.get(*entity).unwrap_or(*entity);
            // SAFETY: the lane is the component's, the row is in use, and the world is borrowed exclusively.
            unsafe {
                visit(side.values().lane(), row as usize, &mut change);
                side.values().set_added_ticks(row, &self.storage.sparse.clock);
            }
        }
    }

    /// Gives the extra rows that have arrived in another world their owners, labels and links there, and forgets them here.
    ///
    /// # Safety
    ///
    /// The rows that have arrived are in use, and their lanes are copies of what they were here.
    unsafe fn hand_over_rows(
        &mut self,
        other: &mut World,
        map: &EntityMap,
        slots: &EntityMap,
        arrived: &[(u32, Range<u32>)],
        labels: Vec<Label>,
    ) {
        let now_at = |slot: u32| slots.at(slot).map_or(NONE, |(_, new)| new.index());
        let mut labels = labels.into_iter();
        for (table, rows) in arrived {
            let table = &other.storage.tables[*table as usize];
            let Some(lanes) = table.row_lanes() else { continue };
            for (row, label) in rows.clone().map(|row| row as usize).zip(labels.by_ref()) {
                // SAFETY: the row is in use, and its lanes say what it was here, by the caller's promise.
                unsafe {
                    let (owner, link) = (&mut *lanes.owners.add(row), &mut *lanes.links.add(row));
                    *owner = map.get(*owner).expect("the owner of an extra row goes along");
                    lanes.labels.add(row).write(label);
                    *link = Link { prev: now_at(link.prev), next: now_at(link.next) };
                    other.storage.rows.by_name.insert((owner.index(), label), table.slots()[row].index());
                }
            }
        }
        for (old, new) in map.iter().filter(|(old, _)| self.storage.rows.owns(old.index())) {
            other.storage.rows.begin(new.index(), now_at(self.storage.rows.first[&old.index()]));
        }
        self.storage.rows.clear();
    }

    /// Makes room in another world for rows that come through these passages, so many in all, extra ones of so many owners
    /// among them.
    fn reserve_arrival(
        &self,
        passages: &[Passage],
        count: usize,
        owners: usize,
        other: &mut World,
    ) -> Result<(), ChangeError> {
        other.storage.reserve_entities(u32::try_from(count).map_err(|_| AllocError::CapacityOverflow)?)?;
        for passage in passages {
            // Different tables here are different tables there.
            other.storage.reserve_table(passage.target, passage.rows)?;
        }
        if owners > 0 {
            let is_extra = |passage: &&Passage| self.storage.tables[passage.source as usize].row_lanes().is_some();
            let extra = passages.iter().filter(is_extra).map(|passage| passage.rows as usize).sum();
            other.storage.rows.try_reserve(extra, owners, other.storage.entities.capacity())?;
        }
        Ok(())
    }

    /// The passage that a row goes through, one more row for it; it is added if it is none of these. There is room for it.
    fn find_passage(&self, passages: &mut Vec<Passage>, slot: Entity, other: &mut World) -> Result<usize, ChangeError> {
        let source = self.storage.try_location(slot)?.table;
        let at = match passages.iter().position(|passage| passage.source == source) {
            Some(at) => at,
            None => {
                passages.push(self.passage(source, other)?);
                passages.len() - 1
            }
        };
        passages[at].rows += 1;
        Ok(at)
    }

    /// A label as it is in another world, where its component is given an id if it has none.
    fn label_in(&self, label: Label, other: &mut World) -> Result<Label, AllocError> {
        Ok(match label.component() {
            Some(id) => label.with_component(other.storage.components.adopt(self.storage.components.info(id))?),
            None => label,
        })
    }

    /// The way from a table to that of the same components in another world, which is made if there is none.
    fn passage(&self, source: u32, other: &mut World) -> Result<Passage, ChangeError> {
        let from = &self.storage.tables[source as usize];
        let (mut ids, mut lanes) = (try_vec::<ComponentId>(from.columns.len())?, try_vec(from.lane_count())?);
        for column in &from.columns {
            ids.push(other.storage.components.adopt(self.storage.components.info(column.id))?);
        }
        let target = other.storage.table_of(&Signature::try_of(ids.iter().copied())?)?;
        for (column, id) in from.columns.iter().zip(ids) {
            let to = other.storage.tables[target as usize].column(id).map_or(0, |column| column.first);
            lanes.extend((0..column.lanes).map(|lane| (column.first + lane, to + lane)));
        }
        Ok(Passage { source, target, rows: 0, lanes })
    }

    /// Changes the entities in the components of some rows, which have arrived, to what they have become.
    ///
    /// # Safety
    ///
    /// The rows are in use.
    unsafe fn rename(&mut self, map: &EntityMap, table: u32, rows: Range<u32>) {
        let table = &self.storage.tables[table as usize];
        for column in &table.columns {
            let Some(visit) = self.storage.components.info(column.id).visit else { continue };
            for row in rows.clone() {
                let mut change = |entity: &mut Entity| *entity = map.get(*entity).unwrap_or(*entity);
                // SAFETY: the lanes are the column's, the row is in use, and the world is borrowed exclusively.
                unsafe { visit(table.lanes().add(column.first as usize), row as usize, &mut change) };
            }
        }
        // SAFETY: the rows are in use, and the world is borrowed exclusively.
        unsafe { table.mark_new(rows, self.tick()) };
    }
}
