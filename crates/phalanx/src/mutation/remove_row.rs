//! [`Storage::remove_row`]: the commit that removes rows and releases their slots.
#![allow(unsafe_code)]

use super::change_links::DoomedList;
use super::displaced::{Displaced, InPlace};
use super::reserve::Reserved;
use crate::journal::RowName;
use crate::links::LinkStore;
use crate::rows::{ExtraRow, Row};
use crate::storage::table::Keep;
use crate::storage::{Location, Storage};
use phalanx_store::{AllocError, Entity};

impl Storage {
    /// Removes the row of a slot with all of its sparse values, and releases the slot.
    ///
    /// Without listeners, only values that need a drop are sure to reach the sink.
    ///
    /// # Safety
    ///
    /// - The slot is alive and at `at`. If it is the main row of an entity, that entity has no extra rows and no links.
    /// - The sink has capacity for the displaced values, and so has the list of displaced sparse values.
    /// - The token is of a reservation for this commit, and no other commit has used the capacity since.
    #[inline(always)]
    pub(crate) unsafe fn remove_row<D: Displaced>(&mut self, _: Reserved, slot: Entity, at: Location, out: &mut D) {
        let shows = !D::MOVED_OUT && !D::UNRECORDED && self.journal.is_active();
        let name = if shows { self.row_name(slot) } else { RowName::main(slot) };
        if slot.is_row() {
            self.forget_row(slot.index());
        }
        let displaced_values = self.sparse.displaced_values.len();
        self.entities.release(slot);
        if self.counting {
            self.count_removed(at.table, 1);
        }
        if self.sparse.has_components() {
            if shows { self.sparse.remove_all::<true>(slot) } else { self.sparse.remove_all::<false>(slot) }
        }
        let keep = match () {
            () if D::MOVED_OUT => Keep::None,
            () if shows => Keep::All,
            () => Keep::NeedsDrop,
        };
        let table = &mut self.tables[at.table as usize];
        // SAFETY: the row is in use, by the caller's contract.
        let moved = unsafe { table.swap_remove(at.row, keep) };
        let displaced = Location { row: table.len, ..at };
        // SAFETY: a slot in a table is alive. Values that need a drop are beyond the last row, and the sink has capacity.
        unsafe {
            if let Some(moved) = moved {
                self.set_location(moved, at);
            }
            self.set_removal_ticks(at.table);
            self.restructured();
            out.accept(self, displaced, None);
        }
        if shows {
            self.record_removal(name, displaced, displaced_values, out.moved());
        }
    }

    /// Removes an entity: its links, its extra rows in the order of their creation, then its main row.
    ///
    /// # Safety
    ///
    /// - The entity is alive.
    /// - The sink has capacity for the displaced values of all its rows, and so has the list of displaced sparse values.
    /// - The token is of a reservation for this commit, and no other commit has used the capacity since.
    pub(crate) unsafe fn remove_entity<D: Displaced>(&mut self, reserved: Reserved, entity: Entity, out: &mut D) {
        if self.sparse.has_relations() {
            self.cut_links(entity);
        }
        while self.rows.owns(entity.index()) {
            let first = self.rows.first.get(&entity.index()).and_then(|first| self.find_extra_row(*first));
            let found = first.and_then(|ExtraRow { row: Row(slot), .. }| Some((slot, self.find_location(slot)?)));
            let Some((slot, at)) = found else { unreachable!("an owner has extra rows") };
            // SAFETY: the extra row is alive and at its location. The sink has capacity, by the caller's contract.
            unsafe { self.remove_row(reserved, slot, at, out) };
        }
        let Some(at) = self.find_location(entity) else { return };
        // SAFETY: the entity is alive, and has no extra rows any more. The sink has capacity, by the caller's contract.
        unsafe { self.remove_row(reserved, entity, at, out) };
    }

    /// Returns `true` if removing a row may take more than removing a row: if there were extra rows, or there are relations,
    /// listeners or collectors. One test for all of them.
    #[inline(always)]
    pub(crate) fn is_special(&self) -> bool {
        let recording = self.journal.recording.as_deref().map_or(0, |recording| (&raw const *recording).addr());
        recording | self.rows.owner_words() | self.sparse.relation_count() != 0
    }

