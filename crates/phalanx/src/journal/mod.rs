//! [`Journal`]: the events of the operation that is under way, for listeners and collectors.
//!
//! Commits record events while they change the storage. A journal knows what to record, and nothing of the listeners.

mod collectors;
mod entry;
mod kept_values;
mod past_row;
mod row_recorder;
mod value_ptr;

pub use collectors::Collector;
pub(crate) use collectors::{ChangeLog, CollectorState, Collectors, Condition};
pub(crate) use entry::{JournalEntry, RowChange, RowName};
pub use kept_values::{Change, PastValue};
pub(crate) use kept_values::{KeptValues, ValueCollectorState, Values};
#[doc(hidden)]
pub use past_row::PastRow;
pub(crate) use row_recorder::MovedValues;
pub(crate) use value_ptr::ValuePtr;

use crate::alloc::{try_reserve, try_reserve_at};
use crate::component::ComponentId;
use crate::seeded::NumberMap;
use core::fmt;
use phalanx_store::{AllocError, Entity};

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    Spawned,
    Added,
    Set,
    Linked,
    Unlinked,
    Removed,
    Despawned,
    /// A row was spawned or removed. Recorded only for observers, and if nothing else of the change is.
    Row,
}

impl Event {
    /// The bits of all events of components.
    pub(crate) const ALL: u8 = u8::MAX;

    /// Returns the bit of an event of a component in a set of events.
    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// The journal of a storage.
#[derive(Default)]
pub(crate) struct Journal {
    /// The number of operations under way whose events are dispatched as one.
    pub(crate) deferrals: u32,
    /// Whether listeners are being called: displaced values are not dropped yet.
    pub(crate) is_dispatching: bool,
    /// The number of entities that collectors have collected so far. It is not lowered when they are removed, nor when the
    /// world goes back in time.
    collected: u64,
    /// The entities that were spawned from columns, which listeners' commands may have changed since.
    pub(crate) spawned: Vec<Entity>,
    pub(crate) recording: Option<Box<Recording>>,
}

/// The part of a journal that exists while there are listeners or collectors.
#[derive(Default)]
pub(crate) struct Recording {
    pub(crate) collectors: Collectors,
    /// For each component, the [events](Event::bit) that are recorded.
    watched: Vec<u8>,
    /// Whether spawned entities are recorded.
    spawns: bool,
    /// Whether despawned entities are recorded.
    despawns: bool,
    /// What observers of queries need.
    watch: Watch,
    /// The events to dispatch, in order.
    pub(crate) entries: Vec<JournalEntry>,
    /// The first entry of an operation of several steps that is under way. If it is set when another operation begins, the
    /// first one has panicked, and the pointers of its entries are dangling.
    unlinked_from: Option<usize>,
    /// Finds the values that one operation has inserted and displaced.
    links: NumberMap<(u32, u32, u32), ValuePtr>,
    /// Finds the changes of one row: the slot and the first entry of each change. Filled and emptied by a dispatch.
    rows: Vec<(Entity, u32)>,
}

/// What a journal records for observers of queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Watch {
    /// There are no observers.
    #[default]
    Nothing,
    /// The changes of watched components.
    Components,
    /// Also the spawn and the removal of rows without watched components.
    Rows,
}

impl Journal {
    /// Returns `true` if there are listeners or collectors: the one test that an operation makes.
    #[inline(always)]
    pub(crate) fn is_active(&self) -> bool {
        self.recording.is_some()
    }

    /// Returns `true` if none of these events of a component would be recorded, and none of another change is waiting.
    ///
    /// `events` has the [bits](Event::bit) of the events.
    #[inline]
    pub(crate) fn is_quiet(&self, id: ComponentId, events: u8) -> bool {
        self.recording.as_deref().is_none_or(|recording| {
            let is_waiting = !recording.entries.is_empty() || recording.unlinked_from.is_some();
            !is_waiting && recording.watched(id) & events == 0
        })
    }

