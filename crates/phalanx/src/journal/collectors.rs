//! [`Collectors`]: the entities that something happened to.
//!
//! Collectors record while an operation is committed, in memory that was reserved before. No user code runs, so they miss
//! nothing, whatever listeners do.

use super::{Event, JournalEntry};
use crate::alloc::{try_reserve, try_reserve_map};
use crate::component::ComponentId;
use crate::seeded::NumberMap;
use phalanx_store::{AllocError, Entity};

/// The handle of a collector that a world has: [`World::collector`](crate::World::collector).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Collector(pub(crate) u64);

/// What a collector waits for.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    pub(crate) event: Event,
    pub(crate) id: ComponentId,
    pub(crate) with: Vec<ComponentId>,
    pub(crate) without: Vec<ComponentId>,
}

/// The entities that something happened to.
pub(crate) struct Gathered {
    pub(crate) handle: Collector,
    pub(crate) conditions: Vec<Condition>,
    /// In the order of the first event.
    pub(crate) entities: Vec<Entity>,
    /// By index and generation: how many entities collectors had recorded before.
    pub(crate) seen: NumberMap<(u32, u32), u64>,
}

/// The collectors of a world.
#[derive(Default)]
pub(crate) struct Collectors {
    pub(crate) list: Vec<Gathered>,
}

impl Collectors {
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Tells what is waited for.
    pub(crate) fn each_subscription(&self, mut each: impl FnMut(Event, ComponentId)) {
        for condition in self.list.iter().flat_map(|gathered| &gathered.conditions) {
            each(condition.event, condition.id);
        }
    }

    /// Makes room for so many more entities in each.
    pub(crate) fn try_reserve(&mut self, count: usize) -> Result<(), AllocError> {
        for gathered in &mut self.list {
            try_reserve(&mut gathered.entities, count)?;
            try_reserve_map(&mut gathered.seen, count)?;
        }
        Ok(())
    }

    /// Records a change, and counts in `recorded` what is recorded. `has` says whether its row has a component. There is room
    /// for it.
    pub(crate) fn record(&mut self, note: &JournalEntry, recorded: &mut u64, has: impl Fn(ComponentId) -> bool) {
        for gathered in &mut self.list {
            let meets = gathered.conditions.iter().any(|condition| {
                condition.event == note.event
                    && condition.id == note.id
                    && condition.with.iter().all(|id| has(*id))
                    && !condition.without.iter().any(|id| has(*id))
            });
            let name = name(note.entity);
            // Not inserted at once: a map makes room for one more before it finds that the key is there.
            if meets && !gathered.seen.contains_key(&name) {
                gathered.seen.insert(name, *recorded);
                gathered.entities.push(note.entity);
                *recorded += 1;
            }
        }
    }

    /// Removes what was recorded when so many had been, and later.
    pub(crate) fn forget_since(&mut self, recorded: u64) {
        for Gathered { entities, seen, .. } in &mut self.list {
            // The later ones come last.
            while let Some(name) = entities.last().copied().map(name)
                && seen.get(&name).is_none_or(|before| *before >= recorded)
            {
                seen.remove(&name);
                entities.pop();
            }
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        let each = |gathered: &Gathered| {
            gathered.entities.capacity() * size_of::<Entity>()
                + gathered.seen.capacity() * size_of::<((u32, u32), u64)>()
        };
        self.list.capacity() * size_of::<Gathered>() + self.list.iter().map(each).sum::<usize>()
    }
}

/// Returns the index and the generation of an entity.
fn name(entity: Entity) -> (u32, u32) {
    (entity.index(), entity.generation())
}
