//! Where the extra rows that a segment touches would be.

use crate::alloc::{try_reserve, try_reserve_map};
use crate::rows::Name;
use crate::seeded::NumberMap;
use phalanx_store::{AllocError, Entity};

/// A row that the segment touches. If it ends and another is made under its name, that is another state.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowState {
    /// The slot that it has, or will have: its entity, marked or not.
    pub(super) slot: Entity,
    /// `None` when it would have ended.
    pub(super) table: Option<u32>,
    /// Whether the segment makes it.
    pub(super) is_made: bool,
    /// The next row of the same entity that the segment makes.
    next: Option<usize>,
}

/// The extra rows that a segment touches, by name and by owner.
///
/// The owner's generation is no part of it: an entity that is made in a segment has no name in it, so that at most one of
/// an index is ever asked for, and whether that one is alive is known before.
#[derive(Debug, Default)]
pub(super) struct RowOverlay {
    states: Vec<RowState>,
    /// The segment, and the state that was entered last.
    by_name: NumberMap<Name, (u32, usize)>,
    /// By owner: the segment, and the first and the last state of a row that the segment makes.
    made: NumberMap<u32, (u32, usize, usize)>,
    segment: u32,
}

impl RowOverlay {
    pub(super) fn bytes(&self) -> usize {
        self.states.capacity() * size_of::<RowState>()
            + self.by_name.capacity() * size_of::<(Name, (u32, usize))>()
            + self.made.capacity() * size_of::<(u32, (u32, usize, usize))>()
    }

    /// Forgets the last application.
    pub(super) fn start(&mut self) {
        self.by_name.clear();
        self.made.clear();
    }

    /// Begins a segment.
    pub(super) fn begin(&mut self, segment: u32) {
        self.segment = segment;
        self.states.clear();
    }

    /// What the segment has done to the row under a name; `None` if nothing.
    pub(super) fn get(&self, name: Name) -> Option<RowState> {
        self.at(name).map(|at| self.states[at])
    }

    fn at(&self, name: Name) -> Option<usize> {
        self.by_name.get(&name).filter(|(segment, _)| *segment == self.segment).map(|(_, at)| *at)
    }

    /// Says where the row under a name, which is there, would be from here on.
    pub(super) fn put(&mut self, name: Name, slot: Entity, table: Option<u32>) -> Result<(), AllocError> {
        match self.at(name) {
            Some(at) => self.states[at].table = table,
            None => drop(self.enter(name, RowState { slot, table, is_made: false, next: None })?),
        }
        Ok(())
    }

    /// Says that a row is made under a name.
    pub(super) fn make(&mut self, name: Name, slot: Entity, table: u32) -> Result<(), AllocError> {
        try_reserve_map(&mut self.made, 1)?;
        let at = self.enter(name, RowState { slot, table: Some(table), is_made: true, next: None })?;
        let first = match self.made.get(&name.0) {
            Some(&(segment, first, last)) if segment == self.segment => {
                self.states[last].next = Some(at);
                first
            }
            _ => at,
        };
        self.made.insert(name.0, (self.segment, first, at));
        Ok(())
    }

    fn enter(&mut self, name: Name, state: RowState) -> Result<usize, AllocError> {
        try_reserve(&mut self.states, 1)?;
        try_reserve_map(&mut self.by_name, 1)?;
        self.states.push(state);
        self.by_name.insert(name, (self.segment, self.states.len() - 1));
        Ok(self.states.len() - 1)
    }

    /// The slots and tables of the rows that the segment makes for an entity and does not end, in the order of their making.
    pub(super) fn made_for(&self, owner: u32) -> impl Iterator<Item = (Entity, u32)> + '_ {
        let made = self.made.get(&owner).filter(|(segment, ..)| *segment == self.segment);
        let mut next = made.map(|(_, first, _)| *first);
        core::iter::from_fn(move || {
            let state = self.states[next?];
            next = state.next;
            Some(state.table.map(|table| (state.slot, table)))
        })
        .flatten()
    }
}
