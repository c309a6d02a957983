//! [`PastTicks`]: the change ticks that values had in the first state of a delta.

use super::canonical::{Canonical, SparseForm};
use crate::alloc::try_vec;
use crate::change_detection::{ComponentTicks, Tick};
use crate::timeline::image::{DEAD, SparseState};
use phalanx_store::AllocError;

/// The absence of a position.
const NONE: u32 = u32::MAX;

/// Finds the change ticks that table components had in a state, by the slot of their row.
pub(super) struct PastTicks<'a> {
    state: &'a Canonical<'a>,
    /// By slot: the position of its table in the state, and its row.
    rows: Vec<(u32, u32)>,
}

impl<'a> PastTicks<'a> {
    pub(super) fn try_new(state: &'a Canonical<'a>) -> Result<PastTicks<'a>, AllocError> {
        let slots = state.image.words.rows() as usize;
        let mut rows = try_vec(slots)?;
        rows.resize(slots, (NONE, NONE));
        for (at, table) in (0..).zip(&state.tables) {
            for (row, [position, _]) in (0..).zip(table.image.slots.pairs()) {
                if let Some(location) = rows.get_mut(position.wrapping_sub(1) as usize) {
                    *location = (at, row);
                }
            }
        }
        Ok(PastTicks { state, rows })
    }

    /// Returns the ticks of a table component of a slot, given as in the array of slots, if it had the component.
    pub(super) fn of_table(&self, slot: [u32; 2], number: u32) -> Option<ComponentTicks> {
        let (table, row) = *self.rows.get(slot[0].wrapping_sub(1) as usize)?;
        let table = self.state.tables.get(table as usize)?;
        if table.image.slots.pair(row)? != slot {
            return None;
        }
        let at = table.components.binary_search(&number).ok()? + usize::from(table.is_extra);
        table.image.columns[at].column.marks(row)
    }

    /// Returns the past ticks of a sparse component.
    pub(super) fn try_of_sparse(&self, number: u32) -> Result<PastSparseTicks<'a>, AllocError> {
        let sparse = self.state.sparse(number);
        let mut positions = Vec::new();
        if let Some(sparse) = sparse
            && let SparseState::Pool(_) = sparse.image.state
        {
            positions = try_vec(self.rows.len())?;
            positions.resize(self.rows.len(), NONE);
            for (at, key) in (0..).zip(sparse.keys.pairs()).filter(|(_, key)| key[1] & DEAD == 0) {
                if let Some(position) = positions.get_mut(key[0].wrapping_sub(1) as usize) {
                    *position = at;
                }
            }
        }
        Ok(PastSparseTicks { sparse, positions })
    }
}

/// Finds the change ticks that the values of one sparse component had.
pub(super) struct PastSparseTicks<'a> {
    sparse: Option<&'a SparseForm<'a>>,
    /// By slot: the position of its value in a sparse set.
    positions: Vec<u32>,
}

impl PastSparseTicks<'_> {
    /// Returns the ticks of a value, given its key in a sparse set, or else its slot in a linear storage.
    pub(super) fn get(&self, row: u32, key: Option<[u32; 2]>) -> Option<ComponentTicks> {
        let sparse = self.sparse?;
        let Some(key) = key else {
            return if sparse.keys.has_bit(row) { sparse.image.column.marks(row) } else { None };
        };
        let at = *self.positions.get(key[0].wrapping_sub(1) as usize)?;
        if sparse.keys.pair(at)? == key { sparse.image.column.marks(at) } else { None }
    }
}

/// The bits of a change: what happened to a value from the first state to the second.
const ADDED: u8 = 1;
const CHANGED: u8 = 2;

/// Returns what happened to a value that had the ticks `before`, and has the ticks `now`.
pub(super) fn change_of(before: Option<ComponentTicks>, now: ComponentTicks) -> u8 {
    match before {
        None => ADDED | CHANGED,
        Some(before) => {
            (u8::from(before.added != now.added) * ADDED) | (u8::from(before.changed != now.changed) * CHANGED)
        }
    }
}

/// Returns the ticks of a value after a change that happens at `now`. A value without ticks is added.
pub(super) fn apply_change(before: Option<ComponentTicks>, change: u8, now: Tick) -> ComponentTicks {
    let mut ticks = before.unwrap_or(ComponentTicks::new(now));
    if change & ADDED != 0 {
        ticks.added = now;
    }
    if change & CHANGED != 0 {
        ticks.changed = now;
    }
    ticks
}
