//! [`RowRecorder`]: records the events of one row.
//!
//! Commits call the functions of [`Storage`] in this file, which return at once if nothing is recorded.
#![allow(unsafe_code)]

use super::{Event, Journal, JournalEntry, Recording, RowChange, RowName, ValuePtr, Watch};
use crate::alloc::{try_reserve, try_reserve_map};
use crate::bundle_info::Edge;
use crate::component::{Component, ComponentId};
use crate::rows::{Label, NONE, Row};
use crate::sort::sort_short_by_key;
use crate::sparse::{DisplacedValue, SparseStorages};
use crate::storage::table::{Column, Table};
use crate::storage::{Location, Storage};
use core::ops::Range;
use phalanx_store::{AllocError, Entity};

/// Components that lost a value, each with the address of that value.
pub(crate) type MovedValues = Vec<(ComponentId, ValuePtr)>;

/// Reservations.
impl Storage {
    /// Calls a function if events are recorded, and returns `otherwise` if not.
    #[inline(always)]
    fn if_recording<R>(&mut self, otherwise: R, f: impl FnOnce(&mut Storage) -> R) -> R {
        if self.journal.is_active() { f(self) } else { otherwise }
    }

    /// Returns `true` if an operation may change many rows at once, because no events are recorded for each.
    #[inline(always)]
    pub(crate) fn allows_bulk(&self) -> bool {
        !self.journal.is_active()
    }

    /// Reserves capacity for a number of events.
    #[inline(always)]
    pub(crate) fn reserve_entries(&mut self, count: usize) -> Result<(), AllocError> {
        self.if_recording(Ok(()), |storage| storage.reserve_journal(count))
    }

    #[cold]
    #[inline(never)]
    fn reserve_journal(&mut self, count: usize) -> Result<(), AllocError> {
        let Some(recording) = &mut self.journal.recording else { return Ok(()) };
        if recording.has_capacity(count) {
            return Ok(());
        }
        recording.discard_unlinked();
        recording.try_reserve(count)?;
        recording.collectors.try_reserve(count)
    }

    /// Reserves capacity for the events of rows that are spawned in a table, or removed from it.
    #[inline(always)]
    pub(crate) fn reserve_row_entries(&mut self, table: u32, rows: usize) -> Result<(), AllocError> {
        self.if_recording(Ok(()), |storage| {
            let entries = storage.entries_of(table).checked_mul(rows).ok_or(AllocError::CapacityOverflow)?;
            storage.reserve_journal(entries)
        })
    }

    /// Reserves capacity for the events of rows that are spawned in a table, and for the list of their entities.
    pub(crate) fn reserve_spawned_rows(&mut self, table: u32, rows: usize) -> Result<(), AllocError> {
        self.journal.spawned.clear();
        self.reserve_row_entries(table, rows)?;
        self.if_recording(Ok(()), |storage| try_reserve(&mut storage.journal.spawned, rows))
    }

    /// Reserves capacity for the events of a move along an edge.
    #[inline(always)]
    pub(crate) fn reserve_edge_entries(&mut self, edge: &Edge) -> Result<(), AllocError> {
        self.if_recording(Ok(()), |storage| storage.reserve_journal(storage.entries_of_edge(edge)))
    }

    /// Reserves capacity for the events of an operation of several steps, which [`link_entries`](Storage::link_entries)
    /// completes.
    #[cold]
    #[inline(never)]
    pub(crate) fn reserve_linked_entries(&mut self, count: usize) -> Result<(), AllocError> {
        self.reserve_entries(count)?;
        let Some(recording) = &mut self.journal.recording else { return Ok(()) };
        try_reserve_map(&mut recording.links, count)
    }

    /// Returns the greatest number of events of one slot that moves along an edge.
    pub(crate) fn entries_of_edge(&self, edge: &Edge) -> usize {
        self.tables[edge.target as usize].columns.len()
            + edge.displaced.len()
            + edge.sparse_inserts.len()
            + edge.sparse_removes.len()
    }

