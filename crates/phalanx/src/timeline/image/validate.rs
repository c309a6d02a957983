//! Validates an image that was read from bytes: everything that restoring a world relies on.
#![allow(unsafe_code)]

use super::{ByteArray, Column, DEAD, Image, SparseImage, SparseState};
use crate::alloc::try_vec;
use crate::component::{ComponentId, Components};
use crate::rows::NONE;
use crate::sparse::Removal;
use crate::storage::Location;
use crate::timeline::error::DeltaError;
use phalanx_store::{AllocError, EntityPool};

/// Set in the word of the slot of a live extra row.
pub(super) const ROW: u32 = 1 << 30;

fn damaged(what: &'static str) -> DeltaError {
    DeltaError::Damaged { what }
}

/// A set of slots.
struct SlotSet(Vec<u64>);

impl SlotSet {
    fn try_new(count: usize) -> Result<SlotSet, AllocError> {
        let mut words = try_vec(count.div_ceil(64))?;
        words.resize(count.div_ceil(64), 0);
        Ok(SlotSet(words))
    }

    /// Adds a slot, which is below the count. Returns `true` if it was absent.
    fn add(&mut self, slot: usize) -> bool {
        let (word, bit) = (&mut self.0[slot / 64], 1 << (slot % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}

/// Iterates over an array of entities: the index and the generation of each, or `None` if it is not an entity.
fn entities(array: &ByteArray) -> impl Iterator<Item = Option<(usize, u32)>> + '_ {
    // The first number is the index plus one.
    array.pairs().map(|[position, generation]| Some((position.checked_sub(1)? as usize, generation)))
}

impl SparseImage {
    /// Counts the extra rows among the keys, which need not be valid.
    pub(in crate::timeline) fn count_rows(&mut self, words: &ByteArray) {
        let is_row = |word: u32| word & (DEAD | ROW) == ROW;
        match &mut self.state {
            SparseState::Pool(state) => {
                let rows = entities(&self.keys).flatten().filter(|(_, generation)| is_row(*generation));
                state.extra_rows = rows.count() as u32;
            }
            SparseState::Linear { rows } => {
                *rows = self.keys.bits().filter(|slot| words.word(*slot).is_some_and(is_row)).count() as u32;
            }
        }
    }

    /// Returns `true` if the row of a column has a value.
    fn has_value(&self, row: u32) -> bool {
        match self.state {
            SparseState::Pool(_) => self.keys.pair(row).is_some_and(|[_, generation]| generation & DEAD == 0),
            SparseState::Linear { .. } => self.keys.has_bit(row),
        }
    }
}

impl Image {
    /// Checks that a world with these components can be in this state.
    ///
    /// No two tables have the same components, and no component has two storages: the reader has checked that.
    ///
    /// # Errors
    ///
    /// Returns [`DeltaError::Damaged`] if it cannot, [`DeltaError::InvalidValue`] if bytes are not a value of their component,
    /// or [`DeltaError::Alloc`] if allocation fails.
    pub(in crate::timeline) fn validate(&self, components: &Components) -> Result<(), DeltaError> {
        let mut words = try_vec(self.words.rows() as usize)?;
        words.extend(self.words.words());
        self.validate_slots(&words)?;
        self.validate_tables(&words)?;
        self.validate_extra_rows(&words, components.len())?;
        for image in &self.sparse {
            image.validate_keys(&words)?;
        }
        self.validate_values(components)
    }

    /// Checks the words and the free list, as loading a snapshot does.
    fn validate_slots(&self, words: &[u32]) -> Result<(), DeltaError> {
        let mut free = try_vec(self.free_list.rows() as usize)?;
        free.extend(self.free_list.words().rev());
        // SAFETY: the allocator, which could return the names of extra rows, is dropped at once.
        match unsafe { EntityPool::try_restore_with_rows(words, &free, Location::NOWHERE) } {
            Ok(_) => Ok(()),
            Err(phalanx_store::RestoreError::Alloc(error)) => Err(error.into()),
            Err(phalanx_store::RestoreError::Slot { what, .. } | phalanx_store::RestoreError::Whole(what)) => {
                Err(damaged(what))
            }
        }
    }

    /// Checks that each live slot has one row, in a table of its kind.
    fn validate_tables(&self, words: &[u32]) -> Result<(), DeltaError> {
        let (mut seen, mut rows) = (SlotSet::try_new(words.len())?, 0);
        for table in &self.tables {
            let is_extra = table.signature.has(ComponentId::ROW);
            for slot in entities(&table.slots) {
                rows += 1;
                match slot {
                    Some((index, generation))
                        if is_alive(words, index, generation)
                            && (generation & ROW != 0) == is_extra
                            && seen.add(index) => {}
                    _ => return Err(damaged("a row whose slot is dead, of the other kind, or in two rows")),
                }
            }
        }
        match rows == words.iter().filter(|word| **word & DEAD == 0).count() {
            true => Ok(()),
            false => Err(damaged("entities without a row")),
        }
    }

    /// Checks that extra rows have owners and unique names, and are linked in a list for each owner.
    fn validate_extra_rows(&self, words: &[u32], components: usize) -> Result<(), DeltaError> {
        let tables = || self.tables.iter().filter(|table| table.signature.has(ComponentId::ROW));
        let count = tables().map(|table| table.slots.rows() as usize).sum();
        let (mut rows, mut names) = (try_vec::<Extra>(count)?, try_vec(count)?);
        for table in tables() {
            // The first column is that of the reserved component, which is plain.
            let [owners, labels, links] = table.columns[0].column.arrays() else { unreachable!("it has three lanes") };
            let pairs = labels.pairs().zip(links.pairs());
            for ((slot, owner), (label, link)) in entities(&table.slots).zip(entities(owners)).zip(pairs) {
                let (Some((slot, _)), Some((owner, generation))) = (slot, owner) else {
                    return Err(damaged("an extra row without an owner"));
                };
                if words.get(owner) != Some(&generation) || generation & (DEAD | ROW) != 0 {
                    return Err(damaged("an extra row without an owner"));
                }
                if label == [0, 0] || label[0] as usize >= components {
                    return Err(damaged("an extra row without a name"));
                }
                rows.push(Extra { slot: slot as u32, owner: owner as u32, prev: link[0], next: link[1] });
                names.push((owner as u32, label));
            }
        }
        names.sort_unstable();
        rows.sort_unstable_by_key(|row| row.slot);
        if names.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(damaged("two extra rows of one name"));
        }
        let find = |slot: u32| Some(&rows[rows.binary_search_by_key(&slot, |row| row.slot).ok()?]);
        let (mut owners, mut linked) = (SlotSet::try_new(words.len())?, 0);
        for first in &rows {
            let Some(last) = find(first.prev) else { return Err(damaged("extra rows that are not linked")) };
            if last.next != NONE {
                continue;
            }
            let mut at = first;
            let mut is_list = owners.add(first.owner as usize);
            linked += 1;
            // Each row follows one other row only, and none leads back to the first: the loop terminates.
            while is_list && at.next != NONE {
                match find(at.next) {
                    Some(next) if next.prev == at.slot && next.owner == at.owner => at = next,
                    _ => is_list = false,
                }
                linked += 1;
            }
            if !is_list || at.slot != last.slot {
                return Err(damaged("extra rows that are not linked"));
            }
        }
        match linked == rows.len() {
            true => Ok(()),
            false => Err(damaged("extra rows that are not linked")),
        }
    }

    /// Checks each value of a state whose other parts are valid.
    fn validate_values(&self, components: &Components) -> Result<(), DeltaError> {
        for image in self.tables.iter().flat_map(|table| &table.columns) {
            validate_column(components, image.id, &image.column, None)?;
        }
        for image in &self.sparse {
            validate_column(components, image.id, &image.column, Some(&|row| image.has_value(row)))?;
        }
        Ok(())
    }
}

/// Returns `true` if a slot is alive in this generation.
fn is_alive(words: &[u32], index: usize, generation: u32) -> bool {
    words.get(index) == Some(&generation) && generation & DEAD == 0
}

impl SparseImage {
    /// Checks that the keys are live slots, each of which occurs once.
    fn validate_keys(&self, words: &[u32]) -> Result<(), DeltaError> {
        let SparseState::Pool(state) = &self.state else {
            let is_dead = |slot: u32| words.get(slot as usize).is_none_or(|word| word & DEAD != 0);
            return match self.keys.bits().any(is_dead) {
                true => Err(damaged("a value of a slot that is dead")),
                false => Ok(()),
            };
        };
        let (mut seen, mut holes) = (SlotSet::try_new(words.len())?, 0);
        let len = self.keys.rows();
        for (at, key) in (0..).zip(entities(&self.keys)) {
            match key {
                Some((index, generation)) if is_alive(words, index, generation) && seen.add(index) => {}
                Some((_, generation)) if generation & DEAD != 0 && at + 1 < len => holes += 1,
                _ => return Err(damaged("a value of a slot that is dead, or that has another value")),
            }
        }
        match holes > 0 && state.removal != Removal::Deferred {
            true => Err(damaged("a hole in a sparse set that cannot have holes")),
            false => Ok(()),
        }
    }
}

/// An extra row, as read from its lanes.
struct Extra {
    slot: u32,
    owner: u32,
    prev: u32,
    next: u32,
}

/// Checks the values of a column: of all rows, or of those that `has` accepts.
fn validate_column(
    components: &Components,
    id: ComponentId,
    column: &Column,
    has: Option<&dyn Fn(u32) -> bool>,
) -> Result<(), DeltaError> {
    let info = components.info(id);
    let Some(valid) = info.bytes.valid else { return Ok(()) };
    let is_valid = |(lane, array): (usize, &ByteArray)| match has.filter(|_| array.row_size() > 0) {
        None => valid(lane, array.bytes()),
        Some(has) => {
            let mut rows = (0..).zip(array.bytes().chunks_exact(array.row_size()));
            rows.all(|(row, bytes)| !has(row) || valid(lane, bytes))
        }
    };
    match column.arrays().iter().enumerate().take(info.value_lanes()).all(is_valid) {
        true => Ok(()),
        false => Err(DeltaError::InvalidValue { component: info.name() }),
    }
}