    /// Returns the events of a component that are recorded, if events of one value can be dispatched without being recorded:
    /// nothing but listeners needs them, none is waiting, and they are dispatched at once.
    #[inline]
    pub(crate) fn watched_directly(&self, id: ComponentId) -> Option<u8> {
        let recording = self.recording.as_deref().filter(|_| self.deferrals == 0)?;
        (recording.entries.is_empty() && recording.has_only_listeners()).then(|| recording.watched(id))
    }

    /// Takes out the only event that is recorded, if nothing but listeners needs it and it is dispatched at once.
    pub(crate) fn take_single(&mut self) -> Option<JournalEntry> {
        let recording = self.recording.as_deref_mut().filter(|_| self.deferrals == 0)?;
        match recording.entries.len() == 1 && recording.has_only_listeners() {
            true => recording.entries.pop(),
            false => None,
        }
    }

    /// Defers the dispatch of events until [`end_deferral`](Journal::end_deferral).
    pub(crate) fn begin_deferral(&mut self) {
        self.deferrals += 1;
    }

    /// Ends a deferral. The caller dispatches the events.
    pub(crate) fn end_deferral(&mut self) {
        self.deferrals -= 1;
    }

    /// Removes the entries of entities that are not alive.
    ///
    /// Between operations, only the spawns of reserved entities are recorded: those that a failed operation flushed.
    pub(crate) fn retain_alive(&mut self, is_alive: impl Fn(Entity) -> bool) {
        if let Some(recording) = &mut self.recording {
            recording.entries.retain(|entry| is_alive(entry.entity));
        }
    }

    /// Returns the entities whose spawn is recorded and not dispatched: those that a failed operation flushed.
    pub(crate) fn pending_spawns(&self) -> impl Iterator<Item = Entity> + '_ {
        let entries = self.recording.iter().flat_map(|recording| &recording.entries);
        entries.filter(|entry| entry.is_spawn()).map(|entry| entry.entity)
    }

    /// Reserves capacity for [`set_pending_spawns`](Journal::set_pending_spawns).
    pub(crate) fn try_reserve_pending_spawns(&mut self, count: usize) -> Result<(), AllocError> {
        self.recording.as_mut().map_or(Ok(()), |recording| recording.try_reserve(count))
    }

    /// Replaces the entities whose spawn is to be dispatched. Capacity for their entries is reserved before.
    pub(crate) fn set_pending_spawns(&mut self, entities: &[Entity]) {
        if let Some(recording) = &mut self.recording {
            recording.entries.clear();
            if let Some(event) = recording.spawn_event() {
                recording.entries.extend(entities.iter().map(|entity| JournalEntry::spawned(*entity, event)));
            }
        }
    }

    /// Returns the number of entities that collectors have collected so far.
    pub(crate) fn collected(&self) -> u64 {
        self.collected
    }

    /// Returns lists with capacity for the values that [`truncate_collected`](Journal::truncate_collected) removes.
    pub(crate) fn try_lists_since(&self, collected: u64) -> Result<Vec<Box<dyn KeptValues>>, AllocError> {
        self.recording.as_ref().map_or(Ok(Vec::new()), |recording| recording.collectors.try_lists_since(collected))
    }

    /// Removes from collectors what they have collected since [`collected`](Journal::collected) returned this number. Values are
    /// moved to lists that were created for them.
    pub(crate) fn truncate_collected(&mut self, collected: u64, values: &mut [Box<dyn KeptValues>]) {
        if let Some(recording) = &mut self.recording {
            recording.collectors.truncate(collected, values);
        }
    }

    /// Returns the bytes held from the allocator.
    pub(crate) fn bytes(&self) -> usize {
        let spawned = self.spawned.capacity() * size_of::<Entity>();
        let Some(recording) = &self.recording else { return spawned };
        spawned
            + size_of::<Recording>()
            + recording.watched.capacity()
            + recording.entries.capacity() * size_of::<JournalEntry>()
            + recording.rows.capacity() * size_of::<(Entity, u32)>()
            + recording.collectors.bytes()
    }
}

