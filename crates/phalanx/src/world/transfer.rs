//! [`Transfer`]: moves entities to another world.
#![allow(unsafe_code)]

use super::moved_names::{index_arrived, try_move_names};
use super::{EntityMap, World};
use crate::alloc::try_vec;
use crate::component::ComponentId;
use crate::error::StructuralError;
use crate::mutation::{MovedOut, Reserved};
use crate::rows::{Label, Link, NONE, Row};
use crate::signal::dispatch_catch;
use crate::signature::Signature;
use crate::sparse::Arrivals;
use crate::storage::Storage;
use crate::storage::link_pairs::{CutLink, LinkPairs};
use core::ops::Range;
use phalanx_store::raw::row_ptr;
use phalanx_store::{AllocError, Entity};

impl World {
    /// Moves all entities with their components to another world, and returns which have become which. This world is empty
    /// afterwards. The entities of the other world keep their handles.
    ///
    /// - [Extra rows](crate::Key) go along, as in [`EntityMut::transfer`](crate::EntityMut::transfer). Rows of a table keep their
    ///   order.
    /// - Entities in components ([`Component::ENTITIES`](crate::Component::ENTITIES)) are changed to what they have become. Those
    ///   that were not alive stay as they were, and mean nothing.
    ///
    /// # Errors
    ///
    /// - [`StructuralError::Relation`] if two entities without a parent would have the same [name](crate::Name):
    ///   [`NameTaken`](crate::RelationError::NameTaken) names the entity here and the holder there.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// On error nothing has changed.
    #[doc(alias = "move_entities_from")]
    pub fn transfer_all(&mut self, other: &mut World) -> Result<EntityMap, StructuralError> {
        let map = self.move_all(other)?;
        self.dispatch_moves(other);
        Ok(map)
    }

    /// Moves all entities to another world. The caller [dispatches](World::dispatch_moves) the moves.
    pub(crate) fn move_all(&mut self, other: &mut World) -> Result<EntityMap, StructuralError> {
        Transfer::new(self, other).all()
    }

    /// Calls the listeners of both worlds for the recorded moves: first those of this world, which the entities have left.
    ///
    /// If a listener of one world panics, the operation of the other is completed. If both panic, the first panic is resumed.
    pub(crate) fn dispatch_moves(&mut self, other: &mut World) {
        self.storage.link_entries();
        other.storage.link_entries();
        let outcomes = (dispatch_catch!(self), dispatch_catch!(other));
        match outcomes.0.try_finish(self) {
            Ok(()) => outcomes.1.finish(other),
            Err(panic) => {
                drop(outcomes.1.try_finish(other));
                std::panic::resume_unwind(panic);
            }
        }
    }
}

/// A move of entities from one storage to another.
pub(crate) struct Transfer<'a> {
    from: &'a mut Storage,
    to: &'a mut Storage,
}

/// The move of the rows of a table to one of the other storage.
struct Passage {
    source: u32,
    target: u32,
    /// The number of rows that are moved.
    rows: u32,
    /// The lanes in the source, and those of the same component in the target.
    lanes: Vec<(u16, u16)>,
}

/// A row of an entity that is about to be moved.
struct Leaving {
    slot: Entity,
    /// The label of an extra row in the other storage.
    label: Option<Label>,
    passage: usize,
}

/// The links of entities that are moved.
struct MovedLinks {
    from: LinkPairs,
    /// The storage ids of the relations here and there.
    relations: Vec<(u32, u32)>,
}

