//! Despawns entities and removes extra rows.
#![allow(unsafe_code)]

use super::insert_where::passing_slots;
use super::{Location, RowId, World};
use crate::alloc::{try_vec, unwrap_alloc};
use crate::error::{NoSuchEntity, RelationError, RowError, StructuralError, infallible, panic_change, require_alive};
use crate::mutation::despawn_set::DespawnSet;
use crate::mutation::{DoomedList, InPlace, RemovedRows, Reserved, Unrecorded};
use crate::query::QueryFilter;
use crate::rows::Row;
use crate::signal::dispatch_catch;
use phalanx_store::Entity;
use phalanx_store::raw::drop_all;

impl World {
    /// Despawns an entity, and drops its components.
    ///
    /// Its links end. [Relations](crate::relation) say what happens to the entities that are linked to it. The children of an
    /// entity are despawned with it, and so are theirs.
    ///
    /// # Errors
    ///
    /// [`NoSuchEntity`] if the entity is not alive.
    ///
    /// # Panics
    ///
    /// Panics if a relation [refuses](crate::relation::OnDespawn::Refuse) it.
    #[doc(alias = "destroy")]
    #[doc(alias = "delete")]
    #[inline]
    #[track_caller]
    pub fn despawn(&mut self, entity: Entity) -> Result<(), NoSuchEntity> {
        require_alive(self.try_despawn(entity))
    }

    /// Despawns an entity, like [`despawn`](World::despawn), but returns an error if allocation fails.
    ///
    /// This allocates only for rows of [reserved](World::reserve_entity) entities, for removed extra rows, and for the entries
    /// that [listeners and collectors](crate::signal) read.
    ///
    /// # Errors
    ///
    /// - [`StructuralError::NoSuchEntity`] if the entity is not alive.
    /// - [`StructuralError::Relation`] if a relation refuses it.
    /// - [`StructuralError::Alloc`] if allocation fails.
    ///
    /// On error nothing has changed.
    #[inline(always)]
    pub fn try_despawn(&mut self, entity: Entity) -> Result<(), StructuralError> {
        self.storage.sparse.prefetch_despawn(entity.index());
        self.storage.flush()?;
        let at = self.storage.try_location(entity)?;
        if self.storage.is_special() {
            return self.despawn_special(entity, at);
        }
        // SAFETY: the entity is there and has no extra rows. The capacity for the sparse values of one slot is always
        // reserved. The values that need a drop are left in place, and dropped once.
        unsafe {
            self.storage.remove_row(Reserved::new(), entity, at, &mut Unrecorded);
            self.storage.drop_in_place(at.table, None);
        }
        Ok(())
    }

    /// Despawns an entity of a world with extra rows, links, listeners or collectors.
    #[cold]
    #[inline(never)]
    fn despawn_special(&mut self, entity: Entity, at: Location) -> Result<(), StructuralError> {
        let storage = &mut self.storage;
        let is_special = storage.rows.owns(entity.index()) || storage.journal.is_active();
        if is_special || !storage.try_cut_leaf(entity.index()) {
            return self.despawn_all(&[entity], Despawns::One).map(|_| ());
        }
        // SAFETY: the entity is there and has neither extra rows nor links. The capacity for the sparse values of one slot is
        // always reserved. The values that need a drop are left in place, and dropped once.
        unsafe {
            storage.remove_row(Reserved::new(), entity, at, &mut Unrecorded);
            storage.drop_in_place(at.table, None);
        }
        Ok(())
    }

    /// Despawns entities, in order. Returns the number of those that were alive; an entity that occurs twice counts once.
    ///
    /// Entities that were despawned with another one do not count. An entity that a [relation](crate::relation) refuses to
    /// despawn is skipped.
    ///
    /// To handle a failing allocation, call [`try_despawn`](World::try_despawn) for each entity. While there are
    /// [listeners or collectors](crate::signal), the iterator is exhausted before the first entity is despawned.
    #[track_caller]
    pub fn despawn_batch(&mut self, entities: impl IntoIterator<Item = Entity>) -> usize {
        if !self.storage.allows_bulk() {
            // All are dispatched as one operation, so the list is complete before the first is despawned.
            let mut list = Vec::new();
            entities.into_iter().for_each(|entity| list.push(entity));
            unwrap_alloc(self.storage.flush());
            return infallible(self.despawn_all(&list, Despawns::Many));
        }
        // Also for a batch without entities.
        unwrap_alloc(self.storage.flush());
        // Not `filter` and `count`, which trust the iterator's hint.
        entities.into_iter().fold(0, |count, entity| match self.try_despawn(entity) {
            Ok(()) => count + 1,
            Err(StructuralError::NoSuchEntity(_) | StructuralError::Relation(_)) => count,
            Err(error) => panic_change(error),
        })
    }

