//! What is noted of a change, to be told: phase 3.
//!
//! # What must stay true
//!
//! A note that names a place is told before anything else happens to the world: a displaced value stays where it was retired to until
//! the operation ends it, and listeners cannot change anything. Notes that wait longer, those of entities that were
//! reserved, name none.
#![allow(unsafe_code)]

use super::{Event, Journal, Recording};
use crate::alloc::{try_reserve, try_reserve_map};
use crate::bundle_info::Edge;
use crate::change_detection::RunTicks;
use crate::component::{Component, ComponentId};
use crate::layout::Layout;
use crate::rows::{Key, Label, NONE, Row};
use crate::signature::Signature;
use crate::sparse::{DisplacedValue, SparseStorages};
use crate::storage::table::{Column, Table};
use crate::storage::{Location, Storage};
use phalanx_store::raw::Lane;
use phalanx_store::{AllocError, Entity};

/// Where a value is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spot {
    /// Not known, or nowhere.
    None,
    /// In a row of the component's lanes.
    Lanes(*const Lane, u32),
    /// In a block: a row of each of its lanes, one after another.
    Block(*const u8),
    /// As a value of its type.
    Value(*const u8),
}

// SAFETY: places are looked at only while the world that they are in is being changed; in between they are leftovers that
// nobody follows.
unsafe impl Send for Spot {}
// SAFETY: as above; behind a shared reference nothing is reached.
unsafe impl Sync for Spot {}

impl Spot {
    /// The value.
    ///
    /// # Safety
    ///
    /// There is a value of `C`, which is neither written nor ended while the item lives.
    pub(crate) unsafe fn get<'a, C: Component>(self) -> Option<<C::Layout as Layout<C>>::Ref<'a>> {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Spot::None => None,
                Spot::Lanes(lane, row) => Some(C::Layout::get(C::Layout::ptr(lane, RunTicks::READ), row as usize)),
                Spot::Block(block) => Some(C::Layout::get_in(block)),
                Spot::Value(value) => Some(C::Layout::show(&*value.cast::<C>())),
            }
        }
    }
}

/// A signal that is to be told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JournalEntry {
    pub(crate) event: Event,
    pub(crate) id: ComponentId,
    /// The row.
    pub(crate) slot: Entity,
    /// Whose row it is.
    pub(crate) entity: Entity,
    /// What an extra row is to its entity.
    pub(crate) label: Option<Label>,
    pub(crate) old: Spot,
    /// Where the value is that came, if it is not where the world has it.
    pub(crate) new: Spot,
    /// Of the end of an entity: how many notes before it say what it had.
    pub(crate) before: u32,
    /// Whether it is the first note of a change of one row.
    pub(crate) starts: bool,
}

impl JournalEntry {
    /// Returns the note that an entity without components was spawned.
    pub(crate) fn spawned(entity: Entity) -> JournalEntry {
        let (id, old, new) = (ComponentId::ROW, Spot::None, Spot::None);
        JournalEntry { event: Event::Spawned, id, slot: entity, entity, label: None, old, new, before: 0, starts: true }
    }

    pub(crate) fn key(&self) -> Key {
        self.label.map_or(Key::main(self.entity), |label| label.key(self.entity))
    }

    /// Returns the position of the signal among those of one change of a row. Signals of one phase are told in the order in
    /// which their listeners were connected.
    pub(crate) fn phase(&self) -> u8 {
        match self.event {
            Event::Spawned => 0,
            Event::Added | Event::Set => 1,
            Event::Removed => 2,
            Event::Despawned => 3,
        }
    }
}

/// The name of a row: whose it is, and what it is to that entity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowName {
    pub(crate) slot: Entity,
    pub(crate) owner: Entity,
    pub(crate) label: Option<Label>,
}

impl RowName {
    pub(crate) fn main(entity: Entity) -> RowName {
        RowName { slot: entity, owner: entity, label: None }
    }
}