impl<'a> Transfer<'a> {
    /// Creates a transfer from one world to another.
    pub(crate) fn new(from: &'a mut World, to: &'a mut World) -> Transfer<'a> {
        Transfer { from: &mut from.storage, to: &mut to.storage }
    }

    /// Moves an entity, and returns what it has become. The caller dispatches the move.
    pub(super) fn entity(self, entity: Entity) -> Result<Entity, StructuralError> {
        self.from.flush()?;
        self.from.try_location(entity)?;
        let (map, _) = self.entities(&[entity])?;
        map.get(entity).ok_or_else(|| unreachable!("an entity that was moved has become another"))
    }

    /// Moves entities that are alive and differ. Returns which have become which, and the links that were cut: those between one
    /// of them and another entity. The caller dispatches the moves.
    pub(crate) fn entities(mut self, entities: &[Entity]) -> Result<(EntityMap, Vec<CutLink>), StructuralError> {
        self.from.flush()?;
        self.to.flush()?;
        let count = entities.iter().map(|entity| self.from.extra_rows(entity.index()).count() + 1).sum::<usize>();
        let (mut leaving, mut passages) = (try_vec::<Leaving>(count)?, try_vec(self.from.tables.len())?);
        let (mut pairs, mut arrived) = (try_vec(entities.len())?, try_vec(count)?);
        let extra = count - entities.len();
        // Only the journal needs them.
        let mut slots = try_vec::<(Entity, Entity)>(if self.from.journal.is_active() { extra } else { 0 })?;
        let mut sparse = Arrivals::default();
        for &entity in entities {
            let first = leaving.len();
            for (Row(slot), label) in self.from.extra_rows(entity.index()) {
                let label = Some(adopt_label(self.from, self.to, label)?);
                leaving.push(Leaving { slot, label, passage: find_passage(self.from, self.to, &mut passages, slot)? });
            }
            let passage = find_passage(self.from, self.to, &mut passages, entity)?;
            leaving.push(Leaving { slot: entity, label: None, passage });
            // The slot of the entity is allocated first, then those of its extra rows.
            let rows = &leaving[first..];
            let in_order = rows.last().into_iter().chain(&rows[..rows.len() - 1]).map(|leaving| leaving.slot);
            for (number, old) in (first..).zip(in_order) {
                let number = u32::try_from(number).map_err(|_| AllocError::CapacityOverflow)?;
                let slot = self.to.entities.nth_index(number).ok_or(AllocError::CapacityOverflow)?;
                for (storage_id, storage) in self.from.sparse.ids_in_order() {
                    if let Some(row) = storage.row(old.index()).filter(|_| storage.relation.is_none()) {
                        sparse.try_add(adopt_sparse(self.from, self.to, storage_id)?, slot, (storage_id, row))?;
                    }
                }
            }
        }
        let links = self.adopt_links(entities)?;
        self.reserve_rows(&passages, count, extra.min(entities.len()))?;
        // Values may move, even if one of several storages cannot grow.
        self.to.restructured();
        sparse.try_reserve(&mut self.to.sparse)?;
        self.reserve_links(&links, count)?;
        self.reserve_entries(&passages, &links)?;
        let mut cut = try_vec(links.from.own.len() + links.from.others.len())?;
        let name = |relation| self.from.sparse.get(relation).relation.map_or("", |info| info.name());
        let leading_out = links.from.own.iter().chain(&links.from.others).filter(|pair| !pair.is_inside);
        cut.extend(leading_out.map(|pair| CutLink {
            relation: name(pair.relation),
            source: pair.source,
            target: pair.target,
        }));
        // SAFETY: capacity is reserved there, and the values count as moved out here.
        unsafe { sparse.move_in(&self.from.sparse, &self.to.sparse) };
        self.from.doom_moved(entities);
        self.from.unlink_pairs(&links.from);
        let mut rows = leaving.as_slice();
        for &entity in entities {
            let new = self.to.entities.alloc();
            let end = rows.iter().position(|leaving| leaving.slot == entity).map_or(rows.len(), |at| at + 1);
            for &Leaving { slot, label, passage } in &rows[..end] {
                let passage = &passages[passage];
                let Some(at) = self.from.find_location(slot) else { unreachable!("a slot that leaves is alive") };
                // SAFETY: the row is in use here, and has no links. Capacity is reserved there for the row, its slot and its name.
                // All of its values count as moved out. The components of an extra row are copied before it is created there.
                unsafe {
                    self.copy(passage, at.row, 1);
                    match label {
                        Some(label) => {
                            let row =
                                self.to.spawn_extra_row::<false>(Reserved::new(), new, label, passage.target, &[]);
                            if self.from.journal.is_active() {
                                slots.push((row.0, slot));
                            }
                        }
                        None => self.to.spawn_row_of::<false>(Reserved::new(), new, passage.target, &[]),
                    }
                    arrived.push((passage.target, self.to.tables[passage.target as usize].len - 1));
                    self.from.remove_row(Reserved::new(), slot, at, &mut MovedOut);
                }
            }
            rows = &rows[end..];
            pairs.push((entity, new));
        }
        let map = EntityMap::of(pairs);
        for &(table, row) in &arrived {
            self.to.tables[table as usize].set_added_ticks(row..row + 1, self.to.tick());
        }
        self.finish(&map, slots, &sparse, &links);
        arrived.into_iter().for_each(|(table, row)| self.to.map_entities(&map, table, row..row + 1));
        Ok((map, cut))
    }

    /// Finds the links of entities, and their relations in the other storage. Checks that they can keep their names there.
    fn adopt_links(&mut self, entities: &[Entity]) -> Result<MovedLinks, StructuralError> {
        let from = self.from.try_link_pairs(entities)?;
        let mut relations = try_vec(self.from.sparse.relation_count())?;
        for (relation, _) in self.from.sparse.relations() {
            relations.push((relation, adopt_sparse(self.from, self.to, relation)?));
        }
        try_move_names(self.from, self.to, entities, &from)?;
        Ok(MovedLinks { from, relations })
    }

    /// Reserves capacity for links of `count` rows that arrive.
    fn reserve_links(&mut self, links: &MovedLinks, count: usize) -> Result<(), AllocError> {
        if links.from.own.is_empty() {
            return Ok(());
        }
        let mut highest = 0;
        for number in 0..u32::try_from(count).map_err(|_| AllocError::CapacityOverflow)? {
            highest = highest.max(self.to.entities.nth_index(number).ok_or(AllocError::CapacityOverflow)?);
        }
        for &(_, relation) in &links.relations {
            self.to.sparse.try_reserve_link(relation, highest)?;
        }
        Ok(())
    }

    /// Moves all entities, and returns which have become which. The caller dispatches the moves.
    fn all(mut self) -> Result<EntityMap, StructuralError> {
        self.from.flush()?;
        self.to.flush()?;
        let (count, extra) = (self.from.entities.len(), self.from.entities.row_count());
        let (mut passages, mut labels) = (try_vec(self.from.tables.len())?, try_vec::<Label>(extra)?);
        // Main rows first, so that the owners of extra rows are known.
        for extra in [false, true] {
            for (source, table) in self.from.tables_in_order() {
                if table.is_extra() == extra {
                    passages.push(Passage { rows: table.len, ..passage(self.from, self.to, source)? });
                    for label in table.labels() {
                        labels.push(adopt_label(self.from, self.to, *label)?);
                    }
                }
            }
        }
        let (mut pairs, mut slots) = (try_vec(count)?, try_vec(extra)?);
        // Only the journal needs them.
        let mut old_slots = try_vec::<(Entity, Entity)>(if self.from.journal.is_active() { extra } else { 0 })?;
        let mut arrived = try_vec::<(u32, Range<u32>)>(passages.len())?;
        self.reserve_rows(&passages, count + extra, self.from.rows.first.len())?;
        let sparse = self.reserve_all_sparse(&passages)?;
        let mut entities = try_vec(count)?;
        entities.extend(self.from.entities.iter());
        let links = self.adopt_links(&entities)?;
        self.reserve_links(&links, count + extra)?;
        self.reserve_entries(&passages, &links)?;
        // Of an empty world.
        self.from.names = None;
        self.from.unlink_pairs(&links.from);
        // SAFETY: capacity is reserved there, and the values count as moved out here.
        unsafe { sparse.move_in(&self.from.sparse, &self.to.sparse) };
        self.from.count_all_removed();
        self.from.sparse.clear_moved_out();
        self.from.entities.clear();
        for passage in &passages {
            // SAFETY: the rows are in use here, and capacity for them and their slots is reserved there. All values count as moved
            // out. The tables still list the slots of extra rows.
            unsafe {
                self.copy(passage, 0, passage.rows);
                let target = &self.to.tables[passage.target as usize];
                let (first, is_extra) = (target.len, target.is_extra());
                for &old in self.from.tables[passage.source as usize].slots() {
                    let pool = &mut self.to.entities;
                    let new = if is_extra { pool.alloc_row() } else { pool.alloc() };
                    self.to.spawn_row_of::<false>(Reserved::new(), new, passage.target, &[]);
                    if is_extra { &mut slots } else { &mut pairs }.push((old, new));
                }
                arrived.push((passage.target, first..self.to.tables[passage.target as usize].len));
            }
            self.from.tables[passage.source as usize].len = 0;
            self.from.set_removal_ticks(passage.source);
        }
        for (table, rows) in &arrived {
            self.to.tables[*table as usize].set_added_ticks(rows.clone(), self.to.tick());
        }
        let (map, slots) = (EntityMap::of(pairs), EntityMap::of(slots));
        self.move_extra_rows(&map, &slots, &arrived, labels);
        if self.from.journal.is_active() {
            old_slots.extend(slots.iter().map(|(old, new)| (new, old)));
        }
        self.finish(&map, old_slots, &sparse, &links);
        for (table, rows) in arrived {
            self.to.map_entities(&map, table, rows);
        }
        Ok(map)
    }

    /// Reserves capacity for rows that arrive by these passages: `count` in all, with extra rows of `owners` entities among them.
    fn reserve_rows(&mut self, passages: &[Passage], count: usize, owners: usize) -> Result<(), StructuralError> {
        self.to.reserve_entities(u32::try_from(count).map_err(|_| AllocError::CapacityOverflow)?)?;
        for passage in passages {
            // Different tables here are different tables there.
            self.to.reserve_table(passage.target, passage.rows)?;
        }
        if owners > 0 {
            let is_extra = |passage: &&Passage| self.from.tables[passage.source as usize].is_extra();
            let extra = passages.iter().filter(is_extra).map(|passage| passage.rows as usize).sum();
            self.to.rows.try_reserve(extra, owners, self.to.entities.capacity())?;
        }
        Ok(())
    }

    /// Reserves capacity for all sparse values, if rows arrive by these passages in order. The values keep the order of their pool
    /// or of their slots.
    fn reserve_all_sparse(&mut self, passages: &[Passage]) -> Result<Arrivals, StructuralError> {
        let mut arrivals = Arrivals::default();
        if self.from.sparse.iter().all(|storage| storage.len() == 0) {
            return Ok(arrivals);
        }
        let mut new_slots: Vec<u32> = try_vec(self.from.entities.slot_count())?;
        new_slots.resize(self.from.entities.slot_count(), 0);
        let moved = passages.iter().flat_map(|passage| self.from.tables[passage.source as usize].slots());
        for (count, old) in (0..).zip(moved) {
            let slot = self.to.entities.nth_index(count).ok_or(AllocError::CapacityOverflow)?;
            new_slots[old.index() as usize] = slot;
        }
        for (number, storage) in
            self.from.sparse.ids_in_order().filter(|(_, storage)| storage.len() > 0 && storage.relation.is_none())
        {
            let target = adopt_sparse(self.from, self.to, number)?;
            for (slot, row) in storage.slots_and_rows() {
                arrivals.try_add(target, new_slots[slot as usize], (number, row))?;
            }
        }
        // Values may move, even if one of several storages cannot grow.
        self.to.restructured();
        arrivals.try_reserve(&mut self.to.sparse)?;
        Ok(arrivals)
    }

    /// Reserves the journal entries of these moves, and begins to record.
    fn reserve_entries(&mut self, passages: &[Passage], links: &MovedLinks) -> Result<(), AllocError> {
        let (mut removed, mut added) = (links.from.own.len() + links.from.others.len(), links.from.own.len());
        for passage in passages {
            removed += passage.rows as usize * self.from.entries_of(passage.source);
            added += passage.rows as usize * self.to.entries_of(passage.target);
        }
        self.from.reserve_linked_entries(removed)?;
        self.to.reserve_linked_entries(added)?;
        self.from.begin_linked_entries();
        self.to.begin_linked_entries();
        Ok(())
    }

    /// Copies rows to the end of their target, whose length does not change.
    ///
    /// # Safety
    ///
    /// The rows are in use in the source, and capacity for them is reserved in the target. From then on they count as moved out of
    /// the source.
    unsafe fn copy(&self, passage: &Passage, row: u32, rows: u32) {
        let (source, target) = (&self.from.tables[passage.source as usize], &self.to.tables[passage.target as usize]);
        for &(a, b) in &passage.lanes {
            // SAFETY: the lanes of a pair belong to the same component. The rows are in use in one and within the capacity of the
            // other, by the caller's contract.
            unsafe {
                let (a, b) = (&*source.lanes().add(a as usize), &*target.lanes().add(b as usize));
                let bytes = rows as usize * a.row_size();
                core::ptr::copy_nonoverlapping(row_ptr(a, row), row_ptr(b, target.len), bytes);
            }
        }
    }

    /// Sets the owners, labels and links of the extra rows that have arrived as copies of those here, and removes them here.
    fn move_extra_rows(
        &mut self,
        map: &EntityMap,
        slots: &EntityMap,
        arrived: &[(u32, Range<u32>)],
        labels: Vec<Label>,
    ) {
        let new_slot = |slot: u32| slots.at(slot).map_or(NONE, |(_, new)| new.index());
        let mut labels = labels.into_iter();
        for (table, rows) in arrived {
            let Storage { tables, rows: names, .. } = &mut *self.to;
            let table = &mut tables[*table as usize];
            let range = rows.start as usize..rows.end as usize;
            let Some(columns) = table.row_columns_mut() else { continue };
            for (row, label) in range.clone().zip(labels.by_ref()) {
                let owner = map.get(columns.owners[row]).expect("the owner of an extra row goes along");
                let link = columns.links[row];
                (columns.owners[row], columns.labels[row]) = (owner, label);
                columns.links[row] = Link { prev: new_slot(link.prev), next: new_slot(link.next) };
            }
            let names_of = table.entities().iter().zip(table.labels()).zip(table.slots());
            for ((owner, label), slot) in names_of.skip(range.start).take(range.len()) {
                names.by_name.insert((owner.index(), *label), slot.index());
            }
        }
        for (old, new) in map.iter().filter(|(old, _)| self.from.rows.owns(old.index())) {
            self.to.rows.begin(new.index(), new_slot(self.from.rows.first[&old.index()]));
        }
        self.from.rows.clear();
    }

    /// Commits the sparse values that have arrived, records the moves in both journals, and maps the entities in sparse values.
    ///
    /// `slots` are those of the extra rows there, each with its slot here.
    fn finish(&mut self, map: &EntityMap, mut slots: Vec<(Entity, Entity)>, sparse: &Arrivals, links: &MovedLinks) {
        // SAFETY: the values were moved in, and their slots are alive.
        unsafe { self.to.receive(sparse) };
        self.from.restructured();
        self.to.restructured();
        slots.sort_unstable();
        let old_slot = |new: Entity| slots.binary_search_by_key(&new, |(new, _)| *new).map_or(new, |at| slots[at].1);
        for (old, new) in map.iter() {
            self.from.record_departure(old, self.to, new, old_slot);
            self.to.record_spawn_with_rows(new);
        }
        self.link_arrived(map, links);
        index_arrived(self.to, map);
        self.to.map_sparse_entities(map, sparse);
    }
}