    /// Like [`despawn_batch`](World::despawn_batch), but returns an error if allocation fails. All rows are removed before the
    /// first value is dropped.
    ///
    /// ```
    /// use phalanx::{Component, World};
    ///
    /// #[derive(Component)]
    /// struct Leaf;
    ///
    /// let mut world = World::new();
    /// let leaves = world.spawn_batch((0..3).map(|_| Leaf));
    /// assert_eq!(world.try_despawn_batch(&[leaves[0], leaves[2], leaves[0]])?, 2);
    /// assert_eq!(world.len(), 1);
    /// # Ok::<(), phalanx::StructuralError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`StructuralError::Alloc`] if allocation fails. Then no entity is despawned.
    pub fn try_despawn_batch(&mut self, entities: &[Entity]) -> Result<usize, StructuralError> {
        self.storage.flush()?;
        self.despawn_all(entities, Despawns::Many)
    }

    /// Despawns all entities that pass a filter, in the order of their tables and rows. Returns the number of those that passed
    /// and were despawned.
    ///
    /// All rows are removed before the first value is dropped. As in [`despawn_batch`](World::despawn_batch), entities that were
    /// despawned with another one do not count, and an entity that a [relation](crate::relation) refuses to despawn is skipped. With
    /// a filter that asks for [extra rows](crate::query#extra-rows), an entity passes if one of its rows does.
    ///
    /// ```
    /// use phalanx::{Component, With, Without, World};
    ///
    /// #[derive(Component)]
    /// struct Bullet;
    /// #[derive(Component)]
    /// struct Flying;
    ///
    /// let mut world = World::new();
    /// let flying = world.spawn((Bullet, Flying));
    /// world.spawn_batch((0..5).map(|_| Bullet));
    /// assert_eq!(world.despawn_where::<(With<Bullet>, Without<Flying>)>(), 5);
    /// assert!(world.iter().eq([flying]));
    /// ```
    ///
    /// Entities that a closure selects are despawned by [`despawn_batch`](World::despawn_batch), with a list of them.
    #[doc(alias = "retain")]
    #[doc(alias = "despawn_filtered")]
    #[track_caller]
    pub fn despawn_where<F: QueryFilter>(&mut self) -> usize {
        infallible(self.try_despawn_where::<F>())
    }

    /// Despawns entities, like [`despawn_where`](World::despawn_where), but returns an error if allocation fails.
    ///
    /// # Errors
    ///
    /// [`StructuralError::Alloc`] if allocation fails. Nothing has changed.
    pub fn try_despawn_where<F: QueryFilter>(&mut self) -> Result<usize, StructuralError> {
        self.storage.flush()?;
        let mut entities = passing_slots::<F>(self)?;
        entities.iter_mut().for_each(|slot| *slot = self.storage.owner_of(*slot));
        self.despawn_all(&entities, Despawns::Many)
    }

    /// Despawns all entities. Tables, components and resources stay.
    #[doc(alias = "clear_entities")]
    #[track_caller]
    pub fn clear(&mut self) {
        infallible(self.try_clear());
    }

    /// Despawns all entities, like [`clear`](World::clear), but returns an error if allocation fails.
    ///
    /// # Errors
    ///
    /// [`StructuralError::Alloc`] if allocation fails. Nothing has changed.
    pub fn try_clear(&mut self) -> Result<(), StructuralError> {
        self.storage.flush()?;
        if !self.storage.allows_bulk() {
            let mut entities = try_vec(self.len())?;
            entities.extend(self.iter());
            return self.despawn_all(&entities, Despawns::All).map(|_| ());
        }
        let mut lens = try_vec(self.storage.tables.len())?;
        self.storage.count_all_removed();
        self.storage.entities.clear();
        self.storage.rows.clear();
        self.storage.restructured();
        (0..self.storage.tables.len() as u32).for_each(|table| self.storage.set_removal_ticks(table));
        lens.extend(self.storage.tables.iter_mut().map(|table| core::mem::replace(&mut table.len, 0)));
        if let Some(index) = &mut self.storage.names {
            index.clear();
        }
        let _cleared = self.storage.sparse.clear();
        let removed = self.storage.tables.iter().zip(lens);
        // SAFETY: the row was in use, and the table has given it up above.
        drop_all(removed.flat_map(|(table, len)| (0..len).map(move |row| (table, row))), |(table, row)| unsafe {
            table.drop_row(row, &table.columns);
        });
        Ok(())
    }