impl Recording {
    /// Returns the events of a component that are recorded.
    #[inline]
    fn watched(&self, id: ComponentId) -> u8 {
        self.watched.get(id.index()).copied().unwrap_or(0)
    }

    /// Returns `true` if some events of a component are recorded.
    fn watches(&self, id: ComponentId) -> bool {
        self.watched(id) != 0
    }

    /// Returns `true` if an event of a component is recorded. An operation of several steps records all events of a component,
    /// because a later step may displace what an earlier one has inserted.
    fn records(&self, event: Event, id: ComponentId) -> bool {
        let watched = self.watched(id);
        watched & event.bit() != 0 || watched != 0 && self.unlinked_from.is_some()
    }

    /// Returns `true` if only listeners need the events, and no operation of several steps is under way.
    #[inline]
    fn has_only_listeners(&self) -> bool {
        self.unlinked_from.is_none() && self.watch == Watch::Nothing && self.collectors.is_empty()
    }

    /// Returns the event that records the spawn of an entity without components, if it is recorded.
    fn spawn_event(&self) -> Option<Event> {
        match (self.spawns, self.watch) {
            (true, _) => Some(Event::Spawned),
            (false, Watch::Rows) => Some(Event::Row),
            (false, _) => None,
        }
    }

    /// Returns `true` if capacity for more entries is reserved already, and nothing else is to be done before they are recorded.
    #[inline]
    fn has_capacity(&self, count: usize) -> bool {
        self.entries.capacity() - self.entries.len() >= count && self.has_only_listeners()
    }

    /// Reserves capacity for more entries.
    fn try_reserve(&mut self, count: usize) -> Result<(), AllocError> {
        try_reserve(&mut self.entries, count)?;
        match self.watch {
            Watch::Nothing => Ok(()),
            _ => try_reserve(&mut self.rows, self.entries.len() + count),
        }
    }

    /// Links the changes of each row, for observers. Capacity for this is reserved before.
    pub(crate) fn link_rows(&mut self) {
        if self.watch == Watch::Nothing {
            return;
        }
        let Recording { entries, rows, .. } = self;
        rows.clear();
        rows.extend((0..).zip(&*entries).filter(|(_, entry)| entry.starts).map(|(at, entry)| (entry.slot, at)));
        rows.sort_unstable();
        for (at, &(slot, first)) in rows.iter().enumerate() {
            let entry = &mut entries[first as usize];
            entry.previous = at.checked_sub(1).map(|before| rows[before]).filter(|row| row.0 == slot).map(|row| row.1);
            entry.is_last = rows.get(at + 1).is_none_or(|row| row.0 != slot);
        }
        rows.clear();
    }

    /// Determines what is recorded: what listeners, observers and collectors ask for. `listens` returns the events of the
    /// component with an index.
    pub(crate) fn set_watched(&mut self, spawns: bool, despawns: bool, watch: Watch, listens: impl Fn(usize) -> u8) {
        (self.spawns, self.despawns, self.watch) = (spawns, despawns, watch);
        for (id, watched) in self.watched.iter_mut().enumerate() {
            *watched = listens(id);
        }
        for condition in self.collectors.conditions() {
            match condition.event {
                Event::Spawned => self.spawns = true,
                Event::Despawned => self.despawns = true,
                Event::Added | Event::Set | Event::Linked | Event::Unlinked | Event::Removed => {
                    self.watched[condition.id.index()] |= condition.event.bit()
                }
                Event::Row => {}
            }
        }
    }

    /// Extends the list of watched components to a component.
    pub(crate) fn try_cover(&mut self, id: ComponentId) -> Result<(), AllocError> {
        try_reserve_at(&mut self.watched, id.index())?;
        let len = self.watched.len().max(id.index() + 1);
        self.watched.resize(len, 0);
        Ok(())
    }

    /// Discards the entries of an operation of several steps that panicked.
    pub(crate) fn discard_unlinked(&mut self) {
        if let Some(start) = self.unlinked_from.take() {
            self.entries.truncate(start);
            self.collectors.forget_entries(start);
        }
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").finish_non_exhaustive()
    }
}