impl Transfer<'_> {
    /// Links the entities that have arrived, like those here.
    fn link_arrived(&mut self, map: &EntityMap, links: &MovedLinks) {
        for pair in links.from.own.iter().filter(|pair| pair.is_inside) {
            let relation = links.relations.iter().find(|(relation, _)| *relation == pair.relation);
            if let (Some((_, relation)), Some(source), Some(target)) =
                (relation, map.get(pair.source), map.get(pair.target))
            {
                // SAFETY: capacity for the records and the journal entries is reserved.
                let reserved = unsafe { Reserved::new() };
                self.to.link(reserved, *relation, source, target.index(), None);
            }
        }
    }
}

/// Returns the passage of a row, for one more row. It is added to the list, which has capacity for it, if it is not there.
fn find_passage(
    from: &Storage,
    to: &mut Storage,
    passages: &mut Vec<Passage>,
    slot: Entity,
) -> Result<usize, StructuralError> {
    let source = from.try_location(slot)?.table;
    let at = match passages.iter().position(|passage| passage.source == source) {
        Some(at) => at,
        None => {
            passages.push(passage(from, to, source)?);
            passages.len() - 1
        }
    };
    passages[at].rows += 1;
    Ok(at)
}

/// Returns the passage from a table to that of the same components in the other storage, which is created if there is none.
fn passage(from: &Storage, to: &mut Storage, source: u32) -> Result<Passage, StructuralError> {
    let table = &from.tables[source as usize];
    let (mut ids, mut lanes) = (try_vec::<ComponentId>(table.columns.len())?, try_vec(table.lane_count())?);
    for column in &table.columns {
        ids.push(to.components.adopt(from.components.info(column.id))?);
    }
    let target = to.table_of(&Signature::try_of(ids.iter().copied())?)?;
    for (column, id) in table.columns.iter().zip(ids) {
        let first = to.tables[target as usize].column(id).map_or(0, |column| column.first);
        lanes.extend((0..column.lanes).map(|lane| (column.first + lane, first + lane)));
    }
    Ok(Passage { source, target, rows: 0, lanes })
}

