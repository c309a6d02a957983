//! [`JournalEntry`]: one recorded event.

use super::{Event, ValuePtr};
use crate::component::ComponentId;
use crate::rows::{Key, Label};
use phalanx_store::Entity;

/// A recorded event of one component of a row, or of an entity.
///
/// The pointers of an entry are followed while listeners run, before anything else changes the world. A displaced value stays
/// where it is until the listeners have run, and listeners cannot change the world. An entry that waits for a later operation,
/// which is the spawn of a reserved entity, has no pointers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JournalEntry {
    pub(crate) event: Event,
    pub(crate) id: ComponentId,
    /// The slot of the row.
    pub(crate) slot: Entity,
    /// The entity that owns the row.
    pub(crate) entity: Entity,
    /// The label of an extra row.
    pub(crate) label: Option<Label>,
    /// The displaced value.
    pub(crate) old: ValuePtr,
    /// The inserted value, if it is not the one that the row has now.
    pub(crate) new: ValuePtr,
    /// The other entity of a link.
    pub(crate) target: Option<Entity>,
    /// For a despawned entity: the number of entries before this one that list its components.
    pub(crate) before: u32,
    /// Whether this is the first entry of a change of one row.
    pub(crate) starts: bool,
    /// What has happened to the row.
    pub(crate) change: RowChange,
    /// In the first entry of a change: the first entry of the previous change of the same row, if there is one. Set when
    /// the entries are dispatched to observers, like `is_last`.
    pub(super) previous: Option<u32>,
    /// In the first entry of a change: whether it is the last change of the row.
    pub(crate) is_last: bool,
}

/// What a change did to its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowChange {
    Spawned,
    Changed,
    Removed,
}

impl JournalEntry {
    /// Returns the entry of an entity that was spawned without components.
    pub(super) fn spawned(entity: Entity, event: Event) -> JournalEntry {
        let change = RowChange::Spawned;
        let entry = JournalEntry::new(RowName::main(entity), change, event, ComponentId::ROW, ValuePtr::None);
        JournalEntry { starts: true, ..entry }
    }

    /// Returns the entry of an event of an entity's main row, the only one of its change.
    pub(crate) fn single(entity: Entity, event: Event, id: ComponentId, old: ValuePtr) -> JournalEntry {
        let entry = JournalEntry::new(RowName::main(entity), RowChange::Changed, event, id, old);
        JournalEntry { starts: true, ..entry }
    }

    /// Returns the entry of an event of a row.
    pub(crate) fn new(row: RowName, change: RowChange, event: Event, id: ComponentId, old: ValuePtr) -> JournalEntry {
        let RowName { slot, owner, label } = row;
        JournalEntry {
            event,
            id,
            slot,
            entity: owner,
            label,
            old,
            new: ValuePtr::None,
            target: None,
            before: 0,
            starts: false,
            change,
            previous: None,
            is_last: false,
        }
    }

    /// Returns `true` if the entry records the spawn of an entity.
    pub(super) fn is_spawn(&self) -> bool {
        let is_row = self.event == Event::Row && self.change == RowChange::Spawned && self.label.is_none();
        is_row || self.event == Event::Spawned
    }

    /// Returns the key of the row.
    pub(crate) fn key(&self) -> Key {
        self.label.map_or(Key::main(self.entity), |label| label.key(self.entity))
    }

    /// Returns the position of the event among those of one change of a row.
    ///
    /// Events of one phase are dispatched in the order in which their listeners were connected.
    pub(crate) fn phase(&self) -> u8 {
        match self.event {
            Event::Spawned | Event::Row => 0,
            Event::Added | Event::Set => 1,
            Event::Linked | Event::Unlinked => 2,
            Event::Removed => 3,
            Event::Despawned => 4,
        }
    }
}

/// The slot of a row, the entity that owns it, and its label if it is an extra row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowName {
    pub(crate) slot: Entity,
    pub(crate) owner: Entity,
    pub(crate) label: Option<Label>,
}

impl RowName {
    /// Returns the name of an entity's main row.
    pub(crate) fn main(entity: Entity) -> RowName {
        RowName { slot: entity, owner: entity, label: None }
    }
}
