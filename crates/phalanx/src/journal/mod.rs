//! [`Journal`]: the events of the operation that is under way, for listeners and collectors.
//!
//! Commits record events while they change the storage. A journal knows what is to be recorded, and nothing of the listeners.
#![allow(unsafe_code)]

mod collectors;
mod entry;

pub use collectors::Collector;
pub(crate) use collectors::{Collectors, Condition, Gathered};
pub(crate) use entry::{JournalEntry, RowName, Spot};

use crate::alloc::{try_reserve, try_reserve_at};
use crate::component::ComponentId;
use crate::seeded::NumberMap;
use core::fmt;
use phalanx_store::{AllocError, Entity};

/// What an event says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    Spawned,
    Added,
    Set,
    Removed,
    Despawned,
}

/// The journal of a storage.
#[derive(Default)]
pub(crate) struct Journal {
    /// The number of operations under way whose events are dispatched as one.
    pub(crate) held: u32,
    /// Whether listeners are being called: displaced values are not dropped yet.
    pub(crate) telling: bool,
    /// The number of entities that collectors have recorded ever. It stays when they are dropped, and when the world goes back
    /// in time.
    recorded: u64,
    /// The entities that were spawned from columns, which listeners' commands may have changed since.
    pub(crate) made: Vec<Entity>,
    pub(crate) recording: Option<Box<Recording>>,
}

/// What a journal has while there are listeners or collectors.
#[derive(Default)]
pub(crate) struct Recording {
    pub(crate) collectors: Collectors,
    /// For each component, whether its changes are recorded.
    watched: Vec<bool>,
    /// Whether spawned and despawned entities are recorded.
    spawns: bool,
    ends: bool,
    /// The events to dispatch, in order.
    pub(crate) notes: Vec<JournalEntry>,
    /// The first note of an operation of several steps that is recording. If it is still set when another begins, the
    /// operation has panicked, and what its notes name is gone.
    open: Option<usize>,
    /// Finds the values that came and went in one operation.
    links: NumberMap<(u32, u32, u32), Spot>,
}

impl Journal {
    /// Whether there are listeners or collectors: the one test that operations make.
    #[inline(always)]
    pub(crate) fn is_active(&self) -> bool {
        self.recording.is_some()
    }

    /// Operations begin whose signals are told as one.
    #[inline(always)]
    pub(crate) fn hold(&mut self) {
        self.held += 1;
    }

    /// They are complete.
    #[inline(always)]
    pub(crate) fn let_go(&mut self) {
        self.held -= 1;
    }

    /// Forgets what was noted and not told yet of entities that are not alive. Only reserved entities that have come alive
    /// wait to be told: with the next operation, if one fails.
    pub(crate) fn forget_unless(&mut self, is_alive: impl Fn(Entity) -> bool) {
        if let Some(recording) = &mut self.recording {
            recording.notes.retain(|note| is_alive(note.entity));
        }
    }

    /// Returns the entities whose spawning listeners are still to be told of: those that a failed operation flushed.
    pub(crate) fn untold(&self) -> impl Iterator<Item = Entity> + '_ {
        let journal = self.recording.iter().flat_map(|recording| &recording.notes);
        journal.filter(|note| note.event == Event::Spawned).map(|note| note.entity)
    }

    /// Makes room for so many entities in [`set_untold`](Journal::set_untold).
    pub(crate) fn try_reserve_untold(&mut self, count: usize) -> Result<(), AllocError> {
        self.recording.as_mut().map_or(Ok(()), |recording| try_reserve(&mut recording.notes, count))
    }

    /// Replaces the entities whose spawning listeners are still to be told of. Allocates nothing if room was reserved.
    pub(crate) fn set_untold(&mut self, entities: &[Entity]) {
        if let Some(recording) = &mut self.recording {
            recording.notes.clear();
            if recording.spawns {
                recording.notes.extend(entities.iter().map(|entity| JournalEntry::spawned(*entity)));
            }
        }
    }

    /// Returns how many entities collectors have recorded so far.
    pub(crate) fn recorded(&self) -> u64 {
        self.recorded
    }

    /// Removes from collectors what they have recorded since they had recorded so many.
    pub(crate) fn forget_since(&mut self, recorded: u64) {
        if let Some(recording) = &mut self.recording {
            recording.collectors.forget_since(recorded);
        }
    }

    /// Returns the bytes held from the allocator.
    pub(crate) fn bytes(&self) -> usize {
        let made = self.made.capacity() * size_of::<Entity>();
        let Some(recording) = &self.recording else { return made };
        made + size_of::<Recording>()
            + recording.watched.capacity()
            + recording.notes.capacity() * size_of::<JournalEntry>()
            + recording.collectors.bytes()
    }
}

impl Recording {
    /// Returns `true` if changes of a component are recorded.
    fn watches(&self, id: ComponentId) -> bool {
        self.watched.get(id.index()).is_some_and(|watched| *watched)
    }

    /// Determines what is recorded: what listeners ask for, and what collectors do. `listens` tells of a component's index.
    pub(crate) fn set_watched(&mut self, spawns: bool, ends: bool, listens: impl Fn(usize) -> bool) {
        (self.spawns, self.ends) = (spawns, ends);
        for (id, watched) in self.watched.iter_mut().enumerate() {
            *watched = listens(id);
        }
        self.collectors.each_subscription(|event, id| match event {
            Event::Spawned => self.spawns = true,
            Event::Despawned => self.ends = true,
            Event::Added | Event::Set | Event::Removed => self.watched[id.index()] = true,
        });
    }

    /// Makes room for what is to be known of a component.
    pub(crate) fn try_cover(&mut self, id: ComponentId) -> Result<(), AllocError> {
        try_reserve_at(&mut self.watched, id.index())?;
        let len = self.watched.len().max(id.index() + 1);
        self.watched.resize(len, false);
        Ok(())
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").field("active", &self.is_active()).finish_non_exhaustive()
    }
}