/// Returns the number of a sparse storage in the other storage, where it is created if there is none.
pub(crate) fn adopt_sparse(from: &Storage, to: &mut Storage, number: u32) -> Result<u32, AllocError> {
    let id = to.components.adopt(from.components.info(from.sparse.get(number).id))?;
    to.sparse.try_register(id, &to.components)
}

/// Returns a label in the other storage, where its component is registered if it is not known.
pub(crate) fn adopt_label(from: &Storage, to: &mut Storage, label: Label) -> Result<Label, AllocError> {
    Ok(match label.component() {
        Some(id) => label.with_component(to.components.adopt(from.components.info(id))?),
        None => label,
    })
}

impl Storage {
    /// Changes the entities in sparse values that have arrived to what they have become.
    pub(super) fn map_sparse_entities(&mut self, map: &EntityMap, arrivals: &Arrivals) {
        for (number, slot) in arrivals.iter() {
            let storage = self.sparse.get(number);
            let (Some(visit), Some(row)) = (self.components.info(storage.id).visit, storage.row(slot)) else {
                continue;
            };
            let mut change = |entity: &mut Entity| *entity = map.get(*entity).unwrap_or(*entity);
            // SAFETY: the lane is the component's, the row is in use, and the storage is borrowed exclusively.
            unsafe { visit(storage.values().lane(), row as usize, &mut change) };
        }
    }