    /// Returns `true` if entities can be removed without running a destructor, and have no extra rows.
    pub(crate) fn can_discard(&self, entities: &[Entity]) -> bool {
        let has_owners = self.rows.owner_words() > 0;
        if self.sparse.iter().any(|storage| storage.values().needs_drop()) {
            return false;
        }
        // If tables are fewer, asking all of them is quicker than asking for that of each entity.
        let is_plain = || self.tables.iter().all(|table| !table.needs_drop());
        let mut last = u32::MAX;
        (!has_owners && self.tables.len() <= entities.len() && is_plain())
            || entities.iter().all(|entity| {
                let Some(at) = self.find_location(*entity) else { return true };
                let is_known = at.table == last || !self.tables[at.table as usize].needs_drop();
                last = at.table;
                is_known && !(has_owners && self.rows.owns(entity.index()))
            })
    }

    /// Removes entities that [can be discarded](Storage::can_discard), without listeners. Each comes after those that are linked
    /// to it and are removed too. `tree` is the relation, if they are one tree of it.
    ///
    /// # Errors
    ///
    /// Returns an [`AllocError`] if allocation fails. Nothing has changed then.
    pub(crate) fn discard_entities(&mut self, entities: &[Entity], tree: Option<u32>) -> Result<(), AllocError> {
        let mut doomed = DoomedList::default();
        doomed.try_reserve(self, entities)?;
        if let (Some(relation), Some(root)) = (tree, entities.last()) {
            // All links but that of the root lead from one of them to another.
            let mut links = self.sparse.links_mut(relation);
            links.take_out(root.index());
            links.remove_all(entities);
        }
        if self.sparse.relation_count() > usize::from(tree.is_some()) {
            self.doom(entities, &mut doomed);
            entities.iter().for_each(|entity| self.cut_links(*entity));
        }
        self.discard_rows(entities);
        Ok(())
    }

    /// Removes the rows of entities, like [`remove_row`](Storage::remove_row) one after another: without showing or dropping
    /// values.
    ///
    /// They have no extra rows and no links, and their values need no drop.
    fn discard_rows(&mut self, mut entities: &[Entity]) {
        let has_sparse = self.sparse.has_components();
        // Entities whose rows are in the same table are removed in one loop.
        while let Some((first, after)) = entities.split_first() {
            let Some(Location { table: number, .. }) = self.find_location(*first) else {
                entities = after;
                continue;
            };
            let Storage { entities: pool, tables, sparse, .. } = self;
            let table = &mut tables[number as usize];
            let before = entities.len();
            while let Some((&entity, rest)) = entities.split_first()
                && let Some(at) = pool.payload(entity).filter(|at| at.table == number)
            {
                pool.release(entity);
                if has_sparse {
                    sparse.remove_all::<false>(entity);
                    // What is listed needs no drop.
                    sparse.displaced_values.clear();
                }
                // SAFETY: the entity was alive, so that its row was in use. A slot in a table is alive.
                unsafe {
                    if let Some(moved) = table.swap_remove(at.row, Keep::None) {
                        pool.set_unchecked(moved.index(), at);
                    }
                }
                entities = rest;
            }
            if self.counting {
                self.count_removed(number, (before - entities.len()) as u32);
            }
            self.set_removal_ticks(number);
        }
        self.restructured();
    }

    /// Removes an entity that has no components and no extra rows. The caller has reserved its journal entries.
    pub(crate) fn remove_empty(&mut self, entity: Entity) {
        let has_sparse = || self.sparse.storages_of(entity.index()).next().is_some();
        if let Ok(at @ Location { table: 0, .. }) = self.try_location(entity)
            && !self.rows.owns(entity.index())
            && !has_sparse()
            && !self.sparse.has_links(entity.index())
        {
            // SAFETY: the entity is alive and at `at`. It has no values, so that nothing is displaced and no capacity is needed but
            // that for journal entries, which is checked when they are recorded.
            unsafe { self.remove_row(Reserved::NOTHING, entity, at, &mut InPlace) };
        }
    }

    /// Sets the change ticks of the columns of a table that rows were removed from.
    #[inline(always)]
    pub(crate) fn set_removal_ticks(&self, table: u32) {
        let table = &self.tables[table as usize];
        if table.tracked {
            table.set_column_ticks(self.tick());
        }
    }

    /// Counts rows that are removed from a table, for the layout report.
    #[cold]
    #[inline(never)]
    fn count_removed(&mut self, table: u32, rows: u32) {
        for column in &self.tables[table as usize].columns {
            self.components.usage_mut(column.id).despawned += u64::from(rows);
        }
    }

    /// Counts all rows as removed, for the layout report.
    pub(crate) fn count_all_removed(&mut self) {
        if self.counting {
            for table in 0..self.tables.len() {
                self.count_removed(table as u32, self.tables[table].len);
            }
        }
    }
}