    /// Removes one extra row, named by its key or its handle, and drops its components. Its entity and the other rows stay.
    ///
    /// # Errors
    ///
    /// - [`RowError::NoSuchEntity`], [`RowError::NoSuchRow`] or [`RowError::Stale`] if the row does not exist.
    /// - [`RowError::MainRow`] if it is the main row of its entity, which [`despawn`](World::despawn) removes.
    /// - [`RowError::Alloc`] if allocation fails.
    ///
    /// On error nothing has changed.
    pub fn remove_row(&mut self, row: impl RowId) -> Result<(), RowError> {
        self.storage.flush()?;
        let Row(slot) = row.find(self)?;
        if !slot.is_row() {
            return Err(RowError::MainRow { entity: slot });
        }
        let at = self.storage.try_location(slot)?;
        let reserved = self.storage.reserve_removal(at.table)?;
        // SAFETY: the row is there. The capacity for the sparse values of one slot is always reserved.
        unsafe { self.storage.remove_row(reserved, slot, at, &mut InPlace) };
        let outcome = dispatch_catch!(self);
        // SAFETY: the values were left in place, and nothing was committed since.
        unsafe { self.storage.drop_in_place(at.table, None) };
        outcome.finish(self);
        Ok(())
    }

    /// Despawns entities: of each its extra rows in the order of their creation, then the main row. All rows are removed before
    /// the first value is dropped; the values are dropped in that order too. Returns the number of entities that were alive,
    /// without those that are despawned because of others.
    #[inline(never)]
    fn despawn_all(&mut self, entities: &[Entity], despawns: Despawns) -> Result<usize, StructuralError> {
        let mut set = core::mem::take(&mut self.despawn_set);
        set.clear();
        let outcome = self.despawn_listed(entities, despawns, &mut set);
        // If a destructor panics, its memory is freed instead.
        set.clear_and_shrink();
        self.despawn_set = set;
        outcome
    }

    fn despawn_listed(
        &mut self,
        entities: &[Entity],
        despawns: Despawns,
        set: &mut DespawnSet,
    ) -> Result<usize, StructuralError> {
        let mut related = 0;
        let has_relations = self.storage.sparse.has_relations();
        let entities = match despawns {
            Despawns::One | Despawns::Many if has_relations => {
                for &entity in entities.iter().filter(|entity| self.contains(**entity)) {
                    let is_only = despawns == Despawns::One;
                    match set.try_add(&self.storage, &&self.storage, entity, is_only) {
                        Ok(added) => related += added.len().saturating_sub(1),
                        Err(StructuralError::Relation(RelationError::Refused { .. })) if !is_only => {}
                        Err(error) => return Err(error),
                    }
                }
                set.entities()
            }
            _ => entities,
        };
        if has_relations && !self.storage.journal.is_active() && self.storage.can_discard(entities) {
            self.storage.discard_entities(entities, set.tree())?;
            return Ok(entities.len() - related);
        }
        let (mut count, mut entries) = (0, 0);
        for (_, row) in entities.iter().flat_map(|entity| self.rows(*entity)).flatten() {
            count += 1;
            entries += self.storage.find_location(row.0).map_or(0, |at| self.storage.entries_of(at.table));
            if has_relations {
                entries += self.storage.link_entries_of(row.0.index());
            }
        }
        if despawns != Despawns::All && entities.len() > 1 {
            entries += self.storage.try_reparent_entries(entities)?;
        }
        let mut removed = RemovedRows::try_with_capacity(count)?;
        self.storage.sparse.try_reserve_displaced(count)?;
        self.storage.reserve_entries(entries)?;
        let mut doomed = DoomedList::default();
        doomed.try_reserve(&self.storage, entities)?;
        let mut despawned = 0;
        if despawns == Despawns::All {
            // Without links, nothing depends on the order.
            self.storage.cut_all_links();
        } else {
            self.storage.doom(entities, &mut doomed);
        }
        for &entity in entities {
            if self.contains(entity) {
                // SAFETY: the entity is alive, and capacity for all of its rows and their sparse values is reserved.
                unsafe { self.storage.remove_entity(Reserved::new(), entity, &mut removed) };
                despawned += 1;
            }
        }
        if despawns == Despawns::All {
            self.storage.entities.clear();
        }
        let outcome = dispatch_catch!(self);
        // SAFETY: the rows were removed above, and nothing was committed since.
        unsafe { removed.drop_values(&mut self.storage) };
        outcome.finish(self);
        Ok(despawned - related)
    }
}

/// Which entities are despawned together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Despawns {
    /// One.
    One,
    /// A list. Those that a relation refuses to despawn are skipped.
    Many,
    /// All of the world. Slots are used again as in a new world.
    All,
}