    /// Returns the greatest number of events of one row that is spawned in a table, or removed from it.
    pub(crate) fn entries_of(&self, table: u32) -> usize {
        self.tables[table as usize].columns.len() + self.sparse.iter().len() + 1
    }
}

/// Recording.
impl Storage {
    /// Records that a slot was spawned with all of its components.
    #[inline(always)]
    pub(crate) fn record_spawn(&mut self, slot: Entity) {
        self.if_recording((), |storage| storage.record_row_spawn(slot));
    }

    /// Records that rows of a table were spawned, and lists their entities. Capacity for both is reserved before.
    pub(crate) fn record_spawned_rows(&mut self, table: u32, rows: Range<u32>) {
        self.if_recording((), |storage| {
            for row in rows {
                let entity = storage.tables[table as usize].slots()[row as usize];
                storage.journal.spawned.push(entity);
                storage.record_row_spawn(entity);
            }
        });
    }

    /// Records that an entity was spawned with its extra rows, and with all of their components.
    pub(crate) fn record_spawn_with_rows(&mut self, entity: Entity) {
        self.if_recording((), |storage| {
            storage.record_row_spawn(entity);
            let mut next = storage.rows.first.get(&entity.index()).copied().unwrap_or(NONE);
            while next != NONE {
                // SAFETY: the first row of an entity, and those that its links name, are extra rows in use.
                let (Row(slot), _, _, link) = unsafe { storage.extra_row(next) };
                storage.record_row_spawn(slot);
                next = link.next;
            }
        });
    }

    /// Records that a component was replaced, or changed in place.
    #[inline(always)]
    pub(crate) fn record_set<C: Component>(&mut self, slot: Entity, old: ValuePtr) {
        self.if_recording((), |storage| storage.record_row_set(slot, storage.components.id::<C>(), old));
    }

    /// Records that a row was given a component, lost it, or has another value of it.
    pub(crate) fn record_value(&mut self, event: Event, slot: Entity, id: ComponentId, old: ValuePtr) {
        self.record_row(self.row_name(slot), RowChange::Changed, |row, _| row.push(event, id, old));
    }

    /// Records what a move along an edge has changed. The slot was in table `from`.
    ///
    /// The displaced values are beyond the last row of that table and listed by the sparse storages. Otherwise `moved` says
    /// where they are, and is emptied.
    #[inline(always)]
    pub(crate) fn record_move(&mut self, slot: Entity, from: u32, edge: &Edge, moved: Option<&mut MovedValues>) {
        self.if_recording((), |storage| storage.record_row_move(slot, from, edge, moved));
    }

    #[cold]
    #[inline(never)]
    fn record_row_spawn(&mut self, slot: Entity) {
        let Ok(at) = self.try_location(slot) else { return };
        self.record_row(self.row_name(slot), RowChange::Spawned, |row, storage| {
            if row.name.label.is_none() && row.recording.spawns {
                row.push_always(Event::Spawned, ComponentId::ROW, ValuePtr::None);
            }
            for column in &storage.tables[at.table as usize].columns {
                row.push(Event::Added, column.id, ValuePtr::None);
            }
            if storage.sparse.has_components() {
                for sparse in storage.sparse.storages_of(slot.index()) {
                    row.push(Event::Added, sparse.id, ValuePtr::None);
                }
            }
        });
    }

    /// Clones a value that is about to be changed in place, for collectors of past values. This is user code, and changes
    /// nothing.
    #[inline(always)]
    pub(crate) fn stage_past_value<C: Component>(&mut self, slot: Entity) {
        self.if_recording((), |storage| storage.stage_value(slot, storage.components.id::<C>()));
    }

    #[cold]
    #[inline(never)]
    fn stage_value(&mut self, slot: Entity, id: ComponentId) {
        let Some(value) = self.value_ptr(slot, id) else { return };
        let Some(recording) = &mut self.journal.recording else { return };
        for state in recording.collectors.values.iter_mut().filter(|state| state.keeps_set(id)) {
            // SAFETY: the collector keeps values of this component, and the slot has one. The storage is borrowed exclusively.
            unsafe { state.values.stage(value) };
        }
    }

