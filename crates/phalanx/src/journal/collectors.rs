//! [`Collectors`]: the entities of recorded events, by condition. [`ChangeLog`]: those that a reader reads.
//!
//! Collectors collect while an operation is committed, in memory that is reserved before. No user code runs then, so a
//! panic of a listener loses nothing.

use super::kept_values::{KeptValues, ValueCollectorState};
use super::{Event, JournalEntry};
use crate::alloc::{try_reserve, try_reserve_map, try_vec};
use crate::component::ComponentId;
use crate::seeded::NumberMap;
use core::sync::atomic::{AtomicU64, Ordering};
use phalanx_store::{AllocError, Entity};
use std::sync::Arc;

/// The handle of a collector, created by [`World::collector`](crate::World::collector).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Collector(pub(crate) u64);

/// A condition under which an entity is collected.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    pub(crate) event: Event,
    pub(crate) id: ComponentId,
    pub(crate) with: Vec<ComponentId>,
    pub(crate) without: Vec<ComponentId>,
}

impl Condition {
    /// Returns `true` if an event meets the condition. `has` returns `true` if the row of the event has a component.
    fn is_met(&self, entry: &JournalEntry, has: impl Fn(ComponentId) -> bool) -> bool {
        self.event == entry.event
            && self.id == entry.id
            && self.with.iter().all(|id| has(*id))
            && !self.without.iter().any(|id| has(*id))
    }
}

/// A collector's conditions, and the entities that it has collected.
pub(crate) struct CollectorState {
    pub(crate) handle: Collector,
    pub(crate) conditions: Vec<Condition>,
    /// In the order of the first event of each.
    pub(crate) entities: Vec<Entity>,
    /// By index and generation: how many entities all collectors had collected before.
    pub(crate) seen: NumberMap<(u32, u32), u64>,
}

/// The events that a reader has not read, and some that it has.
pub(crate) struct ChangeLog {
    pub(crate) conditions: Vec<Condition>,
    /// The entities of the events, in order.
    entities: Vec<Entity>,
    /// For each event, how many entities all collectors had collected before.
    numbers: Vec<u64>,
    /// The number of events that were removed from the front.
    first: u64,
    /// The number of events that the reader has read. Shared with the reader, which has only shared access to the world.
    read: Arc<AtomicU64>,
}

impl ChangeLog {
    pub(crate) fn new(conditions: Vec<Condition>, read: Arc<AtomicU64>) -> ChangeLog {
        ChangeLog { conditions, entities: Vec::new(), numbers: Vec::new(), first: 0, read }
    }

    /// Returns the entities of the events that were not read, which count as read from now on.
    pub(crate) fn read(&self) -> &[Entity] {
        let unread = &self.entities[self.read_count()..];
        self.read.store(self.first + self.entities.len() as u64, Ordering::Relaxed);
        unread
    }

    /// Returns the number of listed events that were read.
    fn read_count(&self) -> usize {
        (self.read.load(Ordering::Relaxed) - self.first) as usize
    }

    /// Reserves capacity for more events. Removes events that were read, if they are the greater part.
    fn try_reserve(&mut self, count: usize) -> Result<(), AllocError> {
        let read = self.read_count();
        if read * 2 > self.entities.len() {
            self.entities.drain(..read);
            self.numbers.drain(..read);
            self.first += read as u64;
        }
        try_reserve(&mut self.entities, count)?;
        try_reserve(&mut self.numbers, count)
    }

    /// Removes the events that were collected since the count of collected entities was `collected`.
    fn truncate(&mut self, collected: u64) {
        let len = self.numbers.partition_point(|number| *number < collected);
        self.entities.truncate(len);
        self.numbers.truncate(len);
        self.read.fetch_min(self.first + len as u64, Ordering::Relaxed);
    }
}

/// The collectors of a world.
#[derive(Default)]
pub(crate) struct Collectors {
    pub(crate) list: Vec<CollectorState>,
    /// One for each reader.
    pub(crate) logs: Vec<ChangeLog>,
    /// Those that keep values.
    pub(crate) values: Vec<ValueCollectorState>,
}

