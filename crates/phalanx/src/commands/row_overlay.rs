//! [`RowOverlay`]: the extra rows that a segment changes, as they would be.

use crate::alloc::{try_reserve, try_reserve_map};
use crate::rows::Name;
use crate::seeded::NumberMap;
use phalanx_store::{AllocError, Entity};

/// An extra row that the segment changes. If it is removed and another is spawned under its name, that has another state.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowState {
    /// The slot that it has, or will have.
    pub(super) slot: Entity,
    /// `None` if it is removed.
    pub(super) table: Option<u32>,
    /// Whether the segment spawns it.
    pub(super) is_new: bool,
    /// The next row of the same entity that the segment spawns.
    next: Option<usize>,
}

/// The extra rows that a segment changes, by name and by owner.
///
/// A name does not contain the generation of the owner. Commands cannot name an entity that the segment itself spawns. So
/// at most one entity of each index is looked up, and only if it is alive.
#[derive(Debug, Default)]
pub(super) struct RowOverlay {
    states: Vec<RowState>,
    /// The segment, and the state that was added last.
    by_name: NumberMap<Name, (u32, usize)>,
    /// By owner: the segment, and the first and the last state of a row that the segment spawns.
    new: NumberMap<u32, (u32, usize, usize)>,
    segment: u32,
}

impl RowOverlay {
    /// Returns the bytes held from the allocator.
    pub(super) fn bytes(&self) -> usize {
        self.states.capacity() * size_of::<RowState>()
            + self.by_name.capacity() * size_of::<(Name, (u32, usize))>()
            + self.new.capacity() * size_of::<(u32, (u32, usize, usize))>()
    }

    /// Forgets what the segments before have changed.
    pub(super) fn start(&mut self) {
        self.by_name.clear();
        self.new.clear();
    }

    /// Begins a segment.
    pub(super) fn begin(&mut self, segment: u32) {
        self.segment = segment;
        self.states.clear();
    }

    /// Returns the state of the row under a name, if the segment has changed it.
    pub(super) fn get(&self, name: Name) -> Option<RowState> {
        self.at(name).map(|at| self.states[at])
    }

    fn at(&self, name: Name) -> Option<usize> {
        self.by_name.get(&name).filter(|(segment, _)| *segment == self.segment).map(|(_, at)| *at)
    }

    /// Sets the table of an existing row.
    pub(super) fn set(&mut self, name: Name, slot: Entity, table: Option<u32>) -> Result<(), AllocError> {
        match self.at(name) {
            Some(at) => self.states[at].table = table,
            None => drop(self.push(name, RowState { slot, table, is_new: false, next: None })?),
        }
        Ok(())
    }

    /// Adds a row that the segment spawns.
    pub(super) fn spawn(&mut self, name: Name, slot: Entity, table: u32) -> Result<(), AllocError> {
        try_reserve_map(&mut self.new, 1)?;
        let at = self.push(name, RowState { slot, table: Some(table), is_new: true, next: None })?;
        let first = match self.new.get(&name.0) {
            Some(&(segment, first, last)) if segment == self.segment => {
                self.states[last].next = Some(at);
                first
            }
            _ => at,
        };
        self.new.insert(name.0, (self.segment, first, at));
        Ok(())
    }

    fn push(&mut self, name: Name, state: RowState) -> Result<usize, AllocError> {
        try_reserve(&mut self.states, 1)?;
        try_reserve_map(&mut self.by_name, 1)?;
        self.states.push(state);
        self.by_name.insert(name, (self.segment, self.states.len() - 1));
        Ok(self.states.len() - 1)
    }

    /// Iterates over the slots and tables of the rows that the segment spawns for an entity and does not remove, in order.
    pub(super) fn new_rows(&self, owner: u32) -> impl Iterator<Item = (Entity, u32)> + '_ {
        let new = self.new.get(&owner).filter(|(segment, ..)| *segment == self.segment);
        let mut next = new.map(|(_, first, _)| *first);
        core::iter::from_fn(move || {
            let state = self.states[next?];
            next = state.next;
            Some(state.table.map(|table| (state.slot, table)))
        })
        .flatten()
    }
}