    /// Records that a slot was linked to a target, or unlinked from it.
    #[inline(always)]
    pub(crate) fn record_link(&mut self, event: Event, relation: u32, source: Entity, target: u32) {
        self.if_recording((), |storage| storage.record_row_link(event, relation, source, target));
    }

    #[cold]
    #[inline(never)]
    fn record_row_link(&mut self, event: Event, relation: u32, source: Entity, target: u32) {
        let Some(target) = self.slot(target) else { return };
        let id = self.sparse.get(relation).id;
        self.record_row(self.row_name(source), RowChange::Changed, |row, _| {
            let start = row.recording.entries.len();
            row.push(event, id, ValuePtr::None);
            // There is none if nothing watches the relation.
            if let Some(entry) = row.recording.entries.get_mut(start) {
                entry.target = Some(target);
            }
        });
    }

    #[cold]
    #[inline(never)]
    fn record_row_set(&mut self, slot: Entity, id: ComponentId, old: ValuePtr) {
        self.record_value(Event::Set, slot, id, old);
    }

    #[cold]
    #[inline(never)]
    fn record_row_move(&mut self, slot: Entity, from: u32, edge: &Edge, moved: Option<&mut MovedValues>) {
        self.record_row(self.row_name(slot), RowChange::Changed, |row, storage| match moved {
            Some(moved) => {
                row.record_edge(storage, from, edge, moved.iter().copied());
                moved.clear();
            }
            None => {
                let source = &storage.tables[from as usize];
                let columns = edge.displaced.iter().map(|column| (column.id, source.value_ptr(column, source.len)));
                let sparse = storage.sparse.displaced_values.iter().map(|value| storage.sparse.displaced_ptr(value));
                row.record_edge(storage, from, edge, columns.chain(sparse));
            }
        });
    }

    /// Records that a row was removed. Its values are at `at`, and in the list of displaced sparse values from `first_sparse` on.
    /// Otherwise `moved` says where they are, and is emptied.
    #[cold]
    #[inline(never)]
    pub(crate) fn record_removal(
        &mut self,
        name: RowName,
        at: Location,
        first_sparse: usize,
        moved: Option<&mut MovedValues>,
    ) {
        self.record_row(name, RowChange::Removed, |row, storage| match moved {
            Some(moved) => {
                row.record_removed(moved.iter().copied());
                moved.clear();
            }
            None => {
                let table = &storage.tables[at.table as usize];
                let columns = table.columns.iter().map(|column| (column.id, table.value_ptr(column, at.row)));
                let sparse = &storage.sparse.displaced_values[first_sparse..];
                row.record_removed(columns.chain(sparse.iter().map(|value| storage.sparse.displaced_ptr(value))));
            }
        });
    }

    /// Records that an entity was moved to another world with all of its rows. In that world it is `new`. `old_slot` returns
    /// the slot here of an extra row there.
    pub(crate) fn record_departure(
        &mut self,
        entity: Entity,
        other: &Storage,
        new: Entity,
        old_slot: impl Fn(Entity) -> Entity,
    ) {
        self.if_recording((), |storage| storage.record_departed_rows(entity, other, new, &old_slot));
    }

    #[cold]
    #[inline(never)]
    fn record_departed_rows(
        &mut self,
        entity: Entity,
        other: &Storage,
        new: Entity,
        old_slot: &dyn Fn(Entity) -> Entity,
    ) {
        let rows = other.extra_rows(new.index()).map(|(Row(slot), label)| (slot, Some(label)));
        for (slot, label) in rows.chain([(new, None)]) {
            let name = if label.is_some() { old_slot(slot) } else { entity };
            let here = |id: ComponentId| self.components.known(other.components.info(id));
            let label = label.and_then(|label| {
                let key = label.key(new);
                Label::of(key.component.and_then(here), key.role)
            });
            let Ok(at) = other.try_location(slot) else { continue };
            self.record_row(RowName { slot: name, owner: entity, label }, RowChange::Removed, |row, storage| {
                let columns = other.tables[at.table as usize].columns.iter().map(|column| column.id);
                let ids = columns.chain(other.sparse.storages_of(slot.index()).map(|sparse| sparse.id));
                let here = |id: ComponentId| storage.components.known(other.components.info(id));
                row.record_removed(ids.filter_map(|id| Some((here(id)?, other.value_ptr(slot, id)?))));
            });
        }
    }