impl Collectors {
    /// Returns `true` if there are no collectors and no readers.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty() && self.logs.is_empty() && self.values.is_empty()
    }

    /// Returns a collector of values, if the world has it.
    pub(crate) fn values_mut(&mut self, id: u64) -> Option<&mut ValueCollectorState> {
        self.values.iter_mut().find(|state| state.id == id)
    }

    /// Forgets the entries from `start` on, which are discarded before their values were cloned.
    pub(super) fn forget_entries(&mut self, start: usize) {
        for state in &mut self.values {
            state.wanted.retain(|(at, _)| (*at as usize) < start);
        }
    }

    /// Returns the log of the reader with this count.
    pub(crate) fn log(&self, read: &Arc<AtomicU64>) -> Option<&ChangeLog> {
        self.logs.iter().find(|log| Arc::ptr_eq(&log.read, read))
    }

    /// Removes the logs of readers that were dropped. Returns `true` if there were any.
    pub(crate) fn remove_dropped(&mut self) -> bool {
        let before = self.logs.len();
        self.logs.retain(|log| Arc::strong_count(&log.read) > 1);
        self.logs.len() < before
    }

    /// Returns a collector, if the world has it.
    pub(crate) fn get_mut(&mut self, handle: Collector) -> Option<&mut CollectorState> {
        self.list.iter_mut().find(|state| state.handle == handle)
    }

    /// Iterates over the conditions of all collectors.
    pub(crate) fn conditions(&self) -> impl Iterator<Item = &Condition> {
        let logs = self.logs.iter().flat_map(|log| &log.conditions);
        let values = self.values.iter().flat_map(|state| &state.conditions);
        self.list.iter().flat_map(|state| &state.conditions).chain(logs).chain(values)
    }

    /// Reserves capacity for more entities in each collector.
    pub(crate) fn try_reserve(&mut self, count: usize) -> Result<(), AllocError> {
        for state in &mut self.list {
            try_reserve(&mut state.entities, count)?;
            try_reserve_map(&mut state.seen, count)?;
        }
        self.values.iter_mut().try_for_each(|state| state.try_reserve(count))?;
        self.logs.iter_mut().try_for_each(|log| log.try_reserve(count))
    }

    /// Adds the entity of the event with this number to each collector that has a matching condition, and counts it in
    /// `collected`.
    ///
    /// `has` returns `true` if the row of the event has a component. Capacity for the entity is reserved before.
    pub(crate) fn collect(
        &mut self,
        entry: &JournalEntry,
        number: usize,
        collected: &mut u64,
        has: impl Fn(ComponentId) -> bool,
    ) {
        for state in &mut self.list {
            let meets = state.conditions.iter().any(|condition| condition.is_met(entry, &has));
            let key = key(entry.entity);
            // A map reserves capacity for an insertion before it searches for the key, so the key is searched first.
            if meets && !state.seen.contains_key(&key) {
                state.seen.insert(key, *collected);
                state.entities.push(entry.entity);
                *collected += 1;
            }
        }
        for log in &mut self.logs {
            if log.conditions.iter().any(|condition| condition.is_met(entry, &has)) {
                log.entities.push(entry.entity);
                log.numbers.push(*collected);
                *collected += 1;
            }
        }
        for state in &mut self.values {
            if state.conditions.iter().any(|condition| condition.is_met(entry, &has)) {
                state.wanted.push((number as u32, *collected));
                *collected += 1;
            }
        }
    }

    /// Returns lists with capacity for the values that [`truncate`](Collectors::truncate) removes, one for each collector of
    /// values.
    pub(crate) fn try_lists_since(&self, collected: u64) -> Result<Vec<Box<dyn KeptValues>>, AllocError> {
        let mut lists = try_vec(self.values.len())?;
        for state in &self.values {
            lists.push(state.values.try_list_since(collected)?);
        }
        Ok(lists)
    }

    /// Removes the entities that were collected since the count of collected entities was `collected`. Values are moved to the
    /// lists that were created for them.
    pub(crate) fn truncate(&mut self, collected: u64, values: &mut [Box<dyn KeptValues>]) {
        for (state, list) in self.values.iter_mut().zip(values) {
            state.values.move_since(collected, &mut **list);
        }
        for CollectorState { entities, seen, .. } in &mut self.list {
            // Entities that were collected later are at the end.
            while let Some(key) = entities.last().copied().map(key)
                && seen.get(&key).is_none_or(|before| *before >= collected)
            {
                seen.remove(&key);
                entities.pop();
            }
        }
        self.logs.iter_mut().for_each(|log| log.truncate(collected));
    }

    /// Returns the bytes held from the allocator.
    pub(crate) fn bytes(&self) -> usize {
        let each = |state: &CollectorState| {
            state.entities.capacity() * size_of::<Entity>() + state.seen.capacity() * size_of::<((u32, u32), u64)>()
        };
        let each_log =
            |log: &ChangeLog| log.entities.capacity() * size_of::<Entity>() + log.numbers.capacity() * size_of::<u64>();
        self.list.capacity() * size_of::<CollectorState>()
            + self.list.iter().map(each).sum::<usize>()
            + self.logs.capacity() * size_of::<ChangeLog>()
            + self.logs.iter().map(each_log).sum::<usize>()
            + self.values.capacity() * size_of::<ValueCollectorState>()
            + self.values.iter().map(|state| state.values.bytes()).sum::<usize>()
    }
}

/// Returns the index and the generation of an entity.
fn key(entity: Entity) -> (u32, u32) {
    (entity.index(), entity.generation())
}