    /// Changes the entities in all values to what they have become.
    #[cfg(feature = "snapshot")]
    pub(crate) fn map_all_entities(&mut self, map: &EntityMap) {
        for table in 0..self.tables.len() as u32 {
            self.map_entities(map, table, 0..self.tables[table as usize].len);
        }
        for storage in self.sparse.iter().filter(|storage| storage.relation.is_none()) {
            let Some(visit) = self.components.info(storage.id).visit else { continue };
            for (_, row) in storage.slots_and_rows() {
                let mut change = |entity: &mut Entity| *entity = map.get(*entity).unwrap_or(*entity);
                // SAFETY: the lane is the component's, the row is in use, and the storage is borrowed exclusively.
                unsafe { visit(storage.values().lane(), row as usize, &mut change) };
            }
        }
    }

    /// Gives up all values without dropping them. The storage is not used afterwards.
    #[cfg(feature = "snapshot")]
    pub(crate) fn forget_values(&mut self) {
        self.sparse.clear_moved_out();
        self.tables.iter_mut().for_each(|table| table.len = 0);
    }

    /// Changes the entities in the components of rows that have arrived to what they have become.
    pub(super) fn map_entities(&mut self, map: &EntityMap, table: u32, rows: Range<u32>) {
        let table = &self.tables[table as usize];
        assert!(rows.end <= table.len, "rows that have arrived are in use");
        for column in &table.columns {
            let Some(visit) = self.components.info(column.id).visit else { continue };
            for row in rows.clone() {
                let mut change = |entity: &mut Entity| *entity = map.get(*entity).unwrap_or(*entity);
                // SAFETY: the lanes are the column's, the row is in use, and the storage is borrowed exclusively.
                unsafe { visit(table.lanes().add(column.first as usize), row as usize, &mut change) };
            }
        }
    }
}