impl Storage {
    /// Reserves room for recording so many events. Does nothing if there are no listeners.
    #[inline(always)]
    pub(crate) fn reserve_entries(&mut self, notes: usize) -> Result<(), AllocError> {
        if self.journal.is_active() { self.reserve_journal(notes) } else { Ok(()) }
    }

    #[cold]
    #[inline(never)]
    fn reserve_journal(&mut self, notes: usize) -> Result<(), AllocError> {
        let Some(state) = &mut self.journal.recording else { return Ok(()) };
        state.close();
        try_reserve(&mut state.notes, notes)?;
        state.collectors.try_reserve(notes)
    }

    /// Reserves room for the events of rows that are spawned in a table, or removed from it.
    #[inline(always)]
    pub(crate) fn reserve_row_entries(&mut self, table: u32, rows: usize) -> Result<(), AllocError> {
        if !self.journal.is_active() {
            return Ok(());
        }
        self.reserve_journal(self.entries_of(table).checked_mul(rows).ok_or(AllocError::CapacityOverflow)?)
    }

    /// Reserves room for the events of a move along an edge.
    #[inline(always)]
    pub(crate) fn reserve_edge_entries(&mut self, edge: &Edge) -> Result<(), AllocError> {
        if self.journal.is_active() { self.reserve_journal(self.edge_notes(edge)) } else { Ok(()) }
    }

    /// The most notes that one slot leads to that follows an edge.
    pub(crate) fn edge_notes(&self, edge: &Edge) -> usize {
        self.tables[edge.target as usize].columns.len()
            + edge.removed.len()
            + edge.sparse_inserts.len()
            + edge.sparse_removes.len()
    }

    /// The most notes that one slot in a table leads to, when it comes or goes.
    pub(crate) fn entries_of(&self, table: u32) -> usize {
        self.tables[table as usize].columns.len() + self.sparse.iter().len() + 1
    }

    /// Returns the name of a row.
    ///
    /// # Panics
    ///
    /// If it is an extra row that is not in use.
    pub(crate) fn row_name(&self, slot: Entity) -> RowName {
        if !slot.is_row() {
            return RowName::main(slot);
        }
        assert!(self.find_location(slot).is_some(), "a row that is changed is there");
        // SAFETY: the slot is marked as one of an extra row, and is in use.
        let (_, owner, label, _) = unsafe { self.extra_row(slot.index()) };
        RowName { slot, owner, label: Some(label) }
    }

    /// Records that a slot was spawned with all that it has, if there are listeners.
    #[inline(always)]
    pub(crate) fn record_spawn(&mut self, slot: Entity) {
        if self.journal.is_active() {
            self.note_arrival(slot);
        }
    }

    /// Records what a move along an edge has changed, if there are listeners. The slot was in table `from`.
    #[inline(always)]
    pub(crate) fn record_move(
        &mut self,
        slot: Entity,
        from: u32,
        edge: &Edge,
        moved: Option<&mut Vec<(ComponentId, Spot)>>,
    ) {
        if self.journal.is_active() {
            match moved {
                None => self.note_edge(slot, from, edge),
                Some(moved) => {
                    self.note_step(slot, from, edge, moved);
                    moved.clear();
                }
            }
        }
    }

    /// Records that a row was removed. Its values are at `at`, and in the list of retired ones from `displaced_values` on; or else where
    /// `moved` says.
    #[cold]
    pub(crate) fn record_removal(
        &mut self,
        name: RowName,
        at: Location,
        displaced_values: usize,
        moved: Option<&mut Vec<(ComponentId, Spot)>>,
    ) {
        match moved {
            None => self.note_end(name, at, displaced_values),
            Some(moved) => {
                self.note_end_step(name, moved);
                moved.clear();
            }
        }
    }