    /// Records events of one row, sorts them by phase, and passes them to the collectors.
    fn record_row(&mut self, name: RowName, change: RowChange, record: impl FnOnce(&mut RowRecorder<'_>, &Storage)) {
        let Some(mut recording) = self.journal.recording.take() else { return };
        let start = recording.entries.len();
        let mut row = RowRecorder { recording: &mut recording, name, change };
        record(&mut row, self);
        if row.is_unrecorded(start) {
            row.push_always(Event::Row, ComponentId::ROW, ValuePtr::None);
        }
        let Recording { entries, collectors, .. } = &mut *recording;
        if entries.len() > start + 1 {
            sort_short_by_key(&mut entries[start..], |entry| (entry.phase(), self.components.rank(entry.id)));
        }
        if let Some(first) = entries.get_mut(start) {
            first.starts = true;
        }
        if !collectors.is_empty() {
            let mut collected = self.journal.collected;
            for (number, entry) in (start..).zip(&entries[start..]) {
                let has = |id| change != RowChange::Removed && self.has(entry.slot, id);
                collectors.collect(entry, number, &mut collected, has);
            }
            self.journal.collected = collected;
        }
        self.journal.recording = Some(recording);
    }

    /// Begins to record an operation of several steps, which [`link_entries`](Storage::link_entries) completes.
    pub(crate) fn begin_linked_entries(&mut self) {
        if let Some(recording) = &mut self.journal.recording {
            recording.unlinked_from = Some(recording.entries.len());
        }
    }

    /// Completes the entries of an operation of several steps, which may have changed a row more than once.
    ///
    /// If a later step displaced a value that an earlier step inserted, the earlier entry gets the address to which the
    /// later step moved the value. Capacity for this is reserved before.
    #[cold]
    #[inline(never)]
    pub(crate) fn link_entries(&mut self) {
        let Some(recording) = &mut self.journal.recording else { return };
        let Some(start) = recording.unlinked_from.take() else { return };
        let Recording { entries, links, .. } = &mut **recording;
        links.clear();
        for entry in entries[start..].iter_mut().rev() {
            let value = (entry.slot.index(), entry.slot.generation(), entry.id.index() as u32);
            if let (Event::Added | Event::Set, Some(displaced)) = (entry.event, links.get(&value)) {
                entry.new = *displaced;
            }
            match entry.event {
                Event::Set | Event::Removed => drop(links.insert(value, entry.old)),
                // Earlier entries are about an earlier value.
                Event::Added => drop(links.remove(&value)),
                Event::Spawned | Event::Linked | Event::Unlinked | Event::Despawned | Event::Row => {}
            }
        }
        links.clear();
    }
}

/// Addresses of values, and names of rows.
impl Storage {
    /// Returns the name of a row.
    ///
    /// # Panics
    ///
    /// Panics if it is an extra row that is not in use.
    pub(crate) fn row_name(&self, slot: Entity) -> RowName {
        if !slot.is_row() {
            return RowName::main(slot);
        }
        assert!(self.find_location(slot).is_some(), "a row that is changed is in use");
        // SAFETY: the slot is marked as one of an extra row, and was found in use.
        let (_, owner, label, _) = unsafe { self.extra_row(slot.index()) };
        RowName { slot, owner, label: Some(label) }
    }

