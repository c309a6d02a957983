//! [`Collectors`]: the entities of recorded events, by condition.
//!
//! Collectors collect while an operation is committed, in memory that is reserved before. No user code runs then, so a
//! panic of a listener loses nothing.

use super::{Event, JournalEntry};
use crate::alloc::{try_reserve, try_reserve_map};
use crate::component::ComponentId;
use crate::seeded::NumberMap;
use phalanx_store::{AllocError, Entity};

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

/// A collector's conditions, and the entities that it has collected.
pub(crate) struct CollectorState {
    pub(crate) handle: Collector,
    pub(crate) conditions: Vec<Condition>,
    /// In the order of the first event of each.
    pub(crate) entities: Vec<Entity>,
    /// By index and generation: how many entities all collectors had collected before.
    pub(crate) seen: NumberMap<(u32, u32), u64>,
}

/// The collectors of a world.
#[derive(Default)]
pub(crate) struct Collectors {
    pub(crate) list: Vec<CollectorState>,
}

impl Collectors {
    /// Returns `true` if there are no collectors.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns a collector, if the world has it.
    pub(crate) fn get_mut(&mut self, handle: Collector) -> Option<&mut CollectorState> {
        self.list.iter_mut().find(|state| state.handle == handle)
    }

    /// Iterates over the conditions of all collectors.
    pub(crate) fn conditions(&self) -> impl Iterator<Item = &Condition> {
        self.list.iter().flat_map(|state| &state.conditions)
    }

    /// Reserves capacity for more entities in each collector.
    pub(crate) fn try_reserve(&mut self, count: usize) -> Result<(), AllocError> {
        for state in &mut self.list {
            try_reserve(&mut state.entities, count)?;
            try_reserve_map(&mut state.seen, count)?;
        }
        Ok(())
    }

    /// Adds the entity of an event to each collector that has a matching condition, and counts it in `collected`.
    ///
    /// `has` returns `true` if the row of the event has a component. Capacity for the entity is reserved before.
    pub(crate) fn collect(&mut self, entry: &JournalEntry, collected: &mut u64, has: impl Fn(ComponentId) -> bool) {
        for state in &mut self.list {
            let meets = state.conditions.iter().any(|condition| {
                condition.event == entry.event
                    && condition.id == entry.id
                    && condition.with.iter().all(|id| has(*id))
                    && !condition.without.iter().any(|id| has(*id))
            });
            let key = key(entry.entity);
            // A map reserves capacity for an insertion before it searches for the key, so the key is searched first.
            if meets && !state.seen.contains_key(&key) {
                state.seen.insert(key, *collected);
                state.entities.push(entry.entity);
                *collected += 1;
            }
        }
    }

    /// Removes the entities that were collected since the count of collected entities was `collected`.
    pub(crate) fn truncate(&mut self, collected: u64) {
        for CollectorState { entities, seen, .. } in &mut self.list {
            // Entities that were collected later are at the end.
            while let Some(key) = entities.last().copied().map(key)
                && seen.get(&key).is_none_or(|before| *before >= collected)
            {
                seen.remove(&key);
                entities.pop();
            }
        }
    }

    /// Returns the bytes held from the allocator.
    pub(crate) fn bytes(&self) -> usize {
        let each = |state: &CollectorState| {
            state.entities.capacity() * size_of::<Entity>() + state.seen.capacity() * size_of::<((u32, u32), u64)>()
        };
        self.list.capacity() * size_of::<CollectorState>() + self.list.iter().map(each).sum::<usize>()
    }
}

/// Returns the index and the generation of an entity.
fn key(entity: Entity) -> (u32, u32) {
    (entity.index(), entity.generation())
}