    /// Notes what an edge has changed for a slot: it was in table `from`, and what stayed behind lies at that table's tail,
    /// and where the last change of sides has retired it.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_edge(&mut self, slot: Entity, from: u32, edge: &Edge) {
        let (name, start) = (self.row_name(slot), self.noted());
        let Some(state) = &mut self.journal.recording else { return };
        let source = &self.tables[from as usize];
        let left = edge.removed.iter().map(|column| (column.id, source.spot(column, source.len)));
        let displaced =
            left.chain(self.sparse.displaced_values.iter().map(|displaced_values| self.sparse.spot(displaced_values)));
        let parts = (&source.signature, &self.tables[edge.target as usize], &self.sparse);
        Notes { state, name }.edge(parts, edge, displaced);
        self.noted_since(start, false);
    }

    /// As [`note_edge`](Storage::note_edge), where what was displaced lies elsewhere.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_step(&mut self, slot: Entity, from: u32, edge: &Edge, displaced: &[(ComponentId, Spot)]) {
        let (name, start) = (self.row_name(slot), self.noted());
        let Some(state) = &mut self.journal.recording else { return };
        let parts = (&self.tables[from as usize].signature, &self.tables[edge.target as usize], &self.sparse);
        Notes { state, name }.edge(parts, edge, displaced.iter().copied());
        self.noted_since(start, false);
    }

    /// Notes that a slot has come, with all that it has.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_arrival(&mut self, slot: Entity) {
        let name = self.row_name(slot);
        let start = self.noted();
        let Ok(at) = self.try_location(slot) else { return };
        let Some(state) = &mut self.journal.recording else { return };
        let mut notes = Notes { state, name };
        if name.label.is_none() && notes.state.spawns {
            notes.push_always(Event::Spawned, ComponentId::ROW, Spot::None);
        }
        for column in &self.tables[at.table as usize].columns {
            notes.push(Event::Added, column.id, Spot::None);
        }
        for side in self.sparse.storages_of(slot.index()) {
            notes.push(Event::Added, side.id, Spot::None);
        }
        self.noted_since(start, false);
    }

    /// Notes that a slot has ended. What its row had in its table lies at `at`; what it had beside was retired from place
    /// `displaced_values` of the list on.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_end(&mut self, name: RowName, at: Location, displaced_values: usize) {
        let start = self.noted();
        let Some(state) = &mut self.journal.recording else { return };
        let table = &self.tables[at.table as usize];
        let columns = table.columns.iter().map(|column| (column.id, table.spot(column, at.row)));
        let displaced = columns.chain(
            self.sparse.displaced_values[displaced_values..]
                .iter()
                .map(|displaced_values| self.sparse.spot(displaced_values)),
        );
        Notes { state, name }.end(displaced);
        self.noted_since(start, true);
    }

    /// As [`note_end`](Storage::note_end), where what the slot had lies elsewhere.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_end_step(&mut self, name: RowName, displaced: &[(ComponentId, Spot)]) {
        let start = self.noted();
        let Some(state) = &mut self.journal.recording else { return };
        Notes { state, name }.end(displaced.iter().copied());
        self.noted_since(start, true);
    }

    /// Records that an entity was spawned with its extra rows, and with all that they have, if there are listeners.
    pub(crate) fn record_spawns(&mut self, entity: Entity) {
        if self.journal.is_active() {
            self.note_arrivals(entity);
        }
    }

    #[cold]
    #[inline(never)]
    fn note_arrivals(&mut self, entity: Entity) {
        self.note_arrival(entity);
        let mut next = self.rows.first.get(&entity.index()).copied().unwrap_or(NONE);
        while next != NONE {
            // SAFETY: the first row of an entity, and what links lead to, are extra rows.
            let (Row(slot), _, _, link) = unsafe { self.extra_row(next) };
            self.note_arrival(slot);
            next = link.next;
        }
    }

    /// Notes that an entity has moved to another world, where it is `new`, with all that it had.
    #[cold]
    #[inline(never)]
    pub(crate) fn record_departure(&mut self, entity: Entity, other: &Storage, new: Entity) {
        if !self.journal.is_active() {
            return;
        }
        let rows = other.extra_rows(new.index()).map(|(Row(slot), label)| (slot, Some(label)));
        for (slot, label) in rows.chain([(new, None)]) {
            let start = self.noted();
            let Some(state) = &mut self.journal.recording else { return };
            let here = |id: ComponentId| self.components.known(other.components.info(id));
            let label = label.and_then(|label| {
                let key = label.key(new);
                Label::of(key.component.and_then(here), key.role)
            });
            let Ok(at) = other.try_location(slot) else { continue };
            let columns = other.tables[at.table as usize].columns.iter().map(|column| column.id);
            let has = columns.chain(other.sparse.storages_of(slot.index()).map(|side| side.id));
            let displaced = has.filter_map(|id| Some((here(id)?, other.spot(slot, id)?)));
            Notes { state, name: RowName { slot, owner: entity, label } }.end(displaced);
            self.noted_since(start, true);
        }
    }

    /// Where the value of a slot's component is.
    pub(crate) fn spot(&self, slot: Entity, id: ComponentId) -> Option<Spot> {
        match self.sparse.of(id) {
            Some(side) => side.row(slot.index()).map(|row| Spot::Lanes(side.values().lane(), row)),
            None => {
                let at = self.try_location(slot).ok()?;
                let lane = self.lane(id, at.table);
                (!lane.is_null()).then_some(Spot::Lanes(lane, at.row))
            }
        }
    }

    /// Notes that a component was replaced in its place, or changed there.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_set(&mut self, slot: Entity, id: ComponentId, old: Spot) {
        let name = self.row_name(slot);
        let start = self.noted();
        let Some(state) = &mut self.journal.recording else { return };
        let mut notes = Notes { state, name };
        notes.push(Event::Set, id, old);
        self.noted_since(start, false);
    }

    /// How much was noted.
    fn noted(&self) -> usize {
        self.journal.recording.as_ref().map_or(0, |state| state.notes.len())
    }

    /// SparseInserts what was noted of one slot in order, and has it collected. A slot that ended has nothing any more.
    fn noted_since(&mut self, start: usize, ended: bool) {
        let Some(mut state) = self.journal.recording.take() else { return };
        state.notes[start..].sort_unstable_by_key(|note| (note.phase(), self.components.rank(note.id)));
        if let Some(first) = state.notes.get_mut(start) {
            first.starts = true;
        }
        if !state.collectors.is_empty() {
            let mut recorded = self.journal.recorded;
            for at in start..state.notes.len() {
                let note = state.notes[at];
                state.collectors.record(&note, &mut recorded, |id| !ended && self.has(note.slot, id));
            }
            self.journal.recorded = recorded;
        }
        self.journal.recording = Some(state);
    }

    /// For an operation of several steps, which may have changed the same row more than once: a value that came with one of
    /// them is where the next has put it. There is room for it.
    #[cold]
    #[inline(never)]
    pub(crate) fn link_notes(&mut self) {
        let Some(state) = &mut self.journal.recording else { return };
        let Some(start) = state.open.take() else { return };
        state.links.clear();
        for note in state.notes[start..].iter_mut().rev() {
            let row = (note.slot.index(), note.slot.generation(), note.id.index() as u32);
            if let (Event::Added | Event::Set, Some(spot)) = (note.event, state.links.get(&row)) {
                note.new = *spot;
            }
            match note.event {
                Event::Set | Event::Removed => {
                    state.links.insert(row, note.old);
                }
                // What was there before it is another story.
                Event::Added => {
                    state.links.remove(&row);
                }
                Event::Spawned | Event::Despawned => {}
            }
        }
        state.links.clear();
    }

    /// Phase 2, for [`link_notes`](Storage::link_notes).
    #[cold]
    #[inline(never)]
    pub(crate) fn reserve_linked_notes(&mut self, notes: usize) -> Result<(), AllocError> {
        self.reserve_entries(notes)?;
        let Some(state) = &mut self.journal.recording else { return Ok(()) };
        try_reserve_map(&mut state.links, notes)
    }

    /// Begins the notes of an operation of several steps, which [`link_notes`](Storage::link_notes) ends.
    pub(crate) fn begin_notes(&mut self) {
        if let Some(state) = &mut self.journal.recording {
            state.open = Some(state.notes.len());
        }
    }
}