    /// Returns the address of a component of a slot, if the slot has it.
    pub(crate) fn value_ptr(&self, slot: Entity, id: ComponentId) -> Option<ValuePtr> {
        match self.sparse.of(id) {
            Some(sparse) => sparse.row(slot.index()).map(|row| ValuePtr::Lanes(sparse.values().lane(), row)),
            None => {
                let at = self.try_location(slot).ok()?;
                let lane = self.lane(id, at.table);
                (!lane.is_null()).then_some(ValuePtr::Lanes(lane, at.row))
            }
        }
    }
}

impl Table {
    /// Returns the address of a row's value in a column.
    fn value_ptr(&self, column: &Column, row: u32) -> ValuePtr {
        ValuePtr::Lanes(self.lanes().wrapping_add(column.first as usize), row)
    }
}

impl SparseStorages {
    /// Returns the component of a displaced value, and its address.
    fn displaced_ptr(&self, value: &DisplacedValue) -> (ComponentId, ValuePtr) {
        let sparse = self.get(value.storage_id);
        (sparse.id, ValuePtr::Lanes(sparse.values().lane(), value.row))
    }
}

impl Journal {
    /// Returns `true` if displaced values of a component are shown to listeners, and so must be kept until these have run.
    pub(crate) fn keeps_displaced(&self, id: ComponentId) -> bool {
        let keeps = |recording: &Recording| id != ComponentId::ROW && (recording.despawns || recording.watches(id));
        self.recording.as_deref().is_some_and(keeps)
    }
}

/// Records the events of one row. Capacity for them is reserved before.
struct RowRecorder<'a> {
    recording: &'a mut Recording,
    name: RowName,
    change: RowChange,
}

impl RowRecorder<'_> {
    /// Records an event of a component, if a listener or a collector watches it.
    fn push(&mut self, event: Event, id: ComponentId, old: ValuePtr) {
        if self.recording.records(event, id) {
            self.push_always(event, id, old);
        }
    }

    fn push_always(&mut self, event: Event, id: ComponentId, old: ValuePtr) {
        let entries = &mut self.recording.entries;
        debug_assert!(entries.len() < entries.capacity(), "entries are reserved");
        entries.push(JournalEntry::new(self.name, self.change, event, id, old));
    }

    /// Returns `true` if observers need an entry of a row that was spawned or removed, and there is none from `start` on.
    fn is_unrecorded(&self, start: usize) -> bool {
        self.recording.watch == Watch::Rows
            && self.change != RowChange::Changed
            && self.recording.entries.len() == start
    }

    /// Records what a move along an edge has changed. `displaced` are the components that lost a value, with its address.
    fn record_edge(
        &mut self,
        storage: &Storage,
        from: u32,
        edge: &Edge,
        displaced: impl Iterator<Item = (ComponentId, ValuePtr)> + Clone,
    ) {
        let (source, target) = (&storage.tables[from as usize].signature, &storage.tables[edge.target as usize]);
        let sparse = &storage.sparse;
        let inserts = |id| sparse.storage_id(id).is_some_and(|number| edge.sparse_inserts.contains(&number));
        for (id, old) in displaced.clone() {
            let event = if target.signature.has(id) || inserts(id) { Event::Set } else { Event::Removed };
            self.push(event, id, old);
        }
        for column in target.columns.iter().filter(|column| !source.has(column.id)) {
            self.push(Event::Added, column.id, ValuePtr::None);
        }
        for id in edge.sparse_inserts.iter().map(|number| sparse.get(*number).id) {
            if !displaced.clone().any(|(other, _)| other == id) {
                self.push(Event::Added, id, ValuePtr::None);
            }
        }
    }

    /// Records that the row was removed with these components. The despawn of an entity lists all that its main row had.
    fn record_removed(&mut self, values: impl Iterator<Item = (ComponentId, ValuePtr)>) {
        let (all, start) = (self.name.label.is_none() && self.recording.despawns, self.recording.entries.len());
        for (id, old) in values.filter(|(id, _)| *id != ComponentId::ROW) {
            if all || self.recording.records(Event::Removed, id) {
                self.push_always(Event::Removed, id, old);
            }
        }
        if all {
            let before = self.recording.entries.len() - start;
            self.push_always(Event::Despawned, ComponentId::ROW, ValuePtr::None);
            self.recording.entries[start + before].before = before as u32;
        }
    }
}