impl Recording {
    /// Forgets what an operation has noted that panicked half-way.
    pub(crate) fn close(&mut self) {
        if let Some(start) = self.open.take() {
            self.notes.truncate(start);
        }
    }
}

impl Table {
    /// Where a column's value of a row is.
    fn spot(&self, column: &Column, row: u32) -> Spot {
        Spot::Lanes(self.lanes().wrapping_add(column.first as usize), row)
    }
}

impl SparseStorages {
    /// The component of a retired value, and where that is.
    fn spot(&self, displaced_values: &DisplacedValue) -> (ComponentId, Spot) {
        let side = self.get(displaced_values.storage_id);
        (side.id, Spot::Lanes(side.values().lane(), displaced_values.row))
    }
}

impl Journal {
    /// Whether values of a component that are displaced are kept to be shown.
    pub(crate) fn keeps(&self, id: ComponentId) -> bool {
        let keeps = |state: &Recording| id != ComponentId::ROW && (state.ends || state.watches(id));
        self.recording.as_ref().is_some_and(|state| keeps(state))
    }
}

/// Writes notes of one row. There is room for them.
struct Notes<'a> {
    state: &'a mut Recording,
    name: RowName,
}

impl Notes<'_> {
    /// Notes a change of a component, if anybody wants to know.
    fn push(&mut self, event: Event, id: ComponentId, old: Spot) {
        if self.state.watches(id) {
            self.push_always(event, id, old);
        }
    }

    /// What an edge has changed. `displaced` are the components that lost a value, and where that is.
    fn edge(
        &mut self,
        (source, target, sparse): (&Signature, &Table, &SparseStorages),
        edge: &Edge,
        displaced: impl Iterator<Item = (ComponentId, Spot)> + Clone,
    ) {
        let put = |id: ComponentId| sparse.storage_id(id).is_some_and(|side| edge.sparse_inserts.contains(&side));
        for (id, old) in displaced.clone() {
            let event = if target.signature.has(id) || put(id) { Event::Set } else { Event::Removed };
            self.push(event, id, old);
        }
        for column in target.columns.iter().filter(|column| !source.has(column.id)) {
            self.push(Event::Added, column.id, Spot::None);
        }
        for id in edge.sparse_inserts.iter().map(|side| sparse.get(*side).id) {
            if !displaced.clone().any(|(other, _)| other == id) {
                self.push(Event::Added, id, Spot::None);
            }
        }
    }

    /// What a row had that ended. If that is an entity's main row, its end shows all of it.
    fn end(&mut self, displaced: impl Iterator<Item = (ComponentId, Spot)>) {
        let (all, start) = (self.name.label.is_none() && self.state.ends, self.state.notes.len());
        for (id, old) in displaced.filter(|(id, _)| *id != ComponentId::ROW) {
            if all || self.state.watches(id) {
                self.push_always(Event::Removed, id, old);
            }
        }
        if all {
            let before = self.state.notes.len() - start;
            self.push_always(Event::Despawned, ComponentId::ROW, Spot::None);
            self.state.notes[start + before].before = before as u32;
        }
    }

    fn push_always(&mut self, event: Event, id: ComponentId, old: Spot) {
        let journal = &mut self.state.notes;
        debug_assert!(journal.len() < journal.capacity(), "room for notes is made before");
        let RowName { slot, owner, label } = self.name;
        journal.push(JournalEntry {
            event,
            id,
            slot,
            entity: owner,
            label,
            old,
            new: Spot::None,
            before: 0,
            starts: false,
        });
    }
}
